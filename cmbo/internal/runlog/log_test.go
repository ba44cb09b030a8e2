package runlog

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The log holds after each event what the list of all events says, and is the same when
// its events are stored as JSON and restored.
func TestLog(t *testing.T) {
	rng := testutil.RNG(t)
	box, err := space.New(space.Float("a", 0, 2), space.Int("b", 0, 3))
	require.NoError(t, err)
	rows := [][]float64{{0, 0}, {0.5, 1}, {2, 1}, {1, 3}, {1, 2}}
	list, err := box.WithCandidates(rows)
	require.NoError(t, err)
	for _, s := range []*space.Space{box, list} {
		for range 10 {
			h, stored := NewLog(s), NewLog(s)
			for range 30 {
				e := draw(rng, h, rows)
				before := h.Clone()
				h.Apply(e)
				assert.Equal(t, replay(s, before.Events), before, "the clone")
				checkLog(t, h)

				b, err := json.Marshal(e.Export())
				require.NoError(t, err)
				var back Stored
				require.NoError(t, json.Unmarshal(b, &back))
				var seen []float64
				require.NoError(t, stored.Restore(back, Checks{
					State:  func(state []float64) error { seen = state; return nil },
					Fitted: func(params []float64) error { seen = params; return nil },
				}))
				assert.Equal(t, append(e.State, e.Params...), seen)
				require.Equal(t, h, stored, "after %s", b)
			}
		}
	}
}

// draw returns an event that may follow those of h.
func draw(rng *rand.Rand, h *Log, rows [][]float64) Event {
	i := rng.IntN(len(rows))
	var open []int
	for id := range len(h.Trials) {
		if statusOf(h.Events, id+1) == Open {
			open = append(open, id+1)
		}
	}
	kind := Kind(1 + rng.IntN(int(EventEnqueued)))
	e := Event{Kind: kind, Index: -1}
	switch kind {
	case EventTold, EventFailed, EventCancelled:
		if len(open) > 0 {
			e.Trial = open[rng.IntN(len(open))]
			break
		}
		e.Kind = EventAsked
		fallthrough
	case EventAsked:
		e.Trial = len(h.Trials) + 1
		if q := queue(h.Events); len(q) > 0 {
			i = slices.IndexFunc(rows, func(x []float64) bool { return slices.Equal(x, q[0]) })
		}
		e.X = rows[i]
		if h.space.Finite() {
			e.Index = i
		}
		if rng.IntN(2) == 0 {
			e.State = []float64{rng.NormFloat64(), math.Inf(1), rng.NormFloat64()}
		}
		e.Saw = rng.IntN(len(h.Events) + 1)
	case EventFitted:
		e.Count, e.Params = rng.IntN(3), []float64{rng.NormFloat64(), 2}
		e.Saw = rng.IntN(len(h.Events) + 1)
	case EventObserved, EventEnqueued:
		e.X = rows[i]
	}
	if e.Kind == EventTold || e.Kind == EventObserved {
		e.Y, e.Noise = float64(rng.IntN(5)), float64(rng.IntN(2))/4
	}
	return e
}

// statusOf returns what the last event says that closed a trial.
func statusOf(events []Event, id int) Status {
	status := Open
	for _, e := range events {
		if s := map[Kind]Status{EventTold: Told, EventFailed: Failed, EventCancelled: Cancelled}[e.Kind]; e.Trial == id && s != Open {
			status = s
		}
	}
	return status
}

// queue returns the points enqueued of which no trial was asked.
func queue(events []Event) [][]float64 {
	var q [][]float64
	for _, e := range events {
		if e.Kind == EventEnqueued {
			q = append(q, e.X)
		} else if e.Kind == EventAsked && len(q) > 0 {
			q = q[1:]
		}
	}
	return q
}

