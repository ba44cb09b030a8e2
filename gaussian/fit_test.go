package gaussian

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fitData draws values of a smooth function with noise.
func fitData(t testing.TB, n, dim int) (x *linalg.Dense, y []float64) {
	rng := testutil.RNG(t)
	x = randomPoints(rng, n, dim)
	y = make([]float64, n)
	var mean float64
	for i := range y {
		for j, v := range x.Row(i) {
			y[i] += math.Sin(4*v + float64(j))
		}
		y[i] += 0.05 * rng.NormFloat64()
		mean += y[i] / float64(n)
	}
	var sd float64
	for i := range y {
		y[i] -= mean
		sd += y[i] * y[i] / float64(n)
	}
	for i := range y {
		y[i] /= math.Sqrt(sd)
	}
	return x, y
}

// evaluations has f count its evaluations.
func evaluations(f *Fitter) *int {
	n := new(int)
	f.fn, f.stop = func(x, grad []float64) float64 { *n++; return f.objective(x, grad) }, f.known
	return n
}

// logPosterior evaluates the objective of a fit from its definition.
func logPosterior(t *testing.T, x *linalg.Dense, y, extra []float64, k kernel.Kernel, noise float64, p Priors) float64 {
	t.Helper()
	v := regress(t, k, noise, x, y, extra).c.LogMarginal()
	add := func(theta float64, p LogNormal) {
		z := (theta - p.Mean) / p.SD
		v -= 0.5 * z * z
	}
	for i, th := range k.AppendParams(nil) {
		if i == 0 {
			add(th, p.Variance)
		} else {
			add(th, p.LengthScale)
		}
	}
	add(math.Log(noise), p.Noise)
	return v
}

func TestFitterFindsMaximum(t *testing.T) {
	for name, k := range map[string]kernel.Kernel{
		"isotropic": kernel.Scale(1, kernel.Matern32(1)),
		"lengths":   kernel.Scale(1, kernel.Matern32x12(1, 1, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			const dim = 3
			x, y := fitData(t, 30, dim)
			extra := make([]float64, len(y))
			extra[3] = 0.5
			var f Fitter
			res, err := f.Fit(context.Background(), k, 0.1, x, y, extra, nil)
			require.NoError(t, err)
			pr := DefaultPriors(dim)
			best := logPosterior(t, x, y, extra, res.Kernel, res.Noise, pr)
			assert.InEpsilon(t, best, res.LogPosterior, 1e-9,
				"LogPosterior = %.12g, from the definition %.12g", res.LogPosterior, best)
			lml := regress(t, res.Kernel, res.Noise, x, y, extra).c.LogMarginal()
			assert.InEpsilon(t, lml, res.LogMarginal, 1e-9, "LogMarginal = %.12g, want %.12g", res.LogMarginal, lml)
			// No step along a coordinate, inside the bounds, does better.
			theta := append(res.Kernel.AppendParams(nil), math.Log(res.Noise))
			for i := range theta {
				for _, h := range []float64{-1, -0.1, -0.01, 0.01, 0.1, 1} {
					th := append([]float64(nil), theta...)
					th[i] += h
					lo, hi := pr.LengthScale.Min, pr.LengthScale.Max
					switch i {
					case 0:
						lo, hi = pr.Variance.Min, pr.Variance.Max
					case len(theta) - 1:
						lo, hi = pr.Noise.Min, pr.Noise.Max
					}
					th[i] = min(max(th[i], math.Log(lo)), math.Log(hi))
					kk, err := k.WithParams(th[:len(th)-1])
					require.NoError(t, err)
					v := logPosterior(t, x, y, extra, kk, math.Exp(th[len(th)-1]), pr)
					assert.LessOrEqual(t, v, best+1e-6, "parameter %d moved by %g: above %.10g", i, h, best)
				}
			}
		})
	}
}

