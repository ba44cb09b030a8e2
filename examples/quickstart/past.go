package main

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
)

// record makes the past: it trains the classifier with random settings on each
// of the old data sets and writes down the accuracies, a task for each.
func record(ctx context.Context, space *cmbo.Space, recipes []recipe, n int, seed uint64) ([]cmbo.Task, error) {
	tasks := make([]cmbo.Task, len(recipes))
	models := make([]classifier, parallel.Workers(0, len(recipes)))
	err := parallel.For(ctx, 0, len(recipes), func(worker, i int) error {
		f := newFolded(recipes[i].generate(seed), seed)
		x, y, err := tryRandom(space, &models[worker], f, n, seed, "past settings")
		tasks[i] = cmbo.Task{ID: f.name, X: x, Y: y}
		return err
	})
	return tasks, err
}

// tryRandom evaluates n random settings of the classifier.
func tryRandom(space *cmbo.Space, model *classifier, f *folded, n int, seed uint64, label string) (x [][]float64, y []float64, err error) {
	g := rng.Stream(seed, label+" of "+f.name)
	for range n {
		row, err := randomRow(space, g)
		if err != nil {
			return nil, nil, err
		}
		a, err := model.accuracy(f, configOf(row))
		if err != nil {
			return nil, nil, err
		}
		x, y = append(x, row), append(y, a)
	}
	return x, y, nil
}
