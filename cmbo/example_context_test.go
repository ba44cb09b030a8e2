package cmbo_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
)

// Past tasks say what they were about, and so does the new one: which of them it is like need
// not be found out by evaluations.
func ExampleWithContext() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.Float("crf", 18, 40), cmbo.Int("threads", 1, 16))
	if err != nil {
		panic(err)
	}
	// The best crf rises with a video's height.
	cost := func(height, crf float64, threads int) float64 {
		return math.Abs(crf-22-height/90) + 10/float64(threads)
	}
	var tasks []cmbo.Task
	for i, height := range []float64{240, 360, 480, 720, 900, 1080, 1200, 1440} {
		t := cmbo.Task{ID: fmt.Sprint("video ", i), Context: cmbo.Context{"height": height, "owner": []string{"ann", "bob"}[i/2%2]}}
		for j := range 24 {
			crf, threads := 18+float64(7*j%23), 1+5*j%16
			t.X, t.Y = append(t.X, []float64{crf, float64(threads)}), append(t.Y, cost(height, crf, threads))
		}
		tasks = append(tasks, t)
	}
	prior, err := cmbo.Learn(ctx, space, tasks, cmbo.WithMinimize())
	if err != nil {
		panic(err)
	}
	relation, err := prior.Relation(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("of use:", relation.Descriptors)
	for _, height := range []float64{300, 1300} {
		opt, err := cmbo.New(space, cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"height": height, "owner": nil}))
		if err != nil {
			panic(err)
		}
		first, err := opt.Ask(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%.0f lines: crf %.0f\n", height, first.Float("crf"))
	}
	// Output:
	// of use: [height]
	// 300 lines: crf 26
	// 1300 lines: crf 35
}
