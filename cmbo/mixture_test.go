package cmbo

import (
	"context"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestTotalCenter: mean and covariance are those of a draw from a member drawn
// at random, on the index set and off it.
func TestTotalCenter(t *testing.T) {
	tasks := randomTasks("total", 5, 10, 2)
	box, err := UnitCube(2)
	require.NoError(t, err)
	k := kernel.Scale(1.2, kernel.Matern32(0.4))
	p, err := Learn(context.Background(), box, tasks, WithLabels(make([]int, 5)), WithPrototype(TotalCenter), WithIndexPoints(15), WithHyperparameters(k, 0.02))
	require.NoError(t, err)
	require.Equal(t, "WssClus_WssCMP_Total", p.Variant().String())
	extra := box.encodeAll(sobolRows(box, 6, rng.Stream(4, "extra")))
	n, _ := p.facts.index.Dims()
	all := linalg.NewDense(n+6, 2, nil)
	for i := range n + 6 {
		if i < n {
			copy(all.Row(i), p.facts.index.Row(i))
		} else {
			copy(all.Row(i), extra.Row(i-n))
		}
	}
	mean := make([]float64, n+6)
	second := linalg.NewSym(n+6, nil) // E f·fᵀ
	for _, task := range tasks {
		y := ZScore.Apply(task.Y)
		g, err := gp.Condition(context.Background(), gp.FromKernel{Kernel: k}, box.encodeAll(task.X), y, gp.Noise(nil, len(y), 0.02))
		require.NoError(t, err)
		m := make([]float64, n+6)
		var cov linalg.Sym
		require.NoError(t, g.Moments(context.Background(), m, nil, all))
		require.NoError(t, g.Gram(context.Background(), &cov, all))
		linalg.Axpy(mean, 0.2, m)
		for i, a := range m {
			for j, b := range m[:i+1] {
				second.Set(i, j, second.At(i, j)+0.2*(cov.At(i, j)+a*b))
			}
		}
	}
	got := p.learned.(*paperPrior).Prototypes[0]
	m, v := make([]float64, n+6), make([]float64, n+6)
	var cross linalg.Dense
	require.NoError(t, got.Process.At(context.Background(), 2, m, v, &cross, all, all))
	for i := range n + 6 {
		require.InDelta(t, mean[i], m[i], 1e-12)
		require.InDelta(t, second.At(i, i)-mean[i]*mean[i], v[i], 1e-11)
		for j := range n + 6 {
			want := second.At(i, j) - mean[i]*mean[j]
			require.InDelta(t, want, cross.At(i, j), 1e-11)
			if i < n && j < n {
				require.InDelta(t, want, got.Normal.Cov().At(i, j), 1e-11)
			}
		}
	}
}

// TestMixtureMatchesDefinition conditions each component by package gaussian
// and puts them together.
func TestMixtureMatchesDefinition(t *testing.T) {
	const noise = 0.03
	tasks := randomTasks("mixture", 6, 10, 2)
	labels := []int{0, 1, 2, 0, 0, 2}
	box, err := UnitCube(2)
	require.NoError(t, err)
	k := kernel.Scale(1.2, kernel.Matern32(0.4))
	p, err := Learn(context.Background(), box, tasks, WithLabels(labels), WithPrototype(TotalCenter), WithIndexPoints(20), WithHyperparameters(k, 0.02))
	require.NoError(t, err)
	r := rng.Stream(2, "mixture rows")
	rows := make([][]float64, 25)
	for i := range rows {
		rows[i] = []float64{r.Float64(), r.Float64()}
	}
	list, err := box.WithCandidates(rows)
	require.NoError(t, err)
	for _, space := range []*Space{box, list} {
		o, err := New(space, WithPrior(p), WithMixture(), WithYPolicy(None), WithNoiseVariance(noise), WithCandidateCounts(20, 5))
		require.NoError(t, err)
		f := func(x []float64) float64 { return math.Sin(3*x[0]) + math.Sin(3*x[1]) - 1 }
		shares := []float64{0.5, 1.0 / 6, 1.0 / 3}
		got, err := o.Weights()
		require.NoError(t, err)
		require.InDeltaSlice(t, shares, got, 1e-15)
		require.NoError(t, o.Observe([]float64{0.11, 0.22}, f([]float64{0.11, 0.22})))
		for range 3 {
			trial, err := o.Ask(context.Background())
			require.NoError(t, err)
			require.NoError(t, o.Tell(trial.ID, f(trial.X)))
		}
		var obs [][]float64
		var y []float64
		for _, ob := range o.Observations() {
			obs, y = append(obs, ob.X), append(y, ob.Y)
		}
		probes := append([][]float64{{0.5, 0.6}, rows[4]}, obs...)
		points := box.encodeAll(append(obs[:len(obs):len(obs)], probes...))
		n := len(obs)
		logW := make([]float64, 3)
		means, vars := make([][]float64, 3), make([][]float64, 3)
		for i, q := range p.learned.(*paperPrior).Prototypes {
			total, _ := points.Dims()
			m := make([]float64, total)
			var cross linalg.Dense
			require.NoError(t, q.Process.At(context.Background(), 1, m, nil, &cross, points, points))
			cov := linalg.NewSym(total, nil)
			for a := range total {
				for b := range a + 1 {
					cov.Set(a, b, cross.At(a, b))
				}
			}
			var c gaussian.Conditioner
			var seen linalg.Sym
			var white linalg.Dense
			idx, resid := make([]int, n), make([]float64, n)
			for a := range idx {
				idx[a], resid[a] = a, y[a]-m[a]
			}
			seen.Subset(cov, idx)
			require.NoError(t, c.Factorize(&seen, []float64{noise}, resid))
			columns := cross.View(0, 0, n, total)
			require.NoError(t, c.Condition(m, cov, &white, &columns))
			logW[i] = math.Log(shares[i]) + c.LogMarginal()
			for a := range probes {
				means[i] = append(means[i], m[n+a])
				vars[i] = append(vars[i], cov.At(n+a, n+a))
			}
		}
		w := make([]float64, 3)
		for i, v := range logW {
			w[i] = math.Exp(v - logW[0])
		}
		sum := w[0] + w[1] + w[2]
		for i := range w {
			w[i] /= sum
		}
		got, err = o.Weights()
		require.NoError(t, err)
		require.InDeltaSlice(t, w, got, 1e-9)
		for a, x := range probes {
			var m, second float64
			for i := range w {
				m += w[i] * means[i][a]
				second += w[i] * (vars[i][a] + means[i][a]*means[i][a])
			}
			gm, gs, err := o.Predict(x)
			require.NoError(t, err)
			require.InDelta(t, m, gm, 1e-9)
			require.InDelta(t, math.Sqrt(second-m*m), gs, 1e-7)
		}
		step, ok := o.LastStep()
		require.True(t, ok)
		require.Nil(t, step.Distances)
		require.Len(t, step.Weights, 3)
	}
}

func TestMixtureRejects(t *testing.T) {
	box, err := UnitCube(2)
	require.NoError(t, err)
	p, err := Learn(context.Background(), box, randomTasks("rejects", 3, 5, 2), WithIndexPoints(5), WithClusterPoints(5))
	require.NoError(t, err)
	for _, o := range []Option{WithWeightDistance(Jeffreys), WithJeffreysJitter(1e-6)} {
		_, err = New(box, WithPrior(p), WithMixture(), o)
		require.ErrorIs(t, err, ErrOption)
	}
	_, err = New(box, WithMixture())
	require.ErrorIs(t, err, ErrOption)
	o, err := New(box, WithPrior(p), WithMixture())
	require.NoError(t, err)
	_, err = o.RegretBound(1, TheoremInputs{Norm: 1, Delta: 0.1})
	require.ErrorIs(t, err, ErrOption)
}
