package spectral

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// tridiag is the reduction A = Q·T·Qᵀ of a symmetric matrix to tridiagonal form
// by Householder reflectors, from the last row upwards:
//
//	T = H_1⋯H_{n−1}·A·H_{n−1}⋯H_1,   Q = H_{n−1}⋯H_1,
//
// H_k acting on entries 0 to k−1. The matrix is scaled by a power of two to
// entries of at most 1 first, so that nothing overflows.
//
// Every column costs one pass over what remains of the lower triangle: the rank-two update of the
// last step and the matrix-vector product of this one are done together (f64.Ops.SymPass). 4n³/3
// operations; the computed T and the product Q of exact reflectors satisfy ‖A + E − Q·T·Qᵀ‖ = 0,
// ‖E‖_F ≤ c·n·u·‖A‖_F (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 19.3).
type tridiag struct {
	n   int
	exp int       // A = 2^exp · (the matrix reduced)
	q   []float64 // n×n, row k holds the vector of H_k, then zeros
	d   []float64 // diagonal of T, scaled
	e   []float64 // subdiagonal of T, scaled
	tau []float64
	tmp [4][]float64
	blk block
}

// reduce computes the reduction of a, or returns ErrNotFinite.
func (t *tridiag) reduce(a *linalg.Sym) error {
	n, data := a.Dim(), entries(a)
	t.n = n
	t.q = f64.Grow(t.q, n*n)
	t.d, t.e, t.tau = f64.Grow(t.d, n), f64.Grow(t.e, max(n-1, 0)), f64.Grow(t.tau, n)
	for i, s := range t.tmp {
		t.tmp[i] = f64.Grow(s, n)
	}
	var ok bool
	if t.exp, ok = scaleExp(data); !ok {
		return ErrNotFinite
	}
	copyScaled(t.q, data, -t.exp)
	if n == 0 {
		return nil
	}
	v, w, p, x := t.tmp[0], t.tmp[1], t.tmp[2], t.tmp[3]
	clear(v) // so that the first step has no update to make, whatever w is
	q := t.q
	for k := n - 1; k > 0; k-- {
		// Row k, of the matrix with the update of the last step pending.
		r := q[k*n : k*n+k]
		vk, wk := v[k], w[k]
		t.d[k] = q[k*n+k] - 2*vk*wk
		f64.Ops.Axpy(r, -vk, w[:k])
		f64.Ops.Axpy(r, -wk, v[:k])
		var tau float64
		t.e[k-1], tau = reflector(r, k-1)
		t.tau[k] = tau
		copy(x, r)
		f64.Ops.SymPass(k, q, n, v, w, x, p)
		// A − tau·(v·pᵀ + p·vᵀ) + tau²·(vᵀp)·v·vᵀ = A − v·wᵀ − w·vᵀ.
		g := 0.5 * tau * tau * f64.Ops.Dot(x[:k], p)
		f64.Ops.Scale(p[:k], tau)
		f64.Ops.Axpy(p[:k], -g, x[:k])
		v, w, x, p = x, p, v, w
	}
	t.d[0] = q[0] // the last reflector, of one entry, is the identity
	// Each row keeps the vector of its reflector.
	for k := range n {
		clear(q[k*n+k : k*n+n])
	}
	return nil
}

// multiplyRight overwrites the m×n matrix C with C·Qᵀ: if the rows of C are eigenvectors of T they become those of A.
func (t *tridiag) multiplyRight(m int, c []float64, ldc int) {
	n := t.n
	for k := 1; k < n; k += reflectors() {
		kb := min(reflectors(), n-k)
		v := t.q[k*n:]
		t.blk.set(kb, k+kb-1, v, n, t.tau[k:], false)
		t.blk.applyRight(kb, m, k+kb-1, v, n, c, ldc)
	}
}

// congruence overwrites the symmetric matrix S, given by its lower triangle, with Q·S·Qᵀ, both triangles. For each
// block H = I − Vᵀ·T·V of reflectors, with X = S·Vᵀ, W = (T·V)ᵀ and Z = X − ½·W·(V·X),
//
//	Hᵀ·S·H = S − Z·Wᵀ − W·Zᵀ
//
// in the rows and columns H acts on, and S − X·Wᵀ in those of its columns alone. 2n³ operations.
func (t *tridiag) congruence(s []float64, lds int) {
	n := t.n
	for k := 1; k < n; k += reflectors() {
		kb := min(reflectors(), n-k)
		m := k + kb - 1
		v := t.q[k*n:]
		t.blk.set(kb, m, v, n, t.tau[k:], false)
		products.Mirror(n, s, lds)
		t.blk.congruence(kb, m, n, v, n, s, lds)
	}
	products.Mirror(n, s, lds)
}

// entries returns the entries of s, row by row.
func entries(s *linalg.Sym) []float64 {
	d := s.Dense()
	data, _ := d.Raw()
	return data
}

// scaleExp returns the exponent of the power of two that bounds the entries of
// a, 0 for a zero matrix, and whether all entries are finite.
func scaleExp(a []float64) (exp int, finite bool) {
	m := f64.Ops.Magnitude(a)
	_, exp = math.Frexp(m)
	return exp, m <= math.MaxFloat64
}

// copyScaled sets dst to src·2^exp.
func copyScaled(dst, src []float64, exp int) {
	// In two factors, neither of which overflows or underflows.
	a, b := math.Ldexp(1, exp/2), math.Ldexp(1, exp-exp/2)
	for i, v := range src {
		dst[i] = v * a * b
	}
}
