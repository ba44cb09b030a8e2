package linalg

import (
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// SolveVecTo sets dst to A⁻¹·b. dst may be b. 2n² operations.
//
// The computed x satisfies (A + ΔA)·x = b with |ΔA| ≤ γ_{3n+1}·|L|·|Lᵀ| (Higham,
// Accuracy and Stability of Numerical Algorithms, 2002, Theorem 10.4).
func (c *Cholesky) SolveVecTo(dst, b []float64) {
	c.SolveLowerVecTo(dst, b)
	c.SolveUpperVecTo(dst, dst)
}

// SolveLowerVecTo sets dst to L⁻¹·b. dst may be b. n² operations.
func (c *Cholesky) SolveLowerVecTo(dst, b []float64) {
	c.checkVec("SolveLowerVecTo", dst, b)
	copy(dst, b)
	f64.Ops.Trsm(1, len(dst), dst, len(dst), c.l.data, c.l.stride)
}

// SolveUpperVecTo sets dst to L⁻ᵀ·b. dst may be b. n² operations.
func (c *Cholesky) SolveUpperVecTo(dst, b []float64) {
	c.checkVec("SolveUpperVecTo", dst, b)
	copy(dst, b)
	l, ld := c.l.data, c.l.stride
	left := len(dst)
	for ; left >= 4; left -= 4 {
		// Four unknowns at a time, then their part in those above. Reciprocals do
		// not wait for one another as quotients would; the bound is that of Trsm.
		i := left - 4
		l0, l1, l2, l3 := l[i*ld+i:][:1], l[(i+1)*ld+i:][:2], l[(i+2)*ld+i:][:3], l[(i+3)*ld+i:][:4]
		r0, r1, r2, r3 := 1/l0[0], 1/l1[1], 1/l2[2], 1/l3[3]
		x := dst[i:left:left][:4]
		x3 := x[3] * r3
		x2 := (x[2] - l3[2]*x3) * r2
		x1 := (x[1] - l2[1]*x2 - l3[1]*x3) * r1
		x0 := (x[0] - l1[0]*x1 - l2[0]*x2 - l3[0]*x3) * r0
		x[0], x[1], x[2], x[3] = x0, x1, x2, x3
		f64.Ops.Axpy4(dst[:i], -x0, -x1, -x2, -x3, l[i*ld:], l[(i+1)*ld:], l[(i+2)*ld:], l[(i+3)*ld:])
	}
	for i := left - 1; i >= 0; i-- {
		s := dst[i]
		for k := i + 1; k < left; k++ {
			s -= l[k*ld+i] * dst[k]
		}
		dst[i] = s / l[i*ld+i]
	}
}

func (c *Cholesky) checkVec(op string, dst, b []float64) {
	if len(dst) != c.l.rows {
		panicLen(op, "dst", len(dst), c.l.rows)
	}
	if len(b) != c.l.rows {
		panicLen(op, "b", len(b), c.l.rows)
	}
}

// SolveTo makes dst the n×m matrix A⁻¹·b. dst may be b or overlap it. 2n²·m operations; columns are
// solved independently, and shared between goroutines if n and m are large.
func (c *Cholesky) SolveTo(dst, b *Dense) { c.solve("SolveTo", dst, b, true, true) }

// SolveLowerTo makes dst the n×m matrix L⁻¹·b. dst may be b or overlap it. n²·m operations.
func (c *Cholesky) SolveLowerTo(dst, b *Dense) { c.solve("SolveLowerTo", dst, b, true, false) }

// SolveUpperTo makes dst the n×m matrix L⁻ᵀ·b. dst may be b or overlap it. n²·m operations.
func (c *Cholesky) SolveUpperTo(dst, b *Dense) { c.solve("SolveUpperTo", dst, b, false, true) }

// SolveLowerTransTo makes dst the m×n matrix (L⁻¹·b)ᵀ for an n×m matrix b: rows are solutions, as [Sym.Gram] takes
// them. dst must not overlap b. n²·m operations; entries have the bits of [Cholesky.SolveLowerTo].
func (c *Cholesky) SolveLowerTransTo(dst, b *Dense) {
	n, m := c.l.rows, b.cols
	if b.rows != n {
		panicShape("SolveLowerTransTo", n, n, b.rows, m)
	}
	dst.destination("SolveLowerTransTo", m, n, b)
	if n == 0 || m == 0 {
		return
	}
	f64.Ops.Transpose(n, m, dst.data, dst.stride, b.data, b.stride)
	c.solveShared(m, dst.data, dst.stride, true, false)
}

// solve works on the transpose of b, whose rows are right-hand sides.
func (c *Cholesky) solve(op string, dst, b *Dense, lower, upper bool) {
	n, m := c.l.rows, b.cols
	if b.rows != n {
		panicShape(op, n, n, b.rows, m)
	}
	dst.Resize(n, m)
	if n == 0 || m == 0 {
		return
	}
	buf := products.Scratch(m * n)
	x := *buf
	f64.Ops.Transpose(n, m, x, n, b.data, b.stride)
	c.solveShared(m, x, n, lower, upper)
	f64.Ops.Transpose(m, n, dst.data, dst.stride, x, n)
	products.Release(buf)
}

// solveGrain is the number of right-hand sides that a goroutine solves for at a
// time, a multiple of what Trsm and TrsmBack may be cut at.
const solveGrain = 96

// solveShared is solveRows, shared between goroutines where that pays.
func (c *Cholesky) solveShared(m int, x []float64, ldx int, lower, upper bool) {
	n := float64(c.l.rows)
	if w := products.Workers(2*n*n*float64(m), (m+solveGrain-1)/solveGrain); w > 1 {
		products.ParallelRows(w, m, solveGrain, func(lo, hi int) { c.solveRows(hi-lo, x[lo*ldx:], ldx, lower, upper) })
	} else {
		c.solveRows(m, x, ldx, lower, upper)
	}
}

// solveRows solves for m rows of x, with L, with Lᵀ or with one after the other.
func (c *Cholesky) solveRows(m int, x []float64, ldx int, lower, upper bool) {
	if lower {
		f64.Ops.Trsm(m, c.l.rows, x, ldx, c.l.data, c.l.stride)
	}
	if upper {
		f64.Ops.TrsmBack(m, c.l.rows, x, ldx, c.l.data, c.l.stride)
	}
}

// InverseTo makes dst the inverse of A, from L⁻¹ and its product with itself: 2n³/3 operations beyond the factor.
func (c *Cholesky) InverseTo(dst *Sym) {
	c.InverseLowerTo(dst)
	dst.Mirror()
}

// InverseLowerTo is InverseTo for those who read the lower triangle by Row only:
// the upper one is unspecified until Mirror is called.
func (c *Cholesky) InverseLowerTo(dst *Sym) {
	n := c.l.rows
	l, ld, step := c.l.data, c.l.stride, f64.Ops.InverseStep()
	buf := products.Scratch(n * (n + step))
	u := *buf
	dst.Resize(n)
	d := dst.data
	if w := products.Workers(float64(n)*float64(n)*float64(n)/3, n/step); w > 1 {
		products.ParallelRows(w, n, step, func(i, _ int) { f64.Ops.InvertRows(n, i, u, l, ld) })
		products.ParallelRows(w, n, step, func(i, _ int) { f64.Ops.InverseRows(n, i, d, n, u) })
	} else {
		for i := 0; i < n; i += step {
			f64.Ops.InvertRows(n, i, u, l, ld)
		}
		for i := 0; i < n; i += step {
			f64.Ops.InverseRows(n, i, d, n, u)
		}
	}
	products.Release(buf)
}
