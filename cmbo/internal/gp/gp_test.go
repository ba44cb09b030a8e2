package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

// sample is a data set of n observations in two coordinates and other points to
// predict at.
type sample struct {
	x, at    *linalg.Dense
	y, noise []float64
}

func newSample(t testing.TB, n, m int) sample {
	rng := testutil.RNG(t)
	s := sample{x: linalg.NewDense(n, 2, nil), at: linalg.NewDense(m, 2, nil)}
	for _, x := range []*linalg.Dense{s.x, s.at} {
		for i := range points.Len(x) {
			x.Set(i, 0, rng.Float64())
			x.Set(i, 1, rng.Float64())
		}
	}
	for range n {
		s.y = append(s.y, rng.NormFloat64())
		s.noise = append(s.noise, 0.01+0.1*rng.Float64())
	}
	return s
}

var prior = FromKernel{Kernel: kernel.Scale(1.3, kernel.Matern32(0.4, 0.9)), Mean: 0.7}

// moments holds all moments at a list of points.
type moments struct {
	mean, variance []float64
	gram           linalg.Sym
	cov            linalg.Dense
}

func momentsOf(t testing.TB, p Function, x *linalg.Dense) *moments {
	n := points.Len(x)
	m := &moments{mean: make([]float64, n), variance: make([]float64, n)}
	require.NoError(t, p.Moments(ctx, m.mean, m.variance, x))
	require.NoError(t, p.Gram(ctx, &m.gram, x))
	require.NoError(t, p.Cov(ctx, &m.cov, x, points.First(x, n-1)))
	return m
}

// inBytes is what two results that are equal to the bit have in common.
func (m *moments) inBytes() string {
	n := len(m.mean)
	out := fmt.Sprintf("%x %x", m.mean, m.variance)
	for i := range n {
		out += fmt.Sprintf(" %x %x", m.gram.Row(i), m.cov.Row(i))
	}
	return out
}

func (m *moments) near(t testing.TB, want *moments, tol float64) {
	t.Helper()
	assert.InDeltaSlice(t, want.mean, m.mean, tol, "mean")
	assert.InDeltaSlice(t, want.variance, m.variance, tol, "variance")
	for i := range want.mean {
		assert.InDeltaSlice(t, want.gram.Row(i), m.gram.Row(i), tol, "covariance, row %d", i)
		assert.InDeltaSlice(t, want.cov.Row(i), m.cov.Row(i), tol, "cross-covariance, row %d", i)
	}
}

// bruteForce is the posterior by an explicit inverse of the covariance of the
// observations.
func bruteForce(t testing.TB, s sample) *moments {
	n, m := len(s.y), points.Len(s.at)
	eval := func(a, b []float64) float64 { return prior.Kernel.Eval(a, b) }
	a := linalg.NewSym(n, nil)
	for i := range n {
		for j := range i + 1 {
			a.Set(i, j, eval(s.x.Row(i), s.x.Row(j)))
		}
		a.Set(i, i, a.At(i, i)+s.noise[i])
	}
	var e spectral.EigenSym
	require.NoError(t, e.Factorize(a))
	var vec linalg.Dense
	e.VectorsTo(&vec)
	inverse := func(u, v []float64) (sum float64) { // uᵀ·A⁻¹·v
		for k, l := range e.Values() {
			var pu, pv float64
			for i := range n {
				pu += vec.At(i, k) * u[i]
				pv += vec.At(i, k) * v[i]
			}
			sum += pu * pv / l
		}
		return sum
	}
	column := func(x []float64) []float64 {
		c := make([]float64, n)
		for i := range c {
			c[i] = eval(s.x.Row(i), x)
		}
		return c
	}
	resid := make([]float64, n)
	for i, y := range s.y {
		resid[i] = y - prior.Mean
	}
	out := &moments{gram: *linalg.NewSym(m, nil), cov: *linalg.NewDense(m, m-1, nil)}
	for i := range m {
		ci := column(s.at.Row(i))
		out.mean = append(out.mean, prior.Mean+inverse(ci, resid))
		for j := range m {
			v := eval(s.at.Row(i), s.at.Row(j)) - inverse(ci, column(s.at.Row(j)))
			if j <= i {
				out.gram.Set(i, j, v)
			}
			if j < m-1 {
				out.cov.Set(i, j, v)
			}
			if i == j {
				out.variance = append(out.variance, v)
			}
		}
	}
	return out
}

