package hierarchy

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// The gradient of what the base fit minimises agrees with central differences, whose
// error is about h² of the third derivative, and the cube root of the rounding unit is the
// best h.
func TestBaseGradient(t *testing.T) {
	r := rng.Stream(31, t.Name())
	s := DefaultSettings(3)
	template := s.Kernels[0]
	_, _, pull, _ := s.box()
	o := gp.NewMultiTask(template, 1, 1)
	for range 4 {
		z := make([]float64, 9)
		for i := range z {
			z[i] = r.NormFloat64()
		}
		o.Add(uniform(r, len(z), 3), z, nil)
	}
	f := baseObjective(ctx, o, pull)
	x := append(template.AppendParams([]float64{0.3}), math.Log(0.05))
	for i := range x {
		x[i] += 0.2 * r.NormFloat64()
	}
	grad, scratch := make([]float64, len(x)), make([]float64, len(x))
	f(x, grad)
	priors := 0
	for i := range x {
		const h = 1e-5
		at := x[i]
		x[i] = at + h
		up := f(x, scratch)
		x[i] = at - h
		down := f(x, scratch)
		x[i] = at
		require.InDelta(t, (up-down)/(2*h), grad[i], 1e-6*(1+math.Abs(grad[i])), "parameter %d", i)
		if pull[i].sd > 0 {
			priors++
			require.Greater(t, math.Abs(x[i]-pull[i].mean), 0.01, "a prior's slope is 0 at its mean")
		}
	}
	require.Equal(t, 3, priors)
}

// Where all values come with their noise variance, the noise of others is that of most, within
// its bounds; where one is missing, it is the likelihood that says.
func TestBaseNoiseOfGiven(t *testing.T) {
	r := rng.Stream(32, t.Name())
	s := DefaultSettings(2)
	for _, tt := range []struct{ given, want float64 }{{0.09, 0.09}, {40, s.NoiseRange[1]}, {1e-9, s.NoiseRange[0]}} {
		var tasks []Task
		for range 3 {
			task := Task{X: uniform(r, 9, 2)}
			for range 9 {
				task.Z, task.Noise = append(task.Z, r.NormFloat64()), append(task.Noise, tt.given)
			}
			task.Noise[4] = 1e3 // one that is no guide
			tasks = append(tasks, task)
		}
		b, _, err := fitBase(ctx, tasks, &s)
		require.NoError(t, err)
		require.InEpsilon(t, tt.want, b.NoiseVariance, 1e-12)
		tasks[1].Noise[2] = 0
		b, _, err = fitBase(ctx, tasks, &s)
		require.NoError(t, err)
		require.NotEqual(t, tt.want, b.NoiseVariance)
	}
}

// The base fit searches between the bounds of the settings, in the order of the parameters,
// and what a kernel from outside means by its own is bounded around the template's.
func TestBaseBounds(t *testing.T) {
	s := DefaultSettings(2)
	lo, hi, _, _ := s.box()
	logs := func(v ...float64) []float64 {
		for i := range v {
			v[i] = math.Log(v[i])
		}
		return v
	}
	require.Equal(t, append([]float64{-s.MaxMean}, logs(s.VarianceRange[0], s.LengthRange[0], s.LengthRange[0], s.NoiseRange[0])...), lo)
	require.Equal(t, append([]float64{s.MaxMean}, logs(s.VarianceRange[1], s.LengthRange[1], s.LengthRange[1], s.NoiseRange[1])...), hi)
	for _, k := range []kernel.Kernel{kernel.Sum(s.Kernels[0], kernel.Scale(3, kernel.Matern32(0.1, 0.2))), kernel.Sum(kernel.Matern32(0.1, 0.2), kernel.Matern52(0.3))} {
		s.Kernels = []kernel.Kernel{k}
		lo, hi, pull, _ := s.box()
		for i, p := range k.AppendParams(nil) {
			require.Equal(t, []float64{p - gp.ForeignRange, p + gp.ForeignRange}, []float64{lo[1+i], hi[1+i]})
			require.Zero(t, pull[1+i])
		}
	}
}

// The base process has the kernel that its draws show, with the parameters that it would have alone.
func TestBaseKernels(t *testing.T) {
	for i, shape := range []func(lengths ...float64) kernel.Stationary{kernel.Matern32, kernel.Matern52} {
		for seed := range uint64(5) {
			r := rng.Stream(37, t.Name(), seed)
			var tasks []Task
			for range 6 {
				task := Task{X: uniform(r, 60, 2), Scale: 1}
				var cov linalg.Sym
				kernel.Gram(&cov, shape(0.4, 0.6), task.X)
				cov.AddDiag(1e-4)
				var chol linalg.Cholesky
				require.NoError(t, chol.Factorize(&cov))
				for range 60 {
					task.Z = append(task.Z, r.NormFloat64())
				}
				chol.Lower().MulVecTo(task.Z, slices.Clone(task.Z))
				tasks = append(tasks, task)
			}
			s := DefaultSettings(2)
			got, _, err := fitBase(ctx, tasks, &s)
			require.NoError(t, err)
			s.Kernels = s.Kernels[i:][:1]
			want, _, err := fitBase(ctx, tasks, &s)
			require.NoError(t, err)
			spec, err := kernel.Describe(got.Kernel)
			require.NoError(t, err)
			alone, err := kernel.Describe(want.Kernel)
			require.NoError(t, err)
			require.Equal(t, alone.Kernels[0].Name, spec.Kernels[0].Name, "seed %d", seed)
			require.InDeltaSlice(t, want.Kernel.AppendParams([]float64{want.Mean, math.Log(want.NoiseVariance)}),
				got.Kernel.AppendParams([]float64{got.Mean, math.Log(got.NoiseVariance)}), 0.05, "seed %d", seed)
		}
	}
}

