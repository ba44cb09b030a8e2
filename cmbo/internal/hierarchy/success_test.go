package hierarchy

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// labelled makes k tasks of n points that fail where the sum of the coordinates is
// large, each with a bound of its own.
func labelled(seed uint64, k, n int) []Task {
	var out []Task
	for i := range k {
		r := rng.Stream(seed, "labelled", uint64(i))
		x := uniform(r, n, 2)
		bound := 0.9 + 0.4*r.Float64()
		var ok, failed []float64
		for j := range n {
			if x.Row(j)[0]+x.Row(j)[1] > bound {
				failed = append(failed, x.Row(j)...)
			} else {
				ok = append(ok, x.Row(j)...)
			}
		}
		out = append(out, LabelledTask(string(rune('a'+i)), linalg.NewDense(len(ok)/2, 2, ok), linalg.NewDense(len(failed)/2, 2, failed)))
	}
	return out
}

// success returns what a fresh run says of cand.
func success(t *testing.T, m *Model, workers int, x *linalg.Dense, labels []float64, cand *linalg.Dense) []float64 {
	t.Helper()
	run := NewSuccessRun(m, m.Settings(), workers, nil)
	require.NoError(t, run.Fit(ctx, x, labels, nil, nil))
	p := make([]float64, rows(cand))
	require.NoError(t, run.Success(ctx, p, cand))
	return p
}

// dense returns the log density of labels under prior moments and the probability
// that the others' are positive.
func dense(t *testing.T, mean []float64, cov *linalg.Sym, labels []float64, given, noise float64) (float64, []float64) {
	n, told := len(mean), len(labels)
	k := linalg.NewSym(told, nil)
	resid := make([]float64, told)
	for i, z := range labels {
		resid[i] = z - mean[i]
		for j := range labels {
			k.Row(i)[j] = cov.At(i, j)
		}
		k.Row(i)[i] += given
	}
	alpha, logDet := []float64(nil), 0.0
	if told > 0 {
		alpha, logDet = solve(t, k, resid)
	}
	p := make([]float64, n-told)
	for j := range p {
		c := make([]float64, told)
		for i := range c {
			c[i] = cov.At(i, told+j)
		}
		v := cov.At(told+j, told+j) + noise
		if told > 0 {
			w, _ := solve(t, k, c)
			v -= linalg.Dot(w, c)
		}
		p[j] = special.NormCDF((mean[told+j] + linalg.Dot(alpha, c)) / math.Sqrt(v))
	}
	return -0.5 * (linalg.Dot(resid, alpha) + logDet), p
}

// The probability of success agrees with dense covariances under every hypothesis,
// weighed by their densities.
func TestSuccessAgainstBruteForce(t *testing.T) {
	r := rng.Stream(21, t.Name())
	m := learn(t, labelled(21, 6, 12), uniform(r, 20, 2), testSettings(2))
	for _, told := range []int{0, 1, 6} {
		x, cand := uniform(r, told, 2), uniform(r, 7, 2)
		labels := make([]float64, told)
		for i := range labels {
			labels[i] = []float64{Failed, Succeeded, Succeeded}[i%3]
		}
		run := NewSuccessRun(m, m.Settings(), 1, nil)
		require.NoError(t, run.Fit(ctx, x, labels, nil, nil))
		got := make([]float64, 7)
		require.NoError(t, run.Success(ctx, got, cand))
		all := join(x, cand)
		var logs []float64
		var ps [][]float64
		for _, k := range run.all {
			mean, cov := denseMoments(t, m, k.hypothesis, all)
			l, p := dense(t, mean, cov, labels, m.Base().NoiseVariance, m.Base().NoiseVariance)
			assert.InDelta(t, l, k.fit.evidence, 1e-8*(1+math.Abs(l)), "evidence of %s with %d told", k, told)
			logs, ps = append(logs, l+k.log), append(ps, p)
		}
		var total float64
		want := make([]float64, 7)
		for i, l := range logs {
			w := math.Exp(l - slices.Max(logs))
			total += w
			linalg.Axpy(want, w, ps[i])
		}
		for j := range want {
			// Hypotheses of less than run.s.MinMass are left out: there are at most 20.
			assert.InDelta(t, want[j]/total, got[j], 20*run.s.MinMass, "%d told, candidate %d", told, j)
		}
	}
}

