package cmbo_test

import (
	"context"
	"fmt"

	"github.com/gocmbo/cmbo/cmbo"
)

// Waiting times are positive, and explode as load nears capacity: a model of their logarithms
// says nothing that is 0 or less.
func ExampleWithPositiveValues() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.Float("share", 0, 1), cmbo.Int("threads", 1, 32))
	if err != nil {
		panic(err)
	}
	milliseconds := func(share, threads float64) float64 {
		load := 0.35 + 0.5*(share-0.6)*(share-0.6) + (threads-20)*(threads-20)/700
		return 4 / (1 - min(load, 0.99))
	}
	opt, err := cmbo.New(space, cmbo.WithMinimize(), cmbo.WithPositiveValues())
	if err != nil {
		panic(err)
	}
	for range 12 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		if err := opt.Tell(trial.ID, milliseconds(trial.Float("share"), float64(trial.Int("threads")))); err != nil {
			panic(err)
		}
	}
	best, _ := opt.Best()
	outlook, err := opt.Outlook(ctx)
	if err != nil {
		panic(err)
	}
	untried, err := opt.Quantiles(ctx, []float64{0.3, 8})
	if err != nil {
		panic(err)
	}
	fmt.Printf("best: %.1f ms with %d threads; none is likely to be below %.1f ms\n", best.Y, best.Int("threads"), best.Y-outlook.Most)
	fmt.Printf("share 0.3 and 8 threads: %.0f ms, 90 %% within %.0f to %.0f\n", untried.Median, untried.Low, untried.High)
	fmt.Println(opt.Observe([]float64{0.3, 8}, -1))
	// Output:
	// best: 6.2 ms with 20 threads; none is likely to be below 6.1 ms
	// share 0.3 and 8 threads: 9 ms, 90 % within 6 to 32
	// cmbo: unusable value: value -1 is not positive, as WithPositiveValues says that all are
}
