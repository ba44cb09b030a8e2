package baseline_test

import (
	"context"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/baseline"
)

// peak is a task whose best point is c.
func peak(c float64) func(x float64) float64 {
	return func(x float64) float64 { return 1 - (x-c)*(x-c) }
}

// pastTasks returns tasks that peak on the left, and two on the right.
func pastTasks() []cmbo.Task {
	var tasks []cmbo.Task
	for i, c := range []float64{0.2, 0.22, 0.25, 0.8, 0.85} {
		t := cmbo.Task{ID: fmt.Sprint("past ", i)}
		for j := range 11 {
			x := float64(j) / 10
			t.X = append(t.X, []float64{x})
			t.Y = append(t.Y, peak(c)(x))
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// An ensemble tunes a new task that resembles some of the past ones.
func ExampleFind() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		panic(err)
	}
	rgpe, err := baseline.Find("RGPE")
	if err != nil {
		panic(err)
	}
	model, err := rgpe.Learn(ctx, space, pastTasks())
	if err != nil {
		panic(err)
	}
	surrogate := model.Surrogate(1)
	opt, err := cmbo.New(space, cmbo.WithSurrogate(surrogate), cmbo.WithSeed(1))
	if err != nil {
		panic(err)
	}
	for range 8 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		if err := opt.Tell(trial.ID, peak(0.82)(trial.X[0])); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	fmt.Printf("best of 8: %.2f\n", best.Y)

	w := surrogate.(cmbo.Weigher).Weights()
	fmt.Println("the tasks on the right weigh more:", w[3]+w[4] > w[0]+w[1]+w[2])
	// Output:
	// best of 8: 1.00
	// the tasks on the right weigh more: true
}

// All methods by name, each with what it does with a run's acquisition.
func ExampleMethods() {
	for _, m := range baseline.Methods() {
		fmt.Println(m.Name, m.Use.Suits(cmbo.EI()), m.Use.Suits(cmbo.UCB(3)))
	}
	// Output:
	// Random true true
	// GP true true
	// RGPE true true
	// TST-R true true
	// TAF-RGPE true false
	// TAF-R true false
	// RM-GP-UCB false true
	// RM-GP-TS false true
	// ScaML-GP true true
	// HyperBO true true
	// HyperBO+ true true
	// MetaBO true true
	// EM-EGP true true
	// EM-EGP-affine true true
	// EM-EGP-noisefit true true
	// EM-EGP-OAS true true
	// ABLR true true
	// GC3P true true
	// StackedGP true true
	// Portfolio true true
}
