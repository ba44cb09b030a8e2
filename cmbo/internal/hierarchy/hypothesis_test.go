package hierarchy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// gridMoments are the moments on the grid of what a hypothesis takes over from the past.
func gridMoments(m *Model, p past) ([]float64, *linalg.Sym) {
	if p == population {
		return m.pop.Mean, m.pop.Cov
	}
	cov := linalg.NewSym(m.grid.len(), nil)
	cov.Copy(m.pop.Cov)
	cov.Scale(m.moved.factor)
	return m.moved.mean, cov
}

// denseMeans returns the means of the base process at points given that it has those on the grid.
func denseMeans(t *testing.T, g *grid, on []float64, x *linalg.Dense) []float64 {
	t.Helper()
	var cross linalg.Dense
	kernel.Cross(&cross, g.base.Kernel, x, g.z)
	resid := make([]float64, len(on))
	for q, v := range on {
		resid[q] = v - g.base.Mean
	}
	alpha, _ := solve(t, g.gram, resid)
	means := make([]float64, rows(x))
	for i := range means {
		means[i] = g.base.Mean + linalg.Dot(cross.Row(i), alpha)
	}
	return means
}

// denseMoments computes a hypothesis's prior mean and covariance at points straight
// from the definition, with dense interpolation weights.
func denseMoments(t *testing.T, m *Model, h *hypothesis, x *linalg.Dense) (mean []float64, cov *linalg.Sym) {
	t.Helper()
	g := m.grid
	if h.past != nothing && h.factor > 0 {
		alone := *h
		alone.factor = 0
		mean, cov = denseMoments(t, m, &alone, x)
		own := linalg.NewSym(rows(x), nil)
		kernel.Gram(own, m.specificKernel(&m.settings), x)
		cov.AddScaled(h.factor, own)
		return mean, cov
	}
	s, err := g.locate(x, new(linalg.Dense))
	require.NoError(t, err)
	n, size := s.len(), g.len()
	b := linalg.NewDense(n, size, nil)
	for i := range n {
		for a, r := range s.idx[i] {
			b.Set(i, r, s.w[i][a])
		}
	}
	kb := linalg.NewSym(n, nil)
	kernel.Gram(kb, g.base.Kernel, x)
	mean = make([]float64, n)
	if h.past == nothing {
		for i := range mean {
			mean[i] = g.base.Mean
		}
		kernel.Gram(kb, m.specificKernel(&m.settings), x)
		kb.Scale(h.factor)
		return mean, kb
	}
	// e = f_b(x) − b·f_b(Z), so that its covariance follows from the base kernel's.
	var cross linalg.Dense
	kernel.Cross(&cross, g.base.Kernel, x, g.z)
	var bk, rest linalg.Dense
	gram := g.gram.Dense()
	bk.Mul(b, &gram)
	rest = *linalg.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			v := kb.At(i, j)
			for q := range size {
				v += -b.At(i, q)*cross.At(j, q) - b.At(j, q)*cross.At(i, q) + bk.At(i, q)*b.At(j, q)
			}
			rest.Set(i, j, v)
		}
	}
	on, grid := gridMoments(m, h.past)
	cov = linalg.NewSym(n, nil)
	cov.Congruence(b, grid)
	mean = denseMeans(t, g, on, x)
	for i := range n {
		for j := range i + 1 {
			cov.Set(i, j, cov.At(i, j)+rest.At(i, j))
		}
	}
	return mean, cov
}

