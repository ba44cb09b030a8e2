package gaussian

import (
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func TestLikelihoodGradient(t *testing.T) {
	rng := testutil.RNG(t)
	const n, dim = 14, 3
	x, y := randomPoints(rng, n, dim), testutil.Normals(rng, n)
	extra := make([]float64, n)
	for i := range extra {
		extra[i] = 0.1 * rng.Float64()
	}
	var l Likelihood
	for name, k := range map[string]kernel.Kernel{
		"isotropic": kernel.Scale(1.2, kernel.Matern32(0.5)),
		"lengths":   kernel.Scale(0.8, kernel.Matern32x12(0.3, 0.7, 1.5)),
		"composite": kernel.Sum(kernel.Scale(0.5, kernel.SquaredExp(0.4)), kernel.Product(kernel.Matern52(0.9), kernel.Constant(0.7))),
		"foreign":   foreign{0.9},
	} {
		t.Run(name, func(t *testing.T) {
			for _, e := range [][]float64{nil, extra} {
				if err := l.Reset(k, x, y, e); err != nil {
					t.Fatal(err)
				}
				theta := append(k.AppendParams(nil), math.Log(0.05))
				np := len(theta) - 1
				eval := func(theta, grad []float64) float64 {
					kk, err := k.WithParams(theta[:np])
					if err != nil {
						t.Fatal(err)
					}
					v, err := l.Eval(kk, math.Exp(theta[np]), grad)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				grad := make([]float64, np+1)
				v := eval(theta, grad)
				testutil.CheckGrad(t, func(th []float64) float64 { return eval(th, nil) }, theta, grad, 1e-7)

				if want := regress(t, k, 0.05, x, y, e).c.LogMarginal(); !testutil.Close(v, want, 1e-11) {
					t.Errorf("likelihood %.15g, of a Conditioner %.15g", v, want)
				}
			}
		})
	}
}

func TestLikelihoodReuse(t *testing.T) {
	rng := testutil.RNG(t)
	k := kernel.Scale(1.5, kernel.Matern52(0.4))
	var l Likelihood
	grad := make([]float64, 3)
	for _, n := range []int{9, 3, 12} {
		x, y := randomPoints(rng, n, 2), testutil.Normals(rng, n)
		if err := l.Reset(k, x, y, nil); err != nil {
			t.Fatal(err)
		}
		got, err := l.Eval(k, 0.1, grad)
		if want := regress(t, k, 0.1, x, y, nil).c.LogMarginal(); err != nil || !testutil.Close(got, want, 1e-12) {
			t.Errorf("n=%d: %g, %v, want %g", n, got, err, want)
		}
		testutil.ZeroAlloc(t, func() { _, _ = l.Eval(k, 0.1, grad) })
	}
}

func TestLikelihoodErrors(t *testing.T) {
	rng := testutil.RNG(t)
	k := kernel.Matern32(0.5, 0.5)
	var l Likelihood
	// No data: likelihood 1.
	grad := []float64{9, 9, 9}
	if v, err := l.Eval(k, 1, grad); v != 0 || err != nil || grad[0] != 0 {
		t.Errorf("no data: %g, %v, %v", v, err, grad)
	}
	x, y := randomPoints(rng, 3, 2), testutil.Normals(rng, 3)
	bad := randomPoints(rng, 3, 2)
	bad.Set(1, 0, math.NaN())
	var at *ValueError
	if err := l.Reset(k, bad, y, nil); !errors.As(err, &at) || at.Row != 1 || at.Col != 0 {
		t.Errorf("NaN in row 1, column 0: %v", err)
	}
	for name, tt := range map[string]struct{ err, want error }{
		"nil kernel":         {l.Reset(nil, x, y, nil), ErrArgument},
		"nil x":              {l.Reset(k, nil, y, nil), ErrArgument},
		"short y":            {l.Reset(k, x, y[:2], nil), ErrDimension},
		"dimension":          {l.Reset(kernel.Matern32(1, 1, 1), x, y, nil), ErrDimension},
		"NaN":                {l.Reset(k, bad, y, nil), ErrNotFinite},
		"no variances":       {l.Reset(k, x, y, make([]float64, 3)), nil},
		"a variance below 0": {l.Reset(k, x, y, []float64{0, 0, -1e-300}), ErrArgument},
		"an infinite one":    {l.Reset(k, x, y, []float64{math.Inf(1), 0, 0}), ErrNotFinite},
		"few variances":      {l.Reset(k, x, y, []float64{0, 0}), ErrDimension},
		"negative kernel":    {l.Reset(level(-1), x, y, nil), ErrArgument},
		"infinite kernel":    {l.Reset(level(math.Inf(1)), x, y, nil), ErrArgument},
		"kernel of 0":        {l.Reset(level(0), x, y, nil), nil},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	if err := l.Reset(k, x, y, nil); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ err, want error }{
		"nil kernel":     {second(l.Eval(nil, 1, nil)), ErrArgument},
		"negative noise": {second(l.Eval(k, -1, nil)), ErrArgument},
		"NaN noise":      {second(l.Eval(k, math.NaN(), nil)), ErrNotFinite},
		"short gradient": {second(l.Eval(k, 1, grad[:2])), ErrDimension},
		"overflow":       {second(l.Eval(k, 1e-3, nil)), nil},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	if err := l.Reset(k, x, []float64{1e200, 0, 0}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Eval(k, 1e-3, nil); !errors.Is(err, ErrNotFinite) {
		t.Errorf("overflow: %v", err)
	}
	if err := l.Reset(k, x, []float64{1e153, 0, 0}, nil); err != nil {
		t.Fatal(err)
	}
	if v, err := l.Eval(kernel.Scale(1e-2, kernel.Matern32(1)), 1e-3, grad); !errors.As(err, &at) || at.What != "gradient" || at.Row != 0 {
		t.Errorf("a gradient that overflows: %g, %v", v, err)
	}
	// A kernel of another dimension than the points is an error, not a panic.
	if _, err := l.Eval(kernel.Matern32(1, 1, 1), 1, nil); !errors.Is(err, ErrDimension) {
		t.Errorf("dimension: %v", err)
	}
}

func TestConditionerBlocks(t *testing.T) {
	// The blocks of a prior against conditioning the whole normal.
	rng := testutil.RNG(t)
	const n = 10
	m, p := testutil.Normals(rng, n), linalg.NewSym(n, testutil.SPD(rng, n, 100))
	idx := []int{7, 2, 7, 5}
	y, noise := testutil.Normals(rng, 4), []float64{0.1, 0.2, 0.3, 0.4}
	wantMean, wantCov := conditioned(t, m, p, idx, y, noise)
	for _, appended := range []int{0, 1, 4} {
		k := 4 - appended
		var c Conditioner
		resid := make([]float64, 4)
		var kk linalg.Sym
		kk.Subset(p, idx[:k])
		cross := linalg.NewDense(4, n, nil)
		for i, j := range idx {
			resid[i] = y[i] - m[j]
			copy(cross.Row(i), p.Row(j))
		}
		nk := noise[:k]
		if k == 0 {
			nk = []float64{1}
		}
		if err := c.Factorize(&kk, nk, resid[:k]); err != nil {
			t.Fatal(err)
		}
		for i := k; i < 4; i++ {
			row := make([]float64, i)
			for j := range row {
				row[j] = p.At(idx[i], idx[j])
			}
			if err := c.Append(row, p.At(idx[i], idx[i]), noise[i], resid[i]); err != nil {
				t.Fatal(err)
			}
		}
		if c.Len() != 4 || c.Jitter() != 0 {
			t.Errorf("%d observations, jitter %g", c.Len(), c.Jitter())
		}
		var v, v0, v1 linalg.Dense
		mean := append([]float64(nil), m...)
		variance := make([]float64, n)
		for i := range variance {
			variance[i] = p.At(i, i)
		}
		cov := new(linalg.Sym)
		cov.Copy(p)
		left, right := cross.View(0, 0, 4, 3), cross.View(0, 3, 4, n-3)
		block := linalg.NewDense(3, n-3, nil)
		for i := range 3 {
			copy(block.Row(i), p.Row(i)[3:])
		}
		for _, err := range []error{
			c.Whiten(&v, cross), c.Whiten(&v0, &left), c.Whiten(&v1, &right),
			c.Update(mean, variance, &v), c.UpdateCov(cov, &v), c.UpdateCross(block, &v0, &v1),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		const tol = 1e-12
		if d := testutil.MaxDiff(mean, wantMean); !(d <= tol) {
			t.Errorf("%d appended: means differ by %g", appended, d)
		}
		if d := maxDiff(cov, wantCov); !(d <= tol) {
			t.Errorf("%d appended: covariances differ by %g", appended, d)
		}
		for i := range n {
			if d := math.Abs(variance[i] - wantCov.At(i, i)); !(d <= tol) {
				t.Errorf("%d appended: variance[%d] differs by %g", appended, i, d)
			}
		}
		for i := range 3 {
			for j := range n - 3 {
				if d := math.Abs(block.At(i, j) - wantCov.At(i, 3+j)); !(d <= tol) {
					t.Errorf("%d appended: block[%d,%d] differs by %g", appended, i, j, d)
				}
			}
		}
		// The likelihood is the density of y under the prior.
		var s linalg.Sym
		s.Subset(p, idx)
		for i, e := range noise {
			s.Set(i, i, s.At(i, i)+e)
		}
		lp := -2 * math.Log(2*math.Pi)
		var chol linalg.Cholesky
		z := make([]float64, 4)
		if err := chol.Factorize(&s); err != nil {
			t.Fatal(err)
		}
		chol.SolveVecTo(z, resid)
		for i, r := range resid {
			lp -= r*z[i]/2 + math.Log(chol.Lower().At(i, i))
		}
		if !testutil.Close(c.LogMarginal(), lp, 1e-12) {
			t.Errorf("%d appended: LogMarginal = %g, want %g", appended, c.LogMarginal(), lp)
		}

		// Other residuals with the same factor.
		for i := range resid {
			resid[i] *= -2
		}
		if err := c.SetResid(resid); err != nil {
			t.Fatal(err)
		}
		scaled := make([]float64, n)
		if err := c.Update(scaled, nil, &v); err != nil {
			t.Fatal(err)
		}
		for i, s := range scaled {
			if w := -2 * (wantMean[i] - m[i]); !(math.Abs(s-w) <= tol) {
				t.Errorf("%d appended: update %g with residuals times −2, want %g", appended, s, w)
			}
		}
		if err := c.SetResid(resid[1:]); !errors.Is(err, ErrDimension) {
			t.Errorf("SetResid: %v", err)
		}
		if err := c.SetResid([]float64{0, 0, 0, math.Inf(1)}); !errors.Is(err, ErrNotFinite) {
			t.Errorf("SetResid: %v", err)
		}

		testutil.ZeroAlloc(t, func() {
			_ = c.Factorize(&kk, nk, resid[:k])
		})
	}
}

// TestConditionerClamps takes more variance away than there is, as rounding may.
func TestConditionerClamps(t *testing.T) {
	var c Conditioner
	one := linalg.NewSym(1, []float64{1})
	if err := c.Factorize(one, []float64{0}, []float64{1}); err != nil {
		t.Fatal(err)
	}
	v := linalg.NewDense(1, 2, []float64{1 + 1e-9, 0.5})
	variance := []float64{1, 1}
	cov := linalg.NewSym(2, []float64{1, 0, 0.3, 1})
	if err := c.Update(nil, variance, v); err != nil || variance[0] != 0 || variance[1] != 0.75 {
		t.Errorf("Update: %v, %v", variance, err)
	}
	if err := c.UpdateCov(cov, v); err != nil || cov.At(0, 0) != 0 || cov.At(1, 1) != 0.75 {
		t.Errorf("UpdateCov: %g, %g, %v", cov.At(0, 0), cov.At(1, 1), err)
	}
}

func TestConditionerZeroAlloc(t *testing.T) {
	rng := testutil.RNG(t)
	p := linalg.NewSym(8, testutil.SPD(rng, 8, 10))
	var k linalg.Sym
	k.Subset(p, []int{1, 2, 3})
	cross := linalg.NewDense(3, 8, nil)
	mean, variance, resid, noise := make([]float64, 8), make([]float64, 8), make([]float64, 3), []float64{0.1}
	var c Conditioner
	var v linalg.Dense
	var cov linalg.Sym
	dst := linalg.NewDense(8, 8, nil)
	testutil.ZeroAlloc(t, func() {
		_ = c.Factorize(&k, noise, resid)
		_ = c.Whiten(&v, cross)
		_ = c.Update(mean, variance, &v)
		cov.Copy(p)
		_ = c.UpdateCov(&cov, &v)
		_ = c.UpdateCross(dst, &v, &v)
	})
}

func TestConditionerErrors(t *testing.T) {
	rng := testutil.RNG(t)
	nan := math.NaN()
	k := linalg.NewSym(2, testutil.SPD(rng, 2, 10))
	knan := linalg.NewSym(2, []float64{1, 0, nan, 1})
	indefinite := linalg.NewSym(2, []float64{1, 0, 2, 1})
	one, two := []float64{0.1}, []float64{1, 2}
	var c Conditioner
	for name, tt := range map[string]struct{ err, want error }{
		"nil":            {c.Factorize(nil, one, two), ErrArgument},
		"resid":          {c.Factorize(k, one, two[:1]), ErrDimension},
		"noise":          {c.Factorize(k, []float64{1, 2, 3}, two), ErrDimension},
		"negative noise": {c.Factorize(k, []float64{1, -1}, two), ErrArgument},
		"NaN noise":      {c.Factorize(k, []float64{nan}, two), ErrNotFinite},
		"NaN":            {c.Factorize(knan, one, two), ErrNotFinite},
		"indefinite":     {c.Factorize(indefinite, one, two), ErrNotPositiveDefinite},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("Factorize: %s: %v, want %v", name, tt.err, tt.want)
		}
		if c.Len() != 0 {
			t.Errorf("Factorize: %s: still %d observations", name, c.Len())
		}
	}
	var d *DefiniteError
	if err := c.Factorize(indefinite, one, two); !errors.As(err, &d) || d.Pivot != 1 || !(d.Value < 0) {
		t.Errorf("the error %v does not carry the pivot", err)
	}
	if err := c.Factorize(k, one, two); err != nil {
		t.Fatal(err)
	}
	lml := c.LogMarginal()
	for name, tt := range map[string]struct{ err, want error }{
		"cross":          {c.Append(one, 1, 1, 1), ErrDimension},
		"NaN cross":      {c.Append([]float64{0, nan}, 1, 1, 1), ErrNotFinite},
		"NaN variance":   {c.Append(two, nan, 1, 1), ErrNotFinite},
		"NaN resid":      {c.Append(two, 1, 1, nan), ErrNotFinite},
		"negative noise": {c.Append(two, 1, -1, 1), ErrArgument},
		"indefinite":     {c.Append([]float64{9, 9}, 1, 0, 1), ErrNotPositiveDefinite},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("Append: %s: %v, want %v", name, tt.err, tt.want)
		}
		if c.Len() != 2 || c.LogMarginal() != lml {
			t.Errorf("Append: %s: the failed call changed the receiver", name)
		}
	}
	v, narrow := linalg.NewDense(2, 3, nil), linalg.NewDense(1, 3, nil)
	three := make([]float64, 3)
	s3 := linalg.NewSym(3, nil)
	for name, tt := range map[string]struct{ err, want error }{
		"Whiten rows":         {c.Whiten(new(linalg.Dense), narrow), ErrDimension},
		"Whiten nil":          {c.Whiten(nil, v), ErrArgument},
		"Update rows":         {c.Update(three, nil, narrow), ErrDimension},
		"Update columns":      {c.Update(two, nil, v), ErrDimension},
		"Update nil":          {c.Update(three, nil, nil), ErrArgument},
		"Update variance":     {c.Update(nil, two, v), ErrDimension},
		"UpdateCov":           {c.UpdateCov(k, v), ErrDimension},
		"UpdateCov nil":       {c.UpdateCov(nil, v), ErrArgument},
		"UpdateCov fits":      {c.UpdateCov(s3, v), nil},
		"UpdateCross nil":     {c.UpdateCross(nil, v, v), ErrArgument},
		"UpdateCross rows":    {c.UpdateCross(linalg.NewDense(2, 3, nil), v, v), ErrDimension},
		"UpdateCross columns": {c.UpdateCross(linalg.NewDense(3, 2, nil), v, v), ErrDimension},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	c.Reset()
	if c.Len() != 0 || c.LogMarginal() != 0 || c.Jitter() != 0 {
		t.Error("Reset left something")
	}
	// Nothing observed: everything stays.
	if err := c.Whiten(new(linalg.Dense), linalg.NewDense(0, 3, nil)); err != nil {
		t.Error(err)
	}
}

// panicking is a kernel that panics at its last evaluation.
type panicking struct {
	kernel.Kernel
	left *int
}

func (k panicking) Eval(x, y []float64) float64 {
	if *k.left--; *k.left == 0 {
		panic("countdown")
	}
	return k.Kernel.Eval(x, y)
}

func (k panicking) WithParams(theta []float64) (kernel.Kernel, error) {
	w, err := k.Kernel.WithParams(theta)
	return panicking{w, k.left}, err
}

// TestKernelPanicsPass: a search does not take a kernel's panic, wherever it is, for a
// point that is not defined, nor a check of the data for a wrong dimension.
func TestKernelPanicsPass(t *testing.T) {
	rng := testutil.RNG(t)
	x, y := randomPoints(rng, 4, 2), testutil.Normals(rng, 4)
	left := 0
	k := panicking{kernel.Matern32(0.5), &left}
	fit := func(at int) (panicked bool) {
		defer func() { panicked = recover() == "countdown" }()
		left = at
		var f Fitter
		if _, err := f.Fit(t.Context(), k, 0.01, x, y, nil, &FitOptions{Starts: 1, Params: []LogNormal{{SD: 1, Min: 0.01, Max: 10}}}); err != nil {
			t.Errorf("call %d: %v", at, err)
		}
		return
	}
	if fit(0) {
		t.Fatal("panics without being asked")
	}
	for at, calls := 1, -left; at <= calls; at++ {
		if !fit(at) {
			t.Errorf("call %d of %d: the panic did not pass", at, calls)
		}
	}
}
