package gp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// TestCheckFitted: parameters are those of one of the forms that a fit chooses from,
// and of a noise variance.
func TestCheckFitted(t *testing.T) {
	g := NewPlain(Numbers(3), nil, math.NaN(), nil, nil, false, 1)
	for n := range 8 {
		err := g.CheckFitted(make([]float64, n))
		if n == 3 || n == 5 { // the variance, one lengthscale or three, and the noise
			require.NoError(t, err)
		} else {
			require.Error(t, err, "%d parameters", n)
		}
	}
	require.NoError(t, g.CheckFitted([]float64{1, -1, -740}))
	for _, params := range [][]float64{{0, 0, -1e3}, {0, 0, 1e3}, {0, 0, math.NaN()}, {math.NaN(), 0, 0}, {0, math.Inf(1), 0}} {
		require.Error(t, g.CheckFitted(params), "%v", params)
	}
}

// TestForms: numbers have one length, or one each. Beside choices they have one, and these another, or each parameter has
// one, however many coordinates it has. Parameters of kernels with one length, and with one for each coordinate, are read
// anyway.
func TestForms(t *testing.T) {
	number, two, three, onOff := space.Float("x", 0, 1), space.Int("n", 1, 9), space.Categorical("c", "a", "b", "c"), space.Bool("b")
	for name, c := range map[string]struct {
		params []space.Param
		tied   [][]int // nil for one length
	}{
		"number":            {[]space.Param{number}, [][]int{nil}},
		"numbers":           {[]space.Param{number, two}, [][]int{nil, {0, 1, 2}}},
		"choice":            {[]space.Param{three}, [][]int{nil}},
		"choices":           {[]space.Param{onOff, three}, [][]int{nil, {0, 1, 2, 2, 2}}},
		"number and choice": {[]space.Param{number, three}, [][]int{{0, 1, 2, 2, 2}}},
		"number and switch": {[]space.Param{number, onOff}, [][]int{{0, 1, 2}}},
		"choice first":      {[]space.Param{three, number, onOff}, [][]int{{0, 1, 1, 1, 2, 1}, {0, 1, 1, 1, 2, 3}}},
		"all":               {[]space.Param{number, onOff, two, three}, [][]int{{0, 1, 2, 1, 2, 2, 2}, {0, 1, 2, 3, 4, 4, 4}}},
	} {
		s, err := space.New(c.params...)
		require.NoError(t, err)
		g := NewPlain(Coordinates(s), nil, math.NaN(), nil, nil, true, 1)
		require.Len(t, g.fits.Smooth, len(c.tied), name)
		var tied [][]int
		for i, form := range g.fits.Forms {
			tied = append(tied, form.Tied)
			n := 1 + s.Dim()
			if form.Tied == nil {
				n = 2
			}
			require.Equal(t, n, form.Kernel.NumParams(), name)
			require.Equal(t, form.Tied, g.fits.Smooth[i].Tied)
			require.NotEqual(t, form.Kernel, g.fits.Smooth[i].Kernel)
		}
		require.Equal(t, c.tied, tied, name)
		for _, n := range []int{1, s.Dim()} {
			for _, params := range [][]float64{make([]float64, n+2), append(make([]float64, n+2), smoothMark)} {
				require.NoError(t, g.CheckFitted(params), name)
			}
		}
	}
}

// TestNoiseGiven: a noise variance that is given is in the unit of the values.
func TestNoiseGiven(t *testing.T) {
	asIs := func(y, _ []float64) ([]float64, []float64) { return y, nil }
	x, y := linalg.NewDense(3, 1, []float64{0, 0.5, 1}), []float64{1, -1, 0}
	g := NewPlain(Numbers(1), nil, 0.04, asIs, nil, false, 1)
	require.NoError(t, g.Fit(t.Context(), &space.Data{X: x, Y: y, Raw: y, RawNoiseVariance: make([]float64, 3)}))
	require.InEpsilon(t, 0.04, g.NoiseVariance(), 1e-12)
}

// TestTune: hyperparameters are those of Fit, which a model that conditions on nothing has too.
func TestTune(t *testing.T) {
	s := newSample(t, 30, 0)
	tuned, fitted := NewPlain(Numbers(2), nil, math.NaN(), scaling.ZScore.Scale, nil, false, 1), NewPlain(Numbers(2), nil, math.NaN(), scaling.ZScore.Scale, nil, false, 1)
	for _, n := range []int{5, 12, 30, 29} {
		z, _ := scaling.ZScore.Scale(s.y[:n], nil)
		d := &space.Data{X: points.First(s.x, n), Y: z, Raw: s.y[:n], RawNoiseVariance: make([]float64, n)}
		require.NoError(t, fitted.Fit(t.Context(), d))
		require.NoError(t, tuned.Tune(t.Context(), d))
		count, params := fitted.Fitted()
		of, got := tuned.Fitted()
		require.Equal(t, count, of)
		require.Equal(t, params, got)
		require.Equal(t, fitted.NoiseVariance(), tuned.NoiseVariance())
		require.Equal(t, fitted.Kernel(), tuned.Kernel())
		require.Zero(t, tuned.process.Data().Len())
	}
}

