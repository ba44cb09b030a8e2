package paper

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// extensions returns a prior of two clusters, of two tasks and one, whose prototypes
// extend random Gaussians on n points.
func extensions(t *testing.T, n, d int) *Prior {
	t.Helper()
	r := rng.Stream(3, t.Name())
	p := &Prior{config: &config{workers: 1}, labels: []int{0, 1, 0}, index: uniform(r, n, d)}
	for i := range 2 {
		mean := make([]float64, n)
		for j := range mean {
			mean[j] = r.NormFloat64()
		}
		cov := linalg.NewSym(n, testutil.SPD(r, n, 10))
		normal, err := multivariate.NewNormal(mean, cov)
		require.NoError(t, err)
		e, err := newExtension(p.index, normal, kernel.Scale(1.5, kernel.Matern32(0.3+0.2*float64(i))))
		require.NoError(t, err)
		p.prototypes = append(p.prototypes, prototype{normal, e})
	}
	return p
}

// covariancesOf returns the covariances of the rows of x under p.
func covariancesOf(t *testing.T, p evaluator, x *linalg.Dense) *linalg.Dense {
	t.Helper()
	cross := new(linalg.Dense)
	require.NoError(t, p.at(context.Background(), 1, nil, nil, cross, x, x))
	return cross
}

// An extension has its Gaussian's distribution on the index set, and elsewhere that of
// the kernel's process conditioned on it: the formula with the inverse of K written out.
func TestExtension(t *testing.T) {
	const n, d, more = 6, 2, 5
	p := extensions(t, n, d)
	x := points.Join(p.index, uniform(rng.Stream(4, t.Name()), more, d))
	for _, q := range p.prototypes {
		e := q.evaluator.(*extension)
		mean, variance := make([]float64, n+more), make([]float64, n+more)
		var cross linalg.Dense
		require.NoError(t, e.at(context.Background(), 2, mean, variance, &cross, x, x))

		// K⁻¹ column by column, and C = K⁻¹ − K⁻¹·S·K⁻¹.
		inverse := linalg.NewDense(n, n, nil)
		for j := range n {
			col := make([]float64, n)
			col[j] = 1
			e.chol.SolveVecTo(col, col)
			for i := range n {
				inverse.Set(i, j, col[i])
			}
		}
		s := q.normal.Cov()
		c := func(i, j int) float64 {
			v := inverse.At(i, j)
			for a := range n {
				for b := range n {
					v -= inverse.At(i, a) * s.At(a, b) * inverse.At(b, j)
				}
			}
			return v
		}
		for r := range n + more {
			var wantMean float64
			for i := range n {
				for j := range n {
					wantMean += e.kernel.Eval(x.Row(r), p.index.Row(i)) * inverse.At(i, j) * q.normal.Mean()[j]
				}
			}
			require.InDelta(t, wantMean, mean[r], 1e-8)
			require.InDelta(t, cross.At(r, r), variance[r], 1e-9)
			for k := range n + more {
				want := e.kernel.Eval(x.Row(r), x.Row(k))
				for i := range n {
					for j := range n {
						want -= e.kernel.Eval(x.Row(r), p.index.Row(i)) * c(i, j) * e.kernel.Eval(p.index.Row(j), x.Row(k))
					}
				}
				require.InDelta(t, want, cross.At(r, k), 1e-8)
				if r < n && k < n {
					require.InDelta(t, s.At(r, k), cross.At(r, k), 1e-8)
				}
			}
			if r < n {
				require.InDelta(t, q.normal.Mean()[r], mean[r], 1e-8)
			}
		}
	}
}

// The greedy gain is that of points each of which adds most to ½·ln det(I + K/noise),
// of the candidates, or of the index set without.
func TestGreedyGain(t *testing.T) {
	ctx := context.Background()
	const d, noise, n = 2, 0.1, 4
	p := extensions(t, 7, d)
	candidates := uniform(rng.Stream(5, t.Name()), 9, d)
	cube, err := cmbo.UnitCube(d)
	require.NoError(t, err)
	for _, bound := range []bool{false, true} {
		a := &Surrogate{view: view{prior: p, entries: make(map[string]int)}, runConfig: runConfig{noise: noise}, space: cube}
		x := p.index
		if bound {
			x = candidates
			require.NoError(t, a.Bind(ctx, x))
		}
		none := linalg.NewDense(0, d, nil)
		require.NoError(t, a.Fit(ctx, cmbo.Data{X: none, Pending: none, Seen: none}))
		a.w = []float64{2. / 3, 1. / 3}
		k0, k1 := covariancesOf(t, p.prototypes[0].evaluator, x), covariancesOf(t, p.prototypes[1].evaluator, x)
		gain := func(chosen []int) float64 {
			m := linalg.NewSym(len(chosen), nil)
			for i, r := range chosen {
				for j, s := range chosen[:i+1] {
					v := (4./9*k0.At(r, s) + 1./9*k1.At(r, s)) / noise
					if i == j {
						v++
					}
					m.Set(i, j, v)
				}
			}
			var c linalg.Cholesky
			require.NoError(t, c.Factorize(m))
			return c.LogDet() / 2
		}
		var chosen []int
		rows, _ := x.Dims()
		var top float64
		for range n {
			best := 0
			top = math.Inf(-1)
			for r := range rows { // a point may be chosen again
				if g := gain(append(chosen[:len(chosen):len(chosen)], r)); g > top {
					best, top = r, g
				}
			}
			chosen = append(chosen, best)
		}
		got, err := a.greedyGain(ctx, n)
		require.NoError(t, err)
		require.InEpsilon(t, top/(1-1/math.E), got, 1e-9)
	}
}

// The range of noise is that of the data, and in a run that of values to come as well.
func TestNoiseRange(t *testing.T) {
	for _, test := range []struct {
		given  []float64
		lo, hi float64
	}{
		{[]float64{0.4, 0.1, 0.3}, 0.1, 0.4},
		{nil, 0.2, 0.2},
	} {
		s := &source{task: task{y: make([]float64, 3), noise: test.given}}
		s.NoiseVariance = 0.2
		lo, hi := slices.Min(s.noises()), slices.Max(s.noises())
		require.Equal(t, []float64{test.lo, test.hi}, []float64{lo, hi})
	}
	for _, usual := range []float64{0.05, 0.2, 0.5} {
		a := &Surrogate{runConfig: runConfig{noise: usual}, noises: []float64{0.4, 0.1, 0.3}}
		lo, hi := a.noiseRange()
		require.Equal(t, []float64{min(0.1, usual), max(0.4, usual)}, []float64{lo, hi})
	}
}

// uniform returns points of the unit cube.
func uniform(r interface{ Float64() float64 }, n, d int) *linalg.Dense {
	x := linalg.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			x.Set(i, j, r.Float64())
		}
	}
	return x
}
