package linalg

import "github.com/gocmbo/cmbo/internal/f64"

// setDuringTest sets *p to v and returns a function that restores it.
func setDuringTest[T any](p *T, v T) (restore func()) {
	old := *p
	*p = v
	return func() { *p = old }
}

// poleSum is the quadrature of NuclearNorm for the bidiagonal matrix in d.
func poleSum(d *SVD, p *poleTable) float64 {
	m := d.bi.m
	return f64.PoleSum(d.sq[:m], d.sq[m:2*m-1], p.s, p.w, make([]float64, 3*len(p.s)))
}
