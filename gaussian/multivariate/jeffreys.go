package multivariate

import (
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// AutoJitter, or any negative number, as the jitter of [Workspace.Jeffreys] stands for 1e-6
// times the larger of the two mean diagonals.
const AutoJitter = -1.0

const autoJitterScale = 1e-6

// Jeffreys returns the symmetrised Kullback–Leibler divergence of p and q,
//
//	J(p, q) = KL(p‖q) + KL(q‖p)
//	        = ½·⟨Q_q − Q_p, S_p − S_q⟩ + ½·(m_p − m_q)ᵀ·(Q_p + Q_q)·(m_p − m_q),
//
// Q_p = (S_p + jitter·I)⁻¹ and likewise Q_q, ⟨·,·⟩ the sum of the products of
// entries. It is symmetric bit for bit, 0 if p and q have the same numbers and positive
// otherwise, unless it underflows. It is not a metric.
//
// The same absolute jitter is added to both covariances: the given one if that is
// 0 or more, else the rule of [AutoJitter]. used is the amount. If a covariance plus jitter
// is singular the result is +Inf with an error wrapping [gaussian.ErrNotPositiveDefinite]; if an
// inverse overflows, as of variances below 1e-308, it is NaN or +Inf with one wrapping
// [gaussian.ErrNotFinite]. It takes O(n²) time where the inverses are known: those of the latest
// few jitters are kept with each Normal, which allocates. Near-equal ones take O(n³).
//
// H. Jeffreys, An invariant form for the prior probability in estimation
// problems, Proc. R. Soc. A 186 (1946) 453–461; the paper, section 2.1.
func (w *Workspace) Jeffreys(p, q *Normal, jitter float64) (value, used float64, err error) {
	const op = "Jeffreys"
	if used, err = jeffreysJitter(op, p, q, jitter); err != nil {
		return 0, 0, err
	}
	if compare(p, q) == 0 {
		return 0, used, nil
	}
	own, err := p.inverse(op, used, &w.chol)
	if err != nil {
		return math.Inf(1), used, err
	}
	dst := [1]float64{math.Inf(1)}
	err = w.jeffreys(op, dst[:], p, []*Normal{q}, own, used)
	return dst[0], used, err
}

// JeffreysTo sets dst[i] to Jeffreys(p, qs[i], jitter) and returns the largest jitter used. The
// inverses of qs are kept with them; that of p, unless it is kept already, is made in the memory of
// w and forgotten, as suits a distribution that is compared once. If it fails dst is unspecified.
func (w *Workspace) JeffreysTo(dst []float64, p *Normal, qs []*Normal, jitter float64) (used float64, err error) {
	const op = "JeffreysTo"
	if err := fault.Len(op, "dst", len(dst), len(qs)); err != nil {
		return 0, err
	}
	w.jitters = f64.Grow(w.jitters, len(qs))
	jitters := w.jitters
	const same = -1 // in the place of a jitter: q has the numbers of p
	for i, q := range qs {
		if jitters[i], err = jeffreysJitter(op, p, q, jitter); err != nil {
			return used, err
		}
		used = math.Max(used, jitters[i])
		if compare(p, q) == 0 {
			jitters[i] = same
		}
	}
	// Runs of one jitter share the inverse of p and one pass over it.
	for i := 0; i < len(qs); {
		j := i + 1
		for j < len(qs) && jitters[j] == jitters[i] {
			j++
		}
		if jitters[i] == same {
			clear(dst[i:j])
			i = j
			continue
		}
		own := p.keptInverse(jitters[i])
		if own == nil {
			own = &w.inv
			if err := p.inverseTo(op, own, jitters[i], &w.chol); err != nil {
				return used, err
			}
		}
		if err := w.jeffreys(op, dst[i:j], p, qs[i:j], own, jitters[i]); err != nil {
			return used, err
		}
		i = j
	}
	return used, nil
}

// jeffreysJitter checks a pair and returns the absolute jitter to use.
func jeffreysJitter(op string, p, q *Normal, jitter float64) (float64, error) {
	if err := checkPair(op, p, q); err != nil {
		return 0, err
	}
	if !fault.Finite(jitter) {
		return 0, fault.Scalar(op, "jitter", jitter, gaussian.ErrNotFinite)
	}
	if jitter < 0 {
		jitter = autoJitterScale * math.Max(p.trace, q.trace) / float64(len(p.mean))
	}
	return jitter, nil
}

// jeffreysSum is what a pass over the rows adds up for one partner of p.
type jeffreysSum struct {
	inverse   *linalg.Sym
	dm        []float64
	cov, mean float64
}

// jeffreys sets dst to the divergences of p, whose inverse is own, from qs. All partners pass by
// row by row, so that the rows of p are read from memory once; none of them has the numbers of p.
// Exchanging p with a partner changes the signs of factors in pairs, and so no bit of the result.
func (w *Workspace) jeffreys(op string, dst []float64, p *Normal, qs []*Normal, own *linalg.Sym, jitter float64) error {
	n := len(p.mean)
	w.vec = f64.Grow(w.vec, n*len(qs))
	if cap(w.sums) < len(qs) {
		w.sums = make([]jeffreysSum, len(qs))
	}
	sums := w.sums[:len(qs)]
	defer clear(sums) // they point into the partners
	for k, q := range qs {
		inv, err := q.inverse(op, jitter, &w.chol)
		if err != nil {
			return err
		}
		sums[k] = jeffreysSum{inverse: inv, dm: w.vec[k*n : (k+1)*n]}
		for i, v := range p.mean {
			sums[k].dm[i] = v - q.mean[i]
		}
	}
	for i := range n {
		a, s := own.Row(i), p.cov.Row(i)
		for k, q := range qs {
			u := &sums[k]
			b, t, d := u.inverse.Row(i), q.cov.Row(i), u.dm
			off, quad := f64.DiffDots(a[:i], b, s, t, d)
			u.cov += 2*off + (b[i]-a[i])*(s[i]-t[i])
			u.mean += d[i] * (2*quad + (a[i]+b[i])*d[i])
		}
	}
	for k, q := range qs {
		var err error
		if dst[k], err = w.jeffreysValue(op, p, q, sums[k].cov, sums[k].mean, jitter); err != nil {
			return err
		}
	}
	return nil
}

// jeffreysValue makes the divergence of its covariance and mean parts.
func (w *Workspace) jeffreysValue(op string, p, q *Normal, cov, mean, jitter float64) (float64, error) {
	if !(cov >= nearEqualJeffreys*float64(len(p.mean))) && !math.IsNaN(cov) {
		if compare(p, q) > 0 {
			p, q = q, p
		}
		var err error
		if cov, err = w.jeffreysResidual(op, p, q, jitter); err != nil {
			return math.Inf(1), err
		}
	}
	return fault.Result(op, 0.5*(cov+math.Max(mean, 0)))
}

// nearEqualJeffreys is the covariance part per dimension below which it is computed as a residual.
// An inverse has relative error n·ε·κ; paired with the difference of covariances that are δ apart
// in whitened coordinates, it leaves relative error n·ε·κ/δ in the covariance part, which is about
// n·δ²: above the switch at most some thirty times what the data themselves determine.
const nearEqualJeffreys = 1e-3

// jeffreysResidual returns ‖L_q⁻¹·(S_p − S_q)·L_p⁻ᵀ‖²_F, L·Lᵀ = S + jitter·I,
// which equals ⟨Q_q − Q_p, S_p − S_q⟩ since Q_q − Q_p = Q_q·(S_p − S_q)·Q_p.
func (w *Workspace) jeffreysResidual(op string, p, q *Normal, jitter float64) (float64, error) {
	n := len(p.mean)
	w.difference(p, q)
	for k, m := range [2]*Normal{q, p} {
		if err := w.chol.FactorizeShift(m.cov, jitter); err != nil {
			return 0, fault.Definite(op, "covariance plus jitter", jitter, err)
		}
		w.chol.SolveLowerTo(&w.resid, &w.resid)
		if k == 0 {
			w.cross.CopyTrans(&w.resid)
			w.resid.Copy(&w.cross)
		}
	}
	var s float64
	for i := range n {
		r := w.resid.Row(i)
		s += linalg.Dot(r, r)
	}
	return s, nil
}

// inverseSlots is the number of inverses a Normal keeps, one per jitter. A
// prototype meets few: its own default and those of larger partners.
const inverseSlots = 4

type inverse struct {
	jitter float64
	inv    linalg.Sym
}

// inverse returns the lower triangle of (S + jitter·I)⁻¹, shared and for reading
// only, and keeps it. c is scratch.
func (n *Normal) inverse(op string, jitter float64, c *linalg.Cholesky) (*linalg.Sym, error) {
	n.inverseMu.Lock()
	defer n.inverseMu.Unlock()
	if inv := n.findInverse(jitter); inv != nil {
		return inv, nil
	}
	v := &inverse{jitter: jitter}
	if err := n.inverseTo(op, &v.inv, jitter, c); err != nil {
		return nil, err
	}
	n.inverses[n.inverseNext%inverseSlots] = v
	n.inverseNext++
	return &v.inv, nil
}

// keptInverse returns the inverse if it is kept already, else nil.
func (n *Normal) keptInverse(jitter float64) *linalg.Sym {
	n.inverseMu.Lock()
	defer n.inverseMu.Unlock()
	return n.findInverse(jitter)
}

func (n *Normal) findInverse(jitter float64) *linalg.Sym {
	for _, v := range n.inverses {
		if v != nil && v.jitter == jitter {
			return &v.inv
		}
	}
	return nil
}

// inverseTo sets the lower triangle of dst to that of (S + jitter·I)⁻¹. c is scratch.
func (n *Normal) inverseTo(op string, dst *linalg.Sym, jitter float64, c *linalg.Cholesky) error {
	if jitter == 0 {
		var err error
		if c, err = n.definite(op, "covariance"); err != nil {
			return err
		}
	} else if err := c.FactorizeShift(n.cov, jitter); err != nil {
		return fault.Definite(op, "covariance plus jitter", jitter, err)
	}
	c.InverseLowerTo(dst)
	return nil
}
