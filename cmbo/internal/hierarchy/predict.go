package hierarchy

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// momentsAt returns the moments at candidate j with a part of offset and scale, the mean from the centre.
func (p *posterior) momentsAt(j int, a *part) (mean, variance float64) {
	p1, p2 := p.p1[j], p.p2[j]
	return p.p0[j] + a.a*p1 + a.s*p2, max(a.s2*max(p.variance[j], 0)+a.varA*p1*p1+a.varS*p2*p2+2*a.covAS*p1*p2, 0)
}

// momentsTo writes the moments at all candidates.
func (p *posterior) momentsTo(mean, variance []float64, a *part) {
	for j := range mean {
		mean[j], variance[j] = p.momentsAt(j, a)
	}
}

// weighted is a member with its mass among those that are predicted with, which add up to 1.
type weighted struct {
	*member
	w       float64
	upright bool // without its part under which large is small
}

// predicting returns the members that are predicted with.
func (r *Run) predicting() (ks []weighted) {
	var total float64
	for _, k := range r.all {
		if k.mass >= r.s.MinMass {
			ks = append(ks, weighted{member: k, w: k.mass})
			total += k.mass
		}
	}
	for i := range ks {
		ks[i].w /= total
	}
	return ks
}

// withoutTransfer returns the members without transfer, whatever their mass, all where there is none.
func (r *Run) withoutTransfer() (ks []weighted) {
	var logs []float64
	for _, k := range r.all {
		if !k.transfers() {
			ks, logs = append(ks, weighted{member: k}), append(logs, k.fit.evidence+k.log)
		}
	}
	if ks == nil {
		return r.predicting()
	}
	for i, w := range massesOf(logs) {
		ks[i].w = w
	}
	return ks
}

// transferring returns those of ks that transfer, as far as they do not reverse, all where there are none.
func transferring(ks []weighted) []weighted {
	var out []weighted
	for _, k := range ks {
		if k.transfers() {
			k.upright = true
			out = append(out, k)
		}
	}
	if out == nil {
		return ks
	}
	return out
}

// each calls do for each block of the rows of x, from lo to hi, on several goroutines, with
// the posteriors of members given the points told and awaited.
func (r *Run) each(ctx context.Context, x *linalg.Dense, ks []weighted, do func(lo, hi int, ps []*posterior)) error {
	at, err := r.at(ctx, x)
	if err != nil {
		return err
	}
	blocks := r.workspaces(at)
	r.layOut(&r.panels, r.pts)
	r.layOut(&r.ahead, r.pending)
	memory := make([]tile, parallel.Workers(r.Workers, len(blocks)))
	if len(r.pending) > 0 {
		err = parallel.For(ctx, r.Workers, len(ks), func(_, i int) error { return r.addPending(ks[i].member) })
	}
	if err == nil {
		err = parallel.For(ctx, r.Workers, len(blocks), func(w, b int) error {
			f, t := blocks[b], &memory[w]
			ps := r.told(f, ks, &r.panels, t)
			if len(r.pending) > 0 {
				ps = r.awaited(f, ps, &r.ahead, t)
			}
			do(at.from[b], at.from[b+1], ps)
			return nil
		})
	}
	if err != nil {
		r.bound = nil // of which a part may be half done
	}
	return err
}

// addPending conditions a member on the points awaited as well.
func (r *Run) addPending(k *member) error {
	t := len(r.pts)
	if k.awaited == nil {
		k.awaited = &whitened{yt: slices.Clone(k.yt), u: slices.Clone(k.u), v: slices.Clone(k.v)}
		if t > 0 {
			k.awaited.chol = *k.chol.Clone()
		}
	}
	for i := len(k.awaited.yt) - t; i < len(r.pending); i++ {
		if err := k.addTo(k.awaited, r.pending[i], r.values[i]); err != nil {
			return err
		}
	}
	return nil
}

// workspaces returns those of the candidates' blocks. It keeps those of candidates that come again and of the latest few, and
// no others.
func (r *Run) workspaces(c *Candidates) []*workspace {
	out, bound := make([]*workspace, len(c.blocks)), make(map[*located]*workspace, len(c.blocks))
	for i, b := range c.blocks {
		f := r.bound[b]
		if f == nil {
			f = &workspace{located: b, posteriors: make(map[*member]*posterior), ahead: make(map[*member]*posterior)}
		}
		out[i], bound[b] = f, f
	}
	if c == r.kept || c == r.asked {
		maps.DeleteFunc(r.bound, func(b *located, _ *workspace) bool { return !r.kept.has(b) && !r.asked.has(b) })
		maps.Copy(bound, r.bound)
		r.bound = bound
	}
	return out
}

