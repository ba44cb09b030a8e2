package cmbo_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// stepper returns a function that asks the default configuration for one point and
// answers, after and observations; every few points it begins again, which is not
// measured.
func stepper(b *testing.B, space *cmbo.Space, prior *cmbo.Prior, n int) func() {
	const points = 10
	var o *cmbo.Optimizer
	left := 0
	r := rng.Stream(3, "observed")
	value := func(x []float64) float64 {
		v := 0.02 * r.NormFloat64()
		for i, u := range x {
			v -= (u - 0.4) * (u - 0.4) / float64(1+i)
		}
		return v
	}
	ask := func() {
		t, err := o.Ask(b.Context())
		if err == nil {
			err = o.Tell(t.ID, value(t.X))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	begin := func() {
		var err error
		var opts []cmbo.Option
		if prior != nil {
			opts = append(opts, cmbo.WithPrior(prior))
		}
		if o, err = cmbo.New(space, opts...); err != nil {
			b.Fatal(err)
		}
		for i := range n {
			x := make([]float64, space.Dim())
			for j := range x {
				x[j] = r.Float64()
			}
			if list := space.NumCandidates(); list > 0 {
				if x, err = space.Candidate(i * 7 % list); err != nil {
					b.Fatal(err)
				}
			}
			if err := o.Observe(x, value(x)); err != nil {
				b.Fatal(err)
			}
		}
		ask()
		left = points
	}
	return func() {
		if left == 0 {
			b.StopTimer()
			begin()
			b.StartTimer()
		}
		left--
		ask()
	}
}

// BenchmarkDefaultAsk is a proposal of the default configuration and its answer, by
// past tasks of 50 observations, observations of the run and candidates: 1,200 in a
// parameter space of 6 coordinates, a sixteenth of them or more new, or a list.
func BenchmarkDefaultAsk(b *testing.B) {
	box, err := cmbo.UnitCube(6)
	if err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		space *cmbo.Space
		tasks []int
		told  []int
	}{
		{"box", box, []int{10, 1000}, []int{10, 30, 100}},
		{"list=300", syntheticList(300, 6), []int{10, 1000}, []int{10, 30, 100}},
	} {
		for _, k := range tt.tasks {
			b.Run(fmt.Sprintf("%s/K=%d", tt.name, k), func(b *testing.B) {
				prior, err := cmbo.Learn(ctx, tt.space, syntheticTasks(k, 50, 6))
				if err != nil {
					b.Fatal(err)
				}
				for _, n := range tt.told {
					b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
						step := stepper(b, tt.space, prior, n)
						step()
						for b.Loop() {
							step()
						}
					})
				}
			})
		}
	}
}

// BenchmarkPlainAsk is a proposal without past tasks and its answer, by observations of
// the run, among 1,200 candidates in a parameter space of 6 coordinates. The first
// one, which fits the process to all observations, is not measured; later fits are, as
// far as they fall among the ten proposals that follow.
func BenchmarkPlainAsk(b *testing.B) {
	box, err := cmbo.UnitCube(6)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			step := stepper(b, box, nil, n)
			step()
			for b.Loop() {
				step()
			}
		})
	}
}

// BenchmarkDefaultLearn learns the default's prior in 6 coordinates from tasks of 50
// observations. The size of the encoded prior is the metric MB.
func BenchmarkDefaultLearn(b *testing.B) {
	box, err := cmbo.UnitCube(6)
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range []int{100, 1000, 5000} {
		tasks := syntheticTasks(k, 50, 6)
		b.Run(fmt.Sprintf("K=%d", k), func(b *testing.B) {
			b.ReportAllocs()
			var prior *cmbo.Prior
			for b.Loop() {
				if prior, err = cmbo.Learn(b.Context(), box, tasks); err != nil {
					b.Fatal(err)
				}
			}
			var out bytes.Buffer
			if err := prior.Encode(&out); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(out.Len())/1e6, "MB")
		})
	}
}
