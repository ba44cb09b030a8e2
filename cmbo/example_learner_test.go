package cmbo_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
)

// Two workers share a past, and what they have learned is merged.
func ExampleLearner() {
	ctx := context.Background()
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1))
	if err != nil {
		log.Fatal(err)
	}
	l, err := cmbo.NewLearner(space, cmbo.WithIndexPoints(20))
	if err != nil {
		log.Fatal(err)
	}
	runs := func(worker int) []cmbo.Task {
		var tasks []cmbo.Task
		for i := range 3 {
			best := -3 + 0.1*float64(2*i+worker)
			t := cmbo.Task{ID: fmt.Sprintf("run %d of worker %d", i, worker)}
			for _, e := range []float64{-5, -4, -3, -2, -1} {
				t.X, t.Y = append(t.X, []float64{math.Pow(10, e)}), append(t.Y, -(e-best)*(e-best))
			}
			tasks = append(tasks, t)
		}
		return tasks
	}
	for more := true; more; {
		for worker := range 2 {
			shard := l.Shard()
			for _, t := range runs(worker) {
				if err := shard.Add(t); err != nil {
					log.Fatal(err)
				}
			}
			if err := l.Merge(shard); err != nil { // after Encode and DecodeLearner, if it comes from elsewhere
				log.Fatal(err)
			}
		}
		if more, err = l.EndPass(ctx); err != nil {
			log.Fatal(err)
		}
	}
	prior, err := l.Prior(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(prior.NumTasks(), "tasks")
	// Output: 6 tasks
}

// After each run its task joins the prior: a learner in its first pass keeps the tasks and the options.
func ExampleLearner_Encode() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.LogInt("buffer", 1, 4096)))
	var stored bytes.Buffer // a file, say
	learner := must(cmbo.NewLearner(space, cmbo.WithMinimize(), cmbo.WithPositiveValues()))
	opt := must(cmbo.New(space, cmbo.WithMinimize(), cmbo.WithPositiveValues()))
	for run := range 3 {
		for range 6 {
			trial := must(opt.Ask(ctx))
			milliseconds := 20 + math.Abs(math.Log2(float64(trial.Int("buffer")))-float64(6+run))
			if err := opt.Tell(trial.ID, milliseconds); err != nil {
				log.Fatal(err)
			}
		}
		best, _ := opt.Best()
		fmt.Printf("best of run %d: %.0f ms\n", run+1, best.Y)
		if err := learner.Add(must(opt.Task(fmt.Sprint("run ", run)))); err != nil {
			log.Fatal(err)
		}
		stored.Reset()
		if err := learner.Encode(&stored); err != nil {
			log.Fatal(err)
		}
		learner = must(cmbo.DecodeLearner(space, bytes.NewReader(stored.Bytes())))
		prior := must(learner.Prior(ctx))
		opt = must(cmbo.New(space, cmbo.WithPrior(prior)))
	}
	// Output:
	// best of run 1: 20 ms
	// best of run 2: 20 ms
	// best of run 3: 20 ms
}

// A run was recorded in seconds instead of milliseconds. Its task is taken out and added as it should have been.
func ExampleLearner_Remove() {
	ctx := context.Background()
	space := must(cmbo.NewSpace(cmbo.LogInt("buffer", 1, 4096)))
	rows := [][]float64{{1}, {16}, {256}, {4096}}
	learner := must(cmbo.NewLearner(space, cmbo.WithMinimize()))
	for _, task := range []cmbo.Task{
		{ID: "monday", X: rows, Y: []float64{31, 24, 21, 29}},
		{ID: "tuesday", X: rows, Y: []float64{.034, .027, .022, .028}},
	} {
		if err := learner.Add(task); err != nil {
			log.Fatal(err)
		}
	}
	tuesday := cmbo.Task{ID: "tuesday", X: rows, Y: []float64{34, 27, 22, 28}}
	fmt.Println(learner.Add(tuesday))
	if err := learner.Remove("tuesday"); err != nil {
		log.Fatal(err)
	}
	if err := learner.Add(tuesday); err != nil {
		log.Fatal(err)
	}
	fmt.Println(must(learner.Prior(ctx)).NumTasks(), "tasks")
	// Output:
	// cmbo: invalid task: task "tuesday": two tasks have this ID
	// 2 tasks
}

// The service has a new parameter, which all past runs had at its default. A new learner goes on with their tasks.
func ExampleLearner_Tasks() {
	ctx := context.Background()
	then := must(cmbo.NewSpace(cmbo.LogInt("buffer", 1, 4096)))
	learner := must(cmbo.NewLearner(then, cmbo.WithMinimize()))
	if err := learner.Add(cmbo.Task{ID: "monday", X: [][]float64{{1}, {16}, {256}, {4096}}, Y: []float64{31, 24, 21, 29}}); err != nil {
		log.Fatal(err)
	}
	now := must(cmbo.NewSpace(cmbo.LogInt("buffer", 1, 4096), cmbo.Int("threads", 1, 16)))
	tasks, report, err := now.Adopt(learner.Tasks(), cmbo.Changes{Defaults: map[string]any{"threads": 4}})
	if err != nil {
		log.Fatal(err)
	}
	learner = must(cmbo.NewLearner(now, cmbo.WithMinimize()))
	for _, task := range tasks {
		if err := learner.Add(task); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(report)
	fmt.Println(must(learner.Prior(ctx)).Tasks()[0].X)
	// Output:
	// 4 rows taken over; taken from the defaults: threads
	// [[1 4] [16 4] [256 4] [4096 4]]
}
