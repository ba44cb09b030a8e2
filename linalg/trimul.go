package linalg

import (
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// The products here compute f64.Ops.Rows() rows at a time, on operands transposed
// beforehand, along rows that start where the triangle does.

// TransMulLower makes dst the n×n product l1ᵀ·l0 of two lower triangular matrices, of which it reads only the lower
// triangles; l1 may be l0. 2n³/3 operations, a third of a general product. For Cholesky factors of two covariances its
// singular values sum to the fidelity term of the 2-Wasserstein distance.
func TransMulLower(dst, l1, l0 *Dense) {
	n := l1.rows
	if l1.cols != n || l0.rows != n || l0.cols != n {
		panicShape("TransMulLower", l1.rows, l1.cols, l0.rows, l0.cols)
	}
	dst.destination("TransMulLower", n, n, l1, l0)
	dst.Zero()
	if n == 0 {
		return
	}
	buf := products.Scratch(2 * n * n)
	u1, u0 := (*buf)[:n*n], (*buf)[n*n:]
	rows := f64.Ops.Rows()
	transposeLower(u1, l1)
	transposeLower(u0, l0)
	if w := products.Workers(2*float64(n)*float64(n)*float64(n)/3, n/rows); w > 1 {
		products.ParallelRows(w, n, rows, func(lo, hi int) { transMulBlock(dst, u1, u0, lo, hi) })
	} else {
		for i := 0; i < n; i += rows {
			transMulBlock(dst, u1, u0, i, min(i+rows, n))
		}
	}
	products.Release(buf)
}

// transMulBlock computes, of U1·U0ᵀ, the rows i0 to i1 left of column i1 and the
// columns i0 to i1 above row i0: those whose sums start at i0 or a little later.
func transMulBlock(dst *Dense, u1, u0 []float64, i0, i1 int) {
	n := dst.rows
	f64.Ops.Gemm(i1-i0, i1, n-i0, 1, u1[i0*n+i0:], n, 1, u0[i0:], 1, n, dst.data[i0*dst.stride:], dst.stride)
	f64.Ops.Gemm(i0, i1-i0, n-i0, 1, u1[i0:], n, 1, u0[i0*n+i0:], 1, n, dst.data[i0:], dst.stride)
}

// transposeLower sets the n×n matrix u to the transpose of the lower triangle of
// l, with zeros left of the diagonal as far as a block reaches.
func transposeLower(u []float64, l *Dense) {
	n, rows := l.rows, f64.Ops.Rows()
	for i := 0; i < n; i += rows {
		ib := min(rows, n-i)
		f64.Ops.Transpose(n-i, ib, u[i*n+i:], n, l.data[i*l.stride+i:], l.stride)
		for r := range ib {
			clear(u[(i+r)*n+i:][:r])
		}
	}
}

// MulLower makes dst the n×m product l·b of an n×n lower triangular matrix, of
// which it reads only the lower triangle, and an n×m matrix. n²·m operations.
func MulLower(dst, l, b *Dense) { mulTriangle("MulLower", dst, l, b, false) }

// MulUpper is MulLower with lᵀ in the place of l.
func MulUpper(dst, l, b *Dense) { mulTriangle("MulUpper", dst, l, b, true) }

func mulTriangle(op string, dst, l, b *Dense, upper bool) {
	n, m := l.rows, b.cols
	if l.cols != n || n != b.rows {
		panicShape(op, l.rows, l.cols, b.rows, b.cols)
	}
	dst.destination(op, n, m, l, b)
	dst.Zero()
	if n == 0 || m == 0 {
		return
	}
	size := m * n
	if upper {
		size += n * n
	}
	buf := products.Scratch(size)
	bt, u := (*buf)[:m*n], (*buf)[m*n:]
	f64.Ops.Transpose(n, m, bt, n, b.data, b.stride)
	strip := mulLowerStrip
	if upper {
		transposeLower(u, l)
		strip = mulUpperStrip
	}
	rows := f64.Ops.Rows()
	if w := products.Workers(float64(n)*float64(n)*float64(m), n/rows); w > 1 {
		products.ParallelRows(w, n, rows, func(i0, i1 int) { strip(dst, l, b, bt, u, i0, i1) })
	} else {
		for i := 0; i < n; i += rows {
			strip(dst, l, b, bt, u, i, min(i+rows, n))
		}
	}
	products.Release(buf)
}

// mulLowerStrip computes rows i0 to i1 of l·b, given the transpose bt of b.
func mulLowerStrip(dst, l, b *Dense, bt, _ []float64, i0, i1 int) {
	f64.Ops.Gemm(i1-i0, b.cols, i0, 1, l.data[i0*l.stride:], l.stride, 1, bt, 1, l.rows, dst.data[i0*dst.stride:], dst.stride)
	for i := i0; i < i1; i++ {
		addRows(dst.row(i), l.data[i*l.stride+i0:][:i-i0+1], b.data[i0*b.stride:], b.stride)
	}
}

// mulUpperStrip computes rows i0 to i1 of lᵀ·b, given the transposes bt of b and u of l.
func mulUpperStrip(dst, _, b *Dense, bt, u []float64, i0, i1 int) {
	n := b.rows
	for i := i0; i < i1; i++ {
		addRows(dst.row(i), u[i*n+i:i*n+i1], b.data[i*b.stride:], b.stride)
	}
	if i1 < n {
		f64.Ops.Gemm(i1-i0, b.cols, n-i1, 1, u[i0*n+i1:], n, 1, bt[i1:], 1, n, dst.data[i0*dst.stride:], dst.stride)
	}
}
