package cmbo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// outputModel is the model of an output of a run: the hierarchical prior of what past tasks
// teach of it, or a Gaussian process of the run's own values.
type outputModel struct {
	output runlog.Output
	past   *outputPrior // nil for none
	model  consulted    // nil before it is needed
	ofRun  *outputModel // that of the run, whose fits a model of its hindsight need not search again; nil for itself
}

// outputFit is the scale on which a model was told the values of an output.
type outputFit struct {
	warp  scaling.Warp
	scale scaling.Values
}

// to brings a value, or a limit, to the scale of the model.
func (f *outputFit) to(v float64) float64 {
	return (f.warp.Apply(v) - f.scale.Shift) / f.scale.Scale
}

// newOutputModels returns the models of the outputs that have limits or are the cost.
func (c *runConfig) newOutputModels() []*outputModel {
	var out []*outputModel
	for _, o := range c.outputs {
		past := c.prior.output(o.Name)
		if o.Cost {
			past = c.costs
		}
		if o.Limited() || o.Cost {
			out = append(out, &outputModel{output: o, past: past})
		}
	}
	return out
}

func (c *runConfig) limited() bool {
	return slices.ContainsFunc(c.outputs, func(o runlog.Output) bool { return o.Limited() })
}

// foretell returns what the models expect of the outputs of an evaluation before they are told, by name.
func (o *draft) foretell(ctx context.Context, models []*outputModel, e runlog.Event) (map[string]Forecast, error) {
	forecasts := make(map[string]Forecast)
	for _, m := range models {
		y, told := e.Outputs[m.output.Name]
		if !told {
			continue
		}
		f, ok, err := m.fit(ctx, o, false)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		mean, sd, err := m.model.predict(ctx, o.space.EncodeAll([][]float64{e.X}))
		if err != nil {
			return nil, err
		}
		out := Forecast{Trial: e.Trial, Y: f.warp.Apply(y)}
		out.Mean, out.SD = f.scale.Back(mean[0], sd[0])
		out.NoiseSD = f.scale.Scale * math.Sqrt(m.model.noise())
		out.belief = belief{mean: out.Mean, sd: math.Hypot(out.SD, out.NoiseSD), median: out.Mean}
		out.Quantiles = out.belief.quantiles()
		forecasts[m.output.Name] = out
	}
	return forecasts, nil
}

// begin makes the model; list says whether candidates are one.
func (m *outputModel) begin(ctx context.Context, c *runConfig, s *Space, list bool) error {
	if m.past == nil {
		scale := func(y, noise []float64) (scaled, variances []float64) {
			return scaling.ZScore.Scale(m.ownWarp(y).ApplyAll(y), noise)
		}
		m.model = consulted{plainRun{gp.NewPlain(coordinates(s), c.kernel, math.NaN(), scale, nil, exact(s), c.seed)}}
		return nil
	}
	past, err := m.past.model.At(ctx, c.context, c.parallelism)
	if err != nil {
		return gp.Marked(ctx, err)
	}
	of := outputRunSettings(past.Settings())
	of.List = list
	run := &hierarchicalRun{Run: hierarchy.NewRun(past, of, math.NaN(), c.parallelism, c.parts(), nil)}
	m.model = consulted{run}
	return nil
}

// outputRunSettings are those of an output's run by those of its model.
func outputRunSettings(s hierarchy.Settings) hierarchy.Settings {
	s.Whole = true // far values too, since a limit may lie anywhere
	// A limit is given in the output's own unit and sign, so that others than the past's are less likely
	// than the objective's: another unit, which is a part of the tail, and offsets times −1.
	s.OtherUnits /= 4
	s.TransferTail = max(s.TransferTail-s.OtherUnits, 0)
	s.Reversed, s.ReversedTail = s.Reversed/1.5, s.NoTransferTail
	return s
}

