package bench

import (
	"cmp"
	"strings"
)

// compareKeys orders by space, method, acquisition, split, task and
// repeat, methods by rank.
func compareKeys(rank map[string]int, a, b runKey) int {
	place := func(m string) int {
		if r, ok := rank[m]; ok {
			return r
		}
		return len(rank)
	}
	return cmp.Or(
		strings.Compare(a.space, b.space),
		cmp.Compare(place(a.method), place(b.method)),
		strings.Compare(a.method, b.method),
		strings.Compare(a.acquisition, b.acquisition),
		cmp.Compare(a.split, b.split),
		strings.Compare(a.task, b.task),
		cmp.Compare(a.repeat, b.repeat),
	)
}
