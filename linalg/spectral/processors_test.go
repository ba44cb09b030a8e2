package spectral

import (
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// TestProcessors: results do not depend on GOMAXPROCS, bit for bit. The
// threshold of two goroutines is lowered so that small matrices cross it.
func TestProcessors(t *testing.T) {
	defer setDuringTest(&products.ParallelWork, 2000.0)()
	for _, n := range []int{37, 215} {
		rng := testutil.RNG(t)
		a := linalg.NewSym(n, testutil.SPD(rng, n, 1e5))
		g, h := randDense(rng, n, n), randDense(rng, n, n+3)
		results := func() (out [][]float64) {
			keep := func(m ...*linalg.Dense) {
				for _, m := range m {
					out = append(out, append([]float64(nil), data(m)...))
				}
			}
			keepSym := func(s *linalg.Sym) { out = append(out, append([]float64(nil), entries(s)...)) }
			var m linalg.Dense
			var s linalg.Sym
			var e EigenSym
			var d SVD
			var r RootPSD
			if err := e.Factorize(a); err != nil {
				t.Fatal(err)
			}
			e.VectorsTo(&m)
			keep(&m)
			if err := d.PolarTo(&m, g); err != nil {
				t.Fatal(err)
			}
			keep(&m)
			if err := r.SqrtTo(&s, a); err != nil {
				t.Fatal(err)
			}
			keepSym(&s)
			return append(out, []float64{d.NuclearNorm(h)}, e.Values())
		}
		testutil.SameOnProcessors(t, fmt.Sprint("n=", n), results)
	}
}
