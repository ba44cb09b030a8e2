package multivariate

import (
	"slices"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// anderson accelerates a fixed-point iteration x → g(x): given the latest pairs with residuals r_j = g_j − x_j it proposes
//
//	g_k − Σ_j c_j·(g_k − g_j),   c = argmin ‖r_k − Σ_j c_j·(r_k − r_j)‖.
//
// D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965) 547–560; H. F. Walker and P.
// Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49 (2011) 1715–1735.
type anderson struct {
	memory int         // pairs kept besides the latest
	g, r   [][]float64 // the oldest first
	q      [][]float64 // orthonormal basis of the differences
	coef   [][]float64 // triangular factor, one row per basis vector
	kept   []int
}

// dropTol is the part of a difference, orthogonal to the later ones, below which
// it is left out of the least squares problem as dependent.
const dropTol = 1e-8

func (a *anderson) reset() { a.g, a.r = a.g[:0], a.r[:0] }

// push stores the pair (x, g), forgetting the oldest beyond the memory.
func (a *anderson) push(x, g []float64) {
	if len(a.g) > a.memory {
		a.g, a.r = append(a.g[1:], a.g[0]), append(a.r[1:], a.r[0])
	} else {
		a.g, a.r = append(a.g, make([]float64, len(g))), append(a.r, make([]float64, len(g)))
	}
	copy(a.g[len(a.g)-1], g)
	subtract(a.r[len(a.r)-1], g, x)
}

// mix sets dst to the proposal. Without history, or where the least squares
// problem has no finite solution, it is the latest g.
func (a *anderson) mix(dst []float64) {
	k := len(a.g) - 1
	copy(dst, a.g[k])
	if k == 0 {
		return
	}
	// Modified Gram–Schmidt, the newest difference first, on normalised columns.
	rk := a.r[k]
	n := len(rk)
	a.kept = a.kept[:0]
	scales := make([]float64, 0, k)
	proj := make([]float64, 0, k)
	for j := k - 1; j >= 0; j-- {
		m := len(a.kept)
		if m == len(a.q) {
			a.q, a.coef = append(a.q, nil), append(a.coef, nil)
		}
		a.q[m], a.coef[m] = f64.Grow(a.q[m], n), f64.Grow(a.coef[m], m+1)
		v := a.q[m]
		subtract(v, rk, a.r[j])
		scale := linalg.Norm2(v)
		for i := range v {
			v[i] /= scale
		}
		for i := range m {
			t := linalg.Dot(a.q[i], v)
			a.coef[m][i] = t
			linalg.Axpy(v, -t, a.q[i])
		}
		rest := linalg.Norm2(v)
		if !(rest > dropTol) {
			continue // or no number, as after a scale that is 0 or infinite
		}
		for i := range v {
			v[i] /= rest
		}
		a.coef[m][m] = rest
		a.kept = append(a.kept, j)
		scales = append(scales, scale)
		proj = append(proj, linalg.Dot(v, rk))
	}
	// Column m of the problem is Σ_{i≤m} coef[m][i]·q_i: solve from the last.
	for m := range slices.Backward(a.kept) {
		proj[m] /= a.coef[m][m]
		for i := range m {
			proj[i] -= a.coef[m][i] * proj[m]
		}
	}
	for m, j := range a.kept {
		c := proj[m] / scales[m]
		if !fault.Finite(c) {
			copy(dst, a.g[k])
			return
		}
		gk, gj := a.g[k], a.g[j]
		for i := range dst {
			dst[i] -= c * (gk[i] - gj[i])
		}
	}
}
