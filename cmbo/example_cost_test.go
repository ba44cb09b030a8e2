package cmbo_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
)

// Thirty seconds to find a small file: more effort makes the file smaller and the encoding
// slower, which past videos, faster and slower ones, have shown.
func ExampleAsCost() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.Float("effort", 0, 1), cmbo.Float("quality", 0, 1))
	if err != nil {
		panic(err)
	}
	rows, err := space.Sample(20, 1)
	if err != nil {
		panic(err)
	}
	var past []cmbo.Task
	for _, pixels := range []float64{0.5, 1, 2, 4} {
		t := cmbo.Task{ID: fmt.Sprint(pixels), X: rows, Outputs: map[string][]float64{"seconds": nil}}
		for _, x := range rows {
			size, seconds := encodeVideo(pixels, x[0], x[1])
			t.Y, t.Outputs["seconds"] = append(t.Y, size), append(t.Outputs["seconds"], seconds)
		}
		past = append(past, t)
	}
	prior, err := cmbo.Learn(ctx, space, past, cmbo.WithMinimize())
	if err != nil {
		panic(err)
	}

	opt, err := cmbo.New(space, cmbo.WithPrior(prior), cmbo.WithOutput("seconds", cmbo.AsCost()), cmbo.WithBudget(30))
	if err != nil {
		panic(err)
	}
	for {
		trial, err := opt.Ask(ctx)
		if errors.Is(err, cmbo.ErrBudget) {
			break
		}
		if err != nil {
			panic(err)
		}
		size, seconds := encodeVideo(1.5, trial.Float("effort"), trial.Float("quality"))
		fmt.Printf("trial %d: size %.1f in %.1f s\n", trial.ID, size, seconds)
		if err := opt.Tell(trial.ID, size, cmbo.Outputs{"seconds": seconds}); err != nil {
			panic(err)
		}
	}
	outlook, err := opt.Outlook(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f s spent\n", outlook.Spent)
	// Output:
	// trial 1: size 8.4 in 5.0 s
	// trial 2: size 6.9 in 8.1 s
	// trial 3: size 6.0 in 11.1 s
	// trial 4: size 16.5 in 2.5 s
	// trial 5: size 12.0 in 1.5 s
	// trial 6: size 12.2 in 1.7 s
	// 29.9 s spent
}

// Epochs are paid for, and known beforehand: of a budget of 100 no proposal takes more than
// is left.
func ExampleWithCost() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.LogFloat("rate", 1e-4, 1), cmbo.LogInt("epochs", 1, 50))
	if err != nil {
		panic(err)
	}
	epochs := func(x []float64) float64 { return x[1] }
	opt, err := cmbo.New(space, cmbo.WithInitial(3), cmbo.WithCost(epochs), cmbo.WithBudget(100))
	if err != nil {
		panic(err)
	}
	spent := 0
	for {
		trial, err := opt.Ask(ctx)
		if errors.Is(err, cmbo.ErrBudget) {
			break
		}
		if err != nil {
			panic(err)
		}
		n := trial.Int("epochs")
		spent += n
		accuracy := 1 - 1/float64(1+n) - trial.Float("rate")/10
		if err := opt.Tell(trial.ID, accuracy); err != nil {
			panic(err)
		}
	}
	fmt.Println(spent, "epochs of 100")
	// Output:
	// 100 epochs of 100
}
