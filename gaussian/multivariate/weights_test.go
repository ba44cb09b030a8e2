package multivariate

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

func TestBarycenterErrors(t *testing.T) {
	rng := testutil.RNG(t)
	ctx := context.Background()
	p, q, r := randomNormal(rng, 3, 10), randomNormal(rng, 3, 10), randomNormal(rng, 2, 10)
	nan := math.NaN()
	for _, tt := range []struct {
		name string
		ps   []*Normal
		w    []float64
		want error
	}{
		{"none", nil, nil, gaussian.ErrArgument},
		{"nil member", []*Normal{p, nil}, nil, gaussian.ErrArgument},
		{"dimensions", []*Normal{p, r}, nil, gaussian.ErrDimension},
		{"number of weights", []*Normal{p, q}, []float64{1}, gaussian.ErrDimension},
		{"negative weight", []*Normal{p, q}, []float64{1, -1e-9}, ErrWeights},
		{"NaN weight", []*Normal{p, q}, []float64{1, nan}, ErrWeights},
		{"infinite weight", []*Normal{p, q}, []float64{1, math.Inf(1)}, ErrWeights},
		{"zero weights", []*Normal{p, q}, []float64{0, 0}, ErrWeights},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Barycenter(ctx, tt.ps, tt.w); !errors.Is(err, tt.want) {
				t.Errorf("Barycenter = %v, want %v", err, tt.want)
			}
			if _, err := Centroid(tt.ps, tt.w); !errors.Is(err, tt.want) {
				t.Errorf("Centroid = %v, want %v", err, tt.want)
			}
		})
	}
	var at *gaussian.ValueError
	if _, err := Centroid([]*Normal{p, q}, []float64{1, -1}); !errors.As(err, &at) || at.Row != 1 || at.Col != -1 {
		t.Errorf("weight 1: %v", err)
	}
	if _, err := finishNormal("test", []float64{1, 2, math.Inf(1)}, p.Cov()); !errors.As(err, &at) || at.Row != 2 || at.Col != -1 {
		t.Errorf("mean 2: %v", err)
	}
	infinite := linalg.NewSym(2, []float64{1, 0, math.Inf(1), 1})
	if _, err := finishNormal("test", []float64{0, 0}, infinite); !errors.As(err, &at) || at.Row != 0 || at.Col != 1 {
		t.Errorf("covariance [0,1]: %v", err)
	}
	if err := stepError(1, &linalg.NotPositiveDefiniteError{Pivot: 3, Value: -2}); !reflect.DeepEqual(err,
		&gaussian.DefiniteError{Op: "Barycenter", What: "member 1", Pivot: 3, Value: -2, Err: &linalg.NotPositiveDefiniteError{Pivot: 3, Value: -2}}) {
		t.Errorf("member 1: %+v", err)
	}
	s := linalg.NewSym(3, []float64{1, 0, 0, -0.9, 1, 0, -0.9, -0.9, 1})
	bad, err := AdoptNormal(make([]float64, 3), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var why *gaussian.DefiniteError
	if _, err := Barycenter(ctx, []*Normal{p, bad}, nil); !errors.As(err, &why) || why.Pivot != -1 || !testutil.Close(why.Value, -0.8, 1e-12) {
		t.Errorf("indefinite member: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Barycenter(canceled, []*Normal{p, q}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// A cap is not an error.
	got, err := limits{maxIter: 2, tol: 1e-14, memory: 4, adapt: true}.barycenter(ctx, []*Normal{p, q}, nil)
	if err != nil || got.Converged || got.Iterations != 2 || !(got.Residual > 1e-14) || got.Center == nil {
		t.Errorf("capped: %+v, %v", got, err)
	}
}

func TestCentroid(t *testing.T) {
	rng := testutil.RNG(t)
	p, q, r := randomNormal(rng, 3, 10), randomNormal(rng, 3, 10), mustNormal(nil, lowRank(rng, 3, 1))
	c, err := Centroid([]*Normal{p, q, r}, []float64{2, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if want := (2*p.Mean()[i] + q.Mean()[i] + r.Mean()[i]) / 4; !(math.Abs(c.Mean()[i]-want) <= 4*epsilon) {
			t.Errorf("mean[%d] = %g, want %g", i, c.Mean()[i], want)
		}
		for j := range 3 {
			if want := (2*p.Cov().At(i, j) + q.Cov().At(i, j) + r.Cov().At(i, j)) / 4; !(math.Abs(c.Cov().At(i, j)-want) <= 8*epsilon*r.Trace()) {
				t.Errorf("cov[%d,%d] = %g, want %g", i, j, c.Cov().At(i, j), want)
			}
		}
	}
	// Of members that are as indefinite as rounding may leave them.
	loose := mustNormal(nil, linalg.NewSym(3, []float64{1, 0, 0, 1 + 2.9e-8, 1, 0, 0, 0, 0}))
	c, err = Centroid([]*Normal{loose, loose, loose}, []float64{3, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	_, clamped, err := c.Factor()
	if err != nil {
		t.Fatal(err)
	}
	if !(clamped < 0) {
		t.Errorf("loose members: clamped %g, want less than 0", clamped)
	}
	if c, err = Centroid([]*Normal{p, q}, []float64{0, 7}); c != q || err != nil {
		t.Errorf("all weight on one: %v", err)
	}
	if c, err = Centroid([]*Normal{p}, nil); c != p || err != nil {
		t.Errorf("one member: %v", err)
	}
	// Weights near the ends of the exponent range.
	a, err1 := Centroid([]*Normal{p, q}, []float64{1e308, 1e308})
	b, err2 := Centroid([]*Normal{p, q}, []float64{1e-308, 1e-308})
	if err1 != nil || err2 != nil || maxDiff(a.Cov(), b.Cov()) != 0 {
		t.Errorf("extreme weights: %v, %v", err1, err2)
	}
}
