package qmc

import (
	"flag"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
)

// The search for the initial numbers of data.go. Coordinates are settled in
// order, each against all before it, by
//
//	C_j = Σ_{i<j} Σ_{m=1..12} 4^{t_ij(m)}
//
// (see quality for t). The base 4 makes one pair with t + 1 as bad as four with
// t. The idea to choose by two-dimensional projections is that of S. Joe and
// F. Y. Kuo, SIAM J. Sci. Comput. 30 (2008) 2635–2654.
//
// Candidates have to keep property A, and have to leave at least one choice to
// the coordinate after them, for which see admissible. Coordinates of degree s
// have s(s−1)/2 free bits. Up to degree 6 every candidate is tried. Beyond, there
// is a descent from random starts that moves by flipping one or two free bits,
// until trials candidates have been tried.
const (
	depth      = 12 // largest m of the criterion
	exhaustive = 15 // free bits up to which all candidates are tried
	trials     = 1 << 17
	searchSeed = 1
)

var runSearch = flag.Bool("search", false, "repeat the search for all initial numbers (minutes)")

// TestSearch repeats the search behind the table; without -search only for the
// coordinates up to degree 5.
func TestSearch(t *testing.T) {
	var s search
	var source strings.Builder
	for j, want := range directions {
		if freeBits(want) > 10 && !*runSearch {
			break
		}
		got := s.next(best)
		if !slices.Equal(got, want) {
			t.Errorf("coordinate %d: table has %v, the search finds %v", j+1, want, got)
		}
		list := strings.Trim(fmt.Sprint(got), "[]")
		fmt.Fprintf(&source, "\t{%s},\n", strings.ReplaceAll(list, " ", ", "))
	}
	if t.Failed() {
		t.Logf("found:\n%s", &source)
	}
}

// freeBits returns their number in the initial numbers of an element of
// directions.
func freeBits(d []uint16) int { return (len(d) - 1) * (len(d) - 2) / 2 }

// triangle is the leading part of a generator matrix, upper triangular with unit
// diagonal: bit k of row r is digit r (most significant first) of direction
// integer k.
type triangle [depth]uint32

func newTriangle(d []uint16) (a triangle) {
	var m [depth]uint64
	initial(m[:], d)
	for k, v := range m {
		for r := range k + 1 {
			a[r] |= uint32(v>>(k-r)&1) << k
		}
	}
	return a
}

func (a *triangle) inverse() (b triangle) {
	for r := depth - 1; r >= 0; r-- {
		b[r] = 1 << r
		for k := r + 1; k < depth; k++ {
			b[r] ^= b[k] * (a[r] >> k & 1)
		}
	}
	return b
}

func (a *triangle) mul(b *triangle) (c triangle) {
	for r, row := range a {
		for ; row != 0; row &= row - 1 {
			c[r] ^= b[bits.TrailingZeros32(row)]
		}
	}
	return c
}

// pairQuality returns t(m) of two coordinates at index m = 1, …, depth: m less
// the largest k such that for all p + q = k the first p digits of one and the
// first q of the other are independent functions of the m digits of the index.
// The argument is the matrix of one times the inverse of that of the other, which
// is the matrix of one in points renumbered, within each block of 2^m, such that
// the other has the unit matrix. Then independence means that the first q rows
// have full rank in the columns p, …, m−1.
func pairQuality(c *triangle) (t [depth + 1]int) {
	var k [depth + 1]int
	for m := range k {
		k[m] = m
	}
	for p := range depth {
		// Elimination with the first column possible as pivot: the rows are
		// independent in columns p, …, m−1 just when all pivots are below m.
		var echelon [depth]uint32
		last := p - 1 // largest pivot so far
		for q := 0; p+q < depth && last < depth; q++ {
			x, pivot := c[q]>>p<<p, depth
			for x != 0 {
				col := bits.TrailingZeros32(x)
				if echelon[col] == 0 {
					echelon[col], pivot = x, col
					break
				}
				x ^= echelon[col]
			}
			for m := last + 1; m <= pivot; m++ {
				k[m] = min(k[m], p+q)
			}
			last = max(last, pivot)
		}
	}
	for m := range t {
		t[m] = m - k[m]
	}
	return t
}

// leading returns the first digits of the first 64 direction integers, bit k that
// of integer k: a linear recurring sequence, whose first terms, as many as the
// degree, are given.
func leading(poly, first uint64) uint64 {
	s := bits.Len64(poly) - 1
	for k := s; k < 64; k++ {
		first |= uint64(bits.OnesCount64(first>>(k-s)&(poly^1<<s))&1) << k
	}
	return first
}

