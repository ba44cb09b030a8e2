package hierarchy

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/special"
)

const (
	inflationTasks = 64 // replayed, at most: with 16 the quantile of their errors depends on which they are
	inflationTold  = 20 // values that each replay is told, at most, as many as a run asks for
	leastErrors    = 20 // that have a 90 % quantile
	maxInflation   = 10 // intervals wider than these hold all that tasks show
)

// Inflate learns how much too narrow intervals of low values are, before the model is shared. Runs
// ask where values are high, and tasks differ by more than a Gaussian population says in how low
// the others are. So past tasks are replayed, each told its best third, and the inflation is that of
// the intervals which hold nine in ten of the others' values that are predicted to be low; 1 at
// least. It takes a run of 20 values for each of 64 tasks at most.
func (m *Model) Inflate(ctx context.Context) error {
	if m.near == 0 {
		return nil
	}
	tasks := sample(m.tasks, inflationTasks, m.settings.Seed, "inflation")
	errs := make([][]float64, len(tasks))
	if err := parallel.For(ctx, m.settings.Workers, len(tasks), func(_, i int) (err error) {
		if errs[i], err = m.lowErrors(ctx, &tasks[i]); err != nil {
			return ctx.Err() // values out of all proportion, whose intervals say nothing
		}
		return nil
	}); err != nil {
		return err
	}
	if all := slices.Concat(errs...); len(all) >= leastErrors {
		slices.Sort(all)
		m.inflation = min(max(1, all[len(all)*9/10]/special.Z90), maxInflation)
	}
	return nil
}

// lowErrors returns the errors, in deviations, of the values of a task that are predicted to be
// below the knee from its best third.
func (m *Model) lowErrors(ctx context.Context, t *Task) (errs []float64, err error) {
	n := points.Len(t.X) - t.Failed
	told := min(n/3, inflationTold)
	if told == 0 {
		return nil, nil
	}
	order, y, given := make([]int, n), make([]float64, n), make([]float64, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Z[b], t.Z[a]) })
	for i, k := range order {
		y[i] = t.Shift + t.Scale*t.Z[k]
		if t.Noise != nil {
			given[i] = t.Noise[k] * t.Scale * t.Scale
		}
	}
	s := m.settings
	s.Whole = true // the differences between low values of tasks are small already
	r := NewRun(m, s, math.NaN(), 1, nil, nil)
	r.list = true // no point is asked about again
	if err := r.Fit(ctx, points.Pick(t.X, order[:told]), y[:told], given[:told], nil); err != nil {
		return nil, err
	}
	mean, sd := make([]float64, n-told), make([]float64, n-told)
	if err := r.Predict(ctx, mean, sd, points.Pick(t.X, order[told:])); err != nil {
		return nil, err
	}
	knee, noise := m.lowOf(y[:told], given).Knee, r.NoiseVariance()
	for i, v := range mean {
		if variance := sd[i]*sd[i] + cmp.Or(given[told+i], noise); v < knee && variance > 0 {
			errs = append(errs, math.Abs(y[told+i]-v)/math.Sqrt(variance))
		}
	}
	return errs, nil
}

// Inflated returns the deviation of what Predict predicts with a mean: inflated where that is below
// the knee, wholly from Near below on.
func (r *Run) Inflated(mean, sd float64) float64 {
	if d := (r.low.Knee - mean) / r.low.Near; r.low.Near > 0 && d > 0 {
		sd *= 1 + (r.Model.inflation-1)*min(d, 1)
	}
	return sd
}