// A past that is noise lends its noise to one half of no transfer alone: the other has as much variance in all,
// and none of it where the noise of a run is given.
func TestOwnNoise(t *testing.T) {
	r := rng.Stream(2, t.Name())
	tasks := makeTasks(3, 6, 10, 2, 1, 2)
	for i := range tasks {
		r.Shuffle(len(tasks[i].Z), func(a, b int) { tasks[i].Z[a], tasks[i].Z[b] = tasks[i].Z[b], tasks[i].Z[a] })
	}
	m := learn(t, tasks, uniform(r, 24, 2), testSettings(2))
	require.Greater(t, m.NoiseShare(), 0.5)
	base, x := m.Base(), uniform(r, 6, 2)
	assert.InEpsilon(t, 1/(1+base.Kernel.Eval(x.Row(0), x.Row(0))/base.NoiseVariance), m.NoiseShare(), 1e-12)
	alone := func(s Settings, noise float64) (out []*member) {
		for _, k := range NewRun(m, s, noise, 1, nil, nil).all {
			if !k.transfers() {
				out = append(out, k)
			}
		}
		return out
	}
	s := m.Settings()
	ks := alone(s, math.NaN())
	require.Len(t, ks, 2)
	var all [2]float64
	for i, k := range ks {
		assert.InDelta(t, math.Log(s.NoTransferMass/2), k.log, 1e-14)
		v := []float64{0}
		k.variance(v, nil)
		all[i] = v[0] + k.noise
	}
	assert.Equal(t, [2]float64{m.grid.base.NoiseVariance, s.OwnNoise}, [2]float64{ks[0].noise, ks[1].noise})
	assert.InEpsilon(t, all[0], all[1], 1e-14)
	require.Len(t, alone(s, 0.3), 1, "the noise is given")

	// The two of them judge by their evidence, whatever the mass of what transfers.
	run, y := NewRun(m, s, math.NaN(), 1, nil, nil), make([]float64, 6)
	for i := range y {
		y[i] = 3 * math.Sin(3*x.At(i, 0)+x.At(i, 1))
	}
	require.NoError(t, run.Fit(ctx, x, y, nil, nil))
	cand := uniform(r, 5, 2)
	got, want, total := make([]float64, 5), make([]float64, 5), 0.0
	require.NoError(t, run.LogImprovementWithoutTransfer(ctx, got, cand, slices.Max(y)))
	weights := map[float64]bool{}
	for _, k := range run.all {
		if !k.transfers() {
			one := make([]float64, 5)
			require.NoError(t, run.logImprovement(ctx, []weighted{{member: k, w: 1}}, one, cand, slices.Max(y)))
			w := math.Exp(k.fit.evidence + k.log)
			for j, v := range one {
				want[j] += w * math.Exp(v)
			}
			total, weights[w] = total+w, true
		}
	}
	require.Len(t, weights, 2)
	for j := range got {
		assert.InEpsilon(t, want[j]/total, math.Exp(got[j]), 1e-9)
	}
	s.OwnNoise = 0
	require.Len(t, alone(s, math.NaN()), 1)
}

// It does so where a third of what the past shows is noise, and where that is more than the other half would have.
func TestOwnNoiseFromAThird(t *testing.T) {
	for _, tt := range []struct {
		noise, own float64 // variances, the noise in that of the base process
		want       int
	}{{0.48, 0.001, 1}, {0.52, 0.001, 2}, {0.52, 0.52, 1}, {0.52, 0.51, 2}, {0.52, 0, 1}} {
		base, s := fixedBase(2), DefaultSettings(2)
		variance := base.Kernel.Eval([]float64{0, 0}, []float64{0, 0})
		base.NoiseVariance, s.OwnNoise = tt.noise*variance, tt.own*variance
		m := new(Model)
		m.set(newGrid(base, uniform(rng.Stream(1, t.Name()), 3, 2), 3), Moments{})
		assert.Len(t, m.apart(&s), tt.want, "%v", tt)
	}
}

// String names a hypothesis in failures.
func (h *hypothesis) String() string {
	return fmt.Sprintf("mass %g, transfers: %t", h.prior, h.transfers())
}

