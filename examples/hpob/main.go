// Hpob tunes recorded tasks in HPO-B's format and prints how fast it finds good
// configurations.
//
// It reads one search space from a file, plain JSON or gzip'd, or from HPO-B's
// own directory; divides its tasks at random into past ones and new ones; learns
// from fifty random observations of each past task; and tunes each new task from
// five random observations, several times. It prints the mean normalised simple
// regret against the number of queries and writes the curve as CSV.
//
//	go run ./examples/hpob -data FILE-OR-DIRECTORY -space NAME [flags]
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
)

type options struct {
	data, space string
	out         string
	method      string
	acquisition cmbo.Acquisition
	variant     cmbo.Variant
	clusters    [2]int
	splits      int
	repeats     int
	budget      int
	targets     int
	seed        uint64
	quiet       bool
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("hpob", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, "Usage: go run ./examples/hpob -data FILE-OR-DIRECTORY -space NAME [flags]\n\n")
		f.PrintDefaults()
	}
	var variants []string
	for _, v := range cmbo.Variants() {
		variants = append(variants, v.String())
	}
	f.StringVar(&o.data, "data", "", "`path` of a table in HPO-B's format (.json or .json.gz) or of HPO-B's directory")
	f.StringVar(&o.space, "space", "", "`name` of the search space; may be left out if the file has only one")
	f.StringVar(&o.out, "out", "regret.csv", "`file` to write the mean curve to; empty for none")
	f.StringVar(&o.method, "method", "cmbo", "cmbo, gp (no past tasks) or random")
	variant := f.String("variant", cmbo.WssClusWssCMP.String(), "variant of cm-BO: "+strings.Join(variants, ", "))
	acquisition := f.String("acquisition", "ei", "ucb (beta 3), ei, pi or maxpi")
	clusters := f.String("clusters", "4", "number of clusters, or a range such as 2-6")
	f.IntVar(&o.splits, "splits", 5, "random divisions into past and new tasks")
	f.IntVar(&o.repeats, "repeats", 8, "runs on each new task, with other initial points")
	f.IntVar(&o.budget, "budget", 50, "queries of a run")
	f.IntVar(&o.targets, "targets", 0, "new tasks of each split to tune at most; 0 for all")
	f.Uint64Var(&o.seed, "seed", 1, "`seed` of everything random")
	f.BoolVar(&o.quiet, "quiet", false, "no progress")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.data == "" {
		return nil, errors.New("-data is missing; -help lists the flags")
	}
	if o.splits < 1 || o.repeats < 1 || o.budget < 1 || o.targets < 0 {
		return nil, errors.New("-splits, -repeats and -budget must be at least 1, -targets at least 0")
	}
	var err error
	if o.variant, err = cmbo.ParseVariant(*variant); err != nil {
		return nil, fmt.Errorf("-variant: %w", err)
	}
	switch strings.ToLower(*acquisition) {
	case "ucb":
		o.acquisition = cmbo.UCB(3)
	case "ei":
		o.acquisition = cmbo.EI()
	case "pi":
		o.acquisition = cmbo.PI()
	case "maxpi":
		o.acquisition = cmbo.MaxValuePI()
	default:
		return nil, fmt.Errorf("-acquisition %q is not ucb, ei, pi or maxpi", *acquisition)
	}
	switch o.method {
	case "cmbo", "gp", "random":
	default:
		return nil, fmt.Errorf("-method %q is not cmbo, gp or random", o.method)
	}
	if o.clusters, err = parseRange(*clusters); err != nil {
		return nil, fmt.Errorf("-clusters: %w", err)
	}
	return o, nil
}

// parseRange reads "4" or "2-6".
func parseRange(s string) (r [2]int, err error) {
	lo, hi, ranged := strings.Cut(s, "-")
	if r[0], err = strconv.Atoi(lo); err != nil {
		return r, err
	}
	if r[1] = r[0]; ranged {
		r[1], err = strconv.Atoi(hi)
	}
	return r, err
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hpob:", err)
		os.Exit(1)
	}
}

// target is one run to be made.
type target struct {
	task   *bench.TableTask
	space  *cmbo.Space
	prior  *cmbo.Prior
	split  int
	repeat int
	curve  []float64
}

func run(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	table, err := bench.OpenTable(o.data, o.space)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "space %s: %d tasks, %d coordinates, %d repeated rows dropped\n", table.Space, len(table.Tasks), table.Dim, table.Duplicates)
	say := func(format string, args ...any) {
		if !o.quiet {
			fmt.Fprintf(stderr, "\r\033[K"+format, args...)
		}
	}
	var runs []*target
	for s := range o.splits {
		more, err := prepare(ctx, o, table, s, say)
		if err != nil {
			return fmt.Errorf("split %d: %w", s, err)
		}
		runs = append(runs, more...)
	}
	start := time.Now()
	done := make(chan struct{}, len(runs))
	finished := make(chan error, 1)
	go func() {
		finished <- parallel.For(ctx, 0, len(runs), func(_, i int) error {
			err := tune(ctx, o, runs[i])
			done <- struct{}{}
			return err
		})
	}()
	for n := 0; ; {
		select {
		case <-done:
			n++
			say("run %d of %d, %.1f runs/s", n, len(runs), float64(n)/time.Since(start).Seconds())
			continue
		case err = <-finished:
		}
		break
	}
	say("")
	if err != nil {
		return err
	}
	return report(o, runs, stdout)
}

