package hierarchy

import "math"

// affinePrior is what is believed of the target's offset a and scale s, the target being y = a + s·f + noise with f in
// the scaled units of the tasks. The tasks' offsets and scales are not trusted wholly: a share of the prior mass lies
// on values of a far wider spread, so that a target outside all experience is learned from its own values.
type affinePrior struct {
	shift, shiftVar       float64 // a ~ N(shift, shiftVar·e^(2·logScale)), but for its tail and, where s < 0, reversed
	logScale, logScaleVar float64 // ln |s|, likewise
	exact                 bool    // a is 0 and s is 1, all else being 0
	far                   float64 // how far the values told lie from shift: the widest deviation of a is no smaller
	s                     *Settings
}

// The grid of scales.
const (
	scaleStep    = 0.155 // of ln s
	coarseValues = 64    // that scaleStep is narrow enough for
)

// minScaleVariance is that of ln s where tasks agree: they do not bind another one wholly. With a smaller
// one, intervals hold fewer low values (TestPredictCoverage of package bench).
const minScaleVariance = 0.04

// maxRatio bounds offsets and scales, in units of the tasks' scale, so that no square
// overflows, and its square how much larger than the tasks' scale values count as.
const maxRatio = 1e50

// newAffinePrior makes the prior of the tasks' shifts and scales; a task of one value alone has no scale. One imagined
// task more, whose shift lies a scale away and whose scale a factor of e, keeps few tasks from being believed too much.
func newAffinePrior(tasks []Task, s *Settings) affinePrior {
	p := affinePrior{s: s}
	n := float64(len(tasks))
	var scales []float64
	for i := range tasks {
		p.shift += tasks[i].Shift / n
		if deviation(tasks[i].Z) > 0 {
			scales = append(scales, math.Log(tasks[i].Scale))
		}
	}
	if len(scales) == 0 {
		p.logScale = offsetScale(tasks)
	}
	k := float64(len(scales))
	for _, l := range scales {
		p.logScale += l / k
	}
	for _, l := range scales {
		p.logScaleVar += (l - p.logScale) * (l - p.logScale)
	}
	p.logScaleVar = max((p.logScaleVar+1)/(k+1), minScaleVariance)
	unit := math.Exp(p.logScale)
	for i := range tasks {
		d := min(math.Abs(tasks[i].Shift-p.shift)/unit, maxRatio)
		p.shiftVar += d * d
	}
	p.shiftVar = (p.shiftVar + 1) / (n + 1)
	return p
}

// deviation sets dst to the deviations of a task's offset, in the tasks' scale, and of the
// logarithm of its scale, 0 if it shows none.
func (p *affinePrior) deviation(dst []float64, t *Task) {
	dst[0] = max(-maxRatio, min((t.Shift-p.shift)/math.Exp(p.logScale), maxRatio))
	if dst[1] = 0; deviation(t.Z) > 0 {
		dst[1] = math.Log(t.Scale) - p.logScale
	}
}

// moved returns the prior of a target whose offset and scale are expected to deviate like
// that, with the remaining shares of their variances.
func (p affinePrior) moved(by, remaining [2]float64) affinePrior {
	p.shift += by[0] * math.Exp(p.logScale)
	p.shiftVar *= remaining[0] * math.Exp(-2*by[1]) // in units of the scale expected
	p.logScale += by[1]
	p.logScaleVar = max(p.logScaleVar*remaining[1], minScaleVariance)
	return p
}

// offsetScale returns the logarithm of a scale for tasks that show none, from their offsets, so that the unit of the
// values does not matter: half their range or, where all are equal, their size.
func offsetScale(tasks []Task) float64 {
	lo, hi := tasks[0].Shift, tasks[0].Shift
	for i := range tasks {
		lo, hi = min(lo, tasks[i].Shift), max(hi, tasks[i].Shift)
	}
	switch {
	case hi/2-lo/2 > 0:
		return math.Log(hi/2 - lo/2)
	case hi != 0:
		return math.Log(math.Abs(hi))
	}
	return 0
}

