package rng

import (
	"math/bits"
	"math/rand/v2"
)

// Stream returns the generator named by seed, label and index, at its start: the PCG-DXSM generator
// of math/rand/v2, period 2^128, seeded with a 128-bit hash of the name.
//
// Two names are the same only if the seeds, the labels and the lists of indices are: the hash
// covers the lengths, so ("a", 1, 2) and ("a", 12) or ("a1", 2) have nothing in common. Different
// names start at unrelated points of one orbit of length 2^128; among 2^32 streams two coincide
// with probability 2^-65, and two whose first 2^40 draws overlap occur with probability 2^-24.
//
// It takes time proportional to the length of the name and allocates only the generator.
func Stream(seed uint64, label string, index ...uint64) *rand.Rand {
	h := hasher{a: 0x243f6a8885a308d3, b: 0x13198a2e03707344} // digits of π
	h.word(seed)
	h.word(uint64(len(label)))
	for len(label) > 0 {
		var w uint64
		n := min(8, len(label))
		for i := range n {
			w |= uint64(label[i]) << (8 * i)
		}
		h.word(w)
		label = label[n:]
	}
	h.word(uint64(len(index)))
	for _, i := range index {
		h.word(i)
	}
	return rand.New(rand.NewPCG(h.sum()))
}

// hasher absorbs 64-bit words into 128 bits of state. The two halves are bijections of the word absorbed, with different
// constants, and each word also meets what the other half made of the words before it.
type hasher struct{ a, b uint64 }

func (h *hasher) word(w uint64) {
	a, b := h.a, h.b
	h.a = mix(a^w) + bits.RotateLeft64(b, 32)
	h.b = mix(b+w*0x9e3779b97f4a7c15) ^ a // 2^64/golden ratio
}

func (h *hasher) sum() (hi, lo uint64) {
	h.word(0xa4093822299f31d0)
	return mix(h.a), mix(h.b)
}

// mix is a bijection of 64 bits in which every input bit flips every output bit with probability
// near one half: the finaliser of SplitMix64, variant 13 of D. Stafford.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
