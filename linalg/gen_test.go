package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// eps is the distance from 1 to the next float64.
const eps = 2 * testutil.Unit

// randDense returns an r×c matrix of standard normal numbers.
func randDense(rng *rand.Rand, r, c int) *Dense {
	return NewDense(r, c, testutil.Normals(rng, r*c))
}

// randSym returns a symmetric matrix of standard normal numbers.
func randSym(rng *rand.Rand, n int) *Sym { return NewSym(n, testutil.Normals(rng, n*n)) }

// inside returns a view with the contents of a in the middle of a larger matrix
// of NaNs, so that reading or writing beside it shows.
func inside(a *Dense) (view Dense, intact func(t *testing.T)) {
	big := NewDense(a.rows+3, a.cols+4, nil)
	for i := range big.data {
		big.data[i] = math.NaN()
	}
	view = big.View(1, 2, a.rows, a.cols)
	view.Copy(a)
	return view, func(t *testing.T) {
		t.Helper()
		for i := range big.rows {
			for j, v := range big.row(i) {
				if (i < 1 || i > a.rows || j < 2 || j >= 2+a.cols) && !math.IsNaN(v) {
					t.Errorf("wrote outside the view, at (%d, %d)", i, j)
				}
			}
		}
	}
}

// naive returns Σ_l a(i,l)·b(l,j) and the same sum of moduli.
func naive(r, c, k int, a, b func(i, j int) float64) (p, abs *Dense) {
	p, abs = NewDense(r, c, nil), NewDense(r, c, nil)
	for i := range r {
		for j := range c {
			for l := range k {
				v := a(i, l) * b(l, j)
				p.data[i*c+j] += v
				abs.data[i*c+j] += math.Abs(v)
			}
		}
	}
	return p, abs
}

// checkProduct compares got with a naive product within 2·γ_{k+extra}·Σ|terms|.
func checkProduct(t *testing.T, what string, got *Dense, r, c, k, extra int, a, b func(i, j int) float64) {
	t.Helper()
	want, abs := naive(r, c, k, a, b)
	if got.rows != r || got.cols != c {
		t.Fatalf("%s: result is %d×%d, want %d×%d", what, got.rows, got.cols, r, c)
	}
	for i := range r {
		for j, v := range got.row(i) {
			if tol := 2 * testutil.Gamma(k+extra) * abs.At(i, j); !(math.Abs(v-want.At(i, j)) <= tol) {
				t.Fatalf("%s: entry (%d, %d) is %g, want %g ± %.2g", what, i, j, v, want.At(i, j), tol)
			}
		}
	}
}

func trans(f func(i, j int) float64) func(i, j int) float64 {
	return func(i, j int) float64 { return f(j, i) }
}

// lowerOf returns the entries of a with zeros above the diagonal.
func lowerOf(a *Dense) func(i, j int) float64 {
	return func(i, j int) float64 {
		if j > i {
			return 0
		}
		return a.At(i, j)
	}
}

// symmetric fails the test unless s equals its transpose bit for bit.
func symmetric(t *testing.T, what string, s *Sym) {
	t.Helper()
	for i := range s.n {
		for j := range i {
			if math.Float64bits(s.At(i, j)) != math.Float64bits(s.At(j, i)) {
				t.Fatalf("%s: (%d, %d) is %g, (%d, %d) is %g", what, i, j, s.At(i, j), j, i, s.At(j, i))
			}
		}
	}
}

// normDiff returns ‖x − y‖ in the Euclidean norm.
func normDiff(x, y []float64) float64 {
	d := make([]float64, len(x))
	for i := range d {
		d[i] = x[i] - y[i]
	}
	return Norm2(d)
}

func within(t *testing.T, what string, got, tol float64) {
	t.Helper()
	if !(got <= tol) {
		t.Errorf("%s: error %.3g, bound %.3g", what, got, tol)
	}
}

// panics returns what f panicked with, nil if it did not.
func panics(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}
