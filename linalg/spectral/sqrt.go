package spectral

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// RootPSD computes square roots of symmetric positive semi-definite matrices. The zero value is
// ready. It keeps its memory: at a size it has seen it does not allocate.
//
// The matrix is reduced to tridiagonal form, A = Q·T·Qᵀ. If T has a Cholesky factor, T^½ is formed from 24 to 192
// poles, T^½ = Σ_j w_j·T·(T + s_j·I)⁻¹, and transformed back by Q; the root of a matrix that is not numerically
// definite comes from its eigenvectors. The computed root R is symmetric and ‖R² − A‖ is a small multiple of n·u·‖A‖;
// so the error of R itself is about n·u·κ^½·‖R‖, κ the condition number, or (n·u)^½·‖R‖ if A is singular.
//
// N. Hale, N. J. Higham and L. N. Trefethen, Computing A^α, log(A), and related
// matrix functions by contour integrals, SIAM J. Numer. Anal. 46 (2008) 2505–2523.
type RootPSD struct {
	e       EigenSym
	res     resolvents
	a, b    []float64
	a2, b2  []float64 // their squares
	exp     int       // see bidiagonal
	coef    []float64
	clamped float64
}

// SqrtTo makes dst the symmetric square root of a, which may be semi-definite. Negative eigenvalues count as 0, and
// Clamped tells the most negative: it is for the caller to judge whether rounding explains it. dst may be a. Errors are
// those of EigenSym.Factorize. 10n³/3 operations and up to 2n² for each pole.
func (r *RootPSD) SqrtTo(dst, a *linalg.Sym) error {
	r.clamped = 0
	t := &r.e.tri
	if err := t.reduce(a); err != nil {
		return err
	}
	if poles := r.bidiagonal(); poles != nil {
		r.res.set(r.a, r.b, poles)
		r.coef = f64.Grow(r.coef, len(poles.s))
		for p, w := range poles.w {
			r.coef[p] = -w * poles.s[p]
		}
		n := t.n
		dst.Resize(n)
		data := entries(dst)
		r.res.symmetric(data, r.coef)
		for i, v := range r.res.root {
			data[i*n+i] = v
		}
		t.congruence(data, n)
		dst.Scale(math.Ldexp(1, r.exp/2))
		return nil
	}
	r.e.complete()
	if t.n > 0 {
		r.clamped = math.Ldexp(math.Min(r.e.values[0], 0), t.exp)
	}
	r.e.FuncTo(dst, func(l float64) float64 { return math.Sqrt(math.Ldexp(math.Max(l, 0), t.exp&1)) })
	dst.Scale(math.Ldexp(1, t.exp>>1))
	return nil
}

// Clamped returns the most negative eigenvalue that the latest call of SqrtTo counted as 0, or 0.
func (r *RootPSD) Clamped() float64 { return r.clamped }

// bidiagonal factors the reduced matrix, T = 2^exp·BᵀB with B upper bidiagonal of norm at most 1 and exp even, into r.a, r.b
// and r.exp. It returns the poles for the condition of B, or nil if that is too large or T is not positive definite.
func (r *RootPSD) bidiagonal() *poleTable {
	t := &r.e.tri
	n := t.n
	var norm float64
	for i, v := range t.d {
		s := v // below 0 it is refused
		if i > 0 {
			s += math.Abs(t.e[i-1])
		}
		if i < len(t.e) {
			s += math.Abs(t.e[i])
		}
		norm = math.Max(norm, s)
	}
	if norm == 0 {
		return nil
	}
	_, x := math.Frexp(norm)
	r.exp = (t.exp + x + 1) &^ 1
	r.a, r.a2 = f64.Grow(r.a, n), f64.Grow(r.a2, n)
	r.b, r.b2 = f64.Grow(r.b, n), f64.Grow(r.b2, n) // of which the last entry is not used
	scale := math.Ldexp(1, t.exp-r.exp)
	for i, v := range t.d {
		v *= scale
		if i > 0 {
			r.b[i-1] = t.e[i-1] * scale / r.a[i-1]
			r.b2[i-1] = r.b[i-1] * r.b[i-1]
			v -= r.b2[i-1]
		}
		if !(v > 0) {
			return nil
		}
		r.a2[i] = v
		r.a[i] = math.Sqrt(v)
	}
	cond := inverseTrace(r.a2, r.b2)
	if poles := polesFor(cond); cond <= poles.kappa {
		return poles
	}
	return nil
}

// FactorPSD makes dst a lower triangular L with non-negative diagonal and a = L·Lᵀ for a symmetric positive
// semi-definite matrix: the Cholesky factor if a is numerically definite, else the triangle of the LQ factorisation of
// V·Λ^½ from the eigen decomposition, in which eigenvalues up to 8·n·2⁻⁵² of the largest, as much as rounding may make
// of 0, count as 0. The most negative of these is returned as clamped. ‖L·Lᵀ − a‖ is a small multiple of n·u·‖a‖ and of
// |clamped|. It returns the errors of EigenSym.Factorize.
func FactorPSD(dst *linalg.Dense, a *linalg.Sym) (clamped float64, err error) {
	var c linalg.Cholesky
	if c.Factorize(a) == nil {
		dst.Copy(c.Lower())
		return 0, nil
	}
	var e EigenSym
	if err := e.tri.reduce(a); err != nil {
		return 0, err
	}
	e.complete()
	n := a.Dim() // not 0: an empty matrix has a Cholesky factor
	exp := e.tri.exp
	clamped = math.Ldexp(math.Min(e.values[0], 0), exp)
	// Columns in descending order of λ, so that small ones end last, and of size about 1 for the reflectors.
	f := linalg.NewDense(n, n, nil)
	floor := 8 * float64(n) * 0x1p-52 * e.values[n-1]
	for k, l := range e.values {
		if !(l > floor) {
			continue
		}
		s := math.Sqrt(math.Ldexp(l, exp&1))
		for i, v := range e.rows[k*n : k*n+n] {
			f.Row(i)[n-1-k] = s * v
		}
	}
	lowerLQ(f)
	f.Scale(math.Ldexp(1, exp>>1))
	dst.Copy(f)
	return clamped, nil
}

// lowerLQ overwrites the square matrix f with the lower triangular L, diagonal non-negative, for which f = L·Q with an
// orthogonal Q: reflectors from the right annihilate each row beyond its diagonal.
func lowerLQ(f *linalg.Dense) {
	n, _ := f.Dims()
	v := make([]float64, n)
	for k := range n {
		row, x := f.Row(k)[k:], v[:n-k]
		copy(x, row)
		beta, tau := reflector(x, 0)
		clear(row)
		sign := math.Copysign(1, beta)
		row[0] = math.Abs(beta)
		for i := k + 1; i < n; i++ {
			r := f.Row(i)[k:]
			linalg.Axpy(r, -tau*linalg.Dot(r, x), x)
			// The sign of column k is free.
			r[0] *= sign
		}
	}
}