// TestFitterTied: parameters that share a value are searched as one, with one prior and one share in the evidence: lengths
// that are all one find what the isotropic kernel does, and those of a coordinate that stands twice what its own does, times
// √2.
func TestFitterTied(t *testing.T) {
	x, y := fitData(t, 30, 3)
	fit := func(k kernel.Kernel, x *linalg.Dense, o FitOptions) FitResult {
		o.Evidence, o.Priors = true, DefaultPriors(3)
		var f Fitter
		r, err := f.Fit(context.Background(), k, 0.1, x, y, nil, &o)
		require.NoError(t, err)
		return r
	}
	one, all := fit(kernel.Scale(1, kernel.Matern32(1)), x, FitOptions{}), kernel.Scale(1, kernel.Matern32(1, 1, 1))
	for _, fixed := range []bool{false, true} {
		one := fit(kernel.Scale(1, kernel.Matern32(1)), x, FitOptions{FixNoise: fixed})
		tied := fit(all, x, FitOptions{Tied: []int{0, 1, 1, 1}, FixNoise: fixed})
		require.InDelta(t, one.LogPosterior, tied.LogPosterior, 1e-6)
		require.InDelta(t, one.Evidence, tied.Evidence, 1e-4)
		require.InDelta(t, one.Noise, tied.Noise, 1e-3)
		th, of := tied.Kernel.AppendParams(nil), one.Kernel.AppendParams(nil)
		require.InDeltaSlice(t, []float64{of[0], of[1], of[1], of[1]}, th, 1e-3)
	}
	free := fit(all, x, FitOptions{})
	require.Equal(t, free, fit(all, x, FitOptions{Tied: []int{0, 1, 2, 3}}))
	require.Greater(t, math.Abs(free.Evidence-one.Evidence), 0.1)
	// Bounds and priors are those of the first parameter of each value.
	priors := []LogNormal{{Mean: 0, SD: 1, Min: 0.5, Max: 2}, {Mean: 0, SD: 1, Min: 0.1, Max: 0.2}, {Mean: 0, SD: 1, Min: 5, Max: 9}, {Mean: 0, SD: 1, Min: 3, Max: 4}}
	th := fit(all, x, FitOptions{Params: priors, Tied: []int{0, 1, 2, 1}}).Kernel.AppendParams(nil)
	require.Equal(t, th[1], th[3])
	require.LessOrEqual(t, math.Exp(th[1]), 0.2*(1+1e-14))
	require.GreaterOrEqual(t, math.Exp(th[2]), 5*(1-1e-14))
	th = fit(all, x, FitOptions{Params: priors, Tied: []int{0, 1, 1, 2}}).Kernel.AppendParams(nil)
	require.Equal(t, th[1], th[2])
	require.LessOrEqual(t, math.Exp(th[1]), 0.2*(1+1e-14))
	require.GreaterOrEqual(t, math.Exp(th[3]), 3*(1-1e-14))
	require.LessOrEqual(t, math.Exp(th[3]), 4*(1+1e-14))

	twice := linalg.NewDense(30, 4, nil)
	for i := range 30 {
		copy(twice.Row(i), append(slices.Clone(x.Row(i)), x.Row(i)[2]))
	}
	doubled := fit(kernel.Scale(1, kernel.Matern32(1, 1, 1, 1)), twice, FitOptions{Tied: []int{0, 1, 2, 3, 3}})
	shifted := []LogNormal{DefaultPriors(3).Variance, DefaultPriors(3).LengthScale, DefaultPriors(3).LengthScale, DefaultPriors(3).LengthScale}
	shifted[3].Mean -= math.Ln2 / 2
	shifted[3].Min, shifted[3].Max = shifted[3].Min/math.Sqrt2, shifted[3].Max/math.Sqrt2
	single := fit(all, x, FitOptions{Params: shifted})
	require.InDelta(t, single.LogPosterior, doubled.LogPosterior, 1e-6)
	require.InDelta(t, single.Evidence, doubled.Evidence, 1e-4)
}

// TestFitterStopsOnKnownGround compares fits whose searches end on the way to a
// maximum found before with fits whose searches all run to their ends: the same
// maximum, from fewer evaluations. Few and noisy values make for several maxima.
func TestFitterStopsOnKnownGround(t *testing.T) {
	testutil.SkipRace(t, "one goroutine fits")
	rng := testutil.RNG(t)
	var short, long, several int
	for range 300 {
		n, dim := 1+rng.IntN(25), 1+rng.IntN(3)
		x, y := randomPoints(rng, n, dim), make([]float64, n)
		noise, rate := 2*rng.Float64()*rng.Float64(), 20*rng.Float64()
		for i := range y {
			y[i] = math.Sin(rate*x.Row(i)[0]) + noise*rng.NormFloat64()
		}
		lengths := make([]float64, 1+rng.IntN(2)*(dim-1))
		for i := range lengths {
			lengths[i] = 1
		}
		k := kernel.Scale(1, kernel.Matern32(lengths...))
		opt := FitOptions{Starts: 5, Seed: rng.Uint64()}
		var f, thorough Fitter
		few, many := evaluations(&f), evaluations(&thorough)
		thorough.stop = nil
		res, err := f.Fit(context.Background(), k, 0.1, x, y, nil, &opt)
		require.NoError(t, err)
		all, err := thorough.Fit(context.Background(), k, 0.1, x, y, nil, &opt)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, res.LogPosterior, all.LogPosterior-1e-6,
			"%d points, %d lengths: thorough %.9g", n, len(lengths), all.LogPosterior)
		short, long = short+*few, long+*many
		if slices.Max(thorough.values) > -all.LogPosterior+1e-2 {
			several++
		}
	}
	t.Logf("%d evaluations, thorough %d; %d data sets with several maxima", short, long, several)
	assert.Less(t, float64(short), 0.8*float64(long), "evaluations")
	assert.GreaterOrEqual(t, several, 20, "data sets with several maxima")
}

