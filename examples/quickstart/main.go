// Quickstart tunes a real classifier on new data sets, with and without experience from past ones.
//
// It makes two dozen small data sets, records how a kernel classifier did on each with some random hyper-parameters, and
// learns a prior from these records. Then it tunes the classifier on data sets it has not seen, with random search, with a
// plain Gaussian process, with the paper's default variant and with what the library does without options, and writes a
// report with charts to one HTML file. Everything is computed in the process; nothing is downloaded.
//
//	go run ./examples/quickstart [flags]
//
// The files in reading order: tune.go is what a program does that uses the library, past.go what it does once before;
// classifier.go and datasets.go are the work to be tuned; study.go compares; report.go shows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/internal/each"
)

// options are the command line's, and the size of the study.
type options struct {
	seed  uint64
	out   string
	quiet bool

	tasks    int // new data sets to tune
	repeats  int // runs of each method on each of them, with other seeds
	budget   int // settings each run may try
	recorded int // settings tried on each past data set
	pool     int // settings tried on each new one, to know what is possible
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{tasks: len(newRecipes), repeats: 5, budget: 20, recorded: 40, pool: 500}
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", 1, "`seed` of everything random; the same seed gives the same results")
	flags.StringVar(&o.out, "out", "quickstart.html",
		"`file` to write the report to, or its first figure if the name ends in .svg; empty for none")
	flags.BoolVar(&o.quiet, "quiet", false, "print results only, no progress")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; -help lists the flags", flags.Arg(0))
	}
	if _, err := os.Stat(filepath.Dir(o.out)); err != nil { // before a minute of work is done for nothing
		return nil, fmt.Errorf("-out %s: %w", o.out, err)
	}
	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = quickstart(ctx, o, os.Stdout)
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// stage prints what begins; what it returns prints how long it took.
func (o *options) stage(w io.Writer, format string, args ...any) (done func()) {
	if o.quiet {
		return func() {}
	}
	fmt.Fprintf(w, "  %-46s", fmt.Sprintf(format, args...))
	begun := time.Now()
	return func() { fmt.Fprintf(w, " %5.1f s\n", time.Since(begun).Seconds()) }
}

func quickstart(ctx context.Context, o *options, w io.Writer) error {
	space, err := newSpace()
	if err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintf(w, "Tuning a kernel classifier: its kernel, width, regularisation and degree.\n\n")
	}

	done := o.stage(w, "trying %d settings on %d past data sets", o.recorded, len(pastRecipes))
	old, err := explore(ctx, space, pastRecipes, o.recorded, o.seed, "past settings")
	if err != nil {
		return err
	}
	past := each.Of(old, func(e explored) cmbo.Task { return e.Task })
	done()

	done = o.stage(w, "learning from these records")
	var pasts [numMethods]pastOption
	prior, err := cmbo.Learn(ctx, space, past, cmbo.WithSeed(o.seed))
	if err != nil {
		return fmt.Errorf("learning from the past: %w", err)
	}
	// A distance between the target and a group takes the cube of the index points, of
	// which a hundred are plenty in four coordinates.
	grouped, err := paper.Learn(ctx, space, past, paper.WithSeed(o.seed),
		paper.WithVariant(paper.WssClusWssCMP), paper.WithClusterRange(2, 6), paper.WithIndexPoints(100))
	if err != nil {
		return fmt.Errorf("learning from the past by the paper's method: %w", err)
	}
	pasts[cmBO] = func() (cmbo.Option, error) { return cmbo.WithPrior(prior), nil }
	pasts[paperMethod] = func() (cmbo.Option, error) {
		s, err := grouped.Surrogate(ctx, space)
		return cmbo.WithSurrogate(s), err
	}
	done()

	done = o.stage(w, "exploring %d new data sets for reference", o.tasks)
	targets, err := explore(ctx, space, newRecipes[:o.tasks], o.pool, o.seed, "pool")
	if err != nil {
		return err
	}
	done()

	done = o.stage(w, "tuning them: %d runs of %d settings", o.tasks*o.repeats*int(numMethods), o.budget)
	s, err := compare(ctx, space, pasts, targets, o.repeats, o.budget, o.seed)
	if err != nil {
		return err
	}
	done()

	printResults(w, o, s)
	if o.out == "" {
		return nil
	}
	text, what := report(o, s), "report with charts"
	if filepath.Ext(o.out) == ".svg" {
		text, what = resultFigure(s).SVG(), "figure"
	}
	if err := os.WriteFile(o.out, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	fmt.Fprintf(w, "The %s is in %s; open it in a browser.\n", what, o.out)
	return nil
}
