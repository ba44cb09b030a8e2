package cmbo_test

import (
	"context"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
)

// Last year's study had other parameters: the learning rate and an optimiser had other
// names, choices stood in another order, and momentum was fixed.
func ExampleSpace_Adopt() {
	then := must(cmbo.NewSpace(cmbo.Float("rate", 0.001, 1), cmbo.Categorical("optimizer", "SGD", "adam"), cmbo.Bool("nesterov")))
	past := []cmbo.Task{{
		ID: "last year", Params: then.Params(),
		X: [][]float64{{0.1, 0, 1}, {0.01, 1, 0}, {0.9, 1, 0}}, Y: []float64{0.8, 0.9, 0.3},
	}}
	now := must(cmbo.NewSpace(
		cmbo.Categorical("optimizer", "adam", "adamw", "sgd"),
		cmbo.LogFloat("lr", 1e-5, 0.5),
		cmbo.Float("momentum", 0, 0.99),
	))
	tasks, report, err := now.Adopt(past, cmbo.Changes{
		Defaults: map[string]any{"momentum": 0.9},
		Renamed:  map[string]string{"rate": "lr"},
		Choices:  map[string]map[string]string{"optimizer": {"SGD": "sgd"}},
	})
	if err != nil {
		panic(err)
	}
	for i, x := range tasks[0].X {
		fmt.Println(must(now.Config(x)), tasks[0].Y[i])
	}
	fmt.Println(report)
	// Output:
	// map[lr:0.1 momentum:0.9 optimizer:sgd] 0.8
	// map[lr:0.01 momentum:0.9 optimizer:adam] 0.9
	// 2 rows taken over; 1 row left out: task "last year", row 2, parameter "lr" (0.9 is not in [1e-05, 0.5]); taken from the defaults: momentum; dropped: nesterov
}

// A run is under way when its space gets another choice and another limit: a new run goes on from what it knows.
func ExampleSpace_Adopt_underWay() {
	ctx := context.Background()
	run := must(cmbo.New(must(cmbo.NewSpace(cmbo.Int("workers", 1, 8), cmbo.Categorical("queue", "disk", "memory")))))
	for range 6 {
		trial := must(run.Ask(ctx))
		var err error
		if trial.Choice("queue") == "memory" && trial.Int("workers") > 2 { // there is not enough
			err = run.TellFailed(trial.ID)
		} else {
			err = run.Tell(trial.ID, trial.Float("workers"))
		}
		if err != nil {
			panic(err)
		}
	}

	space := must(cmbo.NewSpace(cmbo.Int("workers", 1, 16), cmbo.Categorical("queue", "remote", "memory", "disk")))
	tasks, _, err := space.Adopt([]cmbo.Task{must(run.Task("so far"))}, cmbo.Changes{})
	if err != nil {
		panic(err)
	}
	next := must(cmbo.New(space))
	for i, x := range tasks[0].X {
		if err := next.Observe(x, tasks[0].Y[i]); err != nil {
			panic(err)
		}
	}
	for _, x := range tasks[0].Failed {
		if err := next.Enqueue(x); err != nil {
			panic(err)
		}
		if err := next.TellFailed(must(next.Ask(ctx)).ID); err != nil {
			panic(err)
		}
	}
	best, _ := next.Best()
	fmt.Printf("%d values, %d failed; the best is %v\n", len(next.Observations()), len(next.Trials()), best)
	// Output: 4 values, 2 failed; the best is 8 at workers=8 queue=disk
}

// A constraint that a space cannot express is a list of candidates: points of
// the prior's space that satisfy it.
func ExampleSpace_Sample() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.LogInt("batch", 8, 512), cmbo.LogInt("width", 16, 1024)))
	task := cmbo.Task{ID: "past"}
	for _, x := range must(space.Sample(40, 1)) {
		task.X, task.Y = append(task.X, x), append(task.Y, x[0]+x[1])
	}
	prior := must(cmbo.Learn(ctx, space, []cmbo.Task{task}))

	var fits [][]float64 // into memory
	for _, x := range must(space.Sample(2000, 2)) {
		if x[0]*x[1] <= 16384 {
			fits = append(fits, x)
		}
	}
	opt := must(cmbo.New(must(space.WithCandidates(fits)), cmbo.WithPrior(prior)))
	for range 5 {
		trial := must(opt.Ask(ctx))
		if err := opt.Tell(trial.ID, trial.Float("batch")+trial.Float("width")); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	fmt.Printf("best of 5: batch and width add up to %.1f thousand\n", best.Y/1000)
	// Output:
	// best of 5: batch and width add up to 1.0 thousand
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A struct describes the space, and a trial fills it.
func ExampleSpaceOf() {
	type config struct {
		LR     float64 `cmbo:"lr,log,1e-5,1"`
		Units  int     `cmbo:"units,ordinal,16,32,64"`
		Kernel string  `cmbo:"kernel,rbf,poly"`
		Bias   bool    `cmbo:"bias"`
	}
	opt := must(cmbo.New(must(cmbo.SpaceOf(config{}))))
	trial := must(opt.Ask(context.Background()))
	var cfg config
	if err := trial.Into(&cfg); err != nil {
		panic(err)
	}
	fmt.Printf("lr %.2g, %d units, %s, bias %t\n", cfg.LR, cfg.Units, cfg.Kernel, cfg.Bias)
	for _, p := range opt.Space().Params() {
		fmt.Println(p.Name(), "is", p)
	}
	// Output:
	// lr 1.7e-05, 64 units, rbf, bias true
	// lr is a logfloat in [1e-05, 1]
	// units is an ordinal of [16 32 64]
	// kernel is one of "rbf", "poly"
	// bias is a bool
}
