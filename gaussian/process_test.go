package gaussian

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func randomPoints(rng *rand.Rand, n, dim int) *linalg.Dense {
	x := linalg.NewDense(n, dim, nil)
	for i := range n {
		for j := range dim {
			x.Set(i, j, rng.Float64())
		}
	}
	return x
}

func mustProcess(t testing.TB, k kernel.Kernel, opts ...ProcessOption) *Process {
	t.Helper()
	p, err := NewProcess(k, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustFit(t testing.TB, p *Process, x *linalg.Dense, y, extra []float64) *Process {
	t.Helper()
	if err := p.FitNoise(x, y, extra); err != nil {
		t.Fatal(err)
	}
	return p
}

func predict(t testing.TB, p *Process, z *linalg.Dense) (mean, variance []float64) {
	t.Helper()
	n, _ := z.Dims()
	mean, variance = make([]float64, n), make([]float64, n)
	if err := p.PredictTo(mean, variance, z); err != nil {
		t.Fatal(err)
	}
	return mean, variance
}

// samePrediction compares two processes at z.
func samePrediction(t *testing.T, what string, p, q *Process, z *linalg.Dense, tol float64) {
	t.Helper()
	m1, v1 := predict(t, p, z)
	m2, v2 := predict(t, q, z)
	if d := math.Max(maxDiffVec(m1, m2), maxDiffVec(v1, v2)); !(d <= tol) {
		t.Errorf("%s: predictions differ by %g, bound %g", what, d, tol)
	}
	if p.Len() == q.Len() && !(math.Abs(p.LogMarginal()-q.LogMarginal()) <= tol*math.Max(1, math.Abs(q.LogMarginal()))) {
		t.Errorf("%s: log marginal likelihoods %g and %g", what, p.LogMarginal(), q.LogMarginal())
	}
}

func TestProcessPrior(t *testing.T) {
	rng := testutil.RNG(t)
	k := kernel.Scale(2, kernel.Matern52(0.3, 0.5))
	z := randomPoints(rng, 5, 2)
	p := mustProcess(t, k, WithMean(func(x []float64) float64 { return x[0] - x[1] }))
	check := func(what string) {
		t.Helper()
		mean, variance := predict(t, p, z)
		post, err := p.Posterior(z)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if want := z.At(i, 0) - z.At(i, 1); mean[i] != want || post.Mean()[i] != want {
				t.Errorf("%s: mean[%d] = %g, %g, want %g", what, i, mean[i], post.Mean()[i], want)
			}
			if !testutil.Close(variance[i], 2, 4*epsilon) {
				t.Errorf("%s: variance[%d] = %g", what, i, variance[i])
			}
		}
		if p.Len() != 0 || p.LogMarginal() != 0 || p.Jitter() != 0 {
			t.Errorf("%s: %d observations, likelihood %g, jitter %g", what, p.Len(), p.LogMarginal(), p.Jitter())
		}
	}
	check("new")
	mustFit(t, p, randomPoints(rng, 3, 2), []float64{1, 2, 3}, nil)
	if p.Len() != 3 {
		t.Errorf("%d observations, want 3", p.Len())
	}
	mustFit(t, p, linalg.NewDense(0, 2, nil), nil, nil)
	check("fitted to nothing")
	if err := p.LeaveOneOut(nil, nil); err != nil {
		t.Errorf("LeaveOneOut: %v", err)
	}
}

func TestProcessOneObservation(t *testing.T) {
	// One observation y at x: mean k/(v + σ²)·y, variance v − k²/(v + σ²).
	k := kernel.Scale(2, kernel.SquaredExp(0.5))
	p := mustFit(t, mustProcess(t, k, WithNoise(0.5)), linalg.NewDense(1, 1, []float64{0.2}), []float64{3}, nil)
	mean, variance := predict(t, p, linalg.NewDense(2, 1, []float64{0.2, 0.9}))
	for i, z := range []float64{0.2, 0.9} {
		c := 2 * math.Exp(-0.5*(z-0.2)*(z-0.2)/0.25)
		if !testutil.Close(mean[i], c/2.5*3, 1e-14) || !testutil.Close(variance[i], 2-c*c/2.5, 1e-14) {
			t.Errorf("at %g: N(%g, %g)", z, mean[i], variance[i])
		}
	}
	if want := -0.5 * (9/2.5 + math.Log(2.5) + math.Log(2*math.Pi)); !testutil.Close(p.LogMarginal(), want, 1e-15) {
		t.Errorf("LogMarginal = %g, want %g", p.LogMarginal(), want)
	}
}

// TestProcessIsConditioning compares with conditioning the joint prior normal.
func TestProcessIsConditioning(t *testing.T) {
	rng := testutil.RNG(t)
	const n, m, dim = 12, 7, 3
	x, z := randomPoints(rng, n, dim), randomPoints(rng, m, dim)
	y, extra := randomMean(rng, n), make([]float64, n)
	for i := range extra {
		extra[i] = 0.1 * rng.Float64()
	}
	k := kernel.Sum(kernel.Scale(1.5, kernel.Matern32(0.4, 0.6, 0.9)), kernel.Constant(0.3))
	mean := func(x []float64) float64 { return 1 + x[2]*x[0] }
	p := mustFit(t, mustProcess(t, k, WithNoise(0.02), WithMean(mean)), x, y, extra)

	all := linalg.NewDense(n+m, dim, nil)
	prior := make([]float64, n+m)
	idx, noise := make([]int, n), make([]float64, n)
	for i := range n + m {
		src := z.Row(max(i-n, 0))
		if i < n {
			src = x.Row(i)
			idx[i], noise[i] = i, 0.02+extra[i]
		}
		copy(all.Row(i), src)
		prior[i] = mean(src)
	}
	var gram linalg.Sym
	kernel.Gram(&gram, k, all)
	want, jitter, err := mustNormal(prior, &gram).ConditionNoisy(idx, y, noise)
	if err != nil || jitter != 0 {
		t.Fatal(jitter, err)
	}
	got, err := p.Posterior(all)
	if err != nil {
		t.Fatal(err)
	}
	const tol = 1e-12
	if d := maxDiff(got.Cov(), want.Cov()); !(d <= tol) {
		t.Errorf("covariances differ by %g", d)
	}
	if d := maxDiffVec(got.Mean(), want.Mean()); !(d <= tol) {
		t.Errorf("means differ by %g", d)
	}

	// All views of the posterior agree.
	marginal, variance := predict(t, p, all)
	if d := maxDiffVec(marginal, got.Mean()); d != 0 {
		t.Errorf("PredictTo and Posterior: means differ by %g", d)
	}
	var r Predictor
	meanOnly := make([]float64, n+m)
	if err := r.PredictTo(p, meanOnly, nil, all); err != nil || maxDiffVec(meanOnly, marginal) != 0 {
		t.Errorf("without variances: %v", err)
	}
	var cov linalg.Dense
	if err := p.CovTo(&cov, x, z); err != nil {
		t.Fatal(err)
	}
	var sym linalg.Sym
	if err := r.PosteriorTo(p, nil, &sym, all); err != nil || maxDiff(&sym, got.Cov()) != 0 {
		t.Errorf("PosteriorTo without mean: %v", err)
	}
	for i := range n + m {
		if d := math.Abs(variance[i] - got.Cov().At(i, i)); !(d <= 64*epsilon) {
			t.Errorf("variance[%d] differs by %g", i, d)
		}
	}
	for i := range n {
		for j := range m {
			if d := math.Abs(cov.At(i, j) - got.Cov().At(i, n+j)); !(d <= 64*epsilon) {
				t.Errorf("CovTo[%d,%d] differs by %g", i, j, d)
			}
		}
	}
}

func TestProcessAppend(t *testing.T) {
	rng := testutil.RNG(t)
	const n, dim = 25, 2
	x, y, z := randomPoints(rng, n, dim), randomMean(rng, n), randomPoints(rng, 6, dim)
	extra := make([]float64, n)
	for i := range extra {
		extra[i] = 0.1 * rng.Float64()
	}
	opts := []ProcessOption{WithNoise(1e-3), WithConstantMean(0.7)}
	k := kernel.Scale(1.3, kernel.Matern52(0.4))
	for _, first := range []int{0, 1, 10} {
		p := mustProcess(t, k, opts...)
		if first > 0 {
			head := x.View(0, 0, first, dim)
			mustFit(t, p, &head, y[:first], extra[:first])
		}
		for i := first; i < n; i++ {
			row := append([]float64(nil), x.Row(i)...)
			if err := p.AppendNoise(row, y[i], extra[i]); err != nil {
				t.Fatal(err)
			}
			row[0] = math.NaN() // copied
		}
		all := mustFit(t, mustProcess(t, k, opts...), x, y, extra)
		samePrediction(t, fmt.Sprintf("from %d", first), p, all, z, 1e-11)
	}
	// Without noise of its own.
	p := mustProcess(t, k, opts...)
	for i := range n {
		if err := p.Append(x.Row(i), y[i]); err != nil {
			t.Fatal(err)
		}
	}
	samePrediction(t, "common noise", p, mustFit(t, mustProcess(t, k, opts...), x, y, nil), z, 1e-11)
}

func TestProcessDuplicates(t *testing.T) {
	rng := testutil.RNG(t)
	k := kernel.Matern32(0.4)
	// With noise, observing twice is observing the mean with half the noise.
	x := linalg.NewDense(3, 1, []float64{0.1, 0.6, 0.6})
	twice := mustFit(t, mustProcess(t, k, WithNoise(0.2)), x, []float64{1, 2, 4}, nil)
	once := mustFit(t, mustProcess(t, k), linalg.NewDense(2, 1, []float64{0.1, 0.6}), []float64{1, 3}, []float64{0.2, 0.1})
	z := randomPoints(rng, 8, 1)
	m1, v1 := predict(t, twice, z)
	m2, v2 := predict(t, once, z)
	if d := math.Max(maxDiffVec(m1, m2), maxDiffVec(v1, v2)); !(d <= 1e-14) {
		t.Errorf("repeated point: predictions differ by %g", d)
	}
	// Without, a jitter is used and said so; appending is fitting, bit for bit.
	// The repeated point comes first: its pivot 1 - 1·1 is 0 in any arithmetic.
	x = linalg.NewDense(3, 1, []float64{0.6, 0.6, 0.1})
	y := []float64{2, 2, 1}
	exact := mustFit(t, mustProcess(t, k), x, y, nil)
	if !(exact.Jitter() > 0) || exact.Jitter() > 1e-4 {
		t.Errorf("jitter %g", exact.Jitter())
	}
	p := mustProcess(t, k)
	for i := range 3 {
		if err := p.Append(x.Row(i), y[i]); err != nil {
			t.Fatal(err)
		}
	}
	if p.Jitter() != exact.Jitter() {
		t.Errorf("jitter %g after appending, %g after fitting", p.Jitter(), exact.Jitter())
	}
	samePrediction(t, "exact duplicates", p, exact, z, 0)
	if err := p.Append([]float64{0.3}, 5); err != nil || p.Len() != 4 {
		t.Errorf("appending with a jitter in use: %v", err)
	}
	// A noisy one changes the mean diagonal, and with it the jitter.
	if err := p.AppendNoise([]float64{0.8}, 3, 7); err != nil {
		t.Fatal(err)
	}
	more := linalg.NewDense(5, 1, []float64{0.6, 0.6, 0.1, 0.3, 0.8})
	all := mustFit(t, mustProcess(t, k), more, []float64{2, 2, 1, 5, 3}, []float64{0, 0, 0, 0, 7})
	samePrediction(t, "more than duplicates", p, all, z, 0)
	m, v := predict(t, p, x)
	for i, want := range y {
		if !(math.Abs(m[i]-want) <= 1e-2) || !(v[i] <= 1e-2) {
			t.Errorf("N(%g, %g) at an observation of %g", m[i], v[i], want)
		}
	}
}

func TestProcessMean(t *testing.T) {
	rng := testutil.RNG(t)
	x, y, z := randomPoints(rng, 8, 2), randomMean(rng, 8), randomPoints(rng, 5, 2)
	k := kernel.Matern32(0.5)
	shifted := append([]float64(nil), y...)
	for i := range shifted {
		shifted[i] -= 2.5
	}
	zero := mustFit(t, mustProcess(t, k, WithNoise(0.1)), x, shifted, nil)
	constant := mustFit(t, mustProcess(t, k, WithNoise(0.1), WithConstantMean(2.5)), x, y, nil)
	function := mustFit(t, mustProcess(t, k, WithNoise(0.1), WithMean(func([]float64) float64 { return 2.5 })), x, y, nil)
	samePrediction(t, "constant and function", constant, function, z, 0)
	m0, v0 := predict(t, zero, z)
	m1, v1 := predict(t, constant, z)
	for i := range m0 {
		if !(math.Abs(m1[i]-m0[i]-2.5) <= 1e-14) || v0[i] != v1[i] {
			t.Errorf("point %d: N(%g, %g), without mean N(%g, %g)", i, m1[i], v1[i], m0[i], v0[i])
		}
	}
}

func TestProcessLeaveOneOut(t *testing.T) {
	rng := testutil.RNG(t)
	const n = 9
	x, y := randomPoints(rng, n, 2), randomMean(rng, n)
	extra := make([]float64, n)
	for i := range extra {
		extra[i] = 0.2 * rng.Float64()
	}
	opts := []ProcessOption{WithNoise(0.05), WithConstantMean(-1)}
	k := kernel.Scale(2, kernel.Matern32(0.5))
	p := mustFit(t, mustProcess(t, k, opts...), x, y, extra)
	mean, variance := make([]float64, n), make([]float64, n)
	if err := p.LeaveOneOut(mean, variance); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		q := mustProcess(t, k, opts...)
		for j := range n {
			if j != i {
				if err := q.AppendNoise(x.Row(j), y[j], extra[j]); err != nil {
					t.Fatal(err)
				}
			}
		}
		row := x.View(i, 0, 1, 2)
		m, v := predict(t, q, &row)
		if want := v[0] + 0.05 + extra[i]; !testutil.Close(mean[i], m[0], 1e-11) || !testutil.Close(variance[i], want, 1e-11) {
			t.Errorf("without %d: N(%g, %g), want N(%g, %g)", i, mean[i], variance[i], m[0], want)
		}
	}
	if err := p.LeaveOneOut(mean[1:], variance); !errors.Is(err, ErrDimension) {
		t.Errorf("short mean: %v", err)
	}
	if err := p.LeaveOneOut(mean, variance[1:]); !errors.Is(err, ErrDimension) {
		t.Errorf("short variance: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
