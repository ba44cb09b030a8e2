//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// values makes a stream of numbers of the fuzzer's bytes: any bit pattern, which
// includes NaNs, infinities and denormals.
type values struct {
	raw []byte
	at  int
}

func (v *values) next() float64 {
	if len(v.raw) < 8 {
		return 1
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(v.raw[v.at%(len(v.raw)-7):]))
	v.at += 5
	return x
}

func (v *values) slice(t testing.TB, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v.next()
	}
	return guarded(t, x)
}

// term is one product of a sum.
type term struct{ x, y float64 }

// checkSum compares got with a sum of products, in another order and with or
// without fusing: not-a-number where the sum has it, the same infinities, and
// within twice γ·Σ|terms| elsewhere, to which every term adds a denormal unit
// where it may be rounded to one. Where a partial sum or a product overflows
// although all factors are finite, one order may avoid what another does not:
// nothing is compared.
func checkSum(t *testing.T, what string, got float64, terms ...term) {
	t.Helper()
	var want, abs float64 // abs of the finite terms
	for _, f := range terms {
		v := f.x * f.y
		want += v
		switch {
		case math.IsNaN(v):
		case !math.IsInf(v, 0):
			abs += math.Abs(v)
		case !math.IsInf(f.x, 0) && !math.IsInf(f.y, 0):
			return
		}
	}
	switch {
	case abs > math.MaxFloat64/4:
	case math.IsNaN(want) || math.IsInf(want, 0):
		if got != want && !(math.IsNaN(want) && math.IsNaN(got)) {
			t.Fatalf("%s: %g, want %g", what, got, want)
		}
	case !(math.Abs(got-want) <= 2*testutil.Gamma(len(terms)+2)*abs+float64(len(terms))*0x1p-1073):
		t.Fatalf("%s: %g, want %g", what, got, want)
	}
}

var fuzzSeeds = [][]byte{
	{1, 2, 3, 4, 5, 6, 7, 8},
	[]byte("\x00\x00\x00\x00\x00\x00\xf8\x7f\x00\x00\x00\x00\x00\x00\xf0\x7f"),
	[]byte("\x00\x00\x00\x00\x00\x00\xf0\x3f\x01\x00\x00\x00\x00\x00\x00\x00\x9a\x99\x99\x99\x99\x99\xb9\xbf"),
	[]byte("\x9a\x99\x99\x99\x99\x99\xb9\x3f\x33\x33\x33\x33\x33\x33\x07\xc0\xff\xff\xff\xff\xff\xff\x0f\x00"),
}

func FuzzGemm(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(3+9*i), uint8(4+7*i), uint8(5+6*i), uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, m8, n8, k8, mode uint8, raw []byte) {
		m, n, k := int(m8%37), int(n8%37), int(k8%21)
		v := &values{raw: raw}
		ars, acs, brs, bcs := k, 1, n, 1
		if mode&1 != 0 {
			ars, acs = 1, m
		}
		if mode&2 != 0 {
			brs, bcs = 1, k
		}
		a, b := v.slice(t, m*k), v.slice(t, k*n)
		for _, tab := range accel.Tables() {
			c := guarded(t, make([]float64, m*n))
			tab.Gemm(m, n, k, 1, a, ars, acs, b, brs, bcs, c, n)
			terms := make([]term, k)
			for i := range m {
				for j := range n {
					for l := range k {
						terms[l] = term{a[i*ars+l*acs], b[l*brs+j*bcs]}
					}
					checkSum(t, tab.Name, c[i*n+j], terms...)
				}
			}
		}
	})
}

// FuzzTrsm compares with the plain loops for a well-conditioned L and any X: not
// finite in the same places, else within a bound for the two solutions that each
// has a small backward error. With l_jj = 2 and |l_jk| ≤ 1/n row by row, and column
// by column, ‖|L⁻¹||L|‖ ≤ 3.
func FuzzTrsm(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(1+12*i), uint8(4+9*i), s)
	}
	f.Fuzz(func(t *testing.T, m8, n8 uint8, raw []byte) {
		m, n := int(m8%71), int(n8%41)
		v := &values{raw: raw}
		l := make([]float64, n*n)
		for i := range n {
			for j := range i {
				l[i*n+j] = math.Cos(float64(3*i+j)) / float64(n)
			}
			l[i*n+i] = 2
		}
		l = guarded(t, l)
		x := v.slice(t, m*n)
		want := append([]float64(nil), x...)
		f64.Generic.Trsm(m, n, want, n, l, n)
		for _, tab := range accel.Tables() {
			got := guarded(t, x)
			tab.Trsm(m, n, got, n, l, n)
			compareSolves(t, tab.Name+" Trsm", m, n, x, got, want, func(j int) int { return j })
		}
		copy(want, x)
		f64.Generic.TrsmBack(m, n, want, n, l, n)
		for _, tab := range accel.Tables() {
			got := guarded(t, x)
			tab.TrsmBack(m, n, got, n, l, n)
			compareSolves(t, tab.Name+" TrsmBack", m, n, x, got, want, func(j int) int { return n - 1 - j })
		}
	})
}

