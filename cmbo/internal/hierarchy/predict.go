package hierarchy

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// momentsAt returns the moments of a part of a component at candidate j, the mean from
// the centre.
func (p *part) momentsAt(j int, a *atom) (mean, variance float64) {
	p1, p2 := p.p1[j], p.p2[j]
	return p.p0[j] + a.a*p1 + a.s*p2, max(a.s2*max(p.variance[j], 0)+a.varA*p1*p1+a.varS*p2*p2+2*a.covAS*p1*p2, 0)
}

// momentsTo writes the moments of a part of a component at all candidates.
func (p *part) momentsTo(mean, variance []float64, a *atom) {
	for j := range mean {
		mean[j], variance[j] = p.momentsAt(j, a)
	}
}

// minMass is the mass below which a component is not predicted with.
const minMass = 1e-3

// heavy returns the components that are predicted with, and their masses, which add
// up to 1.
func (r *Run) heavy() (ks []*component, mass []float64) {
	var total float64
	for _, k := range r.active {
		if k.mass >= minMass {
			ks, mass = append(ks, k), append(mass, k.mass)
			total += k.mass
		}
	}
	for i := range mass {
		mass[i] /= total
	}
	return ks, mass
}

// each calls do for each block of the candidates, from lo to hi, on several goroutines:
// ks are the hypotheses predicted with, of these masses, and parts their shares,
// conditioned on the points told and awaited. keep says that the candidates come again.
func (r *Run) each(ctx context.Context, c *Candidates, keep bool, do func(lo, hi int, ks []*component, mass []float64, parts []*part)) error {
	ks, mass := r.heavy()
	frames := r.frames(c, keep)
	from := len(r.pts) // points that all frames know
	for _, f := range frames {
		from = min(from, len(f.base))
		for _, k := range ks {
			known := 0
			if p := f.parts[k]; p != nil {
				known = len(p.w)
			}
			from = min(from, known)
		}
	}
	told, awaited := r.batch(ks, r.pts, from, r.told), r.batch(ks, r.pending, 0, nil)
	r.told = told
	memory := make([]scratch, parallel.Workers(r.workers, len(frames)))
	var err error
	if len(r.pending) > 0 {
		err = parallel.For(ctx, r.workers, len(ks), func(_, i int) error { return r.extend(ks[i]) })
	}
	if err == nil {
		err = parallel.For(ctx, r.workers, len(frames), func(w, b int) error {
			f, s := frames[b], &memory[w]
			parts := r.catchUp(f, ks, told, s)
			if len(r.pending) > 0 {
				r.imagine(f, ks, parts, awaited, s)
			}
			do(c.from[b], c.from[b+1], ks, mass, parts)
			return nil
		})
	}
	if err != nil {
		r.bound = nil // of which a part may be half done
	}
	return err
}

// Predict writes mean and standard deviation of the noise-free objective at the
// candidates: those of the mixture of all components. Points awaited count as evaluated
// with the predicted mean as the value. keep says that the candidates come again, all
// or some of their blocks.
func (r *Run) Predict(ctx context.Context, mean, sd []float64, c *Candidates, keep bool) error {
	err := r.each(ctx, c, keep, func(lo, hi int, ks []*component, mass []float64, parts []*part) {
		n := hi - lo
		mean, sd := mean[lo:hi], sd[lo:hi]
		means, variances := linalg.NewDense(len(ks), n, nil), linalg.NewDense(len(ks), n, nil)
		clear(mean)
		clear(sd)
		for i, w := range mass {
			parts[i].momentsTo(means.Row(i), variances.Row(i), &ks[i].fit.all)
			linalg.Axpy(mean, w, means.Row(i))
		}
		// About the mean, so that nothing cancels wherever the values lie.
		for i, w := range mass {
			for j, v := range variances.Row(i) {
				d := means.Row(i)[j] - mean[j]
				sd[j] += w * (v + d*d)
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

// minAtom is the mass below which a part of a component is left out of the expected
// improvement.
const minAtom = 1e-4

// LogImprovement writes the logarithm of the expected improvement over best at the
// candidates: the mean of that of the mixture's parts, each a hypothesis with a
// narrow range of scales. The mixture is far from normal after few values, and the
// improvement of its first two moments would send the search where values may only
// be lower than they are predicted.
func (r *Run) LogImprovement(ctx context.Context, dst []float64, c *Candidates, keep bool, best float64) error {
	over, unit := best/r.u-r.centre(), math.Log(r.u)
	return r.each(ctx, c, keep, func(lo, hi int, ks []*component, mass []float64, parts []*part) {
		dst := dst[lo:hi]
		// visit goes through the parts, which have a mass and moments each.
		visit := func(do func(w float64, p *part, a *atom)) {
			for i, p := range parts {
				for k := range ks[i].fit.atoms {
					a := &ks[i].fit.atoms[k]
					if w := mass[i] * a.w; w >= minAtom {
						do(w, p, a)
					}
				}
			}
		}
		clear(dst)
		visit(func(w float64, p *part, a *atom) {
			for j := range dst {
				mean, sd := p.normalAt(j, a)
				dst[j] += w * sd * special.NormEI((mean-over)/sd)
			}
		})
		for j, sum := range dst {
			log := math.Log(sum)
			if sum < minSum {
				log = math.Inf(-1)
				visit(func(w float64, p *part, a *atom) {
					mean, sd := p.normalAt(j, a)
					log = special.LogAddExp(log, math.Log(w)+math.Log(sd)+special.NormLogEI((mean-over)/sd))
				})
			}
			dst[j] = log + unit
		}
	})
}

// normalAt returns mean and deviation, not 0, of a part of a component at candidate j.
func (p *part) normalAt(j int, a *atom) (mean, sd float64) {
	mean, variance := p.momentsAt(j, a)
	return mean, math.Sqrt(max(variance, math.SmallestNonzeroFloat64))
}

// minSum is the expected improvement below which logarithms are summed: above, what
// underflows is far below its rounding.
const minSum = 1e-250