func TestProcessAgainstBruteForce(t *testing.T) {
	s := newSample(t, 14, 6)
	want := bruteForce(t, s)
	p, err := Condition(ctx, prior, s.x, s.y, s.noise)
	require.NoError(t, err)
	momentsOf(t, p, s.at).near(t, want, 1e-12)
	grown := New(prior)
	require.NoError(t, grown.Extend(ctx, s.x, s.y, s.noise))
	momentsOf(t, grown, s.at).near(t, want, 1e-12)
	assert.InDelta(t, p.Data().LogMarginal(), grown.Data().LogMarginal(), 1e-12)
}

// TestPriorWithoutData: without observations a process is its prior.
func TestPriorWithoutData(t *testing.T) {
	s := newSample(t, 5, 4)
	want := momentsOf(t, prior, s.at).inBytes()
	p := New(prior)
	assert.Equal(t, want, momentsOf(t, p, s.at).inBytes())
	require.NoError(t, p.Extend(ctx, s.x, s.y, s.noise))
	assert.NotEqual(t, want, momentsOf(t, p, s.at).inBytes())
	require.NoError(t, p.Extend(ctx, linalg.NewDense(0, 2, nil), nil, nil))
	assert.Equal(t, want, momentsOf(t, p, s.at).inBytes())
	require.NoError(t, p.Condition(ctx, s.x, s.y, s.noise))
	require.NoError(t, p.Condition(ctx, nil, nil, nil))
	assert.Equal(t, want, momentsOf(t, p, s.at).inBytes())
	assert.Zero(t, p.Data().Len())
}

// TestExtendBySteps: what a process has become does not depend on the steps in which
// its observations came, nor on what it knew before.
func TestExtendBySteps(t *testing.T) {
	s := newSample(t, 12, 5)
	at := func(n int) string {
		p := New(prior)
		require.NoError(t, p.Extend(ctx, points.First(s.x, n), s.y[:n], s.noise[:n]))
		return momentsOf(t, p, s.at).inBytes()
	}
	p := New(prior)
	x := linalg.NewDense(12, 2, nil) // one matrix that is filled anew
	for _, n := range []int{3, 4, 4, 9, 12, 7, 8} {
		x.Copy(points.First(s.x, n))
		require.NoError(t, p.Extend(ctx, x, s.y[:n], s.noise[:n]))
		assert.Equal(t, at(n), momentsOf(t, p, s.at).inBytes(), "%d observations", n)
	}
	s.y[2] += 0.25
	require.NoError(t, p.Extend(ctx, points.First(s.x, 9), s.y[:9], s.noise[:9]))
	assert.Equal(t, at(9), momentsOf(t, p, s.at).inBytes(), "another value")
	s.noise[1] *= 2
	require.NoError(t, p.Extend(ctx, points.First(s.x, 10), s.y[:10], s.noise[:10]))
	assert.Equal(t, at(10), momentsOf(t, p, s.at).inBytes(), "another noise variance")
	s.x.Set(4, 1, 0.5)
	require.NoError(t, p.Extend(ctx, points.First(s.x, 11), s.y[:11], s.noise[:11]))
	assert.Equal(t, at(11), momentsOf(t, p, s.at).inBytes(), "another point")
}

