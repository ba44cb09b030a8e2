package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
)

var noiseWays = []way{
	{name: "noise told, with transfer", transfer: true, handling: told},
	{name: "noise unknown, with transfer", transfer: true},
	{name: "noise told, again where that pays, with transfer", transfer: true, handling: told, again: true},
	{name: "noise told, without transfer", handling: told},
	{name: "noise unknown, without transfer"},
	{name: "random search", random: true},
}

// measured has, after each evaluation, the regret of what would be used: the point that is
// recommended, and that of the best value.
type measured struct {
	recommended, luckiest []float64
	again                 int // evaluations of a point that had a value
}

// noisy returns values with noise of so many of their standard deviations.
func noisy(y []float64, deviation float64, seed uint64, label string, index ...uint64) []float64 {
	r := rng.Stream(seed, label, index...)
	out := slices.Clone(y)
	for i := range out {
		out[i] += deviation * r.NormFloat64()
	}
	return out
}

func deviation(y []float64) float64 {
	_, v := stat.MeanVariance(y)
	return math.Sqrt(v)
}

// measure tunes a task of which no value is exact.
func (s *study) measure(ctx context.Context, target int, repeat uint64, m way) (r measured, err error) {
	t, p := s.tasks[target], s.protocol
	o, err := s.propose(ctx, m, "random search", target, repeat, func(i int) cmbo.Task {
		from := s.tasks[i]
		values := noisy(from.Y, s.noise*deviation(from.Y), p.Seed, "noise of "+from.ID, repeat)
		return from.pick(values, s.draw(from, "rows of ", repeat))
	})
	if err != nil {
		return r, err
	}
	if m.random {
		o.rows = slices.Repeat(o.rows, 1+p.Budget/len(o.rows))
	}
	sd := s.noise * deviation(t.Y)
	errs := noisy(make([]float64, p.Budget), sd, p.Seed, "noise", uint64(target), repeat)
	var more []cmbo.ObservationOption
	if m.handling == told {
		more = append(more, cmbo.WithNoise(sd*sd))
	}
	seen := make(map[int]bool)
	best, lucky := math.Inf(1), 1.0
	for n := range p.Budget {
		trial, left, err := o.next(ctx)
		if err != nil {
			return r, err
		}
		if !left {
			break
		}
		row := trial.Index
		v := t.Y[row] + errs[n]
		if !m.random {
			if err := o.Tell(trial.ID, v, more...); err != nil {
				return r, err
			}
		}
		if !s.past.minimize {
			v = -v
		}
		if v < best {
			best, lucky = v, t.regret[row]
		}
		if seen[row] {
			r.again++
		}
		seen[row] = true
		use := lucky
		if !m.random {
			rec, err := o.Recommend(ctx)
			if err != nil {
				return r, err
			}
			use = t.regret[t.space.Index(rec.X)]
			if m.again && rec.Again != nil {
				u, err := o.Outlook(ctx)
				if err == nil && rec.Gain > u.Expected {
					err = o.Enqueue(rec.Again)
				}
				if err != nil {
					return r, err
				}
			}
		}
		r.recommended, r.luckiest = append(r.recommended, use), append(r.luckiest, lucky)
	}
	return r, nil
}

// underNoise compares what ways to search would use in the end.
func underNoise(ctx context.Context, s *study) error {
	use := func(t *problem) bool { return t.rate(s.past.minimize) }
	if err := s.readOutputs(2, "two different values", use); err != nil {
		return err
	}
	n, p := s.targets(), s.protocol
	ways, err := chosen(s, noiseWays)
	if err != nil {
		return err
	}
	runs, err := play(ctx, s, ways, n*p.Repeats, func(s *study, m way, i int) (measured, error) {
		return s.measure(ctx, i%n, uint64(i/n), m)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "space %s: %d tasks left out of %d, %d runs a way, %d evaluations from zero with noise of %g of each task's deviation\n\n", s.space, n, len(s.tasks), len(runs[0]), p.Budget, s.noise)
	at, heads := columns(p.Budget, 5, 10, 20)
	w := s.table("way|regret of what is recommended at " + heads + "|of the best value|ratio|evaluated again")
	for k, m := range ways {
		recommended, lucky := make([]float64, n), make([]float64, n)
		mean := make([]float64, len(at))
		var value, again float64
		for i, r := range runs[k] {
			last := len(r.recommended) - 1
			for j, e := range at {
				mean[j] += r.recommended[min(e-1, last)] / float64(len(runs[k]))
			}
			recommended[i%n] += r.recommended[last] / float64(p.Repeats)
			lucky[i%n] += r.luckiest[last] / float64(p.Repeats)
			value += r.luckiest[last] / float64(len(runs[k]))
			again += float64(r.again) / float64(len(runs[k])*(last+1))
		}
		_, ratio := s.compare(recommended, lucky)
		w.row("%s%s|%.4f|%s|%.0f %%", m.name, cells("|%.4f", mean), value, ratio, 100*again)
	}
	return w.Flush()
}
