package hierarchy

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// momentsAt returns the moments at candidate j with a part of offset and scale, the mean
// from the centre.
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

// A mixture is members with their masses, which add up to 1.
type mixture struct {
	ks   []*member
	mass []float64
}

// predicting returns the members that are predicted with.
func (r *Run) predicting() (x mixture) {
	var total float64
	for _, k := range r.all {
		if k.mass >= r.s.MinMass {
			x.ks, x.mass = append(x.ks, k), append(x.mass, k.mass)
			total += k.mass
		}
	}
	for i := range x.mass {
		x.mass[i] /= total
	}
	return x
}

// withoutTransfer returns the member without transfer, whatever its mass, all where there is
// none.
func (r *Run) withoutTransfer() mixture {
	i := slices.IndexFunc(r.all, func(k *member) bool { return k.level == NoTransfer })
	if i < 0 {
		return r.predicting()
	}
	return mixture{r.all[i : i+1], []float64{1}}
}

// each calls do for each block of the candidates, from lo to hi, on several goroutines, with
// the posteriors of a mixture's members given the points told and awaited. keep says that the
// candidates come again.
func (r *Run) each(ctx context.Context, x mixture, c *Candidates, keep bool, do func(lo, hi int, ps []*posterior)) error {
	ks := x.ks
	blocks := r.workspaces(c, keep)
	from := len(r.pts) // points that all know
	for _, f := range blocks {
		from = min(from, len(f.told.base))
		for _, k := range ks {
			known := 0
			if p := f.posteriors[k]; p != nil {
				known = len(p.w)
			}
			from = min(from, known)
		}
	}
	r.panels = r.newPanels(r.pts, from, r.panels)
	awaited := r.newPanels(r.pending, 0, nil)
	memory := make([]tile, parallel.Workers(r.workers, len(blocks)))
	var err error
	if len(r.pending) > 0 {
		err = parallel.For(ctx, r.workers, len(ks), func(_, i int) error { return r.addPending(ks[i]) })
	}
	if err == nil {
		err = parallel.For(ctx, r.workers, len(blocks), func(w, b int) error {
			f, t := blocks[b], &memory[w]
			ps := r.told(f, ks, r.panels, t)
			if len(r.pending) > 0 {
				ps = r.awaited(f, ks, ps, awaited, t)
			}
			do(c.from[b], c.from[b+1], ps)
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

// workspaces returns those of the candidates' blocks, keeping them, and no others, if asked
// to.
func (r *Run) workspaces(c *Candidates, keep bool) []*workspace {
	out, bound := make([]*workspace, len(c.blocks)), make(map[*located]*workspace, len(c.blocks))
	for i, b := range c.blocks {
		f := r.bound[b]
		if f == nil {
			f = &workspace{located: b, posteriors: make(map[*member]*posterior)}
		}
		out[i], bound[b] = f, f
	}
	if keep {
		r.bound = bound
	}
	return out
}

// Predict writes mean and standard deviation of the noise-free objective at the
// candidates: those of the mixture. Points awaited count as evaluated
// with the predicted mean as the value. keep says that the candidates come again, all
// or some of their blocks. Differences between low values are as small as the run sees them: see
// Back.
func (r *Run) Predict(ctx context.Context, mean, sd []float64, c *Candidates, keep bool) error {
	shares := r.predicted(c)
	if err := shares[0].predict(ctx, mean, sd, shares[0].at, keep); err != nil || len(shares) == 1 {
		return err
	}
	means, sds := make([]float64, len(mean)), make([]float64, len(sd))
	if err := shares[1].predict(ctx, means, sds, shares[1].at, keep); err != nil {
		return err
	}
	p, q := shares[0].mass, shares[1].mass
	for j, m := range means {
		d := m - mean[j]
		mean[j] += q * d
		sd[j] = math.Sqrt(p*sd[j]*sd[j] + q*sds[j]*sds[j] + p*q*d*d)
	}
	return nil
}

func (r *Run) predict(ctx context.Context, mean, sd []float64, c *Candidates, keep bool) error {
	x := r.predicting()
	ks, mass := x.ks, x.mass
	err := r.each(ctx, x, c, keep, func(lo, hi int, ps []*posterior) {
		n := hi - lo
		mean, sd := mean[lo:hi], sd[lo:hi]
		means, variances := linalg.NewDense(len(ks), n, nil), linalg.NewDense(len(ks), n, nil)
		clear(mean)
		clear(sd)
		for i, w := range mass {
			ps[i].momentsTo(means.Row(i), variances.Row(i), &ks[i].fit.all)
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

// Back returns a value of what Predict predicts, as far apart from others as values are told.
func (r *Run) Back(v float64) float64 { return r.low.Back(v) }

// LogImprovement writes the logarithm of the expected improvement over best at the
// candidates: the mean of that of the mixture's parts, each a hypothesis with a
// narrow range of scales. The mixture is far from normal after few values, and the
// improvement of its first two moments would send the search where values may only
// be lower than they are predicted.
func (r *Run) LogImprovement(ctx context.Context, dst []float64, c *Candidates, keep bool, best float64) error {
	return r.mix(dst, c, func(s share, dst []float64) error {
		return s.logImprovement(ctx, s.predicting(), dst, s.at, keep, best)
	}, meanOfLogs)
}

// LogImprovementWithoutTransfer is LogImprovement under the hypothesis of no transfer alone, of
// which the base process says no more than the noise: of one model.
func (r *Run) LogImprovementWithoutTransfer(ctx context.Context, dst []float64, c *Candidates, keep bool, best float64) error {
	s := r.predicted(c)[0]
	return s.logImprovement(ctx, s.withoutTransfer(), dst, s.at, keep, best)
}

func (r *Run) logImprovement(ctx context.Context, x mixture, dst []float64, c *Candidates, keep bool, best float64) error {
	over, unit := r.low.At(best)/r.u-r.centre(), math.Log(r.u)
	return r.each(ctx, x, c, keep, func(lo, hi int, ps []*posterior) {
		dst := dst[lo:hi]
		clear(dst)
		r.visit(x, ps, func(w, _ float64, p *posterior, a *part) {
			for j := range dst {
				mean, sd := p.normalAt(j, a, 0)
				dst[j] += w * sd * special.NormEI((mean-over)/sd)
			}
		})
		for j, sum := range dst {
			log := math.Log(sum)
			if sum < minSum {
				log = math.Inf(-1)
				r.visit(x, ps, func(w, _ float64, p *posterior, a *part) {
					mean, sd := p.normalAt(j, a, 0)
					log = special.LogAddExp(log, math.Log(w)+math.Log(sd)+special.NormLogEI((mean-over)/sd))
				})
			}
			dst[j] = log + unit
		}
	})
}

// Expect writes the expectation of f at the candidates: f is given mean and deviation of
// each of the mixture's parts, of values as the run sees them, and returns the expectation
// under that normal distribution.
func (r *Run) Expect(ctx context.Context, dst []float64, c *Candidates, keep bool, f func(mean, sd float64) float64) error {
	return r.mix(dst, c, func(s share, dst []float64) error {
		return s.expect(ctx, dst, s.at, keep, f)
	}, func(_, x, q, y float64) float64 { return x + q*(y-x) })
}

func (r *Run) expect(ctx context.Context, dst []float64, c *Candidates, keep bool, f func(mean, sd float64) float64) error {
	x := r.predicting()
	return r.each(ctx, x, c, keep, func(lo, hi int, ps []*posterior) {
		dst := dst[lo:hi]
		clear(dst)
		total := r.visit(x, ps, func(w, _ float64, p *posterior, a *part) {
			for j := range dst {
				mean, sd := p.normalAt(j, a, 0)
				dst[j] += w * f((mean+r.centre())*r.u, sd*r.u)
			}
		})
		for j := range dst {
			dst[j] /= total
		}
	})
}

// LogWithin writes the logarithm of the probability that the value measured at a candidate
// lies between lo and hi, one of which may be infinite: the mean of that of the mixture's
// parts, each a hypothesis with a narrow range of scales.
func (r *Run) LogWithin(ctx context.Context, dst []float64, c *Candidates, keep bool, lo, hi float64) error {
	return r.mix(dst, c, func(s share, dst []float64) error {
		return s.logWithin(ctx, dst, s.at, keep, lo, hi)
	}, meanOfLogs)
}

func (r *Run) logWithin(ctx context.Context, dst []float64, c *Candidates, keep bool, lo, hi float64) error {
	lo, hi = r.low.At(lo)/r.u-r.centre(), r.low.At(hi)/r.u-r.centre()
	x := r.predicting()
	return r.each(ctx, x, c, keep, func(from, to int, ps []*posterior) {
		dst := dst[from:to]
		clear(dst)
		total := r.visit(x, ps, func(w, noise float64, p *posterior, a *part) {
			for j := range dst {
				mean, sd := p.normalAt(j, a, noise)
				dst[j] += w * math.Exp(special.NormLogInterval((lo-mean)/sd, (hi-mean)/sd))
			}
		})
		for j, sum := range dst {
			log := math.Log(sum)
			if sum < minSum {
				log = math.Inf(-1)
				r.visit(x, ps, func(w, noise float64, p *posterior, a *part) {
					mean, sd := p.normalAt(j, a, noise)
					log = special.LogAddExp(log, math.Log(w)+special.NormLogInterval((lo-mean)/sd, (hi-mean)/sd))
				})
			}
			dst[j] = min(log-math.Log(total), 0)
		}
	})
}

// visit goes through the parts of offset and scale of all posteriors, which have a mass and
// a noise variance each, and returns the sum of the masses. Those of next to none are left
// out.
func (r *Run) visit(x mixture, ps []*posterior, do func(mass, noise float64, p *posterior, a *part)) (total float64) {
	for i, p := range ps {
		parts := x.ks[i].fit.parts
		for j := range parts {
			a := &parts[j]
			if w := x.mass[i] * a.mass; w >= r.s.MinPart {
				total += w
				do(w, r.noise*a.s2, p, a)
			}
		}
	}
	return total
}

// normalAt returns mean and deviation, not 0, at candidate j, with noise.
func (p *posterior) normalAt(j int, a *part, noise float64) (mean, sd float64) {
	mean, variance := p.momentsAt(j, a)
	return mean, math.Sqrt(max(variance+noise, math.SmallestNonzeroFloat64))
}

// minSum is the expected improvement below which logarithms are summed: above, what
// underflows is far below its rounding.
const minSum = 1e-250
