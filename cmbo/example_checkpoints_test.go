package cmbo_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
)

// Trainings that keep checkpoints are stopped early, and one that turns out to be worth it
// goes on where it stopped.
func ExampleWithCheckpoints() {
	ctx := context.Background()
	var rates [][]float64
	for k := range 25 {
		rates = append(rates, []float64{math.Pow(10, -float64(k)/6)})
	}
	space, err := cmbo.Candidates(rates)
	if err != nil {
		panic(err)
	}
	const epochs = 20
	// loss is that of a task after so many epochs, of which the first ones say little: how a
	// training begins is luck.
	loss := func(lr, best float64, epoch int) float64 {
		d := math.Log10(lr) - best
		return 0.3*d*d + (3+2*math.Sin(1e4*lr))*math.Exp(-float64(epoch)/4)
	}
	var past []cmbo.Task
	for i, best := range []float64{-3, -2.5, -1, -1.5} {
		task := cmbo.Task{ID: fmt.Sprint("task ", i)}
		for _, x := range rates {
			var c cmbo.Curve
			for epoch := 1; epoch < epochs; epoch++ {
				c.Steps, c.Values = append(c.Steps, epoch), append(c.Values, loss(x[0], best, epoch))
			}
			task.X, task.Y, task.Curves = append(task.X, x), append(task.Y, loss(x[0], best, epochs)), append(task.Curves, c)
		}
		past = append(past, task)
	}
	prior, err := cmbo.Learn(ctx, space, past, cmbo.WithMinimize())
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(space, cmbo.WithPrior(prior), cmbo.WithCheckpoints())
	if err != nil {
		panic(err)
	}
	checkpoint := make(map[int]int) // by trial: the epoch after which it was stopped
	spent := 0
	for range 18 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		lr, from, stopped := trial.X[0], checkpoint[trial.Resumes], false
		epoch := from
		for epoch < epochs-1 && !stopped {
			epoch++
			p, err := opt.Report(ctx, trial.ID, epoch, loss(lr, -2, epoch))
			if err != nil {
				panic(err)
			}
			stopped = p.Stop
		}
		if stopped {
			checkpoint[trial.ID] = epoch
			err = opt.TellStopped(ctx, trial.ID)
		} else {
			epoch++
			err = opt.Tell(trial.ID, loss(lr, -2, epoch))
		}
		if err != nil {
			panic(err)
		}
		fmt.Printf("lr %.4f: epochs %d to %d\n", lr, from+1, epoch)
		spent += epoch - from
	}
	found, _ := opt.Best()
	fmt.Printf("%d epochs; loss %.3f\n", spent, found.Y)
	// Output:
	// lr 0.0147: epochs 1 to 20
	// lr 0.1468: epochs 1 to 9
	// lr 1.0000: epochs 1 to 9
	// lr 0.0464: epochs 1 to 12
	// lr 0.0046: epochs 1 to 9
	// lr 0.2154: epochs 1 to 10
	// lr 0.0316: epochs 1 to 9
	// lr 0.0681: epochs 1 to 9
	// lr 0.0068: epochs 1 to 20
	// lr 0.0001: epochs 1 to 10
	// lr 0.0215: epochs 1 to 9
	// lr 0.4642: epochs 1 to 9
	// lr 0.6813: epochs 1 to 9
	// lr 0.0100: epochs 1 to 20
	// lr 0.0215: epochs 10 to 10
	// lr 0.1000: epochs 1 to 9
	// lr 0.3162: epochs 1 to 10
	// lr 0.0046: epochs 10 to 10
	// 185 epochs; loss 0.013
}
