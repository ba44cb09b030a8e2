package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// A target is a new data set to tune.
type target struct {
	*folded
	pool        []float64 // accuracies of the random settings
	best, worst float64   // of the pool and of everything any method tried
}

// A study is the comparison: targets, and runs by target, method and repeat.
type study struct {
	targets []*target
	runs    [][numMethods][]run
	repeats int
	budget  int
}

// newTargets generates the new data sets and explores each with random
// settings.
func newTargets(ctx context.Context, space *cmbo.Space, recipes []recipe, pool int, seed uint64) ([]*target, error) {
	targets := make([]*target, len(recipes))
	models := make([]classifier, parallel.Workers(0, len(recipes)))
	err := parallel.For(ctx, 0, len(recipes), func(worker, i int) error {
		f := newFolded(recipes[i].generate(seed), seed)
		_, y, err := tryRandom(space, &models[worker], f, pool, seed, "pool")
		targets[i] = &target{folded: f, pool: y}
		return err
	})
	return targets, err
}

// compare runs every method on every target, repeats times each with other
// seeds.
func compare(ctx context.Context, space *cmbo.Space, pasts [numMethods]pastOption, targets []*target, repeats, budget int, seed uint64) (*study, error) {
	s := &study{targets: targets, repeats: repeats, budget: budget, runs: make([][numMethods][]run, len(targets))}
	for i := range s.runs {
		for m := range numMethods {
			s.runs[i][m] = make([]run, repeats)
		}
	}
	n := len(targets) * int(numMethods) * repeats
	models := make([]classifier, parallel.Workers(0, n))
	err := parallel.For(ctx, 0, n, func(worker, k int) error {
		// cm-BO, which takes longest, comes first.
		m := numMethods - 1 - method(k/(len(targets)*repeats))
		i, j := k/repeats%len(targets), k%repeats
		r, err := tune(ctx, m, space, pasts[m], &models[worker], targets[i].folded, budget, runSeed(seed, i, j))
		if err != nil {
			return fmt.Errorf("%s on %s: %w", m, targets[i].name, err)
		}
		s.runs[i][m][j] = r
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, t := range targets {
		t.best, t.worst = slices.Max(t.pool), slices.Min(t.pool)
		for m := range numMethods {
			for _, r := range s.runs[i][m] {
				t.best, t.worst = max(t.best, slices.Max(r)), min(t.worst, slices.Min(r))
			}
		}
	}
	return s, nil
}

// found returns the best accuracy of the first 1, 2, ... settings of a run.
func (r run) found() []float64 {
	out := slices.Clone(r)
	for i := 1; i < len(out); i++ {
		out[i] = max(out[i], out[i-1])
	}
	return out
}

// regret turns the best accuracy found into the normalised regret: 0 for the
// best accuracy known of the data set, 1 for the worst. It is 0 if all settings
// are equally good.
func (t *target) regret(accuracy float64) float64 {
	if !(t.best > t.worst) {
		return 0
	}
	return (t.best - accuracy) / (t.best - t.worst)
}

// A curve summarises many runs, query by query.
type curve struct{ mean, low, high []float64 }

// summarize computes means and quartiles over sequences, query by query.
func summarize(sequences [][]float64) curve {
	var c curve
	column := make([]float64, len(sequences))
	for q := range sequences[0] {
		var sum float64
		for i, s := range sequences {
			column[i] = s[q]
			sum += s[q]
		}
		slices.Sort(column)
		c.mean = append(c.mean, sum/float64(len(column)))
		c.low = append(c.low, quantile(column, 0.25))
		c.high = append(c.high, quantile(column, 0.75))
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

// accuracies summarises the best accuracy found by a method.
func (s *study) accuracies(m method) curve {
	return s.summary(m, func(_ *target, a float64) float64 { return a })
}

// regrets summarises the normalised regret.
func (s *study) regrets(m method) curve { return s.summary(m, (*target).regret) }

func (s *study) summary(m method, value func(*target, float64) float64) curve {
	var all [][]float64
	for i, t := range s.targets {
		for _, r := range s.runs[i][m] {
			v := r.found()
			for q := range v {
				v[q] = value(t, v[q])
			}
			all = append(all, v)
		}
	}
	return summarize(all)
}
