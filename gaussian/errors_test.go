package gaussian

import (
	"context"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErrorMessages(t *testing.T) {
	cause := &linalg.NotPositiveDefiniteError{Pivot: 4, Value: -2}
	for _, tt := range []struct {
		err  error
		is   error
		text []string
	}{
		{&DimensionError{Op: "KL", What: "q", Got: 3, Want: 4}, ErrDimension, []string{"KL", "q", "3", "4"}},
		{&ValueError{Op: "Fit", What: "y", Row: 7, Col: -1, Value: math.NaN(), Err: ErrNotFinite}, ErrNotFinite, []string{"Fit", "y[7]", "NaN"}},
		{&ValueError{Op: "New", What: "cov", Row: 7, Col: 2, Value: 5, Err: ErrArgument}, ErrArgument, []string{"cov[7,2]", "5"}},
		{&ValueError{Op: "New", What: "noise", Row: -1, Col: -1, Value: -5, Err: ErrArgument}, ErrArgument, []string{"noise is -5"}},
		{&DefiniteError{Op: "Fit", What: "K", Pivot: 4, Value: -2, Jitter: 1e-4, Err: cause}, ErrNotPositiveDefinite, []string{"Fit", "K", "pivot 4", "-2", "0.0001"}},
		{fault.Scalar("Fit", "noise", -5, ErrArgument), ErrArgument, []string{"Fit: noise is -5"}},
		{&DefiniteError{Op: "Factor", What: "cov", Pivot: -1, Value: -3}, ErrNotPositiveDefinite, []string{"eigenvalue", "-3"}},
	} {
		assert.ErrorIs(t, tt.err, tt.is)
		for _, s := range tt.text {
			assert.ErrorContains(t, tt.err, s)
		}
	}
	var number *ValueError
	err := fault.Scalar("Fit", "noise", -5, ErrArgument)
	require.ErrorAs(t, err, &number)
	assert.Equal(t, [2]int{-1, -1}, [2]int{number.Row, number.Col}, "%+v is not of a number alone", err)
	var npd *linalg.NotPositiveDefiniteError
	err = fault.Definite("Fit", "K", 0, cause)
	require.ErrorAs(t, err, &npd)
	assert.Same(t, cause, npd, "%v does not carry the error of linalg", err)
}

// TestNothingPanics calls everything with numbers of every kind.
func TestNothingPanics(t *testing.T) {
	rng := testutil.RNG(t)
	ctx := context.Background()
	trials := 1500
	if testing.Short() {
		trials = 300
	}
	for range trials {
		m := 1 + rng.IntN(4)
		x, k := linalg.NewDense(m, 2, testutil.Weird(rng, 2*m)), kernel.Scale(2, kernel.Matern32(0.5))
		var l Likelihood
		if l.Reset(k, x, testutil.Weird(rng, m), testutil.Weird(rng, m)) == nil {
			_, _ = l.Eval(k, testutil.Weird(rng, 1)[0], make([]float64, 3))
		}
		if rng.IntN(10) == 0 {
			var f Fitter
			_, _ = f.Fit(ctx, k, math.Abs(testutil.Weird(rng, 1)[0]), x, testutil.Weird(rng, m), testutil.Weird(rng, m), nil)
		}
		var c Conditioner
		cov := linalg.NewSym(m, testutil.Weird(rng, m*m))
		_ = c.Factorize(cov, testutil.Weird(rng, 1), testutil.Weird(rng, m))
		_ = c.Append(testutil.Weird(rng, c.Len()), testutil.Weird(rng, 1)[0], testutil.Weird(rng, 1)[0], testutil.Weird(rng, 1)[0])
		_ = c.AppendExpected(testutil.Weird(rng, c.Len()), testutil.Weird(rng, 1)[0], testutil.Weird(rng, 1)[0])
		cross := linalg.NewDense(c.Len(), m, testutil.Weird(rng, c.Len()*m))
		_ = c.Update(testutil.Weird(rng, m), testutil.Weird(rng, m), cross)
		_ = c.Condition(nil, cov, new(linalg.Dense), cross)
		_ = c.Precision(make([]float64, c.Len()), cov)
	}
}