func TestFitterDeterminism(t *testing.T) {
	x, y := fitData(t, 20, 2)
	k := kernel.Scale(1, kernel.Matern32(1))
	ctx := context.Background()
	var f Fitter
	a, err := f.Fit(ctx, k, 0.1, x, y, nil, &FitOptions{Seed: 7, Starts: 4})
	require.NoError(t, err)
	maxima := slices.Clone(f.found)
	// Another data set between, and a fresh fitter, change nothing.
	x2, y2 := fitData(t, 9, 2)
	require.NoError(t, second(f.Fit(ctx, kernel.Scale(2, kernel.SquaredExp(1, 1)), 0.1, x2, y2, nil, nil)))
	b, err := f.Fit(ctx, k, 0.1, x, y, nil, &FitOptions{Seed: 7, Starts: 4})
	require.NoError(t, err)
	require.Equal(t, maxima, f.found)
	c, err := new(Fitter).Fit(ctx, k, 0.1, x, y, nil, &FitOptions{Seed: 7, Starts: 4})
	require.NoError(t, err)
	for _, r := range []FitResult{b, c} {
		assert.Equal(t, a.Noise, r.Noise, "%+v and %+v", r, a)
		assert.Equal(t, a.LogPosterior, r.LogPosterior, "%+v and %+v", r, a)
		assert.Equal(t, a.Kernel.AppendParams(nil), r.Kernel.AppendParams(nil), "%+v and %+v", r, a)
	}
	// More starts are searches after the same ones.
	_, err = f.Fit(ctx, k, 0.1, x, y, nil, &FitOptions{Seed: 7, Starts: 2})
	require.NoError(t, err)
	require.Equal(t, maxima[:len(f.found)], f.found)
}

// TestFitterGoesOn: a search that is ended again and again comes to what one comes to that is not, of the same points
// with other priors, too, and with another between.
func TestFitterGoesOn(t *testing.T) {
	r := rng.Stream(1, t.Name())
	x, y := randomPoints(r, 30, 2), make([]float64, 30)
	for i := range y {
		y[i] = math.Sin(5*x.At(i, 0)) + 0.1*r.NormFloat64()
	}
	wide := DefaultPriors(2)
	wide.LengthScale.SD *= 2
	jobs := []FitOptions{{Evidence: true}, {Priors: wide, Evidence: true}, {FixNoise: true, Seed: 3}}
	var want []FitResult
	for _, o := range jobs {
		res, err := new(Fitter).Fit(context.Background(), kernel.Scale(1, kernel.Matern52(0.5, 0.5)), 0.01, x, y, nil, &o)
		require.NoError(t, err)
		want = append(want, res)
	}
	require.NotEqual(t, want[0].LogPosterior, want[1].LogPosterior)
	const looks = 8
	f, calls := new(Fitter), 0
	for i, o := range jobs {
		for {
			res, err := f.Fit(testutil.Countdown(looks), kernel.Scale(1, kernel.Matern52(0.5, 0.5)), 0.01, x, y, nil, &o)
			if calls++; err == nil {
				require.Equal(t, want[i], res)
				break
			}
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "gaussian: Fitter.Fit: ")
			require.Zero(t, res)
			require.Less(t, calls, 1000)
			if calls == 3 { // others come between, which begins this one anew
				other, err := f.Fit(context.Background(), kernel.Scale(1, kernel.Matern52(0.5, 0.5)), 0.01, x, y, nil, &jobs[1])
				require.NoError(t, err)
				require.Equal(t, want[1], other)
			}
		}
		require.Nil(t, f.log, "what is done is forgotten")
	}
	require.Greater(t, calls, 10)
}

