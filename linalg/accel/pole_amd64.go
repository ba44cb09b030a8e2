//go:build amd64 && gc && !purego && !noasm

package accel

import "github.com/gocmbo/cmbo/internal/f64"

func (t *kernels) FlushMul(dst, x, y []float64) float64 {
	n := len(dst)
	if n == 0 {
		return 0
	}
	x, y = x[:n], y[:n]
	return t.flushMul(n, &dst[0], &x[0], &y[0])
}

func (t *kernels) FlushChain(rows int, y, m, out []float64, ldo int) {
	n := len(y)
	if rows <= 0 {
		return
	}
	_ = out[(rows-1)*ldo]
	if n == 0 {
		f64.Generic.FlushChain(rows, y, m, out, ldo)
		return
	}
	m = m[:rows*n]
	t.flushChain(rows, n, &y[0], &m[0], &out[0], ldo)
}

func (t *kernels) Scale(x []float64, alpha float64) {
	if len(x) < short {
		f64.Generic.Scale(x, alpha)
		return
	}
	t.scale(len(x), &x[0], alpha)
}

func (t *kernels) Magnitude(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return t.magnitude(len(x), &x[0])
}

func (t *kernels) Axpy4(dst []float64, c0, c1, c2, c3 float64, a0, a1, a2, a3 []float64) {
	n := len(dst)
	if n < short {
		f64.Generic.Axpy4(dst, c0, c1, c2, c3, a0, a1, a2, a3)
		return
	}
	a0, a1, a2, a3 = a0[:n], a1[:n], a2[:n], a3[:n]
	t.axpy4(n, &dst[0], c0, c1, c2, c3, &a0[0], &a1[0], &a2[0], &a3[0])
}

func (t *kernels) AddSquares(dst, x, w, c []float64, ldc int) {
	n, dims := len(dst), len(x)
	if n == 0 || dims == 0 {
		return
	}
	w = w[:dims]
	_ = c[(dims-1)*ldc+n-1]
	t.addSquares(n, &dst[0], dims, &x[0], &w[0], &c[0], ldc)
}

// Transpose leaves what does not fill blocks to the plain loops.
func (t *kernels) Transpose(rows, cols int, dst []float64, ldd int, a []float64, lda int) {
	r, c := rows&^(t.lanes-1), cols&^(t.lanes-1)
	if r <= 0 || c <= 0 {
		f64.Generic.Transpose(rows, cols, dst, ldd, a, lda)
		return
	}
	_ = a[(rows-1)*lda+cols-1]
	_ = dst[(cols-1)*ldd+rows-1]
	t.transpose(r, c, &dst[0], ldd, &a[0], lda)
	if c < cols {
		f64.Generic.Transpose(r, cols-c, dst[c*ldd:], ldd, a[c:], lda)
	}
	if r < rows {
		f64.Generic.Transpose(rows-r, cols, dst[r:], ldd, a[r*lda:], lda)
	}
}
