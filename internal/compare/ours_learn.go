package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
)

// tasks returns the histories among the inputs, made by syntheticTasks.
func (in *inputs) tasks() []cmbo.Task {
	s := in.shape("x")
	k, n, d := s[0], s[1], s[2]
	x, y := in.array("x"), in.array("y")
	out := make([]cmbo.Task, k)
	for j := range out {
		out[j].ID = fmt.Sprint("task-", j)
		for i := range n {
			o := (j*n + i) * d
			out[j].X = append(out[j].X, x[o:o+d])
		}
		out[j].Y = y[j*n : (j+1)*n]
	}
	return out
}

func (in *inputs) list() *cmbo.Space {
	s := in.shape("candidates")
	c := in.array("candidates")
	rows := make([][]float64, s[0])
	for i := range rows {
		rows[i] = c[i*s[1] : (i+1)*s[1]]
	}
	space, err := cmbo.Candidates(rows)
	must(err)
	return space
}

func init() {
	register("learn", "ours", func(in *inputs) *task {
		space, tasks := in.list(), in.tasks()
		return &task{
			run: func() {
				_, err := paper.Learn(context.Background(), space, tasks, paper.WithParallelism(1))
				must(err)
			},
			answer: none,
		}
	})
	for _, workers := range []int{1, 2} {
		register("goroutines", fmt.Sprintf("ours %d", workers), func(in *inputs) *task {
			space, tasks := in.list(), in.tasks()
			run := func() {
				_, err := paper.Learn(context.Background(), space, tasks, paper.WithParallelism(workers))
				must(err)
			}
			t := &task{answer: none, extra: map[string]float64{}}
			t.run = func() { withProcs(workers, run) }
			// Time on the processors would say nothing here, and that on the wall
			// nothing if the second processor is busy with something else.
			t.clock = func(reps int) (seconds float64) {
				withProcs(workers, func() {
					var others float64
					seconds, others = quietly(func() float64 {
						start, n := time.Now(), 0
						for n < reps || time.Since(start) < time.Second {
							run()
							n++
						}
						return time.Since(start).Seconds() / float64(n)
					})
					t.extra[disturbance] = max(t.extra[disturbance], others)
				})
				return seconds
			}
			return t
		})
	}
	register("asktell-w2", "ours", func(in *inputs) *task { return askTell(in, paper.WssClusWssCMP) })
	register("asktell-jeffreys", "ours", func(in *inputs) *task { return askTell(in, paper.WssClusJefCMP) })
}

// askTell times every proposal with its answer by itself, from 50 observations
// on, and gives the 99th percentile of a hundred; the median is an extra. A run
// of its own tells how much is allocated.
func askTell(in *inputs, v paper.Variant) *task {
	prior, err := paper.Learn(context.Background(), in.list(), in.tasks(), paper.WithVariant(v), paper.WithParallelism(1))
	must(err)
	space := in.list()
	t := &task{answer: none, extra: map[string]float64{}}
	r := rand.New(rand.NewPCG(5, 6))
	start := func() *cmbo.Optimizer {
		s, err := prior.Surrogate(context.Background(), space)
		must(err)
		o, err := cmbo.New(space, cmbo.WithSurrogate(s))
		must(err)
		for i := range 50 {
			x, err := space.Candidate(i)
			must(err)
			must(o.Observe(x, r.NormFloat64()))
		}
		step(o, r) // makes what is kept from step to step
		return o
	}
	t.run = func() { t.clock(1) }
	t.clock = func(int) float64 {
		var took []float64
		for len(took) < 100 {
			o := start()
			for range 10 {
				start := now()
				step(o, r)
				took = append(took, now()-start)
			}
		}
		slices.Sort(took)
		t.extra["median ms"] = 1e3 * took[len(took)/2]
		return took[int(math.Ceil(0.99*float64(len(took))))-1]
	}
	o := start()
	const steps = 40
	first, live := allocated(o, r, steps)
	allocated(o, r, steps)
	last, live2 := allocated(o, r, steps)
	t.extra["kB/step, 51-90 observed"] = first / 1e3
	t.extra["kB/step, 131-170 observed"] = last / 1e3
	t.extra["live heap growth, kB/step"] = (live2 - live) / (2 * steps) / 1e3
	runtime.KeepAlive(o)
	return t
}

func step(o *cmbo.Optimizer, r *rand.Rand) {
	trial, err := o.Ask(context.Background())
	must(err)
	must(o.Tell(trial.ID, r.NormFloat64()))
}

// allocated returns the bytes allocated by each of so many steps, and the size
// of the heap after them.
func allocated(o *cmbo.Optimizer, r *rand.Rand, steps int) (perStep, live float64) {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	for range steps {
		step(o, r)
	}
	runtime.ReadMemStats(&b)
	perStep = float64(b.TotalAlloc-a.TotalAlloc) / float64(steps)
	runtime.GC()
	runtime.ReadMemStats(&b)
	return perStep, float64(b.HeapAlloc)
}