func TestFitterOptions(t *testing.T) {
	x, y := fitData(t, 20, 2)
	k := kernel.Scale(1.7, kernel.Matern52(0.6))
	ctx := context.Background()
	var f Fitter
	fit := func(o *FitOptions, noise float64) FitResult {
		t.Helper()
		r, err := f.Fit(ctx, k, noise, x, y, nil, o)
		require.NoError(t, err)
		return r
	}
	full := fit(nil, 0.1)

	r := fit(&FitOptions{FixNoise: true}, 0.3)
	assert.Equal(t, 0.3, r.Noise, "fixed noise: %+v", r)
	assert.Less(t, r.LogMarginal, full.LogMarginal, "fixed noise: %+v", r)

	// Bounds hold, also where the likelihood pulls beyond them.
	pr := DefaultPriors(2)
	pr.LengthScale.Max = 0.2
	pr.Variance = LogNormal{Mean: 0, SD: math.Inf(1), Min: 1.25, Max: 1.25}
	pr.Noise = LogNormal{Mean: math.Log(0.5), SD: 0.1, Min: 0.4, Max: 0.6}
	r = fit(&FitOptions{Priors: pr}, 0.1)
	th := r.Kernel.AppendParams(nil)
	assert.InEpsilon(t, 1.25, math.Exp(th[0]), 1e-14, "bounds: %v, noise %g", th, r.Noise)
	assert.LessOrEqual(t, math.Exp(th[1]), 0.2*(1+1e-14), "bounds: %v, noise %g", th, r.Noise)
	assert.GreaterOrEqual(t, r.Noise, 0.4, "bounds: %v, noise %g", th, r.Noise)
	assert.LessOrEqual(t, r.Noise, 0.6, "bounds: %v, noise %g", th, r.Noise)
	// Priors one by one do the same as by kind.
	one := []LogNormal{pr.Variance, pr.LengthScale}
	s := fit(&FitOptions{Priors: pr, Params: one}, 0.1)
	assert.Equal(t, r.LogPosterior, s.LogPosterior, "one by one: %+v, by kind: %+v", s, r)
	// A narrow prior wins over the data.
	pr = DefaultPriors(2)
	pr.LengthScale = LogNormal{Mean: math.Log(3), SD: 1e-4, Min: 0.02, Max: 20}
	th = fit(&FitOptions{Priors: pr}, 0.1).Kernel.AppendParams(nil)
	assert.InDelta(t, math.Log(3), th[1], 1e-3, "length %g, the prior says 3", math.Exp(th[1]))
	// A kernel that is not known by kind.
	assert.ErrorIs(t, second(f.Fit(ctx, foreign{1}, 0.1, x, y, nil, nil)), ErrArgument, "foreign kernel")
	one = []LogNormal{{Mean: 0, SD: 1, Min: 0.1, Max: 10}}
	s, err := f.Fit(ctx, foreign{1}, 0.1, x, y, nil, &FitOptions{Params: one})
	assert.NoError(t, err, "foreign kernel: %+v", s)
	assert.Contains(t, f.values, -s.LogPosterior, "foreign kernel: %+v", s)
}

func TestFitterDegenerateData(t *testing.T) {
	ctx := context.Background()
	k := kernel.Scale(1, kernel.Matern32(1))
	var f Fitter
	for name, tt := range map[string]struct{ x, y []float64 }{
		"nothing":        {nil, nil},
		"one point":      {[]float64{0.3}, []float64{1}},
		"constant":       {[]float64{0.1, 0.5, 0.9}, []float64{0, 0, 0}},
		"duplicates":     {[]float64{0.5, 0.5, 0.5, 0.5}, []float64{1, -1, 1, -1}},
		"huge values":    {[]float64{0.1, 0.5, 0.9}, []float64{1e100, -1e100, 3e99}},
		"identical pair": {[]float64{0.1, 0.1 + 1e-17}, []float64{2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := f.Fit(ctx, k, 0.1, linalg.NewDense(len(tt.y), 1, append([]float64{}, tt.x...)), tt.y, nil, nil)
			require.NoError(t, err)
			assert.True(t, fault.Finite(r.LogPosterior), "%+v", r)
		})
	}
	// Without data the result is the centre of the priors.
	r, err := f.Fit(ctx, k, 0.5, linalg.NewDense(0, 4, nil), nil, nil, nil)
	require.NoError(t, err)
	th := r.Kernel.AppendParams(nil)
	const without = "without data in 4 dimensions: %v, noise %g; want length √4/2 = 1"
	assert.InDelta(t, 0, th[0], 1e-12, without, th, r.Noise)
	assert.InDelta(t, 0, th[1], 1e-12, without, th, r.Noise)
	assert.InEpsilon(t, 0.01, r.Noise, 1e-12, without, th, r.Noise)
}

