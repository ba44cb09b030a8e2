package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/each"
)

// readCurves reads the tasks of one space, losses up to where they diverge, and returns the steps of
// an evaluation. Regret is that of a row's end in units of the way from the best end to the median one,
// to the worst where the median is as good as the best, and 1 at most. Tasks of equal ends are left out.
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
		if len(raw.Curves) != len(raw.X) {
			return 0, fmt.Errorf("%s: task %q: %d curves of %d points", path, id, len(raw.Curves), len(raw.X))
		}
		for i, c := range raw.Curves {
			if steps = cmp.Or(steps, len(c)); len(c) != steps {
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
		best, unit := ends[0], cmp.Or(ends[len(ends)/2]-ends[0], ends[len(ends)-1]-ends[0])
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
		return 0, fmt.Errorf("%s: %d tasks of space %q have curves with two different ends; at least 2 are needed",
			path, len(s.tasks), s.space)
	}
	return steps, nil
}

// readEnds reads learning curves as tasks of their ends.
func (s *study) readEnds() error {
	steps, err := s.readCurves()
	for _, t := range s.tasks {
		q := problem{Task: cmbo.Task{ID: t.ID, Context: t.Context}, budget: t.budget}
		for i, l := range t.losses {
			if len(l) == steps {
				q.X, q.Y, q.regret = append(q.X, t.X[i]), append(q.Y, l[steps-1]), append(q.regret, t.regret[i])
			}
		}
		*t = q
	}
	return err
}

// A spender is a way to spend epochs: who proposes, and who stops.
type spender struct {
	way
	rule    func(steps int) rule
	advice  bool // the optimiser's own stops
	resumes bool // with checkpoints
	asha    bool
	knows   int // the step from which on it knows the end of every curve, 0 for never
}

var spenders = []spender{
	{way: way{name: "full evaluations with transfer", transfer: true}},
	{way: way{name: "full evaluations without transfer"}},
	{way: way{name: "every end known at epoch 1 with transfer", transfer: true}, knows: 1},
	{way: way{name: "every end known at epoch 10 with transfer", transfer: true}, knows: 10},
	{way: way{name: "Report with transfer", transfer: true}, advice: true},
	{way: way{name: "Report without transfer"}, advice: true},
	{way: way{name: "Report and checkpoints with transfer", transfer: true}, advice: true, resumes: true},
	{way: way{name: "Report and checkpoints without transfer"}, advice: true, resumes: true},
	{way: way{name: "median rule with transfer", transfer: true}, rule: newMedianRule},
	{way: way{name: "median rule without transfer"}, rule: newMedianRule},
	{way: way{name: "ASHA's rule with transfer", transfer: true}, rule: newHalving},
	{way: way{name: "ASHA's rule without transfer"}, rule: newHalving},
	{way: way{name: "ASHA of random points", random: true}, asha: true},
	{way: way{name: "median rule of random points", random: true}, rule: newMedianRule},
	{way: way{name: "random search", random: true}},
}

// trained returns a task as Learn sees it: some of its rows with their curves.
func (s *study) trained(t *problem, steps int, repeat uint64) cmbo.Task {
	p := cmbo.Task{ID: t.ID}
	for _, i := range s.draw(t, "rows of ", repeat) {
		l := t.losses[i]
		if len(l) < steps {
			p.Failed = append(p.Failed, t.X[i])
			continue
		}
		c := cmbo.Curve{Steps: each.Below(steps-1, func(k int) int { return k + 1 }), Values: l[:steps-1]}
		p.X, p.Y, p.Curves = append(p.X, t.X[i]), append(p.Y, l[steps-1]), append(p.Curves, c)
	}
	return p
}

// A spending is a run under way: the regret of the best end after each epoch.
type spending struct {
	*problem
	*proposer
	steps, epochs int
	at            map[int]int // the step to which a row was taken, to go on there
	best          float64
	regret        []float64
}

// spent reports whether the run is over. Once the best row is found regret stays 0, and it need not go on.
func (s *spending) spent() bool { return len(s.regret) >= s.epochs || s.best == 0 }

// train takes a row from where it is to a step, or to where it diverges or is stopped, which stop
// decides if there is one, and returns that step.
func (s *spending) train(row, to int, stop func(step int, loss float64) (bool, error)) (end int, err error) {
	curve := s.losses[row]
	defer func() { s.at[row] = end }()
	for k := s.at[row]; k < to && k < len(curve) && !s.spent(); k++ {
		if k+1 == s.steps {
			s.best = min(s.best, s.problem.regret[row])
		}
		s.regret = append(s.regret, s.best)
		if stop != nil {
			if over, err := stop(k+1, curve[k]); over || err != nil {
				return k + 1, err
			}
		}
	}
	end = min(to, len(curve))
	if end < to && !s.spent() {
		s.regret = append(s.regret, s.best) // the step at which it diverged
	}
	return end, nil
}

