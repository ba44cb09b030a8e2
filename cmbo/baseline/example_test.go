package baseline_test

import (
	"context"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
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
	fmt.Printf("weights: %.1f on the left, %.1f on the right, %.1f the run itself\n", w[0]+w[1]+w[2], w[3]+w[4], w[5])
	// Output:
	// best of 8: 1.00
	// weights: 0.0 on the left, 0.7 on the right, 0.3 the run itself
}

// All methods by name, each with the acquisitions of a run that suit it.
func ExampleMethods() {
	for _, m := range baseline.Methods() {
		fmt.Printf("%s:", m.Name)
		for _, a := range []acq.Func{cmbo.EI(), cmbo.UCB(3)} {
			if m.Use.Suits(a) {
				fmt.Printf(" %v", a)
			}
		}
		fmt.Println()
	}
	// Output:
	// Random: EI UCB(3)
	// GP: EI UCB(3)
	// RGPE: EI UCB(3)
	// TST-R: EI UCB(3)
	// TAF-RGPE: EI
	// TAF-R: EI
	// RM-GP-UCB: UCB(3)
	// RM-GP-TS: UCB(3)
	// ScaML-GP: EI UCB(3)
	// HyperBO: EI UCB(3)
	// HyperBO+: EI UCB(3)
	// MetaBO: EI UCB(3)
	// EM-EGP: EI UCB(3)
	// EM-EGP-affine: EI UCB(3)
	// EM-EGP-noisefit: EI UCB(3)
	// EM-EGP-OAS: EI UCB(3)
	// ABLR: EI UCB(3)
	// GC3P: EI UCB(3)
	// StackedGP: EI UCB(3)
	// Portfolio: EI UCB(3)
}
