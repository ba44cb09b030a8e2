package main

import (
	"context"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// contextWays are what a run is told of its task: nothing, its descriptors, those of a task
// drawn at random, past tasks having been dealt others' too.
var contextWays = [...]string{"without descriptors", "with", "dealt out at random"}

// contextRun is a run in each of the ways, and the gain that the relation of the past tasks
// has then.
type contextRun struct {
	area, gain [len(contextWays)]float64
}

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
	all, err := play(ctx, s, []string{"descriptors"}, n*p.Repeats, func(_, i int) (contextRun, error) { return s.tell(ctx, i%n, uint64(i/n)) })
	if err != nil {
		return err
	}
	runs := all[0]
	fmt.Fprintf(s.stdout, "space %s: %d tasks left out of %d, %d runs, %d evaluations from zero, %d rows of each past task\n\n", s.space, n, len(s.tasks), len(runs), p.Budget, p.SourceRows)
	w := s.table(fmt.Sprintf("descriptors|area of queries 1-%d|of that without|better, worse|they said something|gain then", p.Budget))
	for k, name := range contextWays {
		areas, plain := make([]float64, n), make([]float64, n)
		var each, first []float64
		spoke, gain := 0, 0.0
		for i, r := range runs {
			areas[i%n] += r.area[k] / float64(p.Repeats)
			plain[i%n] += r.area[0] / float64(p.Repeats)
			each, first = append(each, r.area[k]), append(first, r.area[0])
			if r.gain[k] > 0 {
				spoke++
				gain += r.gain[k]
			}
		}
		mean, ratio, lo, hi := s.compare(areas, plain)
		better, worse := sides(each, first)
		w.row("%s|%.4f|%.2f [%.2f, %.2f]|%d, %d|%.0f %%|%.2f", name, mean, ratio, lo, hi, better, worse, 100*float64(spoke)/float64(len(runs)), gain/max(float64(spoke), 1))
	}
	return w.Flush()
}

// described returns what a run on a target is told of each task, by index, in one of contextWays.
// What repeat numbers is dealt out anew.
func (s *study) described(way, target int, repeat ...uint64) func(i int) cmbo.Context {
	if way != 2 {
		return func(i int) cmbo.Context { return s.tasks[i].Context }
	}
	deal := rng.Stream(s.protocol.Seed, "context", append([]uint64{uint64(target)}, repeat...)...).Perm(len(s.tasks))
	return func(i int) cmbo.Context { return s.tasks[deal[i]].Context }
}

// tell tunes one task with the others' past in each of the ways.
func (s *study) tell(ctx context.Context, target int, repeat uint64) (r contextRun, err error) {
	t := s.tasks[target]
	space, err := cmbo.Candidates(t.X)
	if err != nil {
		return r, err
	}
	var prior *cmbo.Prior
	for k := range contextWays {
		told := s.described(k, target, repeat)
		if k != 1 { // for which it is learned already
			prior, err = s.learn(ctx, space, target, func(i int) cmbo.Task {
				from := s.tasks[i]
				q := from.pick(from.Y, s.draw(from, "rows ", uint64(target), repeat))
				q.Context = told(i)
				return q
			})
			if err != nil {
				return r, err
			}
		}
		opts := s.run(prior)
		if k > 0 {
			relation, err := prior.Relation(ctx)
			if err != nil {
				return r, err
			}
			if r.gain[k] = relation.Gain; relation.Gain == 0 {
				r.area[k] = r.area[0] // which TestContextOfNoUse shows
				continue
			}
			opts = append(opts, cmbo.WithContext(told(target)))
		}
		o, err := cmbo.New(space, opts...)
		if err != nil {
			return r, err
		}
		run, err := evaluate(ctx, o, nil, t, s.protocol.Budget, func(o *cmbo.Optimizer, id, row int, t *problem) error { return o.Tell(id, t.Y[row]) })
		if err != nil {
			return r, err
		}
		r.area[k] = area(run)
	}
	return r, nil
}
