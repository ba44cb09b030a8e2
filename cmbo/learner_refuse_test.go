package cmbo

import (
	"bytes"
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
)

// What is stored of a learner is held against itself, and counts of tasks have an end.
func TestDecodeLearnerHoldsCounts(t *testing.T) {
	s, err := NewSpace(Float("x", 0, 1))
	require.NoError(t, err)
	learner := func() *Learner {
		l, err := NewLearner(s)
		require.NoError(t, err)
		for i := range 4 {
			k := Task{ID: strconv.Itoa(i), X: [][]float64{{0.1}, {0.5 + float64(i)/10}}, Y: []float64{1, float64(i)}}
			if i == 3 {
				k = Task{ID: "3", Failed: [][]float64{{0.3}}}
			}
			require.NoError(t, l.Add(k))
		}
		return l
	}
	decode := func(l *Learner, limits PriorLimits) error {
		var b bytes.Buffer
		require.NoError(t, l.Encode(&b))
		_, err := limits.DecodeLearner(context.Background(), s, &b)
		return err
	}
	require.NoError(t, decode(learner(), PriorLimits{}))
	for why, change := range map[string]func(*census){
		"3 tasks, 4 with values":                                    func(c *census) { c.tasks, c.valued = 3, 4 },
		"tasks, -1 with values":                                     func(c *census) { c.valued = -1 },
		strconv.Itoa(hierarchy.MaxTasks+1) + " tasks":               func(c *census) { c.tasks = hierarchy.MaxTasks + 1 },
		"3 tasks with values and 1 without, of 4 and 0":             func(c *census) { c.valued = 4 },
		"a sample of 3 tasks with values and 1 without, of 3 and 2": func(c *census) { c.tasks = 5 },
	} {
		l := learner()
		change(&l.seen)
		err := decode(l, PriorLimits{})
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, why)
	}
	require.ErrorIs(t, decode(learner(), PriorLimits{TotalRows: 6}), ErrLimit)
	require.NoError(t, decode(learner(), PriorLimits{TotalRows: 7}))

	l, o := learner(), learner()
	o.kept = new(keptTasks)
	l.seen.tasks = hierarchy.MaxTasks - 4
	require.NoError(t, l.Merge(o))
	l.seen.tasks = hierarchy.MaxTasks - 3
	require.ErrorContains(t, l.Merge(o), strconv.Itoa(hierarchy.MaxTasks+1)+" tasks")
}

// Tasks with values are counted, by a Learner beyond what it holds.
func TestTooManyTasks(t *testing.T) {
	tasks := make([]Task, sampleTasks+3)
	for i := range tasks[:sampleTasks] {
		tasks[i].X = [][]float64{{1}, {2}}
	}
	require.False(t, new(learnConfig).tooMany(tasks))
	tasks[sampleTasks+1].X = [][]float64{{1}}
	require.True(t, new(learnConfig).tooMany(tasks))
}
