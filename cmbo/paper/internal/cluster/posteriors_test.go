package cluster

import (
	"context"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestPosteriorGeometry compares packed distances with package gaussian.
func TestPosteriorGeometry(t *testing.T) {
	const tasks, n = 6, 25
	r := rng.Stream(1, "points")
	random := func(rows int) *linalg.Dense {
		x := linalg.NewDense(rows, 2, nil)
		for i := range rows {
			x.Row(i)[0], x.Row(i)[1] = r.Float64(), r.Float64()
		}
		return x
	}
	points := random(n)
	ps := NewPosteriors(tasks, n)
	normals := make([]*multivariate.Normal, tasks)
	for j := range tasks {
		k := kernel.Scale(1, kernel.Matern32x12(0.4+0.1*float64(j)))
		x, y := random(12), make([]float64, 12)
		for i := range y {
			y[i] = r.NormFloat64()
		}
		var gram, cov linalg.Sym
		var white linalg.Dense
		var c gaussian.Conditioner
		kernel.Gram(&gram, k, x)
		require.NoError(t, c.Factorize(&gram, []float64{0.01}, y))
		mean := make([]float64, n)
		kernel.Cross(&white, k, x, points)
		require.NoError(t, c.Whiten(&white, &white))
		require.NoError(t, c.Update(mean, nil, &white))
		kernel.Gram(&cov, k, points)
		require.NoError(t, c.UpdateCov(&cov, &white))
		jitter, err := ps.Put(j, mean, &cov, new(linalg.Cholesky))
		require.NoError(t, err)
		require.Zero(t, jitter)
		normals[j], err = multivariate.NewNormal(mean, &cov)
		require.NoError(t, err)
	}
	members := []int{1, 3, 4}
	third := 1.0 / 3
	want, err := multivariate.Centroid([]*multivariate.Normal{normals[1], normals[3], normals[4]}, []float64{third, third, third})
	require.NoError(t, err)

	g := ps.Wasserstein(1)
	require.True(t, g.metric())
	c, err := g.mean(0, members)
	require.NoError(t, err)
	for j := range tasks {
		w, err := new(multivariate.Workspace).W2(normals[j], want)
		require.NoError(t, err)
		d, err := g.distance(0, j, c)
		require.NoError(t, err)
		require.InEpsilon(t, w, d, 1e-10)
		require.LessOrEqual(t, g.lower(j, c), d*(1+1e-12))
		require.GreaterOrEqual(t, g.upper(j, c), d*(1-1e-12))
		pj := g.point(j)
		d, err = g.distance(0, j, pj)
		require.NoError(t, err)
		require.InDelta(t, 0, d, 1e-6)
		pair, err := g.Pair(0, j, (j+1)%tasks)
		require.NoError(t, err)
		w, err = new(multivariate.Workspace).W2(normals[j], normals[(j+1)%tasks])
		require.NoError(t, err)
		require.InEpsilon(t, w, pair, 1e-10)
	}

	g, err = ps.Jeffreys(context.Background(), 1)
	require.NoError(t, err)
	require.False(t, g.metric())
	var top float64
	for j := range tasks {
		top = max(top, normals[j].Trace()/25)
	}
	require.InEpsilon(t, 1e-6*top, g.jitter, 1e-12)
	c, err = g.mean(0, members)
	require.NoError(t, err)
	for j := range tasks {
		w, err := new(multivariate.Workspace).Jeffreys(normals[j], want, g.jitter)
		require.NoError(t, err)
		d, err := g.distance(0, j, c)
		require.NoError(t, err)
		require.InEpsilon(t, w, d, 1e-8)
		d, err = g.distance(0, j, g.point(j))
		require.NoError(t, err)
		require.Zero(t, d)
	}
}
