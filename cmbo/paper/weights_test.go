package paper

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDistanceWeights(t *testing.T) {
	inf := math.Inf(1)
	e := math.E
	for _, tt := range []struct {
		name    string
		d, want []float64
	}{
		{"nearest at zero, farthest", []float64{0, 2}, []float64{e / (e + 1), 1 / (e + 1)}},
		{"formula", []float64{1, 2, 4}, []float64{math.Exp(0.75), math.Exp(0.5), 1}},
		{"all zero", []float64{0, 0, 0}, []float64{1, 1, 1}},
		{"infinite counts as the farthest", []float64{1, 2, inf}, []float64{math.Exp(0.5), 1, 1}},
		{"all infinite", []float64{inf, inf}, []float64{1, 1}},
		{"zero and infinite", []float64{0, inf}, []float64{e, 1}},
		{"one", []float64{3}, []float64{1}},
	} {
		got := distanceWeights(tt.d)
		var sum, total float64
		for i := range tt.want {
			sum += tt.want[i]
			total += got[i]
		}
		for i := range tt.want {
			require.InDelta(t, tt.want[i]/sum, got[i], 1e-15, tt.name)
		}
		require.InDelta(t, 1, total, 1e-15)
	}
}
