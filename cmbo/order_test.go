package cmbo_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// TestLearnIgnoresTheOrderOfTasks: tasks in another order are the same past. Every
// task has the same fit and the same company, scores of partitions are the same, and
// what a run then proposes and predicts differs by rounding.
func TestLearnIgnoresTheOrderOfTasks(t *testing.T) {
	t.Parallel()
	testutil.SkipRace(t, "TestLearnDoesNotDependOnWorkers has its goroutines")
	cube, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	list, _ := grid(t, 7)
	r := rng.Stream(3, "order of tasks")
	var tasks []cmbo.Task
	for j := range 25 {
		// Few noisy points, so that likelihoods have several modes.
		task := cmbo.Task{ID: fmt.Sprint("task ", (7*j)%25)}
		a, b := 3+4*r.Float64(), r.NormFloat64()
		for range 8 + j%5 {
			x := []float64{r.Float64(), r.Float64()}
			task.X, task.Y = append(task.X, x), append(task.Y, math.Sin(a*x[0]+b)+r.NormFloat64())
		}
		for range 5 { // more points than success is learned on
			task.Failed = append(task.Failed, []float64{r.Float64(), 0.9 + 0.1*r.Float64()})
		}
		tasks = append(tasks, task)
	}
	orders, spaces := map[*cmbo.Space]int{list: 2, cube: 1}, []*cmbo.Space{list, cube}
	if testing.Short() {
		orders[list], spaces = 1, spaces[:1]
	}
	for _, space := range spaces {
		first := learn(t, space, tasks, cmbo.WithIndexPoints(25))
		require.Greater(t, first.NoiseVariance(), 0.1, "at its bound it would be the same in any order")
		for range orders[space] {
			order := r.Perm(len(tasks))
			moved := make([]cmbo.Task, len(tasks))
			for to, from := range order {
				moved[to] = tasks[from]
			}
			again := learn(t, space, moved, cmbo.WithIndexPoints(25))
			require.InEpsilon(t, first.NoiseVariance(), again.NoiseVariance(), 1e-14)
			x, y := newOptimizer(t, space, cmbo.WithPrior(first)), newOptimizer(t, space, cmbo.WithPrior(again))
			for range 4 {
				p, q := askSame(t, x, y)
				a, _ := x.LastStep()
				b, _ := y.LastStep()
				require.Len(t, a.Success, len(a.Scores))
				require.InDeltaSlice(t, a.Success, b.Success, 1e-8)
				require.NoError(t, x.Tell(p.ID, p.X[0]-p.X[1]))
				require.NoError(t, y.Tell(q.ID, p.X[0]-p.X[1]))
			}
			for range 10 {
				z := []float64{r.Float64(), r.Float64()}
				if space == list {
					z, err = list.Candidate(r.IntN(49))
					require.NoError(t, err)
				}
				m, s := predict(t, x, z)
				n, u := predict(t, y, z)
				require.InDelta(t, m, n, 1e-8)
				require.InDelta(t, s, u, 1e-8)
			}
		}
	}
}
