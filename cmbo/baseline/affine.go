package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// affineGP is EM-EGP-affine: y = a + s·f(x) + e, where f has the prior that EM learns, e ~ N(0, s²σ²),
// a ~ N(a0, v_a) and ln s ~ N(ln s0, v_s), which a run sums over. See METHODS.md.
type affineGP struct {
	*empiricalGP
	units unitsPrior
}

// unitsPrior is what the tasks say of a target's offset and scale.
type unitsPrior struct {
	offset, offsetVar     float64 // of a; the variance in units of s0²
	logScale, logScaleVar float64
}

const (
	affineStep     = 0.1 // of ln s; n values leave about 1/√(2n) for its deviation
	affineNodes    = 201 // scales, at most
	pseudoVar      = 1.0 // squared deviation of one task more, for few tasks
	minLogVar      = 0.04
	offsetTail     = 10  // times the deviation of a
	offsetFar      = 1e6 // likewise, or times s
	offsetTailMass = 0.01
	offsetFarPart  = 0.1
	scaleTailMass  = 0.02
	scaleTailSD    = 3
	maxUnits       = 1e50 // bound of values in units of the scale, and of scales in each other's: squares stay finite
)

// learnAffineGP learns EM-EGP and the prior of offset and scale.
var learnAffineGP = fromTasks(config{method: "EM-EGP-affine", ard: true},
	func(ctx context.Context, dim int, obs []observations, c *config) (*affineGP, error) {
		m, err := trainEmpiricalGP(ctx, dim, obs, c)
		return &affineGP{m, newUnitsPrior(obs)}, err
	})

func newUnitsPrior(obs []observations) unitsPrior {
	var p unitsPrior
	k := float64(len(obs))
	var logs []float64
	for _, o := range obs {
		p.offset += o.Shift / k
		if varies(o) {
			logs = append(logs, math.Log(o.Scale))
		}
	}
	p.logScale, p.logScaleVar = stat.MeanVariance(logs)
	p.logScaleVar = max((p.logScaleVar*float64(len(logs))+pseudoVar)/float64(len(logs)+1), minLogVar)
	unit := math.Exp(p.logScale)
	p.offsetVar = pseudoVar / (k + 1)
	for _, o := range obs {
		a := min(math.Abs(o.Shift-p.offset)/unit, maxUnits)
		p.offsetVar += a * a / (k + 1)
	}
	return p
}

// Surrogate returns the surrogate of one run, a [cmbo.Scorer]; nothing in it is random.
func (m *affineGP) Surrogate(seed uint64) cmbo.Surrogate {
	return &affineRun{empiricalRun: m.run(seed), units: m.units}
}

type affineRun struct {
	*empiricalRun
	units unitsPrior
	nodes []affineNode

	unit float64 // of the values that nodes are for, whose centre is the prior's offset
	// L⁻¹ of the ones, the prior means and the values; and of the ones with pending points.
	ones, means, values, all []float64
	// Scaled units of the run: (value − shift)/scale.
	shift, scale float64
}

// affineNode is one scale and one variance of the offset, with what the data say of it, in units of the prior's.
type affineNode struct {
	s      float64
	w      float64 // posterior mass
	a      float64 // posterior mean of the offset less the prior's
	varOff float64 // and its variance, pending points counting
}

// Fit conditions on the values before scaling.
func (r *affineRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	n := len(r.d.Y)
	var top float64
	for _, v := range r.d.Raw {
		top = max(top, math.Abs(v-r.units.offset))
	}
	s0 := math.Exp(r.units.logScale)
	r.unit = max(s0, top/maxUnits)
	r.shift, r.scale = 0, max(unit(r.d.Raw, r.d.Y), r.unit/maxUnits)
	if n > 0 {
		r.shift = r.d.Raw[0] - r.scale*r.d.Y[0]
	}
	y, own := make([]float64, n), make([]float64, n)
	for i, v := range r.d.Raw {
		y[i] = (v - r.units.offset) / r.unit
		own[i] = r.d.NoiseVariance[i] * (r.scale / r.unit) * (r.scale / r.unit)
	}
	err := r.condition(ctx, y, own)
	if err == nil {
		err = r.whiten(ctx, y)
	}
	if r.has = err == nil; !r.has {
		return err
	}
	r.infer(-math.Log(min(r.unit/s0, maxUnits)))
	return nil
}

