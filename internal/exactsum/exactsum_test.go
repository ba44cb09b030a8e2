package exactsum

import (
	"math"
	"math/big"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

// exact is a sum in 200-bit arithmetic of terms rounded to multiples of 2^-52.
type exact []*big.Float

func newExact(n int) exact {
	e := make(exact, n)
	for i := range e {
		e[i] = new(big.Float).SetPrec(200)
	}
	return e
}

func (e exact) add(v []float64) {
	for i, x := range v {
		// Adding and taking off 3·2^199 of the quantum's unit leaves no bit below it, and
		// rounds to nearest even.
		t := new(big.Float).SetPrec(200).SetMantExp(big.NewFloat(1.5), 200-1-52)
		r := new(big.Float).SetPrec(200).Add(new(big.Float).SetPrec(200).SetFloat64(x), t)
		e[i].Add(e[i], r.Sub(r, t))
	}
}

// draw returns terms of all sizes, ties of the rounding and zeros among them.
func draw(r interface {
	Float64() float64
	IntN(int) int
}, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		x := math.Ldexp(r.Float64()-0.5, r.IntN(115)-70)
		switch r.IntN(8) {
		case 0:
			x = math.Ldexp(float64(r.IntN(2000)-1000)+0.5, -52)
		case 1:
			x = math.Copysign(0, x)
		case 2:
			x = math.Copysign(math.Nextafter(MaxTerm, 0), x)
		}
		v[i] = x
	}
	return v
}

// all names the entries of a list.
func all(v []float64) []int {
	at := make([]int, len(v))
	for i := range at {
		at[i] = i
	}
	return at
}

// add adds all entries of a list.
func (s *Sum) add(v []float64) error { return s.Add(all(v), v) }

// TestSum: whatever tree merges the terms, entries are those of 200-bit arithmetic,
// rounded once, and bytes are equal.
func TestSum(t *testing.T) {
	r := rng.Stream(1, "exact sums")
	const entries = 40
	for range 20 {
		terms := 1 + r.IntN(200)
		want := newExact(entries)
		var list [][]float64
		for range terms {
			v := draw(r, entries)
			list = append(list, v)
			want.add(v)
		}
		var bytes []byte
		for range 5 {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			var parts []*Sum
			for i := 0; i < len(list); {
				s := New(entries)
				for range r.IntN(5) {
					if i < len(list) {
						require.NoError(t, s.add(list[i]))
						i++
					}
				}
				parts = append(parts, s)
			}
			for len(parts) > 1 { // a random tree
				i := r.IntN(len(parts) - 1)
				require.NoError(t, parts[i].Merge(parts[i+1]))
				parts = append(parts[:i+1], parts[i+2:]...)
			}
			s := parts[0]
			require.EqualValues(t, terms, s.Terms())
			for i := range entries {
				f, _ := want[i].Float64()
				require.Equal(t, f, s.At(i), "entry %d of %d terms", i, terms)
			}
			b := s.Append(nil)
			if bytes == nil {
				bytes = b
			}
			require.Equal(t, bytes, b)
			again, rest, err := Decode(append(b, 7), entries)
			require.NoError(t, err)
			require.Equal(t, []byte{7}, rest)
			require.Equal(t, s, again)
		}
	}
}

// TestAtRoundsOnce holds At against the rounding of 128-bit integers.
func TestAtRoundsOnce(t *testing.T) {
	r := rng.Stream(1, "128 bits")
	for range 20000 {
		e := entry{r.Uint64(), r.Uint64()}
		if k := r.IntN(130); k < 64 {
			e.hi = uint64(int64(e.hi) >> k)
		} else {
			e.hi = uint64(int64(e.hi) >> 63)
			e.lo >>= k - 64&63
		}
		if r.IntN(4) == 0 {
			e.lo = uint64(r.IntN(3)) << 63
		}
		v := new(big.Int).SetInt64(int64(e.hi))
		v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(e.lo))
		want, _ := new(big.Float).SetPrec(200).SetInt(v).Float64()
		s := Sum{entries: []entry{e}}
		require.Equal(t, math.Ldexp(want, -fraction), s.At(0), "%v", e)
	}
}

