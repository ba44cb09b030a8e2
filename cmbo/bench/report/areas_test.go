package report

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/stretchr/testify/require"
)

// Areas of methods by space, those that learn from a past being the rivals.
func TestCompareAreas(t *testing.T) {
	var rs []bench.Record
	for i := range 4 {
		add := func(space, method string, regret float64) {
			r := flat(space, method, fmt.Sprint("t", i), regret)
			if method == "Random" || method == "Portfolio" {
				r.Acquisition = ""
			}
			rs = append(rs, r)
		}
		for space, by := range map[string]map[string]float64{
			"a": {"base": .1, "RGPE": .05, "Portfolio": .2, "GP": .01, "no-past": .4, "cm-BO:no-hedge": .01, "cm-BO:shared": .01, "Random": .8, "EM-EGP": .02},
			"b": {"base": .2, "RGPE": .5, "Portfolio": .1, "GP": .02, "no-past": .4, "cm-BO:no-hedge": .01, "cm-BO:shared": .01, "Random": .6},
		} {
			for method, regret := range by {
				add(space, method, regret)
			}
		}
		if i == 0 {
			add("b", "EM-EGP", .2) // less than half of the runs
		}
	}
	a, err := CompareAreas(rs, "base")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, a.Spaces)
	require.Equal(t, [][]int{{4, 4}, {4, 4}}, [][]int{a.Tasks, a.Runs})
	require.Equal(t, []string{"base", "cm-BO:no-hedge", "cm-BO:shared", "GP", "Portfolio", "RGPE", "no-past", "Random"}, a.Methods)
	require.Equal(t, []string{"Portfolio", "RGPE"}, a.Rivals)
	require.Equal(t, map[string][]string{"EM-EGP": {"b with EI"}}, a.Absent)
	for k, want := range []struct{ a, b float64 }{{.1, .2}, {.01, .01}, {.01, .01}, {.01, .02}, {.2, .1}, {.05, .5}, {.4, .4}, {.8, .6}} {
		require.InDeltaSlice(t, []float64{want.a, want.b}, a.Mean[k], 1e-12)
		require.InDelta(t, math.Sqrt(want.a/.1*want.b/.2), a.Ratios[k].Mean, 1e-12)
		require.Equal(t, 8, a.Ratios[k].Runs)
	}
	require.InDelta(t, .5, a.Best.Mean, 1e-12, "half of base's in both spaces, of another rival in each")

	// A pair is compared as Ratios compares it where all runs are shared.
	pairs, err := Ratios(slices.DeleteFunc(rs, func(r bench.Record) bool { return r.Method == "EM-EGP" }), "base")
	require.NoError(t, err)
	for _, r := range pairs {
		require.Equal(t, r, a.Ratios[slices.Index(a.Methods, r.Method)])
	}
	alone, err := CompareAreas([]bench.Record{flat("a", "base", "t", .1), flat("a", "GP", "t", .2)}, "base")
	require.NoError(t, err)
	require.Nil(t, alone.Best)
	require.True(t, math.IsNaN(alone.Ratios[1].Lower), "one task has no interval")
}

// The interval of the best rival is that of all equally likely draws of four tasks, one of
// which has two runs, the rival being that of the draw.
func TestBestOfDraws(t *testing.T) {
	areas := [4][3]float64{{.11, .03, .21}, {.08, .23, .05}, {.16, .12, .1}, {.05, .07, .14}} // of base and two rivals
	runs := [4]float64{1, 2, 1, 1}
	var rs []bench.Record
	for i, of := range areas {
		for m, method := range []string{"base", "RGPE", "EM-EGP"} {
			for k := range int(runs[i]) {
				r := flat("a", method, fmt.Sprint("t", i), of[m])
				r.Repeat = k
				rs = append(rs, r)
			}
		}
	}
	a, err := CompareAreas(rs, "base")
	require.NoError(t, err)
	var draws []float64
	for d := range 4 * 4 * 4 * 4 {
		var sum [3]float64
		for k := d + 256; k > 1; k /= 4 {
			for m := range sum {
				sum[m] += areas[k%4][m] * runs[k%4]
			}
		}
		draws = append(draws, min(sum[1], sum[2])/sum[0])
	}
	slices.Sort(draws)
	require.InDelta(t, draws[256*25/1000], a.Best.Lower, 1e-12)
	require.InDelta(t, draws[255-256*25/1000], a.Best.Upper, 1e-12)
	require.InDelta(t, min(.03+2*.23+.12+.07, .21+2*.05+.1+.14)/(.11+2*.08+.16+.05), a.Best.Mean, 1e-12)
	require.Equal(t, 5, a.Best.Runs)
	require.Equal(t, []int{5}, a.Runs)
	require.InDelta(t, (.11+2*.08+.16+.05)/5, a.Mean[0][0], 1e-12)
}

// What cannot be compared is named.
func TestCompareAreasRejects(t *testing.T) {
	for want, rs := range map[string][]bench.Record{
		"base: it has no runs; GP, RGPE have":                     {flat("a", "GP", "t", .1), flat("a", "RGPE", "t", .1)},
		"base: it has less than half of the runs of b":            {flat("a", "base", "t", .1), flat("a", "GP", "t", .1), flat("b", "GP", "t", .1)},
		"base: no other method has half of the runs":              {flat("a", "base", "t", .1), flat("a", "GP", "t", .1), flat("b", "base", "t", .1)},
		"a: there is no run that all of GP, base have":            {flat("a", "base", "t", .1), flat("a", "GP", "u", .1)},
		"records: there are none":                                 nil,
		`run of base (space "a", acquisition "EI", split 0, task`: {flat("a", "base", "t", .1), flat("a", "base", "t", .1)},
	} {
		_, err := CompareAreas(rs, "base")
		require.ErrorIs(t, err, ErrInput)
		require.ErrorContains(t, err, want)
	}
}
