package exactsum

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

const (
	fraction  = 52 // a sum counts multiples of 2^-fraction
	magnitude = 45 // a term is less than 2^magnitude in size

	// MaxTerm bounds the size of an entry of a term, which must be less.
	MaxTerm = 1 << magnitude
	// MaxTerms is the number of terms of a Sum, at most: so many of the largest have a
	// sum below 2^75, or 2^127 multiples of 2^-52.
	MaxTerms = 1<<(127-fraction-magnitude) - 1
)

// A RangeError is a term with an entry that is not a number or not below MaxTerm in size.
type RangeError struct {
	Index int // of the entry
	Value float64
}

// Error says which entry it is, and the bound.
func (e *RangeError) Error() string {
	return fmt.Sprintf("entry %d is %g, and exact sums take numbers below 2^%d ≈ %.3g in size",
		e.Index, e.Value, magnitude, float64(MaxTerm))
}

// A CountError is a Sum of more than MaxTerms terms.
type CountError struct{ Terms int64 }

// Error says how many terms there would be, and how many may be.
func (e *CountError) Error() string {
	return fmt.Sprintf("an exact sum of %d terms; it takes at most %d", e.Terms, MaxTerms)
}

// entry is an integer of 128 bits in two's complement.
type entry struct{ lo, hi uint64 }

func (e *entry) add(o entry) {
	var carry uint64
	e.lo, carry = bits.Add64(e.lo, o.lo, 0)
	e.hi, _ = bits.Add64(e.hi, o.hi, carry)
}

// abs returns the size of e, without a sign.
func (e entry) abs() entry {
	if int64(e.hi) < 0 {
		e = entry{^e.lo, ^e.hi}
		e.add(entry{lo: 1})
	}
	return e
}

// A Sum is a sum of lists of the same length, entry by entry. It serves one goroutine at a time.
type Sum struct {
	terms   int64
	entries []entry
}

// New returns the sum of no lists of n entries.
func New(n int) *Sum { return &Sum{entries: make([]entry, n)} }

// Terms returns the number of lists added.
func (s *Sum) Terms() int64 { return s.terms }

// Add adds a list that is 0 but for the entries at, each of which is named once, and which are v, each rounded to the
// nearest multiple of 2⁻⁵², to even where two are as near. It fails with a *RangeError or a *CountError, changing nothing,
// and panics if at and v have other lengths or at names no entry. It takes O(len(v)) time and does not allocate.
func (s *Sum) Add(at []int, v []float64) error {
	if len(v) != len(at) {
		panic(fmt.Sprintf("exactsum: Add: %d numbers for %d entries", len(v), len(at)))
	}
	const bound = (1023 + magnitude) << 52 // the bits of MaxTerm; those of infinities and NaN are larger
	for i, x := range v {
		if math.Float64bits(x)&^(1<<63) >= bound {
			return &RangeError{at[i], x}
		}
	}
	if s.terms >= MaxTerms {
		return &CountError{s.terms + 1}
	}
	s.terms++
	for i, x := range v {
		s.entries[at[i]].add(multiple(x))
	}
	return nil
}

// multiple returns x in multiples of 2^-fraction, rounded to nearest even, for |x| < MaxTerm.
// The whole part of x and the rest are exact, and so is their product with the power of two.
func multiple(x float64) entry {
	whole := int64(x)
	rest := int64(math.RoundToEven((x - float64(whole)) * (1 << fraction)))
	lo, carry := bits.Add64(uint64(whole)<<fraction, uint64(rest), 0)
	return entry{lo, uint64(whole>>(64-fraction)) + uint64(rest>>63) + carry}
}

// Merge adds the lists of o, which stays as it is. It fails with a *CountError, changing
// nothing, and panics if o has another number of entries.
func (s *Sum) Merge(o *Sum) error {
	if len(o.entries) != len(s.entries) {
		panic(fmt.Sprintf("exactsum: Merge: %d entries to a sum of %d", len(o.entries), len(s.entries)))
	}
	if o.terms > MaxTerms-s.terms {
		return &CountError{s.terms + o.terms}
	}
	s.terms += o.terms
	for i, t := range o.entries {
		s.entries[i].add(t)
	}
	return nil
}

// At returns entry i, rounded to the nearest float64.
func (s *Sum) At(i int) float64 {
	size := s.entries[i].abs()
	lo, hi := size.lo, size.hi
	up := 0
	if hi != 0 {
		// The upper 64 of the bits, the last of which stands for all below it: the
		// conversion then rounds as it would round all.
		n := bits.LeadingZeros64(hi)
		up = 64 - n
		rest := lo << n
		lo = hi<<n | lo>>up
		if rest != 0 {
			lo |= 1
		}
	}
	x := math.Ldexp(float64(lo), up-fraction)
	if int64(s.entries[i].hi) < 0 {
		return -x
	}
	return x
}

// Append appends the sum in a binary form: the numbers of terms and entries as varints,
// and 16 bytes an entry. Equal sums have equal bytes.
func (s *Sum) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(s.terms))
	b = binary.AppendUvarint(b, uint64(len(s.entries)))
	for _, e := range s.entries {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, e.lo), e.hi)
	}
	return b
}

// Decode reads a sum of n entries that Append wrote at the beginning of b, and returns
// what follows it. It takes no memory for a sum that b does not hold.
func Decode(b []byte, n int) (s *Sum, rest []byte, err error) {
	terms, used := binary.Uvarint(b)
	if used <= 0 {
		return nil, nil, fmt.Errorf("exactsum: no number of terms")
	}
	b = b[used:]
	count, used := binary.Uvarint(b)
	if used <= 0 || count != uint64(n) {
		return nil, nil, fmt.Errorf("exactsum: a sum of %d entries in the place of one of %d", count, n)
	}
	b = b[used:]
	switch {
	case terms > MaxTerms:
		return nil, nil, fmt.Errorf("exactsum: a sum of %d terms; none has more than %d", terms, MaxTerms)
	case n > len(b)/16:
		return nil, nil, fmt.Errorf("exactsum: a sum of %d entries in %d bytes", n, len(b))
	}
	s = &Sum{terms: int64(terms), entries: make([]entry, n)}
	for i := range s.entries {
		s.entries[i] = entry{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
		b = b[16:]
		most := uint64(s.terms) << (magnitude + fraction - 64) // the upper half; the lower one is 0
		if e := s.entries[i].abs(); e.hi > most || e.hi == most && e.lo > 0 {
			return nil, nil, fmt.Errorf("exactsum: entry %d is larger than any sum of %d terms", i, terms)
		}
	}
	return s, b, nil
}
