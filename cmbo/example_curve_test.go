package cmbo_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
)

// An evaluation that reports its loss epoch by epoch is stopped once the curves of past
// tasks say that it cannot become the best.
func ExampleOptimizer_Report() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-4, 1))
	if err != nil {
		panic(err)
	}
	const epochs = 20
	// loss is that of a task of some difficulty after so many epochs.
	loss := func(lr, difficulty float64, epoch int) float64 {
		d := math.Log10(lr) + 2
		return difficulty + 0.3*d*d + 2*math.Exp(-float64(epoch)/(6+d))
	}
	var past []cmbo.Task
	for i, difficulty := range []float64{0.2, 0.5, 0.9} {
		task := cmbo.Task{ID: fmt.Sprint("task ", i)}
		for k := range 12 {
			lr := math.Pow(10, -4+4*float64(k)/11)
			var c cmbo.Curve
			for epoch := 1; epoch < epochs; epoch++ {
				c.Steps, c.Values = append(c.Steps, epoch), append(c.Values, loss(lr, difficulty, epoch))
			}
			task.X, task.Y, task.Curves = append(task.X, []float64{lr}), append(task.Y, loss(lr, difficulty, epochs)), append(task.Curves, c)
		}
		past = append(past, task)
	}
	prior, err := cmbo.Learn(ctx, space, past, cmbo.WithMinimize())
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(space, cmbo.WithPrior(prior))
	if err != nil {
		panic(err)
	}
	for _, lr := range []float64{0.01, 0.0002} { // two guesses, in place of the model's
		if err := opt.Enqueue([]float64{lr}); err != nil {
			panic(err)
		}
	}
	for range 2 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		lr, stopped := trial.Float("lr"), false
		for epoch := 1; epoch < epochs && !stopped; epoch++ {
			p, err := opt.Report(ctx, trial.ID, epoch, loss(lr, 0.7, epoch))
			if err != nil {
				panic(err)
			}
			if stopped = p.Stop; stopped {
				fmt.Printf("lr %g stopped after %d of %d epochs\n", lr, epoch, epochs)
				err = opt.TellStopped(ctx, trial.ID)
			}
			if err != nil {
				panic(err)
			}
		}
		if !stopped {
			y := loss(lr, 0.7, epochs)
			fmt.Printf("lr %g: %.2f\n", lr, y)
			if err := opt.Tell(trial.ID, y); err != nil {
				panic(err)
			}
		}
	}
	// Output:
	// lr 0.01: 0.77
	// lr 0.0002 stopped after 6 of 20 epochs
}
