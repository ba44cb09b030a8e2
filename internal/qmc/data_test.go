package qmc

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestDirections checks the table against what is said of it: all primitive
// polynomials in order of degree and value, odd m_i < 2^i, property A.
func TestDirections(t *testing.T) {
	next := uint64(2)
	for j, d := range directions {
		poly := uint64(d[0])
		if next = nextPrimitive(next); poly != next {
			t.Fatalf("coordinate %d: polynomial %#b, want %#b", j+1, poly, next)
		}
		if s := bits.Len64(poly) - 1; len(d)-1 != s {
			t.Fatalf("coordinate %d: %d numbers for degree %d", j+1, len(d)-1, s)
		}
		for i, m := range d[1:] {
			if m%2 == 0 || m >= 1<<(i+1) {
				t.Errorf("coordinate %d: m_%d = %d", j+1, i+1, m)
			}
		}
	}
	// Property A of I. M. Sobol (1976): the leading digits of the first d
	// direction integers of the first d coordinates form a nonsingular matrix
	// over GF(2).
	var rows [MaxDim][MaxDim]bool
	for j := range rows {
		var d []uint16
		if j > 0 {
			d = directions[j-1]
		}
		var m [MaxDim]uint64
		initial(m[:], d)
		for k, v := range m {
			rows[j][k] = v>>k == 1
		}
	}
	for d := 1; d <= MaxDim; d++ {
		if !nonsingular(rows[:d], d) {
			t.Errorf("property A fails in dimension %d", d)
		}
	}
}

// TestDirectionsGolden pins the numbers that the properties above leave free: a
// change would change every sequence.
func TestDirectionsGolden(t *testing.T) {
	h := fnv.New64a()
	for _, d := range directions {
		for _, v := range d {
			h.Write([]byte{byte(v >> 8), byte(v)})
		}
	}
	if got := h.Sum64(); got != 0xd44de8b31f26d1ab {
		t.Errorf("digest %#x", got)
	}
}

// nonsingular eliminates the leading n×n block over GF(2).
func nonsingular(rows [][MaxDim]bool, n int) bool {
	a := append([][MaxDim]bool(nil), rows...)
	for c := range n {
		p := c
		for p < n && !a[p][c] {
			p++
		}
		if p == n {
			return false
		}
		a[c], a[p] = a[p], a[c]
		for r := c + 1; r < n; r++ {
			if a[r][c] {
				for k := c; k < n; k++ {
					a[r][k] = a[r][k] != a[c][k]
				}
			}
		}
	}
	return true
}

// primitive reports whether x generates the multiplicative group modulo poly
// over GF(2), by walking through its powers.
func primitive(poly uint64) bool {
	s := bits.Len64(poly) - 1
	if s < 1 || poly&1 == 0 {
		return false
	}
	order, x := uint64(1)<<s-1, uint64(1)
	for i := uint64(1); ; i++ {
		x <<= 1
		if x>>s&1 == 1 {
			x ^= poly
		}
		if x == 1 {
			return i == order
		}
		if x == 0 || i > order {
			return false
		}
	}
}

// TestPairs checks two-dimensional projections by counting points. Scrambling does
// not change their quality, and the search kept it good.
func TestPairs(t *testing.T) {
	const m = 10
	s := New(MaxDim, testutil.RNG(t))
	pts := make([]float64, MaxDim<<m)
	fill(s, pts)
	for _, tt := range []struct{ dim, worst int }{{20, 4}, {MaxDim, 6}} {
		if tt.dim > 20 && testing.Short() {
			continue
		}
		worst := 0
		for a := range tt.dim {
			for b := range a {
				worst = max(worst, quality(pts, MaxDim, a, b, m))
			}
		}
		if worst != tt.worst {
			t.Errorf("quality parameter %d in %d coordinates, want %d", worst, tt.dim, tt.worst)
		}
	}
}

// TestPairQuality compares what the search computes by elimination with counts.
func TestPairQuality(t *testing.T) {
	s := New(MaxDim, testutil.RNG(t))
	pts := make([]float64, MaxDim<<depth)
	fill(s, pts)
	// One pair with each value at the largest m, and the first coordinates.
	seen := make(map[int]bool)
	for a := 1; a < MaxDim; a++ {
		for b := range a {
			var d []uint16
			if b > 0 {
				d = directions[b-1]
			}
			x, y := newTriangle(directions[a-1]), newTriangle(d)
			y = y.inverse()
			c := x.mul(&y)
			got := pairQuality(&c)
			if a > 3 && seen[got[depth]] {
				continue
			}
			seen[got[depth]] = true
			for m := range got {
				if want := quality(pts, MaxDim, a, b, m); got[m] != want {
					t.Errorf("coordinates %d and %d, m = %d: t = %d, want %d", b, a, m, got[m], want)
				}
			}
		}
	}
	if len(seen) < 4 {
		t.Errorf("only %d values occur", len(seen))
	}
}

// TestAgainstRandom: without the search, initial numbers that merely keep
// property A do several times worse by the criterion.
func TestAgainstRandom(t *testing.T) {
	total := func(choose func(s *search, d []uint16) bool) (sum int64) {
		var s search
		for s.n < MaxDim {
			s.next(func(s *search, d []uint16, _ *rand.Rand) bool {
				ok := choose(s, d)
				sum += s.cost(d, never)
				return ok
			})
		}
		return sum
	}
	table := total(func(s *search, d []uint16) bool {
		copy(d, directions[s.n-1])
		return s.admissible(d)
	})
	r := testutil.RNG(t)
	for range 10 {
		random := total(func(s *search, d []uint16) bool { return anyone(s, d, r) })
		t.Logf("criterion %d, random %d", table, random)
		if !(3*table < random) {
			t.Errorf("criterion %d, random numbers have %d", table, random)
		}
	}
}

// quality returns the quality parameter t of the first 2^m points in a pair of
// coordinates: the least t for which every dyadic rectangle of area 2^(t−m) holds
// 2^t points.
func quality(pts []float64, dim, a, b, m int) int {
	for q := 0; ; q++ {
		ok := true
		for p := 0; p <= m-q && ok; p++ {
			count := make([]int, 1<<(m-q))
			for i := range 1 << m {
				u := int(pts[i*dim+a] * float64(int(1)<<p))
				v := int(pts[i*dim+b] * float64(int(1)<<(m-q-p)))
				count[u<<(m-q-p)|v]++
			}
			for _, c := range count {
				ok = ok && c == 1<<q
			}
		}
		if ok {
			return q
		}
	}
}