// wide returns a deviation that a target's values are not unlikely to have.
func (p *affinePrior) wide() float64 {
	return math.Exp(p.logScale + math.Sqrt(p.logScaleVar))
}

// in returns the prior for values divided by unit.
func (p affinePrior) in(unit float64) affinePrior {
	scale := max(math.Exp(p.logScale)/unit, 1/maxRatio/maxRatio)
	p.shift /= unit
	p.shiftVar *= scale * scale
	p.logScale = max(p.logScale-math.Log(unit), -2*math.Log(maxRatio))
	return p
}

// unitFor returns what to divide values by so that their squares stay finite: the tasks' scale, or,
// for values out of all proportion to it, their own; a power of two, so that nothing is rounded.
func (p *affinePrior) unitFor(y []float64) float64 {
	unit := math.Exp(p.logScale)
	var top float64
	for _, v := range y {
		top = max(top, math.Abs(v-p.shift))
	}
	if top > maxRatio*unit {
		unit = top
	}
	return math.Ldexp(1, math.Ilogb(unit))
}

// node is one scale of the grid on which s is integrated.
type node struct {
	s, s2, logS2 float64
	log          float64 // log prior mass
}

// span returns the logarithms of the scales that the prior or the values told make possible, the least and the largest,
// by the deviation of n values. Values that are all equal would speak for a scale of next to nothing, and nothing would
// then speak against the past, so as long as there is no other value scales below the tasks' mean one are left out.
func (p *affinePrior) span(deviation float64, n int) (lo, hi float64) {
	reach := min(3*math.Sqrt(p.logScaleVar), math.Log(maxRatio))
	lo, hi = p.logScale-max(1.9, reach), p.logScale+max(1.8, reach)
	// A spread of next to nothing counts as none: the squares of its scales are no numbers.
	if l := math.Log(deviation); l > -3*math.Log(maxRatio) {
		lo, hi = min(lo, l-1.5), max(hi, l+2)
	} else if n > 1 {
		lo = p.logScale
	}
	return lo, hi
}

// nodes covers the scales whose logarithms lie from lo to hi, for so many values; reversed is the prior mass of
// negative ones.
//
// Values that a hypothesis follows leave about 1/√(2t) for the deviation of ln s, and the sum over nodes h apart is off by a
// share of 2·exp(−2π²·sd²/h²): .03 for scaleStep and 100 values. Nodes come closer as 1/√t, which keeps it below .004.
func (p *affinePrior) nodes(lo, hi float64, values int, reversed float64) []node {
	if p.exact {
		return []node{{s: 1, s2: 1}}
	}
	sd := math.Sqrt(p.logScaleVar)
	closer := math.Sqrt(max(float64(values)/coarseValues, 1))
	n := max(int(math.Ceil(closer*(hi-lo)/scaleStep))+1, 25)
	out := make([]node, 0, 2*n)
	var total float64
	// Beyond its deviation the tail of other units is wide enough to reach the values' own scale: a narrower one
	// would draw the scale back to the tasks', whatever the values say.
	wide, share := max(math.Log(p.s.Wide), 2*sd, hi-p.logScale-2, p.logScale-lo-2), p.s.OtherUnits
	for i := range n {
		l := lo + (hi-lo)*float64(i)/float64(n-1)
		d := l - p.logScale
		w := (1-share)*math.Exp(-0.5*d*d/p.logScaleVar)/sd + share*math.Exp(-0.5*d*d/(wide*wide))/wide
		total += w
		s := math.Exp(l)
		out = append(out, node{s: s, s2: s * s, logS2: 2 * l, log: w})
	}
	for i := range out {
		out[i].log = math.Log(out[i].log / total)
	}
	if reversed > 0 {
		for i := range n {
			m := out[i]
			m.s = -m.s
			m.log += math.Log(reversed)
			out[i].log += math.Log1p(-reversed)
			out = append(out, m)
		}
	}
	return out
}

