package cmbo_test

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
)

// Small values are good: times, costs, errors.
func ExampleWithMinimize() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.LogInt("buffer", 1, 4096)))
	milliseconds := func(buffer int) float64 { return 20 + math.Abs(math.Log2(float64(buffer))-7) }

	opt := must(cmbo.New(space, cmbo.WithMinimize()))
	for range 12 {
		trial := must(opt.Ask(ctx))
		if err := opt.Tell(trial.ID, milliseconds(trial.Int("buffer"))); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	fmt.Printf("best of 12: %.0f ms\n", best.Y)
	// Output:
	// best of 12: 20 ms
}

// Names, switches and numbers that have an order are parameters like any others.
func ExampleCategorical() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(
		cmbo.Categorical("codec", "gzip", "lz4", "zstd"),
		cmbo.Ordinal("block", 64, 128, 256, 1024),
		cmbo.Bool("checksum")))
	speed := func(codec string, block int, checksum bool) float64 {
		v := map[string]float64{"gzip": 1, "lz4": 4, "zstd": 3}[codec] - math.Abs(float64(block)-256)/1000
		if checksum {
			v -= 0.5
		}
		return v
	}

	opt := must(cmbo.New(space))
	for range 15 { // of 24 combinations
		trial := must(opt.Ask(ctx))
		y := speed(trial.Choice("codec"), trial.Int("block"), trial.Bool("checksum"))
		if err := opt.Tell(trial.ID, y); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	fmt.Println(best)
	// Output:
	// 4 at codec=lz4 block=256 checksum=false
}

// The choice is among machines that can be had, and of those among the ones that
// are cheap enough.
func ExampleSpace_WithCandidates() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.LogInt("cores", 1, 64), cmbo.LogInt("gigabytes", 1, 512)))
	price := func(x []float64) float64 { return 0.03*x[0] + 0.005*x[1] }
	var affordable [][]float64
	for cores := 1.0; cores <= 64; cores *= 2 {
		for _, perCore := range []float64{2, 4, 8} {
			if x := []float64{cores, cores * perCore}; price(x) <= 1 {
				affordable = append(affordable, x)
			}
		}
	}
	space = must(space.WithCandidates(affordable))

	opt := must(cmbo.New(space, cmbo.WithMinimize()))
	for range 8 {
		trial := must(opt.Ask(ctx))
		hours := 10/trial.Float("cores") + 40/trial.Float("gigabytes")
		if err := opt.Tell(trial.ID, hours); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	fmt.Println(space.NumCandidates(), "machines, best of 8:", best.Config())
	// Output:
	// 14 machines, best of 8: map[cores:16 gigabytes:64]
}

// What is known to work is evaluated first, so that the run has something to beat.
func ExampleOptimizer_Enqueue() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Categorical("optimizer", "sgd", "adam")))
	opt := must(cmbo.New(space))
	inUse := must(space.Row(map[string]any{"lr": 0.001, "optimizer": "adam"}))
	if err := opt.Enqueue(inUse); err != nil {
		panic(err)
	}
	fmt.Println(must(opt.Ask(ctx)))
	// Output:
	// trial 1: lr=0.001 optimizer=adam
}

// Four machines work at the same time. What is being evaluated is not proposed
// again.
func ExampleOptimizer_AskN() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.Float("x", -2, 2), cmbo.Float("y", -2, 2)))
	measure := func(x, y float64) float64 { return 1 - x*x - y*y }

	opt := must(cmbo.New(space))
	for range 5 {
		trials := must(opt.AskN(ctx, 4))
		var wg sync.WaitGroup
		for _, trial := range trials {
			wg.Add(1)
			go func() {
				defer wg.Done()
				// Answers come in any order; an Optimizer takes them from any goroutine.
				if err := opt.Tell(trial.ID, measure(trial.Float("x"), trial.Float("y"))); err != nil {
					panic(err)
				}
			}()
		}
		wg.Wait()
	}
	best, _ := opt.Best()
	fmt.Printf("best of %d: %.1f\n", len(opt.Observations()), best.Y)
	// Output:
	// best of 20: 1.0
}

