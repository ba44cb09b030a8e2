package spectral

import (
	"math"
	"runtime"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// TestZeroAlloc: with destinations and receivers that have seen the size, no
// operation allocates, below the size of two goroutines and above it on one.
func TestZeroAlloc(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, n := range []int{9, 70, 210} {
		if n > 100 && testing.Short() {
			break
		}
		rng := testutil.RNG(t)
		a := linalg.NewSym(n, testutil.SPD(rng, n, 1e6))
		half := linalg.NewSym(n, nil) // singular
		for i := range n / 2 {
			half.Set(i, i, 1)
		}
		g := randDense(rng, n, n)
		y := make([]float64, n)
		var m linalg.Dense
		var s linalg.Sym
		var e EigenSym
		var d SVD
		var r RootPSD
		for name, f := range map[string]func(){
			"EigenValues":     func() { _ = e.FactorizeValues(a) },
			"Eigen":           func() { _ = e.Factorize(a); e.VectorsTo(&m); e.FuncTo(&s, math.Abs) },
			"NuclearNorm":     func() { d.NuclearNorm(g) },
			"SingularValues":  func() { _ = d.SingularValues(y, g) },
			"PolarTo":         func() { _ = d.PolarTo(&m, g) },
			"SqrtTo":          func() { _ = r.SqrtTo(&s, a) },
			"SqrtTo singular": func() { _ = r.SqrtTo(&s, half) },
		} {
			t.Run(name, func(t *testing.T) { testutil.ZeroAlloc(t, f) })
		}
	}
}
