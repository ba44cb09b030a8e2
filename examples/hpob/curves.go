package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// curveTask is a task whose evaluations have learning curves of losses.
type curveTask struct {
	id      string
	context cmbo.Context
	x       [][]float64
	losses  [][]float64 // by row, up to where they diverge
	regret  []float64   // of a row's end, 1 if it diverged
}

// curveFile is a table of learning curves.
type curveFile map[string]map[string]struct {
	X       [][]float64  `json:"X"`
	Curves  [][]*float64 `json:"curves"`
	Context cmbo.Context `json:"context"`
}

// readCurves reads the tasks of one space. Regret is in units of the way from the best end
// to the median one, and 1 at most: beyond, a loss that diverges would be the unit.
func readCurves(path, space string) (name string, steps int, tasks []*curveTask, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return "", 0, nil, err
		}
	}
	var file curveFile
	if err := json.NewDecoder(io.LimitReader(r, maxTable)).Decode(&file); err != nil {
		return "", 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	if name = space; name == "" {
		if len(file) != 1 {
			return "", 0, nil, fmt.Errorf("%s: %d spaces; -space names one", path, len(file))
		}
		for name = range file {
		}
	}
	for _, id := range slices.Sorted(maps.Keys(file[name])) {
		raw := file[name][id]
		t := &curveTask{id: id, context: raw.Context, x: raw.X}
		var ends []float64
		for i, c := range raw.Curves {
			if steps = cmp.Or(steps, len(c)); len(c) != steps || len(raw.Curves) != len(raw.X) {
				return "", 0, nil, fmt.Errorf("%s: task %q: curve %d of %d has %d steps, not %d", path, id, i, len(raw.X), len(c), steps)
			}
			var l []float64
			for _, v := range c {
				if v == nil {
					break
				}
				l = append(l, *v)
			}
			if t.losses = append(t.losses, l); len(l) == steps {
				ends = append(ends, l[steps-1])
			}
		}
		if len(ends) == 0 {
			return "", 0, nil, fmt.Errorf("%s: task %q: no curve comes to its end", path, id)
		}
		slices.Sort(ends)
		best, median := ends[0], ends[len(ends)/2]
		for _, l := range t.losses {
			v := 1.0
			if len(l) == steps {
				v = min((l[steps-1]-best)/(median-best), 1)
			}
			t.regret = append(t.regret, v)
		}
		tasks = append(tasks, t)
	}
	if len(tasks) < 2 {
		return "", 0, nil, fmt.Errorf("%s: %d tasks of space %q with curves; at least 2 are needed", path, len(tasks), name)
	}
	return name, steps, tasks, nil
}

// curveStudy compares ways to spend epochs.
type curveStudy struct {
	tasks         []*curveTask
	steps         int
	rows, repeats int
	epochs        int
	seed          uint64
}

// A spender is a way to spend epochs: who proposes, and who stops.
type spender struct {
	name     string
	transfer bool
	random   bool // proposals, in place of the default's
	rule     func(steps int) rule
	advice   bool // the optimiser's own stops
	resumes  bool // with checkpoints
	asha     bool
}

func median(int) rule      { return newMedianRule() }
func halve(steps int) rule { return newHalving(steps) }

var spenders = []spender{
	{name: "full evaluations with transfer", transfer: true},
	{name: "full evaluations without transfer"},
	{name: "Report with transfer", transfer: true, advice: true},
	{name: "Report without transfer", advice: true},
	{name: "Report and checkpoints with transfer", transfer: true, advice: true, resumes: true},
	{name: "Report and checkpoints without transfer", advice: true, resumes: true},
	{name: "median rule with transfer", transfer: true, rule: median},
	{name: "median rule without transfer", rule: median},
	{name: "ASHA's rule with transfer", transfer: true, rule: halve},
	{name: "ASHA's rule without transfer", rule: halve},
	{name: "ASHA of random points", random: true, asha: true},
	{name: "median rule of random points", random: true, rule: median},
	{name: "random search", random: true},
}