// prepare draws a split, learns from its past tasks, and lists its runs.
func prepare(ctx context.Context, o *options, table *bench.Table, number int, say func(string, ...any)) ([]*target, error) {
	plan := bench.SplitPlan{Seed: o.seed, SourceShare: 0.85, SourceRows: 50}
	split, err := plan.Make(table, number)
	if err != nil {
		return nil, err
	}
	cube, err := cmbo.UnitCube(table.Dim)
	if err != nil {
		return nil, err
	}
	var prior *cmbo.Prior
	if o.method == "cmbo" {
		prior, err = cmbo.Learn(ctx, cube, split.Sources, cmbo.WithSeed(o.seed), cmbo.WithVariant(o.variant),
			cmbo.WithClusterRange(o.clusters[0], o.clusters[1]),
			cmbo.WithProgress(func(p cmbo.Progress) { say("split %d: %s %d of %d", number, p.Stage, p.Done, p.Total) }))
		if err != nil {
			return nil, err
		}
	}
	ids := split.Targets
	if o.targets > 0 {
		ids = ids[:min(o.targets, len(ids))]
	}
	var runs []*target
	for _, id := range ids {
		task := table.Task(id)
		space, err := cube.WithCandidates(task.X)
		if err != nil {
			return nil, err
		}
		own := prior
		if prior != nil {
			if own, err = prior.For(ctx, space); err != nil {
				return nil, err
			}
		}
		for r := range o.repeats {
			runs = append(runs, &target{task: task, space: space, prior: own, split: number, repeat: r})
		}
	}
	return runs, nil
}

// tune makes one run.
func tune(ctx context.Context, o *options, r *target) error {
	initial := bench.InitialRows(o.seed, r.task, r.split, r.repeat, 5)
	var opts []cmbo.Option
	switch o.method {
	case "cmbo":
		opts = append(opts, cmbo.WithPrior(r.prior))
	case "gp":
		opts = append(opts, cmbo.WithInitial(0))
	case "random":
		rows := rng.Stream(o.seed, "random search", uint64(r.split), uint64(r.repeat)).Perm(len(r.task.X))
		rows = rows[:min(o.budget, len(rows))]
		lo, hi := r.task.Range()
		best := lo
		for _, i := range initial {
			best = max(best, r.task.Y[i])
		}
		r.curve = []float64{(hi - best) / (hi - lo)}
		for len(r.curve) <= o.budget {
			if k := len(r.curve) - 1; k < len(rows) {
				best = max(best, r.task.Y[rows[k]])
			}
			r.curve = append(r.curve, (hi-best)/(hi-lo))
		}
		return nil
	}
	opts = append(opts, cmbo.WithSeed(o.seed+uint64(r.repeat)), cmbo.WithAcquisition(o.acquisition), cmbo.WithParallelism(1))
	opt, err := cmbo.New(r.space, opts...)
	if err != nil {
		return err
	}
	if r.curve, err = bench.Run(ctx, r.task, opt, initial, o.budget); err != nil {
		return fmt.Errorf("task %s, repeat %d: %w", r.task.ID, r.repeat, err)
	}
	return nil
}

// report prints the mean curve and writes it as CSV.
func report(o *options, runs []*target, stdout io.Writer) error {
	curves := make([][]float64, len(runs))
	tasks := make(map[string]bool)
	for i, r := range runs {
		curves[i] = r.curve
		tasks[r.task.ID] = true
	}
	mean := bench.MeanCurve(curves)
	name := o.method
	if name == "cmbo" {
		name = "cm-BO " + o.variant.String()
	}
	if o.method != "random" {
		name += ", " + o.acquisition.String()
	}
	fmt.Fprintf(stdout, "%s: mean normalised simple regret of %d runs on %d tasks\n\n", name, len(runs), len(tasks))
	fmt.Fprintln(stdout, "queries   regret")
	for t, v := range mean {
		if t <= 5 || t%5 == 0 || t == len(mean)-1 {
			fmt.Fprintf(stdout, "%7d   %.4f\n", t, v)
		}
	}
	if o.out == "" {
		return nil
	}
	f, err := os.Create(o.out)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	rows := [][]string{{"queries", "mean_normalised_simple_regret"}}
	for t, v := range mean {
		rows = append(rows, []string{strconv.Itoa(t), strconv.FormatFloat(v, 'g', -1, 64)})
	}
	if err := w.WriteAll(rows); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nwrote %s\n", o.out)
	return nil
}
