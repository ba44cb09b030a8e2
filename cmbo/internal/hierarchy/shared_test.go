package hierarchy

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// jointMoments conditions a new task, on the grid, on tasks by the dense covariance of all
// values, those of two tasks sharing a mean of a share of the base variance. It returns the log
// likelihood of the tasks, too.
func jointMoments(t *testing.T, g *grid, on []*carried, share float64) (Moments, float64) {
	t.Helper()
	size, n := g.len(), 0
	for _, c := range on {
		n += c.len()
	}
	a, across := linalg.NewSym(n, nil), linalg.NewDense(n, size, nil) // with the new task
	resid := make([]float64, n)
	k := g.gram.Dense()
	for s, at := 0, 0; s < len(on); at, s = at+on[s].len(), s+1 {
		for i := range on[s].len() {
			row := across.Row(at + i)
			on[s].applyTo(row, &k, i)
			for u, to := 0, 0; u <= s; to, u = to+on[u].len(), u+1 {
				for j := range on[u].len() {
					v := share * on[u].carry(j, row)
					if u == s {
						v = on[u].carry(j, row) + on[s].rest.At(i, j)
					}
					a.Set(at+i, to+j, v)
				}
			}
			for q := range row {
				row[q] *= share
			}
			resid[at+i] = on[s].z[i] - g.base.Mean
		}
	}
	alpha, logDet := solve(t, a, resid)
	m := Moments{g.prior().Mean, linalg.NewSym(size, nil)}
	m.Cov.Copy(g.gram)
	for i, v := range alpha {
		linalg.Axpy(m.Mean, v, across.Row(i))
	}
	var chol linalg.Cholesky
	require.NoError(t, chol.Factorize(a))
	chol.SolveLowerTo(across, across)
	m.Cov.AddTransGram(-1, across)
	return m, -0.5 * (linalg.Dot(resid, alpha) + logDet + float64(n)*math.Log(2*math.Pi))
}

func sameMoments(t *testing.T, want, got Moments, delta float64) {
	t.Helper()
	for i, v := range want.Mean {
		assert.InDelta(t, v, got.Mean[i], delta)
		for j := range want.Mean {
			assert.InDelta(t, want.Cov.At(i, j), got.Cov.At(i, j), delta)
		}
	}
}

// The moments are those of dense conditioning on all tasks at once, of each share by the
// likelihood of the tasks under it.
func TestSharedMean(t *testing.T) {
	for _, size := range []int{12, 41} { // of the grid: fewer than the tasks' 39 values, of which one has 15, and more
		t.Run(fmt.Sprint(size), func(t *testing.T) { testSharedMean(t, size) })
	}
}