// ownWarp returns the scale of the run's own values: for a cost always that of logarithms. A limit of 0 or next to nothing is
// as far below positive values as they are large: by logarithms it would be farther from all of them than they are from each
// other, and points were the likelier to hold it the less is known of them.
func (m *outputModel) ownWarp(y []float64) scaling.Warp {
	if m.output.Cost {
		return scaling.LogWarp(y)
	}
	w := scaling.ChooseWarp(0, y)
	if _, hi := m.output.Limits(); 0 < w.Unit && hi < w.Unit {
		w.Unit = slices.Min(y)
	}
	return w
}

// unscaled reports whether values have no scale, which the past tells if it knows the output.
func (m *outputModel) unscaled(raw []float64) bool { return m.past == nil && !distinct(raw) }

// fit tells the model the values of a draft's log, with or without the pending points; ok is
// false as long as they have no scale.
func (m *outputModel) fit(ctx context.Context, o *draft, pending bool) (f outputFit, ok bool, err error) {
	x, raw := o.h.EncodedOutput(m.output.Name)
	if m.unscaled(raw) {
		return f, false, nil
	}
	if m.model.Surrogate == nil {
		if err := m.begin(ctx, &o.config, o.space, o.points != nil); err != nil {
			return f, false, fmt.Errorf("output %q: %w", m.output.Name, err)
		}
	}
	if m.ofRun != nil {
		// That of a run just restored may begin after this one.
		if own, of := as[plainRun](m.model).Plain, as[plainRun](m.ofRun.model).Plain; own != nil && of != nil {
			own.Share(of)
		}
	}
	d := Data{X: x, Raw: raw, RawNoiseVariance: make([]float64, len(raw)), Pending: linalg.NewDense(0, o.space.Dim(), nil)}
	if pending {
		d.Pending = o.h.EncodedPending()
	}
	if m.past != nil {
		f.warp, f.scale = m.past.warp, scaling.Fit(scaling.Raw, m.past.warp.ApplyAll(raw))
	} else {
		f.warp = m.ownWarp(raw)
		f.scale = scaling.Fit(scaling.ZScore, f.warp.ApplyAll(raw))
	}
	d.Y = f.scale.Z
	if err := m.model.Fit(ctx, d); err != nil {
		return f, false, fmt.Errorf("output %q: conditioning on %d values: %w", m.output.Name, len(raw), err)
	}
	return f, true, ctx.Err()
}

// bind prepares for predictions at the rows of x: candidates of a list come again.
func (m *outputModel) bind(ctx context.Context, o *draft, x *linalg.Dense) error {
	if x != o.points {
		return nil
	}
	return m.model.bind(ctx, x)
}

// logWithin writes the logarithm of the probability that a value measured at the rows of x
// lies between two limits, one of which may be infinite.
func (m consulted) logWithin(ctx context.Context, dst []float64, x *linalg.Dense, lo, hi float64) error {
	if r := as[*hierarchicalRun](m); r != nil {
		return gp.Marked(ctx, r.LogWithin(ctx, dst, x, lo, hi))
	}
	mean, sd, err := m.measured(ctx, x)
	if err != nil {
		return err
	}
	for i, s := range sd {
		dst[i] = special.NormLogInterval((lo-mean[i])/s, (hi-mean[i])/s)
	}
	return nil
}

// factor is that of the limits, as long as the output has no scale nil.
func (m *outputModel) factor(ctx context.Context, o *draft, pending bool) factorAt {
	f, ok, err := m.fit(ctx, o, pending)
	return func(x *linalg.Dense) (factor, error) {
		g := factor{output: m.output.Name}
		if err != nil || !ok {
			return g, err
		}
		if err := m.bind(ctx, o, x); err != nil {
			return g, err
		}
		g.log = make([]float64, points.Len(x))
		lo, hi := m.output.Limits()
		if err := m.model.logWithin(ctx, g.log, x, f.to(lo), f.to(hi)); err != nil {
			return g, err
		}
		g.p = each.Of(g.log, math.Exp)
		g.top = relate(g.log)
		return g, nil
	}
}

// alike is the difference of logarithms up to which probabilities count as the same.
const alike = 1e-6