// Tasks of few values are not taken for noise alone, whatever their scale makes of them; others
// are, and labels.
func TestBaseOfFewValues(t *testing.T) {
	r := rng.Stream(36, t.Name())
	tasks := func(k, n, dim int) (out []Task) {
		for range k {
			x := uniform(r, n, dim)
			z := make([]float64, n)
			for i := range z {
				z[i] = float64(1 - 2*(i%2))
			}
			out = append(out, Task{X: x, Z: z, Scale: 1})
		}
		return out
	}
	for _, tt := range []struct {
		tasks, values, dim, few int
		most                    float64
	}{
		{10, 2, 3, 8, 0.1}, {10, 2, 3, 2, 1}, {10, 2, 3, 0, 1}, {10, 7, 3, 8, 0.1}, {10, 8, 3, 8, 1},
		{4, 15, 8, 8, 0.1}, {4, 15, 8, 0, 1}, {5, 15, 8, 8, 1}, {3, 16, 8, 8, 1}, {7, 8, 8, 8, 0.1}, {8, 8, 8, 8, 1},
	} {
		s := DefaultSettings(tt.dim)
		s.FewValues = tt.few
		b, _, err := fitBase(ctx, tasks(tt.tasks, tt.values, tt.dim), &s)
		require.NoError(t, err)
		require.LessOrEqual(t, b.NoiseVariance, tt.most*(1+1e-12))
		require.Greater(t, b.NoiseVariance, tt.most/2, "%d tasks of %d values in %d dimensions", tt.tasks, tt.values, tt.dim)
	}
	s := DefaultSettings(3)
	all := tasks(10, 2, 3)
	s.FewValuesNoise = 0
	least, _, err := fitBase(ctx, all, &s)
	require.NoError(t, err)
	require.InEpsilon(t, s.NoiseRange[0], least.NoiseVariance, 1e-12, "none below the least that is learned")
	for i := range all {
		all[i].Noise = []float64{0.9, 0.9}
	}
	all[1].Noise[0] = 0.4
	b, _, err := fitBase(ctx, all, &s)
	require.NoError(t, err)
	require.InDelta(t, 0.9, b.NoiseVariance, 1e-12, "it is given")
	s.BaseRows = 1
	b, _, err = fitBase(ctx, all, &s)
	require.NoError(t, err)
	require.InDelta(t, 0.9, b.NoiseVariance, 1e-12, "of some of the values too")
}

// Where noise variances are given, others are their median, in whatever unit the values are, and whatever a task of equal
// values, which shows none, has.
func TestBaseNoiseGiven(t *testing.T) {
	s := DefaultSettings(2)
	for _, unit := range []float64{1, 0.1} {
		r := rng.Stream(33, t.Name())
		var tasks []Task
		for range 3 {
			task := Task{X: uniform(r, 9, 2)}
			for range 9 {
				task.Z, task.Noise = append(task.Z, unit*r.NormFloat64()), append(task.Noise, 0.04)
			}
			for i := range 4 { // fewer than half
				task.Noise[2*i] = []float64{1e-3, 1e-2, 0.02, 0.03}[i]
			}
			tasks = append(tasks, task)
		}
		tasks = append(tasks, Task{X: uniform(r, 4, 2), Z: make([]float64, 4)})
		base, _, err := fitBase(ctx, tasks, &s)
		require.NoError(t, err)
		require.InEpsilon(t, 0.04, base.NoiseVariance, 1e-14)
	}
}

// Under a blind process a value is next to nothing but noise, or a function whose lengths are the least in all coordinates;
// the rest is as the template has it.
func TestBlind(t *testing.T) {
	s := DefaultSettings(3)
	template := s.Kernels[0].AppendParams(nil)
	noise, rough := s.blind(true), s.blind(false)
	want := slices.Clone(template)
	want[0] = math.Log(s.VarianceRange[0])
	require.InDeltaSlice(t, want, noise.Kernel.AppendParams(nil), 1e-12)
	require.InDelta(t, 1, noise.NoiseVariance+s.VarianceRange[0], 1e-15)
	want[0] = template[0]
	for i := range 3 {
		want[1+i] = math.Log(s.LengthRange[0])
	}
	require.InDeltaSlice(t, want, rough.Kernel.AppendParams(nil), 1e-12)
	require.Equal(t, 0.01, rough.NoiseVariance)
	require.Zero(t, noise.Mean+rough.Mean)
}

// Tasks share nothing from next to nothing of their variance on down, unless nobody asked how much.
func TestNothingShared(t *testing.T) {
	for common, want := range map[float64]bool{0: false, 0.02: true, nothingCommon: true, 0.06: false, 0.9: false} {
		require.Equal(t, want, NothingShared(common), "%g", common)
	}
}
