package cmbo_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// TestEnqueue: what is enqueued is proposed first, in its order, and counts as a
// point of the initial design; nothing else moves, and a journal keeps it all.
func TestEnqueue(t *testing.T) {
	space := newSpace(t, cmbo.Float("x", 0, 1), cmbo.Float("y", 0, 1))
	var journal bytes.Buffer
	opts := []cmbo.Option{cmbo.WithSeed(3), cmbo.WithInitial(4)}
	o := newOptimizer(t, space, append(opts, cmbo.WithJournal(func(lines []byte) error {
		journal.Write(lines)
		return nil
	}))...)
	known := [][]float64{{0.25, 0.5}, {1, 0}, {0.25, 0.5}}
	for _, x := range known {
		require.NoError(t, o.Enqueue(x))
	}
	state := snapshot(t, o)
	require.ErrorIs(t, o.Enqueue([]float64{2, 0}), cmbo.ErrOutOfSpace)
	require.ErrorIs(t, o.Enqueue([]float64{0}), cmbo.ErrDimension)
	require.Equal(t, state, snapshot(t, o))
	require.Equal(t, known, o.Enqueued())

	first := ask(t, o)
	require.Equal(t, known[0], first.X)
	require.Equal(t, known[1:], o.Enqueued())

	// A run that is restored in the middle of the queue goes on with it.
	again, _, err := cmbo.RestoreJournal(bytes.NewReader(journal.Bytes()))
	require.NoError(t, err)
	require.Equal(t, known[1:], again.Enqueued())
	for _, r := range []*cmbo.Optimizer{o, again} {
		ts := askN(t, r, 4)
		require.Equal(t, known[1], ts[0].X)
		require.Equal(t, known[2], ts[1].X)
		for _, trial := range append(ts, first) {
			require.NoError(t, r.Tell(trial.ID, trial.X[0]-trial.X[1]))
		}
	}
	require.Equal(t, snapshot(t, o), snapshot(t, again))

	// The initial design has one point left for the fourth trial, so the fifth is
	// the model's.
	step, ok := o.LastStep()
	require.True(t, ok)
	require.Equal(t, 5, step.Trial)

	// A log whose trial is not the one that was enqueued is damaged.
	forged := bytes.Replace(cmbo.SnapshotState(snapshot(t, o)), []byte(`"x":[0.25,0.5]`), []byte(`"x":[0.75,0.5]`), 1)
	_, err = cmbo.Restore(bytes.NewReader(cmbo.SealSnapshot(forged)))
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	require.ErrorContains(t, err, "enqueued")
}

// TestEnqueueCandidate: in a list, a candidate is enqueued and keeps its index; what
// is none is refused.
func TestEnqueueCandidate(t *testing.T) {
	space, rows := grid(t, 7)
	o := newOptimizer(t, space, cmbo.WithSeed(1))
	require.ErrorIs(t, o.Enqueue([]float64{0.123, 0.456}), cmbo.ErrOutOfSpace)
	require.NoError(t, o.Enqueue(rows[17]))
	trial := ask(t, o)
	require.Equal(t, 17, trial.Index)
	again := restored(t, o)
	require.Equal(t, o.Open(), again.Open())
	require.Contains(t, strings.Join(strings.Fields(string(snapshot(t, o))), ""), `"event":"enqueued"`)
}
