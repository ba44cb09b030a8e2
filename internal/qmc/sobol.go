package qmc

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// digits is the number of binary digits of a coordinate, and the logarithm of the number of points of a sequence.
const digits = 52

// Sobol is a scrambled Sobol sequence. It serves one goroutine at a time.
type Sobol struct {
	dim int
	n   uint64   // points generated
	x   []uint64 // point n of the first MaxDim coordinates, as integers below 2^digits
	v   []uint64 // direction integers: bit k of the index flips v[k·len(x)+j] in coordinate j

	extra *rand.Rand // of the coordinates beyond MaxDim
}

// New returns the Sobol sequence of dimension dim, scrambled by numbers drawn from rng: a random lower triangular
// matrix over GF(2) multiplies the digits of each coordinate, and a random digital shift is added. It draws the same
// number of values for every call with the same dim. It panics if dim < 1.
//
// The matrices are of the form of J. Matoušek, On the L2-discrepancy for anchored boxes, J.
// Complexity 14 (1998) 527–556; with the shift every point is uniform. They keep all properties of
// the sequence that count points in dyadic boxes. New takes a few microseconds a coordinate.
func New(dim int, rng *rand.Rand) *Sobol {
	if dim < 1 {
		panic(fmt.Sprintf("qmc: New: dimension %d", dim))
	}
	s := unscrambled(dim)
	p := len(s.x)
	for j := range p {
		m := randomLower(rng)
		for k := range digits {
			s.v[k*p+j] = m.apply(s.v[k*p+j])
		}
		s.x[j] = rng.Uint64() >> (64 - digits)
	}
	if dim > p {
		s.extra = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
	}
	return s
}

// unscrambled returns the plain sequence in the first MaxDim coordinates.
func unscrambled(dim int) *Sobol {
	p := min(dim, MaxDim)
	s := &Sobol{dim: dim, x: make([]uint64, p), v: make([]uint64, digits*p)}
	var m [digits]uint64
	for j := range p {
		if j == 0 {
			initial(m[:], nil)
		} else {
			initial(m[:], directions[j-1])
		}
		for k := range digits {
			s.v[k*p+j] = m[k] << (digits - 1 - k)
		}
	}
	return s
}

// initial sets m[k], k = 0, 1, …, to the odd integers m_{k+1} < 2^{k+1} of the coordinate that d, an element of
// directions, describes. Beyond the initial ones given there they follow the recurrence
//
//	m_k = 2·a_1·m_{k−1} ⊕ 4·a_2·m_{k−2} ⊕ … ⊕ 2^s·m_{k−s} ⊕ m_{k−s}
//
// with the coefficients of the polynomial x^s + a_1·x^{s−1} + … + 1 (I. M. Sobol, 1967; in this form P. Bratley and B.
// L. Fox, Algorithm 659, ACM Trans. Math. Softw. 14 (1988) 88–100). An empty d gives the van der Corput sequence.
func initial(m []uint64, d []uint16) {
	if len(d) == 0 {
		for k := range m {
			m[k] = 1
		}
		return
	}
	poly, first := d[0], d[1:]
	s := len(first)
	for k := range m {
		if k < s {
			m[k] = uint64(first[k])
			continue
		}
		m[k] = m[k-s]
		for i := 1; i <= s; i++ {
			m[k] ^= uint64(poly>>(s-i)&1) * m[k-i] << i
		}
	}
}

// Next sets dst, of a number for each dimension, to the next point. It takes one exclusive or per coordinate (I. A.
// Antonov and V. M. Saleev, 1979: the points come in Gray code order, which permutes each block of 2^m points) and does
// not allocate. It panics if the length is wrong or 2^52 points have been taken.
func (s *Sobol) Next(dst []float64) {
	if len(dst) != s.dim {
		panic(fmt.Sprintf("qmc: Next: dst has length %d, want %d", len(dst), s.dim))
	}
	if s.n >= 1<<digits {
		panic("qmc: Next: sequence exhausted")
	}
	for j, x := range s.x {
		dst[j] = unit(x)
	}
	for j := len(s.x); j < s.dim; j++ {
		dst[j] = unit(s.extra.Uint64() >> (64 - digits))
	}
	s.n++
	if k := bits.TrailingZeros64(s.n); k < digits {
		v := s.v[k*len(s.x):][:len(s.x)]
		for j, d := range v {
			s.x[j] ^= d
		}
	}
}

// unit maps an integer below 2^digits to the middle of its interval: the sum is exact, so the result is inside (0, 1).
func unit(x uint64) float64 { return (float64(x) + 0.5) / (1 << digits) }

// lower is a lower triangular matrix over GF(2) with unit diagonal, acting on the digits of an
// integer, most significant first. Column c is an integer whose leading digit is c.
type lower [digits]uint64

func randomLower(rng *rand.Rand) *lower {
	var m lower
	for c := range m {
		top := uint64(1) << (digits - 1 - c)
		m[c] = top | rng.Uint64()&(top-1)
	}
	return &m
}

func (m *lower) apply(x uint64) uint64 {
	var y uint64
	for x != 0 {
		c := bits.LeadingZeros64(x) - (64 - digits)
		y ^= m[c]
		x ^= 1 << (digits - 1 - c)
	}
	return y
}
