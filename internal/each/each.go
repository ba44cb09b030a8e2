// Package each makes a list from what each entry of another has.
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
