package paper

import (
	"context"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestSingularPosterior: a posterior that rounding left indefinite gets
// the jitter it needs, whatever the distance.
func TestSingularPosterior(t *testing.T) {
	const n = 20
	ctx := context.Background()
	r := rng.Stream(9, "singular")
	dense := linalg.NewDense(3, n, nil)
	for i := range 3 {
		for j := range n {
			dense.Row(i)[j] = r.NormFloat64()
		}
	}
	rm := &stepScratch{mean: make([]float64, n)}
	set := func() {
		rm.cov.Resize(n)
		rm.cov.Zero()
		rm.cov.AddTransGram(1, dense)
		rm.cov.AddDiag(-1e-14)
	}
	normals := make([]*multivariate.Normal, 3)
	for i := range normals {
		s := linalg.NewSym(n, nil)
		s.AddDiag(1 + float64(i))
		var err error
		normals[i], err = multivariate.NewNormal(make([]float64, n), s)
		require.NoError(t, err)
	}
	for _, jitter := range []float64{0, 1e-2} {
		got := make([]float64, len(normals))
		set()
		used, err := rm.toJeffreys(ctx, got, normals, jitter)
		require.NoError(t, err)
		require.Equal(t, jitter == 0, used > 0, "jitter %g of the posterior beside %g of the divergence", used, jitter)
		set()
		rm.cov.AddDiag(used)
		post, err := multivariate.NewNormal(rm.mean, &rm.cov)
		require.NoError(t, err)
		for i, p := range normals {
			want, err := new(multivariate.Workspace).Jeffreys(p, post, jitter)
			require.NoError(t, err)
			require.InEpsilon(t, want, got[i], 1e-9)
		}
		set()
		used, err = rm.toWasserstein(ctx, 1, got, normals)
		require.NoError(t, err)
		require.Positive(t, used)
	}
	// A prototype without a density is infinitely far from any posterior with one.
	flat, err := multivariate.NewNormal(make([]float64, n), linalg.NewSym(n, nil))
	require.NoError(t, err)
	set()
	rm.cov.AddDiag(1)
	got := make([]float64, 2)
	_, err = rm.toJeffreys(ctx, got, []*multivariate.Normal{flat, normals[0]}, 0)
	require.NoError(t, err)
	require.True(t, math.IsInf(got[0], 1))
	require.Positive(t, got[1])
	require.False(t, math.IsInf(got[1], 1))
}
