package codec

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

type scores struct {
	A      float64
	Lists  [][]float64
	Named  map[string][]float64
	Nested *scores
	Other  any
	hidden float64
}

func TestJSON(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, v := range map[string]any{
		`null`:               inf,
		`[1, null, null, 2]`: []float64{1, nan, -inf, 2},
		`[]`:                 []float64{},
		`{}`:                 map[string]float64{},
		`{"a": null}`:        map[string]float64{"a": nan},
		`{"A": null, "Lists": null, "Named": null, "Nested": null, "Other": null}`: scores{A: nan, hidden: 1},
		`{"A": 0.1, "Lists": [[null], null, []], "Named": {"a": [1, null], "b": null}, "Nested": null, "Other": "x"}`: scores{A: 0.1,
			Lists: [][]float64{{nan}, nil, {}}, Named: map[string][]float64{"a": {1, inf}, "b": nil}, Other: "x"},
	} {
		b, err := JSON(v)
		require.NoError(t, err)
		require.JSONEq(t, want, string(b))
	}
}
