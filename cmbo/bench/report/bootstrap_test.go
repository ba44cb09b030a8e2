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
	rs, _ := small().make(4)
	s := analyse(t, rs)
	// The same regrets under names that turn the order of the methods round.
	swap := map[string]string{"Random": "GP", "GP": "Random", "RGPE": "WssClus_WssCMP", "WssClus_WssCMP": "RGPE", "GlobalCen": "GlobalCen"}
	turned := slices.Clone(rs)
	for i := range turned {
		r := &turned[i]
		r.Method = swap[r.Method]
	}
	u := analyse(t, turned)
	checked := 0
	for i, c := range s.Comparisons {
		require.Len(t, c.Pairs, 10)
		for _, p := range c.Pairs {
			q, ok := u.Comparisons[i].Pair(swap[p.B], swap[p.A])
			require.True(t, ok)
			checked++
			m := q.Regret.mirrored()
			assert.Equal(t, [3]float64{p.Regret.Mean, p.Regret.Lower, p.Regret.Upper}, [3]float64{m.Mean, m.Lower, m.Upper}, "%s %s", p.A, p.B)
			assert.InDelta(t, p.Regret.Share, m.Share, 1e-15)
			assert.Equal(t, p.Regret.Sign(), -q.Regret.Sign())
			assert.InDelta(t, 1, p.AUC.Share+q.AUC.Share, 1e-15)
			assert.LessOrEqual(t, p.Regret.Lower, p.Regret.Upper)
		}
		for _, r := range c.Results {
			_, ok := c.Pair(r.Method, r.Method)
			assert.False(t, ok)
		}
	}
	assert.Equal(t, 60, checked)
}

// Methods with the same regrets differ by nothing; one that is better by the same
// on every task is so in every resample; with one task there is nothing to draw.
func TestPairDegenerate(t *testing.T) {
	var rs []bench.Record
	for i := range 6 {
		v := 0.5 + float64(i)/64 // exact in binary, so differences are too
		task := fmt.Sprint("t", i)
		rs = append(rs, rec("A", task, 0, v, v), rec("B", task, 0, v, v), rec("C", task, 0, v, v-0.25))
	}
	c := analyse(t, rs).Comparisons[0]
	same, _ := c.Pair("A", "B")
	assert.Equal(t, Difference{Share: 0.5}, same.Regret)
	assert.Equal(t, 0, same.Regret.Sign())
	less, _ := c.Pair("C", "A")
	assert.InDelta(t, -0.25, less.Regret.Mean, 1e-15)
	assert.InDelta(t, -0.25, less.Regret.Lower, 1e-15)
	assert.InDelta(t, -0.25, less.Regret.Upper, 1e-15)
	assert.Equal(t, 1.0, less.Regret.Share)
	assert.Equal(t, -1, less.Regret.Sign())
	assert.InDelta(t, -0.25, less.AUC.Mean, 1e-15)

	one := analyse(t, rs[:3]).Comparisons[0]
	p, ok := one.Pair("C", "A")
	require.True(t, ok)
	assert.Equal(t, -0.25, p.Regret.Mean)
	assert.True(t, math.IsNaN(p.Regret.Lower) && math.IsNaN(p.Regret.Upper) && math.IsNaN(p.Regret.Share))
	assert.Equal(t, 0, p.Regret.Sign())
}

// Two tasks with differences a and b: a resample has mean a, (a+b)/2 or b with
// probabilities 1/4, 1/2, 1/4, so the limits are a and b and the shares known.
func TestPairOfTwoTasks(t *testing.T) {
	rs := []bench.Record{
		rec("A", "t1", 0, 1, 0.5), rec("B", "t1", 0, 1, 0.75), // −0.25
		rec("A", "t2", 0, 1, 0.75), rec("B", "t2", 0, 1, 0.25), // +0.5
	}
	s, err := Analyse(rs, nil)
	require.NoError(t, err)
	c := s.Comparisons[0]
	d := c.Pairs[0].Regret
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
			pair := []bench.Record{rec("A", task, k, 1, 0.5+d), rec("B", task, k, 1, 0.5)}
			many = append(many, pair...)
			if k == 0 {
				single = append(single, pair...)
			}
		}
	}
	pair := func(rs []bench.Record) Difference {
		s, err := Analyse(rs, nil)
		require.NoError(t, err)
		return s.Comparisons[0].Pairs[0].Regret
	}
	a := pair(many)
	b := pair(single)
	assert.InDelta(t, b.Lower, a.Lower, 1e-12)
	assert.InDelta(t, b.Upper, a.Upper, 1e-12)
	width := 2 * 1.96 * math.Sqrt(variance/tasks)
	assert.InDelta(t, width, a.Upper-a.Lower, 0.15*width)
}
