package spectral

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// reflector makes the Householder reflector H = I − tau·v·vᵀ that maps x to beta·e_k, with v_k = 1, and overwrites x with v.
// It returns beta = ∓‖x‖ and tau, between 1 and 2, or tau = 0, which leaves nothing of v, and beta = x_k if all other entries
// of x are zero. The matrix is taken to be scaled to entries of about 1: entries whose norm is below 2⁻⁹⁰⁰ count as zero.
//
// G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 5.1.
func reflector(x []float64, k int) (beta, tau float64) {
	alpha := x[k]
	x[k] = 0
	rest := linalg.Norm2(x)
	if rest < 0x1p-900 {
		return alpha, 0
	}
	beta = math.Copysign(math.Hypot(alpha, rest), 0-alpha) // positive for either zero
	f64.Ops.Scale(x, 1/(alpha-beta))
	x[k] = 1
	return beta, (beta - alpha) / beta
}

// block is a product of reflectors in compact form,
//
//	H_1·H_2⋯H_k = I − Vᵀ·T·V,
//
// where row i of V is the vector of H_i and T is upper triangular (R. Schreiber and C. Van Loan, A storage-efficient WY
// representation for products of Householder transformations, SIAM J. Sci. Stat. Comput. 10 (1989) 53–57).
type block struct {
	g          []float64 // T, k×k
	tv         []float64 // T·V
	w          []float64 // products with rows
	zw, wz, vx []float64 // see congruence
}

// set forms T and T·V from k rows of v, each n long. With trans it forms the transpose, that is H_k⋯H_1 = I − Vᵀ·Tᵀ·V.
func (b *block) set(k, n int, v []float64, ldv int, tau []float64, trans bool) {
	b.g = f64.Grow(b.g, k*k)
	g := b.g
	clear(g)
	products.SymLower(k, n, 1, v, ldv, 1, v, 1, ldv, g, k)
	// Column j of T: −tau_j·T[0:j, 0:j]·g, g the products of v_j with those
	// before it, which stand in row j of the lower triangle.
	for j := range k {
		gj := g[j*k : j*k+j]
		for i := range j {
			var s float64
			for l := i; l < j; l++ {
				s += g[i*k+l] * gj[l]
			}
			g[i*k+j] = -tau[j] * s
		}
		g[j*k+j] = tau[j]
		clear(gj)
	}
	b.tv = f64.Grow(b.tv, k*n)
	clear(b.tv)
	rs, cs := k, 1
	if trans {
		rs, cs = 1, k
	}
	f64.Ops.Gemm(k, n, k, 1, g, rs, cs, v, ldv, 1, b.tv, n)
}

// applyRight multiplies the m×n matrix C from the right by the block of set: C −= (C·Vᵀ)·(T·V).
func (b *block) applyRight(k, m, n int, v []float64, ldv int, c []float64, ldc int) {
	b.w = f64.Grow(b.w, m*k)
	clear(b.w)
	products.Gemm(m, k, n, 1, c, ldc, 1, v, 1, ldv, b.w, k)
	products.Gemm(m, n, k, -1, b.w, k, 1, b.tv, n, 1, c, ldc)
}

// congruence overwrites the lower triangle of the n×n symmetric matrix S, both triangles of which are given, with that
// of Hᵀ·S·H for the block H of set, which acts on the first m rows and columns: see tridiag.congruence.
func (b *block) congruence(k, m, n int, v []float64, ldv int, s []float64, lds int) {
	wide := k + k
	b.w, b.zw, b.wz, b.vx = f64.Grow(b.w, n*k), f64.Grow(b.zw, m*wide), f64.Grow(b.wz, m*wide), f64.Grow(b.vx, k*k)
	x, zw, wz, vx := b.w, b.zw, b.wz, b.vx
	clear(x)
	clear(vx)
	products.Gemm(n, k, m, 1, s, lds, 1, v, 1, ldv, x, k)
	f64.Ops.Gemm(k, k, m, 1, v, ldv, 1, x, k, 1, vx, k)
	// zw has rows [z w], wz rows [w z].
	f64.Ops.Transpose(k, m, zw[k:], wide, b.tv, m)
	for i := range m {
		z, w := zw[i*wide:][:k], zw[i*wide+k:][:k]
		copy(wz[i*wide:], w)
		copy(z, x[i*k:])
	}
	f64.Ops.Gemm(m, k, k, -0.5, wz, wide, 1, vx, k, 1, zw, wide)
	for i := range m {
		copy(wz[i*wide+k:], zw[i*wide:][:k])
	}
	products.SymLower(m, wide, -1, zw, wide, 1, wz, 1, wide, s, lds)
	products.Gemm(n-m, m, k, -1, x[m*k:], k, 1, b.tv, m, 1, s[m*lds:], lds)
}

// reflectors returns the number of reflectors applied together, which tests set.
var reflectors = func() int { return f64.Ops.Columns() }
