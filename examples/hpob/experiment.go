package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/names"
)

// run makes the runs of the protocol, and tells now and then how far it is.
func (o *options) run(ctx context.Context, tables []*bench.Table, dir string,
	stderr io.Writer) (*bench.Outcome, error) {
	e := &bench.Experiment{Protocol: o.protocol, Workers: o.workers}
	began := time.Now()
	last := began
	e.Progress = func(p bench.Progress) {
		if o.quiet || time.Since(last) < 10*time.Second {
			return
		}
		last = time.Now()
		elapsed := last.Sub(began)
		fmt.Fprintf(stderr, "%d of %d runs, %d failed, %.1f/s, %s (%s)\n", p.Done, p.Total, p.Failed,
			float64(p.Done-p.Known)/elapsed.Seconds(), elapsed.Round(time.Second), p.Last)
	}
	return e.Run(ctx, tables, dir)
}

func compare(ctx context.Context, o *options, tables []*bench.Table, stdout, stderr io.Writer) error {
	started := time.Now()
	program := cmp.Or(bench.Program(), "unknown")
	fmt.Fprintf(stdout, "experiment %s in %s: %d methods, %s %s/%s, %d processors, program %s\n", o.protocol.Name, o.out,
		len(o.protocol.Methods), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), program)
	known, _ := bench.ReadRecords(o.out) // the run says what is wrong with them
	known = slices.DeleteFunc(known, func(r bench.Record) bool { return r.Program == bench.Program() })
	if len(known) > 0 {
		fmt.Fprintf(stderr, "hpob: %s in %s made by another program than this one are kept\n", names.Count(len(known), "run"), o.out)
	}
	out, err := o.run(ctx, tables, o.out, stderr)
	if out != nil {
		fmt.Fprintf(stdout, "%d of %d runs done, %d of them before, in %s\n",
			out.Done, out.Total, out.Known, time.Since(started).Round(time.Second))
	}
	if err != nil {
		if out != nil && ctx.Err() != nil {
			return fmt.Errorf("%w; the same command goes on from here", err)
		}
		return err
	}
	for _, f := range out.Failures {
		fmt.Fprintln(stdout, "failed:", f)
	}
	if err = writeReport(o.out, stdout); err == nil && o.ablate {
		err = writeRatios(out.Records, o.out, "cm-BO", stdout)
	}
	if err != nil {
		return err
	}
	if n := len(out.Failures); n > 0 {
		return fmt.Errorf("%d failures, listed above and in %s", n, o.out)
	}
	return nil
}

// single tries one method and reports its mean curve.
func single(ctx context.Context, o *options, tables []*bench.Table, stdout, stderr io.Writer) error {
	if len(tables) != 1 {
		return fmt.Errorf("%d search spaces; name one with -space", len(tables))
	}
	// The file is written once all runs are made.
	if info, err := os.Stat(o.out); err == nil && info.IsDir() {
		return fmt.Errorf("-out: %s is a folder; without -experiment it is the file to write the mean curve to", o.out)
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o777); err != nil {
		return err
	}
	out, err := o.run(ctx, tables, "", stderr)
	if err != nil {
		return err
	}
	if len(out.Failures) > 0 {
		return errors.New(out.Failures[0].String())
	}
	return curve(o, out.Records, stdout)
}

// curve prints the mean curve and writes it as CSV.
func curve(o *options, records []bench.Record, stdout io.Writer) error {
	curves := make([][]float64, len(records))
	tasks := make(map[string]bool)
	for i, r := range records {
		curves[i] = r.Regret
		tasks[r.Task] = true
	}
	mean := bench.MeanCurve(curves)
	name := records[0].Method
	if a := records[0].Acquisition; a != "" {
		name += ", " + a
	}
	fmt.Fprintf(stdout, "%s: mean normalised simple regret of %d runs on %d tasks\n\n", name, len(records), len(tasks))
	fmt.Fprintln(stdout, "queries   regret")
	csv := "queries,mean_normalised_simple_regret\n"
	for t, v := range mean {
		if t <= 5 || t%5 == 0 || t == len(mean)-1 {
			fmt.Fprintf(stdout, "%7d   %.4f\n", t, v)
		}
		csv += fmt.Sprintf("%d,%v\n", t, v)
	}
	if o.out == "" {
		return nil
	}
	if err := os.WriteFile(o.out, []byte(csv), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nwrote %s\n", o.out)
	return nil
}
