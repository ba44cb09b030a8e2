// Failures tunes workloads that fail at many settings, and compares what an optimiser
// makes of that: it is told of failures, they are withheld from it, or it is told the
// worst value known in their place.
//
//	go run -C examples/failures . -problem server
//
// Workloads are simulated servers that run out of memory, networks whose training
// diverges or does not fit in memory, or reactors that stop where the cost gives no
// sign of it. Each repeat draws ten past workloads, evaluated at thirty random
// settings each, and a new one that is tuned for twenty evaluations; costs span
// decades, so all are told their logarithms. The table shows how many evaluations
// were lost to failures, and the least cost found over the least one possible, after
// ten and after all evaluations; differences are to "worst value told", with intervals
// of 95 % from the pairs of runs. With -tags accel runs take the vector kernels.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
)

// noise is the deviation of a measured cost's logarithm.
const noise = 0.03

type settings struct {
	problem                      string
	log                          bool
	repeats, tasks, rows, budget int
	seed                         uint64
}

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err == nil {
		err = compare(ctx, s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "failures:", err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (settings, error) {
	s := settings{}
	flags := flag.NewFlagSet("failures", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.problem, "problem", "server", "`family` of workloads: server, training or reactor")
	flags.BoolVar(&s.log, "log", true, "tell the logarithm of a cost")
	numbers := []struct {
		value        *int
		name         string
		first, least int
		usage        string
	}{
		{&s.repeats, "repeats", 40, 2, "new workloads, each with a past of its own"},
		{&s.tasks, "tasks", 10, 0, "past workloads; 0 for none"},
		{&s.rows, "rows", 30, 1, "evaluations of a past workload, failed ones among them; more where all of them fail"},
		{&s.budget, "budget", 20, 2, "evaluations of the new workload"},
	}
	for _, f := range numbers {
		flags.IntVar(f.value, f.name, f.first, f.usage)
	}
	flags.Uint64Var(&s.seed, "seed", 1, "seed of everything random")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q; -help lists the flags", flags.Arg(0))
	}
	for _, f := range numbers {
		if *f.value < f.least {
			return s, fmt.Errorf("-%s %d: at least %d is needed", f.name, *f.value, f.least)
		}
	}
	return s, nil
}

// method is a way to treat failures.
type method int

const (
	told method = iota
	withheld
	worst
	random
	numMethods
)

func (m method) String() string {
	return [...]string{"TellFailed", "failures withheld", "worst value told", "random"}[m]
}

// outcome is what a run came to: evaluations lost, and the logarithm of the least
// cost over the optimum after half of the evaluations and after all.
type outcome struct{ lost, half, all float64 }

// repeat makes one run of every method.
func repeat(ctx context.Context, s settings, p *problem, space *cmbo.Space,
	i int) (out [numMethods]outcome, share float64, err error) {
	r := rand.New(rand.NewPCG(s.seed, uint64(i)))
	var tasks []cmbo.Task
	failed, drawn := 0, 0
	for k := range s.tasks {
		t := cmbo.Task{ID: fmt.Sprintf("workload %d", k)}
		for j := p.draw(r); len(t.X)+len(t.Failed) < s.rows || len(t.X) == 0; {
			row, err := draw(space, r)
			if err != nil {
				return out, 0, err
			}
			if ms, ok := measure(j, row, r); ok {
				t.X, t.Y = append(t.X, row), append(t.Y, ms)
			} else {
				t.Failed = append(t.Failed, row)
			}
		}
		failed, drawn = failed+len(t.Failed), drawn+len(t.X)+len(t.Failed)
		tasks = append(tasks, t)
	}
	j := p.draw(r)
	best, err := optimum(j, space, r)
	if err != nil {
		return out, 0, err
	}
	for m := range numMethods {
		if out[m], err = tune(ctx, s, space, m, tasks, j, best, uint64(i)); err != nil {
			return out, 0, fmt.Errorf("repeat %d, %s: %w", i, m, err)
		}
	}
	return out, float64(failed) / float64(max(1, drawn)), nil
}

// draw returns a random setting.
func draw(space *cmbo.Space, r *rand.Rand) ([]float64, error) {
	u := make([]float64, space.Dim())
	for k := range u {
		u[k] = r.Float64()
	}
	return space.Decode(u)
}

// measure returns a cost with noise.
func measure(j workload, row []float64, r *rand.Rand) (float64, bool) {
	ms, ok := j.cost(row)
	return ms * math.Exp(noise*r.NormFloat64()), ok
}

// tune makes a run. Methods that ask the optimiser meet the same noise.
func tune(ctx context.Context, s settings, space *cmbo.Space, m method, tasks []cmbo.Task, j workload, best float64,
	seed uint64) (outcome, error) {
	r := rand.New(rand.NewPCG(s.seed^0x5eed, seed))
	tell := func(v float64) float64 {
		if s.log {
			return math.Log(v)
		}
		return v
	}
	past := make([]cmbo.Task, len(tasks))
	highest := 0.0 // cost known
	for i, t := range tasks {
		top := 0.0
		for _, y := range t.Y {
			top = math.Max(top, y)
		}
		highest = math.Max(highest, top)
		past[i] = t
		if m == withheld || m == worst {
			past[i].Failed = nil
		}
		if m == worst {
			past[i].X, past[i].Y = append([][]float64(nil), t.X...), append([]float64(nil), t.Y...)
			for _, row := range t.Failed {
				past[i].X, past[i].Y = append(past[i].X, row), append(past[i].Y, top)
			}
		}
	}
	for i := range past {
		y := make([]float64, len(past[i].Y))
		for k, v := range past[i].Y {
			y[k] = tell(v)
		}
		past[i].Y = y
	}
	var opt *cmbo.Optimizer
	var err error
	switch {
	case m == random:
	case len(past) > 0:
		var prior *cmbo.Prior
		if prior, err = cmbo.Learn(ctx, space, past, cmbo.WithMinimize(), cmbo.WithSeed(seed),
			cmbo.WithParallelism(1)); err == nil {
			opt, err = cmbo.New(space, cmbo.WithPrior(prior), cmbo.WithSeed(seed), cmbo.WithParallelism(1))
		}
	default:
		opt, err = cmbo.New(space, cmbo.WithMinimize(), cmbo.WithSeed(seed), cmbo.WithParallelism(1))
	}
	if err != nil {
		return outcome{}, err
	}
	var out outcome
	least, most := math.Inf(1), 0.0
	for t := range s.budget {
		var row []float64
		var trial cmbo.Trial
		if m == random {
			row, err = draw(space, r)
		} else {
			trial, err = opt.Ask(ctx)
			row = trial.X
		}
		if err != nil {
			return out, err
		}
		ms, ok := measure(j, row, r)
		if ok {
			least, most = math.Min(least, ms), math.Max(most, ms)
		} else {
			out.lost++
		}
		switch {
		case m == random:
		case ok:
			err = opt.Tell(trial.ID, tell(ms))
		case m == told:
			err = opt.TellFailed(trial.ID)
		case m == withheld:
			err = opt.Cancel(trial.ID)
		case most > 0:
			err = opt.Tell(trial.ID, tell(most))
		default:
			err = opt.Tell(trial.ID, tell(math.Max(highest, 1)))
		}
		if err != nil {
			return out, err
		}
		// A run without a value stands at a cost of a hundred times the optimum.
		v := math.Log(math.Min(math.Max(least/best, 1), 100))
		if t == s.budget/2-1 {
			out.half = v
		}
		out.all = v
	}
	return out, nil
}

// compare makes all runs and prints the table.
func compare(ctx context.Context, s settings, w io.Writer) error {
	p, err := pick(s.problem)
	if err != nil {
		return err
	}
	space, err := p.space()
	if err != nil {
		return err
	}
	outs := make([][numMethods]outcome, s.repeats)
	share := make([]float64, s.repeats)
	errs := make([]error, s.repeats)
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				outs[i], share[i], errs[i] = repeat(ctx, s, p, space, i)
			}
		}()
	}
	for i := range s.repeats {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	failed, _ := interval(share)
	fmt.Fprintf(w, "%s: %d repeats, %d past workloads of %d evaluations, of which %.0f %% failed\n\n",
		p.name, s.repeats, s.tasks, s.rows, 100*failed)
	heading := []string{
		fmt.Sprintf("lost of %d", s.budget), fmt.Sprintf("cost/optimum after %d", s.budget/2),
		fmt.Sprintf("after %d", s.budget),
	}
	fmt.Fprintf(w, "%-19s%-26s%-26s%s\n", "", heading[0], heading[1], heading[2])
	for m := range numMethods {
		line := fmt.Sprintf("%-18s", m)
		for _, of := range []func(outcome) float64{
			func(o outcome) float64 { return o.lost },
			func(o outcome) float64 { return o.half },
			func(o outcome) float64 { return o.all },
		} {
			v, d := make([]float64, s.repeats), make([]float64, s.repeats)
			for i := range v {
				v[i] = of(outs[i][m])
				d[i] = v[i] - of(outs[i][worst])
			}
			mean, _ := interval(v)
			diff, half := interval(d)
			if of(outcome{lost: 1}) == 1 {
				line += fmt.Sprintf(" %6.2f %-18s", mean, delta(m, "%+.2f ± %.2f", diff, half))
			} else {
				line += fmt.Sprintf(" %6.2f %-18s", math.Exp(mean),
					delta(m, "× %.2f to %.2f", math.Exp(diff-half), math.Exp(diff+half)))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	_, err = fmt.Fprintf(w, "\nIn brackets: against %q, as differences of evaluations lost and as ratios of costs, 95 %%.\n", worst)
	return err
}

func delta(m method, format string, a, b float64) string {
	if m == worst {
		return ""
	}
	return fmt.Sprintf("("+format+")", a, b)
}

// interval returns the mean and half of the width of its normal interval of 95 %.
func interval(v []float64) (mean, half float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		half += (x - mean) * (x - mean)
	}
	return mean, 1.96 * math.Sqrt(half/(n-1)/n)
}
