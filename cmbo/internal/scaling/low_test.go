package scaling

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Values far below the best one are raised to one limit, which does not depend on how
// far they are below it; all others stay as they are.
func TestRaiseLow(t *testing.T) {
	ordinary := []float64{3, 1, 4, 1, 5, 9, 2, 6} // the best 9, the lower median 3
	const limit = 9 - lowWidths*6
	for name, c := range map[string]struct {
		y     []float64
		width float64
		want  []float64
	}{
		"nothing low":             {ordinary, 0, ordinary},
		"at the limit":            {append([]float64{limit}, ordinary...), 0, append([]float64{limit}, ordinary...)},
		"a penalty":               {append([]float64{-1e9}, ordinary...), 0, append([]float64{limit}, ordinary...)},
		"two":                     {append([]float64{-1e300, -1e9}, 3, 1, 4, 1, 5, 9, 3, 6), 0, append([]float64{limit, limit}, 3, 1, 4, 1, 5, 9, 3, 6)},
		"infinite differences":    {append([]float64{-math.MaxFloat64}, ordinary...), 0, append([]float64{limit}, ordinary...)},
		"a wide task":             {append([]float64{-1e9}, ordinary...), 1e9, append([]float64{-1e9}, ordinary...)},
		"known to be wide enough": {append([]float64{-1e9}, ordinary...), 7, append([]float64{9 - lowWidths*7}, ordinary...)},
		"high values":             {append([]float64{1e9}, ordinary...), 0, append([]float64{1e9}, ordinary...)},
		"few values":              {[]float64{0, 1, -1e9}, 0, []float64{0, 1, -1e9}},
		"few of a known width":    {[]float64{0, 1, -1e9}, 2, []float64{0, 1, 1 - lowWidths*2}},
		"two of a known width":    {[]float64{0, -1e9}, 2, []float64{0, -1e9}},
		"half of them alike":      {[]float64{1, 1, 1, 1, 1, 0, 0, 0, -1e9}, 0, []float64{1, 1, 1, 1, 1, 0, 0, 0, 1 - lowWidths}},
		"no width":                {[]float64{1, 1, 1, 1, 1, 1, 1, 1, -1e9}, 0, []float64{1, 1, 1, 1, 1, 1, 1, 1, -1e9}},
		"none":                    {nil, 1, nil},
	} {
		in := slices.Clone(c.y)
		assert.Equal(t, c.want, RaiseLow(c.y, c.width), name)
		assert.Equal(t, in, c.y, "%s: the argument", name)
	}
}
