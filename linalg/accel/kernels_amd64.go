//go:build amd64 && gc && !purego && !noasm

package accel

import "math"

// kernels is one tier: the assembly functions, which take pointers and trust them, and what the Go code around them must
// know. That code checks lengths, packs and cuts; it is the same for both tiers.
type kernels struct {
	name   string
	lanes  int // in a vector
	masked int // widest panel, in vectors, of which the last may be partial

	// gemmNarrow is gemmPanel for up to four columns, with the same sums.
	gemmPanel, gemmNarrow func(m, k int, alpha float64, a *float64, ars, acs int, b *float64, brs int, c *float64, ldc, n, set int)
	gemmDots              func(m, n, k int, alpha float64, a *float64, lda int, b *float64, ldb int, c *float64, ldc int)
	gemv                  func(m, k int, alpha float64, a *float64, lda int, x, y *float64, incy int)

	packT   func(dst, src *float64, ld, rows, k int)
	unpackT func(dst *float64, ld int, src *float64, rows, k int)

	trsmPanel   func(n int, y *float64, nv int, l *float64, ldl int)
	backPanel   func(n int, y *float64, nv int, l *float64, ldl int)
	invertPanel func(n int, y, l *float64, ldl int)
	trsmRows    func(m, n int, x *float64, ldx int, l *float64, ldl int)
	trsmRow     func(n int, x, l *float64, ldl int)

	cholPanel func(k, n int, y *float64) int

	symPass    func(n int, a *float64, lda int, v, w, x, y *float64)
	bidiagPass func(m, n int, a *float64, lda int, u, z, s, v, p *float64, g float64, y, c, r *float64)

	dot     func(n int, x, y *float64) float64
	axpy    func(n int, dst *float64, alpha float64, x *float64)
	poleSum func(n int, a2, b2 *float64, np int, s, w *float64) float64

	radialValues func(n int, val, sq *float64, scale, variance float64, f *float64)
	radialSlopes func(n int, val, slope, sq *float64, scale float64, f *float64)

	axpy4      func(n int, dst *float64, c0, c1, c2, c3 float64, a0, a1, a2, a3 *float64)
	scale      func(n int, x *float64, alpha float64)
	magnitude  func(n int, x *float64) float64
	diffDots   func(n int, a, b, s, t, d *float64) (diff, sum float64)
	transpose  func(rows, cols int, dst *float64, ldd int, a *float64, lda int)
	addSquares func(n int, dst *float64, dims int, x, w, c *float64, ldc int)

	flushMul   func(n int, dst, x, y *float64) float64
	flushChain func(rows, n int, y, m, out *float64, ldo int)
}

// Columns is two vectors of AVX-512, or four of AVX2.
func (t *kernels) Columns() int     { return 16 }
func (t *kernels) Rows() int        { return 8 }
func (t *kernels) CholSize() int    { return math.MaxInt }
func (t *kernels) InverseStep() int { return panelVectors * t.lanes }

// panelVectors is the width of a packed panel in vectors.
const panelVectors = 3

// nextPanel returns how many vectors of columns the next panel of Gemm or Trsm
// has when so many are left: three, unless two and two divide them better.
func nextPanel(left int) int {
	switch {
	case left >= 5 || left == 3:
		return 3
	case left == 1:
		return 1
	}
	return 2
}
