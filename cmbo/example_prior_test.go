package cmbo_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
)

var writeExample = flag.Bool("write-example", false, "write the prior that ExampleDecodePrior embeds")

// TestExamplePrior: the prior that the example embeds is read, and holds what it was
// learned from. -write-example learns it anew.
func TestExamplePrior(t *testing.T) {
	space := newSpace(t, cmbo.LogFloat("lr", 1e-5, 1))
	var tasks []cmbo.Task
	for i := range 3 {
		task := cmbo.Task{ID: fmt.Sprint("task ", i)}
		for j := range 8 {
			lr := math.Pow(10, -5+5*float64(j)/7)
			task.X = append(task.X, []float64{lr})
			task.Y = append(task.Y, 0.9-math.Pow(math.Log10(lr)+3.1-0.1*float64(i), 2)/20)
		}
		tasks = append(tasks, task)
	}
	const name = "testdata/example.prior"
	if *writeExample {
		prior, err := cmbo.Learn(t.Context(), space, tasks, cmbo.WithIndexPoints(20))
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, prior.Encode(&b))
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o644))
	}
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	prior, err := cmbo.DecodePrior(bytes.NewReader(b))
	require.NoError(t, err)
	require.Equal(t, space.Params(), prior.Space().Params())
	got := prior.Tasks()
	require.Len(t, got, len(tasks))
	for i, task := range got {
		require.Equal(t, tasks[i].ID, task.ID)
		require.Len(t, task.Y, len(tasks[i].Y))
	}
	opt := newOptimizer(t, prior.Space(), cmbo.WithPrior(prior))
	_, err = opt.Ask(context.Background())
	require.NoError(t, err)
}
