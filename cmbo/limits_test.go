package cmbo

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestDecodePriorTakesWhatLearnTakes: a task of as many observations as Learn takes is decoded by default, in memory
// proportional to them and to the squares of index points.
func TestDecodePriorTakesWhatLearnTakes(t *testing.T) {
	testutil.SkipShort(t, "it measures memory")
	s := unitCube(t, 1)
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
		few := []hierarchy.Task{c.scaled(s, &Task{ID: k.ID, X: k.X[:30], Y: k.Y[:30]})}
		o := hierarchySettings(c, s, false)
		pass, err := hierarchy.FirstPass(t.Context(), hierarchy.Standardize(few, 0, 1), set.grid(), o)
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

// TestDecodeTakesNoMoreThanItsBytes: a number of parameters, tasks, names or curves that the bytes behind it do not bear out
// takes memory in proportion to these bytes, whatever the limits.
func TestDecodeTakesNoMoreThanItsBytes(t *testing.T) {
	testutil.SkipRace(t, "it measures memory")
	s := unitCube(t, 1)
	p, err := Learn(t.Context(), s, []Task{{ID: "a", X: [][]float64{{0}, {0.5}, {1}}, Y: []float64{1, 2, 3},
		Curves: slices.Repeat([]Curve{{Steps: []int{1}, Values: []float64{1}}}, 3), Context: Context{"b": 1.0}}})
	require.NoError(t, err)
	for _, before := range []string{"\x01\x02x0", "\x01\x01a", "\x01\x01b", "\x03\x01\x02"} { // a number, and what follows
		t.Run(fmt.Sprintf("%q", before), func(t *testing.T) {
			var b bytes.Buffer
			_, err := codec.Seal(&b, ErrOption, priorMagic, priorVersion, func(e *codec.Encoder) {
				p.encode(e)
				at := bytes.LastIndex(e.Buf, []byte(before))
				require.Positive(t, at, "%q in %q", before, e.Buf)
				e.Buf = e.Buf[:at]
				e.Uint(1 << 20)
				e.Raw(make([]byte, 3<<20))
			})
			require.NoError(t, err)
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			_, err = PriorLimits{Tasks: 1 << 20}.Decode(t.Context(), &b)
			runtime.ReadMemStats(&end)
			require.ErrorIs(t, err, ErrCorrupt)
			require.Less(t, int(end.TotalAlloc-start.TotalAlloc), 20*3<<20)
		})
	}
}
