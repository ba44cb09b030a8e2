// Quickstart tunes a real classifier on new data sets, with and without
// experience from past ones.
//
// It makes two dozen small data sets, records how a kernel classifier did on
// each with some random hyper-parameters, and learns a prior from these
// records. Then it tunes the classifier on data sets it has not seen, with
// random search, with a plain Gaussian process and with cm-BO, and shows how
// good the settings found are after 1, 5, 10 and 20 tries. Everything is
// computed in the process; nothing is downloaded. It writes a report with
// charts to one HTML file.
//
//	go run ./examples/quickstart [flags]
//
// The files in reading order: tune.go is what a program does that uses the
// library, past.go what it does once before; classifier.go and datasets.go are
// the work to be tuned; study.go compares; console.go and report.go show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
)

// options are the command line's.
type options struct {
	seed    uint64
	out     string
	tasks   int
	repeats int
	budget  int
	variant cmbo.Variant
	quiet   bool

	recorded int // settings tried on each past data set
	pool     int // settings tried on each new one, to know what is possible
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{recorded: 40, pool: 500}
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "Quickstart tunes a classifier on new data sets with and without experience from\npast ones, prints a comparison and writes a report.\n\nUsage: go run ./examples/quickstart [flags]\n\n")
		flags.PrintDefaults()
	}
	flags.Uint64Var(&o.seed, "seed", 1, "`seed` of everything random; the same seed gives the same results")
	flags.StringVar(&o.out, "out", "quickstart.html", "`file` to write the report to; empty for none")
	flags.IntVar(&o.tasks, "tasks", len(newRecipes), fmt.Sprintf("`number` of new data sets to tune, 1 to %d", len(newRecipes)))
	flags.IntVar(&o.repeats, "repeats", 5, "`number` of runs of each method on each data set, with other seeds")
	flags.IntVar(&o.budget, "budget", 20, "`number` of settings each run may try")
	var names []string
	for _, v := range cmbo.Variants() {
		names = append(names, v.String())
	}
	variant := flags.String("variant", cmbo.WssClusWssCMP.String(), "`name` of the variant of cm-BO: "+strings.Join(names, ", "))
	flags.BoolVar(&o.quiet, "quiet", false, "print results only, no progress")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; -help lists the flags", flags.Arg(0))
	}
	if o.tasks < 1 || o.tasks > len(newRecipes) {
		return nil, fmt.Errorf("-tasks %d is not in 1 to %d", o.tasks, len(newRecipes))
	}
	if o.repeats < 1 {
		return nil, fmt.Errorf("-repeats %d is below 1", o.repeats)
	}
	if o.budget < 1 {
		return nil, fmt.Errorf("-budget %d is below 1", o.budget)
	}
	var err error
	if o.variant, err = cmbo.ParseVariant(*variant); err != nil {
		return nil, fmt.Errorf("-variant: %w", err)
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

// stages says in other words what Learn is doing.
var stages = map[string]string{
	"fit":        "fitting models",
	"cluster":    "grouping",
	"score":      "comparing groups",
	"prototypes": "summarising",
}

// quickstart runs the whole program.
func quickstart(ctx context.Context, o *options, w io.Writer) error {
	space, err := newSpace()
	if err != nil {
		return err
	}
	var bar *progress
	if !o.quiet {
		bar = newProgress(w)
		defer bar.abandon()
		fmt.Fprintf(w, "Tuning a kernel classifier: its kernel, width, regularisation and degree.\n\n")
	}

	bar.begin(fmt.Sprintf("trying %d settings on %s", o.recorded, count(len(pastRecipes), "past data set")), len(pastRecipes))
	p, err := record(ctx, space, pastRecipes, o.recorded, o.seed, bar.step)
	if err != nil {
		return err
	}
	bar.end()

	bar.begin("learning from these records", len(p.tasks))
	prior, err := learn(ctx, space, p, o.variant, o.seed, func(s cmbo.Progress) { bar.set(stages[s.Stage], s.Done, s.Total) })
	if err != nil {
		return err
	}
	byDefault, err := cmbo.Learn(ctx, space, p.tasks, cmbo.WithSeed(o.seed))
	if err != nil {
		return err
	}
	bar.end()

	bar.begin(fmt.Sprintf("exploring %s for reference", count(o.tasks, "new data set")), o.tasks)
	targets, err := newTargets(ctx, space, newRecipes[:o.tasks], o.pool, o.seed, bar.step)
	if err != nil {
		return err
	}
	bar.end()

	runs := o.tasks * o.repeats * int(numMethods)
	bar.begin(fmt.Sprintf("tuning them: %d runs of %s", runs, count(o.budget, "setting")), runs)
	s, err := compare(ctx, space, [numMethods]*cmbo.Prior{paper: prior, cmBO: byDefault}, targets, o.repeats, o.budget, o.seed, bar.step)
	if err != nil {
		return err
	}
	bar.end()

	printResults(w, o, p, prior, s)
	if o.out == "" {
		return nil
	}
	if err := os.WriteFile(o.out, []byte(report(o, p, prior, s)), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	fmt.Fprintf(w, "The report with charts is in %s; open it in a browser.\n", o.out)
	return nil
}
