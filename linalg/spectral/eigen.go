package spectral

import (
	"cmp"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// EigenSym is the decomposition A = V·diag(λ)·Vᵀ of a symmetric matrix into orthonormal
// eigenvectors and eigenvalues in ascending order. The zero value is ready for Factorize. An
// EigenSym keeps its memory: decomposing again at a size it has seen does not allocate.
//
// The matrix is reduced to tridiagonal form by Householder reflectors. Values alone come from the root-free QL iteration,
// values and vectors from divide and conquer. Computed values are within a small multiple of n·u·‖A‖ of exact ones, ‖A −
// V·diag(λ)·Vᵀ‖ and ‖VᵀV − I‖·‖A‖ are as small: small eigenvalues of a matrix with large ones have no relative accuracy.
type EigenSym struct {
	values []float64
	rows   []float64 // row k is eigenvector k; empty after FactorizeValues
	tri    tridiag
	dc     conquer
	order  []int
}

// Factorize computes eigenvalues and eigenvectors of a, which is not modified. It returns ErrNotFinite if a has a NaN
// or an infinity; the receiver is then empty. About 4n³/3 operations for the reduction, up to 4n³/3 for the tridiagonal
// problem, fewer where eigenvalues cluster, and 2n³ to transform back.
func (e *EigenSym) Factorize(a *linalg.Sym) error {
	e.values = e.values[:0]
	if err := e.tri.reduce(a); err != nil {
		return err
	}
	e.complete()
	copyScaled(e.values, e.values, e.tri.exp)
	return nil
}

// complete completes the decomposition of the matrix reduced in e.tri, whose tridiagonal
// matrix it destroys, but for the power of two in the values.
func (e *EigenSym) complete() {
	t := &e.tri
	n := t.n
	w := e.dc.solve(t.d, t.e)
	t.multiplyRight(n, w, n)
	// Into ascending order.
	e.order = f64.Grow(e.order, n)
	for i := range e.order {
		e.order[i] = i
	}
	slices.SortFunc(e.order, func(i, j int) int { return cmp.Compare(t.d[i], t.d[j]) })
	e.values, e.rows = f64.Grow(e.values, n), f64.Grow(e.rows, n*n)
	for k, i := range e.order {
		e.values[k] = t.d[i]
		copy(e.rows[k*n:k*n+n], w[i*n:i*n+n])
	}
}

// FactorizeValues computes eigenvalues only, in about 4n³/3 operations. VectorsTo and FuncTo panic after it. Errors are
// those of Factorize, and ErrNoConvergence if the iteration fails, which no matrix is known to cause.
//
// B. N. Parlett, The Symmetric Eigenvalue Problem, SIAM, 1998, section 8.15.
func (e *EigenSym) FactorizeValues(a *linalg.Sym) error {
	e.values, e.rows = e.values[:0], e.rows[:0]
	t := &e.tri
	if err := t.reduce(a); err != nil {
		return err
	}
	if err := tridiagValues(t.d, t.e); err != nil {
		return err
	}
	e.values = f64.Grow(e.values, t.n)
	copyScaled(e.values, t.d, t.exp)
	return nil
}

// Values returns the eigenvalues in ascending order. The slice is the memory of
// the receiver: for reading, and until the next factorisation.
func (e *EigenSym) Values() []float64 { return e.values }

// VectorsTo makes the columns of the n×n matrix dst the eigenvectors, in the order of Values. The
// sign of each is arbitrary. It panics if they were not computed.
func (e *EigenSym) VectorsTo(dst *linalg.Dense) {
	n := e.needVectors("VectorsTo")
	dst.Resize(n, n)
	data, stride := dst.Raw()
	f64.Ops.Transpose(n, n, data, stride, e.rows, n)
}

func (e *EigenSym) needVectors(op string) int {
	n := len(e.values)
	if len(e.rows) < n {
		panic("spectral: " + op + ": eigenvectors were not computed")
	}
	return n
}

// FuncTo makes dst the matrix function
//
//	f(A) = V·diag(f(λ₁), …, f(λ_n))·Vᵀ.
//
// f is called once for every eigenvalue. It panics if eigenvectors were not
// computed. n³ operations; it uses memory of the receiver.
func (e *EigenSym) FuncTo(dst *linalg.Sym, f func(lambda float64) float64) {
	n := e.needVectors("FuncTo")
	dst.Resize(n)
	dst.Zero()
	v, fv := e.dc.half, e.dc.kept // of size n×n, and free
	f64.Ops.Transpose(n, n, v, n, e.rows, n)
	for k, l := range e.values {
		x := f(l)
		for i := k; i < n*n; i += n {
			fv[i] = x * v[i]
		}
	}
	products.SymLower(n, n, 1, fv, n, 1, v, 1, n, entries(dst), n)
	dst.Mirror()
}

// tridiagValues overwrites d with the eigenvalues, ascending, of the tridiagonal matrix with diagonal d and subdiagonal
// e, destroying e: the QL iteration of Pal, Walker and Kahan, which works on squares of e and takes no square root but
// that of the shift. Entries must be of size about 1.
//
// An off-diagonal entry is neglected when it is below u/2 times the norm. Each value so carries an
// absolute error of a few u times the norm and of as many for each sweep.
func tridiagValues(d, e []float64) error {
	tol := 0x1p-54 * math.Max(f64.Ops.Magnitude(d), f64.Ops.Magnitude(e))
	tol *= tol
	e = squares(e, e)
	budget := 30 * len(d)
	for hi := len(d); hi > 0; {
		// The last unreduced block is [lo, hi).
		lo := hi - 1
		for lo > 0 && !(e[lo-1] <= tol) {
			lo--
		}
		if !qlBlock(d[lo:hi], e[lo:hi-1], tol, &budget) {
			return ErrNoConvergence
		}
		hi = lo
	}
	slices.Sort(d)
	return nil
}

// qlBlock diagonalises one block, whose off-diagonal squares are e. It reports
// false when it has used up the budget of sweeps.
func qlBlock(d, e []float64, tol float64, budget *int) bool {
	if math.Abs(d[len(e)]) < math.Abs(d[0]) {
		// QL works best with the large entries last.
		slices.Reverse(d)
		slices.Reverse(e)
	}
	for l := 0; l < len(d); {
		m := l
		for m < len(e) && e[m] > tol {
			m++
		}
		switch {
		case m == l:
			l++
			continue
		case m == l+1:
			d[l], d[l+1] = eigen2(d[l], math.Sqrt(e[l]), d[l+1])
			l += 2
			continue
		}
		if *budget--; *budget < 0 {
			return false
		}
		qlSweep(d[l:m+1], e[l:m], wilkinson(d[l], math.Sqrt(e[l]), d[l+1]))
	}
	return true
}

// wilkinson returns Wilkinson's shift, the eigenvalue of [a b; b c] nearer to a.
func wilkinson(a, b, c float64) float64 {
	s := (c - a) / (2 * b)
	return a - b/(s+math.Copysign(math.Hypot(s, 1), s))
}

// qlSweep performs one root-free QL sweep with shift sigma, from the last entry to the first.
func qlSweep(d, e []float64, sigma float64) {
	m := len(e)
	c, s := 1.0, 0.0
	gamma := d[m] - sigma
	p := gamma * gamma
	for i := m - 1; i >= 0; i-- {
		b := e[i]
		r := p + b
		if i+1 < m {
			e[i+1] = s * r
		}
		// 1/c = r/p is ready before gamma: the two divisions overlap.
		old, rp := c, r/p
		c, s = p/r, b/r
		g := gamma
		a := d[i]
		gamma = c*(a-sigma) - s*g
		d[i+1] = g + (a - gamma)
		if c != 0 {
			p = gamma * gamma * rp
		} else {
			p = old * b
		}
	}
	e[0] = s * p
	d[0] = sigma + gamma
}

// eigen2 returns the eigenvalues, ascending, of [a b; b c]. The one of larger
// modulus comes from a sum without cancellation, the other from the determinant.
func eigen2(a, b, c float64) (lo, hi float64) {
	if a+c < 0 {
		lo, hi = eigen2(-a, b, -c)
		return -hi, -lo
	}
	hi = (a+c)/2 + math.Hypot((a-c)/2, b)
	if hi == 0 {
		return 0, 0
	}
	return math.Max(a, c)/hi*math.Min(a, c) - b/hi*b, hi
}
