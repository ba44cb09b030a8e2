// Package each makes lists of what each entry of another, or each number, has, and counts entries.
package each

import "slices"

// Of returns what f makes of each entry of a list, in their order, nil of none.
func Of[T, V any](entries []T, f func(T) V) (all []V) {
	all = slices.Grow(all, len(entries))
	for _, e := range entries {
		all = append(all, f(e))
	}
	return all
}

// Below returns what f makes of each number from 0 to n-1, in their order, nil of none.
func Below[V any](n int, f func(i int) V) (all []V) {
	all = slices.Grow(all, n)
	for i := range n {
		all = append(all, f(i))
	}
	return all
}

// Where lists the numbers from 0 to n-1 of which holds is true, nil if there are none.
func Where(n int, holds func(i int) bool) (all []int) {
	for i := range n {
		if holds(i) {
			all = append(all, i)
		}
	}
	return all
}

// Count returns the number of entries of which holds is true.
func Count[T any](entries []T, holds func(T) bool) (n int) {
	for _, e := range entries {
		if holds(e) {
			n++
		}
	}
	return n
}
