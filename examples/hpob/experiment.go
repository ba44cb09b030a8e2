package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

// run makes the runs of the protocol.
func (o *options) run(ctx context.Context, tables []*bench.Table, dir string, stderr io.Writer) (*bench.Outcome, error) {
	e := &bench.Experiment{Protocol: o.protocol, Workers: o.workers}
	if !o.quiet {
		begin, end, every := "\r\033[K", "", 200*time.Millisecond
		if !terminal(stderr) {
			begin, end, every = "", "\n", 30*time.Second
		} else {
			defer fmt.Fprint(stderr, begin)
		}
		began := time.Now()
		last := began
		e.Progress = func(p bench.Progress) {
			if now := time.Now(); now.Sub(last) > every {
				last = now
				fmt.Fprint(stderr, begin+line(p, now.Sub(began))+end)
			}
		}
	}
	return e.Run(ctx, tables, dir)
}

// terminal reports whether w is one: a file would keep the codes that overwrite a
// line.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// line says how far it has come.
func line(p bench.Progress, elapsed time.Duration) string {
	s := fmt.Sprintf("%d of %d runs, %.1f/s, %s", p.Done, p.Total, float64(p.Done-p.Known)/elapsed.Seconds(), elapsed.Round(time.Second))
	if p.Failed > 0 {
		s += fmt.Sprintf(", %d failed", p.Failed)
	}
	return s + " (" + p.Last + ")"
}

// compare makes an experiment and its report.
func compare(ctx context.Context, o *options, tables []*bench.Table, stdout, stderr io.Writer) error {
	started := time.Now()
	fmt.Fprintf(stdout, "experiment %s in %s: %d methods, %s %s/%s, %d processors\n", o.protocol.Name, o.out, len(o.protocol.Methods), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	out, err := o.run(ctx, tables, o.out, stderr)
	if out != nil {
		fmt.Fprintf(stdout, "%d of %d runs done, %d of them before, in %s\n", out.Done, out.Total, out.Known, time.Since(started).Round(time.Second))
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
	if err := writeReport(o.out, stdout); err != nil {
		return err
	}
	if o.ablate {
		if err := writeRatios(o.out, "cm-BO", stdout); err != nil {
			return err
		}
	}
	if n := len(out.Failures); n > 0 {
		return fmt.Errorf("%d failures, listed above and in %s", n, o.out)
	}
	return nil
}