// TestFitterDegrades wants the given parameters back where nothing can be
// evaluated.
func TestFitterDegrades(t *testing.T) {
	ctx := context.Background()
	x := linalg.NewDense(2, 1, []float64{0.1, 0.9})
	y := []float64{1e200, -1e200} // the quadratic form overflows at any parameters
	k := kernel.Scale(1.5, kernel.Matern32(0.7))
	r, err := new(Fitter).Fit(ctx, k, 0.2, x, y, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, math.Inf(-1), r.LogPosterior, "%+v", r)
	assert.Equal(t, 0.2, r.Noise, "%+v", r)
	assert.Equal(t, k.AppendParams(nil), r.Kernel.AppendParams(nil), "%+v", r)
	// A kernel whose range is smaller than the bounds: its errors shorten steps.
	p := []LogNormal{{Mean: 2.5, SD: 5, Min: 1e-3, Max: 1e9}}
	x, y = fitData(t, 8, 1)
	r, err = new(Fitter).Fit(ctx, foreign{1}, 0.2, x, y, nil, &FitOptions{Params: p, Starts: 6})
	assert.NoError(t, err, "%+v", r)
	assert.True(t, fault.Finite(r.LogPosterior), "%+v", r)
}

func TestFitterErrors(t *testing.T) {
	x, y := fitData(t, 6, 2)
	k := kernel.Scale(1, kernel.Matern32(1))
	nan := math.NaN()
	prior := func(change func(*Priors)) *FitOptions {
		p := DefaultPriors(2)
		change(&p)
		return &FitOptions{Priors: p}
	}
	ctx := context.Background()
	var f Fitter
	for name, tt := range map[string]struct{ err, want error }{
		"nil kernel":       {second(f.Fit(ctx, nil, 0, x, y, nil, nil)), ErrArgument},
		"nil x":            {second(f.Fit(ctx, k, 0, nil, y, nil, nil)), ErrArgument},
		"negative noise":   {second(f.Fit(ctx, k, -1, x, y, nil, nil)), ErrArgument},
		"short y":          {second(f.Fit(ctx, k, 0, x, y[1:], nil, nil)), ErrDimension},
		"dimension":        {second(f.Fit(ctx, kernel.Matern32(1, 1, 1), 0, x, y, nil, nil)), ErrDimension},
		"NaN mean":         {second(f.Fit(ctx, k, 0, x, y, nil, prior(func(p *Priors) { p.Variance.Mean = nan }))), ErrNotFinite},
		"zero SD":          {second(f.Fit(ctx, k, 0, x, y, nil, prior(func(p *Priors) { p.Noise.SD = 0 }))), ErrArgument},
		"NaN SD":           {second(f.Fit(ctx, k, 0, x, y, nil, prior(func(p *Priors) { p.Noise.SD = nan }))), ErrArgument},
		"zero bound":       {second(f.Fit(ctx, k, 0, x, y, nil, prior(func(p *Priors) { p.LengthScale.Min = 0 }))), ErrArgument},
		"crossed bounds":   {second(f.Fit(ctx, k, 0, x, y, nil, prior(func(p *Priors) { p.LengthScale.Max = 0.01 }))), ErrArgument},
		"infinite bound":   {second(f.Fit(ctx, k, 0, x, y, nil, prior(func(p *Priors) { p.LengthScale.Max = math.Inf(1) }))), ErrArgument},
		"negative starts":  {second(f.Fit(ctx, k, 0, x, y, nil, &FitOptions{Starts: -1})), ErrArgument},
		"Params":           {second(f.Fit(ctx, k, 0, x, y, nil, &FitOptions{Params: make([]LogNormal, 1)})), ErrDimension},
		"Tied":             {second(f.Fit(ctx, k, 0, x, y, nil, &FitOptions{Tied: []int{0}})), ErrDimension},
		"Tied leaves out":  {second(f.Fit(ctx, k, 0, x, y, nil, &FitOptions{Tied: []int{0, 2}})), ErrArgument},
		"Tied begins at 1": {second(f.Fit(ctx, k, 0, x, y, nil, &FitOptions{Tied: []int{1, 1}})), ErrArgument},
		"Tied below":       {second(f.Fit(ctx, k, 0, x, y, nil, &FitOptions{Tied: []int{-1, 0}})), ErrArgument},
		"no Params":        {second(f.Fit(ctx, foreign{1}, 0, x, y, nil, nil)), ErrArgument},
		"no parameters":    {second(f.Fit(ctx, level(1), 0, x, y, nil, nil)), nil},
	} {
		assert.ErrorIs(t, tt.err, tt.want, name)
	}
	for what, change := range map[string]func(*Priors){
		"prior of parameter 0 ": func(p *Priors) { p.Variance.SD = 0 }, "prior of parameter 1 ": func(p *Priors) { p.LengthScale.SD = 0 },
		"prior of noise ": func(p *Priors) { p.Noise.SD = 0 },
	} {
		require.ErrorContains(t, second(f.Fit(ctx, k, 0, x, y, nil, prior(change))), what)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, second(f.Fit(canceled, k, 0.1, x, y, nil, nil)), context.Canceled, "cancelled")
	later := testutil.Countdown(5)
	assert.ErrorIs(t, second(f.Fit(later, k, 0.1, x, y, nil, nil)), context.Canceled, "cancelled later")
}

