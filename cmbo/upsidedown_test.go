package cmbo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// rankings are those of tasks that are upright (1) or not (-1), by those left out, with a strength each.
func rankings(signs, strengths []float64, out []int) [][]float64 {
	var ranked [][]float64
	for _, o := range out {
		row := make([]float64, len(signs))
		for i, s := range signs {
			if i != o {
				row[i] = s * signs[o] * strengths[i]
			}
		}
		ranked = append(ranked, row)
	}
	return ranked
}

// Tasks that the others contradict are turned one by one, the clearest first, and speak for the
// others the other way round then; none is turned that is contradicted by less than a deviation of chance.
func TestUpsideDown(t *testing.T) {
	one := []float64{1, 1, 1, 1, -1}
	all := []int{0, 1, 2, 3, 4}
	for _, c := range []struct {
		signs, strengths []float64
		out              []int
		want             []int
	}{
		{one, []float64{1, 1, 1, 1, 1}, all, []int{4}},         // exactly a deviation
		{one, []float64{1, 1, 1, 1, .99}, all, nil},            // less
		{one, []float64{1, 1, 1, 1, 1}, []int{1, 4}, []int{4}}, // told by one of the others
		{one, []float64{1, 1, 1, 1, .5}, []int{0, 1, 4}, nil},  // by two, not enough
		// Told by it alone the others are turned, which are more.
		{one, []float64{3, 3, 3, 3, 3}, []int{4}, nil},
		{one, []float64{3, 3, 3, 3, 3}, []int{3, 4}, []int{4}},
		{one, []float64{1, 1, 1, 1, 1}, []int{0, 1}, []int{4}},
		// Told by both that are upside down the others are turned, and the two agree with each other.
		{[]float64{1, 1, 1, 1, -1, -1}, []float64{3, 3, 3, 3, 3, 3}, []int{4, 5}, []int{4, 5}},
		{[]float64{1, -1}, []float64{2, 2}, []int{0}, []int{1}},
		{[]float64{1, 1, 1}, []float64{2, 2, 2}, []int{0, 1, 2}, nil},
		// Three of ten are contradicted by 5/9 of their strength in the mean; with the first one turned by 7/9.
		{
			[]float64{-1, 1, -1, 1, 1, -1, 1, 1, 1, 1}, []float64{1.3, 2, 1.9, 2, 2, 1.3, 2, 2, 2, 2},
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []int{0, 2, 5},
		},
		{
			[]float64{-1, 1, -1, 1, 1, -1, 1, 1, 1, 1}, []float64{1.3, 2, 1.7, 2, 2, 1.3, 2, 2, 2, 2},
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, nil,
		},
	} {
		var got []int
		for i, down := range upsideDown(len(c.signs), c.out, rankings(c.signs, c.strengths, c.out)) {
			if down {
				got = append(got, i)
			}
		}
		require.Equal(t, c.want, got, "%v %v", c.strengths, c.out)
	}
	require.Empty(t, upsideDown(0, nil, nil))
}