// An alternative is one mean and variance of a that is thought of.
type alternative struct{ mean, v, log float64 }

// Alternatives of a: as far away as the tasks' offsets are, farther, and in another unit.
const (
	near = iota
	wide
	widest
	numAlternatives
)

// alternatives returns those of a target with s > 0, tail being the mass of the wide one.
func (p *affinePrior) alternatives(tail float64) [numAlternatives]alternative {
	s := p.s
	return [numAlternatives]alternative{
		near:   {p.shift, p.shiftVar, math.Log1p(-tail - s.OtherUnits)},
		wide:   {p.shift, p.shiftVar * s.Wide * s.Wide, math.Log(tail)},
		widest: {p.shift, max(p.shiftVar*s.Widest*s.Widest, p.far*p.far), math.Log(s.OtherUnits)},
	}
}

// reversed returns those of a target with s < 0. Large is small where a past of losses is taken for one of scores, so
// that a is the tasks' offset times −1: the near one's mean, those of the others being what they are. Where that is no
// other offset, the values that honest pasts lead to would speak for it, so of its mass the wide one has as much as
// N(−shift, shiftVar) overlaps with N(shift, shiftVar), by Bhattacharyya's coefficient.
func (p *affinePrior) reversed() [numAlternatives]alternative {
	out, overlap := p.alternatives(p.s.ReversedTail), 1.0
	if p.shift != 0 { // shiftVar may be 0, too
		overlap = math.Exp(-0.5 * p.shift / p.shiftVar * p.shift)
	}
	out[near].mean = -p.shift
	out[wide].log = math.Log(p.s.ReversedTail + overlap*math.Exp(out[near].log))
	out[near].log += math.Log1p(-overlap)
	return out
}

// inner holds the inner products of the whitened values, of the whitened ones and of the whitened prior means of t
// observations under one hypothesis, and the sum of the logarithms of its factor's diagonal.
type inner struct {
	t                      int
	yy, uu, vv, yu, yv, uv float64
	logDet                 float64
}

func (in *inner) add(y, u, v, diag float64) {
	in.t++
	in.yy += y * y
	in.uu += u * u
	in.vv += v * v
	in.yu += y * u
	in.yv += y * v
	in.uv += u * v
	in.logDet += math.Log(diag)
}

// A part of what is believed of offset and scale has a mass and the moments of both, the offset being taken from the centre.
type part struct {
	mass              float64
	a, s, s2          float64 // means of a, s and s²
	varA, varS, covAS float64
}

// affinePosterior is what the values say of offset and scale under one hypothesis.
type affinePosterior struct {
	evidence float64 // log density of the values, up to a constant
	all      part    // of mass 1
	// parts are narrow in s, and in the order of the scales: a scale's uncertainty makes a low
	// prediction uncertain, but downwards only, which a single pair of moments does not show.
	parts      []part
	reversed   float64 // mass of negative scales
	otherUnits float64 // mass of offsets or scales out of all proportion
}

// negligible is how far below another the logarithm of an outcome's mass has to lie for it to be left out: with factors
// of no less than a billionth, all there can be do not add up to a unit of rounding.
const negligible = 64