// checkLog compares a log with what its events say.
func checkLog(t *testing.T, h *Log) {
	t.Helper()
	asked := make(map[int][]float64) // points of the trials
	failed := make(map[[2]float64]bool)
	used := make(map[[2]float64]int)
	fitted := make(map[int][]float64)
	var values, labels, oriented []float64
	var trials, observed, labelled, seen, pending [][]float64
	var open []int
	started, failures := 0, 0
	for _, e := range h.Events {
		if e.X != nil && e.Kind != EventEnqueued {
			seen = append(seen, e.X)
		}
		switch e.Kind {
		case EventAsked:
			asked[e.Trial] = e.X
			trials = append(trials, e.X)
			if s := statusOf(h.Events, e.Trial); s != Cancelled {
				started++
				used[[2]float64(e.X)]++
				if s == Open {
					open, pending = append(open, e.Trial), append(pending, e.X)
				}
			}
			assert.Equal(t, Trial{statusOf(h.Events, e.Trial), e.Index, e.X, e.State}, h.Trials[e.Trial-1])
		case EventTold:
			observed, labelled = append(observed, asked[e.Trial]), append(labelled, asked[e.Trial])
			values, labels = append(values, e.Y), append(labels, hierarchy.Succeeded)
		case EventObserved:
			started++
			used[[2]float64(e.X)]++
			observed, labelled = append(observed, e.X), append(labelled, e.X)
			values, labels = append(values, e.Y), append(labels, hierarchy.Succeeded)
		case EventFailed:
			failures++
			failed[[2]float64(asked[e.Trial])] = true
			labelled, labels = append(labelled, asked[e.Trial]), append(labels, hierarchy.Failed)
		case EventFitted:
			fitted[e.Count] = e.Params
		}
	}
	for _, v := range values {
		oriented = append(oriented, -v)
	}
	assert.Len(t, h.Trials, len(trials))
	assert.Equal(t, started, h.Started())
	assert.Equal(t, open, h.Pending())
	assert.Equal(t, failures, h.Failures)
	assert.Equal(t, fitted, h.Fitted)
	assert.Equal(t, seen, h.Seen)
	assert.True(t, slices.EqualFunc(queue(h.Events), h.Queue, slices.Equal), "the queue")
	assert.Len(t, h.Used, len(used))
	for _, x := range [][]float64{{0, 0}, {0.5, 1}, {2, 1}, {1, 3}, {1, 2}, {1.5, 1}} {
		key := points.Key(x)
		assert.Equal(t, used[[2]float64(x)] == 0, h.Proposable(key, false))
		assert.Equal(t, !failed[[2]float64(x)], h.Proposable(key, true))
	}
	assert.Equal(t, h.space.EncodeAll(observed), h.EncodedObservations())
	assert.Equal(t, h.space.EncodeAll(pending), h.EncodedPending())
	x, z := h.EncodedLabels()
	assert.Equal(t, h.space.EncodeAll(labelled), x)
	assert.Equal(t, labels, z)
	if len(values) == 0 {
		assert.Equal(t, -1, h.Best(false))
		return
	}
	assert.Equal(t, values, h.Oriented(false))
	assert.Equal(t, oriented, h.Oriented(true))
	assert.Equal(t, slices.Index(values, slices.Max(values)), h.Best(false))
	assert.Equal(t, slices.Index(values, slices.Min(values)), h.Best(true))
}

// A computation knew the events before the one it saw, and those of its own AskN.
func TestBefore(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	h := NewLog(s)
	for i, saw := range []int{0, 0, 2, 0, 2, 1, 2} {
		h.Apply(Event{Kind: EventAsked, Trial: i + 1, Index: -1, X: []float64{float64(i) / 8}, Saw: saw})
	}
	for i, want := range [][]int{{}, {1}, {1, 2}, {1, 2, 3}, {1, 2, 3}, {1}, {1, 2, 3, 5}} {
		got := []int{}
		for _, e := range h.Before(i).Events {
			got = append(got, e.Trial)
		}
		assert.Equal(t, want, got, "event %d", i)
	}
}
