package cmbo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// AsCost says that the output is what an evaluation costs, such as seconds: a positive number, told with every value
// and failure, unless it is [Optional], and with a stop ([Optimizer.TellStopped]) as far as it is known. A trial that
// resumes another ([WithCheckpoints]) is told its own part alone: limits, models, [Observation] and [Optimizer.Task]
// have the sum of the parts, and no cost where one is not known. A run has one cost, which may have limits too.
//
//	opt, err := cmbo.New(space, cmbo.WithOutput("seconds", cmbo.AsCost()), cmbo.WithBudget(3600))
//
// The acquisition is divided by a power of the expected cost: the first, or with a budget ([WithBudget]) the share of
// it that is left (E. H. Lee, V. Perrone, C. Archambeau and M. Seeger, Cost-aware Bayesian optimization,
// arXiv:2003.10870, section 4.2). Logarithms of costs have a model as other outputs have. While nothing is known, or
// all costs told are equal, costs count as equal. Values of past tasks that are not positive, such as seconds rounded down,
// count as missing where others are: New and [Restore] then learn the output anew.
func AsCost() OutputOption {
	return outputOption(func(o *runlog.Output) error { o.Cost = true; return nil })
}

// WithCost gives what an evaluation at a point costs where that is known beforehand, such as the number of epochs: a
// positive finite number for every point of the space, given as [Space] describes rows. It takes the place of an output
// [AsCost] and does the same. The function may be called for every candidate of New and of every Ask, by one goroutine at a
// time, must always return the same, and has to be given again to [Restore].
func WithCost(cost func(x []float64) float64) Option {
	return option{id: optCost, restore: true, run: gp.Setting(
		func(c *runConfig) { c.cost = cost }, cost != nil, "a nil cost")}
}

// WithBudget sets what the run may spend, positive and finite, in the unit of its cost ([AsCost], [WithCost]);
// without a cost in evaluations, of which it pays for whole ones. Ask proposes a candidate only if its cost is at
// most what is left with a probability of one half or more, by which it multiplies the acquisition, and fails with
// [ErrBudget] if there is none. What is enqueued is proposed as long as anything is left. Open trials count what they
// are expected to cost, so that a batch is no larger than what is left pays for. A trial that ended without telling
// its cost counts as the mean of the others. An evaluation that goes on from where it was stopped ([WithCheckpoints])
// counts once, or the sum of what its parts have told. Cancelled trials and observed points cost nothing.
func WithBudget(budget float64) Option {
	return option{id: optBudget, run: gp.Setting(func(c *runConfig) { c.budget = budget },
		budget > 0 && !math.IsInf(budget, 1), "a budget of %g, which is not positive and finite", budget)}
}

// checkCost fails where an output and a function both give the cost, and where no value of that output in past tasks can be
// a cost. It takes over what those that can be say.
func (c *runConfig) checkCost() error {
	i := slices.IndexFunc(c.outputs, func(o runlog.Output) bool { return o.Cost })
	if i < 0 {
		return nil
	}
	o := c.outputs[i]
	if c.cost != nil {
		return optionErrorf("%s contradicts output %q, which is the cost", optCost, o.Name)
	}
	if p := c.prior.output(o.Name); p != nil {
		costs, err := c.prior.costs(p)
		c.costs = costs
		return err
	}
	return nil
}

// costs returns what is known of an output that is a cost: where some values cannot be costs, as seconds that were rounded
// down, what the others say.
func (p *Prior) costs(o *outputPrior) (*outputPrior, error) {
	var positive measured
	missing := false
	for _, t := range o.model.Tasks() {
		y := o.values(t)
		largest := max(slices.Max(y), 0)
		rows := each.Where(len(y), func(k int) bool { return y[k] > costRounding*largest })
		missing = missing || len(rows) < len(y)
		if len(rows) > 0 {
			t.X = points.Pick(t.X, rows)
			positive.tasks, positive.y = append(positive.tasks, t), append(positive.y, points.Entries(y, rows))
		}
	}
	if !missing {
		return o, nil
	}
	if len(positive.tasks) == 0 {
		return nil, fmt.Errorf("%w: no value of output %q of past tasks is positive, and a cost is", ErrPriorMismatch, o.name)
	}
	t := trainingSet{config: p.config, space: p.space, list: p.finite}
	return t.learnOutput(context.Background(), o.name, &positive, o.model.Grid())
}

