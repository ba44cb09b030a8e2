package cmbo_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
)

// encodeVideo is what an encoder makes of a video of so many million pixels: a size that falls
// with the effort, and seconds that rise with it.
func encodeVideo(pixels, effort, quality float64) (size, seconds float64) {
	return pixels * (8 - 4*effort + 3*quality*quality), pixels * math.Exp(2*effort+0.5*quality)
}

// The smallest file whose encoding takes at most five seconds: past videos, faster and
// slower ones, teach what both depend on.
func ExampleWithOutput() {
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

	opt, err := cmbo.New(space, cmbo.WithPrior(prior), cmbo.WithOutput("seconds", cmbo.AtMost(5)))
	if err != nil {
		panic(err)
	}
	for range 8 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		size, seconds := encodeVideo(1.5, trial.Float("effort"), trial.Float("quality"))
		if err := opt.Tell(trial.ID, size, cmbo.Outputs{"seconds": seconds}); err != nil {
			panic(err)
		}
	}
	if best, ok := opt.Best(); ok {
		fmt.Printf("size %.1f in %.1f s\n", best.Y, best.Outputs["seconds"])
	}
	effort := math.Log(5/1.5) / 2
	size, _ := encodeVideo(1.5, effort, 0)
	fmt.Printf("there is none below %.1f\n", size)
	// Output:
	// size 8.4 in 5.0 s
	// there is none below 8.4
}
