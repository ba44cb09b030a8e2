//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// same reports whether two numbers have the same bits, all NaNs being one.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

func mustSame(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !same(got[i], want[i]) {
			t.Fatalf("%s: entry %d of %d is %g, want %g", what, i, len(want), got[i], want[i])
		}
	}
}

// checkFlush compares products of rows with the plain loops: entries have the same bits,
// and sums are of the same terms, of which checkSum bounds the differences.
func checkFlush(t *testing.T, tab accel.TierTable, x, y, z, w []float64) {
	t.Helper()
	n := len(x)
	g, name := f64.Generic, tab.Name
	out := func() []float64 { return guarded(t, make([]float64, n)) }
	terms := make([]term, n)
	flushed := func(dst, x, y []float64) float64 {
		g.FlushMul(dst, x, y)
		for i, v := range dst {
			terms[i] = term{v, 1}
		}
		return 0
	}
	p, want := out(), make([]float64, n)
	sum := tab.FlushMul(p, x, y)
	flushed(want, x, y)
	mustSame(t, name+" FlushMul", p, want)
	checkSum(t, name+" FlushMul sum", sum, terms...)
	for i, v := range p {
		if v != 0 && math.Abs(v) < 0x1p-511 {
			t.Fatalf("%s FlushMul: entry %d is %g", name, i, v)
		}
	}

	const rows, ldo = 3, 2
	m := guarded(t, slices.Concat(z, x, w))
	sums := guarded(t, []float64{0, 7, 0, 7, 0})
	p = guarded(t, y)
	tab.FlushChain(rows, p, m, sums, ldo)
	want = slices.Clone(y)
	for i := range rows {
		flushed(want, want, m[i*n:(i+1)*n])
		checkSum(t, name+" FlushChain sum", sums[i*ldo], terms...)
	}
	mustSame(t, name+" FlushChain", p, want)
	if sums[1] != 7 || sums[3] != 7 {
		t.Fatalf("%s FlushChain wrote between its results", name)
	}
}

func TestFlush(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for n := range 51 {
			powers := func(lo float64) []float64 {
				x := make([]float64, n)
				for i := range x {
					x[i] = math.Pow(10, lo*rng.Float64())
				}
				return guarded(t, x)
			}
			normal := func() []float64 { return guarded(t, fill(rng, n)) }
			checkFlush(t, tab, normal(), normal(), normal(), powers(-15))
			// Factors on either side of the bound for zero.
			checkFlush(t, tab, powers(-160), powers(-160), powers(-3), powers(-153))
		}
	})
}

func FuzzFlush(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(5+11*i), s)
	}
	f.Fuzz(func(t *testing.T, n8 uint8, raw []byte) {
		n := int(n8 % 45)
		v := &values{raw: raw}
		x, y, z, w := v.slice(t, n), v.slice(t, n), v.slice(t, n), v.slice(t, n)
		for _, tab := range accel.Tables() {
			checkFlush(t, tab, x, y, z, w)
		}
	})
}

// checkRows checks Axpy4, Scale, Magnitude, DiffDots, Transpose and AddSquares.
func checkRows(t *testing.T, tab accel.TierTable, rows, cols int, next func(n int) []float64) {
	t.Helper()
	dst, c := next(cols), next(4)
	a := [4][]float64{next(cols), next(cols), next(cols), next(cols)}
	got := guarded(t, dst)
	tab.Axpy4(got, c[0], c[1], c[2], c[3], a[0], a[1], a[2], a[3])
	for i := range got {
		checkSum(t, tab.Name+" Axpy4", got[i], term{dst[i], 1}, term{c[0], a[0][i]}, term{c[1], a[1][i]}, term{c[2], a[2][i]}, term{c[3], a[3][i]})
	}

	scaled := guarded(t, dst)
	tab.Scale(scaled, c[0])
	for i, v := range dst {
		if !same(scaled[i], v*c[0]) {
			t.Fatalf("%s Scale: entry %d is %g, want %g", tab.Name, i, scaled[i], v*c[0])
		}
	}
	if got, want := tab.Magnitude(dst), f64.Generic.Magnitude(dst); got != want && (want-want == 0 || got-got == 0) {
		t.Fatalf("%s Magnitude: %g, want %g", tab.Name, got, want)
	}
	diff, sum := tab.DiffDots(a[0], a[1], a[2], a[3], dst)
	diffs, sums := make([]term, cols), make([]term, cols)
	for i := range dst {
		diffs[i] = term{a[1][i] - a[0][i], a[2][i] - a[3][i]}
		sums[i] = term{a[0][i] + a[1][i], dst[i]}
	}
	checkSum(t, tab.Name+" DiffDots", diff, diffs...)
	checkSum(t, tab.Name+" DiffDots sum", sum, sums...)

	lda, ldd := cols+2, rows+3
	m := next(max((rows-1)*lda+cols, 0))
	tr := make([]float64, max((cols-1)*ldd+rows, 0))
	for i := range tr {
		tr[i] = 7
	}
	tr = guarded(t, tr)
	tab.Transpose(rows, cols, tr, ldd, m, lda)
	for j := range tr {
		want := 7.0
		if j%ldd < rows {
			want = m[j%ldd*lda+j/ldd]
		}
		if !same(tr[j], want) {
			t.Fatalf("%s Transpose %d×%d: entry %d is %g, want %g", tab.Name, rows, cols, j, tr[j], want)
		}
	}

	dims := rows % 9
	x, w, pts := next(dims), next(dims), next(max((dims-1)*lda+cols, 0))
	sq := guarded(t, dst)
	tab.AddSquares(sq, x, w, pts, lda)
	terms := make([]term, dims+1)
	for j := range sq {
		terms[dims] = term{dst[j], 1}
		for d := range dims {
			v := (x[d] - pts[d*lda+j]) * w[d]
			terms[d] = term{v, v}
		}
		checkSum(t, tab.Name+" AddSquares", sq[j], terms...)
		// Alone it is what it is in the row.
		one := []float64{dst[j]}
		if dims > 0 {
			tab.AddSquares(one, x, w, pts[j:], lda)
			if !same(one[0], sq[j]) {
				t.Fatalf("%s AddSquares: %g alone, %g in a row", tab.Name, one[0], sq[j])
			}
		}
	}
}

func TestRows(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for rows := range 28 {
			for _, cols := range []int{0, 1, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 40, 64} {
				checkRows(t, tab, rows, cols, func(n int) []float64 { return guarded(t, fill(rng, n)) })
			}
		}
	})
}

func FuzzRows(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(3+6*i), uint8(5+9*i), s)
	}
	f.Fuzz(func(t *testing.T, r8, c8 uint8, raw []byte) {
		v := &values{raw: raw}
		for _, tab := range accel.Tables() {
			checkRows(t, tab, int(r8%28), int(c8%70), func(n int) []float64 { return v.slice(t, n) })
		}
	})
}
