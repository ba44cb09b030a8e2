package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

// run makes the runs of the protocol, and tells now and then how far it is.
func (o *options) run(ctx context.Context, tables []*bench.Table, dir string,
	stderr io.Writer) (*bench.Outcome, error) {
	e := &bench.Experiment{Protocol: o.protocol, Workers: o.workers}
	if !o.quiet {
		began := time.Now()
		last := began
		e.Progress = func(p bench.Progress) {
			if time.Since(last) < 10*time.Second {
				return
			}
			last = time.Now()
			elapsed := last.Sub(began)
			fmt.Fprintf(stderr, "%d of %d runs, %d failed, %.1f/s, %s (%s)\n", p.Done, p.Total, p.Failed,
				float64(p.Done-p.Known)/elapsed.Seconds(), elapsed.Round(time.Second), p.Last)
		}
	}
	return e.Run(ctx, tables, dir)
}

// compare makes an experiment and its report.
func compare(ctx context.Context, o *options, tables []*bench.Table, stdout, stderr io.Writer) error {
	started := time.Now()
	fmt.Fprintf(stdout, "experiment %s in %s: %d methods, %s %s/%s, %d processors\n", o.protocol.Name, o.out,
		len(o.protocol.Methods), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
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
	if err := writeReport(o.out, stdout); err != nil {
		return err
	}
	if o.ablate {
		if err := writeRatios(out.Records, o.out, "cm-BO", stdout); err != nil {
			return err
		}
	}
	if n := len(out.Failures); n > 0 {
		return fmt.Errorf("%d failures, listed above and in %s", n, o.out)
	}
	return nil
}
