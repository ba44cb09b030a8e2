package cmbo_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
)

// accuracy stands for training a model: best at a learning rate that depends on
// the data set, and at depth 6.
func accuracy(logBest float64) func(lr float64, depth int) float64 {
	return func(lr float64, depth int) float64 {
		a, b := math.Log10(lr)-logBest, float64(depth-6)/4
		return 0.95 * math.Exp(-a*a/4-b*b)
	}
}

// Past runs on other data sets make the first proposals good.
func Example_transfer() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, 12))
	if err != nil {
		panic(err)
	}

	// Six past runs, on data sets of two kinds.
	var tasks []cmbo.Task
	for i := range 6 {
		train := accuracy([]float64{-3, -1.2}[i%2])
		run, err := cmbo.New(space, cmbo.WithSeed(uint64(i)), cmbo.WithInitial(25))
		if err != nil {
			panic(err)
		}
		for range 25 {
			trial, err := run.Ask(ctx)
			if err != nil {
				panic(err)
			}
			if err := run.Tell(trial.ID, train(trial.Float("lr"), trial.Int("depth"))); err != nil {
				panic(err)
			}
		}
		task, err := run.Task(fmt.Sprintf("dataset-%d", i))
		if err != nil {
			panic(err)
		}
		tasks = append(tasks, task)
	}

	prior, err := cmbo.Learn(ctx, space, tasks)
	if err != nil {
		panic(err)
	}

	// A new data set of the second kind.
	train := accuracy(-1.3)
	opt, err := cmbo.New(space, cmbo.WithPrior(prior))
	if err != nil {
		panic(err)
	}
	for range 8 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		if err := opt.Tell(trial.ID, train(trial.Float("lr"), trial.Int("depth"))); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	fmt.Printf("best accuracy after 8 trials: %.2f of 0.95\n", best.Y)
	// Output:
	// best accuracy after 8 trials: 0.95 of 0.95
}

// A trial has one fate: it is told, failed or taken back.
func ExampleOptimizer_Cancel() {
	ctx := context.Background()
	space, err := cmbo.Candidates([][]float64{{0.1}, {0.3}, {0.5}, {0.7}, {0.9}})
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(space, cmbo.WithSeed(3))
	if err != nil {
		panic(err)
	}
	trials, err := opt.AskN(ctx, 3)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(trials), "open trials")
	_ = opt.Tell(trials[2].ID, 0.8)    // in any order
	_ = opt.TellFailed(trials[0].ID)   // crashed: not proposed again
	_ = opt.Cancel(trials[1].ID)       // may be proposed again
	err = opt.Tell(trials[2].ID, 0.81) // too late
	if errors.Is(err, cmbo.ErrTrialClosed) {
		fmt.Println(err)
	}
	// Output:
	// 3 open trials
	// cmbo: trial is closed: 3 was told
}

// Points that were tried elsewhere are told by Observe.
func ExampleOptimizer_Observe() {
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Categorical("optimizer", "sgd", "adam"))
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(space, cmbo.WithMinimize())
	if err != nil {
		panic(err)
	}
	row, err := space.Row(map[string]any{"lr": 1e-3, "optimizer": "adam"})
	if err != nil {
		panic(err)
	}
	if err := opt.Observe(row, 0.31); err != nil {
		panic(err)
	}
	best, _ := opt.Best()
	config, _ := space.Config(best.X)
	fmt.Println(best.Y, config)

	_, err = space.Row(map[string]any{"lr": 3, "optimizer": "adam"})
	fmt.Println(err)
	// Output:
	// 0.31 map[lr:0.001 optimizer:adam]
	// cmbo: point outside the space: parameter "lr": 3 is not in [1e-05, 1]
}
