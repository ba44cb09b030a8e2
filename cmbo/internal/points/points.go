// Package points says when two points are the same, which values are admitted, and
// holds what else the parts of cmbo do with lists of points, the rows of a matrix.
package points

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// MaxValue bounds measured values and variances, so that sums of squares stay finite.
const MaxValue = 1e150

// Admitted reports whether v is a value that MaxValue bounds; NaN is not.
func Admitted(v float64) bool { return math.Abs(v) <= MaxValue }

// Key returns a map key that is equal for equal points; −0 counts as 0.
func Key(x []float64) string {
	b := make([]byte, 0, 8*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v+0))
	}
	return string(b)
}

// Len returns the number of rows of x, 0 for nil.
func Len(x *linalg.Dense) int {
	if x == nil {
		return 0
	}
	n, _ := x.Dims()
	return n
}

// First returns the first n rows of x, on its memory.
func First(x *linalg.Dense, n int) *linalg.Dense {
	_, d := x.Dims()
	v := x.View(0, 0, n, d)
	return &v
}

// Apart returns the values y of those rows of x that lie next to no row of a larger value, in no coordinate farther from it
// than a quarter of the spacing of a lattice of as many rows. It returns nil where these are half of the rows or more, as of
// rows that nothing has chosen, or fewer than eight. A row is compared with those of its cell and of the neighbouring ones:
// cells are as wide as that quarter, by the three coordinates that the rows divide into the most.
func Apart(x *linalg.Dense, y []float64) []float64 {
	order := stat.Order(len(y), func(i, j int) int { return cmp.Compare(y[j], y[i]) })
	_, d := x.Dims()
	next := math.Pow(float64(len(y)), -1/float64(d)) / 4
	wide := next * (1 + 1e-9) // so that rounding takes no row as near as that two cells away
	place := func(i, j int) int64 { return int64(math.Floor(x.At(i, j) / wide)) }
	places, count := make([]int64, len(y)), make([]int, d)
	for j := range count {
		for i := range places {
			places[i] = place(i, j)
		}
		slices.Sort(places)
		count[j] = len(slices.Compact(places))
	}
	along := stat.Order(d, func(j, k int) int { return cmp.Compare(count[k], count[j]) })[:min(d, 3)]
	last, earlier := make(map[int64]int), make([]int, len(y)) // one more than the last row of a cell, and than the one before a row
	kept := make([]int, 0, len(y)/2+1)
	for _, i := range order {
		var cell int64
		for k, j := range along {
			cell += place(i, j) << (21 * k)
		}
		if besides(cell, func(cell int64) bool {
			for k := last[cell]; k > 0; k = earlier[k-1] {
				if within(x.Row(k-1), x.Row(i), next) {
					return true
				}
			}
			return false
		}) {
			continue
		}
		last[cell], earlier[i] = i+1, last[cell]
		if kept = append(kept, i); 2*len(kept) >= len(y) {
			return nil
		}
	}
	if len(kept) < 8 {
		return nil
	}
	return Entries(y, kept)
}

// within reports whether a and b are less than next apart in each coordinate.
func within(a, b []float64, next float64) bool {
	for j, v := range a {
		if math.Abs(v-b[j]) >= next {
			return false
		}
	}
	return true
}

// besides reports whether f holds of a cell of a lattice or of one of its neighbours. Of a cell's three places each has 21 bits.
func besides(cell int64, f func(cell int64) bool) bool {
	for n := range int64(27) {
		if f(cell + n%3 - 1 + (n/3%3-1)<<21 + (n/9-1)<<42) {
			return true
		}
	}
	return false
}

// Pick returns the rows of x listed.
func Pick(x *linalg.Dense, rows []int) *linalg.Dense {
	_, d := x.Dims()
	out := linalg.NewDense(len(rows), d, nil)
	for i, r := range rows {
		copy(out.Row(i), x.Row(r))
	}
	return out
}

// Entries returns the entries of v listed, nil for a nil v.
func Entries[T any](v []T, at []int) []T {
	if v == nil {
		return nil
	}
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = v[k]
	}
	return out
}

// Join returns the rows of all xs, one list after the other. Any of them may be nil or empty.
func Join(xs ...*linalg.Dense) *linalg.Dense {
	n, dim := 0, 0
	for _, x := range xs {
		if Len(x) > 0 {
			n += Len(x)
			_, dim = x.Dims()
		}
	}
	out := linalg.NewDense(n, dim, nil)
	n = 0
	for _, x := range xs {
		for i := range Len(x) {
			copy(out.Row(n), x.Row(i))
			n++
		}
	}
	return out
}

// Distinct returns the rows of all xs, at least one list, without repetitions and in their order.
func Distinct(xs ...*linalg.Dense) *linalg.Dense {
	seen := make(map[string]bool, Len(xs[0]))
	var flat []float64
	for _, x := range xs {
		for i := range Len(x) {
			if key := Key(x.Row(i)); !seen[key] {
				seen[key] = true
				flat = append(flat, x.Row(i)...)
			}
		}
	}
	_, dim := xs[0].Dims()
	return linalg.NewDense(len(seen), dim, flat)
}

// Same returns how many of the first rows of a and b are equal.
func Same(a, b *linalg.Dense) int {
	n := min(Len(a), Len(b))
	for i := range n {
		if !slices.Equal(a.Row(i), b.Row(i)) {
			return i
		}
	}
	return n
}

// Equal reports whether a and b are the same list of points.
func Equal(a, b *linalg.Dense) bool {
	if a == b {
		return true
	}
	_, d := a.Dims()
	_, e := b.Dims()
	n := Len(a)
	return n == Len(b) && d == e && Same(a, b) == n
}

// Places returns the number of each row of x by its Key, the smallest of equal ones.
func Places(x *linalg.Dense) map[string]int {
	at := make(map[string]int, Len(x))
	for i := Len(x) - 1; i >= 0; i-- {
		at[Key(x.Row(i))] = i
	}
	return at
}

// Locate finds each row of x among the rows of set, the first of equal ones; nil if one is not there.
func Locate(x, set *linalg.Dense) []int {
	at := Places(set)
	rows := make([]int, Len(x))
	for r := range rows {
		i, ok := at[Key(x.Row(r))]
		if !ok {
			return nil
		}
		rows[r] = i
	}
	return rows
}

// Sample returns x itself if it has at most n rows, else n of them drawn without
// replacement from the stream of that label, in their order.
func Sample(x *linalg.Dense, n int, seed uint64, label string) *linalg.Dense {
	if Len(x) <= n {
		return x
	}
	idx := rng.Stream(seed, label).Perm(Len(x))[:n]
	slices.Sort(idx)
	return Pick(x, idx)
}

// Sorted returns the rows of x in the order of their first coordinates, those of
// equal ones in that of their second, and so on.
func Sorted(x *linalg.Dense) *linalg.Dense {
	return Pick(x, stat.Order(Len(x), func(a, b int) int { return slices.Compare(x.Row(a), x.Row(b)) }))
}
