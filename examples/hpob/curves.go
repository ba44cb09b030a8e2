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

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// readCurves reads the tasks of one space, losses up to where they diverge, and returns the
// steps of an evaluation. Regret is that of a row's end in units of the way from the best end
// to the median one, to the worst where the median is as good as the best, and 1 at most: beyond,
// a loss that diverges would be the unit. Tasks whose ends are all equal are left out.
func (s *study) readCurves() (steps int, err error) {
	path := s.data[0]
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return 0, err
		}
	}
	var file map[string]map[string]struct {
		X       [][]float64
		Curves  [][]*float64
		Context cmbo.Context
	}
	if err := json.NewDecoder(io.LimitReader(r, maxTable)).Decode(&file); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if s.space = s.options.space; s.space == "" {
		if len(file) != 1 {
			return 0, fmt.Errorf("%s: %d spaces; -space names one", path, len(file))
		}
		for s.space = range file {
		}
	}
	for _, id := range slices.Sorted(maps.Keys(file[s.space])) {
		raw := file[s.space][id]
		t := &problem{Task: cmbo.Task{ID: id, Context: raw.Context, X: raw.X}, budget: float64(s.protocol.Budget)}
		var ends []float64
		for i, c := range raw.Curves {
			if steps = cmp.Or(steps, len(c)); len(c) != steps || len(raw.Curves) != len(raw.X) {
				return 0, fmt.Errorf("%s: task %q: curve %d of %d has %d steps, not %d", path, id, i, len(raw.X), len(c), steps)
			}
			if steps == 0 {
				return 0, fmt.Errorf("%s: task %q: curve %d of %d has no step", path, id, i, len(raw.X))
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
			return 0, fmt.Errorf("%s: task %q: no curve comes to its end", path, id)
		}
		slices.Sort(ends)
		best, unit := ends[0], ends[len(ends)/2]-ends[0]
		if unit == 0 {
			unit = ends[len(ends)-1] - best
		}
		if unit == 0 {
			continue
		}
		for _, l := range t.losses {
			v := 1.0
			if len(l) == steps {
				v = min((l[steps-1]-best)/unit, 1)
			}
			t.regret = append(t.regret, v)
		}
		s.tasks = append(s.tasks, t)
	}
	if len(s.tasks) < 2 {
		return 0, fmt.Errorf("%s: %d tasks of space %q have curves with two different ends; at least 2 are needed", path, len(s.tasks), s.space)
	}
	return steps, nil
}

// ends returns a task of the ends of its curves.
func (t *problem) ends(steps int) problem {
	q := problem{Task: cmbo.Task{ID: t.ID, Context: t.Context}, budget: t.budget}
	for i, l := range t.losses {
		if len(l) == steps {
			q.X, q.Y, q.regret = append(q.X, t.X[i]), append(q.Y, l[steps-1]), append(q.regret, t.regret[i])
		}
	}
	return q
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
	knows    int // the step from which on it knows the end of every curve, 0 for never
}

func median(int) rule      { return newMedianRule() }
func halve(steps int) rule { return newHalving(steps) }

