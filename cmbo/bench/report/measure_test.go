package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

func rec(method, task string, repeat int, regret ...float64) bench.Record {
	return bench.Record{Space: "s", Method: method, Acquisition: "EI", Task: task, Repeat: repeat, Regret: regret}
}

func analyse(t *testing.T, rs []bench.Record) *Summary {
	t.Helper()
	s, err := summarise(rs, 1000)
	require.NoError(t, err)
	return s
}

// Everything by hand, with tasks of unequal numbers of runs.
func TestMeasuresByHand(t *testing.T) {
	s := analyse(t, []bench.Record{
		rec("A", "t1", 0, 0.8, 0.4, 0.001), rec("A", "t1", 1, 0.6, 0.6, 0.1), rec("A", "t2", 0, 0.4, 0.2, 0.2),
		rec("B", "t1", 0, 0.8, 0.2, 0.2), rec("B", "t1", 1, 0.6, 0.6, 0.005), rec("B", "t2", 0, 0.4, 0.1, 0.0),
	})
	require.Len(t, s.Comparisons, 1)
	c := s.Comparisons[0]
	assert.Equal(t, 2, c.Tasks)
	assert.Equal(t, 3, c.Runs)
	a, b := c.Result("A"), c.Result("B")
	assert.InDeltaSlice(t, []float64{0.6, 0.4, 0.301 / 3}, a.Regret, 1e-15)
	assert.InDeltaSlice(t, []float64{0.6, 0.3, 0.205 / 3}, b.Regret, 1e-15)
	assert.InDelta(t, (0.4+0.001+0.6+0.1+0.2+0.2)/6, a.AUC, 1e-15)
	assert.InDelta(t, a.AUC, a.GeometricAUC, 1e-15, "one space")
	assert.True(t, math.IsNaN(a.GeometricLate), "two queries")
	// After the last query A is first in one run, second in two.
	assert.InDeltaSlice(t, []float64{1.5, 5.5 / 3, 5.0 / 3}, a.Rank, 1e-15)
	assert.InDeltaSlice(t, []float64{1.5, 3.5 / 3, 4.0 / 3}, b.Rank, 1e-15)
	// 0.005 itself is not below the threshold.
	assert.InDeltaSlice(t, []float64{0, 0, 1.0 / 3}, a.Solved, 1e-15)
	assert.InDeltaSlice(t, []float64{0, 0, 1.0 / 3}, b.Solved, 1e-15)
	// Limits: residuals of the tasks' sums from mean·runs are ±e, so the variance
	// is 2·2e²/9, and Student's quantile with one degree of freedom is tan(0.475π).
	e := 0.2 - 0.301/3
	half := math.Tan(0.475*math.Pi) * math.Sqrt(2*2*e*e/9)
	require.Greater(t, half, a.Final())
	assert.Zero(t, a.Lower[2])
	assert.InDelta(t, a.Final()+half, a.Upper[2], 1e-9)
}

// Geometric means are over the spaces' areas, the late ones from the sixth query on.
func TestGeometricAreas(t *testing.T) {
	wide, narrow := rec("A", "t", 0, 1, .9, .8, .7, .6, .5, .4, .2), rec("A", "t", 0, 1, .01, .01, .01, .01, .01, .003, .001)
	narrow.Space = "narrow"
	r := analyse(t, []bench.Record{wide, narrow}).Comparisons[0].Result("A")
	assert.InDelta(t, (4.1/7+.054/7)/2, r.AUC, 1e-15)
	assert.InDelta(t, math.Sqrt(4.1/7*.054/7), r.GeometricAUC, 1e-15)
	assert.InDelta(t, math.Sqrt(.3*.002), r.GeometricLate, 1e-15)
	assert.True(t, math.IsNaN(late([]float64{1, 1, 1, 1, 1, .5})))
	assert.False(t, finite(math.Inf(-1)) || finite(math.Inf(1)) || finite(math.NaN()))
}

// Means over spaces weigh spaces alike, whatever their numbers of runs.
func TestMeanOverSpaces(t *testing.T) {
	var rs []bench.Record
	for i := range 4 {
		for _, m := range []string{"A", "B"} {
			r := rec(m, string(rune('p'+i)), 0, 0.5, 0.3)
			if i == 3 {
				r.Space, r.Regret = "z", []float64{0.5, 0.1}
			}
			rs = append(rs, r)
		}
	}
	s := analyse(t, rs)
	require.Len(t, s.Comparisons, 3)
	c := s.Comparisons[0]
	assert.Empty(t, c.Space)
	assert.InDelta(t, 0.2, c.Results[0].Final(), 1e-15)
	assert.InDelta(t, 1.5, c.Results[0].Rank[1], 1e-15)
	assert.True(t, math.IsNaN(c.Results[0].Lower[1]), "a space with a single task has no limits")
	assert.InDelta(t, 0.3, s.Comparisons[1].Results[0].Lower[1], 1e-15, "tasks that agree leave no doubt")
}

// A single task has no limits, however many runs it has.
func TestSingleTask(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var rs []bench.Record
		for k := range 7 {
			rs = append(rs, rec("A", "t", k, g.Float64()))
		}
		r := analyse(t, rs).Comparisons[0].Result("A")
		require.True(t, math.IsNaN(r.Lower[0]) && math.IsNaN(r.Upper[0]), "%g to %g", r.Lower[0], r.Upper[0])
	}
}

