package each

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOf: entries keep their order, and of none there is nil, which JSON and the codec tell from an empty list.
func TestOf(t *testing.T) {
	length := func(s string) int { return len(s) }
	require.Equal(t, []int{3, 1, 2}, Of([]string{"abc", "d", "ef"}, length))
	require.Nil(t, Of(nil, length))
	require.Nil(t, Of([]string{}, length))
}

func TestBelow(t *testing.T) {
	square := func(i int) int { return i * i }
	require.Equal(t, []int{0, 1, 4, 9}, Below(4, square))
	require.Nil(t, Below(0, square))
}

func TestWhere(t *testing.T) {
	odd := func(i int) bool { return i%2 == 1 }
	require.Equal(t, []int{1, 3}, Where(5, odd))
	require.Nil(t, Where(1, odd))
}

func TestCount(t *testing.T) {
	negative := func(v float64) bool { return v < 0 }
	require.Equal(t, 1, Count([]float64{-1, 0, 2}, negative))
	require.Zero(t, Count(nil, negative))
}
