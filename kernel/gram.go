package kernel

import (
	"fmt"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// Gram sets dst to the n×n matrix of k(x_i, x_j), the rows of x being the points.
// dst is resized. For a [Stationary] kernel, scaled or not, it takes one exponential for each
// pair i ≥ j, and nothing is allocated. Any other kernel is evaluated once for each pair.
func Gram(dst *linalg.Sym, k Kernel, x *linalg.Dense) {
	n, _ := x.Dims()
	dst.Resize(n)
	fill(dst.Row, "Gram", k, x, x, true)
	dst.Mirror()
}

// Cross sets dst to the n×m matrix of k(x_i, y_j), the rows of x (n) and y (m)
// being the points. dst is resized and must not be x or y. The cost is as for [Gram].
func Cross(dst *linalg.Dense, k Kernel, x, y *linalg.Dense) {
	n, dim := x.Dims()
	m, dimY := y.Dims()
	if dim != dimY {
		panic(fmt.Sprintf("kernel: Cross: points of dimension %d and %d", dim, dimY))
	}
	dst.Resize(n, m)
	fill(dst.Row, "Cross", k, x, y, false)
}

// fill sets row i of dst to the values of k(x_i, y_j), up to the diagonal if lower.
func fill(dst func(i int) []float64, op string, k Kernel, x, y *linalg.Dense, lower bool) {
	n, dim := x.Dims()
	if variance, _, st, ok := fast(k); ok {
		st.checkDim(op, dim)
		f := st.radial()
		squares(x, y, st.inv, lower, dst, func(row []float64) { f64.Ops.RadialValues(row, row, 1, variance, f) })
		return
	}
	for i := range n {
		xi, row := x.Row(i), dst(i)
		if lower {
			row = row[:i+1]
		}
		for j := range row {
			row[j] = k.Eval(xi, y.Row(j))
		}
	}
}

// Diag sets dst, of length n, to the prior variances k(x_i, x_i) of the rows of x.
func Diag(dst []float64, k Kernel, x *linalg.Dense) {
	n, _ := x.Dims()
	if len(dst) != n {
		panic(fmt.Sprintf("kernel: Diag: dst has length %d, %d points", len(dst), n))
	}
	for i := range dst {
		xi := x.Row(i)
		dst[i] = k.Eval(xi, xi)
	}
}

// fast reports whether k is a Stationary kernel, perhaps scaled any number of
// times, and returns the number of factors and their product.
func fast(k Kernel) (variance float64, factors int, st Stationary, ok bool) {
	variance = 1
	for ; ; factors++ {
		switch u := unwrap(k).(type) {
		case Stationary:
			return variance, factors, u, true
		case scaled:
			variance *= u.variance
			k = u.k
		default:
			return
		}
	}
}
