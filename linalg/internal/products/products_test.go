package products

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParallelRowsPanics: a panic in another goroutine arrives in the caller's.
func TestParallelRowsPanics(t *testing.T) {
	for bad := range 4 {
		require.Panics(t, func() {
			ParallelRows(2, 8, 2, func(lo, hi int) {
				if lo == 2*bad {
					panic("shape")
				}
			})
		}, "range %d", bad)
	}
}
