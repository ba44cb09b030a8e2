package spectral

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// resolvents evaluates functions of the upper bidiagonal matrix B, of norm at
// most 1, with diagonal a and superdiagonal b, that are sums over poles s > 0 of
//
//	X = (BᵀB + s·I)⁻¹.
//
// Each X is the inverse of a symmetric tridiagonal matrix, so it is given by its diagonal and the
// ratios of neighbouring entries, above the diagonal and for one s
//
//	X_ij = λ_i·X_{i+1,j},   X_{i,j+1} = μ_j·X_ij,
//
// and these come from the two triangular factorisations of BᵀB + s·I in differential form (K. V. Fernando and B. N.
// Parlett, Accurate singular values and differential qd algorithms, Numer. Math. 67 (1994) 191–229): with
//
//	t_0 = s, q_i = a_i² + t_i, t_{i+1} = s + b_i²·t_i/q_i
//	ρ_{n−1} = s + a_{n−1}², p_{i+1} = b_i² + ρ_{i+1}, ρ_i = s + a_i²·ρ_{i+1}/p_{i+1}
//
// they are λ_i = −a_i·b_i/q_i, μ_i = −a_i·b_i/p_{i+1}, X_ii = 1/(t_i + ρ_i − s). Every sum is one of positive terms: t_i − s
// and ρ_i − s are kept, not subtracted. So each entry of each X has a small relative error, and so have the sums formed here,
// whose terms have one sign: the condition of B does not enter. Only entries so small that no norm shows them are left out.
//
// A sum over the poles of entries far from the diagonal is a matrix product: with an anchor k between i and j, X_ij =
// (X_ik/X_kk)·X_kj. That makes the work n²·N multiplications and additions for N poles, at the speed of a product.
type resolvents struct {
	n, np int
	s, w  []float64
	a, b  []float64

	diag   []float64 // n×np: X_ii
	up     []float64 // n×np: λ_i
	across []float64 // n×np: μ_i
	tq     []float64 // n×np: t_i/q_i
	rp     []float64 // n×np: ρ_{i+1}/p_{i+1}, 1 for the last i
	root   []float64 // n: diagonal of (BᵀB)^½

	h, y          []float64 // np: scratch
	alpha, beta   []float64 // n×np, resolventBlock×np: see anchor
	alphaB, betaA []float64 // the same times B: see polar
}

// resolventBlock is the distance of the anchors.
var resolventBlock = 16

// set computes the ratios for the poles of t.
func (r *resolvents) set(a, b []float64, t *poleTable) {
	n, np := len(a), len(t.s)
	r.n, r.np, r.s, r.w, r.a, r.b = n, np, t.s, t.w, a, b
	r.diag, r.up, r.across = f64.Grow(r.diag, n*np), f64.Grow(r.up, n*np), f64.Grow(r.across, n*np)
	r.tq, r.rp, r.root = f64.Grow(r.tq, n*np), f64.Grow(r.rp, n*np), f64.Grow(r.root, n)
	r.h, r.y = f64.Grow(r.h, np), f64.Grow(r.y, np)
	r.alpha, r.alphaB = f64.Grow(r.alpha, n*np), f64.Grow(r.alphaB, n*np)
	r.beta, r.betaA = f64.Grow(r.beta, resolventBlock*np), f64.Grow(r.betaA, resolventBlock*np)

	// Forwards; h and diag hold t_i − s.
	s, h := r.s, r.h
	clear(h)
	for i, bi := range b[:n-1] {
		ai := a[i]
		resolveForward(ai*ai, bi*bi, -ai*bi, s, h, r.at(r.diag, i), r.at(r.up, i), r.at(r.tq, i))
	}
	copy(r.at(r.diag, n-1), h)
	// Backwards; h holds ρ_i − s.
	last := a[n-1] * a[n-1]
	for p := range h {
		h[p] = last
	}
	rp := r.at(r.rp, n-1)
	for p := range rp {
		rp[p] = 1
	}
	for i := n - 1; ; i-- {
		// Entry i of the diagonal of the square root is Σ w·(1 − s·X_ii) = Σ w·(t + ρ − 2s)/(t + ρ − s).
		r.root[i] = resolveDiagonal(r.at(r.diag, i), h, s, r.w)
		if i == 0 {
			break
		}
		ai, bi := a[i-1], b[i-1]
		resolveBackward(ai*ai, bi*bi, -ai*bi, s, h, r.at(r.across, i-1), r.at(r.rp, i-1))
	}
}

// at returns row i of one of the n×np matrices.
func (r *resolvents) at(m []float64, i int) []float64 { return m[i*r.np : i*r.np+r.np] }

// resolveForward is one row of the factorisation from the top, for a row of poles: an
// entry of each slice belongs to one of them. With t = s + h and q = a2 + t it sets
//
//	that ← h,   up ← ab/q,   tq ← t/q,   h ← b2·t/q.
//
// Quotients are products with 1/q.
func resolveForward(a2, b2, ab float64, s, h, that, up, tq []float64) {
	h, that, up, tq = h[:len(s)], that[:len(s)], up[:len(s)], tq[:len(s)]
	for p, sp := range s {
		hp := h[p]
		that[p] = hp
		t := sp + hp
		inv := 1 / (a2 + t)
		g := t * inv
		up[p] = ab * inv
		tq[p] = g
		h[p] = b2 * g
	}
}

