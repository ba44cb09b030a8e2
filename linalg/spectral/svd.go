package spectral

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// SVD computes what belongs to the singular value decomposition of a general
// matrix: the sum of the singular values, the values, the orthogonal polar
// factor. The zero value is ready. It holds the scratch memory of its methods:
// at a size it has seen they do not allocate.
//
// All go through a reduction to bidiagonal form, which is backward stable: the
// singular values of the bidiagonal matrix are those of a within a small
// multiple of n·u·‖a‖.
type SVD struct {
	bi   bidiag
	sq   []float64
	work []float64
	res  resolvents
	f    []float64
}

// NuclearNorm returns the sum of the singular values of a, which is not
// modified. It is NaN if a has an entry that is not finite, and 0 for an empty
// matrix.
//
// The sum over the singular values σ_i of the bidiagonal matrix is taken without
// computing them, by the quadrature
//
//	Σ_i σ_i = Σ_j w_j Σ_i σ_i²/(σ_i² + s_j),
//
// whose inner sums are O(n) recurrences of positive terms: there is nothing to
// converge and nothing cancels. Of the result Σσ_i a relative error of about
// 1e-15 comes from the quadrature, at any condition number, and one of a small
// multiple of √n·u from the reduction. 8n³/3 operations for an n×n matrix.
//
// N. Hale, N. J. Higham and L. N. Trefethen, SIAM J. Numer. Anal. 46 (2008)
// 2505–2523.
func (d *SVD) NuclearNorm(a *linalg.Dense) float64 {
	if d.bi.reduce(a, false) != nil {
		return math.NaN()
	}
	t := d.prepare()
	if t == nil {
		return 0
	}
	m := d.bi.m
	a2, b2 := d.sq[:m], d.sq[m:2*m-1]
	d.work = f64.Grow(d.work, 3*len(t.s))
	return math.Ldexp(f64.PoleSum(a2, b2, t.s, t.w, d.work), d.bi.exp)
}

// prepare scales the bidiagonal matrix to norm at most 1, accounted for in
// bi.exp, sets d.sq to the squares of its entries and returns the poles for its
// condition, nil for a zero matrix.
func (d *SVD) prepare() *poleTable {
	m := d.bi.m
	if !d.bi.normalise() {
		return nil
	}
	d.sq = f64.Grow(d.sq, 2*m-1)
	a2, b2 := d.sq[:m], d.sq[m:]
	for i, v := range d.bi.d {
		a2[i] = v * v
	}
	for i, v := range d.bi.e {
		b2[i] = v * v
	}
	return polesFor(inverseTrace(a2, b2))
}
