package hierarchy

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// Whether an evaluation succeeds is learned as a value: +1 where it did, -1 where it
// failed. The probability that a point succeeds is that of a label above 0,
//
//	P(x) = Σ_k w_k·Φ(μ_k(x)/√(v_k(x) + σ²))
//
// over the hypotheses k, σ² being the noise variance of the past's labels. Labels have no offset and scale to be
// inferred, and a task that ranks them the other way round is not thought of. Few tasks have nothing to do with the
// past: otherwise a single failure that no one expected, next to the border of a region that is well known, would pass
// for the proof that nothing is known.
const (
	Succeeded = 1.0
	Failed    = -1.0
)

// LabelledTask returns the labels of a task's points as a task: ok are the points
// that succeeded, failed those that did not; nil for none.
func LabelledTask(id string, ok, failed *linalg.Dense) Task {
	z := slices.Concat(slices.Repeat([]float64{Succeeded}, points.Len(ok)), slices.Repeat([]float64{Failed}, points.Len(failed)))
	return Task{ID: id, X: points.Join(ok, failed), Z: z, Scale: 1}
}

// NewSuccess returns the model of labels of which no past is known: the process specific to a target, in the
// labels' units, about success: its variance of 1 is the square of the way from success to neither. x is any point.
func NewSuccess(x *linalg.Dense) *Model {
	_, d := x.Dims()
	s := DefaultSettings(d)
	base := Base{Kernel: s.SpecificKernel, Mean: Succeeded, NoiseVariance: s.SuccessNoise}
	g := newGrid(base, linalg.NewDense(1, d, slices.Clone(x.Row(0))), 1)
	m := &Model{settings: s}
	m.set(g, g.prior())
	return m
}

// NewSuccessRun starts a run on labels, as NewRun does; a model without tasks has one hypothesis only.
func NewSuccessRun(m *Model, s Settings, workers int, parts []int) *Run {
	s.Exact, s.Reversed, s.Besides, s.OwnNoise = true, 0, nil, 0
	s.NoTransferMass = s.SuccessNoTransfer
	if len(m.tasks) == 0 {
		s.NoTransferMass = 1
	}
	return NewRun(m, s, math.NaN(), workers, parts, nil)
}

// Success writes the probability of success at the rows of x, of a run on labels.
func (r *Run) Success(ctx context.Context, dst []float64, x *linalg.Dense) error {
	ks := r.predicting()
	return r.each(ctx, x, ks, func(lo, hi int, ps []*posterior) {
		dst, mean, variance := dst[lo:hi], make([]float64, hi-lo), make([]float64, hi-lo)
		clear(dst)
		for i, k := range ks {
			ps[i].momentsTo(mean, variance, &k.fit.all)
			for j, v := range variance {
				dst[j] += k.w * special.NormCDF((mean[j]+r.centre())/math.Sqrt(v+r.Model.grid.base.NoiseVariance))
			}
		}
	})
}