// whiten fills in what depends on the data alone.
func (r *affineRun) whiten(ctx context.Context, y []float64) error {
	n, p := len(y), points.Len(r.d.Pending)
	r.ones, r.means, r.values, r.all = nil, nil, nil, nil
	if n > 0 {
		mean := make([]float64, n)
		if err := r.Moments(ctx, mean, nil, r.d.X); err != nil {
			return err
		}
		m := linalg.NewDense(n, 3, nil)
		for i := range n {
			copy(m.Row(i), []float64{1, mean[i], y[i]})
		}
		if err := r.post.Data().Whiten(m, m); err != nil {
			return gp.Numerical(ctx, err, "whitening %d values", n)
		}
		r.ones, r.means, r.values = column(m, 0), column(m, 1), column(m, 2)
	}
	r.all = r.ones
	if p > 0 {
		m := linalg.NewDense(n+p, 1, slices.Repeat([]float64{1}, n+p))
		if err := r.full.Data().Whiten(m, m); err != nil {
			return gp.Numerical(ctx, err, "whitening %d pending points", p)
		}
		r.all = column(m, 0)
	}
	return nil
}

// infer weighs scales and variances of the offset by the density of the values: see METHODS.md.
// centre is the logarithm of the prior's scale in the units of the values.
func (r *affineRun) infer(centre float64) {
	n := len(r.values)
	sd := math.Sqrt(r.units.logScaleVar)
	reach := min(3*sd, math.Log(maxUnits))
	lo, hi := centre-reach, centre+reach
	if n > 1 {
		// The deviation of what the prior mean does not say is near that of s.
		_, spread := stat.MeanVariance(r.d.Y)
		if spread *= (r.scale / r.unit) * (r.scale / r.unit); spread > 0 {
			l := math.Log(spread) / 2
			lo, hi = min(lo, l-1.5), max(hi, l+2)
		} else {
			lo = centre // equal values say nothing for a scale of 0
		}
	}
	uu := linalg.Dot(r.ones, r.ones)
	uuAll := linalg.Dot(r.all, r.all)
	v0 := r.units.offsetVar * math.Exp(2*centre)
	wide := max(scaleTailSD, 2*sd)
	r.nodes = r.nodes[:0]
	var logs []float64
	resid := make([]float64, n)
	count := min(int(math.Ceil((hi-lo)/affineStep))+1, affineNodes)
	for i := range count {
		l := lo + (hi-lo)*float64(i)/float64(count-1)
		q := l - centre
		s2 := math.Exp(2 * l)
		prior := math.Log((1-scaleTailMass)*math.Exp(-q*q/2/r.units.logScaleVar)/sd +
			scaleTailMass*math.Exp(-q*q/2/wide/wide)/wide)
		if i == 0 || i == count-1 {
			prior -= math.Ln2 // the trapezoidal rule
		}
		copy(resid, r.values)
		linalg.Axpy(resid, -math.Exp(l), r.means)
		var als, sse float64
		if n > 0 {
			als = linalg.Dot(r.ones, resid) / uu
			linalg.Axpy(resid, -als, r.ones)
			sse = linalg.Dot(resid, resid)
		}
		for k, share := range [...]float64{1 - offsetTailMass, offsetTailMass * (1 - offsetFarPart),
			offsetTailMass * offsetFarPart} {
			v := [...]float64{v0, v0 * offsetTail * offsetTail, max(v0, s2) * offsetFar * offsetFar}[k]
			if n == 0 && k > 0 {
				continue // nothing but the deviation would be seen
			}
			node := affineNode{s: math.Exp(l), varOff: v / (1 + v*uuAll/s2)}
			log := prior + math.Log(share)
			if n > 0 {
				e := s2 / uu
				log -= 0.5 * (sse/s2 + als*als/(v+e) + 2*l*float64(n) + math.Log1p(v/e))
				node.a = v / (v + e) * als
			}
			r.nodes, logs = append(r.nodes, node), append(logs, log)
		}
	}
	total := logSumExp(logs)
	kept := r.nodes[:0]
	for i, node := range r.nodes {
		if node.w = math.Exp(logs[i] - total); node.w > negligibleMass {
			kept = append(kept, node)
		}
	}
	r.nodes = kept
}