// costRounding is the ratio of two costs of a task below which the smaller one cannot be
// told from 0, past values being kept as multiples of their deviation.
const costRounding = 1e-12

// A costRequirement has proposals improve by as much as they can per cost.
type costRequirement struct {
	model *outputModel // nil where the cost is known beforehand
}

// factor is the expected cost to minus the power and, with a budget, the probability that the cost is at most what is left.
func (r *costRequirement) factor(ctx context.Context, o *draft, pending bool) factorAt {
	remaining, err := o.remaining()
	var f outputFit
	modelled := false
	if err == nil && r.model != nil {
		f, modelled, err = r.model.fit(ctx, o, pending)
	}
	if err == nil && modelled && pending && o.config.budget > 0 {
		open := make([]float64, len(o.h.Pending())) // what these trials are expected to cost
		err = r.model.logCost(ctx, open, o.h.EncodedPending(), &f)
		remaining -= stat.Sum(each.Of(open, math.Exp))
	}
	return func(x *linalg.Dense) (factor, error) {
		n, left, err := points.Len(x), remaining, err
		g := factor{log: make([]float64, n), costPower: 1}
		if err == nil && r.model == nil {
			g.cost, err = o.knownCosts(x)
		} else if err == nil && !modelled {
			// As long as all costs that were told are equal, the others are taken to be so.
			_, told := o.h.EncodedOutput(r.model.output.Name)
			if len(told) == 0 {
				return factor{}, nil
			}
			g.cost = slices.Repeat(told[:1], n)
			if pending {
				left -= float64(len(o.h.Pending())) * told[0]
			}
		}
		if err != nil {
			return factor{}, err
		}
		logs := each.Of(g.cost, math.Log)
		if modelled {
			logs = make([]float64, n)
			if err := r.model.bind(ctx, o, x); err != nil {
				return factor{}, err
			}
			if err := r.model.logCost(ctx, logs, x, &f); err != nil {
				return factor{}, err
			}
			g.cost = each.Of(logs, math.Exp)
		}
		affords := make([]float64, n) // logarithms of probabilities
		if o.config.budget > 0 {
			g.costPower = max(left, 0) / o.config.budget
			if modelled {
				if err := r.model.model.logWithin(ctx, affords, x, math.Inf(-1), f.to(left)); err != nil {
					return factor{}, err
				}
			} else {
				for i, c := range g.cost {
					if c-left > budgetRounding*o.config.budget {
						affords[i] = math.Inf(-1)
					}
				}
			}
			g.within = each.Of(affords, math.Exp)
		}
		for i, l := range logs {
			g.log[i] = float64(-g.costPower*l) + affords[i]
		}
		g.top = relate(g.log)
		g.p = each.Of(g.log, math.Exp)
		return g, nil
	}
}

// logCost writes the logarithm of the expected cost of an evaluation at the rows of x: of a log-normal cost with the mean
// and the variance that the model gives its logarithm. A mixture's own expectation is that of its least likely, widest part.
func (m *outputModel) logCost(ctx context.Context, dst []float64, x *linalg.Dense, f *outputFit) error {
	mean, sd, err := m.model.measured(ctx, x)
	if err != nil {
		return err
	}
	for i := range dst {
		mu, s := f.scale.Back(mean[i], sd[i])
		if f.warp.Unit > 0 {
			dst[i] = f.warp.LogUnit() + mu + s*s/2
			continue
		}
		// Of values that are learned as they are, given that a cost is positive.
		dst[i] = math.Log(s) + special.NormLogEI(mu/s) - special.NormLogCDF(mu/s)
	}
	return nil
}

// knownCosts returns the costs that are known beforehand at the rows of x, of the user's own
// rows where x are the candidates or the pending points: decoded ones are rounded.
func (o *draft) knownCosts(x *linalg.Dense) ([]float64, error) {
	costs := make([]float64, points.Len(x))
	rows := o.rows
	if x != o.points {
		rows = nil
		if points.Equal(x, o.h.EncodedPending()) {
			for _, id := range o.h.Pending() {
				rows = append(rows, o.h.Trials[id-1].X)
			}
		}
	}
	for i := range costs {
		var row []float64
		var err error
		if rows != nil {
			row = rows[i]
		} else if row, err = o.space.Decode(x.Row(i)); err != nil {
			return nil, err
		}
		if costs[i], err = o.knownCost(row); err != nil {
			return nil, err
		}
	}
	return costs, nil
}

