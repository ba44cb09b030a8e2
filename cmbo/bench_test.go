package cmbo_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// syntheticTasks makes k smooth tasks of four kinds with n observations in d
// coordinates.
func syntheticTasks(k, n, d int) []cmbo.Task {
	tasks := make([]cmbo.Task, k)
	for j := range tasks {
		r := rng.Stream(17, "synthetic", uint64(j))
		c := make([]float64, d)
		for i := range c {
			c[i] = 0.2 + 0.6*float64((j%4+i)%4)/3 + 0.05*r.NormFloat64()
		}
		tasks[j].ID = fmt.Sprint("task-", j)
		for range n {
			x := make([]float64, d)
			y := 0.02 * r.NormFloat64()
			for i := range x {
				x[i] = r.Float64()
				y += math.Cos(2*(x[i]-c[i])) / float64(1+i)
			}
			tasks[j].X, tasks[j].Y = append(tasks[j].X, x), append(tasks[j].Y, y)
		}
	}
	return tasks
}

func syntheticList(n, d int) *cmbo.Space {
	r := rng.Stream(17, "list")
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			rows[i][j] = r.Float64()
		}
	}
	s, err := cmbo.Candidates(rows)
	if err != nil {
		panic(err)
	}
	return s
}

// BenchmarkLearn runs stages 1 and 2 on tasks of 50 observations in 6
// coordinates.
func BenchmarkLearn(b *testing.B) {
	space := syntheticList(300, 6)
	for _, k := range []int{15, 60, 240} {
		for _, v := range []cmbo.Variant{cmbo.WssClusWssCMP, cmbo.JefClusJefCMP} {
			tasks := syntheticTasks(k, 50, 6)
			b.Run(fmt.Sprintf("%s/K=%d", v, k), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := cmbo.Learn(ctx, space, tasks, cmbo.WithVariant(v)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(k)*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
			})
		}
	}
}

// BenchmarkAskTell measures one proposal and its answer over 300 candidates with
// 50 observations and four prototypes.
func BenchmarkAskTell(b *testing.B) {
	space := syntheticList(300, 6)
	tasks := syntheticTasks(60, 50, 6)
	for _, v := range []cmbo.Variant{cmbo.WssClusWssCMP, cmbo.WssClusJefCMP, cmbo.GlobalCen} {
		prior, err := cmbo.Learn(ctx, space, tasks, cmbo.WithVariant(v))
		if err != nil {
			b.Fatal(err)
		}
		r := rng.Stream(1, "values")
		b.Run(v.String(), func(b *testing.B) {
			b.ReportAllocs()
			var o *cmbo.Optimizer
			asked := 0
			for b.Loop() {
				if asked%40 == 0 {
					b.StopTimer()
					if o, err = cmbo.New(space, cmbo.WithPrior(prior)); err != nil {
						b.Fatal(err)
					}
					for i := range 30 {
						x, err := space.Candidate(i)
						if err != nil {
							b.Fatal(err)
						}
						if err := o.Observe(x, r.NormFloat64()); err != nil {
							b.Fatal(err)
						}
					}
					b.StartTimer()
				}
				asked++
				trial, err := o.Ask(ctx)
				if err != nil {
					b.Fatal(err)
				}
				if err := o.Tell(trial.ID, r.NormFloat64()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(asked)/b.Elapsed().Seconds(), "asks/s")
		})
	}
}