// A past that fails in one part of the space is expected to fail there again, and
// labels of the run decide where they say otherwise.
func TestSuccessFollowsPastAndRun(t *testing.T) {
	r := rng.Stream(22, t.Name())
	m := learn(t, labelled(22, 8, 25), uniform(r, 40, 2), testSettings(2))
	cand := linalg.NewDense(3, 2, []float64{.2, .2, .9, .9, .8, .2})
	p := success(t, m, 1, nil, nil, cand)
	assert.Greater(t, p[0], 0.9)
	assert.Less(t, p[1], 0.1)
	x := linalg.NewDense(4, 2, []float64{.85, .9, .95, .85, .9, .95, .2, .25})
	other := success(t, m, 1, x, []float64{Succeeded, Succeeded, Succeeded, Failed}, cand)
	assert.Less(t, other[0], 0.6)
	assert.Greater(t, other[1], 0.6)
}

// Without a past success is expected, until failures say otherwise.
func TestSuccessWithoutPast(t *testing.T) {
	x := linalg.NewDense(3, 2, []float64{.1, .1, .9, .9, .5, .5})
	m := NewSuccess(x)
	p := success(t, m, 1, nil, nil, x)
	for _, v := range p {
		assert.InDelta(t, special.NormCDF(1/math.Sqrt(1+m.settings.SuccessNoise)), v, 1e-12)
	}
	labels := []float64{Succeeded, Failed, Succeeded}
	got := success(t, m, 1, x, labels, x)
	assert.Greater(t, got[0], 0.95)
	assert.Less(t, got[1], 0.2)
	// And by dense covariances.
	cand := uniform(rng.Stream(23, t.Name()), 5, 2)
	all := join(x, cand)
	cov := linalg.NewSym(8, nil)
	kernel.Gram(cov, m.Base().Kernel, all)
	mean := slices.Repeat([]float64{Succeeded}, 8)
	_, want := dense(t, mean, cov, labels, m.settings.SuccessNoise, m.settings.SuccessNoise)
	assert.InDeltaSlice(t, want, success(t, m, 1, x, labels, cand), 1e-10)
}

// The order of past tasks changes nothing but rounding; the number of goroutines and
// labels that came one by one nothing at all.
func TestSuccessOrders(t *testing.T) {
	r := rng.Stream(24, t.Name())
	z, x, cand := uniform(r, 25, 2), uniform(r, 6, 2), uniform(r, 40, 2)
	labels := []float64{Succeeded, Failed, Succeeded, Succeeded, Failed, Succeeded}
	past := labelled(24, 7, 15)
	o := testSettings(2)
	m := learn(t, past, z, o)
	want := success(t, m, 1, x, labels, cand)
	require.Equal(t, want, success(t, m, 4, x, labels, cand))
	turned := append(slices.Clone(past[3:]), past[:3]...)
	assert.InDeltaSlice(t, want, success(t, learn(t, turned, z, o), 1, x, labels, cand), 1e-5)
	run := NewSuccessRun(m, m.Settings(), 1, nil)
	got := make([]float64, rows(cand))
	for i := range 7 {
		v := x.View(0, 0, i, 2)
		require.NoError(t, run.Fit(ctx, &v, labels[:i], nil, nil))
		require.NoError(t, run.Success(ctx, got, cand))
	}
	require.Equal(t, want, got)
}

// Labels all alike, single points and repeated ones give probabilities.
func TestSuccessDegenerate(t *testing.T) {
	r := rng.Stream(25, t.Name())
	z, cand := uniform(r, 10, 2), uniform(r, 5, 2)
	point := linalg.NewDense(3, 2, []float64{.3, .3, .3, .3, .3, .3})
	for name, past := range map[string][]Task{
		"failures alone":   {LabelledTask("a", nil, uniform(r, 6, 2))},
		"one point":        {LabelledTask("a", nil, uniform(r, 1, 2))},
		"successes alone":  {LabelledTask("a", uniform(r, 6, 2), nil), LabelledTask("b", uniform(r, 6, 2), nil)},
		"at odds":          {LabelledTask("a", point, point)},
		"failures of many": {LabelledTask("a", nil, uniform(r, 6, 2)), LabelledTask("b", uniform(r, 3, 2), uniform(r, 2, 2))},
	} {
		m := learn(t, past, z, testSettings(2))
		for _, labels := range [][]float64{{}, {Failed, Failed, Failed}, {Succeeded, Failed, Succeeded}} {
			for _, x := range []*linalg.Dense{uniform(r, 3, 2), point} {
				v := x.View(0, 0, len(labels), 2)
				for _, p := range success(t, m, 1, &v, labels, cand) {
					require.True(t, p >= 0 && p <= 1, "%s, %v: %g", name, labels, p)
				}
			}
		}
	}
}
