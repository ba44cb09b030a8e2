package hierarchy

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/stat"
)

const (
	inflationTasks = 64 // replayed, at most: with 16 the quantile of their errors depends on which they are
	inflationTold  = 20 // values that each replay is told, at most, as many as a run asks for
	leastErrors    = 20 // that have a 90 % quantile
	maxInflation   = 10 // intervals wider than these hold all that tasks show
)

// Inflate learns how much too high low values are predicted and how much too narrow their intervals are, before the model is
// shared. Runs ask where values are high, which makes them too sure of the task's scale, and tasks differ by more than a
// Gaussian population says in how low the others are. So past tasks are replayed, each told its best third. The depth is how
// many times as far below the knee the others' values lie as they are predicted there, by least squares, 1 at least. By that
// the lower ends of intervals are lower, while the upper ones stay, as not all runs are too sure; and the inflation is that
// of the intervals which hold nine in ten then, 1 at least. It takes a run of 20 values for each of 64 tasks at most.
func (m *Model) Inflate(ctx context.Context, workers int) error {
	if m.near == 0 {
		return nil
	}
	tasks := sample(m.tasks, inflationTasks, m.settings.Seed, "inflation")
	parts := make([][]lowValue, len(tasks))
	if err := parallel.For(ctx, workers, len(tasks), func(_, i int) (err error) {
		if parts[i], err = m.lowValues(ctx, &tasks[i]); err != nil && !errors.As(err, new(*parallel.Panic)) {
			err = ctx.Err() // of values out of all proportion, whose intervals say nothing
		}
		return err
	}); err != nil {
		return err
	}
	m.inflate(slices.Concat(parts...))
	return nil
}

// inflate finds depth and inflation.
func (m *Model) inflate(low []lowValue) {
	if len(low) < leastErrors {
		return
	}
	var product, square float64
	for _, v := range low {
		product += v.mean * v.seen
		square += v.mean * v.mean
	}
	if square > 0 {
		m.depth = min(max(1, product/square), maxInflation)
	}
	errs := each.Of(low, func(v lowValue) float64 { return max(v.seen-v.mean, m.depth*v.mean-v.seen) / v.sd })
	slices.Sort(errs)
	m.inflation = min(max(1, errs[len(errs)*9/10]/special.Z90), maxInflation)
}

// A lowValue is a value of a task that is predicted to be low, in the Near of a run and from its knee:
// as it is predicted, and as the model sees it.
type lowValue struct{ mean, sd, seen float64 }

// lowValues returns those of a task that are predicted to be below the knee from its best third.
func (m *Model) lowValues(ctx context.Context, t *Task) (low []lowValue, err error) {
	n := points.Len(t.X)
	told := min(n/3, inflationTold)
	if told == 0 {
		return nil, nil
	}
	order := stat.Order(n, func(i, j int) int { return cmp.Compare(t.Z[j], t.Z[i]) }) // the best first
	y, given := make([]float64, n), make([]float64, n)
	for i, k := range order {
		y[i] = t.Shift + t.Scale*t.Z[k]
		if t.Noise != nil {
			given[i] = t.Noise[k] * t.Scale * t.Scale
		}
	}
	s := m.settings
	s.Whole = true                     // the differences between low values of tasks are small already
	s.OwnFrom, s.Outgrow = [2]int{}, 0 // deviations of lengths likely of any function are inflated
	r := NewRun(m, s, math.NaN(), 1, nil, nil)
	r.list = true // no point is asked about again
	if err := r.Fit(ctx, points.Pick(t.X, order[:told]), y[:told], given[:told], nil); err != nil {
		return nil, err
	}
	mean, sd := make([]float64, n-told), make([]float64, n-told)
	const most = 32 * block // points carried to the grid at a time, which take memory
	for lo := 0; lo < len(mean); lo += most {
		hi := min(lo+most, len(mean))
		if err := r.Predict(ctx, mean[lo:hi], sd[lo:hi], points.Pick(t.X, order[told+lo:told+hi])); err != nil {
			return nil, err
		}
	}
	of, noise := m.lowOf(y[:told], r.best(y[:told], given), 1), r.noiseInUnit()
	for i, v := range mean {
		d := sd[i] / r.u // whose square is a number
		if variance := d*d + cmp.Or(given[told+i]/r.u/r.u, noise); v < of.Knee && variance > 0 {
			low = append(low, lowValue{(v - of.Knee) / of.Near, math.Sqrt(variance) / (of.Near / r.u), (y[told+i] - of.Knee) / of.Near})
		}
	}
	return low, nil
}

// SetRaised says, before the model is shared, how far below the knees of their tasks the values lie that were raised: see
// [scaling.Raised].
func (m *Model) SetRaised(depths []float64) {
	slices.Sort(depths)
	m.raised = depths
}

// Ends returns the ends of the 90 % interval of what Predict predicts with a mean and a deviation, as far apart from other
// values as these are told. Below the knee the deviation is inflated, wholly from Near below on, and the lower end is lower
// by what the depth says. Where more than a twentieth of what is predicted lies where the run's values are raised to, or, if
// fewer than three are, the past's, which does not say how low they were, it is among these that the end is.
func (r *Run) Ends(mean, sd float64) (low, high float64) {
	of, m, lower, unit := r.low, r.Model, mean, 1.0
	from, depths := math.Inf(-1), []float64(nil)
	if of.Near > 0 {
		below := min(mean-of.Knee, 0)
		sd *= 1 + (m.inflation-1)*min(-below/of.Near, 1)
		lower += (m.depth - 1) * below
		from, depths, unit = of.Knee-scaling.RaisedFrom*of.Near, m.raised, of.Near
	}
	low, high = of.Back(lower-special.Z90*sd), of.Back(mean+special.Z90*sd)
	if len(r.depths) >= 3 {
		from, depths = max(from, slices.Min(r.y)), r.depths
	}
	const tail = 0.05
	if p := special.NormCDF((from - lower) / sd); p > tail && r.s.LowEnds && depths != nil {
		depth := depths[int((1-tail/p)*float64(len(depths)))]
		low = min(low, max(of.Knee-depth*unit, -points.MaxValue)) // which no value is below
	}
	return low, high
}