func TestFitterAllocatesLittle(t *testing.T) {
	x, y := fitData(t, 20, 2)
	k := kernel.Scale(1, kernel.Matern32(1))
	ctx := context.Background()
	var f Fitter
	evals := evaluations(&f)
	fit := func() {
		*evals = 0
		_, err := f.Fit(ctx, k, 0.1, x, y, nil, nil)
		require.NoError(t, err)
	}
	fit()
	// A kernel value for each evaluation, nothing that grows with the data.
	n := testing.AllocsPerRun(3, fit)
	assert.LessOrEqual(t, n, 8*float64(*evals)+40, "allocations for %d evaluations", *evals)
}

// TestDefaultPriors holds the numbers of the documentation.
func TestDefaultPriors(t *testing.T) {
	for dim, mean := range map[int]float64{0: math.Log(0.5), 1: math.Log(0.5), 4: 0, 16: math.Ln2} {
		require.Equal(t, Priors{
			LengthScale: LogNormal{Mean: mean, SD: 1, Min: 0.02, Max: 20},
			Variance:    LogNormal{Mean: 0, SD: 2, Min: 0.05, Max: 20},
			Noise:       LogNormal{Mean: math.Log(0.01), SD: 1.5, Min: 1e-4, Max: 1},
		}, DefaultPriors(dim), dim)
	}
}

// TestFitterStarts: a fit begins at the centre of the priors, and at draws from them, of a flat
// one anywhere between its bounds.
func TestFitterStarts(t *testing.T) {
	k := kernel.Scale(1.5, kernel.Matern32(0.7))
	o := FitOptions{Params: []LogNormal{{Mean: 0.3, SD: 0.5, Min: 1e-9, Max: 1e9}, {Mean: -1, SD: math.Inf(1), Min: math.Exp(-3), Max: math.E}}}
	var f Fitter
	require.NoError(t, f.setup("test", k, 0.2, 2, &o))
	f.start(0, 0)
	require.Equal(t, []float64{0.3, -1, math.Log(0.01)}, f.x0)
	const n = 400
	var mean, square [3]float64
	for i := range n {
		f.start(1+i, 7)
		for p, v := range f.x0 {
			mean[p] += v / n
			square[p] += v * v / n
		}
		require.True(t, f.x0[1] >= -3 && f.x0[1] <= 1, f.x0)
	}
	for p, want := range []struct{ mean, sd float64 }{{0.3, 0.5}, {-1, 4 / math.Sqrt(12)}, {math.Log(0.01), 1.5}} {
		// Four standard errors, of a mean and of a normal's deviation.
		require.InDelta(t, want.mean, mean[p], 4*want.sd/math.Sqrt(n), p)
		require.InDelta(t, want.sd, math.Sqrt(square[p]-mean[p]*mean[p]), 4*want.sd/math.Sqrt(2*n), p)
	}
	o.FixNoise = true
	require.NoError(t, f.setup("test", k, 0.2, 2, &o))
	f.start(0, 0)
	require.Equal(t, []float64{0.3, -1}, f.x0)
}

// TestKnownGround: a search is on the way to a maximum at its place and on the parabola that
// has it, and not from there on where it is far, higher, or as steep as no such parabola.
func TestKnownGround(t *testing.T) {
	f := Fitter{found: []float64{5, 5, 0, -2}, values: []float64{-7, 0}}
	for name, c := range map[string]struct {
		x, grad []float64
		v       float64
		want    bool
	}{
		"there":          {[]float64{0, -2}, []float64{9, 9}, 0, true},
		"parabola":       {[]float64{0.1, -2.2}, []float64{0.2, -0.4}, 0.05, true},
		"nearly so":      {[]float64{0.1, -2.2}, []float64{0.2 * 1.19, -0.4 * 1.19}, 0.05, true},
		"steeper":        {[]float64{0.1, -2.2}, []float64{0.2 * 1.21, -0.4 * 1.21}, 0.05, false},
		"flatter":        {[]float64{0.1, -2.2}, []float64{0.2 * 0.79, -0.4 * 0.79}, 0.05, false},
		"downwards":      {[]float64{0.1, -2.2}, []float64{-0.2, 0.4}, 0.05, false},
		"beyond it":      {[]float64{0.1, -2.2}, []float64{0.2, -0.4}, -0.05, false},
		"near in height": {[]float64{0.29, -2}, []float64{0.198 / 0.29, 0}, 0.099, true},
		"high":           {[]float64{0.29, -2}, []float64{0.2 / 0.29, 0}, 0.1, false},
		"far":            {[]float64{0.3, -2}, []float64{0.1 / 0.3, 0}, 0.05, false},
		"far in another": {[]float64{0, -2.31}, []float64{0, -0.1 / 0.31}, 0.05, false},
	} {
		require.Equal(t, c.want, f.known(c.x, c.grad, c.v), name)
	}
}