func testSharedMean(t *testing.T, size int) {
	r := rng.Stream(1, "TestSharedMean")
	tasks := makeTasks(3, 4, 6, 2, 0, 1)
	tasks[2].Noise = []float64{.1, 0, 0, .2, 0, .05}
	tasks = append(tasks, makeTasks(4, 1, 15, 2, 0, 1)...)
	z := uniform(r, size, 2)
	copy(z.Row(2), tasks[0].X.Row(3))
	g, on := carryAll(t, tasks, z, 5)
	shares := []float64{0.1, 0.4, 0.8}
	var posts []Moments
	var logs []float64
	for _, share := range shares {
		m, log := jointMoments(t, g, on, share)
		posts, logs = append(posts, m), append(logs, log)
		got, common, err := g.sharedMean(ctx, on, []float64{share}, 1)
		require.NoError(t, err)
		assert.InDelta(t, share, common, 1e-12)
		sameMoments(t, m, got, 1e-9)
	}
	var total float64
	want, common := Moments{make([]float64, size), linalg.NewSym(size, nil)}, 0.0
	for i := range shares {
		total += math.Exp(logs[i] - logs[0])
	}
	for i, p := range posts {
		mass := math.Exp(logs[i]-logs[0]) / total
		assert.Greater(t, mass, 0.01, "all shares count")
		common += mass * shares[i]
		linalg.Axpy(want.Mean, mass, p.Mean)
		want.Cov.AddScaled(mass, p.Cov)
	}
	for i, p := range posts {
		d := linalg.NewDense(1, size, nil)
		for j, v := range p.Mean {
			d.Set(0, j, v-want.Mean[j])
		}
		want.Cov.AddTransGram(math.Exp(logs[i]-logs[0])/total, d)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err := g.sharedMean(cancelled, on, shares, 2)
	require.ErrorIs(t, err, context.Canceled)
	got, share, err := g.sharedMean(ctx, on, shares, 2)
	require.NoError(t, err)
	assert.InDelta(t, common, share, 1e-9)
	sameMoments(t, want, got, 1e-9)
}

// Tasks that are draws of a mean that they share, by a known part, are seen to be.
func TestSharedMeanFindsTheShare(t *testing.T) {
	r := rng.Stream(1, t.Name())
	z := uniform(r, 40, 2)
	base := fixedBase(2)
	g := newGrid(base, z, 40)
	var chol linalg.Cholesky
	require.NoError(t, chol.Factorize(g.gram))
	draw := func(share float64) []float64 {
		out, w := make([]float64, 40), make([]float64, 40)
		for i := range w {
			w[i] = r.NormFloat64() * math.Sqrt(share)
		}
		for i := range out {
			out[i] = linalg.Dot(chol.Lower().Row(i)[:i+1], w[:i+1])
		}
		return out
	}
	for _, share := range DefaultSettings(2).Shares {
		mean := draw(share)
		var tasks []Task
		for range 20 {
			y := draw(1 - share)
			for i := range y {
				y[i] += mean[i] + base.Mean + math.Sqrt(base.NoiseVariance)*r.NormFloat64()
			}
			tasks = append(tasks, Task{X: z, Z: y, Scale: 1})
		}
		on, err := g.carryTasks(ctx, tasks, 1)
		require.NoError(t, err)
		_, common, err := g.sharedMean(ctx, on, DefaultSettings(2).Shares, 1)
		require.NoError(t, err)
		assert.InDelta(t, share, common, 0.15)
	}
}

// Of n tasks the population is what EM finds of another one, drawn to that of a shared mean as
// if it were PriorTasks of n + PriorTasks tasks; the more tasks, the less.
func TestFewTasksAreDrawnToASharedMean(t *testing.T) {
	r := rng.Stream(1, t.Name())
	z := uniform(r, 15, 2)
	for n, another := range map[int]float64{1: 2, 4: 5. / 3, 30: 31. / 29} {
		tasks := makeTasks(5, n, 8, 2, 0, 1)
		o := testSettings(2)
		learned := func() *Model {
			m, err := learnOn(ctx, tasks, newGrid(fixedBase(2), z, o.Neighbours), &o)
			require.NoError(t, err)
			return m
		}
		m := learned()
		o.PriorTasks = 0
		alone := learned()
		none, not := alone.SharedMean()
		assert.Zero(t, none)
		assert.Zero(t, not)
		on, err := m.grid.carryTasks(ctx, sample(tasks, n, 0, ""), 1)
		require.NoError(t, err)
		shared, common, err := m.grid.sharedMean(ctx, on, o.Shares, 1)
		require.NoError(t, err)
		w := 12 / (12 + float64(n))
		found, drawn := m.SharedMean()
		assert.Equal(t, common, found)
		assert.Equal(t, w, drawn)
		for i := range 15 {
			assert.InDelta(t, w*shared.Mean[i]+(1-w)*alone.pop.Mean[i], m.pop.Mean[i], 1e-12)
			for j := range 15 {
				assert.InDelta(t, w*shared.Cov.At(i, j)+(1-w)*another*alone.pop.Cov.At(i, j), m.pop.Cov.At(i, j), 1e-12)
			}
		}
	}
}

// One task says nothing of what it shares with others: all shares are as likely.
func TestSharedMeanOfOneTask(t *testing.T) {
	g, on := carryAll(t, makeTasks(3, 1, 6, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 12, 2), 12)
	_, common, err := g.sharedMean(ctx, on, []float64{0.1, 0.4, 0.7}, 1)
	require.NoError(t, err)
	assert.InDelta(t, 0.4, common, 1e-9)
}

// The covariance that N draws have around their own mean, times ofAnother, is what another draw
// deviates by from that mean.
func TestCovarianceOfAnotherTask(t *testing.T) {
	r := rng.Stream(1, t.Name())
	for _, n := range []int{2, 5, 20} {
		var within, another float64
		for range 20000 {
			draws, mean := make([]float64, n), 0.0
			for i := range draws {
				draws[i] = r.NormFloat64()
				mean += draws[i] / float64(n)
			}
			for _, v := range draws {
				within += (v - mean) * (v - mean) / float64(n)
			}
			d := r.NormFloat64() - mean
			another += d * d
		}
		assert.InEpsilon(t, another/within, ofAnother(int64(n)), 0.05)
	}
	assert.Equal(t, 2.0, ofAnother(1))
}