// search holds the coordinates settled so far. Its zero value holds none.
type search struct {
	n       int
	inverse [MaxDim]triangle
	rows    [MaxDim]uint64 // leading sequences, row i reduced to start at column i
	poly    uint64         // of the latest coordinate

	// For the coordinate under consideration and the one after it: leading
	// sequences with a single 1 among the initial terms, less their projections
	// on the rows.
	basis, later []uint64
}

// next settles a coordinate by choose and returns its element of directions.
// The first one, which has none, is settled before the second.
func (s *search) next(choose func(s *search, d []uint16, r *rand.Rand) bool) []uint16 {
	if s.n == 0 {
		s.rows[0], s.poly, s.n = 1, 2, 1
		a := newTriangle(nil)
		s.inverse[0] = a.inverse()
	}
	s.poly = nextPrimitive(s.poly)
	s.basis, s.later = s.reduced(s.poly), s.reduced(nextPrimitive(s.poly))
	d := make([]uint16, bits.Len64(s.poly))
	d[0] = uint16(s.poly)
	if !choose(s, d, rng.Stream(searchSeed, "qmc: initial numbers", uint64(s.n))) {
		panic(fmt.Sprintf("coordinate %d: no candidate", s.n))
	}
	a := newTriangle(d)
	s.inverse[s.n], s.rows[s.n] = a.inverse(), s.row(d)
	s.n++
	return d
}

func nextPrimitive(poly uint64) uint64 {
	for poly++; !primitive(poly); poly++ {
	}
	return poly
}

func (s *search) reduced(poly uint64) (basis []uint64) {
	for i := range bits.Len64(poly) - 1 {
		x := leading(poly, 1<<i)
		for c, row := range s.rows[:s.n] {
			x ^= row * (x >> c & 1)
		}
		basis = append(basis, x)
	}
	return basis
}

func (s *search) row(d []uint16) (row uint64) {
	for i, m := range d[1:] {
		row ^= s.basis[i] * uint64(m>>i)
	}
	return row
}

// admissible reports whether the initial numbers in d extend property A to this
// coordinate, such that some numbers extend it to the next. Without the second
// condition, random choices in one table of three lead to a coordinate that has no
// such numbers.
func (s *search) admissible(d []uint16) bool {
	row := s.row(d)
	if row>>s.n&1 == 0 {
		return false
	}
	return s.n+1 == MaxDim || slices.ContainsFunc(s.later, func(x uint64) bool {
		return (x^row*(x>>s.n&1))>>(s.n+1)&1 == 1
	})
}

// cost returns C_j of the candidate, or some number not below limit.
func (s *search) cost(d []uint16, limit int64) (sum int64) {
	a := newTriangle(d)
	for i := range s.n {
		c := a.mul(&s.inverse[i])
		for _, t := range pairQuality(&c) {
			sum += 1 << (2 * t)
		}
		sum-- // m = 0
		if sum >= limit {
			break
		}
	}
	return sum
}

// spread puts free bits into the initial numbers: k−1 of them into m_k, above
// its lowest.
func spread(d []uint16, free uint64) {
	for k := range d[1:] {
		d[k+1] = uint16(free&(1<<k-1))<<1 | 1
		free >>= k
	}
}

const never = int64(1) << 62

// best sets the initial numbers in d to the best candidate found, the first of
// several.
func best(s *search, d []uint16, r *rand.Rand) bool {
	width := freeBits(d)
	least, choice, tried := never, uint64(0), 0
	try := func(free uint64, limit int64) int64 {
		tried++
		spread(d, free)
		if !s.admissible(d) {
			return never
		}
		c := s.cost(d, limit)
		if c < least {
			least, choice = c, free
		}
		return c
	}
	if width <= exhaustive {
		for free := range uint64(1) << width {
			try(free, least)
		}
	} else {
		var moves []uint64
		for i := range width {
			moves = append(moves, 1<<i)
			for k := range i {
				moves = append(moves, 1<<i|1<<k)
			}
		}
		for tried < trials {
			free := r.Uint64() & (1<<width - 1)
			c := try(free, never)
			if c == never {
				continue
			}
			for i, failed := 0, 0; failed < len(moves) && tried < trials; i = (i + 1) % len(moves) {
				failed++
				if v := try(free^moves[i], c); v < c {
					free, c, failed = free^moves[i], v, 0
				}
			}
		}
	}
	spread(d, choice)
	return least < never
}

// anyone sets the initial numbers in d at random among the admissible.
func anyone(s *search, d []uint16, r *rand.Rand) bool {
	for range 10000 {
		spread(d, r.Uint64())
		if s.admissible(d) {
			return true
		}
	}
	return false
}
