package main

import (
	"context"
	"math/rand/v2"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
)

// An explored data set comes with random settings that were tried on it, and their accuracies, as
// the optimiser learns from them.
type explored struct {
	*folded
	cmbo.Task
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
	e := explored{f, cmbo.Task{ID: f.name}}
	g := rng.Stream(seed, label+" of "+f.name)
	for range n {
		row := randomRow(space, g)
		a, err := model.accuracy(f, configOf(row))
		if err != nil {
			return e, err
		}
		e.X, e.Y = append(e.X, row), append(e.Y, a)
	}
	return e, nil
}

// randomRow draws a point of the space: every kernel and degree with the same
// probability, the floats evenly on their logarithmic scales.
func randomRow(space *cmbo.Space, g *rand.Rand) []float64 {
	u := each.Below(space.Dim(), func(int) float64 { return g.Float64() })
	row, _ := space.Decode(u)       // cannot fail: u has its coordinates
	row[3] = float64(1 + g.IntN(5)) // rounding would favour the inner degrees
	return row
}
