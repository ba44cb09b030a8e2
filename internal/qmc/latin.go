package qmc

import (
	"math/bits"
	"math/rand/v2"
)

// latin is one coordinate of an extensible Latin hypercube: the van der Corput
// sequence, scrambled as the others are, taken in an order of its own. The order
// permutes each block of indices 2^m, …, 2^(m+1) − 1 in itself, which leaves the
// first 2^m points the set they were.
type latin struct {
	shift uint64
	v     [digits]uint64 // bit k of the index flips v[k]
	key   [rounds]uint64
}

const rounds = 4

func newLatin(rng *rand.Rand) latin {
	var l latin
	m := randomLower(rng)
	for k := range l.v {
		l.v[k] = m[k] // digit k of the radical inverse is bit k of the index
	}
	l.shift = rng.Uint64() >> (64 - digits)
	for r := range l.key {
		l.key[r] = rng.Uint64()
	}
	return l
}

// at returns coordinate i as an integer below 2^digits.
func (l *latin) at(i uint64) uint64 {
	if i > 1 {
		m := bits.Len64(i) - 1
		top := uint64(1) << m
		i = top | l.permute(i^top, m)
	}
	x := l.shift
	for ; i != 0; i &= i - 1 {
		x ^= l.v[bits.TrailingZeros64(i)]
	}
	return x
}

// permute maps the integers below 2^m one to one onto themselves. Each round is
// an affine map with odd factor, which carries low bits upwards, and an
// exclusive or with the upper half, which carries them back.
func (l *latin) permute(i uint64, m int) uint64 {
	mask := uint64(1)<<m - 1
	for _, k := range l.key {
		i = (i*(k|1) + k>>32) & mask
		i ^= i >> ((m + 1) / 2)
		i ^= k >> 7 & mask
	}
	return i
}
