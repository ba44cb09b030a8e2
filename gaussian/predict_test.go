package gaussian

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func TestProcessBlocks(t *testing.T) {
	// More points than a block, against one at a time.
	rng := testutil.RNG(t)
	p := mustFit(t, mustProcess(t, kernel.Matern32x12(0.3), WithNoise(0.01)), randomPoints(rng, 9, 2), randomMean(rng, 9), nil)
	z := randomPoints(rng, 2*predictBlock+3, 2)
	mean, variance := predict(t, p, z)
	for i := range mean {
		row := z.View(i, 0, 1, 2)
		m, v := predict(t, p, &row)
		if !(math.Abs(m[0]-mean[i]) <= 64*epsilon) || !(math.Abs(v[0]-variance[i]) <= 64*epsilon) {
			t.Fatalf("point %d: (%g, %g) in a batch, (%g, %g) alone", i, mean[i], variance[i], m[0], v[0])
		}
	}
}

func TestProcessGradient(t *testing.T) {
	rng := testutil.RNG(t)
	x, y := randomPoints(rng, 8, 2), randomMean(rng, 8)
	for name, k := range map[string]kernel.Kernel{
		"matern52":  kernel.Scale(1.7, kernel.Matern52(0.4, 0.8)),
		"se":        kernel.SquaredExp(0.6),
		"own":       smooth{foreign{0.8}},
		"composite": kernel.Sum(kernel.Matern32(0.7), kernel.Product(kernel.Constant(0.5), kernel.SquaredExp(0.3, 0.9))),
	} {
		t.Run(name, func(t *testing.T) {
			p := mustFit(t, mustProcess(t, k, WithNoise(0.1), WithConstantMean(3)), x, y, nil)
			for _, q := range []*Process{p, mustProcess(t, k)} {
				at := func(u []float64) (m, v float64) {
					mean, variance := predict(t, q, linalg.NewDense(1, 2, u))
					return mean[0], variance[0]
				}
				u := []float64{rng.Float64(), rng.Float64()}
				dm, dv := make([]float64, 2), make([]float64, 2)
				m, v, err := q.Gradient(dm, dv, u)
				wm, wv := at(u)
				if err != nil || !testutil.Close(m, wm, 1e-13) || !testutil.Close(v, wv, 1e-13) {
					t.Errorf("N(%g, %g), %v, want N(%g, %g)", m, v, err, wm, wv)
				}
				testutil.CheckGrad(t, func(u []float64) float64 { m, _ := at(u); return m }, u, dm, 1e-8)
				testutil.CheckGrad(t, func(u []float64) float64 { _, v := at(u); return v }, u, dv, 1e-8)
				if m2, v2, err := q.Gradient(dm, nil, u); m2 != m || v2 != v || err != nil {
					t.Errorf("without dvar: %g, %g, %v", m2, v2, err)
				}
			}
			var r Predictor
			dm, dv, u := make([]float64, 2), make([]float64, 2), []float64{0.3, 0.4}
			if name == "se" || name == "matern52" {
				testutil.ZeroAlloc(t, func() { _, _, _ = r.Gradient(p, dm, dv, u) })
			}
			if _, _, err := p.Gradient(dm, dv, u[:1]); !errors.Is(err, ErrDimension) {
				t.Errorf("short x: %v", err)
			}
			if _, _, err := p.Gradient(dm[:1], dv, u); !errors.Is(err, ErrDimension) {
				t.Errorf("short dmean: %v", err)
			}
			if _, _, err := p.Gradient(dm, dv[:1], u); !errors.Is(err, ErrDimension) {
				t.Errorf("short dvar: %v", err)
			}
			if _, _, err := p.Gradient(dm, dv, []float64{0, math.NaN()}); !errors.Is(err, ErrNotFinite) {
				t.Errorf("NaN: %v", err)
			}
		})
	}
	dm, u := make([]float64, 1), []float64{0.5}
	if _, _, err := mustProcess(t, foreign{0.3}).Gradient(dm, nil, u); !errors.Is(err, ErrArgument) {
		t.Errorf("a kernel without derivative: %v", err)
	}
	mean := WithMean(func(x []float64) float64 { return x[0] })
	if _, _, err := mustProcess(t, kernel.Matern52(1), mean).Gradient(dm, nil, u); !errors.Is(err, ErrArgument) {
		t.Errorf("a mean without derivative: %v", err)
	}
	if _, _, err := mustProcess(t, kernel.Matern52(1, 1)).Gradient(dm, nil, u); !errors.Is(err, ErrDimension) {
		t.Errorf("a kernel for another dimension: %v", err)
	}
}

// foreign is a kernel of another package, without derivatives: (1 + xᵀy/ℓ)².
type foreign struct{ l float64 }

