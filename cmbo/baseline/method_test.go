package baseline

import (
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// Tasks of equal values, of one value too, say nothing of how the target varies: beside others they
// are left out of methods that take them for near to anything, or for processes of no variance.
func TestTasksOfEqualValues(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 3, 10)
	equal := taskOf(t, "equal", func([]float64) float64 { return 42 }, randomPoints(r, 10, 2))
	one := cmbo.Task{ID: "one", X: tasks[0].X[:1], Y: tasks[0].Y[:1]}
	d, z := dataAt(bump([]float64{0.6, 0.4}), randomPoints(r, 5, 2), 1), randomPoints(r, 4, 2)
	for _, name := range []string{"RM-GP-UCB", "RM-GP-TS", "HyperBO+"} {
		m, err := Find(name)
		require.NoError(t, err)
		score := func(tasks ...cmbo.Task) []float64 {
			model, err := m.Learn(ctx, square(t), tasks)
			require.NoError(t, err, name)
			s, out := model.Surrogate(1), make([]float64, 4)
			require.NoError(t, s.Fit(ctx, d), name)
			require.NoError(t, s.(cmbo.Scorer).Score(ctx, out, z, cmbo.UCB(2), 0), name)
			if w, ok := s.(cmbo.Weigher); ok {
				out = append(out, w.Weights()...)
			}
			return out
		}
		want := score(tasks...)
		require.Equal(t, want, score(append([]cmbo.Task{equal, one}, tasks...)...), name)
		alone := score(equal, one)
		require.NotEqual(t, want, alone, name)
		if name != "HyperBO+" {
			require.Len(t, alone, 4+3, "%s: without others they are what there is", name)
		}
	}
}
