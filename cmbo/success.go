package cmbo

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/linalg"
)

// success is the number of the requirement that evaluations succeed.
const success = 0

type successRequirement struct {
	run *hierarchy.Run // nil before it is needed
}

// The power of the probability of success is SuccessPower as long as no more than a share MayFail of the evaluations fails,
// and grows with the failures beyond: the best point is often next to the border of a region that fails, where improvements
// differ by orders of magnitude (examples/hpob/EVIDENCE.md). Without a past it grows with their square root. What a past
// makes certain differs by more, so that with one it grows by SuccessGrowth for each; but the first one where a past has its
// best points must not lead away from all of them, and is not counted.
func (r *successRequirement) factor(ctx context.Context, o *draft, _ bool) factorAt {
	tooMany := max(float64(o.h.Failures)-o.settings.MayFail*float64(o.h.Ended()), 0)
	grown := math.Sqrt(tooMany)
	if o.config.prior != nil {
		grown = o.settings.SuccessGrowth * max(tooMany-1, 0)
	}
	power := o.settings.SuccessPower * (1 + grown)
	return func(x *linalg.Dense) (factor, error) {
		p, err := r.probability(ctx, o, x)
		return factor{p: p, power: int(power)}, err
	}
}

// probability returns that of success at the rows of x; nil as long as neither the log nor the prior knows of a failure.
func (r *successRequirement) probability(ctx context.Context, o *draft, x *linalg.Dense) ([]float64, error) {
	if r.run == nil {
		var m *hierarchy.Model
		p := o.config.prior
		switch {
		case p != nil && p.success != nil:
			m = p.success
		case o.h.Failures == 0:
			return nil, nil
		default:
			// The lengths that values have say nothing of failures, and long ones would make a few failures fail everywhere.
			m = hierarchy.NewSuccess(x)
		}
		r.run = hierarchy.NewSuccessRun(m, m.Settings(), o.config.parallelism, o.config.parts())
	}
	if o.h.Failures == 0 && len(r.run.Model.Tasks()) == 0 {
		return nil, nil // a draft of an earlier log
	}
	if x == o.points {
		if err := r.run.Bind(ctx, x); err != nil {
			return nil, gp.Marked(ctx, err)
		}
	}
	at, labels := o.h.EncodedLabels()
	err := r.run.Fit(ctx, at, labels, nil, nil)
	p := make([]float64, points.Len(x))
	if err == nil {
		err = r.run.Success(ctx, p, x)
	}
	return p, gp.Marked(ctx, err)
}

// successPoints is the number of the tasks' points, failed ones among them, at most, on which
// labels are learned: where evaluations fail is a coarser thing than their values.
const successPoints = 256

// successBaseTasks is the number of tasks, at most, to which the base process of the labels is fitted.
const successBaseTasks = 100

// learnSuccess learns where the tasks' evaluations succeed, nil if none failed.
func (t *trainingSet) learnSuccess(ctx context.Context) (*hierarchy.Model, error) {
	if t.failures == 0 {
		return nil, nil
	}
	c := t.config
	pool := each.Of(t.labelled, func(k hierarchy.Task) *linalg.Dense { return k.X })
	grid := points.Sample(points.Sorted(points.Distinct(pool...)), successPoints, c.seed, "success")
	o := hierarchySettings(c, t.space, t.list)
	o.Kernels = hierarchy.DefaultSettings(t.space.Dim()).Kernels[:1] // a border is not smooth
	o.BaseTasks = successBaseTasks
	o.FewValues = 0 // labels have no offset and scale of their own
	o.Apart = false // and no width
	m, err := hierarchy.Learn(ctx, t.labelled, grid, o)
	return m, gp.Marked(ctx, err)
}