// TestExact: less noise than the default priors have is found where values have next to none, with the kernel that they are
// a draw of, and neither where there is noise, whatever the views.
func TestExact(t *testing.T) {
	const n = 60
	r := rng.Stream(3, t.Name())
	x := linalg.NewDense(n, 2, nil)
	for i := range n {
		x.Row(i)[0], x.Row(i)[1] = r.Float64(), r.Float64()
	}
	draw := func(k kernel.Kernel, noise float64) []float64 {
		var gram linalg.Sym
		kernel.Gram(&gram, k, x)
		gram.AddDiag(noise)
		y := make([]float64, n)
		require.NoError(t, AddNoise(y, &gram, r))
		return y
	}
	smooth, rough := draw(kernel.Matern52(0.5), 1e-7), draw(kernel.Matern32(0.5), 1e-7)
	noisy, long := draw(kernel.Matern52(0.5), 0.04), draw(kernel.Matern32(4), 1e-8)
	for _, shares := range [][]float64{nil, {1, 0.25}} {
		fitted := func(y []float64, exact bool) (name string, noise float64, params []float64) {
			data := &space.Data{X: x, Y: y, Raw: y, RawNoiseVariance: make([]float64, n)}
			g := NewPlain(Numbers(2), nil, math.NaN(), scaling.ZScore.Scale, shares, exact, 1)
			require.NoError(t, g.Tune(t.Context(), data))
			d, err := kernel.Describe(g.Kernel())
			require.NoError(t, err)
			count, params := g.Fitted()
			_, _, noise, _ = g.split(params)

			// What is fitted is read from the log as it was, and conditions as it did.
			require.NoError(t, g.CheckFitted(params))
			read := NewPlain(Numbers(2), nil, math.NaN(), scaling.ZScore.Scale, shares, exact, 1)
			data.Fitted = map[int][]float64{count: params}
			require.NoError(t, read.Tune(t.Context(), data))
			require.Equal(t, g.Kernel(), read.Kernel())
			require.Equal(t, g.noise, read.noise)
			return d.Kernels[0].Name, noise, params
		}
		least := math.Log(gaussian.DefaultPriors(2).Noise.Min)
		name, noise, _ := fitted(smooth, false)
		require.Equal(t, "Matern32", name)
		require.GreaterOrEqual(t, noise, least-1e-9)
		name, noise, _ = fitted(smooth, true)
		require.Equal(t, "Matern52", name)
		require.Less(t, noise, least-0.5)
		require.GreaterOrEqual(t, noise, math.Log(LeastNoise)-1e-9)
		name, _, _ = fitted(rough, true)
		require.Equal(t, "Matern32", name)
		name, noise, _ = fitted(long, true)
		require.Equal(t, "Matern32", name)
		require.Less(t, noise, least-0.5)
		_, _, params := fitted(noisy, false)
		_, _, same := fitted(noisy, true)
		require.Equal(t, params, same)
	}
}

// TestExactPriors: priors of values that are next to exact are those of a free variance and of noise from LeastNoise on, in
// the values' unit whatever the view, but for a tenth of what a view shows.
func TestExactPriors(t *testing.T) {
	want := gaussian.DefaultPriors(3)
	want.Variance = gaussian.LogNormal{Mean: 0, SD: 3, Min: 0.05, Max: 1e6}
	for _, c := range []struct{ scale, centre, least float64 }{
		{0, 1e-6, 1e-10}, {0.5, 1e-6, 4e-10}, {1e-3, 1e-4, 1e-4}, {1e-9, 0.1, 0.1},
	} {
		got := exactPriors(View{scale: c.scale})(3)
		require.Equal(t, want.LengthScale, got.LengthScale)
		require.Equal(t, want.Variance, got.Variance)
		require.InDelta(t, math.Log(c.centre), got.Noise.Mean, 1e-9)
		require.Equal(t, 3.0, got.Noise.SD)
		require.InEpsilon(t, c.least, got.Noise.Min, 1e-9)
		require.Equal(t, 1.0, got.Noise.Max)
	}
}

// TestPlainPending: points that are pending leave means alone, to the bit, and take from deviations.
func TestPlainPending(t *testing.T) {
	s := newSample(t, 12, 7)
	g := NewPlain(Numbers(2), nil, math.NaN(), scaling.ZScore.Scale, nil, false, 1)
	z, _ := scaling.ZScore.Scale(s.y, nil)
	d := &space.Data{X: s.x, Y: z, Raw: s.y, RawNoiseVariance: make([]float64, 12)}
	var mean, sd [2][]float64
	for i, pending := range []*linalg.Dense{linalg.NewDense(0, 2, nil), linalg.NewDense(1, 2, []float64{0.3, 0.4})} {
		d.Pending = pending
		require.NoError(t, g.Fit(t.Context(), d))
		mean[i], sd[i] = make([]float64, 7), make([]float64, 7)
		require.NoError(t, g.Predict(t.Context(), mean[i], sd[i], s.at))
	}
	require.Equal(t, mean[0], mean[1])
	for i := range sd[0] {
		require.Less(t, sd[1][i], sd[0][i])
	}
}