// compareSolves compares two solutions, of which unknown at(0) comes first, at(1)
// next, and so on.
func compareSolves(t *testing.T, what string, m, n int, x, got, want []float64, at func(j int) int) {
	t.Helper()
	for i := range m {
		var scale float64
	unknowns:
		for j := range n {
			o := i*n + at(j)
			g, w := got[o], want[o]
			scale = max(scale, math.Abs(w))
			switch {
			case scale > math.MaxFloat64/1e6 && !math.IsInf(scale, 1):
				// Overflows may or may not be avoided from here on.
				break unknowns
			case math.IsNaN(scale) && !math.IsNaN(w), math.IsInf(x[o], 0):
			case math.IsNaN(w) || math.IsInf(w, 0):
				if g != w && !(math.IsNaN(w) && math.IsNaN(g)) {
					t.Fatalf("%s, %d×%d: (%d, %d) is %g, want %g", what, m, n, i, at(j), g, w)
				}
			case !(math.Abs(g-w) <= 6*testutil.Gamma(n+3)*scale+float64(4*n)*0x1p-1073):
				t.Fatalf("%s, %d×%d: (%d, %d) is %g, want %g", what, m, n, i, at(j), g, w)
			}
		}
	}
}

func FuzzPasses(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(5+9*i), uint8(7+8*i), s)
	}
	f.Fuzz(func(t *testing.T, m8, n8 uint8, raw []byte) {
		m, n := int(m8%25), int(n8%35)
		v := &values{raw: raw}
		a := v.slice(t, n*n)
		vv, w, x := v.slice(t, n), v.slice(t, n), v.slice(t, n)
		for _, tab := range accel.Tables() {
			got, y := guarded(t, a), guarded(t, make([]float64, n))
			tab.SymPass(n, got, n, vv, w, x, y)
			terms := make([]term, n)
			for i := range n {
				for j := range n {
					if j > i {
						terms[j] = term{got[j*n+i], x[j]}
						continue
					}
					terms[j] = term{got[i*n+j], x[j]}
					checkSum(t, tab.Name+" SymPass A", got[i*n+j], term{a[i*n+j], 1}, term{-vv[i], w[j]}, term{-w[i], vv[j]})
				}
				checkSum(t, tab.Name+" SymPass y", y[i], terms...)
			}
		}
		if n == 0 {
			return
		}
		a = v.slice(t, m*n)
		u, s, z, p := v.slice(t, m), v.slice(t, m), v.slice(t, n), v.slice(t, n)
		vv = v.slice(t, n)
		g := v.next()
		for _, tab := range accel.Tables() {
			got, r := guarded(t, a), guarded(t, make([]float64, n))
			y, c := guarded(t, make([]float64, m)), guarded(t, make([]float64, m))
			tab.BidiagPass(m, n, got, n, u, z, s, vv, p, g, y, c, r)
			for i := range m {
				terms := make([]term, n)
				for j := range n {
					terms[j] = term{got[i*n+j], p[j]}
					checkSum(t, tab.Name+" BidiagPass A", got[i*n+j], term{a[i*n+j], 1}, term{-u[i], z[j]}, term{-s[i], vv[j]})
				}
				checkSum(t, tab.Name+" BidiagPass y", y[i], terms...)
				checkSum(t, tab.Name+" BidiagPass c", c[i], term{got[i*n], 1}, term{g, y[i]})
			}
			for j := range n {
				terms := make([]term, m)
				for i := range m {
					terms[i] = term{got[i*n+j], c[i]}
				}
				checkSum(t, tab.Name+" BidiagPass r", r[j], terms...)
			}
		}
	})
}

func FuzzVectors(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(5+19*i), s)
	}
	f.Fuzz(func(t *testing.T, n8 uint8, raw []byte) {
		n := int(n8 % 83)
		v := &values{raw: raw}
		x, y, alpha := v.slice(t, n), v.slice(t, n), v.next()
		for _, tab := range accel.Tables() {
			terms := make([]term, n)
			for i := range n {
				terms[i] = term{x[i], y[i]}
			}
			checkSum(t, tab.Name+" Dot", tab.Dot(x, y), terms...)
			d := guarded(t, y)
			tab.Axpy(d, alpha, x)
			for i := range n {
				checkSum(t, tab.Name+" Axpy", d[i], term{y[i], 1}, term{alpha, x[i]})
			}
		}
	})
}

// FuzzPoleSum compares with the plain loops for positive arguments of many
// magnitudes. Every step of the recurrence is a sum of positive terms with fewer
// than ten roundings.
func FuzzPoleSum(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(5+7*i), uint8(1+9*i), s)
	}
	f.Fuzz(func(t *testing.T, n8, np8 uint8, raw []byte) {
		n, np := int(n8%40), int(np8%40)
		v := &values{raw: raw}
		positive := func(n int) []float64 {
			x := v.slice(t, n)
			for i := range x {
				// 2^e for e in ±64, times 1 to 2.
				b := math.Float64bits(x[i])
				x[i] = math.Float64frombits((1023-64+b>>52%128)<<52 | b&(1<<52-1))
			}
			return x
		}
		a2, b2, s, w := positive(n), positive(max(n-1, 0)), positive(np), positive(np)
		work := make([]float64, 3*np)
		want := f64.Generic.PoleSum(a2, b2, s, w, work)
		for _, tab := range accel.Tables() {
			if got := tab.PoleSum(a2, b2, s, w, work); !(math.Abs(got-want) <= 2*testutil.Gamma(10*n+np+3)*want) {
				t.Fatalf("%s: %g, want %g", tab.Name, got, want)
			}
		}
	})
}
