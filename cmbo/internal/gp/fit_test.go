package gp

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRefitCount(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 20: 20, 21: 20, 24: 20, 25: 25, 29: 25, 99: 95, 104: 100, 110: 110, 219: 200, 799: 760, 1000: 960} {
		assert.Equal(t, want, RefitCount(n), "%d observations", n)
	}
	usual, exact := new(Fits), &Fits{Exact: true}
	for n := range 3000 {
		c := RefitCount(n)
		assert.True(t, c <= n && RefitCount(c) == c, "%d observations", n)
		require.Equal(t, c, usual.count(n))
		if n <= 40 {
			c = n
		}
		require.Equal(t, c, exact.count(n))
	}
}

// TestFitFindsParameters: from values drawn from a process the search comes near its
// lengths and its noise.
func TestFitFindsParameters(t *testing.T) {
	s := newSample(t, 120, 1)
	truth := FromKernel{Kernel: kernel.Scale(1, kernel.Matern32(0.2, 2))}
	var gram linalg.Sym
	kernel.Gram(&gram, truth.Kernel, s.x)
	gram.AddDiag(0.01)
	var chol linalg.Cholesky
	require.NoError(t, chol.Factorize(&gram))
	chol.Lower().MulVecTo(s.y, slices.Clone(s.y))
	var f Fitter
	h, err := f.Fit(ctx, kernel.Scale(1, kernel.Matern32(0.7, 0.7)), s.x, s.y, nil, math.NaN(), 3)
	require.NoError(t, err)
	require.True(t, h.Fitted)
	theta := h.Kernel.AppendParams(nil)
	assert.InDelta(t, math.Log(0.2), theta[1], 0.7)
	assert.Greater(t, theta[2]-theta[1], 1.0)
	assert.InDelta(t, math.Log(0.01), math.Log(h.NoiseVariance), 1)
}

// TestFitNoise: where the variance is given it is not searched, where all values
// bring theirs it is their mean, and without values the template stands.
func TestFitNoise(t *testing.T) {
	s := newSample(t, 15, 1)
	template := kernel.Scale(1, kernel.Matern32(0.7))
	var f Fitter
	h, err := f.Fit(ctx, template, s.x, s.y, nil, 0.25, 3)
	require.NoError(t, err)
	assert.Equal(t, 0.25, h.NoiseVariance)
	h, err = f.Fit(ctx, template, s.x, s.y, s.noise, math.NaN(), 3)
	require.NoError(t, err)
	var mean float64
	for _, v := range s.noise {
		mean += v / 15
	}
	assert.InDelta(t, mean, h.NoiseVariance, 1e-15)
	h, err = f.Fit(ctx, template, points.First(s.x, 0), nil, nil, math.NaN(), 3)
	require.NoError(t, err)
	assert.Equal(t, Hyper{Kernel: template, NoiseVariance: math.Exp(gaussian.DefaultPriors(2).Noise.Mean)}, h)
	h, err = f.Fit(ctx, template, points.First(s.x, 1), s.y[:1], nil, math.NaN(), 3)
	require.NoError(t, err)
	assert.True(t, h.Fitted, "to a single value")
	assert.Equal(t, []float64{0.5, 2, 0.5}, Noise([]float64{0, 2, 0}, 3, 0.5))
	assert.Equal(t, []float64{0.5, 0.5}, Noise(nil, 2, 0.5))
}

// foreign is a kernel that says nothing of its parameters.
type foreign struct{ kernel.Kernel }

func (f foreign) WithParams(p []float64) (kernel.Kernel, error) {
	k, err := f.Kernel.WithParams(p)
	return foreign{k}, err
}

func TestFitForeignKernel(t *testing.T) {
	s := newSample(t, 15, 1)
	var f Fitter
	h, err := f.Fit(ctx, foreign{kernel.Matern52(0.7)}, s.x, s.y, nil, math.NaN(), 3)
	require.NoError(t, err)
	assert.True(t, h.Fitted)
	assert.InDelta(t, math.Log(0.7), h.Kernel.AppendParams(nil)[0], ForeignRange)
}

