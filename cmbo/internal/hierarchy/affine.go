package hierarchy

import (
	"math"
)

// affinePrior is what is believed of the target's offset a and scale s, the target
// being y = a + s·f + noise with f in the scaled units of the tasks.
type affinePrior struct {
	shift, shiftVar       float64 // a ~ N(shift, shiftVar), but for its tail
	logScale, logScaleVar float64 // ln |s|, likewise
	tail, far             float64 // deviations of a's tail and of its far part, in those of a
	exact                 bool    // a is 0 and s is 1, all else being 0
}

// The tasks' offsets and scales are not trusted wholly: a share of the prior mass lies
// on values of a far wider spread, so that a target outside all experience is learned
// from its own values.
const (
	tailShare      = 0.01 // of hypotheses that transfer
	looseShare     = 0.8  // of hypotheses that trust the tasks' values in no such way
	tailShift      = 10   // times the deviation of a
	farShift       = 1e6  // likewise, of a small share of the tail
	farShare       = 0.1
	scaleTail      = 0.02
	tailScale      = 3 // deviation of ln s, at least
	minScaleVar    = 0.04
	pseudoScaleVar = 1.0 // of one task more, for few tasks
	scaleStep      = 0.155
	maxNodes       = 65
)

// newAffinePrior makes the prior of the tasks' shifts and scales; a task of one value
// alone has no scale. One imagined task more, a scale's deviation away, keeps few
// tasks from being believed too much.
func newAffinePrior(tasks []Task) affinePrior {
	p := affinePrior{tail: tailShift, far: farShift}
	n := float64(len(tasks))
	var scales []float64
	for i := range tasks {
		p.shift += tasks[i].Shift / n
		if deviation(tasks[i].Z) > 0 {
			scales = append(scales, math.Log(tasks[i].Scale))
		}
	}
	k := float64(len(scales))
	for _, l := range scales {
		p.logScale += l / k
	}
	for _, l := range scales {
		p.logScaleVar += (l - p.logScale) * (l - p.logScale)
	}
	p.logScaleVar = max((p.logScaleVar+pseudoScaleVar)/(k+1), minScaleVar)
	unit := math.Exp(p.logScale)
	for i := range tasks {
		// In units of the scale, so that no square overflows.
		d := (tasks[i].Shift - p.shift) / unit
		p.shiftVar += d * d
	}
	p.shiftVar = (p.shiftVar + 1) / (n + 1) * unit * unit
	return p
}

// in returns the prior for values divided by unit.
func (p affinePrior) in(unit float64) affinePrior {
	p.shift /= unit
	p.shiftVar = p.shiftVar / unit / unit
	p.logScale -= math.Log(unit)
	return p
}

// unitFor returns what to divide values by so that their squares stay finite: the
// tasks' scale, or, for values out of all proportion to it, their own; a power of
// two, so that nothing is rounded.
func (p *affinePrior) unitFor(y []float64) float64 {
	const proportion = 1e50
	unit := math.Exp(p.logScale)
	var top float64
	for _, v := range y {
		top = max(top, math.Abs(v-p.shift))
	}
	if top > proportion*unit {
		unit = top
	}
	return math.Ldexp(1, math.Ilogb(unit))
}

// node is one scale of the grid on which s is integrated.
type node struct {
	s, s2, logS2 float64
	log          float64 // log prior mass
}

