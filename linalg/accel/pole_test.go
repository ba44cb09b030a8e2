//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
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

// resolveArgs are the slices of one row of the resolvents.
type resolveArgs struct {
	a2, b2, ab       float64
	s, h, x, y, m, w []float64
}

// checkResolve compares the operations on rows of poles with the plain loops. Where
// both round the same operations, none of them fused, the bits are the same. Sums
// are of the same terms, of which checkSum bounds the differences.
func checkResolve(t *testing.T, tab accel.TierTable, a resolveArgs) {
	t.Helper()
	n := len(a.s)
	g, name := f64.Generic, tab.Name
	out := func() []float64 { return guarded(t, make([]float64, n)) }
	h, that, up, tq := guarded(t, a.h), out(), out(), out()
	wantH, wantThat, wantUp, wantTq := append([]float64(nil), a.h...), make([]float64, n), make([]float64, n), make([]float64, n)
	tab.ResolveForward(a.a2, a.b2, a.ab, a.s, h, that, up, tq)
	g.ResolveForward(a.a2, a.b2, a.ab, a.s, wantH, wantThat, wantUp, wantTq)
	mustSame(t, name+" ResolveForward h", h, wantH)
	mustSame(t, name+" ResolveForward that", that, wantThat)
	mustSame(t, name+" ResolveForward up", up, wantUp)
	mustSame(t, name+" ResolveForward tq", tq, wantTq)

	h, wantH = guarded(t, a.h), append([]float64(nil), a.h...)
	tab.ResolveBackward(a.a2, a.b2, a.ab, a.s, h, up, tq)
	g.ResolveBackward(a.a2, a.b2, a.ab, a.s, wantH, wantUp, wantTq)
	mustSame(t, name+" ResolveBackward h", h, wantH)
	mustSame(t, name+" ResolveBackward across", up, wantUp)
	mustSame(t, name+" ResolveBackward rp", tq, wantTq)

	d, wantD := guarded(t, a.x), append([]float64(nil), a.x...)
	terms := make([]term, n)
	sum := tab.ResolveDiagonal(d, a.h, a.s, a.w)
	g.ResolveDiagonal(wantD, a.h, a.s, a.w)
	mustSame(t, name+" ResolveDiagonal", d, wantD)
	for i := range terms {
		terms[i] = term{a.w[i] * (a.x[i] + a.h[i]), wantD[i]}
	}
	checkSum(t, name+" ResolveDiagonal sum", sum, terms...)

	flushed := func(dst, x, y []float64) float64 {
		g.FlushMul(dst, x, y)
		for i, v := range dst {
			terms[i] = term{v, 1}
		}
		return 0
	}
	p, want := out(), make([]float64, n)
	sum = tab.FlushMul(p, a.x, a.y)
	flushed(want, a.x, a.y)
	mustSame(t, name+" FlushMul", p, want)
	checkSum(t, name+" FlushMul sum", sum, terms...)
	for i, v := range p {
		if v != 0 && math.Abs(v) < 0x1p-511 {
			t.Fatalf("%s FlushMul: entry %d is %g", name, i, v)
		}
	}

	const rows, ldo = 3, 2
	m := guarded(t, append(append(append([]float64(nil), a.m...), a.x...), a.w...))
	sums := guarded(t, []float64{0, 7, 0, 7, 0})
	p = guarded(t, a.y)
	tab.FlushChain(rows, p, m, sums, ldo)
	want = append([]float64(nil), a.y...)
	for i := range rows {
		flushed(want, want, m[i*n:(i+1)*n])
		checkSum(t, name+" FlushChain sum", sums[i*ldo], terms...)
	}
	mustSame(t, name+" FlushChain", p, want)
	if sums[1] != 7 || sums[3] != 7 {
		t.Fatalf("%s FlushChain wrote between its results", name)
	}

	p, want = guarded(t, a.x), append([]float64(nil), a.x...)
	tab.ScaleMul(p, a.ab, p, a.y)
	g.ScaleMul(want, a.ab, want, a.y)
	mustSame(t, name+" ScaleMul", p, want)

	finite := true
	for i := range n {
		finite = finite && !math.IsNaN(a.x[i]) && !math.IsNaN(a.y[i])
	}
	if finite {
		p, want = guarded(t, a.y), append([]float64(nil), a.y...)
		for i := range p {
			p[i] = math.Abs(p[i])
			want[i] = p[i]
		}
		tab.MaxAbs(p, a.x)
		g.MaxAbs(want, a.x)
		mustSame(t, name+" MaxAbs", p, want)
	}
	for i := range n {
		for _, f := range []float64{1, 1 + 0x1p-52} {
			limit := math.Abs(a.x[i]) * a.y[i] * f
			if got, want := tab.Reaches(a.x, a.y, limit), g.Reaches(a.x, a.y, limit); got != want {
				t.Fatalf("%s Reaches %g: %v, want %v", name, limit, got, want)
			}
		}
	}
}

func TestResolve(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for n := range 51 {
			positive := func(lo float64) []float64 {
				x := make([]float64, n)
				for i := range x {
					x[i] = math.Pow(10, lo*rng.Float64())
				}
				return guarded(t, x)
			}
			checkResolve(t, tab, resolveArgs{
				a2: rng.Float64(), b2: rng.Float64(), ab: -rng.Float64(),
				s: positive(-30), h: positive(-30), w: positive(-15),
				x: guarded(t, fill(rng, n)), y: guarded(t, fill(rng, n)), m: guarded(t, fill(rng, n)),
			})
			// Factors on either side of the bound for zero.
			checkResolve(t, tab, resolveArgs{
				a2: 1, b2: 1, ab: -1,
				s: positive(-300), h: positive(-300), w: positive(-153),
				x: positive(-160), y: positive(-160), m: positive(-3),
			})
			// All zero: nothing reaches a positive limit.
			z := guarded(t, make([]float64, n))
			if tab.Reaches(z, z, 1e-300) {
				t.Fatalf("n=%d: zero reaches 1e-300", n)
			}
		}
	})
}

func FuzzResolve(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(5+11*i), s)
	}
	f.Fuzz(func(t *testing.T, n8 uint8, raw []byte) {
		n := int(n8 % 45)
		v := &values{raw: raw}
		a := resolveArgs{a2: v.next(), b2: v.next(), ab: v.next()}
		for _, p := range []*[]float64{&a.s, &a.h, &a.x, &a.y, &a.m, &a.w} {
			*p = v.slice(t, n)
		}
		for _, tab := range accel.Tables() {
			checkResolve(t, tab, a)
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
