package paper

import (
	"context"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestViewFollowsTheLog: whatever points were visited for proposals that were not
// made, those that are kept stand in the order of the log.
func TestViewFollowsTheLog(t *testing.T) {
	v := view{prior: &Prior{index: linalg.NewDense(1, 1, nil), config: &config{workers: 1}}, entries: make(map[string]int)}
	visit := func(seen ...float64) []float64 {
		x := linalg.NewDense(len(seen), 1, seen)
		_, _, err := v.visitData(context.Background(), &cmbo.Data{X: x, Pending: linalg.NewDense(0, 1, nil), Seen: x})
		require.NoError(t, err)
		var out []float64
		for e, p := range v.visited {
			require.Equal(t, e, v.entries[points.Key(p.x)])
			out = append(out, p.x[0])
		}
		require.Len(t, v.entries, len(out))
		return out
	}
	require.Equal(t, []float64{1, 2}, visit(1, 2, 1))
	require.Equal(t, []float64{1, 2, 3, 4}, visit(1, 2, 1, 3, 4))
	require.Equal(t, []float64{1, 2, 3, 4}, visit(1, 2), "the points to come may be the same")
	require.Equal(t, []float64{1, 2, 5}, visit(1, 2, 1, 5))
	require.Equal(t, []float64{1, 2, 5, 4}, visit(1, 2, 1, 5, 4))
	require.Equal(t, []float64{4, 1}, visit(4, 1))
	require.Equal(t, []float64{4, 1}, visit())
}
