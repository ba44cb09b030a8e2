package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A target is a new data set to tune.
type target struct {
	explored
	best, worst float64 // of the random settings and of everything any method tried
}

// A study is the comparison: targets, and runs by target, method and repeat.
type study struct {
	targets []*target
	runs    [][numMethods][]run
	repeats int
	budget  int
}

// compare runs every method on every data set, repeats times each with other seeds.
func compare(ctx context.Context, space *cmbo.Space, pasts [numMethods]pastOption, sets []explored,
	repeats, budget int, seed uint64) (*study, error) {
	s := &study{repeats: repeats, budget: budget, runs: make([][numMethods][]run, len(sets))}
	for i, e := range sets {
		s.targets = append(s.targets, &target{explored: e})
		for m := range numMethods {
			s.runs[i][m] = make([]run, repeats)
		}
	}
	err := parallel.For(ctx, 0, len(sets)*int(numMethods)*repeats, func(_, k int) error {
		// cm-BO, which takes longest, comes first.
		m := numMethods - 1 - method(k/(len(sets)*repeats))
		i, j := k/repeats%len(sets), k%repeats
		r, err := tune(ctx, m, space, pasts[m], sets[i].folded, budget, runSeed(seed, i, j))
		if err != nil {
			return fmt.Errorf("%s on %s: %w", m, sets[i].name, err)
		}
		s.runs[i][m][j] = r
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, t := range s.targets {
		t.best, t.worst = slices.Max(t.Y), slices.Min(t.Y)
		for m := range numMethods {
			for _, r := range s.runs[i][m] {
				t.best, t.worst = max(t.best, slices.Max(r)), min(t.worst, slices.Min(r))
			}
		}
	}
	return s, nil
}

// regret turns the best accuracy found into the normalised regret: 0 for the best accuracy known of
// the data set, 1 for the worst. It is 0 if all settings are equally good.
func (t *target) regret(accuracy float64) float64 {
	if !(t.best > t.worst) {
		return 0
	}
	return (t.best - accuracy) / (t.best - t.worst)
}

// A curve has the mean and the quartiles over all runs of a method, by the number of settings tried.
type curve struct{ mean, low, high []float64 }

// percents summarises the best accuracy found by a method, in percent.
func (s *study) percents(m method) curve {
	return s.curve(m, func(_ *target, accuracy float64) float64 { return 100 * accuracy })
}

func (s *study) regrets(m method) curve { return s.curve(m, (*target).regret) }

func (s *study) curve(m method, value func(t *target, best float64) float64) curve {
	var c curve
	for q := range s.budget {
		var values []float64
		for i, t := range s.targets {
			for _, r := range s.runs[i][m] {
				values = append(values, value(t, slices.Max(r[:q+1])))
			}
		}
		c.mean = append(c.mean, stat.Sum(values)/float64(len(values)))
		slices.Sort(values)
		c.low, c.high = append(c.low, quantile(values, 0.25)), append(c.high, quantile(values, 0.75))
	}
	return c
}

// quantile interpolates between the order statistics of a sorted sample.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	return sorted[i] + (at-float64(i))*(sorted[j]-sorted[i])
}
