package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/stretchr/testify/require"
)

// flat is a run of constant regret.
func flat(space, method, task string, regret float64) bench.Record {
	return bench.Record{Space: space, Method: method, Acquisition: "EI", Task: task, Regret: slices.Repeat([]float64{regret}, 4)}
}

// The ratio is that of mean areas, space by space; runs of one method alone do not count.
func TestRatios(t *testing.T) {
	var rs []bench.Record
	for i := range 4 {
		task := fmt.Sprint("t", i)
		rs = append(rs, flat("a", "base", task, .1), flat("b", "base", task, .2), flat("a", "one", task, .2), flat("b", "one", task, .1))
		rs = append(rs, flat("a", "two", task, .05*float64(i)), flat("b", "two", task, 0))
	}
	rs = append(rs, flat("a", "one", "alone", .9))
	got, err := Ratios(rs, "base")
	require.NoError(t, err)
	require.Len(t, got, 2)
	one, two := got[0], got[1]
	require.Equal(t, 8, one.Runs)
	require.InDelta(t, 1, one.Mean, 1e-12, "twice and half")
	require.InDelta(t, 1, one.Lower, 1e-12, "all tasks are alike")
	require.InDelta(t, 1, one.Upper, 1e-12)
	require.Equal(t, "b", one.Least)
	require.InDelta(t, .5, one.LeastBy, 1e-12)
	require.Equal(t, "a", one.Largest)
	require.InDelta(t, 2, one.LargestBy, 1e-12)
	require.InDelta(t, math.Sqrt(.75*leastArea/.2), two.Mean, 1e-12, "what is solved counts as the least area")
	require.Less(t, two.Lower, two.Mean)
	require.Greater(t, two.Upper, two.Mean)

	shuffled := slices.Clone(rs)
	slices.Reverse(shuffled)
	again, err := Ratios(shuffled, "base")
	require.NoError(t, err)
	require.Equal(t, got, again)

	_, err = Ratios(append(rs, flat("c", "three", "t0", .1)), "base")
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "three")
	single, err := Ratios([]bench.Record{flat("a", "base", "t", .1), flat("a", "one", "t", .2)}, "base")
	require.NoError(t, err)
	require.True(t, math.IsNaN(single[0].Lower) && math.IsNaN(single[0].Upper), "one task has no interval")
}

// Tasks are drawn, not runs: eight equal runs of each of many tasks give the interval of the
// tasks, that of the logarithm of a ratio of means. In a Summary it is the same.
func TestRatioDrawsTasks(t *testing.T) {
	const tasks, runs = 30, 8
	g := rand.New(rand.NewPCG(9, 10))
	var many, single []bench.Record
	var variance float64
	for i := range tasks {
		d := 0.2 * g.Float64()
		variance += (d - 0.1) * (d - 0.1) / tasks
		for k := range runs {
			for _, r := range []bench.Record{rec(standard, fmt.Sprint("t", i), k, 1, 0.5), rec("B", fmt.Sprint("t", i), k, 1, 0.4+d)} {
				if many = append(many, r); k == 0 {
					single = append(single, r)
				}
			}
		}
	}
	of := func(rs []bench.Record) Ratio {
		r, err := Ratios(rs, standard)
		require.NoError(t, err)
		s, err := Analyse(rs)
		require.NoError(t, err)
		require.Equal(t, r[0], *s.Comparisons[0].Result("B").Against)
		require.Nil(t, s.Comparisons[0].Result(standard).Against)
		return r[0]
	}
	a, b := of(many), of(single)
	require.InDelta(t, b.Lower, a.Lower, 1e-12)
	require.InDelta(t, b.Upper, a.Upper, 1e-12)
	inverse, err := Ratios(many, "B")
	require.NoError(t, err)
	require.InEpsilonSlice(t, []float64{1 / a.Upper, 1 / a.Mean, 1 / a.Lower}, []float64{inverse[0].Lower, inverse[0].Mean, inverse[0].Upper}, 1e-12)
	require.InDelta(t, 2*1.96*math.Sqrt(variance/tasks)/0.5, math.Log(a.Upper/a.Lower), 0.15*4*math.Sqrt(variance/tasks)/0.5)
}

// What is chosen on half of the divisions is judged on the other half.
func TestChosen(t *testing.T) {
	var rs []bench.Record
	add := func(space, method string, even, odd float64) {
		for split, area := range []float64{even, odd} {
			r := flat(space, method, "t", area)
			r.Split = split
			rs = append(rs, r)
		}
	}
	add("a", "base", .1, .1)
	add("a", "one", .05, .4)
	add("a", "two", .2, .025)
	add("b", "base", .1, .1) // no change is better, one is as good in one half
	add("b", "one", .1, .3)
	add("b", "two", .3, .3)
	rs = append(rs, flat("c", "base", "t", .1), flat("c", "one", "t", .01)) // one half alone
	here, there, err := Chosen(rs, "base")
	require.NoError(t, err)
	require.InDelta(t, math.Pow(.5*.25, 1./4), here, 1e-12)
	require.InDelta(t, math.Pow(4*2, 1./4), there, 1e-12)
	here, _, err = Chosen(rs[len(rs)-2:], "base")
	require.NoError(t, err)
	require.True(t, math.IsNaN(here))
	_, _, err = Chosen(rs, "none")
	require.ErrorIs(t, err, ErrInput)
}
