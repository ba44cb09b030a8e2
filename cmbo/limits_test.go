package cmbo

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestDecodePriorTakesWhatLearnTakes: a task of as many observations as Learn takes is decoded by default, in memory
// proportional to them and to the squares of index points.
func TestDecodePriorTakesWhatLearnTakes(t *testing.T) {
	testutil.SkipRace(t, "it measures memory")
	s, err := UnitCube(1)
	require.NoError(t, err)
	for _, tt := range []struct {
		rows, index int
	}{{maxRows, 20}, {500, 500}} {
		c, err := newLearnConfig([]LearnOption{WithIndexPoints(tt.index)})
		require.NoError(t, err)
		k := Task{ID: "long"}
		for i := range tt.rows {
			x := float64(i) / maxRows
			k.X, k.Y = append(k.X, []float64{x}), append(k.Y, x+0.1*float64(i%3))
		}
		set, err := c.trainingSet(s, []Task{k})
		require.NoError(t, err)
		// What is learned of a few of the observations is made the population of all, as learning from them takes minutes.
		few, o := &trainingSet{config: c, space: s}, hierarchySettings(c, s)
		few.add(c.scaled(s, &Task{ID: k.ID, X: k.X[:30], Y: k.Y[:30]}))
		pass, err := hierarchy.FirstPass(t.Context(), hierarchy.Standardize(few.tasks, 0, 1), set.grid(), o)
		require.NoError(t, err)
		p, err := set.finish(t.Context(), pass.Model(hierarchy.Standardize(set.tasks, 0, 1), 1, o))
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, p.Encode(&b))
		encoded := bytes.Clone(b.Bytes())

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read, err := DecodePrior(&b)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		took, most := int(after.TotalAlloc-before.TotalAlloc), 20*24*tt.rows+40*tt.index*tt.index
		t.Logf("%d rows, %d index points, %d bytes: %d taken, at most %d", tt.rows, tt.index, len(encoded), took, most)
		require.Less(t, took, most)
		require.NoError(t, read.Encode(&b))
		require.Equal(t, encoded, b.Bytes())
	}
}
