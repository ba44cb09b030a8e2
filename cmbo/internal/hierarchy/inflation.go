package hierarchy

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
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
// least. These hold values as the model sees them, which are raised where they are very low. The
// reach is how much lower the lower ends have to be for as many of the values as they were told, by
// task and larger being better, to lie above them; penalties are left out. It takes a run of 20 values
// for each of 64 tasks at most.
func (m *Model) Inflate(ctx context.Context, told map[string][]float64) error {
	if m.near == 0 {
		return nil
	}
	tasks := sample(m.tasks, inflationTasks, m.settings.Seed, "inflation")
	parts := make([][]lowValue, len(tasks))
	if err := parallel.For(ctx, m.settings.Workers, len(tasks), func(_, i int) (err error) {
		if parts[i], err = m.lowValues(ctx, &tasks[i], told[tasks[i].ID]); err != nil {
			return ctx.Err() // values out of all proportion, whose intervals say nothing
		}
		return nil
	}); err != nil {
		return err
	}
	low := slices.Concat(parts...)
	errs := make([]float64, len(low))
	for i, v := range low {
		errs[i] = math.Abs(v.seen-v.mean) / v.sd
	}
	if len(errs) >= leastErrors {
		m.inflation = min(max(1, quantile(errs, 0.9)/special.Z90), maxInflation)
	}
	unit := scaling.Low{Near: 1}
	var missing []float64
	above := 0.0
	for _, v := range low {
		end := v.mean - special.Z90*m.inflated(v.mean, v.sd)
		if share := unit.Raised(end); share > 0 && v.told > -scaling.MaxReach {
			missing = append(missing, (unit.Back(end)-v.told)/share)
			if v.seen > end {
				above++
			}
		}
	}
	if n := float64(len(missing)); n >= leastErrors && above < n {
		m.reach = min(max(0, quantile(missing, above/n)), scaling.MaxReach)
	}
	return nil
}

// quantile returns that of values, which it sorts.
func quantile(v []float64, share float64) float64 {
	slices.Sort(v)
	return v[int(share*float64(len(v)))]
}

// A lowValue is a value of a task that is predicted to be low, all in the Near of a run and from
// its knee: as it is predicted, as the model sees it, and as it was told.
type lowValue struct{ mean, sd, seen, told float64 }

// lowValues returns those of a task that are predicted to be below the knee from its best third.
func (m *Model) lowValues(ctx context.Context, t *Task, raw []float64) (low []lowValue, err error) {
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
	of, noise := m.lowOf(y[:told], given), r.NoiseVariance()
	for i, v := range mean {
		if variance := sd[i]*sd[i] + cmp.Or(given[told+i], noise); v < of.Knee && variance > 0 {
			from := func(v float64) float64 { return (v - of.Knee) / of.Near }
			low = append(low, lowValue{from(v), math.Sqrt(variance) / of.Near, from(y[told+i]), from(raw[order[told+i]])})
		}
	}
	return low, nil
}

// Ends returns the ends of the 90 % interval of what Predict predicts with a mean and a deviation, as
// far apart from other values as these are told. Below the knee the deviation is inflated, wholly from
// Near below on, and the lower end lower by the reach, wholly where values are raised.
func (r *Run) Ends(mean, sd float64) (low, high float64) {
	if r.low.Near > 0 {
		sd = r.Model.inflated((mean-r.low.Knee)/r.low.Near, sd)
	}
	low, high = mean-special.Z90*sd, mean+special.Z90*sd
	return r.Back(low) - r.low.Near*r.Model.reach*r.low.Raised(low), r.Back(high)
}

// inflated returns the deviation of a mean from the knee, in Near.
func (m *Model) inflated(mean, sd float64) float64 {
	return sd * (1 + (m.inflation-1)*min(max(-mean, 0), 1))
}