// knownCost returns what an evaluation at a point costs by [WithCost], 1 without it.
func (o *Optimizer) knownCost(row []float64) (float64, error) {
	if o.config.cost == nil {
		return 1, nil
	}
	c := o.config.cost(slices.Clone(row))
	if !(c > 0) || math.IsInf(c, 1) {
		return 0, optionErrorf("the cost of%v is %g, which is not positive and finite", space.Point{Space: o.space, X: row}, c)
	}
	return c, nil
}

// spent returns what the trials have cost that ended, or that are open where their cost is known beforehand.
func (o *draft) spent() (spent float64, err error) {
	told := o.h.CostOutput()
	var known, missing float64
	var begun []int // trials with which others go on, whose known cost is theirs
	for i, t := range o.h.Trials {
		if told == nil && t.Status != runlog.Cancelled {
			_, parts := o.h.Parts(i + 1)
			begun = append(begun, parts...)
		}
	}
	for i, t := range o.h.Trials {
		var c float64
		switch {
		case t.Status == runlog.Cancelled || slices.Contains(begun, i+1) || told != nil && t.Status == runlog.Open:
			continue
		case told != nil:
			var ok bool
			if c, ok = t.Outputs[told.Name]; !ok {
				missing++
				continue
			}
		default:
			if c, err = o.knownCost(t.X); err != nil {
				return 0, err
			}
		}
		spent, known = spent+c, known+1
	}
	if known > 0 {
		spent += missing * (spent / known)
	}
	return spent, nil
}

// budgetRounding is the share of a budget that sums of costs may be off by: a tenth ten times is not one.
const budgetRounding = 1e-9

// remaining returns what is left of the budget, which may be less than 0; +Inf without one.
func (o *draft) remaining() (float64, error) {
	if o.config.budget == 0 {
		return math.Inf(1), nil
	}
	spent, err := o.spent()
	left := o.config.budget - spent
	if math.Abs(left) <= budgetRounding*o.config.budget {
		left = 0
	}
	return left, err
}

// affordable is the least probability of costing at most what is left at which a candidate
// is worth a proposal: evaluations that are as likely as not to end within the budget.
const affordable = 0.5

func (o *draft) budgeted() bool { return o.costs != nil && o.config.budget > 0 }

// within returns the probabilities that what is left of the budget pays for evaluations at the
// rows of x, nil without a budget in costs and as long as nothing is known of them.
func (o *draft) within(ctx context.Context, x *linalg.Dense) ([]float64, error) {
	if !o.budgeted() {
		return nil, nil
	}
	g, err := o.costs.factor(ctx, o, true)(x)
	return g.within, err
}

// payable returns those candidates, of the rows of x, that are as likely as not to end within the budget.
func (o *draft) payable(ctx context.Context, candidates []int, x *linalg.Dense) ([]int, error) {
	within, err := o.within(ctx, x)
	if err = cmp.Or(err, o.afford()); err != nil {
		return nil, err
	}
	return o.likely(candidates, within)
}

// likely returns those candidates that have an even chance by these probabilities, all of them
// for nil, and fails with [ErrBudget] if none has.
func (o *draft) likely(candidates []int, within []float64) ([]int, error) {
	if within == nil {
		return candidates, nil
	}
	out := slices.DeleteFunc(slices.Clone(candidates), func(r int) bool { return within[r] < affordable })
	if len(out) > 0 {
		return out, nil
	}
	remaining, err := o.remaining()
	if err == nil {
		open := ""
		if n := len(o.h.Pending()); n > 0 && o.h.CostOutput() != nil {
			open = fmt.Sprintf(", less what %s will cost", names.Count(n, "open trial"))
		}
		err = fmt.Errorf("%w: %s of %s are left%s, and every candidate is likely to cost more",
			ErrBudget, short(remaining), short(o.config.budget), open)
	}
	return nil, err
}

// afford reports a budget that is spent: of evaluations, one that has none left for a proposal.
func (o *draft) afford() error {
	remaining, err := o.remaining()
	spent := !(remaining > 0)
	if o.config.cost == nil && o.h.CostOutput() == nil && o.reason() != ReasonEnqueued {
		spent = remaining < 1
	}
	if err == nil && spent {
		err = fmt.Errorf("%w: %s of %s are spent", ErrBudget, short(o.config.budget-remaining), short(o.config.budget))
	}
	return err
}
