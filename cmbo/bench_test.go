package cmbo_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
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
		for _, v := range []paper.Variant{paper.WssClusWssCMP, paper.JefClusJefCMP} {
			tasks := syntheticTasks(k, 50, 6)
			b.Run(fmt.Sprintf("%s/K=%d", v, k), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := paper.Learn(ctx, space, tasks, paper.WithVariant(v)); err != nil {
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
	for _, v := range []paper.Variant{paper.WssClusWssCMP, paper.WssClusJefCMP, paper.GlobalCen} {
		prior, err := paper.Learn(ctx, space, tasks, paper.WithVariant(v))
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
					s, err := prior.Surrogate(ctx, space)
					if err != nil {
						b.Fatal(err)
					}
					if o, err = cmbo.New(space, cmbo.WithSurrogate(s)); err != nil {
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
				trial := ask(b, o)
				if err := o.Tell(trial.ID, r.NormFloat64()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(asked)/b.Elapsed().Seconds(), "asks/s")
		})
	}
}

// BenchmarkAskPlain is a proposal and its answer without a prior in 6 coordinates: the
// first one after n observations, with a fit and the factor from nothing, and those
// that follow it, for which factors grow and fits come at growing distances.
func BenchmarkAskPlain(b *testing.B) {
	space := unitCube(b, 6)
	value := func(x []float64) float64 { return math.Sin(5*x[0]) + math.Cos(4*x[1]*x[2]) }
	for _, n := range []int{50, 200, 960} {
		r := rng.Stream(17, "plain")
		var xs [][]float64
		for range n {
			x := make([]float64, 6)
			for j := range x {
				x[j] = r.Float64()
			}
			xs = append(xs, x)
		}
		begin := func() *cmbo.Optimizer {
			o := newOptimizer(b, space)
			for _, x := range xs {
				if err := o.Observe(x, value(x)); err != nil {
					b.Fatal(err)
				}
			}
			return o
		}
		ask := func(o *cmbo.Optimizer) {
			t, err := o.Ask(b.Context())
			if err == nil {
				err = o.Tell(t.ID, value(t.X))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("n=%d/first", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				o := begin()
				b.StartTimer()
				ask(o)
			}
		})
		b.Run(fmt.Sprintf("n=%d/next", n), func(b *testing.B) {
			o := begin()
			ask(o)
			for b.Loop() {
				ask(o)
			}
		})
	}
}
