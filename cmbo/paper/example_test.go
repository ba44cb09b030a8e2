package paper_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
)

// Past runs of two kinds are grouped, and a run of the paper's method weighs the groups.
func Example() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	f := func(x, best float64) float64 { return -math.Abs(x - best) }
	var tasks []cmbo.Task
	for i := range 6 {
		task := cmbo.Task{ID: fmt.Sprint("run ", i)}
		for j := range 9 {
			x := float64(j) / 8
			task.X, task.Y = append(task.X, []float64{x}), append(task.Y, f(x, 0.2+0.6*float64(i%2)))
		}
		tasks = append(tasks, task)
	}
	prior, err := paper.Learn(ctx, space, tasks, paper.WithVariant(paper.WssClusWssCMP), paper.WithClusterRange(2, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range prior.Clusters() {
		fmt.Println(c.ID, c.Members)
	}
	s, err := prior.Surrogate(ctx, space)
	if err != nil {
		fmt.Println(err)
		return
	}
	opt, err := cmbo.New(space, cmbo.WithSurrogate(s), cmbo.WithAcquisition(cmbo.UCB(3)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		trial, err := opt.Ask(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := opt.Tell(trial.ID, f(trial.Float("x"), 0.25)); err != nil {
			fmt.Println(err)
			return
		}
	}
	w, err := opt.Weights(ctx)
	fmt.Printf("weights %.2f and %.2f, %v\n", w[0], w[1], err)
	// Output:
	// 0 [run 0 run 2 run 4]
	// 1 [run 1 run 3 run 5]
	// weights 0.59 and 0.41, <nil>
}
