package main

import (
	"context"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// contextWays are what a run is told of its task: nothing, its descriptors, those of a task
// drawn at random, past tasks having been dealt others' too.
var contextWays = []way{
	{name: "without descriptors", transfer: true},
	{name: "with", transfer: true},
	{name: "dealt out at random", transfer: true},
}

// speaks reports whether a run is told descriptors.
func (s *study) speaks(w way) bool { return s.contexts && w != contextWays[0] }

// described returns what a run on a target is told of each task, by index, in one of contextWays.
// What repeat numbers is dealt out anew.
func (s *study) described(w way, target int, repeat ...uint64) func(i int) cmbo.Context {
	if w != contextWays[2] {
		return func(i int) cmbo.Context { return s.tasks[i].Context }
	}
	deal := rng.Stream(s.protocol.Seed, "context", append([]uint64{uint64(target)}, repeat...)...).Perm(len(s.tasks))
	return func(i int) cmbo.Context { return s.tasks[deal[i]].Context }
}

// A contextRun has the areas of a run by contextWays, and the gain that the relation of the past
// tasks has then.
type contextRun struct{ area, gain [3]float64 }

// byContext compares runs that know the tasks' descriptors with others; of learning curves the
// ends are the values.
func byContext(ctx context.Context, s *study) (err error) {
	if s.curves {
		var steps int
		if steps, err = s.readCurves(); err == nil {
			for _, t := range s.tasks {
				*t = t.ends(steps)
			}
		}
	} else {
		err = s.readOutputs(4, "a context and two different values", func(t *problem) bool {
			return len(t.Context) > 0 && t.rate(s.past.minimize)
		})
	}
	if err != nil {
		return err
	}
	p, n := s.protocol, s.targets()
	all, err := play(ctx, s, []way{{name: "descriptors"}}, n*p.Repeats, func(_ way, i int) (contextRun, error) {
		return s.describe(ctx, i%n, uint64(i/n))
	})
	if err != nil {
		return err
	}
	runs := all[0]
	fmt.Fprintf(s.stdout, "space %s: %d tasks left out of %d, %d runs, %d evaluations from zero, %d rows of each past task\n\n", s.space, n, len(s.tasks), len(runs), p.Budget, p.SourceRows)
	w := s.table(fmt.Sprintf("descriptors|area of queries 1-%d|of that without|better, worse|they said something|gain then", p.Budget))
	for k, way := range contextWays {
		areas, plain := make([]float64, n), make([]float64, n)
		var each, first []float64
		spoke, gain := 0.0, 0.0
		for i, r := range runs {
			areas[i%n] += r.area[k] / float64(p.Repeats)
			plain[i%n] += r.area[0] / float64(p.Repeats)
			each, first = append(each, r.area[k]), append(first, r.area[0])
			if r.gain[k] > 0 {
				spoke++
				gain += r.gain[k]
			}
		}
		mean, ratio := s.compare(areas, plain)
		w.row("%s|%.4f|%s|%s|%.0f %%|%.2f", way, mean, ratio, sides(each, first), 100*spoke/float64(len(runs)), gain/max(spoke, 1))
	}
	return w.Flush()
}

// describe tunes one task with the others' past in each of contextWays.
func (s *study) describe(ctx context.Context, target int, repeat uint64) (r contextRun, err error) {
	t := s.tasks[target]
	var prior *cmbo.Prior
	for k, w := range contextWays {
		described := s.described(w, target, repeat)
		if k != 1 { // for which it is learned already
			prior, err = s.learn(ctx, target, func(i int) cmbo.Task {
				from := s.tasks[i]
				q := from.pick(from.Y, s.draw(from, "rows ", uint64(target), repeat))
				q.Context = described(i)
				return q
			})
			if err != nil {
				return r, err
			}
		}
		var opts []cmbo.Option
		if s.speaks(w) {
			relation, err := prior.Relation(ctx)
			if err != nil {
				return r, err
			}
			if r.gain[k] = relation.Gain; relation.Gain == 0 {
				r.area[k] = r.area[0] // which TestContextOfNoUse shows
				continue
			}
			opts = append(opts, cmbo.WithContext(described(target)))
		}
		o, err := s.begin(target, prior, opts...)
		if err != nil {
			return r, err
		}
		tell := func(trial cmbo.Trial) error { return o.Tell(trial.ID, t.Y[trial.Index]) }
		run, err := evaluate(ctx, o, t, s.protocol.Budget, tell)
		if err != nil {
			return r, err
		}
		r.area[k] = area(run)
	}
	return r, nil
}