// TestSumRefuses: what is out of range is refused by itself, and changes nothing.
func TestSumRefuses(t *testing.T) {
	s := New(3)
	require.NoError(t, s.add([]float64{1, -2, 3}))
	before := s.Append(nil)
	for n := range before {
		_, _, err := Decode(before[:n], 3)
		require.ErrorContains(t, err, "exactsum: ", "%d of %d bytes", n, len(before))
	}
	for _, x := range []float64{MaxTerm, -MaxTerm, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64} {
		var e *RangeError
		require.ErrorAs(t, s.add([]float64{1, 1, x}), &e)
		require.Equal(t, 2, e.Index)
		require.Equal(t, before, s.Append(nil), "%g", x)
	}
	require.NoError(t, s.add([]float64{0, math.Nextafter(MaxTerm, 0), 0}))

	// Entries that are not named stay.
	sparse, dense := New(3), New(3)
	require.NoError(t, sparse.Add([]int{2, 0}, []float64{5, -0.5}))
	require.NoError(t, dense.add([]float64{-0.5, 0, 5}))
	require.Equal(t, dense, sparse)

	// The largest terms there can be do not overflow.
	full := New(2)
	top := math.Nextafter(MaxTerm, 0)
	require.NoError(t, full.add([]float64{top, -top}))
	for full.terms < 1<<29 {
		require.NoError(t, full.Merge(full))
	}
	half := *full
	half.entries = append([]entry(nil), full.entries...)
	var c *CountError
	require.ErrorAs(t, full.Merge(&half), &c)
	require.EqualValues(t, 1<<30, c.Terms)
	require.Equal(t, top*(1<<29), full.At(0))
	require.Equal(t, -top*(1<<29), full.At(1))
	const most = 1 << (magnitude + fraction - 64) // upper half of what a term is below
	for e, ok := range map[entry]bool{
		{0, most}: true, {1, most}: false, {math.MaxUint64, most - 1}: true,
		{0, -most & math.MaxUint64}: true, {math.MaxUint64, -most & math.MaxUint64}: true, {math.MaxUint64, (-most - 1) & math.MaxUint64}: false,
	} {
		one := &Sum{terms: 1, entries: []entry{e}}
		_, _, err := Decode(one.Append(nil), 1)
		require.Equal(t, ok, err == nil, "%v", e)
	}
	for _, n := range []int{0, 1, 3} { // a sum of another number of entries, whole and without its end
		for _, b := range [][]byte{full.Append(nil), full.Append(nil)[:5], nil} {
			_, _, err := Decode(b, n)
			require.Error(t, err, "%d entries of %v", n, b)
		}
	}
	full.terms = MaxTerms
	require.ErrorAs(t, full.add([]float64{0, 0}), &c)
	require.Panics(t, func() { _ = s.Add([]int{0, 1}, []float64{1}) })
	require.Panics(t, func() { _ = s.Merge(full) })
}

func FuzzDecode(f *testing.F) {
	s := New(2)
	_ = s.add([]float64{1, -math.Pi})
	f.Add(s.Append(nil))
	f.Add(New(2).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, rest, err := Decode(b, 2)
		if err != nil {
			return
		}
		again, _, err := Decode(s.Append(nil), 2)
		require.NoError(t, err)
		require.Equal(t, s, again)
		require.LessOrEqual(t, len(rest), len(b)-34)
		require.NoError(t, New(2).Merge(s))
	})
}

func BenchmarkAdd(b *testing.B) {
	const n = 125_000
	v := draw(rng.Stream(1, "benchmark"), n)
	s, at := New(n), all(v)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Add(at, v); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}