// TestFits: a search is made once for a number of observations, its draws follow
// from that number, and Keep forgets those to others.
func TestFits(t *testing.T) {
	s := newSample(t, 27, 1)
	f := Fits{Forms: []Form{{Kernel: kernel.Scale(1, kernel.Matern32(0.7))}}, Noise: math.NaN(), Seed: 9}
	var asked []int
	at := func(f *Fits, n int) Hyper {
		h, err := f.At(ctx, n, func(count int) (*linalg.Dense, []float64, []float64, error) {
			asked = append(asked, count)
			return points.First(s.x, count), s.y[:count], nil, nil
		})
		require.NoError(t, err)
		return h
	}
	f.Keep(s.x, s.y, make([]float64, 27))
	at(&f, 20)
	first := at(&f, 24)
	at(&f, 27)
	at(&f, 25)
	assert.Equal(t, []int{20, 25}, asked)
	f.Keep(points.First(s.x, 24), s.y[:24], make([]float64, 24))
	at(&f, 23)
	at(&f, 27)
	assert.Equal(t, []int{20, 25, 25}, asked)
	other := Fits{Forms: f.Forms, Noise: math.NaN(), Seed: 9}
	assert.Equal(t, first, at(&other, 22), "the search depends on what was asked before")
	// What another model fitted serves where it was told the same.
	asked = nil
	sharing := Fits{Forms: f.Forms, Noise: math.NaN(), Seed: 9, of: &f}
	sharing.Keep(points.First(s.x, 22), s.y[:22], make([]float64, 22))
	assert.Equal(t, first, at(&sharing, 22))
	assert.Empty(t, asked)
	raw := slices.Clone(s.y[:22])
	raw[19]++
	sharing.Keep(points.First(s.x, 22), raw, make([]float64, 22))
	at(&sharing, 22)
	assert.Equal(t, []int{20}, asked)
}

// TestFormByEvidence: values that follow one coordinate of six get a length for each,
// values that follow the distance alone get one for all, and the choice depends on the
// observations alone.
func TestFormByEvidence(t *testing.T) {
	const n, dim = 40, 6
	one, all := kernel.Scale(1, kernel.Matern32(1)), kernel.Scale(1, kernel.Matern32(1, 1, 1, 1, 1, 1))
	for name, tt := range map[string]struct {
		truth kernel.Kernel
		want  int // parameters of the form
	}{
		"one coordinate": {kernel.Scale(1, kernel.Matern32(0.3, 20, 20, 20, 20, 20)), all.NumParams()},
		"isotropic":      {kernel.Scale(1, kernel.Matern32(1.5)), one.NumParams()},
	} {
		t.Run(name, func(t *testing.T) {
			right := 0
			for trial := range 5 {
				rng := testutil.RNG(t)
				for range trial * 1000 {
					rng.Float64()
				}
				x, y := linalg.NewDense(n, dim, nil), make([]float64, n)
				for i := range n {
					for j := range dim {
						x.Set(i, j, rng.Float64())
					}
					y[i] = rng.NormFloat64()
				}
				var gram linalg.Sym
				kernel.Gram(&gram, tt.truth, x)
				gram.AddDiag(0.001)
				var chol linalg.Cholesky
				require.NoError(t, chol.Factorize(&gram))
				chol.Lower().MulVecTo(y, slices.Clone(y))
				f := Fits{Forms: []Form{{Kernel: one}, {Kernel: all}}, Noise: math.NaN(), Seed: 4}
				data := func(int) (*linalg.Dense, []float64, []float64, error) { return x, y, nil, nil }
				h, err := f.At(ctx, n, data)
				require.NoError(t, err)
				if got := h.Kernel.NumParams(); got == tt.want {
					right++
				}
			}
			assert.GreaterOrEqual(t, right, 4)
		})
	}
}

// TestSearchRows: a search takes at most refitRows observations, a sample of those it
// is made to, with the variances that belong to them.
func TestSearchRows(t *testing.T) {
	const n = 400
	x, y, own := linalg.NewDense(n, 1, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		x.Set(i, 0, float64(i))
		y[i], own[i] = float64(2*i), float64(3*i)
	}
	sx, sy, so := subset(x, y, own, []int{7, 399, 0})
	assert.Equal(t, []float64{0, 14, 798}, sy)
	assert.Equal(t, []float64{0, 21, 1197}, so)
	assert.True(t, points.Equal(points.Pick(x, []int{0, 7, 399}), sx))
	_, _, so = subset(x, y, nil, []int{1})
	assert.Nil(t, so)
}