func (k foreign) Eval(x, y []float64) float64 {
	s := 1 + linalg.Dot(x, y)/k.l
	return s * s
}
func (k foreign) NumParams() int                       { return 1 }
func (k foreign) AppendParams(dst []float64) []float64 { return append(dst, math.Log(k.l)) }
func (k foreign) WithParams(theta []float64) (kernel.Kernel, error) {
	if !(math.Abs(theta[0]) < 3) {
		return nil, errors.New("out of range")
	}
	return foreign{math.Exp(theta[0])}, nil
}

// smooth is foreign with its derivative.
type smooth struct{ foreign }

func (k smooth) InputGrad(dst, x, y []float64) float64 {
	s := 1 + linalg.Dot(x, y)/k.l
	for i, v := range y {
		dst[i] = 2 * s * v / k.l
	}
	return s * s
}

// TestProcessVariancesNotNegative predicts at exact observations so dense that
// nothing but rounding is left of the variance.
func TestProcessVariancesNotNegative(t *testing.T) {
	const n = 40
	x := linalg.NewDense(n, 1, nil)
	for i := range n {
		x.Set(i, 0, float64(i)/n)
	}
	p := mustFit(t, mustProcess(t, kernel.Scale(9, kernel.SquaredExp(0.7)), WithNoise(1e-14)), x, make([]float64, n), nil)
	_, variance := predict(t, p, x)
	post, err := p.Posterior(x)
	if err != nil {
		t.Fatal(err)
	}
	_, v, err := p.Gradient(make([]float64, 1), nil, x.Row(3))
	if err != nil || !(v >= 0) {
		t.Errorf("variance %g, %v", v, err)
	}
	for i, v := range variance {
		if !(v >= 0) || !(post.Cov().At(i, i) >= 0) {
			t.Errorf("variance[%d] = %g, in the joint posterior %g", i, v, post.Cov().At(i, i))
		}
	}
	if _, _, err := post.Factor(); err != nil {
		t.Errorf("factor of a posterior without variance: %v", err)
	}
}

func TestProcessForeignKernel(t *testing.T) {
	// A quadratic through exact observations of a quadratic.
	f := func(x float64) float64 { return 2 - 3*x + 5*x*x }
	p := mustProcess(t, foreign{0.7})
	for _, x := range []float64{0.1, 0.4, 0.9} {
		if err := p.Append([]float64{x}, f(x)); err != nil {
			t.Fatal(err)
		}
	}
	mean, variance := predict(t, p, linalg.NewDense(2, 1, []float64{-1, 2}))
	for i, x := range []float64{-1, 2} {
		if !testutil.Close(mean[i], f(x), 1e-9) || !(variance[i] <= 1e-9) {
			t.Errorf("at %g: N(%g, %g), want %g exactly", x, mean[i], variance[i], f(x))
		}
	}
}

func TestProcessConcurrentReaders(t *testing.T) {
	rng := testutil.RNG(t)
	p := mustFit(t, mustProcess(t, kernel.Matern32(0.3), WithNoise(0.01)), randomPoints(rng, 30, 2), randomMean(rng, 30), nil)
	z := randomPoints(rng, 40, 2)
	want, _ := predict(t, p, z)
	var wg sync.WaitGroup
	for range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mean, variance := make([]float64, 40), make([]float64, 40)
			if err := p.PredictTo(mean, variance, z); err != nil || maxDiffVec(mean, want) != 0 {
				t.Errorf("concurrent prediction differs: %v", err)
			}
			if _, err := p.Posterior(z); err != nil {
				t.Error(err)
			}
			if _, err := p.LogMarginalGrad(make([]float64, 2)); err != nil {
				t.Error(err)
			}
			if err := p.LeaveOneOut(make([]float64, 30), make([]float64, 30)); err != nil {
				t.Error(err)
			}
			var d linalg.Dense
			if err := p.CovTo(&d, z, z); err != nil {
				t.Error(err)
			}
			if _, _, err := p.Gradient(make([]float64, 2), make([]float64, 2), z.Row(1)); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
}

func TestPredictorDoesNotAllocate(t *testing.T) {
	rng := testutil.RNG(t)
	p := mustFit(t, mustProcess(t, kernel.Scale(2, kernel.Matern32(0.3)), WithNoise(0.01)), randomPoints(rng, 20, 2), randomMean(rng, 20), nil)
	z := randomPoints(rng, predictBlock+9, 2)
	n, _ := z.Dims()
	mean, variance := make([]float64, n), make([]float64, n)
	var r Predictor
	var cov linalg.Sym
	var cross linalg.Dense
	half := z.View(0, 0, 30, 2)
	testutil.ZeroAlloc(t, func() { _ = r.PredictTo(p, mean, variance, z) })
	testutil.ZeroAlloc(t, func() { _ = r.PosteriorTo(p, mean[:30], &cov, &half) })
	testutil.ZeroAlloc(t, func() { _ = r.CovTo(p, &cross, &half, z) })
}
