package cmbo

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// probability returns the probability of success at the rows of x, nil as long as
// neither the run nor the prior knows of a failure.
func (o *draft) probability(ctx context.Context, x *linalg.Dense) ([]float64, error) {
	if o.succeeds == nil {
		var m *hierarchy.Model
		p := o.config.prior
		switch {
		case p != nil && p.success != nil:
			m = p.success
		case o.h.Failures == 0:
			return nil, nil
		default:
			// The lengths that values have say nothing of failures, and long ones would make
			// a few failures fail everywhere.
			m = hierarchy.NewSuccess(hierarchy.DefaultKernel(o.space.Dim()), x)
		}
		o.succeeds = hierarchy.NewBoundSuccess(m, o.config.parallelism, o.config.parts())
	}
	if o.h.Failures == 0 && len(o.succeeds.Model.Tasks()) == 0 {
		return nil, nil // a draft of an earlier log
	}
	if x == o.points {
		if err := o.succeeds.Bind(ctx, x); err != nil {
			return nil, modelError(ctx, err)
		}
	}
	at, labels := o.h.EncodedLabels()
	err := o.succeeds.Fit(ctx, at, labels, nil, nil)
	n, _ := x.Dims()
	p := make([]float64, n)
	if err == nil {
		err = o.succeeds.Success(ctx, p, x)
	}
	if err != nil {
		return nil, modelError(ctx, err)
	}
	return p, nil
}

// weighBySuccess multiplies an acquisition by the square of the probability of success:
// the best point is often next to the border of a region that fails, and the square
// keeps farther from it than the first power. Scores of EI
// are logarithms of what is expected and those of PI are quantiles of a probability:
// they become the logarithm of the product. All others, whose sign and unit are
// unknown, as nil is, count from the least finite one, or as 1 where all are equal;
// infinite scores stay as they are.
func weighBySuccess(scores, p []float64, f acq.Func) {
	switch f.(type) {
	case acq.EI:
		for i, v := range p {
			scores[i] += 2 * math.Log(v)
		}
		return
	case acq.PI:
		for i, v := range p {
			scores[i] = special.NormLogCDF(scores[i]) + 2*math.Log(v)
		}
		return
	}
	least, differ := math.Inf(1), false
	for _, v := range scores {
		if v < least && !math.IsInf(v, -1) {
			least = v
		}
		differ = differ || v != scores[0]
	}
	for i, v := range p {
		switch {
		case math.IsInf(scores[i], 0):
		case differ:
			scores[i] = (scores[i] - least) * v * v
		default:
			scores[i] = v * v
		}
	}
}

// successPoints is the number of the tasks' points, failed ones among them, at most,
// on which labels are learned: where evaluations fail is a coarser thing than their
// values.
const successPoints = 256

// successBaseTasks is the number of tasks, at most, to which the base process of the
// labels is fitted.
const successBaseTasks = 100

// learnSuccess learns where the tasks' evaluations succeed, nil if none failed.
func (t *trainingSet) learnSuccess(ctx context.Context) (*hierarchy.Model, error) {
	tasks, failures := t.labelled, t.failures > 0
	if p := t.known; p != nil {
		var known []hierarchy.Task
		if p.success != nil {
			known, failures = p.success.Tasks(), true
		} else {
			for _, k := range p.facts.tasks {
				known = append(known, hierarchy.LabelledTask(k.ID, k.X, nil))
			}
		}
		tasks = append(slices.Clip(known), tasks...)
	}
	if !failures {
		return nil, nil
	}
	c := t.config
	if c.progress != nil {
		c.progress(Progress{"success", 0, 1})
	}
	var pool []*linalg.Dense
	for _, k := range tasks {
		pool = append(pool, k.X)
	}
	grid := points.Sample(points.Sorted(points.Distinct(pool...)), successPoints, c.seed, "success")
	o := hierarchyOptions(c, t.space.Dim())
	o.Labels, o.ScorePartitions, o.BaseTasks = nil, false, successBaseTasks
	m, err := hierarchy.Learn(ctx, tasks, grid, nil, o)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	if c.progress != nil {
		c.progress(Progress{"success", 1, 1})
	}
	return m, nil
}