// nodes covers the scales that the prior or the values told, of deviation spread,
// make possible; reversed is the prior mass of negative scales.
func (p *affinePrior) nodes(spread, reversed float64) []node {
	if p.exact {
		return []node{{s: 1, s2: 1}}
	}
	sd := math.Sqrt(p.logScaleVar)
	lo, hi := p.logScale-max(1.9, 3*sd), p.logScale+max(1.8, 3*sd)
	if spread > 0 {
		l := math.Log(spread)
		lo, hi = min(lo, l-1.5), max(hi, l+2)
	}
	n := min(max(int(math.Ceil((hi-lo)/scaleStep))+1, 25), maxNodes)
	out := make([]node, 0, 2*n)
	var total float64
	wide := max(tailScale, 2*sd)
	for i := range n {
		l := lo + (hi-lo)*float64(i)/float64(n-1)
		d := l - p.logScale
		w := (1-scaleTail)*math.Exp(-0.5*d*d/p.logScaleVar)/sd + scaleTail*math.Exp(-0.5*d*d/(wide*wide))/wide
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

// shift is an alternative for the variance of a.
type shift struct{ v, log float64 }

// numShifts is the number of alternatives for the variance of a.
const numShifts = 3

// shifts returns them, the far wider ones having the share tail.
func (p *affinePrior) shifts(tail float64) [numShifts]shift {
	return [numShifts]shift{
		{p.shiftVar, math.Log1p(-tail)},
		{p.shiftVar * p.tail * p.tail, math.Log(tail * (1 - farShare))},
		{p.shiftVar * p.far * p.far, math.Log(tail * farShare)},
	}
}

// inner holds the inner products of the whitened values, of the whitened ones and of
// the whitened prior means of t observations under one component, and the sum of the
// logarithms of its factor's diagonal.
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

// An atom is a part of what is believed of offset and scale: a share of the mass and
// the moments of both, the offset being taken from the centre.
type atom struct {
	w                 float64
	a, s, s2          float64 // means of a, s and s²
	varA, varS, covAS float64
}

// affine is what the data say of offset and scale under one component.
type affine struct {
	evidence float64 // log density of the values, up to a constant
	all      atom    // of weight 1
	atoms    []atom  // parts of it, in the order of the scales; they are narrow in s
	reversed float64 // mass of negative scales
}

// maxAtoms bounds the atoms of one sign: a scale's uncertainty makes a low prediction
// uncertain, but downwards only, which a single pair of moments does not show.
const maxAtoms = 8

// infer integrates over offset and scale. Values and offset are taken from centre.
//
// Given s, with w = y − s·m whitened, the least squares offset is â = u·w/u·u, and
//
//	−2 ln p(y | s) = (w·w − (u·w)²/u·u)/s² + (â − a0)²/(v + s²/u·u) + t·ln s² + ln(1 + v·u·u/s²) + 2 Σ ln L_ii,
//
// which holds no difference of large numbers wherever the values lie.
func (p *affinePrior) infer(in *inner, nodes []node, tail, centre float64, logs []float64) affine {
	upright, turned := p.shifts(tail), p.shifts(looseShare)
	a0 := p.shift - centre
	// at visits the alternatives: a node, the variance of a before the data, and the
	// mean and variance of a after them given the node.
	at := func(visit func(k int, n *node, sh shift, als, e float64)) {
		k := 0
		for i := range nodes {
			n := &nodes[i]
			shifts := &upright
			if n.s < 0 {
				shifts = &turned
			}
			var als, e float64
			if in.t > 0 {
				als, e = (in.yu-n.s*in.uv)/in.uu, n.s2/in.uu
			}
			for _, sh := range shifts {
				visit(k, n, sh, als, e)
				k++
			}
		}
	}
	top := math.Inf(-1)
	at(func(k int, n *node, sh shift, als, e float64) {
		l := n.log + sh.log
		if in.t > 0 {
			sse := max(in.yy-2*n.s*in.yv+n.s2*in.vv-als*als*in.uu, 0)
			d := als - a0
			l -= 0.5 * (sse/n.s2 + d*d/(sh.v+e) + float64(in.t)*n.logS2 + math.Log1p(sh.v/e))
		}
		logs[k] = l
		top = max(top, l)
	})
	var total float64
	for i := range numShifts * len(nodes) {
		logs[i] = math.Exp(logs[i] - top)
		total += logs[i]
	}
	out := affine{evidence: top + math.Log(total) - in.logDet}
	each := make([]atom, len(nodes))
	at(func(k int, n *node, sh shift, als, e float64) {
		m, v := a0, sh.v
		if in.t > 0 {
			m, v = a0+sh.v/(sh.v+e)*(als-a0), sh.v*e/(sh.v+e)
		}
		each[k/numShifts].add(atom{w: logs[k] / total, a: m, s: n.s, s2: n.s2, varA: v})
	})
	for _, e := range each {
		out.all.add(e)
		if e.s < 0 {
			out.reversed += e.w
		}
	}
	// Neighbouring scales are put together until they weigh enough.
	var sign float64
	for _, e := range each {
		last := len(out.atoms) - 1
		if last < 0 || e.s*sign < 0 || out.atoms[last].w >= 1.0/maxAtoms {
			out.atoms = append(out.atoms, atom{})
			last++
		}
		sign = e.s
		out.atoms[last].add(e)
	}
	return out
}

// add makes a the sum of two parts, with their moments.
func (a *atom) add(b atom) {
	w := a.w + b.w
	if !(w > 0) {
		return
	}
	p, q := a.w/w, b.w/w
	da, ds := b.a-a.a, b.s-a.s
	*a = atom{
		w: w, a: a.a + q*da, s: a.s + q*ds, s2: p*a.s2 + q*b.s2,
		varA:  p*a.varA + q*b.varA + p*q*da*da,
		varS:  p*a.varS + q*b.varS + p*q*ds*ds,
		covAS: p*a.covAS + q*b.covAS + p*q*da*ds,
	}
}
