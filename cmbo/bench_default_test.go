package cmbo_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// stepper returns a function that asks the default configuration for one point and
// answers, after n observations, with so many outputs that have limits; every few points it
// begins again, which is not measured.
func stepper(b *testing.B, space *cmbo.Space, prior *cmbo.Prior, n, outputs int) func() {
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
			err = o.Tell(t.ID, value(t.X), outputsAt(t.X, outputs, 0.4))
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
		for k := range outputs {
			opts = append(opts, cmbo.WithOutput(fmt.Sprint("output ", k), cmbo.AtMost(1.3)))
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
			if err := o.Observe(x, value(x), outputsAt(x, outputs, 0.4)); err != nil {
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
	box := unitCube(b, 6)
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
				prior := learn(b, tt.space, syntheticTasks(k, 50, 6))
				for _, n := range tt.told {
					b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
						step := stepper(b, tt.space, prior, n, 0)
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

// outputsAt returns so many outputs of an evaluation at x: positive, each larger the farther x
// lies from a point of its own, which shift moves.
func outputsAt(x []float64, n int, shift float64) cmbo.Outputs {
	out := make(cmbo.Outputs, n)
	for k := range n {
		var v float64
		for i, u := range x {
			d := u - shift - 0.2*float64((i+k)%3)
			v += d * d / float64(1+(i+k)%len(x))
		}
		out[fmt.Sprint("output ", k)] = math.Exp(v)
	}
	return out
}

// BenchmarkOutputsAsk is a proposal of the default configuration and its answer, by observations of
// the run and the number of outputs that have limits, with 40 past tasks of 50 observations that
// have all outputs and without a past, among 1,200 candidates in a parameter space of 6
// coordinates.
func BenchmarkOutputsAsk(b *testing.B) {
	const most = 3
	box, err := cmbo.UnitCube(6)
	if err != nil {
		b.Fatal(err)
	}
	for _, past := range []string{"past", "none"} {
		b.Run(past, func(b *testing.B) {
			var prior *cmbo.Prior
			if past == "past" {
				tasks := syntheticTasks(40, 50, 6)
				for j := range tasks {
					shift := 0.3 + 0.2*rng.Stream(17, "outputs", uint64(j)).Float64()
					tasks[j].Outputs = make(map[string][]float64)
					for _, x := range tasks[j].X {
						for name, v := range outputsAt(x, most, shift) {
							tasks[j].Outputs[name] = append(tasks[j].Outputs[name], v)
						}
					}
				}
				if prior, err = cmbo.Learn(ctx, box, tasks); err != nil {
					b.Fatal(err)
				}
			}
			for _, n := range []int{0, 30} {
				for _, outputs := range []int{0, 1, most} {
					b.Run(fmt.Sprintf("n=%d/outputs=%d", n, outputs), func(b *testing.B) {
						step := stepper(b, box, prior, n, outputs)
						step()
						for b.Loop() {
							step()
						}
					})
				}
			}
		})
	}
}

// BenchmarkPlainAsk is a proposal without past tasks and its answer, by observations of
// the run, among 1,200 candidates in a parameter space of 6 coordinates. The first
// one, which fits the process to all observations, is not measured; later fits are, as
// far as they fall among the ten proposals that follow.
func BenchmarkPlainAsk(b *testing.B) {
	box := unitCube(b, 6)
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			step := stepper(b, box, nil, n, 0)
			step()
			for b.Loop() {
				step()
			}
		})
	}
}

// BenchmarkDefaultLearn learns the default's prior in 6 coordinates from tasks of 50 observations, few of them over a list of
// 500 candidates. The size of the encoded prior is the metric MB.
func BenchmarkDefaultLearn(b *testing.B) {
	box, err := cmbo.UnitCube(6)
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range []int{1, 3, 10, 100, 1000, 5000} {
		tasks, space, name := syntheticTasks(k, 50, 6), box, fmt.Sprintf("K=%d", k)
		if k <= 10 {
			space, name = syntheticList(500, 6), "list,"+name
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var prior *cmbo.Prior
			for b.Loop() {
				if prior, err = cmbo.Learn(b.Context(), space, tasks); err != nil {
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
