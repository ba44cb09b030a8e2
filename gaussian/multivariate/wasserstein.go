package multivariate

import (
	"cmp"
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// W2Squared returns the squared 2-Wasserstein distance between p and q,
//
//	W₂²(p, q) = ‖m_p − m_q‖² + tr S_p + tr S_q − 2·tr (S_p^½·S_q·S_p^½)^½.
//
// It is never negative, symmetric bit for bit, and 0 if p and q have the same numbers. Singular covariances are legal: up to
// dimension 64 the result is that of the given entries where the ranks differ, else that of the factors. A singular
// covariance that rounding lets pass for a definite one may move that by √(n·ε)·(tr S_p + tr S_q). It fails with
// [gaussian.ErrNotPositiveDefinite] if a covariance is indefinite beyond rounding, takes O(n³) time and only reads p and q.
//
// D. C. Dowson and B. V. Landau, The Fréchet distance between multivariate
// normal distributions, J. Multivariate Anal. 12 (1982) 450–455.
func (w *Workspace) W2Squared(p, q *Normal) (float64, error) {
	const op = "W2Squared"
	cov, mean, err := w.w2Parts(op, p, q)
	if err != nil {
		return 0, err
	}
	return fault.Result(op, cov+mean)
}

// W2 returns the 2-Wasserstein distance between p and q, the square root of
// [Workspace.W2Squared]. It is a metric. Means may be so far apart, or so close, that the
// square of their distance overflows or underflows: then it takes the root of no square.
func (w *Workspace) W2(p, q *Normal) (float64, error) {
	const op = "W2"
	cov, mean, err := w.w2Parts(op, p, q)
	if err != nil {
		return 0, err
	}
	d := math.Sqrt(cov + mean)
	if !(mean > 1e-280 && mean < 1e280) {
		w.vec = f64.Grow(w.vec, len(p.mean))
		subtract(w.vec, p.mean, q.mean)
		d = math.Hypot(math.Sqrt(cov), linalg.Norm2(w.vec))
	}
	return fault.Result(op, d)
}

// nearEqual is the fraction of the traces below which a squared distance is computed as a residual. The difference of
// traces has an absolute error of some 1e-13·(tr S_p + tr S_q), so above the switch its relative error is below 1e-9.
const nearEqual = 1e-4

// w2Parts returns the parts of the squared distance that come from the covariances and from
// the means. That of the means may overflow.
func (w *Workspace) w2Parts(op string, p, q *Normal) (cov, mean float64, err error) {
	if err := checkPair(op, p, q); err != nil {
		return 0, 0, err
	}
	c := compare(p, q)
	if c == 0 {
		return 0, 0, nil
	}
	if c > 0 {
		p, q = q, p
	}
	if err := cmp.Or(p.factor(), q.factor()); err != nil {
		return 0, 0, err
	}
	mean = linalg.SqDist(p.mean, q.mean)
	if a, b, ok := unequalRanks(p, q); ok {
		f, err := w.singularFidelity(a, b)
		if err != nil {
			return 0, 0, fault.Scalar(op, "fidelity", math.NaN(), err)
		}
		return math.Max(p.trace+q.trace-2*f, 0), mean, nil
	}
	cov, err = w.bures(op, p.lower, q.lower, p.trace, q.trace, mean)
	return cov, mean, err
}

// W2SquaredFactors returns [Workspace.W2Squared] of N(mp, lp·lpᵀ) and N(mq, lq·lqᵀ) from means and factors alone. lp and lq
// are square, lower triangular with zeros above the diagonal, as [Normal.Factor] makes them, and only read. It lets a caller
// who keeps thousands of posteriors as packed triangles do without Normals. It is symmetric up to rounding only, and knows
// of singular covariances what their factors do. Entries that are not finite are [gaussian.ErrNotFinite].
func (w *Workspace) W2SquaredFactors(mp []float64, lp *linalg.Dense, mq []float64, lq *linalg.Dense) (float64, error) {
	const op = "W2SquaredFactors"
	if lp == nil || lq == nil {
		return 0, fault.Nil(op, "a factor")
	}
	n := len(mp)
	if err := fault.Len(op, "mq", len(mq), n); err != nil {
		return 0, err
	}
	for _, l := range [...]*linalg.Dense{lp, lq} {
		r, c := l.Dims()
		if err := cmp.Or(fault.Len(op, "rows of a factor", r, n), fault.Len(op, "columns of a factor", c, n)); err != nil {
			return 0, err
		}
	}
	dm := linalg.SqDist(mp, mq)
	d, err := w.bures(op, lp, lq, lowerNorm(lp), lowerNorm(lq), dm)
	if err != nil {
		return 0, err
	}
	return fault.Result(op, d+dm)
}

// lowerNorm returns ‖L‖²_F of a lower triangular L.
func lowerNorm(l *linalg.Dense) float64 {
	n, _ := l.Dims()
	var s float64
	for i := range n {
		r := l.Row(i)[:i+1]
		s += linalg.Dot(r, r)
	}
	return s
}

// bures returns the covariance part. The trace of the root is the sum of the singular
// values of L_pᵀ·L_q, which needs no square root and keeps its digits at any condition
// number. The difference of traces cancels for near-equal pairs: there the part is
//
//	min over orthogonal U of ‖L_q − L_p·U‖²_F,
//
// whose minimiser, the polar factor of L_pᵀ·L_q, enters with its error squared (V. Masarotto, V. M. Panaretos and Y.
// Zemel, Procrustes metrics on covariance operators and optimal transportation of Gaussian processes, Sankhya A 81
// (2019) 172–213). rest is what the caller adds: it decides whether cancellation matters.
func (w *Workspace) bures(op string, lp, lq *linalg.Dense, tp, tq, rest float64) (float64, error) {
	linalg.TransMulLower(&w.cross, lp, lq)
	f := w.svd.NuclearNorm(&w.cross)
	if !fault.Finite(f) {
		return 0, fault.Scalar(op, "sum of singular values", f, gaussian.ErrNotFinite)
	}
	d := math.Max(tp+tq-2*f, 0)
	if !(d+rest < nearEqual*(tp+tq)) {
		return d, nil
	}
	if err := w.svd.PolarTo(&w.polar, &w.cross); err != nil {
		return 0, fault.Scalar(op, "polar factor", math.NaN(), err)
	}
	return w.procrustes(lp, lq), nil
}

// procrustes returns ‖L_q − L_p·U‖²_F for the U in w.polar, close to orthogonal, made orthogonal first. For near-equal
// factors U = I + W with a small W: in terms of L_q − L_p and W rounding errors are relative to the distance, not to
// the factors. The defect E = Uᵀ·U − I = W + Wᵀ + Wᵀ·W is known likewise, and U − ½·U·E has defect O(E²).
func (w *Workspace) procrustes(lp, lq *linalg.Dense) float64 {
	n, _ := lp.Dims()
	for i := range n {
		w.polar.Row(i)[i] -= 1
	}
	w.sym.Resize(n)
	w.sym.Zero()
	w.sym.AddTransGram(1, &w.polar)
	for i := range n {
		e, r := w.sym.Row(i), w.polar.Row(i)
		for j := range i + 1 {
			e[j] += r[j] + w.polar.Row(j)[i]
		}
	}
	w.sym.Mirror()
	e := w.sym.Dense()
	w.resid.Mul(&w.polar, &e)
	w.resid.AddScaled(1, &e)
	w.polar.AddScaled(-0.5, &w.resid)
	linalg.MulLower(&w.resid, lp, &w.polar)
	var s float64
	for i := range n {
		x, y, r := lp.Row(i), lq.Row(i), w.resid.Row(i)
		for j, v := range r {
			d := y[j] - x[j] - v
			s += d * d
		}
	}
	return s
}