// TestEvidenceOfCurvature: the evidence is what the second derivatives of the posterior, from
// its definition, make of it, those by two parameters included.
func TestEvidenceOfCurvature(t *testing.T) {
	for _, n := range []int{30, 3, 2} {
		x, y := fitData(t, n, 2)
		k := kernel.Scale(1, kernel.Matern52(1))
		pr := DefaultPriors(2)
		var f Fitter
		r, err := f.Fit(context.Background(), k, 0.05, x, y, nil, &FitOptions{Evidence: true})
		require.NoError(t, err)
		theta := append(r.Kernel.AppendParams(nil), math.Log(r.Noise))
		at := func(i, j int, a, b float64) float64 {
			th := slices.Clone(theta)
			th[i] += a
			th[j] += b
			kk, err := k.WithParams(th[:2])
			require.NoError(t, err)
			return logPosterior(t, x, y, nil, kk, math.Exp(th[2]), pr)
		}
		sd := []float64{pr.Variance.SD, pr.LengthScale.SD, pr.Noise.SD}
		h := linalg.NewSym(3, nil)
		const step = 1e-3
		for i := range 3 {
			for j := range i + 1 {
				v := at(i, j, step, step) - at(i, j, step, -step) - at(i, j, -step, step) + at(i, j, -step, -step)
				h.Set(i, j, -v/(4*step*step)*sd[i]*sd[j])
			}
		}
		var e spectral.EigenSym
		require.NoError(t, e.FactorizeValues(h))
		want := r.LogPosterior
		for _, v := range e.Values() {
			require.True(t, n < 30 || v > 1)
			want -= math.Log(max(v, 1)) / 2
		}
		require.Equal(t, n == 2, e.Values()[0] < 0.997, "as much below 1 as shows")
		require.InDelta(t, want, r.Evidence, 1e-3)
	}
}

// BenchmarkEvidence is the evidence for a length of each coordinate, of which choices have one for each value.
func BenchmarkEvidence(b *testing.B) {
	for _, dim := range []int{10, 100, 300} {
		b.Run(fmt.Sprint(dim), func(b *testing.B) {
			x, y := fitData(b, 10, dim)
			var f Fitter
			var o FitOptions
			k := kernel.Scale(1, kernel.Matern32(slices.Repeat([]float64{9}, dim)...))
			require.NoError(b, f.like.reset("test", k, x, y, nil))
			require.NoError(b, f.setup("test", k, 0.1, dim, &o))
			f.ctx = b.Context()
			f.start(0, 1)
			f.best = slices.Clone(f.x0)
			for b.Loop() {
				f.log, f.next = nil, 0
				require.False(b, math.IsInf(f.halfLogDet(), 1))
			}
			b.ReportMetric(float64(dim*b.N)/b.Elapsed().Seconds(), "lengths/s")
		})
	}
}

// TestEvidence compares Laplace's approximation with the sum over a grid of the
// parameters, two of them, and wants it to leave the rest of the result alone.
func TestEvidence(t *testing.T) {
	x, y := fitData(t, 30, 2)
	k := kernel.Scale(1, kernel.Matern32(1))
	pr := DefaultPriors(2)
	ctx := context.Background()
	var f Fitter
	o := &FitOptions{FixNoise: true}
	plain, err := f.Fit(ctx, k, 0.05, x, y, nil, o)
	require.NoError(t, err)
	require.Zero(t, plain.Evidence)
	o.Evidence = true
	r, err := f.Fit(ctx, k, 0.05, x, y, nil, o)
	require.NoError(t, err)
	require.Equal(t, plain.LogPosterior, r.LogPosterior, "%+v", r)
	const steps = 60
	var sum float64
	for i := range steps {
		for j := range steps {
			za, zb := (float64(i)+0.5)/steps*8-4, (float64(j)+0.5)/steps*8-4
			at := kernel.Scale(math.Exp(pr.Variance.Mean+za*pr.Variance.SD), kernel.Matern32(math.Exp(pr.LengthScale.Mean+zb*pr.LengthScale.SD)))
			l := regress(t, at, 0.05, x, y, nil).c.LogMarginal()
			sum += math.Exp(l-0.5*(za*za+zb*zb)-r.LogPosterior) / (2 * math.Pi) * (8.0 / steps) * (8.0 / steps)
		}
	}
	want := math.Log(sum) + r.LogPosterior
	assert.LessOrEqual(t, math.Abs(r.Evidence-want), 0.3, "evidence %g, by a grid %g", r.Evidence, want)
	// A form that cannot be fitted has none.
	o = &FitOptions{Evidence: true, Params: []LogNormal{{Mean: 5, SD: 1, Min: math.Exp(4), Max: math.Exp(6)}}}
	bad, err := f.Fit(ctx, foreign{1}, 0.05, x, y, nil, o)
	assert.NoError(t, err, "%+v", bad)
	assert.Equal(t, math.Inf(-1), bad.LogPosterior, "%+v", bad)
	assert.Equal(t, math.Inf(-1), bad.Evidence, "%+v", bad)
}

