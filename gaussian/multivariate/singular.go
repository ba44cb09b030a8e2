package multivariate

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// The factor of a singular covariance leaves out its null space, where rounding has put something
// of size ε into the entries. If the directions of a partner of larger rank meet that, W₂ changes by
// √ε. For small matrices that part is computed from the numbers in the two matrices.

const (
	// singularMaxDim bounds the dimension of the correction, whose cost is that of an eigen decomposition.
	singularMaxDim = 64

	// pivotTol is the squared diagonal of a Cholesky factor, relative to the
	// variance, below which a covariance may be singular.
	pivotTol = 1e-12

	// smallTol splits the eigenvalues of Lᵀ·S·L, relative to the largest: those
	// above are known to √ε in their root from a decomposition in float64.
	smallTol = 1e-10
)

// rank returns the number of eigenvalues of S above rounding.
func (n *Normal) rank() int {
	n.rankOnce.Do(func() {
		n.rankValue = len(n.mean)
		definite := n.regular
		for i := range n.mean {
			d := n.lower.Row(i)[i]
			definite = definite && d*d > pivotTol*n.cov.Row(i)[i]
		}
		if definite {
			return
		}
		var e spectral.EigenSym
		if e.FactorizeValues(n.cov) != nil {
			return
		}
		v := e.Values()
		floor := 8 * float64(len(v)) * epsilon * v[len(v)-1]
		for n.rankValue > 0 && !(v[len(v)-n.rankValue] > floor) {
			n.rankValue--
		}
	})
	return n.rankValue
}

// unequalRanks returns a and b such that a has the larger rank, and whether the correction applies to them.
func unequalRanks(p, q *Normal) (a, b *Normal, ok bool) {
	if len(p.mean) > singularMaxDim {
		return p, q, false
	}
	r, s := p.rank(), q.rank()
	if r < s {
		p, q = q, p
	}
	return p, q, r != s
}

// singularFidelity returns tr (S_a^½·S_b·S_a^½)^½ for a of the larger rank: the sum of the roots of the eigenvalues of
// M = Lᵀ·S_b·L, S_a = L·Lᵀ. The large ones are squares of singular values of the factors' product. The small ones are
// those of Uᵀ·S_b·U, U = L·V with the eigenvectors V that belong to them: an error of V enters squared, so that it
// suffices to form S_b·U, which all but vanishes, in twice the working precision. Entries of M are products of
// variances: powers of two keep both matrices far from over- and underflow.
func (w *Workspace) singularFidelity(a, b *Normal) (float64, error) {
	n := len(a.mean)
	ka, kb := rootExponent(a), rootExponent(b)
	w.inv.Copy(b.cov)
	w.inv.Scale(math.Ldexp(1, -kb))
	w.inv.Scale(math.Ldexp(1, -kb))
	w.cross.CopyTrans(a.lower)
	w.cross.Scale(math.Ldexp(1, -ka))
	w.sym.Congruence(&w.cross, &w.inv)
	if err := w.eigen.Factorize(&w.sym); err != nil {
		return 0, err
	}
	values := w.eigen.Values()
	small := 0
	for small < n && !(values[small] > smallTol*values[n-1]) {
		small++
	}
	linalg.TransMulLower(&w.cross, a.lower, b.lower)
	w.vec = f64.Grow(w.vec, n)
	if err := w.svd.SingularValues(w.vec, &w.cross); err != nil {
		return 0, err
	}
	f := stat.Sum(w.vec[:n-small])
	// Rows of resid: U; rows of polar: S_b·U.
	w.eigen.VectorsTo(&w.polar)
	linalg.MulLower(&w.cross, a.lower, &w.polar)
	w.resid.CopyTrans(&w.cross)
	w.resid.Scale(math.Ldexp(1, -ka))
	w.sym.Resize(small)
	for j := range small {
		u, y := w.resid.Row(j), w.polar.Row(j)
		for i := range n {
			y[i] = dot2(w.inv.Row(i), u)
		}
		for i := range j + 1 {
			w.sym.Set(j, i, linalg.Dot(w.resid.Row(i), y))
		}
	}
	if err := w.eigen.FactorizeValues(&w.sym); err != nil {
		return 0, err
	}
	for _, v := range w.eigen.Values() {
		f += math.Ldexp(math.Sqrt(math.Max(v, 0)), ka+kb)
	}
	return f, nil
}

// rootExponent returns a k for which 4^k is about the trace.
func rootExponent(n *Normal) int {
	_, e := math.Frexp(n.trace)
	return e / 2
}

// dot2 returns Σ x_i·y_i as if computed with twice the working precision, with
// absolute error ε·|Σ x_i·y_i| + n²·ε²·Σ |x_i·y_i|.
//
// T. Ogita, S. M. Rump and S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005) 1955–1988, algorithm 5.3.
func dot2(x, y []float64) float64 {
	y = y[:len(x)]
	var sum, err float64
	for i, v := range x {
		p := float64(v * y[i])
		pe := math.FMA(v, y[i], -p)
		t := sum + p
		z := t - sum
		err += ((sum - (t - z)) + (p - z)) + pe
		sum = t
	}
	return sum + err
}