// past returns a task as Learn sees it: some of its rows, drawn at random.
func (s *curveStudy) past(t *curveTask, r uint64) cmbo.Task {
	p := cmbo.Task{ID: t.id}
	rows := rng.Stream(s.seed, "rows of "+t.id, r).Perm(len(t.x))
	if s.rows > 0 && s.rows < len(rows) {
		rows = rows[:s.rows]
	}
	for _, i := range rows {
		l := t.losses[i]
		if len(l) < s.steps {
			p.Failed = append(p.Failed, t.x[i])
			continue
		}
		c := cmbo.Curve{Values: l[:s.steps-1]}
		for k := range c.Values {
			c.Steps = append(c.Steps, k+1)
		}
		p.X, p.Y, p.Curves = append(p.X, t.x[i]), append(p.Y, l[s.steps-1]), append(p.Curves, c)
	}
	return p
}

// spend tunes a task and returns the regret of the best end after each epoch.
func (s *curveStudy) spend(ctx context.Context, target int, repeat uint64, m spender) ([]float64, error) {
	t := s.tasks[target]
	regret := make([]float64, 0, s.epochs)
	best := 1.0
	// Once the best row is found regret stays 0, and the run need not go on.
	spent := func() bool { return len(regret) >= s.epochs || best == 0 }
	order := rng.Stream(s.seed, "random points", uint64(target), repeat).Perm(len(t.x))
	// run takes row i from a step to another one, or to where it diverges or is stopped.
	run := func(i, from, to int, stop func(step int, loss float64) (bool, error)) (end int, err error) {
		for k := from; k < to && k < len(t.losses[i]) && !spent(); k++ {
			if k+1 == s.steps {
				best = min(best, t.regret[i])
			}
			regret = append(regret, best)
			if stop != nil {
				if over, err := stop(k+1, t.losses[i][k]); over || err != nil {
					return k + 1, err
				}
			}
		}
		end = min(to, len(t.losses[i]))
		if end < to && !spent() {
			regret = append(regret, best) // the step at which it diverged
		}
		return end, nil
	}
	if m.asha {
		a := newASHA(s.steps)
		at := make(map[int]int)
		for !spent() {
			i, to := a.next()
			if i < 0 {
				if len(order) == 0 {
					break
				}
				i, order = order[0], order[1:]
			}
			end, err := run(i, at[i], to, nil)
			if err != nil {
				return nil, err
			}
			at[i] = end
			loss := math.Inf(1)
			if end == to {
				loss = t.losses[i][to-1]
			}
			a.came(i, to, loss)
		}
		return s.fill(regret, best), nil
	}
	space, err := cmbo.Candidates(t.x)
	if err != nil {
		return nil, err
	}
	opts := []cmbo.Option{cmbo.WithParallelism(1), cmbo.WithMinimize(), cmbo.WithSeed(s.seed + repeat)}
	if m.transfer {
		var past []cmbo.Task
		for j, other := range s.tasks {
			if j != target {
				past = append(past, s.past(other, repeat))
			}
		}
		prior, err := cmbo.Learn(ctx, space, past, cmbo.WithMinimize(), cmbo.WithParallelism(1))
		if err != nil {
			return nil, err
		}
		opts = append(opts, cmbo.WithPrior(prior))
	}
	if m.resumes {
		opts = append(opts, cmbo.WithCheckpoints())
	}
	o, err := cmbo.New(space, opts...)
	if err != nil {
		return nil, err
	}
	var r rule
	if m.rule != nil {
		r = m.rule(s.steps)
	}
	at := make(map[int]int) // the step at which a row was stopped, to go on there
	for n := 0; !spent(); n++ {
		trial := cmbo.Trial{ID: n}
		if m.random {
			if len(order) == 0 {
				break
			}
			trial.Index, order = order[0], order[1:]
		} else if trial, err = o.Ask(ctx); errors.Is(err, cmbo.ErrNoCandidates) {
			break
		} else if err != nil {
			return nil, err
		}
		i, stopped := trial.Index, false
		from := 0
		if trial.Resumes > 0 {
			from = at[i]
		}
		end, err := run(i, from, s.steps, func(step int, loss float64) (stop bool, err error) {
			if r != nil {
				stop = r.stop(trial.ID, step, loss)
			}
			if !m.random && step < s.steps {
				if m.advice || r != nil {
					p, err := o.Report(ctx, trial.ID, step, loss)
					if err != nil {
						return false, err
					}
					stop = stop || m.advice && p.Stop
				}
			}
			stopped = stop && step < s.steps
			return stopped, nil
		})
		if err != nil {
			return nil, err
		}
		at[i] = end
		if end == s.steps && r != nil {
			r.ended(trial.ID)
		}
		if m.random {
			continue
		}
		switch {
		case stopped:
			err = o.TellStopped(ctx, trial.ID)
		case end == s.steps:
			err = o.Tell(trial.ID, t.losses[i][end-1])
		default:
			err = o.TellFailed(trial.ID)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.fill(regret, best), nil
}

// fill repeats the last regret to the end of the epochs, where nothing was left to try.
func (s *curveStudy) fill(regret []float64, best float64) []float64 {
	for len(regret) < s.epochs {
		regret = append(regret, best)
	}
	return regret
}

// reached returns the number of epochs after which a regret is down to a level, one more
// than there are if it never is.
func reached(regret []float64, level float64) int {
	i := slices.IndexFunc(regret, func(v float64) bool { return v <= level })
	if i < 0 {
		return len(regret) + 1
	}
	return i + 1
}

// onCurves compares ways to spend epochs, each task left out.
func onCurves(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	name, steps, tasks, err := readCurves(o.data[0], o.space)
	if err != nil {
		return err
	}
	p := o.protocol
	s := &curveStudy{tasks: tasks, steps: steps, rows: p.SourceRows, repeats: p.Repeats, epochs: p.Budget * steps, seed: p.Seed}
	n := len(tasks)
	if p.Targets > 0 {
		n = min(n, p.Targets)
	}
	use := spenders
	if len(o.ways) > 0 {
		use = slices.DeleteFunc(slices.Clone(use), func(m spender) bool {
			return !slices.ContainsFunc(o.ways, func(w string) bool { return strings.Contains(m.name, w) })
		})
	}
	if len(use) == 0 {
		return fmt.Errorf("-method: no way to spend epochs is named like %q", o.ways)
	}
	runs := make([][][]float64, len(use)) // by way and run: regret after each epoch
	for i := range runs {
		runs[i] = make([][]float64, n*s.repeats)
	}
	err = o.each(ctx, len(use)*n*s.repeats, stderr, func(job int) (err error) {
		way, run := job%len(use), job/len(use)
		if runs[way][run], err = s.spend(ctx, run%n, uint64(run/n), use[way]); err != nil {
			err = fmt.Errorf("%s, task %q left out: %w", use[way].name, tasks[run%n].id, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.report(stdout, name, n, use, runs)
	return nil
}

// report prints the table.
func (s *curveStudy) report(stdout io.Writer, name string, n int, use []spender, runs [][][]float64) {
	fmt.Fprintf(stdout, "space %s: %d tasks left out of %d, %d runs of %d epochs a way, evaluations of %d epochs, from zero\n\n", name, n, len(s.tasks), len(runs[0]), s.epochs, s.steps)
	w := tabwriter.NewWriter(stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| way\t| epochs to .1\t| .05\t| .01\t| median run to .01\t| runs at .01\t| regret at %d\t| %d\t| %d\t| %d\t|\n|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n", s.epochs/20, s.epochs/10, s.epochs/4, s.epochs)
	for k, m := range use {
		mean := make([]float64, s.epochs)
		var each []int
		there := 0
		for _, r := range runs[k] {
			for i, v := range r {
				mean[i] += v / float64(len(runs[k]))
			}
			e := reached(r, 0.01)
			each = append(each, e)
			if e <= s.epochs {
				there++
			}
		}
		slices.Sort(each)
		text := func(e int) string {
			if e > s.epochs {
				return fmt.Sprintf("> %d", s.epochs)
			}
			return fmt.Sprint(e)
		}
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t| %s\t| %.0f %%\t| %.3f\t| %.3f\t| %.3f\t| %.3f\t|\n", m.name,
			text(reached(mean, 0.1)), text(reached(mean, 0.05)), text(reached(mean, 0.01)), text(each[len(each)/2]), 100*float64(there)/float64(len(each)),
			mean[s.epochs/20-1], mean[s.epochs/10-1], mean[s.epochs/4-1], mean[s.epochs-1])
	}
	w.Flush()
}
