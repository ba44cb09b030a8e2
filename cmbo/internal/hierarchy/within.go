package hierarchy

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// NewBoundWhole returns a run with the default masses that takes all values as they are,
// far ones too, since a limit may lie anywhere: see [NewBound].
func NewBoundWhole(m *Model, workers int, parts []int) *Bound {
	o := DefaultMasses()
	o.Whole = true
	return &Bound{Run: NewRun(m, o, math.NaN(), workers), Model: m, workers: workers, parts: parts}
}

// LogWithin writes the logarithm of the probability that the value measured at a candidate
// lies between lo and hi, one of which may be infinite: the mean of that of the mixture's
// parts, each a hypothesis with a narrow range of scales.
func (r *Run) LogWithin(ctx context.Context, dst []float64, c *Candidates, keep bool, lo, hi float64) error {
	lo, hi = lo/r.u-r.centre(), hi/r.u-r.centre()
	return r.each(ctx, c, keep, func(from, to int, ks []*component, mass []float64, parts []*part) {
		dst := dst[from:to]
		// visit goes through the parts, which have a mass, a noise variance and moments each.
		visit := func(do func(w, noise float64, p *part, a *atom)) (total float64) {
			for i, p := range parts {
				for k := range ks[i].fit.atoms {
					a := &ks[i].fit.atoms[k]
					if w := mass[i] * a.w; w >= minAtom {
						total += w
						do(w, r.noise*ks[i].noise*a.s2, p, a)
					}
				}
			}
			return total
		}
		clear(dst)
		total := visit(func(w, noise float64, p *part, a *atom) {
			for j := range dst {
				mean, variance := p.momentsAt(j, a)
				sd := math.Sqrt(max(variance+noise, math.SmallestNonzeroFloat64))
				dst[j] += w * math.Exp(special.NormLogInterval((lo-mean)/sd, (hi-mean)/sd))
			}
		})
		for j, sum := range dst {
			log := math.Log(sum)
			if sum < minSum {
				log = math.Inf(-1)
				visit(func(w, noise float64, p *part, a *atom) {
					mean, variance := p.momentsAt(j, a)
					sd := math.Sqrt(max(variance+noise, math.SmallestNonzeroFloat64))
					log = special.LogAddExp(log, math.Log(w)+special.NormLogInterval((lo-mean)/sd, (hi-mean)/sd))
				})
			}
			dst[j] = min(log-math.Log(total), 0)
		}
	})
}

// LogWithin is [Run.LogWithin] at the rows of x.
func (r *Bound) LogWithin(ctx context.Context, dst []float64, x *linalg.Dense, lo, hi float64) error {
	c, again, err := r.candidates(ctx, x)
	if err != nil {
		return err
	}
	return r.Run.LogWithin(ctx, dst, c, again, lo, hi)
}
