package f64_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// FuzzGemm compares the product with a plain triple loop for any finite or
// special values: not-a-number where the loop has it, the same infinities, and
// within the bound of the sum elsewhere.
func FuzzGemm(f *testing.F) {
	f.Add(uint8(3), uint8(4), uint8(5), uint8(0), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(uint8(9), uint8(2), uint8(7), uint8(3), []byte("\x00\x00\x00\x00\x00\x00\xf8\x7f\x00\x00\x00\x00\x00\x00\xf0\x7f"))
	f.Fuzz(func(t *testing.T, m8, n8, k8, mode uint8, raw []byte) {
		m, n, k := int(m8%13), int(n8%13), int(k8%13)
		at := 0
		next := func() float64 {
			if len(raw) < 8 {
				return 1
			}
			v := math.Float64frombits(binary.LittleEndian.Uint64(raw[at%(len(raw)-7):]))
			at += 5
			return v
		}
		ars, acs, brs, bcs := k, 1, n, 1
		if mode&1 != 0 {
			ars, acs = 1, m
		}
		if mode&2 != 0 {
			brs, bcs = 1, k
		}
		a, b, c := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
		for i := range a {
			a[i] = next()
		}
		for i := range b {
			b[i] = next()
		}
		f64.Ops.Gemm(m, n, k, 1, a, ars, acs, b, brs, bcs, c, n)
		for i := range m {
			for j := range n {
				var want, abs float64
				overflow := false // of a product, which a fused sum may avoid
				for l := range k {
					x, y := a[i*ars+l*acs], b[l*brs+j*bcs]
					v := x * y
					overflow = overflow || math.IsInf(v, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0)
					want += v
					abs += math.Abs(v)
				}
				got := c[i*n+j]
				switch {
				case overflow,
					math.IsInf(abs, 1) && !math.IsInf(want, 0) && !math.IsNaN(want),
					abs > math.MaxFloat64/2 && !math.IsInf(abs, 1):
					// A partial sum may or may not overflow.
				case math.IsNaN(want) || math.IsInf(want, 0):
					if got != want && !(math.IsNaN(want) && math.IsNaN(got)) {
						t.Fatalf("(%d, %d): %g, want %g", i, j, got, want)
					}
				case !(math.Abs(got-want) <= 2*testutil.Gamma(k+1)*abs+float64(k)*0x1p-1074):
					t.Fatalf("(%d, %d): %g, want %g", i, j, got, want)
				}
			}
		}
	})
}
