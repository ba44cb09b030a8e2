package multivariate

import (
	"cmp"
	"math"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// Jeffreys returns the symmetrised Kullback–Leibler divergence of p and q,
//
//	J(p, q) = KL(p‖q) + KL(q‖p)
//	        = ½·⟨Q_q − Q_p, S_p − S_q⟩ + ½·(m_p − m_q)ᵀ·(Q_p + Q_q)·(m_p − m_q),
//
// Q_p = (S_p + jitter·I)⁻¹ and likewise Q_q, ⟨·,·⟩ the sum of the products of entries. It is symmetric bit for bit, 0
// if p and q have the same numbers and positive otherwise, unless it underflows. It is not a metric.
//
// The same absolute jitter, 0 or more, is added to both covariances. If a covariance plus jitter is singular the result
// is +Inf with an error wrapping [gaussian.ErrNotPositiveDefinite]; if an inverse overflows, as of variances below
// 1e-308, it is NaN or +Inf with one wrapping [gaussian.ErrNotFinite]. It takes O(n²) time where the inverses are
// known: those of the latest jitter are kept with each Normal, which allocates. Near-equal ones take O(n³).
//
// H. Jeffreys, An invariant form for the prior probability in estimation
// problems, Proc. R. Soc. A 186 (1946) 453–461; the paper, section 2.1.
func (w *Workspace) Jeffreys(p, q *Normal, jitter float64) (float64, error) {
	const op = "Jeffreys"
	if err := checkJeffreys(op, p, q, jitter); err != nil || compare(p, q) == 0 {
		return 0, err
	}
	own, err := p.inverse(op, jitter, &w.chol)
	if err != nil {
		return math.Inf(1), err
	}
	dst := [1]float64{math.Inf(1)}
	err = w.jeffreys(op, dst[:], p, []*Normal{q}, own, jitter)
	return dst[0], err
}

// JeffreysTo sets dst[i] to Jeffreys(p, qs[i], jitter). The inverses of qs are kept with them; that
// of p, unless it is kept already, is made in the memory of w and forgotten, as suits a distribution
// that is compared once. If it fails dst is unspecified.
func (w *Workspace) JeffreysTo(dst []float64, p *Normal, qs []*Normal, jitter float64) error {
	const op = "JeffreysTo"
	if err := fault.Len(op, "dst", len(dst), len(qs)); err != nil {
		return err
	}
	for _, q := range qs {
		if err := checkJeffreys(op, p, q, jitter); err != nil {
			return err
		}
	}
	var own *linalg.Sym
	for i, j := 0, 0; i < len(qs); i = j {
		// A run of partners with other numbers than p passes at once.
		for j = i; j < len(qs) && compare(p, qs[j]) != 0; {
			j++
		}
		if j == i {
			dst[i] = 0
			j++
			continue
		}
		if own == nil {
			own = p.keptInverse(jitter)
		}
		if own == nil {
			own = &w.inv
			if err := p.inverseTo(op, own, jitter, &w.chol); err != nil {
				return err
			}
		}
		if err := w.jeffreys(op, dst[i:j], p, qs[i:j], own, jitter); err != nil {
			return err
		}
	}
	return nil
}

func checkJeffreys(op string, p, q *Normal, jitter float64) error {
	return cmp.Or(checkPair(op, p, q), fault.NonNegative(op, "jitter", jitter))
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
		subtract(sums[k].dm, p.mean, q.mean)
	}
	for i := range n {
		a, s := own.Row(i), p.cov.Row(i)
		for k, q := range qs {
			u := &sums[k]
			b, t, d := u.inverse.Row(i), q.cov.Row(i), u.dm
			off, quad := f64.Ops.DiffDots(a[:i], b, s, t, d)
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

type inverse struct {
	jitter float64
	inv    linalg.Sym
}

// inverse returns the lower triangle of (S + jitter·I)⁻¹, shared and for reading
// only, and keeps it in the place of one for another jitter. c is scratch.
func (n *Normal) inverse(op string, jitter float64, c *linalg.Cholesky) (*linalg.Sym, error) {
	n.inverseMu.Lock()
	defer n.inverseMu.Unlock()
	if n.latest == nil || n.latest.jitter != jitter {
		v := &inverse{jitter: jitter}
		if err := n.inverseTo(op, &v.inv, jitter, c); err != nil {
			return nil, err
		}
		n.latest = v
	}
	return &n.latest.inv, nil
}

// keptInverse returns the inverse if it is kept already, else nil.
func (n *Normal) keptInverse(jitter float64) *linalg.Sym {
	n.inverseMu.Lock()
	defer n.inverseMu.Unlock()
	if n.latest == nil || n.latest.jitter != jitter {
		return nil
	}
	return &n.latest.inv
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