// infer integrates over offset and scale: over the alternatives of the offset, of mean a0 and variance
// v, at each node, tail being the mass of the wide one where s > 0. Values and offset are taken from centre.
//
// Given s, with w = y − s·m whitened, the least squares offset is â = u·w/u·u, and
//
//	−2 ln p(y | s) = (w·w − (u·w)²/u·u)/s² + (â − a0)²/(v + s²/u·u) + t·ln s² + ln(1 + v·u·u/s²) + 2 Σ ln L_ii,
//
// which holds no difference of large numbers wherever the values lie.
func (p *affinePrior) infer(in *inner, nodes []node, tail, centre float64) (out affinePosterior) {
	t := float64(in.t)
	upright, reversed := p.alternatives(tail), p.reversed()
	if in.t == 0 { // of offsets so far away, and of another sign, nothing but the deviation of a prediction would be seen
		upright[widest].v, reversed[widest].v, reversed[near].mean = upright[wide].v, reversed[wide].v, p.shift
	}
	type outcome struct {
		log, factor, mass float64 // the mass is factor·exp(log), up to a constant that all have
		a, varA           float64 // moments of the offset
		away              float64 // of its mean from that before any value
	}
	outcomes := make([][numAlternatives]outcome, len(nodes))
	top := math.Inf(-1)
	for i, n := range nodes {
		l, e, als := n.log, 0.0, 0.0
		if in.t > 0 {
			als = (in.yu - n.s*in.uv) / in.uu
			sse := max(in.yy-2*n.s*in.yv+n.s2*in.vv-als*als*in.uu, 0)
			l -= 0.5 * (sse/n.s2 + t*n.logS2)
			e = n.s2 / in.uu
		}
		if l < top-negligible {
			continue
		}
		alternatives := upright
		if n.s < 0 {
			alternatives = reversed
		}
		for k, alt := range alternatives {
			a0 := alt.mean - centre
			o := outcome{log: l + alt.log, factor: 1, a: a0, varA: alt.v}
			if in.t > 0 {
				d, inv := als-a0, 1/(alt.v+e)
				o.log -= 0.5 * d * d * inv
				o.factor = math.Sqrt(e * inv)
				o.away, o.varA = alt.v/(alt.v+e)*d, alt.v*e/(alt.v+e)
				o.a += o.away
			}
			top = max(top, o.log)
			outcomes[i][k] = o
		}
	}
	var total float64
	for i, n := range nodes {
		for k := range outcomes[i] {
			o := &outcomes[i][k]
			if o.factor == 0 || o.log < top-negligible {
				continue
			}
			o.mass = math.Exp(o.log-top) * o.factor
			total += o.mass
			if n.s < 0 {
				out.reversed += o.mass
			}
		}
	}
	out.evidence, out.reversed = top+math.Log(total)-in.logDet, out.reversed/total
	farOffset := max(p.s.Wide*math.Exp(p.logScale), 3*math.Sqrt(p.shiftVar))
	farScale := max(math.Log(p.s.Wide), 3*math.Sqrt(p.logScaleVar)) // of ln s
	// Neighbouring scales are put together until they have the mass that MaxParts asks for.
	var sign float64
	for i, n := range nodes {
		far := math.Abs(n.logS2/2-p.logScale) > farScale
		var each part
		for k := range outcomes[i] {
			if o := &outcomes[i][k]; o.mass > 0 {
				if far || k == widest || in.t > 1 && math.Abs(o.away) > farOffset {
					out.otherUnits += o.mass / total
				}
				each.add(part{mass: o.mass / total, a: o.a, s: n.s, s2: n.s2, varA: o.varA})
			}
		}
		if each.mass == 0 {
			continue
		}
		out.all.add(each)
		last := len(out.parts) - 1
		if last < 0 || n.s*sign < 0 || out.parts[last].mass >= 1/float64(p.s.MaxParts) {
			out.parts = append(out.parts, part{})
			last++
		}
		sign = n.s
		out.parts[last].add(each)
	}
	return out
}

// add makes a the sum of two parts, with their moments.
func (a *part) add(b part) {
	mass := a.mass + b.mass
	if !(mass > 0) {
		return
	}
	p, q := a.mass/mass, b.mass/mass
	da, ds := b.a-a.a, b.s-a.s
	*a = part{
		mass: mass, a: a.a + q*da, s: a.s + q*ds, s2: p*a.s2 + q*b.s2,
		varA:  p*a.varA + q*b.varA + p*q*da*da,
		varS:  p*a.varS + q*b.varS + p*q*ds*ds,
		covAS: p*a.covAS + q*b.covAS + p*q*da*ds,
	}
}
