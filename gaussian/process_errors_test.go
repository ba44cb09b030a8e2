package gaussian

import (
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func TestProcessErrors(t *testing.T) {
	rng := testutil.RNG(t)
	nan, inf := math.NaN(), math.Inf(1)
	if _, err := NewProcess(nil); !errors.Is(err, ErrArgument) {
		t.Errorf("nil kernel: %v", err)
	}
	k := kernel.Matern32(0.5, 0.5)
	for name, tt := range map[string]struct {
		o    ProcessOption
		want error
	}{
		"negative noise": {WithNoise(-1), ErrArgument},
		"NaN noise":      {WithNoise(nan), ErrNotFinite},
		"infinite mean":  {WithConstantMean(inf), ErrNotFinite},
		"nil mean":       {WithMean(nil), ErrArgument},
		"nil option":     {nil, ErrArgument},
	} {
		if _, err := NewProcess(k, tt.o); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}

	bad := false
	mean := WithMean(func(x []float64) float64 {
		if bad {
			return nan
		}
		return 0
	})
	p := mustFit(t, mustProcess(t, k, WithNoise(0.1), mean), randomPoints(rng, 6, 2), randomMean(rng, 6), nil)
	z := randomPoints(rng, 3, 2)
	m0, v0 := predict(t, p, z)
	lml := p.LogMarginal()
	unchanged := func(what string) {
		t.Helper()
		bad = false
		m, v := predict(t, p, z)
		if p.Len() != 6 || p.LogMarginal() != lml || maxDiffVec(m, m0) != 0 || maxDiffVec(v, v0) != 0 {
			t.Errorf("%s: the failed call changed the process", what)
		}
	}
	x := randomPoints(rng, 2, 2)
	xnan := linalg.NewDense(2, 2, []float64{0, 0, nan, 0})
	for _, tt := range []struct {
		name     string
		x        *linalg.Dense
		y, extra []float64
		want     error
	}{
		{"nil x", nil, nil, nil, ErrArgument},
		{"short y", x, []float64{1}, nil, ErrDimension},
		{"short noise", x, []float64{1, 2}, []float64{1}, ErrDimension},
		{"NaN y", x, []float64{1, nan}, nil, ErrNotFinite},
		{"NaN x", xnan, []float64{1, 2}, nil, ErrNotFinite},
		{"negative noise", x, []float64{1, 2}, []float64{0, -1}, ErrArgument},
		{"infinite noise", x, []float64{1, 2}, []float64{0, inf}, ErrNotFinite},
		{"dimension", randomPoints(rng, 2, 3), []float64{1, 2}, nil, ErrDimension},
	} {
		if err := p.FitNoise(tt.x, tt.y, tt.extra); !errors.Is(err, tt.want) {
			t.Errorf("Fit: %s: %v, want %v", tt.name, err, tt.want)
		}
		unchanged("Fit: " + tt.name)
	}
	for _, tt := range []struct {
		name     string
		x        []float64
		y, extra float64
		want     error
	}{
		{"short x", []float64{1}, 0, 0, ErrDimension},
		{"NaN x", []float64{1, nan}, 0, 0, ErrNotFinite},
		{"infinite y", []float64{1, 1}, inf, 0, ErrNotFinite},
		{"negative noise", []float64{1, 1}, 1, -1, ErrArgument},
	} {
		if err := p.AppendNoise(tt.x, tt.y, tt.extra); !errors.Is(err, tt.want) {
			t.Errorf("Append: %s: %v, want %v", tt.name, err, tt.want)
		}
		unchanged("Append: " + tt.name)
	}
	bad = true
	if err := p.Fit(x, []float64{1, 2}); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN mean: %v", err)
	}
	if err := p.Append([]float64{0, 0}, 1); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN mean: %v", err)
	}
	if err := p.PredictTo(make([]float64, 2), nil, x); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN mean: %v", err)
	}
	unchanged("NaN mean")

	two, three := make([]float64, 2), make([]float64, 3)
	var d linalg.Dense
	var r Predictor
	empty := mustProcess(t, k)
	for name, tt := range map[string]struct {
		err  error
		want error
	}{
		"PredictTo mean":       {p.PredictTo(three, nil, x), ErrDimension},
		"PredictTo variance":   {p.PredictTo(two, three, x), ErrDimension},
		"PredictTo points":     {p.PredictTo(two, two, randomPoints(rng, 2, 1)), ErrDimension},
		"PredictTo nil":        {p.PredictTo(two, two, nil), ErrArgument},
		"PredictTo NaN":        {p.PredictTo(two, two, xnan), ErrNotFinite},
		"PredictTo unfitted":   {empty.PredictTo(two, two, randomPoints(rng, 2, 1)), ErrDimension},
		"Append unfitted":      {empty.Append([]float64{1}, 1), ErrDimension},
		"CovTo nil dst":        {p.CovTo(nil, x, x), ErrArgument},
		"CovTo x":              {p.CovTo(&d, randomPoints(rng, 2, 1), x), ErrDimension},
		"CovTo y":              {p.CovTo(&d, x, randomPoints(rng, 2, 1)), ErrDimension},
		"CovTo nil":            {p.CovTo(&d, x, nil), ErrArgument},
		"PosteriorTo nil":      {r.PosteriorTo(p, nil, nil, x), ErrArgument},
		"PosteriorTo mean":     {r.PosteriorTo(p, three, new(linalg.Sym), x), ErrDimension},
		"LogMarginalGrad size": {second(p.LogMarginalGrad(two)), ErrDimension},
		"Posterior of nothing": {second(p.Posterior(linalg.NewDense(0, 2, nil))), ErrDimension},
		"Posterior NaN":        {second(p.Posterior(xnan)), ErrNotFinite},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	// No points are no error.
	none := linalg.NewDense(0, 2, nil)
	if err := p.PredictTo(nil, nil, none); err != nil {
		t.Errorf("no points: %v", err)
	}
	if err := p.CovTo(&d, none, x); err != nil {
		t.Errorf("no points: %v", err)
	}
	// A kernel that is not one.
	if err := mustProcess(t, foreign{nan}).Append([]float64{1}, 1); !errors.Is(err, ErrArgument) {
		t.Errorf("NaN kernel: %v", err)
	}
}
