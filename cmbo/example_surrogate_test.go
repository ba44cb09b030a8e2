package cmbo_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/linalg"
)

// nearest is a model that needs no mathematics: a point is as good as the nearest
// one that was measured, and the less sure the farther away that is.
type nearest struct{ data cmbo.Data }

func (n *nearest) Fit(_ context.Context, d cmbo.Data) error {
	n.data = d
	return nil
}

func (n *nearest) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	for i := range mean {
		at, distance := n.find(x.Row(i), n.data.X)
		mean[i] = 0
		if at >= 0 {
			mean[i] = n.data.Y[at]
		}
		// A point that is being evaluated makes its surroundings known, too.
		_, pending := n.find(x.Row(i), n.data.Pending)
		sd[i] = math.Min(1, 2*math.Min(distance, pending))
	}
	return ctx.Err()
}

// find returns the row of points nearest to x and its distance.
func (n *nearest) find(x []float64, points *linalg.Dense) (at int, distance float64) {
	at, distance = -1, math.Inf(1)
	if points == nil {
		return at, distance
	}
	rows, _ := points.Dims()
	for j := range rows {
		var sum float64
		for d, v := range points.Row(j) {
			sum += (x[d] - v) * (x[d] - v)
		}
		if sum = math.Sqrt(sum); sum < distance {
			at, distance = j, sum
		}
	}
	return at, distance
}

// A model of one's own takes the place of the Gaussian process. Values arrive scaled
// and larger is better, points in the unit cube.
func ExampleWithSurrogate() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, 12))
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(space, cmbo.WithSurrogate(&nearest{}), cmbo.WithAcquisition(cmbo.UCB(1)))
	if err != nil {
		panic(err)
	}
	for range 30 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		y := -math.Abs(math.Log10(trial.Float("lr"))+3) - math.Abs(trial.Float("depth")-6)/4
		if err := opt.Tell(trial.ID, y); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	fmt.Printf("best of 30: lr %.3f, depth %d\n", best.Float("lr"), best.Int("depth"))
	// Output:
	// best of 30: lr 0.001, depth 6
}