// negligibleMass is what a node must have to be predicted with.
const negligibleMass = 1e-9

// affinePoint is what all nodes share at a point: their mean there is
// s·mean + values + a·ones, their variance s²·variance + varOff·free².
type affinePoint struct{ mean, values, ones, variance, free float64 }

func (r *affineRun) pointsAt(ctx context.Context, x *linalg.Dense) ([]affinePoint, error) {
	n := points.Len(x)
	mean, variance := make([]float64, n), make([]float64, n)
	if err := r.Moments(ctx, mean, variance, x); err != nil {
		return nil, err
	}
	out := each.Below(n, func(j int) affinePoint {
		return affinePoint{mean: mean[j], ones: 1, variance: variance[j], free: 1}
	})
	var white linalg.Dense
	if err := r.full.Whiten(ctx, &white, x); err != nil {
		return nil, err
	}
	for i := range points.Len(&white) {
		for j, v := range white.Row(i) {
			p := &out[j]
			if i < len(r.ones) {
				p.mean -= v * r.means[i]
				p.values += v * r.values[i]
				p.ones -= v * r.ones[i]
			}
			p.variance -= v * v
			p.free -= v * r.all[i]
		}
	}
	for j := range out {
		out[j].variance = max(out[j].variance, 0)
	}
	return out, ctx.Err()
}

// scaled returns the moments of a node in the run's scaled units.
func (r *affineRun) scaled(p *affinePoint, n *affineNode) (mean, sd float64) {
	m, v := n.s*p.mean+p.values+n.a*p.ones, n.s*n.s*p.variance+n.varOff*p.free*p.free
	u := r.unit / r.scale
	return (r.units.offset-r.shift)/r.scale + u*m, u * math.Sqrt(v)
}

func (r *affineRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.ready(ctx, x, mean, sd); err != nil {
		return err
	}
	at, err := r.pointsAt(ctx, x)
	if err != nil {
		return err
	}
	for j := range at {
		mean[j], sd[j] = 0, 0
		for i := range r.nodes {
			m, _ := r.scaled(&at[j], &r.nodes[i])
			mean[j] += r.nodes[i].w * m
		}
		for i := range r.nodes {
			m, s := r.scaled(&at[j], &r.nodes[i])
			sd[j] += r.nodes[i].w * (s*s + (m-mean[j])*(m-mean[j]))
		}
	}
	gp.Deviations(sd)
	return nil
}

// Score writes the logarithm of the expected improvement over the mixture; other acquisitions see the moments.
func (r *affineRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, _ float64) error {
	ei, ok := f.(acq.EI)
	if !ok {
		return scorePredicted(ctx, r.Predict, dst, x, f)
	}
	if len(r.values) == 0 {
		sd := make([]float64, len(dst))
		err := r.Predict(ctx, dst, sd, x)
		if err != nil || len(dst) == 0 || points.Len(r.d.Pending) == 0 {
			return err // and the largest mean
		}
		return scorePredicted(ctx, r.Predict, dst, x, acq.EI{Best: slices.Max(dst)}) // by the mean a pending point would be asked again
	}
	if err := r.ready(ctx, x, dst); err != nil {
		return err
	}
	at, err := r.pointsAt(ctx, x)
	if err != nil {
		return err
	}
	logs := make([]float64, len(r.nodes))
	for j := range dst {
		for i := range r.nodes {
			m, s := r.scaled(&at[j], &r.nodes[i])
			logs[i] = math.Log(r.nodes[i].w) + ei.Score(m, s)
		}
		dst[j] = logSumExp(logs)
	}
	return nil
}

// NoiseVariance returns the noise variance learned at the mean squared scale, in the run's units.
func (r *affineRun) NoiseVariance() float64 {
	var v float64
	for _, n := range r.nodes {
		v += n.w * n.s * n.s
	}
	return v * r.noiseVariance * (r.unit / r.scale) * (r.unit / r.scale)
}