// TestFitterDefaults: what options leave open has the values that they document, and draws of starts
// follow from the seed and the number of the search.
func TestFitterDefaults(t *testing.T) {
	k := kernel.Scale(1.5, kernel.Matern32(0.7))
	var f Fitter
	var o FitOptions
	require.NoError(t, f.setup("test", k, 0.2, 2, &o))
	require.Equal(t, FitOptions{Priors: DefaultPriors(2), Starts: 3}, o)
	o.Params = []LogNormal{{Mean: 0.3, SD: 0.5, Min: 1e-9, Max: 1e9}, {Mean: -1, SD: math.Inf(1), Min: math.Exp(-3), Max: math.E}}
	require.NoError(t, f.setup("test", k, 0.2, 2, &o))
	for index := 1; index < 5; index++ {
		r := rng.Stream(9, "gaussian.fit", uint64(index))
		first := r.NormFloat64()
		r.NormFloat64()
		between := r.Float64()
		f.start(index, 9)
		require.InDelta(t, 0.3+0.5*first, f.x0[0], 1e-15)
		require.InDelta(t, -3+4*between, f.x0[1], 1e-15)
		require.InDelta(t, o.Priors.Noise.Mean+o.Priors.Noise.SD*r.NormFloat64(), f.x0[2], 1e-14)
	}
}

// TestEvidenceOfFixedBounds: a parameter whose bounds leave it one value counts as one that is fixed.
func TestEvidenceOfFixedBounds(t *testing.T) {
	x, y := fitData(t, 12, 2)
	k := kernel.Scale(1, kernel.Matern52(0.5))
	priors := DefaultPriors(2)
	var f Fitter
	fixed, err := f.Fit(t.Context(), k, 0.1, x, y, nil, &FitOptions{Priors: priors, FixNoise: true, Evidence: true})
	require.NoError(t, err)
	priors.Noise = LogNormal{Mean: math.Log(0.1), SD: 2, Min: 0.1, Max: 0.1}
	bound, err := f.Fit(t.Context(), k, 0.1, x, y, nil, &FitOptions{Priors: priors, Evidence: true})
	require.NoError(t, err)
	require.Equal(t, 0.1, bound.Noise)
	require.InDelta(t, fixed.LogPosterior, bound.LogPosterior, 1e-6)
	require.InDelta(t, fixed.Evidence, bound.Evidence, 1e-5)

	// Where the likelihood is not finite around the maximum there is no evidence.
	f.ctx, f.kernel = t.Context(), k
	require.InDelta(t, bound.LogPosterior-bound.Evidence, f.halfLogDet(), 1e-12)
	f.like.resid[0] = math.NaN()
	require.Equal(t, math.Inf(1), f.halfLogDet())
}

// TestFitterWithoutNoise: where points repeat and the noise is none, so that there is a jitter, what Fit
// finds is a maximum all the same.
func TestFitterWithoutNoise(t *testing.T) {
	r := rng.Stream(1, t.Name())
	x, y := randomPoints(r, 12, 2), make([]float64, 12)
	for i := range y {
		if i >= 6 {
			copy(x.Row(i), x.Row(i-6))
		}
		y[i] = math.Sin(5*x.At(i, 0)) + x.At(i, 1)
	}
	var f Fitter
	res, err := f.Fit(context.Background(), kernel.Scale(1, kernel.Matern52(0.5)), 0, x, y, nil, &FitOptions{FixNoise: true})
	require.NoError(t, err)
	best := res.Kernel.AppendParams(nil)
	for _, d := range [][]float64{{0.1, 0}, {-0.1, 0}, {0, 0.1}, {0, -0.1}, {-0.3, -0.1}, {0.3, 0.1}} {
		theta := []float64{best[0] + d[0], best[1] + d[1]}
		k, err := res.Kernel.WithParams(theta)
		require.NoError(t, err)
		v, err := f.like.Eval(k, 0, nil)
		require.NoError(t, err)
		require.Less(t, v+f.logPrior(theta), res.LogPosterior, "at %v, %v away", best, d)
	}
}
