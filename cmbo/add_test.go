package cmbo_test

import (
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

func TestPriorAddRejects(t *testing.T) {
	space, _ := grid(t, 6)
	tasks := family(6, 10)
	p := learn(t, space, tasks[:3])
	_, err := p.Add(ctx, nil)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
	_, err = p.Add(ctx, tasks[2:4])
	require.ErrorIs(t, err, cmbo.ErrTask)
	require.ErrorContains(t, err, "task-02")
	for _, o := range []cmbo.LearnOption{cmbo.WithSeed(9), cmbo.WithMinimize(), cmbo.WithYPolicy(cmbo.RawValues), cmbo.WithPriorKernel(kernel.Matern32(0.3))} {
		_, err = p.Add(ctx, tasks[3:], o)
		require.ErrorIs(t, err, cmbo.ErrOption)
	}
	_, err = p.Add(ctx, tasks[3:], cmbo.WithIndexPoints(5))
	require.ErrorIs(t, err, cmbo.ErrOption, "the index set stays")
	require.ErrorContains(t, err, "another index set")
	again := learn(t, space, tasks[:3], cmbo.WithIndexPoints(5))
	_, err = again.Add(ctx, tasks[3:], cmbo.WithIndexPoints(5))
	require.NoError(t, err)
}
