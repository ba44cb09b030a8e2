package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

// Exchanging the two methods changes signs, exactly, and shares add up to one.
func TestPairAntisymmetry(t *testing.T) {
	rs := small().make(4)
	// named calls one method the default.
	named := func(method string) *Summary {
		out := slices.Clone(rs)
		for i := range out {
			if out[i].Method == method {
				out[i].Method = standard
			}
		}
		return analyse(t, out)
	}
	a, b := named("RGPE"), named("GlobalCen")
	for i := range a.Comparisons {
		require.Nil(t, a.Comparisons[i].Result(standard).Against)
		require.NotNil(t, a.Comparisons[i].Result("GP").Against)
		p, q := a.Comparisons[i].Result("GlobalCen").Against, b.Comparisons[i].Result("RGPE").Against
		assert.Equal(t, [3]float64{p.Regret.Mean, p.Regret.Lower, p.Regret.Upper}, [3]float64{-q.Regret.Mean, -q.Regret.Upper, -q.Regret.Lower})
		assert.InDelta(t, 1, p.Regret.Share+q.Regret.Share, 1e-15)
		assert.InDelta(t, 1, p.AUC.Share+q.AUC.Share, 1e-15)
		assert.Equal(t, p.Regret.Sign(), -q.Regret.Sign())
		assert.LessOrEqual(t, p.Regret.Lower, p.Regret.Upper)
	}
	assert.Nil(t, analyse(t, rs).Comparisons[0].Result("GP").Against, "there is no default")
}

// Methods with the same regrets differ by nothing; one that is better by the same
// on every task is so in every resample; with one task there is nothing to draw.
func TestPairDegenerate(t *testing.T) {
	var rs []bench.Record
	for i := range 6 {
		v := 0.5 + float64(i)/64 // exact in binary, so differences are too
		task := fmt.Sprint("t", i)
		rs = append(rs, rec("A", task, 0, v, v-0.25), rec("B", task, 0, v, v), rec(standard, task, 0, v, v-0.25))
	}
	c := analyse(t, rs).Comparisons[0]
	same := c.Result("A").Against.Regret
	assert.Equal(t, Difference{Share: 0.5}, same)
	assert.Equal(t, 0, same.Sign())
	less := c.Result("B").Against
	assert.InDelta(t, -0.25, less.Regret.Mean, 1e-15)
	assert.InDelta(t, -0.25, less.Regret.Lower, 1e-15)
	assert.InDelta(t, -0.25, less.Regret.Upper, 1e-15)
	assert.Equal(t, 1.0, less.Regret.Share)
	assert.Equal(t, -1, less.Regret.Sign())
	assert.InDelta(t, -0.25, less.AUC.Mean, 1e-15)

	one := analyse(t, rs[:3]).Comparisons[0].Result("B").Against.Regret
	assert.Equal(t, -0.25, one.Mean)
	assert.True(t, math.IsNaN(one.Lower) && math.IsNaN(one.Upper) && math.IsNaN(one.Share))
	assert.Equal(t, 0, one.Sign())
}

// Two tasks with differences a and b: a resample has mean a, (a+b)/2 or b with
// probabilities 1/4, 1/2, 1/4, so the limits are a and b and the shares known.
func TestPairOfTwoTasks(t *testing.T) {
	rs := []bench.Record{
		rec(standard, "t1", 0, 1, 0.5), rec("B", "t1", 0, 1, 0.75), // −0.25
		rec(standard, "t2", 0, 1, 0.75), rec("B", "t2", 0, 1, 0.25), // +0.5
	}
	s, err := Analyse(rs)
	require.NoError(t, err)
	d := s.Comparisons[0].Result("B").Against.Regret
	assert.Equal(t, 0.125, d.Mean)
	assert.Equal(t, -0.25, d.Lower)
	assert.Equal(t, 0.5, d.Upper)
	assert.InDelta(t, 0.25, d.Share, 4*math.Sqrt(0.25*0.75/resamples))
}

// Tasks are drawn, not runs: eight runs of each of many tasks that agree within
// the task give the interval of the tasks, √8 times as wide as that of runs.
func TestBootstrapDrawsTasks(t *testing.T) {
	const tasks, runs = 30, 8
	g := rand.New(rand.NewPCG(9, 10))
	var many, single []bench.Record
	var variance float64
	for i := range tasks {
		d := 0.1 * g.Float64()
		variance += (d - 0.05) * (d - 0.05) / tasks
		task := fmt.Sprintf("t%02d", i)
		for k := range runs {
			pair := []bench.Record{rec(standard, task, k, 1, 0.5+d), rec("B", task, k, 1, 0.5)}
			many = append(many, pair...)
			if k == 0 {
				single = append(single, pair...)
			}
		}
	}
	pair := func(rs []bench.Record) Difference {
		s, err := Analyse(rs)
		require.NoError(t, err)
		return s.Comparisons[0].Result("B").Against.Regret
	}
	a := pair(many)
	b := pair(single)
	assert.InDelta(t, b.Lower, a.Lower, 1e-12)
	assert.InDelta(t, b.Upper, a.Upper, 1e-12)
	width := 2 * 1.96 * math.Sqrt(variance/tasks)
	assert.InDelta(t, width, a.Upper-a.Lower, 0.15*width)
}
