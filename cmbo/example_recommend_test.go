package cmbo_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gocmbo/cmbo/cmbo"
)

// Where values are noisy the best of them is the luckiest: what to use is the point of the
// largest mean.
func ExampleOptimizer_Recommend() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		panic(err)
	}
	opt, err := cmbo.New(space)
	if err != nil {
		panic(err)
	}
	noise := rand.New(rand.NewPCG(1, 2))
	const sd = 0.3
	for range 20 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		x := trial.Float("x")
		y := 1 - 4*(x-0.6)*(x-0.6) + sd*noise.NormFloat64()
		if err := opt.Tell(trial.ID, y, cmbo.WithNoise(sd*sd)); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	use, err := opt.Recommend(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Printf("the best value, %.1f, was told at x = %.1f\n", best.Y, best.X[0])
	fmt.Printf("use x = %.1f: %.1f ± %.1f\n", use.X[0], use.Mean, use.SD)
	// Output:
	// the best value, 1.6, was told at x = 0.7
	// use x = 0.6: 1.1 ± 0.1
}