// resolveBackward is one row of the factorisation from the bottom. With ρ = s + h and p = b2 + ρ it sets
//
//	across ← ab/p,   rp ← ρ/p,   h ← a2·ρ/p.
func resolveBackward(a2, b2, ab float64, s, h, across, rp []float64) {
	h, across, rp = h[:len(s)], across[:len(s)], rp[:len(s)]
	for p, sp := range s {
		rho := sp + h[p]
		inv := 1 / (b2 + rho)
		g := rho * inv
		across[p] = ab * inv
		rp[p] = g
		h[p] = a2 * g
	}
}

// resolveDiagonal sets that to x = 1/(v + s), v = that + h, and returns Σ w·v·x.
func resolveDiagonal(that, h, s, w []float64) float64 {
	that, h, w = that[:len(s)], h[:len(s)], w[:len(s)]
	var sum float64
	for p, sp := range s {
		v := that[p] + h[p]
		x := 1 / (v + sp)
		that[p] = x
		sum += w[p] * v * x
	}
	return sum
}

// symmetric sets the entries of the n×n matrix f below the diagonal to those of Σ_p c_p·X, and may write to the others.
func (r *resolvents) symmetric(f, c []float64) {
	n, np := r.n, r.np
	clear(f)
	for k0 := 0; k0 < n; k0 += resolventBlock {
		k1 := min(k0+resolventBlock, n)
		if i0 := r.anchor(k0, k1, c); i0 < k0 {
			products.Gemm(k1-k0, k0-i0, np, 1, r.beta, np, 1, r.alpha[i0*np:], 1, np, f[k0*n+i0:], n)
		}
		for j := k0; j < k1; j++ {
			f64.Ops.FlushMul(r.y, r.at(r.diag, j), c)
			if below := k1 - j - 1; below > 0 {
				f64.Ops.FlushChain(below, r.y, r.across[j*np:], f[(j+1)*n+j:], n)
			}
		}
	}
}

// polar sets the n×n matrix f to Σ_p w_p·B·X = B·(BᵀB)^(−½), the orthogonal polar factor of B. Above the diagonal
// (B·X)_ij = b_i·(t_i/q_i)·X_{i+1,j}, on and below it a_i·(ρ_{i+1}/p_{i+1})·X_ij: no differences.
func (r *resolvents) polar(f []float64) {
	n, np := r.n, r.np
	clear(f)
	for k0 := 0; k0 < n; k0 += resolventBlock {
		k1 := min(k0+resolventBlock, n)
		kb := k1 - k0
		if i0 := r.anchor(k0, k1, r.w); i0 < k0 {
			for i := range kb {
				scaleMul(r.at(r.betaA, i), r.a[k0+i], r.at(r.beta, i), r.at(r.rp, k0+i))
			}
			last := r.at(r.alphaB, k0-1)
			copy(last, r.at(r.tq, k0-1))
			f64.Ops.Scale(last, r.b[k0-1])
			for i := i0; i < k0-1; i++ {
				scaleMul(r.at(r.alphaB, i), r.b[i], r.at(r.alpha, i+1), r.at(r.tq, i))
			}
			products.Gemm(k0-i0, kb, np, 1, r.alphaB[i0*np:], np, 1, r.beta, 1, np, f[i0*n+k0:], n)
			products.Gemm(kb, k0-i0, np, 1, r.betaA, np, 1, r.alpha[i0*np:], 1, np, f[k0*n+i0:], n)
		}
		for j := k0; j < k1; j++ {
			y := r.y
			f64.Ops.FlushMul(y, r.at(r.diag, j), r.w)
			for i := j; i < k1; i++ {
				if i > j {
					f64.Ops.FlushMul(y, y, r.at(r.across, i-1))
				}
				f[i*n+j] = r.a[i] * f64.Ops.Dot(y, r.at(r.rp, i))
				if j > k0 {
					f[(j-1)*n+i] = r.b[j-1] * f64.Ops.Dot(y, r.at(r.tq, j-1))
				}
			}
		}
	}
}

// anchor sets row j − k0 of beta to c·X_{k0,j} for j from k0 to k1, and row i of alpha to X_{i,k0}/X_{k0,k0} for i from
// i0 to k0. Entries of the sums in columns k0 to k1 and rows before i0 are negligible.
func (r *resolvents) anchor(k0, k1 int, c []float64) (i0 int) {
	f64.Ops.FlushMul(r.at(r.beta, 0), r.at(r.diag, k0), c)
	for j := k0 + 1; j < k1; j++ {
		f64.Ops.FlushMul(r.at(r.beta, j-k0), r.at(r.across, j-1), r.at(r.beta, j-1-k0))
	}
	bound := r.y // of beta, for each pole
	clear(bound)
	for j := range k1 - k0 {
		for p, v := range r.at(r.beta, j) {
			bound[p] = max(bound[p], math.Abs(v))
		}
	}
	for i := k0 - 1; i >= 0; i-- {
		row := r.at(r.alpha, i)
		if i == k0-1 {
			copy(row, r.at(r.up, i))
		} else {
			f64.Ops.FlushMul(row, r.at(r.up, i), r.at(r.alpha, i+1))
		}
		if vanish(row, bound) {
			return i + 1
		}
	}
	return 0
}

// vanish reports whether all products x_p·y_p are negligible.
func vanish(x, y []float64) bool {
	for p, v := range x {
		if math.Abs(v)*y[p] >= negligible {
			return false
		}
	}
	return true
}

// negligible is a bound for entries that are left out of the sums. These are of size 1 at least in
// norm; an entry beyond may be larger by (X_jj/X_ii)^½, below 1e20 for any table of poles.
const negligible = 0x1p-180

// scaleMul sets dst to c·x·y entry by entry.
func scaleMul(dst []float64, c float64, x, y []float64) {
	x, y = x[:len(dst)], y[:len(dst)]
	for p, u := range x {
		dst[p] = c * u * y[p]
	}
}
