package gaussian

import (
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// TestWorkspacesDoNotAllocate covers the methods on kept memory that have no such
// test beside their other ones, on sizes below that of two goroutines.
func TestWorkspacesDoNotAllocate(t *testing.T) {
	rng := testutil.RNG(t)
	x, y := randomPoints(rng, 20, 3), testutil.Normals(rng, 20)
	k := kernel.Scale(1, kernel.Matern32(0.5))
	var l Likelihood
	var c Conditioner
	noise, resid := []float64{0.1}, make([]float64, 21)
	cov := linalg.NewSym(20, testutil.SPD(rng, 20, 50))
	cross := make([]float64, 20)
	for name, f := range map[string]func(){
		"Likelihood.Reset": func() { _ = l.Reset(k, x, y, nil) },
		"Conditioner.Append": func() {
			c.Reset()
			_ = c.Factorize(cov, noise, y)
			_ = c.Append(cross, 100, 0.1, 1)
			_ = c.SetResid(resid)
		},
	} {
		t.Run(name, func(t *testing.T) { testutil.ZeroAlloc(t, f) })
	}
}
