package main

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
)

// An explored data set comes with random settings that were tried on it, and their accuracies.
type explored struct {
	*folded
	x [][]float64
	y []float64
}

// explore generates data sets and tries n random settings of the classifier on each.
func explore(ctx context.Context, space *cmbo.Space, recipes []recipe, n int, seed uint64,
	label string) ([]explored, error) {
	sets := make([]explored, len(recipes))
	return sets, parallel.For(ctx, 0, len(recipes), func(_, i int) (err error) {
		f := newFolded(recipes[i].generate(seed), seed)
		sets[i], err = tryRandom(space, f, n, seed, label)
		return err
	})
}

// tryRandom evaluates n random settings of the classifier.
func tryRandom(space *cmbo.Space, f *folded, n int, seed uint64, label string) (explored, error) {
	var model classifier
	e := explored{folded: f}
	g := rng.Stream(seed, label+" of "+f.name)
	for range n {
		row, err := randomRow(space, g)
		if err != nil {
			return e, err
		}
		a, err := model.accuracy(f, configOf(row))
		if err != nil {
			return e, err
		}
		e.x, e.y = append(e.x, row), append(e.y, a)
	}
	return e, nil
}

// tasks are the records of explored data sets as the optimiser learns from them.
func tasks(sets []explored) []cmbo.Task {
	var out []cmbo.Task
	for _, e := range sets {
		out = append(out, cmbo.Task{ID: e.name, X: e.x, Y: e.y})
	}
	return out
}
