package multivariate

import (
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestWorkspacesDoNotAllocate covers the methods on kept memory that have no such
// test beside their other ones, on sizes below that of two goroutines.
func TestWorkspacesDoNotAllocate(t *testing.T) {
	rng := testutil.RNG(t)
	p, q := randomNormal(rng, 40, 50), randomNormal(rng, 40, 50)
	lp, _, err := p.Factor()
	if err != nil {
		t.Fatal(err)
	}
	lq, _, err := q.Factor()
	if err != nil {
		t.Fatal(err)
	}
	var w Workspace
	for name, f := range map[string]func(){
		"W2":               func() { _, _ = w.W2(p, q) },
		"W2Squared":        func() { _, _ = w.W2Squared(p, q) },
		"W2SquaredFactors": func() { _, _ = w.W2SquaredFactors(p.Mean(), lp, q.Mean(), lq) },
		"Jeffreys":         func() { _, _ = w.Jeffreys(p, q, 1e-6) },
	} {
		t.Run(name, func(t *testing.T) { testutil.ZeroAlloc(t, f) })
	}
}