// relate takes the largest logarithm, which it returns, off all: what all candidates have in common
// makes no difference, and a limit that all hold none to the last bit.
func relate(logs []float64) (top float64) {
	top = slices.Max(logs)
	for i := range logs {
		if logs[i] -= top; logs[i] >= -alike || math.IsNaN(logs[i]) { // NaN where all are -Inf
			logs[i] = 0
		}
	}
	return top
}

// feasible reports which values that a model learns from count as achieved: they are no
// estimates, and hold all limits if any does; nil for all of them.
func (o *draft) feasible() []bool {
	_, estimated := o.h.Learned()
	limited := o.config.limited() && o.h.Best(o.config.minimize) >= 0
	if !limited && estimated == nil {
		return nil
	}
	out := make([]bool, max(len(o.h.Observations), len(estimated)))
	i := 0
	for k := range out {
		if estimated == nil || !estimated[k] {
			out[k] = !limited || o.h.Feasible(i)
			i++
		}
	}
	return out
}

// asLikely is the difference of logarithms, -ln .95, up to which, before a value holds the
// limits, probabilities are too close to decide: the likeliest point to hold them is often one
// of many that nearly all do, and among those a poor one by the objective.
const asLikely = 0.05129329438755058

// feasibleFirst has the probabilities that limits hold decide before the scores, which have the other factors in them
// already: among candidates about as likely as the likeliest the scores do, and all others come after, in the order of
// the product of all factors. It reports whether that makes a difference.
func feasibleFirst(scores []float64, factors []factor) bool {
	logs := make([]float64, len(scores)) // in the end 0 for the likely ones, and below for others
	for i := range logs {
		for _, g := range factors {
			if g.output != "" && g.log != nil {
				logs[i] += g.log[i]
			}
		}
	}
	relate(logs)
	all := true
	least := math.Inf(1)
	for i := range logs {
		if logs[i] >= -asLikely {
			logs[i] = 0
			if !math.IsInf(scores[i], 0) {
				least = min(least, scores[i])
			}
			continue
		}
		all = false
		for _, g := range factors {
			if g.output == "" && g.p != nil {
				logs[i] += g.logAt(i)
			}
		}
	}
	if all {
		return false
	}
	if math.IsInf(least, 1) {
		least = 0
	}
	for i, l := range logs {
		switch {
		case l != 0:
			scores[i] = least - 1 + l
		case math.IsInf(scores[i], -1):
			scores[i] = least
		}
	}
	return true
}

// violations returns the limits that observation i does not hold.
func (o *Optimizer) violations(i int) []Violation {
	var out []Violation
	for _, p := range o.config.outputs {
		v, told := o.h.Observations[i].Outputs[p.Name]
		lo, hi := p.Limits()
		switch {
		case !p.Limited() || told && p.Beyond(v) == 0:
		case !told:
			out = append(out, Violation{Output: p.Name, Missing: true})
		case v < lo:
			out = append(out, Violation{Output: p.Name, Value: v, Limit: lo})
		default:
			out = append(out, Violation{Output: p.Name, Value: v, Limit: hi})
		}
	}
	return out
}

// misfit says how limits do not fit the values of past tasks: that none holds them, or that one is of
// another size than all, as one in another unit is; "" where they fit.
func misfit(o runlog.Output, values []float64) string {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	sizes := slices.DeleteFunc(each.Of(values, math.Abs), func(v float64) bool { return v == 0 })
	if !o.Limited() || len(values) == 0 {
		return ""
	}
	why := ""
	lo, hi := o.Limits()
	for _, l := range []float64{math.Abs(lo), math.Abs(hi)} {
		if len(sizes) > 0 && l > 0 && !math.IsInf(l, 1) && (l/unitGap > slices.Max(sizes) || l < slices.Min(sizes)/unitGap) {
			why = " may be in another unit than past values"
		}
	}
	holds := func(v float64) bool { return o.Beyond(v) <= 1e-9*math.Abs(v) } // a prior keeps values but for rounding
	if !slices.ContainsFunc(values, holds) {
		why = " is held by no past value"
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%s%s: these lie from %s to %s", &o, why, short(slices.Min(values)), short(slices.Max(values)))
}
