//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// TestInstalled: the best tier is in force, shown by a sum that fused operations
// give and others do not.
func TestInstalled(t *testing.T) {
	tabs := accel.Tables()
	if len(tabs) == 0 {
		if accel.Tier() != "none" {
			t.Errorf("tier %q on a processor without any", accel.Tier())
		}
		t.Skip("no tier on this processor")
	}
	if accel.Tier() != tabs[0].Name {
		t.Errorf("tier %q, want %q", accel.Tier(), tabs[0].Name)
	}
	// (1+ε)² − (1+2ε) is ε² if the square is not rounded.
	const eps = 0x1p-30
	n := 16
	a, b, c := make([]float64, n), make([]float64, n*n), make([]float64, n)
	a[0], b[0] = -(1 + 2*eps), 1
	a[1], b[n] = 1+eps, 1+eps
	f64.Ops.Gemm(1, n, n, 1, a, n, 1, b, n, 1, c, n)
	if want := math.Ldexp(1, -60); c[0] != want {
		t.Errorf("a fused sum is %g, want %g", c[0], want)
	}
}