// Evaluations crash. A crash has no value, and no value has to be made up: the
// optimiser learns where evaluations succeed.
func ExampleOptimizer_TellFailed() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.LogInt("batch", 1, 1024), cmbo.Int("layers", 1, 20)))
	train := func(batch, layers int) (accuracy float64, ok bool) {
		accuracy = 0.95 - math.Pow(math.Log2(float64(batch))-7, 2)/100 - math.Pow(float64(layers)-8, 2)/200
		return accuracy, batch*layers <= 2000 // out of memory beyond
	}

	opt := must(cmbo.New(space))
	crashes := 0
	for range 15 {
		trial := must(opt.Ask(ctx))
		y, ok := train(trial.Int("batch"), trial.Int("layers"))
		var err error
		if ok {
			err = opt.Tell(trial.ID, y)
		} else {
			crashes++
			err = opt.TellFailed(trial.ID)
		}
		if err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	fmt.Printf("%d of 15 crashed, best accuracy %.2f\n", crashes, best.Y)
	// Output:
	// 2 of 15 crashed, best accuracy 0.95
}

// A page that shows how a run is going lists its trials with what has become of each.
func ExampleOptimizer_Trials() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.LogInt("batch", 1, 1024)))
	opt := must(cmbo.New(space, cmbo.WithMinimize()))
	for range 4 {
		trial := must(opt.Ask(ctx))
		var err error
		switch batch := trial.Int("batch"); {
		case trial.ID == 4: // under way
		case batch > 256: // out of memory
			err = opt.TellFailed(trial.ID)
		default:
			err = opt.Tell(trial.ID, 1000/float64(batch))
		}
		if err != nil {
			panic(err)
		}
	}
	values := map[int]float64{} // by trial
	for _, o := range opt.Observations() {
		values[o.Trial] = o.Y
	}
	for _, trial := range opt.Trials() {
		fmt.Printf("%v: %v", trial, trial.Status)
		if trial.Status == cmbo.StatusTold {
			fmt.Printf(" %.1f s", values[trial.ID])
		}
		fmt.Println()
	}
	// Output:
	// trial 1: batch=1: told 1000.0 s
	// trial 2: batch=292: failed
	// trial 3: batch=130: told 7.7 s
	// trial 4: batch=10: open
}

// What the model believes: of the past, of a point, of its last proposal.
func ExampleOptimizer_LastStep() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.Float("x", 0, 1)))
	measure := func(x, peak float64) float64 { return math.Exp(-8*(x-peak)*(x-peak)) + 0.02*math.Sin(50*x) }
	var tasks []cmbo.Task
	for i := range 4 {
		task := cmbo.Task{ID: fmt.Sprint("task ", i)}
		for j := range 12 {
			x := float64(j) / 11
			task.X, task.Y = append(task.X, []float64{x}), append(task.Y, measure(x, 0.28+0.02*float64(i)))
		}
		tasks = append(tasks, task)
	}
	prior := must(cmbo.Learn(ctx, space, tasks))
	opt := must(cmbo.New(space, cmbo.WithPrior(prior)))
	for range 5 {
		trial := must(opt.Ask(ctx))
		if err := opt.Tell(trial.ID, measure(trial.Float("x"), 0.3)); err != nil {
			panic(err)
		}
	}

	weights := must(opt.Weights(ctx)) // no transfer, population
	fmt.Printf("%.1f %% of the mass lies on the past\n", 100*(1-weights[0]))

	mean, sd, err := opt.Predict(ctx, []float64{0.9})
	if err != nil {
		panic(err)
	}
	fmt.Printf("at 0.9 hardly more than %.1f\n", mean+2*sd)

	step, _ := opt.LastStep()
	fmt.Printf("trial %d scored best of %d candidates\n", step.Trial, len(step.Scores))
	// Output:
	// 99.9 % of the mass lies on the past
	// at 0.9 hardly more than 0.5
	// trial 5 scored best of 509 candidates
}
