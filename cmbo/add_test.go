package cmbo_test

import (
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// TestPriorAdd: adding tasks gives, bit for bit, what learning from all of them
// at once does, in a parameter space and on a list of candidates.
func TestPriorAdd(t *testing.T) {
	box, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	list, _ := grid(t, 9)
	tasks := family(9, 15)
	f := bump([]float64{0.3, 0.3})
	small := []cmbo.LearnOption{cmbo.WithIndexPoints(25), cmbo.WithClusterPoints(20), cmbo.WithClusters(3)}
	for _, space := range []*cmbo.Space{box, list} {
		for _, v := range []cmbo.Variant{cmbo.WssClusWssCMP, cmbo.JefClusJefCMP, cmbo.WssClusWssCMPBary, cmbo.GlobalCen, cmbo.IndiWeightJef} {
			opts := append(small[:3:3], cmbo.WithVariant(v))
			all := learn(t, space, tasks, opts...)
			first := learn(t, space, tasks[:4], opts...)
			more, err := first.Add(ctx, tasks[4:7])
			require.NoError(t, err)
			more, err = more.Add(ctx, tasks[7:])
			require.NoError(t, err)
			require.Equal(t, all.Labels(), more.Labels(), "%s", v)
			require.Equal(t, all.Clusters(), more.Clusters())
			require.Equal(t, all.NoiseVariance(), more.NoiseVariance())
			require.Equal(t, all.IndexSet(), more.IndexSet())
			for i := range all.Clusters() {
				require.Equal(t, all.Prototype(i).Mean(), more.Prototype(i).Mean())
				require.Equal(t, all.Prototype(i).Cov(), more.Prototype(i).Cov())
			}
			a, b := newOptimizer(t, space, cmbo.WithPrior(all)), newOptimizer(t, space, cmbo.WithPrior(more))
			require.Equal(t, drive(t, a, f, 4), drive(t, b, f, 4))
			require.Equal(t, 4, first.NumTasks(), "the old prior stays as it is")
		}
	}
}

func TestPriorAddRejects(t *testing.T) {
	space, _ := grid(t, 6)
	tasks := family(6, 10)
	p := learn(t, space, tasks[:3])
	_, err := p.Add(ctx, nil)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
	_, err = p.Add(ctx, tasks[2:4])
	require.ErrorIs(t, err, cmbo.ErrTask)
	require.ErrorContains(t, err, "task-02")
	for _, o := range []cmbo.LearnOption{cmbo.WithSeed(9), cmbo.WithMinimize(), cmbo.WithYPolicy(cmbo.RawValues), cmbo.WithARD()} {
		_, err = p.Add(ctx, tasks[3:], o)
		require.ErrorIs(t, err, cmbo.ErrOption)
	}
	_, err = p.Add(ctx, tasks[3:], cmbo.WithClusters(2))
	require.ErrorIs(t, err, cmbo.ErrOption)
	require.ErrorContains(t, err, "WithClusters concerns the paper's method")

	_, err = p.Add(ctx, tasks[3:], cmbo.WithIndexPoints(5))
	require.ErrorIs(t, err, cmbo.ErrOption, "the index set stays")
	require.ErrorContains(t, err, "another index set")
	again := learn(t, space, tasks[:3], cmbo.WithIndexPoints(5))
	_, err = again.Add(ctx, tasks[3:], cmbo.WithIndexPoints(5))
	require.NoError(t, err)

	labelled := learn(t, space, tasks[:3], cmbo.WithVariant(cmbo.WssClusWssCMP), cmbo.WithLabels([]int{0, 1, 0}))
	_, err = labelled.Add(ctx, tasks[3:4])
	require.ErrorContains(t, err, "3 labels for 4 tasks")
	q, err := labelled.Add(ctx, tasks[3:4], cmbo.WithLabels([]int{0, 1, 0, 1}))
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 0, 1}, q.Labels())
}