var spenders = []spender{
	{name: "full evaluations with transfer", transfer: true},
	{name: "full evaluations without transfer"},
	{name: "every end known at epoch 1 with transfer", transfer: true, knows: 1},
	{name: "every end known at epoch 10 with transfer", transfer: true, knows: 10},
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

// shown returns a task as Learn sees it: some of its rows with their curves.
func (s *study) shown(t *problem, steps int, repeat uint64) cmbo.Task {
	p := cmbo.Task{ID: t.ID}
	for _, i := range s.draw(t, "rows of ", repeat) {
		l := t.losses[i]
		if len(l) < steps {
			p.Failed = append(p.Failed, t.X[i])
			continue
		}
		c := cmbo.Curve{Values: l[:steps-1]}
		for k := range c.Values {
			c.Steps = append(c.Steps, k+1)
		}
		p.X, p.Y, p.Curves = append(p.X, t.X[i]), append(p.Y, l[steps-1]), append(p.Curves, c)
	}
	return p
}

// A spending is a run under way: the regret of the best end after each epoch.
type spending struct {
	*problem
	steps, epochs int
	order         []int // of random points
	best          float64
	regret        []float64
}

// spent reports whether the run is over. Once the best row is found regret stays 0, and it
// need not go on.
func (s *spending) spent() bool { return len(s.regret) >= s.epochs || s.best == 0 }

// train takes row i from a step to another one, or to where it diverges or is stopped.
func (s *spending) train(i, from, to int, stop func(step int, loss float64) (bool, error)) (end int, err error) {
	for k := from; k < to && k < len(s.losses[i]) && !s.spent(); k++ {
		if k+1 == s.steps {
			s.best = min(s.best, s.problem.regret[i])
		}
		s.regret = append(s.regret, s.best)
		if over, err := stop(k+1, s.losses[i][k]); over || err != nil {
			return k + 1, err
		}
	}
	end = min(to, len(s.losses[i]))
	if end < to && !s.spent() {
		s.regret = append(s.regret, s.best) // the step at which it diverged
	}
	return end, nil
}

// halve spends epochs by ASHA.
func (s *spending) halve() error {
	a := newASHA(s.steps)
	at := make(map[int]int)
	for !s.spent() {
		i, to := a.next()
		if i < 0 {
			if len(s.order) == 0 {
				break
			}
			i, s.order = s.order[0], s.order[1:]
		}
		end, err := s.train(i, at[i], to, func(int, float64) (bool, error) { return false, nil })
		if err != nil {
			return err
		}
		at[i] = end
		loss := math.Inf(1)
		if end == to {
			loss = s.losses[i][to-1]
		}
		a.came(i, to, loss)
	}
	return nil
}

// spend spends epochs on the proposals of an optimiser, or on random points.
func (s *spending) spend(ctx context.Context, o *cmbo.Optimizer, m spender) (err error) {
	var r rule
	if m.rule != nil {
		r = m.rule(s.steps)
	}
	at := make(map[int]int) // the step at which a row was stopped, to go on there
	for n := 0; !s.spent(); n++ {
		trial := cmbo.Trial{ID: n}
		if m.random {
			if len(s.order) == 0 {
				break
			}
			trial.Index, s.order = s.order[0], s.order[1:]
		} else if trial, err = o.Ask(ctx); errors.Is(err, cmbo.ErrNoCandidates) {
			break
		} else if err != nil {
			return err
		}
		i, from, stopped := trial.Index, 0, false
		if trial.Resumes > 0 {
			from = at[i]
		}
		end, err := s.train(i, from, s.steps, func(step int, loss float64) (bool, error) {
			stop := r != nil && r.stop(trial.ID, step, loss) || m.knows > 0 && step >= m.knows && s.problem.regret[i] >= s.best
			if !m.random && step < s.steps && (m.advice || r != nil) {
				p, err := o.Report(ctx, trial.ID, step, loss)
				if err != nil {
					return false, err
				}
				stop = stop || m.advice && p.Stop
			}
			stopped = stop && step < s.steps
			return stopped, nil
		})
		if err != nil {
			return err
		}
		at[i] = end
		if end == s.steps && r != nil {
			r.ended(trial.ID)
		}
		switch {
		case m.random:
		case stopped && m.knows == 0:
			err = o.TellStopped(ctx, trial.ID)
		case end == s.steps || m.knows > 0 && len(s.losses[i]) == s.steps:
			err = o.Tell(trial.ID, s.losses[i][s.steps-1])
		default:
			err = o.TellFailed(trial.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spend tunes a task and returns the regret of the best end after each epoch.
func (s *study) spend(ctx context.Context, target, steps int, repeat uint64, m spender) ([]float64, error) {
	t, seed := s.tasks[target], s.protocol.Seed
	run := &spending{problem: t, steps: steps, epochs: s.protocol.Budget * steps, best: 1,
		order: rng.Stream(seed, "random points", uint64(target), repeat).Perm(len(t.X))}
	var err error
	if m.asha {
		err = run.halve()
	} else {
		var o *cmbo.Optimizer
		if !m.random {
			o, err = s.spendingRun(ctx, target, steps, repeat, m)
		}
		if err == nil {
			err = run.spend(ctx, o, m)
		}
	}
	// Where nothing was left to try the last regret stays.
	for len(run.regret) < run.epochs {
		run.regret = append(run.regret, run.best)
	}
	return run.regret, err
}

// spendingRun returns the optimiser of a way to spend epochs.
func (s *study) spendingRun(ctx context.Context, target, steps int, repeat uint64, m spender) (*cmbo.Optimizer, error) {
	space, err := cmbo.Candidates(s.tasks[target].X)
	if err != nil {
		return nil, err
	}
	var prior *cmbo.Prior
	if m.transfer {
		if prior, err = s.learn(ctx, space, target, func(i int) cmbo.Task { return s.shown(s.tasks[i], steps, repeat) }); err != nil {
			return nil, err
		}
	}
	opts := s.run(prior, cmbo.WithSeed(s.protocol.Seed+repeat))
	if m.resumes {
		opts = append(opts, cmbo.WithCheckpoints())
	}
	return cmbo.New(space, opts...)
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

// onCurves compares ways to spend epochs.
func onCurves(ctx context.Context, s *study) error {
	steps, err := s.readCurves()
	if err != nil {
		return err
	}
	use, names, err := chosen(s, spenders, func(m spender) string { return m.name })
	if err != nil {
		return err
	}
	n, epochs := s.targets(), s.protocol.Budget*steps
	runs, err := play(ctx, s, names, n*s.protocol.Repeats, func(k, i int) ([]float64, error) {
		return s.spend(ctx, i%n, steps, uint64(i/n), use[k])
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "space %s: %d tasks left out of %d, %d runs of %d epochs a way, evaluations of %d epochs, from zero\n\n", s.space, n, len(s.tasks), len(runs[0]), epochs, steps)
	at, heads := columns(epochs, epochs/20, epochs/10, epochs/4)
	w := s.table("way|epochs to .1|.05|.01|median run to .01|runs at .01|regret at " + heads)
	for k, name := range names {
		mean := make([]float64, epochs)
		var each []int
		there := 0
		for _, r := range runs[k] {
			for i, v := range r {
				mean[i] += v / float64(len(runs[k]))
			}
			e := reached(r, 0.01)
			each = append(each, e)
			if e <= epochs {
				there++
			}
		}
		slices.Sort(each)
		text := func(e int) string {
			if e > epochs {
				return fmt.Sprintf("> %d", epochs)
			}
			return fmt.Sprint(e)
		}
		var regrets string
		for _, e := range at {
			regrets += fmt.Sprintf("|%.3f", mean[e-1])
		}
		w.row("%s|%s|%s|%s|%s|%.0f %%%s", name,
			text(reached(mean, 0.1)), text(reached(mean, 0.05)), text(reached(mean, 0.01)), text(each[len(each)/2]), 100*float64(there)/float64(len(each)), regrets)
	}
	return w.Flush()
}