// conforms asks for the prior moments of a hypothesis at points told and at candidates to be
// those of its definition.
func conforms(t *testing.T, m *Model, h *hypothesis, dense func(x *linalg.Dense) (mean []float64, cov *linalg.Sym)) {
	t.Helper()
	const told, cands = panel + 3, 9
	r := rng.Stream(3, t.Name())
	x, cand := uniform(r, told, m.grid.dim()), uniform(r, cands, m.grid.dim())
	copy(x.Row(1), m.grid.z.Row(3)) // points of the grid, and one twice
	copy(x.Row(2), x.Row(0))
	copy(cand.Row(4), m.grid.z.Row(3))
	copy(cand.Row(5), x.Row(7))
	wantMean, want := dense(join(x, cand))

	settings := m.Settings()
	run := NewRun(m, settings, math.NaN(), 1, nil, nil)
	require.NoError(t, run.Fit(ctx, x, make([]float64, told), nil, nil))
	at, err := m.Candidates(ctx, cand, 1)
	require.NoError(t, err)
	f := run.workspaces(at)[0]
	used := func(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) } // memory that held other numbers
	mean, variance := used(cands), used(cands)
	h.mean(mean, f.located)
	h.variance(variance, f.located)
	for j := range cands {
		assert.InDelta(t, wantMean[told+j], mean[j], 1e-9, "%s: mean at candidate %d", h, j)
		assert.InDelta(t, want.At(told+j, told+j), variance[j], 1e-9, "%s: variance at candidate %d", h, j)
	}
	b := new(panels)
	run.layOut(b, run.pts)
	base := run.extend(&f.told, b.x, f.located)
	var tile tile
	for i, p := range run.pts {
		one := used(1)
		h.mean(one, p.located)
		assert.InDelta(t, wantMean[i], one[0], 1e-9, "%s: mean at point %d", h, i)
		row := used(i + 1)
		h.covariance(row, &p.with)
		for j, v := range row {
			assert.InDelta(t, want.At(i, j), v, 1e-9, "%s: covariance of points %d and %d", h, i, j)
		}
		if i%panel == 0 {
			tile.cross(f, b, &f.told, &base, i, min(i+panel, told), 0)
		}
		row = used(cands)
		h.covariance(row, &tile.with[i%panel])
		for j, v := range row {
			assert.InDelta(t, want.At(i, told+j), v, 1e-9, "%s: covariance of point %d and candidate %d", h, i, j)
		}
	}
}

// Every hypothesis is the process that it is defined as.
func TestHypotheses(t *testing.T) {
	r := rng.Stream(2, t.Name())
	m := learn(t, makeTasks(3, 6, 10, 2, 1, 2), uniform(r, 24, 2), testSettings(2))
	s := m.Settings()
	for _, h := range m.hypotheses(&s) {
		conforms(t, m, h, func(x *linalg.Dense) ([]float64, *linalg.Sym) { return denseMoments(t, m, h, x) })
	}
}

// No transfer has the wide offsets that the settings give it.
func TestOffsetTails(t *testing.T) {
	r := rng.Stream(2, t.Name())
	m := learn(t, makeTasks(3, 6, 10, 2, 1, 2), uniform(r, 24, 2), testSettings(2))
	s := m.Settings()
	number := make(map[bool]int)
	for _, h := range m.hypotheses(&s) {
		number[h.transfers()]++
		assert.Equal(t, map[bool]float64{false: s.NoTransferTail, true: s.TransferTail}[h.transfers()], h.tail, "%s", h)
	}
	assert.Equal(t, 1, number[false])
	assert.GreaterOrEqual(t, number[true], len(s.Besides))
}

// The prior masses are those of the settings, and all of what transfers is on
// targets with a process beside; without one there are none of those.
func TestPriorMasses(t *testing.T) {
	r := rng.Stream(2, t.Name())
	m := learn(t, makeTasks(3, 6, 10, 2, 1, 2), uniform(r, 24, 2), testSettings(2))
	s := m.Settings()
	mass := make(map[bool]float64)
	with := make(map[float64]float64)
	for _, h := range m.hypotheses(&s) {
		mass[h.transfers()] += h.prior
		if h.transfers() {
			with[h.factor] += h.prior
		}
	}
	assert.InDelta(t, s.NoTransferMass, mass[false], 1e-14)
	assert.InDelta(t, 1-s.NoTransferMass, mass[true], 1e-14)
	require.Len(t, with, len(s.Besides))
	for _, factor := range s.Besides {
		assert.InDelta(t, (1-s.NoTransferMass)/float64(len(s.Besides)), with[factor], 1e-14)
	}
	variance := []float64{0}
	m.hypotheses(&s)[0].variance(variance, nil)
	b := m.hypotheses(&s)[len(s.Besides)]
	assert.InEpsilon(t, m.specificVariance()*(1+b.factor), variance[0], 1e-14, "no transfer, as wide as the widest")
	s.Besides, s.NoTransferMass = nil, 0
	for _, h := range m.hypotheses(&s) {
		require.True(t, h.transfers())
		require.Zero(t, h.factor)
	}
}
