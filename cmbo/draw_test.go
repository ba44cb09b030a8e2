package cmbo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
)

// Each row has the largest score with a probability in proportion to the square of its distance, and one that was asked for
// never.
func TestDrawByDistance(t *testing.T) {
	r := rng.Stream(1, t.Name())
	distances, n := []float64{0, 1, 2, 0.5, 3}, 20000
	counts := make([]float64, len(distances))
	for range n {
		scores := append([]float64(nil), distances...)
		drawByDistance(scores, r)
		largest := 0
		for i, s := range scores {
			if s > scores[largest] {
				largest = i
			}
		}
		counts[largest]++
	}
	for i, d := range distances {
		p := d * d / 14.25
		require.InDelta(t, p, counts[i]/float64(n), 4*math.Sqrt(p*(1-p)/float64(n)), "%d", i)
	}
}