func TestRanks(t *testing.T) {
	for _, c := range []struct{ regret, want []float64 }{
		{[]float64{0.1, 0.2, 0.3, 0.4, 0.5}, []float64{1, 2, 3, 4, 5}},
		{[]float64{0.5, 0.5, 0.5, 0.5, 0.5}, []float64{3, 3, 3, 3, 3}},
		{[]float64{0.2, 0.1, 0.2, 0, 0.2}, []float64{4, 2, 4, 1, 4}},
		// Less than half of 1e-8 apart: a tie. Twice 1e-8: none.
		{[]float64{0.1, 0.1 + 4e-9, 0.1 - 4e-9, 0.1 + 2e-8, 0}, []float64{3, 3, 3, 5, 1}},
	} {
		assert.Equal(t, c.want, ranks(c.regret))
	}
	// Ranks of any regrets add up to n(n+1)/2.
	g := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		regret := make([]float64, 5)
		for i := range regret {
			regret[i] = float64(g.IntN(4)) / 4
		}
		var sum float64
		for _, v := range ranks(regret) {
			sum += v
		}
		assert.Equal(t, 15.0, sum)
	}
}

// Curves fall, and ranks add up.
func TestCurves(t *testing.T) {
	s := analyse(t, small().make(3))
	for _, c := range s.Comparisons {
		for _, r := range c.Results {
			assert.True(t, slices.IsSortedFunc(r.Regret, func(a, b float64) int { return -compare(a, b) }))
			assert.True(t, slices.IsSorted(r.Solved))
		}
		var sum float64
		for _, r := range c.Results {
			sum += r.Rank[3]
		}
		n := float64(len(c.Results))
		assert.InDelta(t, n*(n+1)/2, sum, 1e-12)
	}
}

func compare(a, b float64) int {
	switch {
	case a < b-1e-15:
		return -1
	case a > b+1e-15:
		return 1
	}
	return 0
}

// The interval of a mean holds the truth as often as it says: tasks with normal
// means, runs with more noise on top.
func TestIntervalCoverage(t *testing.T) {
	const trials, tasks, runs = 2000, 8, 3
	g := rand.New(rand.NewPCG(5, 6))
	inside := 0
	for range trials {
		st := &stratum{records: [][]*bench.Record{nil}}
		for task := range tasks {
			mean := 0.5 + 0.05*g.NormFloat64()
			st.runs = append(st.runs, runs)
			for range runs {
				st.task = append(st.task, task)
				st.records[0] = append(st.records[0], &bench.Record{Regret: []float64{mean + 0.02*g.NormFloat64()}})
			}
		}
		_, lo, hi := interval([]*stratum{st}, 0, area)
		if lo <= 0.5 && 0.5 <= hi {
			inside++
		}
	}
	// With equal numbers of runs this is Student's interval of eight normal task
	// means, exact; four standard deviations of the count.
	assert.InDelta(t, 0.95, float64(inside)/trials, 4*math.Sqrt(0.95*0.05/trials))
}

func TestCalibrationByHand(t *testing.T) {
	r := &bench.Record{Z: []float64{0, 1, -2}, LogSD: []float64{-1, -2, -3}}
	c := calibrate([]*bench.Record{r})
	k := math.Log(2*math.Pi) / 2
	assert.Equal(t, 3, c.Predictions)
	assert.InDelta(t, (-1-1.5-1)/3+k, c.MeanNLPD, 1e-15)
	assert.InDelta(t, -1+k, c.MedianNLPD, 1e-15)
	assert.InDelta(t, 2.0/3, c.Coverage90, 1e-15)
	assert.InDelta(t, math.Exp(-2), c.MedianSD, 1e-15)

	none := calibrate(nil)
	assert.Zero(t, none.Predictions)
	assert.True(t, math.IsNaN(none.MeanNLPD) && math.IsNaN(none.MedianNLPD) && math.IsNaN(none.Coverage90) && math.IsNaN(none.MedianSD))
}

// Predictions that are right have coverage 0.9 and the entropy of their normal
// distribution as mean NLPD; ones that are too certain have less coverage and a
// greater NLPD.
func TestCalibrationOfNormalDraws(t *testing.T) {
	const n = 40000
	g := rand.New(rand.NewPCG(7, 8))
	right, bold := &bench.Record{}, &bench.Record{}
	for range n {
		z := g.NormFloat64()
		right.Z, right.LogSD = append(right.Z, z), append(right.LogSD, -3)
		bold.Z, bold.LogSD = append(bold.Z, 3*z), append(bold.LogSD, -3-math.Log(3))
	}
	a, b := calibrate([]*bench.Record{right}), calibrate([]*bench.Record{bold})
	assert.InDelta(t, 0.9, a.Coverage90, 4*math.Sqrt(0.9*0.1/n))
	assert.InDelta(t, 0.5-3+math.Log(2*math.Pi)/2, a.MeanNLPD, 4*math.Sqrt(0.5/n)) // Var z²/2 = 1/2
	p := math.Erf(z90 / 3 / math.Sqrt2)
	assert.InDelta(t, p, b.Coverage90, 4*math.Sqrt(p*(1-p)/n))
	assert.Greater(t, b.MeanNLPD, a.MeanNLPD+2)
}
