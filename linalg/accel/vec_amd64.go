//go:build amd64 && gc && !purego && !noasm

package accel

import (
	"unsafe"

	"github.com/gocmbo/cmbo/internal/f64"
)

// short is the length below which the plain loops are faster than a call of the
// kernels of Dot, DiffDots, Axpy, Axpy4 and Scale.
const short = 8

// first returns where x begins, also of an empty slice, which has no element to take the address of.
func first(x []float64) *float64 { return unsafe.SliceData(x) }

func (t *kernels) Dot(x, y []float64) float64 {
	if len(x) < short {
		return f64.Generic.Dot(x, y)
	}
	y = y[:len(x)]
	return t.dot(len(x), first(x), first(y))
}

func (t *kernels) Axpy(dst []float64, alpha float64, x []float64) {
	if len(x) < short {
		f64.Generic.Axpy(dst, alpha, x)
		return
	}
	dst = dst[:len(x)]
	t.axpy(len(x), first(dst), alpha, first(x))
}

func (t *kernels) SymPass(n int, a []float64, lda int, v, w, x, y []float64) {
	if n < t.lanes {
		f64.Generic.SymPass(n, a, lda, v, w, x, y)
		return
	}
	v, w, x, y = v[:n], w[:n], x[:n], y[:n]
	_ = a[(n-1)*lda+n-1]
	clear(y)
	t.symPass(n, &a[0], lda, &v[0], &w[0], &x[0], &y[0])
}

func (t *kernels) BidiagPass(m, n int, a []float64, lda int, u, z, s, v, p []float64, g float64, y, c, r []float64) {
	if m < t.lanes && n < t.lanes {
		f64.Generic.BidiagPass(m, n, a, lda, u, z, s, v, p, g, y, c, r)
		return
	}
	if n == 0 {
		return
	}
	u, s, y, c = u[:m], s[:m], y[:m], c[:m]
	z, v, p, r = z[:n], v[:n], p[:n], r[:n]
	clear(r)
	if m == 0 {
		return
	}
	_ = a[(m-1)*lda+n-1]
	t.bidiagPass(m, n, &a[0], lda, &u[0], &z[0], &s[0], &v[0], &p[0], g, &y[0], &c[0], &r[0])
}

func (t *kernels) PoleSum(a2, b2, s, w, _ []float64) float64 {
	w = w[:len(s)]
	if len(a2) == 0 || len(s) == 0 {
		return 0
	}
	b2 = b2[:len(a2)-1]
	return t.poleSum(len(a2), &a2[0], first(b2), len(s), &s[0], &w[0])
}

func (t *kernels) RadialValues(dst, sq []float64, scale, variance float64, f *f64.Radial) {
	dst = dst[:len(sq)]
	t.radialValues(len(sq), first(dst), first(sq), scale, variance, &f.A)
}

func (t *kernels) RadialSlopes(val, slope, sq []float64, scale float64, f *f64.Radial) {
	val, slope = val[:len(sq)], slope[:len(sq)]
	t.radialSlopes(len(sq), first(val), first(slope), first(sq), scale, &f.A)
}

// RadialAt calls the kernels by their names, so that what they write to stays on the stack.
func (t *kernels) RadialAt(s float64, f *f64.Radial) (val, slope float64) {
	if t.lanes == 8 {
		radialSlopesAVX512(1, &val, &slope, &s, 1, &f.A)
	} else {
		radialSlopesAVX2(1, &val, &slope, &s, 1, &f.A)
	}
	return val, slope
}

func (t *kernels) DiffDots(a, b, s, u, d []float64) (diff, sum float64) {
	n := len(a)
	if n < short {
		return f64.Generic.DiffDots(a, b, s, u, d)
	}
	b, s, u, d = b[:n], s[:n], u[:n], d[:n]
	return t.diffDots(n, &a[0], &b[0], &s[0], &u[0], &d[0])
}
