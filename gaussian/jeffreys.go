package gaussian

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// AutoJitter, or any negative number, as the jitter of [Jeffreys] stands for 1e-6
// times the larger of the two mean diagonals.
const AutoJitter = -1.0

const autoJitterScale = 1e-6

// Jeffreys returns the symmetrised Kullback–Leibler divergence of p and q,
//
//	J(p, q) = KL(p‖q) + KL(q‖p)
//	        = ½·⟨Q_q − Q_p, S_p − S_q⟩ + ½·(m_p − m_q)ᵀ·(Q_p + Q_q)·(m_p − m_q),
//
// Q_p = (S_p + jitter·I)⁻¹ and likewise Q_q, ⟨·,·⟩ the sum of the products of
// entries. The log-determinants of the two divergences cancel. J is symmetric bit
// for bit, 0 if p and q have the same numbers and positive otherwise, unless it
// underflows. It is not a metric.
//
// The same absolute jitter is added to both covariances: the given one if that is
// 0 or more, else the rule of [AutoJitter]. used is the amount. The inverses are
// kept with the Normals, the latest few jitters of each, after which a call takes
// O(n²) time. Where the covariance part comes out below 1e-3·n the inner product
// loses digits, and ‖L_q⁻¹·(S_p − S_q)·L_p⁻ᵀ‖²_F takes its place, in O(n³) time.
//
// If a covariance plus jitter is singular Jeffreys returns +Inf with an error
// wrapping [ErrNotPositiveDefinite]; it fails with [ErrDimension], with
// [ErrNotFinite] for a jitter that is not finite or on overflow. It only reads p
// and q.
//
// H. Jeffreys, An invariant form for the prior probability in estimation
// problems, Proc. R. Soc. A 186 (1946) 453–461; the paper, section 2.1.
func Jeffreys(p, q *Normal, jitter float64) (value, used float64, err error) {
	var w Workspace
	return w.Jeffreys(p, q, jitter)
}

// Jeffreys is [Jeffreys] on the memory of w. It allocates where an inverse is
// not kept yet.
func (w *Workspace) Jeffreys(p, q *Normal, jitter float64) (value, used float64, err error) {
	return w.jeffreys("Jeffreys", p, q, jitter)
}

// JeffreysTo sets dst[i] to Jeffreys(p, qs[i], jitter) and returns the largest
// jitter used. It fails like Jeffreys, and with [ErrDimension] if dst and qs
// differ in length; entries before the failing one are set.
func (w *Workspace) JeffreysTo(dst []float64, p *Normal, qs []*Normal, jitter float64) (used float64, err error) {
	const op = "JeffreysTo"
	if err := checkLen(op, "dst", len(dst), len(qs)); err != nil {
		return 0, err
	}
	for i, q := range qs {
		d, u, err := w.jeffreys(op, p, q, jitter)
		used = math.Max(used, u)
		if err != nil {
			return used, err
		}
		dst[i] = d
	}
	return used, nil
}

func (w *Workspace) jeffreys(op string, p, q *Normal, jitter float64) (value, used float64, err error) {
	if err := checkPair(op, p, q); err != nil {
		return 0, 0, err
	}
	if !finite(jitter) {
		return 0, 0, scalarError(op, "jitter", jitter, ErrNotFinite)
	}
	n := len(p.mean)
	if jitter < 0 {
		jitter = autoJitterScale * math.Max(p.trace, q.trace) / float64(n)
	}
	switch c := compare(p, q); {
	case c == 0:
		return 0, jitter, nil
	case c > 0:
		p, q = q, p
	}
	qp, err := p.inverse(op, jitter, &w.chol, &w.sym)
	if err != nil {
		return math.Inf(1), jitter, err
	}
	qq, err := q.inverse(op, jitter, &w.chol, &w.sym)
	if err != nil {
		return math.Inf(1), jitter, err
	}
	w.vec = grow(w.vec, n)
	dm := w.vec
	for i, v := range p.mean {
		dm[i] = v - q.mean[i]
	}
	covPart, meanPart := 0.0, 0.0
	for i := range n {
		off, diag, quad := jeffreysRow(qp.Row(i)[:i+1], qq.Row(i)[:i+1], p.cov.Row(i)[:i+1], q.cov.Row(i)[:i+1], dm[:i+1])
		covPart += 2*off + diag
		meanPart += dm[i] * quad
	}
	if !(covPart >= nearEqualJeffreys*float64(n)) && !math.IsNaN(covPart) {
		if covPart, err = w.jeffreysResidual(op, p, q, jitter); err != nil {
			return math.Inf(1), jitter, err
		}
	}
	value = 0.5 * (covPart + math.Max(meanPart, 0))
	if !finite(value) {
		return value, jitter, scalarError(op, "result", value, ErrNotFinite)
	}
	return value, jitter, nil
}

// nearEqualJeffreys is the covariance part per dimension below which it is
// computed as a residual. An inverse has relative error n·ε·κ; paired with the
// difference of covariances that are δ apart in whitened coordinates, it leaves
// relative error n·ε·κ/δ in the covariance part, which is about n·δ²: above the
// switch at most some thirty times what the data themselves determine.
const nearEqualJeffreys = 1e-3

// jeffreysRow returns the parts of row i of the lower triangles: off the sum over
// the columns before the diagonal and diag the diagonal term of (b−a)·(s−t), and
// quad the sum Σ_{j<i} 2·(a_j+b_j)·d_j plus the diagonal term.
func jeffreysRow(a, b, s, t, d []float64) (off, diag, quad float64) {
	last := len(a) - 1
	off, q := f64.DiffDots(a[:last], b, s, t, d)
	diag = (b[last] - a[last]) * (s[last] - t[last])
	return off, diag, 2*q + (a[last]+b[last])*d[last]
}

// jeffreysResidual returns ‖L_q⁻¹·(S_p − S_q)·L_p⁻ᵀ‖²_F, L·Lᵀ = S + jitter·I,
// which equals ⟨Q_q − Q_p, S_p − S_q⟩ since Q_q − Q_p = Q_q·(S_p − S_q)·Q_p.
func (w *Workspace) jeffreysResidual(op string, p, q *Normal, jitter float64) (float64, error) {
	n := len(p.mean)
	w.difference(p, q)
	for k, m := range [2]*Normal{q, p} {
		w.sym.Copy(m.cov)
		w.sym.AddDiag(jitter)
		if err := w.chol.Factorize(&w.sym); err != nil {
			return 0, definiteError(op, "covariance plus jitter", jitter, err)
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

// inverse returns (S + jitter·I)⁻¹, shared and for reading only. c and s are
// scratch.
func (n *Normal) inverse(op string, jitter float64, c *linalg.Cholesky, s *linalg.Sym) (*linalg.Sym, error) {
	n.inverseMu.Lock()
	defer n.inverseMu.Unlock()
	for _, v := range n.inverses {
		if v != nil && v.jitter == jitter {
			return &v.inv, nil
		}
	}
	v := &inverse{jitter: jitter}
	if jitter == 0 {
		c, err := n.definite(op, "covariance")
		if err != nil {
			return nil, err
		}
		c.InverseTo(&v.inv)
	} else {
		s.Copy(n.cov)
		s.AddDiag(jitter)
		if err := c.Factorize(s); err != nil {
			return nil, definiteError(op, "covariance plus jitter", jitter, err)
		}
		c.InverseTo(&v.inv)
	}
	n.inverses[n.inverseNext%inverseSlots] = v
	n.inverseNext++
	return &v.inv, nil
}