// TestGrowAfterError: after an error of any kind nothing is conditioned on, and what
// comes then is as if nothing had been.
func TestGrowAfterError(t *testing.T) {
	errRow := errors.New("row")
	rowOf := func(broken int, cross float64) Row {
		return func(dst []float64, i int) error {
			if i == broken {
				return errRow
			}
			for j := range dst {
				dst[j] = cross
			}
			dst[i] = 1
			return nil
		}
	}
	noise, resid := []float64{0.1, 0.2, 0.1}, []float64{1, -1, 0.5}
	nan := []float64{1, -1, math.NaN()}
	good := rowOf(-1, 0.5)
	var fresh Conditioned
	require.NoError(t, fresh.Grow(0, good, noise, resid))
	for name, fail := range map[string]func(d *Conditioned) error{
		"a row": func(d *Conditioned) error { return d.Grow(3, rowOf(3, 0.5), append(noise, 0.1), append(resid, 0)) },
		"a row again": func(d *Conditioned) error {
			return d.Grow(0, breakAt(rowOf(-1, 1), 4, errRow), make([]float64, 3), resid)
		},
		"a residual":            func(d *Conditioned) error { return d.Grow(3, good, noise, nan) },
		"a residual of a new":   func(d *Conditioned) error { return d.Grow(2, good, noise, nan) },
		"a matrix not definite": func(d *Conditioned) error { return d.Grow(0, rowOf(-1, 9), noise, resid) },
	} {
		var d Conditioned
		require.NoError(t, d.Grow(0, good, noise, resid), name)
		require.Error(t, fail(&d), name)
		require.Zero(t, d.Len(), name)
		require.NoError(t, d.Grow(0, good, noise, resid), name)
		require.Equal(t, fresh.LogMarginal(), d.LogMarginal(), name)
	}
}

// breakAt returns row with an error at its n-th call.
func breakAt(row Row, n int, err error) Row {
	return func(dst []float64, i int) error {
		if n--; n == 0 {
			return err
		}
		return row(dst, i)
	}
}

// TestGrowKeepsTheFactor: rows that are known are not asked for again.
func TestGrowKeepsTheFactor(t *testing.T) {
	s := newSample(t, 8, 1)
	var d Conditioned
	asked := 0
	row := func(dst []float64, i int) error {
		asked++
		for j := range dst {
			dst[j] = prior.Kernel.Eval(s.x.Row(i), s.x.Row(j))
		}
		return nil
	}
	require.NoError(t, d.Grow(0, row, s.noise[:6], s.y[:6]))
	assert.Equal(t, 6, asked)
	require.NoError(t, d.Grow(6, row, s.noise, s.y))
	assert.Equal(t, 8, asked)
	require.NoError(t, d.Grow(5, row, s.noise, s.y))
	assert.Equal(t, 16, asked, "the covariances of the sixth have changed")
}

// TestGrowAfterJitter: a factor with jitter is made anew, as that of all points needs another one.
func TestGrowAfterJitter(t *testing.T) {
	row := func(dst []float64, i int) error {
		for j := range dst {
			dst[j] = 1 // of points that are equal
		}
		return nil
	}
	noise, resid := []float64{0, 0, 1, 1}, []float64{1, 1, 0.5, 0.25}
	var d, fresh Conditioned
	require.NoError(t, d.Grow(0, row, noise[:2], resid[:2]))
	require.Positive(t, d.Jitter())
	require.NoError(t, d.Grow(2, row, noise, resid))
	require.NoError(t, fresh.Grow(0, row, noise, resid))
	require.Equal(t, fresh.Jitter(), d.Jitter())
	require.Equal(t, fresh.LogMarginal(), d.LogMarginal())
}

// TestPending: pending points leave means alone, to the bit, and take from the
// variances what values there would.
func TestPending(t *testing.T) {
	s := newSample(t, 10, 7)
	for _, n := range []int{0, 6} {
		p := New(prior)
		require.NoError(t, p.Extend(ctx, points.First(s.x, n), s.y[:n], s.noise[:n]))
		before := momentsOf(t, p, s.at)
		same, err := p.WithPending(ctx, linalg.NewDense(0, 2, nil), 0.03)
		require.NoError(t, err)
		assert.Same(t, p, same)

		pending := linalg.NewDense(2, 2, []float64{0.3, 0.4, 0.35, 0.9})
		q, err := p.WithPending(ctx, pending, 0.03)
		require.NoError(t, err)
		got := momentsOf(t, q, s.at)
		assert.Equal(t, before.mean, got.mean)
		assert.Equal(t, before.inBytes(), momentsOf(t, p, s.at).inBytes(), "the process itself has changed")

		expected := make([]float64, 2)
		require.NoError(t, p.Moments(ctx, expected, nil, pending))
		all := New(prior)
		noise := append(append([]float64(nil), s.noise[:n]...), 0.03, 0.03)
		require.NoError(t, all.Extend(ctx, points.Join(p.x, pending), append(append([]float64(nil), s.y[:n]...), expected...), noise))
		got.near(t, momentsOf(t, all, s.at), 1e-13)
		for i, v := range got.variance {
			assert.Less(t, v, before.variance[i])
		}
	}
}

