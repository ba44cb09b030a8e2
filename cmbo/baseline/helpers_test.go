package baseline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

// set changes a constant of a method.
func set(f func(c *config)) Option { return func(c *config) error { f(c); return nil } }

// withKernel gives a method another kernel.
func withKernel(shape func(lengths ...float64) kernel.Stationary, ard bool) Option {
	return set(func(c *config) { c.shape, c.ard, c.either = shape, ard, false })
}

// bump is a smooth function on the unit cube with its maximum at c.
func bump(c []float64) func(x []float64) float64 {
	return func(x []float64) float64 {
		var s float64
		for i, v := range x {
			s += (v - c[i]) * (v - c[i])
		}
		return math.Exp(-4 * s)
	}
}

// family makes past tasks on the unit square with maxima around (0.7, 0.3), in
// units of their own.
func family(r *rand.Rand, k, n int) []cmbo.Task {
	tasks := make([]cmbo.Task, k)
	for j := range tasks {
		f := bump([]float64{0.7 + 0.05*r.NormFloat64(), 0.3 + 0.05*r.NormFloat64()})
		tasks[j].ID = fmt.Sprintf("task-%02d", j)
		for range n {
			x := []float64{r.Float64(), r.Float64()}
			tasks[j].X = append(tasks[j].X, x)
			tasks[j].Y = append(tasks[j].Y, 100+float64(j+1)*f(x))
		}
	}
	return tasks
}

func newOptimizer(t testing.TB, s *cmbo.Space, opts ...cmbo.Option) *cmbo.Optimizer {
	o, err := cmbo.New(s, opts...)
	require.NoError(t, err)
	return o
}

func ask(t testing.TB, o *cmbo.Optimizer) cmbo.Trial {
	trial, err := o.Ask(ctx)
	require.NoError(t, err)
	return trial
}

func square(t testing.TB) *cmbo.Space {
	s, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	return s
}

// grid is a list of m×m candidates on the unit square.
func grid(t testing.TB, m int) (*cmbo.Space, [][]float64) {
	var rows [][]float64
	for i := range m {
		for j := range m {
			rows = append(rows, []float64{float64(i) / float64(m-1), float64(j) / float64(m-1)})
		}
	}
	s, err := cmbo.Candidates(rows)
	require.NoError(t, err)
	return s, rows
}

// randomPoints returns n points in the unit cube.
func randomPoints(r *rand.Rand, n, dim int) *linalg.Dense {
	x := linalg.NewDense(n, dim, nil)
	for i := range n {
		for j := range dim {
			x.Set(i, j, r.Float64())
		}
	}
	return x
}

// dataAt evaluates f at points and scales as a run with z-scores would.
func dataAt(f func([]float64) float64, x *linalg.Dense, step int) cmbo.Data {
	n, dim := x.Dims()
	d := cmbo.Data{X: x, Raw: make([]float64, n), NoiseVariance: make([]float64, n), RawNoiseVariance: make([]float64, n), Pending: linalg.NewDense(0, dim, nil), Step: step}
	for i := range n {
		d.Raw[i] = f(x.Row(i))
	}
	d.Y = cmbo.ZScore.Apply(d.Raw)
	return d
}

// setNoise gives value i of d a noise variance, in scaled units.
func setNoise(d *cmbo.Data, i int, v float64) {
	u := unit(d.Raw, d.Y)
	d.NoiseVariance[i], d.RawNoiseVariance[i] = v, v*u*u
}

// firstOf returns what a run would have said after its first n observations.
func firstOf(d cmbo.Data, n, step int) cmbo.Data {
	out := cmbo.Data{X: points.First(d.X, n), Raw: d.Raw[:n], NoiseVariance: d.NoiseVariance[:n], RawNoiseVariance: d.RawNoiseVariance[:n], Pending: d.Pending, Step: step}
	out.Y = cmbo.ZScore.Apply(out.Raw)
	return out
}

// predict returns what a surrogate predicts at the rows of x.
func predict(t testing.TB, s cmbo.Surrogate, x *linalg.Dense) (mean, sd []float64) {
	n := points.Len(x)
	mean, sd = make([]float64, n), make([]float64, n)
	require.NoError(t, s.Predict(ctx, mean, sd, x))
	return mean, sd
}

// solve returns a⁻¹·b by Gaussian elimination with partial pivoting, and the
// logarithm of |det a|: an oracle that shares nothing with package linalg.
func solve(a [][]float64, b []float64) (x []float64, logDet float64) {
	n := len(b)
	m := make([][]float64, n)
	for i := range m {
		m[i] = append(append([]float64(nil), a[i]...), b[i])
	}
	for c := range n {
		p := c
		for i := c; i < n; i++ {
			if math.Abs(m[i][c]) > math.Abs(m[p][c]) {
				p = i
			}
		}
		m[c], m[p] = m[p], m[c]
		logDet += math.Log(math.Abs(m[c][c]))
		for i := c + 1; i < n; i++ {
			f := m[i][c] / m[c][c]
			for j := c; j <= n; j++ {
				m[i][j] -= f * m[c][j]
			}
		}
	}
	x = make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		x[i] = m[i][n]
		for j := i + 1; j < n; j++ {
			x[i] -= m[i][j] * x[j]
		}
		x[i] /= m[i][i]
	}
	return x, logDet
}

// gpOracle returns mean and variance of a Gaussian process with prior mean m and
// covariance k at the points x, given y at the rows of obs.
func gpOracle(k func(x, y []float64) float64, m func(x []float64) float64, obs *linalg.Dense, y, noise []float64, x *linalg.Dense) (mean, variance []float64) {
	n := len(y)
	a := make([][]float64, n)
	resid := make([]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
		for j := range n {
			a[i][j] = k(obs.Row(i), obs.Row(j))
		}
		a[i][i] += noise[i]
		resid[i] = y[i] - m(obs.Row(i))
	}
	for p := range points.Len(x) {
		c := make([]float64, n)
		for i := range c {
			c[i] = k(obs.Row(i), x.Row(p))
		}
		w, _ := solve(a, c)
		mu, v := m(x.Row(p)), k(x.Row(p), x.Row(p))
		for i := range w {
			mu += w[i] * resid[i]
			v -= w[i] * c[i]
		}
		mean, variance = append(mean, mu), append(variance, v)
	}
	return mean, variance
}

func zeroMean([]float64) float64 { return 0 }

// near fails unless all entries agree within an absolute tolerance.
func near(t testing.TB, want, got []float64, tol float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		if !(math.Abs(want[i]-got[i]) <= tol) {
			t.Fatalf("%s: entry %d is %g, want %g (difference %g, tolerance %g)", what, i, got[i], want[i], got[i]-want[i], tol)
		}
	}
}

func testRNG(t testing.TB) *rand.Rand { return testutil.RNG(t) }