func (s *spending) halve(ctx context.Context) error {
	a := newASHA(s.steps)
	for !s.spent() {
		row, to := a.next()
		if row < 0 {
			trial, more, err := s.next(ctx)
			if !more {
				return err
			}
			row = trial.Index
		}
		loss := math.Inf(1)
		if end, _ := s.train(row, to, nil); end == to {
			loss = s.losses[row][to-1]
		}
		a.came(row, to, loss)
	}
	return nil
}

// spend spends epochs on the proposals of an optimiser, or on random points.
func (s *spending) spend(ctx context.Context, m spender) error {
	var r rule
	if m.rule != nil {
		r = m.rule(s.steps)
	}
	for !s.spent() {
		trial, more, err := s.next(ctx)
		if !more {
			return err
		}
		row, stopped := trial.Index, false
		end, err := s.train(row, s.steps, func(step int, loss float64) (bool, error) {
			stop := r != nil && r.stop(row, step, loss) || m.knows > 0 && step >= m.knows && s.problem.regret[row] >= s.best
			if !m.random && step < s.steps && (m.advice || r != nil) {
				p, err := s.Report(ctx, trial.ID, step, loss)
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
		if end == s.steps && r != nil {
			r.ended(row)
		}
		switch {
		case m.random:
		case stopped && m.knows == 0:
			err = s.TellStopped(ctx, trial.ID)
		case end == s.steps || m.knows > 0 && len(s.losses[row]) == s.steps:
			err = s.Tell(trial.ID, s.losses[row][s.steps-1])
		default:
			err = s.TellFailed(trial.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spend tunes a task and returns the regret of the best end after each epoch.
func (s *study) spend(ctx context.Context, target, steps int, repeat uint64, m spender) (regret []float64, err error) {
	var opts []cmbo.Option
	if m.resumes {
		opts = append(opts, cmbo.WithCheckpoints())
	}
	past := func(i int) cmbo.Task { return s.trained(s.tasks[i], steps, repeat) }
	o, err := s.propose(ctx, m.way, "random points", target, repeat, past, opts...)
	if err != nil {
		return nil, err
	}
	run := &spending{problem: s.tasks[target], proposer: o, steps: steps, epochs: s.protocol.Budget * steps, best: 1}
	run.at = make(map[int]int)
	if m.asha {
		err = run.halve(ctx)
	} else {
		err = run.spend(ctx, m)
	}
	// Where nothing was left to try the last regret stays.
	return append(run.regret, slices.Repeat([]float64{run.best}, max(run.epochs-len(run.regret), 0))...), err
}

// reached returns the number of epochs after which a regret is down to a level, one more than there are if it never is.
func reached(regret []float64, level float64) int {
	i := slices.IndexFunc(regret, func(v float64) bool { return v <= level })
	if i < 0 {
		return len(regret) + 1
	}
	return i + 1
}

func onCurves(ctx context.Context, s *study) error {
	steps, err := s.readCurves()
	if err != nil {
		return err
	}
	ways, err := chosen(s, spenders)
	if err != nil {
		return err
	}
	n, epochs := s.targets(), s.protocol.Budget*steps
	runs, err := play(ctx, s, ways, n*s.protocol.Repeats, func(s *study, m spender, i int) ([]float64, error) {
		return s.spend(ctx, i%n, steps, uint64(i/n), m)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "space %s: %d tasks left out of %d, %d runs of %d epochs a way, evaluations of %d epochs, from zero\n\n", s.space, n, len(s.tasks), len(runs[0]), epochs, steps)
	at, heads := columns(epochs, epochs/20, epochs/10, epochs/4)
	w := s.table("way|epochs to .1|.05|.01|median run to .01|runs at .01|regret at " + heads)
	text := func(e int) string {
		if e > epochs {
			return fmt.Sprintf("> %d", epochs)
		}
		return fmt.Sprint(e)
	}
	for k, m := range ways {
		mean := bench.MeanCurve(runs[k])
		needed := each.Of(runs[k], func(r []float64) int { return reached(r, 0.01) })
		slices.Sort(needed)
		there, _ := slices.BinarySearch(needed, epochs+1)
		regrets := each.Of(at, func(e int) float64 { return mean[e-1] })
		w.row("%s|%s|%s|%s|%s|%.0f %%%s", m.name,
			text(reached(mean, 0.1)), text(reached(mean, 0.05)), text(reached(mean, 0.01)), text(needed[len(needed)/2]),
			100*float64(there)/float64(len(needed)), cells("|%.3f", regrets))
	}
	return w.Flush()
}