// TestPendingWithoutNoise: a point that is known exactly may be pending, twice.
func TestPendingWithoutNoise(t *testing.T) {
	s := newSample(t, 4, 3)
	p := New(prior)
	require.NoError(t, p.Extend(ctx, s.x, s.y, make([]float64, 4)))
	before := momentsOf(t, p, s.at)
	q, err := p.WithPending(ctx, points.Pick(s.x, []int{1, 1, 2}), 0)
	require.NoError(t, err)
	got := momentsOf(t, q, s.at)
	assert.Equal(t, before.mean, got.mean)
	assert.InDeltaSlice(t, before.variance, got.variance, 1e-7)
}

// TestConditionTwice: a process is a prior, and conditioning on half of the
// observations and then on the others is conditioning on all.
func TestConditionTwice(t *testing.T) {
	s := newSample(t, 12, 5)
	half, err := Condition(ctx, prior, points.First(s.x, 6), s.y[:6], s.noise[:6])
	require.NoError(t, err)
	whole, err := Condition(ctx, half, points.Pick(s.x, []int{6, 7, 8, 9, 10, 11}), s.y[6:], s.noise[6:])
	require.NoError(t, err)
	momentsOf(t, whole, s.at).near(t, bruteForce(t, s), 1e-12)
}

// TestSingular: a repeated point without noise needs a jitter, which growing by rows
// takes from the whole matrix, at any step.
func TestSingular(t *testing.T) {
	s := newSample(t, 6, 3)
	copy(s.x.Row(4), s.x.Row(1))
	s.y[4] = s.y[1]
	exact := make([]float64, 6)
	p := New(prior)
	require.NoError(t, p.Extend(ctx, points.First(s.x, 4), s.y[:4], exact[:4]))
	assert.Zero(t, p.Data().Jitter())
	require.NoError(t, p.Extend(ctx, points.First(s.x, 5), s.y[:5], exact[:5]))
	require.NoError(t, p.Extend(ctx, s.x, s.y, exact))
	assert.Positive(t, p.Data().Jitter())
	once := New(prior)
	require.NoError(t, once.Extend(ctx, s.x, s.y, exact))
	assert.Equal(t, momentsOf(t, once, s.at).inBytes(), momentsOf(t, p, s.at).inBytes())
}

func TestErrors(t *testing.T) {
	s := newSample(t, 4, 2)
	bad := []float64{0, math.NaN(), 0, 0}
	p := New(prior)
	assert.ErrorIs(t, p.Condition(ctx, s.x, bad, s.noise), gaussian.ErrNotFinite)
	assert.ErrorIs(t, p.Extend(ctx, s.x, bad, s.noise), gaussian.ErrNotFinite)
	assert.ErrorIs(t, p.Extend(ctx, s.x, s.y, []float64{1, 1, -1, 1}), gaussian.ErrArgument)
	assert.Equal(t, momentsOf(t, prior, s.at).inBytes(), momentsOf(t, p, s.at).inBytes(), "not the prior after a failure")
	require.NoError(t, p.Extend(ctx, s.x, s.y, s.noise))

	done, cancel := context.WithCancel(ctx)
	cancel()
	assert.Equal(t, context.Canceled, p.Extend(done, s.x, bad, s.noise))
	var f Fitter
	_, err := f.Fit(done, prior.Kernel, s.x, s.y, nil, math.NaN(), 1)
	assert.Equal(t, context.Canceled, err)
}
