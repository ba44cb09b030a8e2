package spectral

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// eps is the distance from 1 to the next float64.
const eps = 2 * testutil.Unit

// randDense returns an r×c matrix of standard normal numbers.
func randDense(rng *rand.Rand, r, c int) *linalg.Dense {
	return linalg.NewDense(r, c, testutil.Normals(rng, r*c))
}

// randSym returns a symmetric matrix of standard normal numbers.
func randSym(rng *rand.Rand, n int) *linalg.Sym { return linalg.NewSym(n, testutil.Normals(rng, n*n)) }

// data returns the entries of a matrix that is no view.
func data[M *linalg.Dense | *linalg.Sym](m M) []float64 {
	switch m := any(m).(type) {
	case *linalg.Dense:
		x, _ := m.Raw()
		return x
	case *linalg.Sym:
		return entries(m)
	}
	return nil
}

// symmetric fails the test unless s equals its transpose bit for bit.
func symmetric(t *testing.T, what string, s *linalg.Sym) {
	t.Helper()
	for i := range s.Dim() {
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
	return linalg.Norm2(d)
}

func within(t *testing.T, what string, got, tol float64) {
	t.Helper()
	if !(got <= tol) {
		t.Errorf("%s: error %.3g, bound %.3g", what, got, tol)
	}
}

// setDuringTest sets *p to v and returns a function that restores it.
func setDuringTest[T any](p *T, v T) (restore func()) {
	old := *p
	*p = v
	return func() { *p = old }
}

// poleSum is the quadrature of NuclearNorm for the bidiagonal matrix in d.
func poleSum(d *SVD, p *poleTable) float64 {
	return f64.Ops.PoleSum(d.a2, d.b2, p.s, p.w, make([]float64, 3*len(p.s)))
}
