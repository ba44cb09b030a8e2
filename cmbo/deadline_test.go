package cmbo_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// TestAskGoesOn: an Ask whose context ends before a fit is done succeeds when it is repeated with the same patience,
// and proposes what one without an end does, without a past and with one of fewer values than the run's.
func TestAskGoesOn(t *testing.T) {
	space := newSpace(t, cmbo.Float("x", 0, 1), cmbo.Float("y", 0, 1))
	points := sample(t, space, 40, 1)
	past := cmbo.WithPrior(learn(t, space, []cmbo.Task{{ID: "a", X: points[:3], Y: []float64{1, 3, 2}}}))
	ask := func(patience func() context.Context, opts ...cmbo.Option) (cmbo.Trial, int) {
		o := newOptimizer(t, space, opts...)
		for _, p := range points {
			require.NoError(t, o.Observe(p, math.Sin(5*p[0])+p[1]*p[1]))
		}
		for tries := 1; ; tries++ {
			trial, err := o.Ask(patience())
			if !errors.Is(err, context.Canceled) {
				require.NoError(t, err)
				return trial, tries
			}
			require.Less(t, tries, 500)
		}
	}
	for looks, opts := range map[int][]cmbo.Option{20: nil, 110: {past}} {
		want, _ := ask(context.Background, opts...)
		got, tries := ask(func() context.Context { return testutil.Countdown(looks) }, opts...)
		require.Equal(t, want.X, got.X)
		require.Greater(t, tries, 2)
	}
}
