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