// Predict writes mean and standard deviation of the noise-free objective at the rows of x:
// those of all hypotheses. Points awaited count as evaluated with the predicted mean as the
// value. Differences between low values are as small as the run sees them: see Back.
func (r *Run) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	ks := r.predicting()
	err := r.each(ctx, x, ks, func(lo, hi int, ps []*posterior) {
		n := hi - lo
		mean, sd := mean[lo:hi], sd[lo:hi]
		means, variances := linalg.NewDense(len(ks), n, nil), linalg.NewDense(len(ks), n, nil)
		clear(mean)
		clear(sd)
		for i, k := range ks {
			ps[i].momentsTo(means.Row(i), variances.Row(i), &k.fit.all)
			linalg.Axpy(mean, k.w, means.Row(i))
		}
		// About the mean, so that nothing cancels wherever the values lie.
		for i, k := range ks {
			for j, v := range variances.Row(i) {
				d := means.Row(i)[j] - mean[j]
				sd[j] += k.w * (v + d*d)
			}
		}
		for j := range mean {
			mean[j] = (mean[j] + r.centre()) * r.u
			sd[j] = math.Sqrt(sd[j]) * r.u
		}
	})
	for i := range mean {
		if err == nil && !(math.Abs(mean[i])+sd[i] <= math.MaxFloat64) {
			err = fmt.Errorf("candidate %d of %d: the prediction %g ± %g is not finite", i, len(mean), mean[i], sd[i])
		}
	}
	return err
}

func (r *Run) logImprovement(ctx context.Context, ks []weighted, dst []float64, x *linalg.Dense, best float64) error {
	over, unit := best/r.u-r.centre(), math.Log(r.u)
	_, err := r.sum(ctx, ks, dst, x, 0, r.s.Relative && !r.s.List, func(w, mean, sd float64) float64 {
		return w * sd * special.NormEI((mean-over)/sd)
	}, func(w, mean, sd float64) float64 {
		return math.Log(w) + math.Log(sd) + special.NormLogEI((mean-over)/sd)
	})
	for j := range dst {
		dst[j] += unit
	}
	return err
}

// Expect writes the expectation of f at the rows of x: f is given mean and deviation of each of the hypotheses' parts,
// of values as the run sees them, and returns the expectation under that normal distribution.
func (r *Run) Expect(ctx context.Context, dst []float64, x *linalg.Dense, f func(mean, sd float64) float64) error {
	total, err := r.sum(ctx, r.predicting(), dst, x, 0, false, func(w, mean, sd float64) float64 {
		return w * f((mean+r.centre())*r.u, sd*r.u)
	}, nil)
	for j := range dst {
		dst[j] /= total
	}
	return err
}

// LogWithin writes the logarithm of the probability that the value measured at a row of x lies
// between lo and hi, one of which may be infinite: the mean of that of all hypotheses' parts.
func (r *Run) LogWithin(ctx context.Context, dst []float64, x *linalg.Dense, lo, hi float64) error {
	lo, hi = r.low.At(lo)/r.u-r.centre(), r.low.At(hi)/r.u-r.centre()
	total, err := r.sum(ctx, r.predicting(), dst, x, 1, false, func(w, mean, sd float64) float64 {
		return w * math.Exp(special.NormLogInterval((lo-mean)/sd, (hi-mean)/sd))
	}, func(w, mean, sd float64) float64 {
		return math.Log(w) + special.NormLogInterval((lo-mean)/sd, (hi-mean)/sd)
	})
	for j := range dst {
		dst[j] = min(dst[j]-math.Log(total), 0)
	}
	return err
}

// sum writes the sums of f over the parts of offset and scale of all members, which have a mass w and a normal distribution
// each, of values with so many times their noise, and returns the sum of the masses. With log, the logarithm of f, it writes
// the logarithms of the sums. With relative the masses of a member's parts, whose sum stays, are divided by their scales.
func (r *Run) sum(
	ctx context.Context, ks []weighted, dst []float64, x *linalg.Dense, noise float64, relative bool, f, log func(w, mean, sd float64) float64,
) (total float64, err error) {
	type term struct {
		of int
		w  float64
		*part
	}
	var terms []term
	for i, k := range ks {
		from, masses, divided := len(terms), 0.0, 0.0
		for j := range k.fit.parts {
			a := &k.fit.parts[j]
			if w := k.w * a.mass; !k.upright || a.s > 0 {
				total += w
				masses += w
				if relative {
					w /= math.Abs(a.s)
				}
				divided += w
				terms = append(terms, term{i, w, a})
			}
		}
		if divided > 0 { // masses may underflow
			for j := range terms[from:] {
				terms[from+j].w *= masses / divided
			}
		}
	}
	return total, r.each(ctx, x, ks, func(lo, hi int, ps []*posterior) {
		dst := dst[lo:hi]
		clear(dst)
		for _, t := range terms {
			for j := range dst {
				mean, sd := ps[t.of].normalAt(j, t.part, noise*ks[t.of].noise)
				dst[j] += f(t.w, mean, sd)
			}
		}
		for j, sum := range dst {
			if log == nil {
				break
			}
			if dst[j] = math.Log(sum); sum < minSum {
				dst[j] = math.Inf(-1)
				for _, t := range terms {
					mean, sd := ps[t.of].normalAt(j, t.part, noise*ks[t.of].noise)
					dst[j] = special.LogAddExp(dst[j], log(t.w, mean, sd))
				}
			}
		}
	})
}

// normalAt returns mean and deviation, not 0, at candidate j, with noise of a scale of 1.
func (p *posterior) normalAt(j int, a *part, noise float64) (mean, sd float64) {
	mean, variance := p.momentsAt(j, a)
	return mean, math.Sqrt(max(variance+noise*a.s2, math.SmallestNonzeroFloat64))
}

// minSum is the sum below which logarithms are summed: above, what underflows is far below its rounding.
const minSum = 1e-250
