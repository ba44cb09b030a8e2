package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	ten := 10.0
	outputs := []Output{{Name: "size", AtMost: &ten}, {Name: "time", Optional: true}}
	for k, s := range []*space.Space{box, list, box, list} {
		declared := outputs[:k/2*2]
		for range 10 {
			h, stored := NewLog(s, declared...), NewLog(s, declared...)
			fits := make(map[int]fit)
			for range 30 {
				e := draw(rng, h, rows)
				before := h.Clone()
				h.Apply(e)
				checkFits(t, h, fits)
				assert.Equal(t, replay(s, declared, before.Events), before, "the clone")
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

// What was fitted is known as long as the rows it was fitted to are the first, of which estimates come and go.
func TestFitsOfRows(t *testing.T) {
	rng := testutil.RNG(t)
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	forgotten, unseen := 0, 0
	for range 20 {
		h, fits := NewLog(s), make(map[int]fit)
		for range 60 {
			open, e := h.Pending(), Event{Index: -1}
			if len(open) > 0 {
				e.Trial = open[rng.IntN(len(open))]
			}
			switch what := rng.IntN(20); {
			case what < 8:
				e = Event{Kind: EventFitted, Saw: len(h.Events) - rng.IntN(min(4, len(h.Events)+1)), Params: []float64{rng.Float64()}}
				e.Count = countOf(rng, h, e)
			case what < 10 || e.Trial == 0:
				e.Kind, e.Trial, e.X = EventAsked, len(h.Trials)+1, []float64{float64(rng.IntN(5)) / 8}
			case what < 13:
				e.Kind = EventCancelled
			case what == 13:
				e.Kind, e.Y = EventTold, 1
			default:
				e.Kind, e.Y, e.Noise, e.Paused = EventStopped, 1, 0.5, true
			}
			before := len(h.Fitted)
			h.Apply(e)
			checkFits(t, h, fits)
			forgotten += max(before-len(h.Fitted), 0)
			if _, known := h.Fitted[e.Count]; e.Kind == EventFitted && !known {
				unseen++
			}
		}
	}
	require.Greater(t, forgotten, 50)
	require.Greater(t, unseen, 5)
}

// countOf returns a number of rows that an event may have been fitted to.
func countOf(rng *rand.Rand, h *Log, e Event) int {
	c := h.Clone()
	c.Apply(e)
	rows, _ := c.Before(len(h.Events)).Learned()
	return rng.IntN(len(rows) + 1)
}

// A fit is parameters and the rows they were fitted to.
type fit struct {
	params []float64
	rows   []Observation
}

// checkFits checks that parameters are known as long as the rows they were fitted to are the first, and updates those of
// the events before the last. A fit made while an estimate came to count, or to count no more, need not be known.
func checkFits(t *testing.T, h *Log, fits map[int]fit) {
	t.Helper()
	last := len(h.Events) - 1
	begins := func(all, with []Observation) bool {
		return len(all) >= len(with) && (len(with) == 0 || assert.ObjectsAreEqual(with, all[:len(with)]))
	}
	rows, _ := h.Learned()
	maps.DeleteFunc(fits, func(_ int, f fit) bool { return !begins(rows, f.rows) })
	if e := h.Events[last]; e.Kind == EventFitted {
		quiet, of := true, h.Before(last)
		was, _ := of.Learned()
		f := fit{e.Params, was[:e.Count]}
		for k := e.Saw; e.Saw > 0 && k < last; k++ {
			is, _ := replay(h.space, h.outputs, h.Events[:k+1]).Learned()
			was, _ := replay(h.space, h.outputs, h.Events[:k]).Learned()
			more := slices.Contains([]EventKind{EventTold, EventObserved, EventStopped}, h.Events[k].Kind)
			quiet = quiet && begins(is, was) && (more || len(is) == len(was))
		}
		if quiet {
			fits[e.Count] = f
		} else if known := h.Fitted[e.Count]; slices.Equal(known, e.Params) {
			require.True(t, begins(rows, f.rows))
			fits[e.Count] = f
		}
	}
	want := make(map[int][]float64)
	for count, f := range fits {
		want[count] = f.params
	}
	require.Equal(t, want, h.Fitted)
}

// A report takes no longer for those before it, of which a curve may have many thousands.
func TestReportsOfOneTrial(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	h := NewLog(s)
	h.Apply(Event{Kind: EventAsked, Trial: 1, Index: -1, X: []float64{0.5}})
	require.Less(t, testing.AllocsPerRun(1000, func() {
		h.Apply(Event{Kind: EventReported, Trial: 1, Step: len(h.Events), Y: 1})
	}), 1.0)
}

// Steps of a trial rise from 0 on, and values are numbers.
func TestCheckReport(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	h := NewLog(s)
	h.Apply(Event{Kind: EventAsked, Trial: 1, Index: -1, X: []float64{0.5}})
	require.NoError(t, h.CheckReport(1, 0, 1))
	require.ErrorIs(t, h.CheckReport(1, -1, 1), space.ErrStep)
	for _, last := range []int{0, 5} { // the only one, and one after another
		h.Apply(Event{Kind: EventReported, Trial: 1, Step: last, Y: 1})
		require.NoError(t, h.CheckReport(1, last+1, 1))
		require.ErrorContains(t, h.CheckReport(1, last, 1), fmt.Sprintf("step %d was reported before", last))
		require.ErrorIs(t, h.CheckReport(1, last+1, math.NaN()), space.ErrValue)
	}
	require.ErrorContains(t, h.CheckReport(1, 3, 1), "step 3 comes after step 5")
	h.Apply(Event{Kind: EventAsked, Trial: 2, Index: -1, X: []float64{0.6}})
	h.Apply(Event{Kind: EventReported, Trial: 2, Step: 5, Y: 1})
	require.ErrorContains(t, h.CheckReport(2, 3, 1), "step 3 comes after step 5")
}

// What an evaluation costs that went on is the sum over its parts, as large as a value may be at most, and not known if
// that of a part is not.
func TestCostOfParts(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	for _, tt := range []struct{ first, second, want map[string]float64 }{
		{map[string]float64{"cost": 3, "size": 7}, map[string]float64{"cost": 4, "size": 5}, map[string]float64{"cost": 7, "size": 5}},
		{map[string]float64{"cost": points.MaxValue}, map[string]float64{"cost": points.MaxValue}, map[string]float64{"cost": points.MaxValue}},
		{nil, map[string]float64{"cost": 4, "size": 5}, map[string]float64{"size": 5}},
		{map[string]float64{"cost": 3}, map[string]float64{"size": 5}, map[string]float64{"size": 5}},
	} {
		h := NewLog(s, Output{Name: "cost", Cost: true, Optional: true}, Output{Name: "size", Optional: true})
		x := []float64{0.5}
		for _, e := range []Event{
			{Kind: EventAsked, Trial: 1, Index: -1, X: x}, {Kind: EventReported, Trial: 1, Step: 1, Y: 1},
			{Kind: EventStopped, Trial: 1, Paused: true, Outputs: tt.first},
			{Kind: EventAsked, Trial: 2, Index: -1, X: x}, {Kind: EventReported, Trial: 2, Step: 2, Y: 1},
		} {
			h.Apply(e)
		}
		second := maps.Clone(tt.second)
		require.Equal(t, tt.want, h.Whole(2, second))
		require.Equal(t, tt.second, second, "the trial's own")
		require.Equal(t, tt.first, h.Whole(1, tt.first))
	}
}

// Of a proposal's numbers +Inf alone is stored that is none, and only what the model asked for.
func TestCheckState(t *testing.T) {
	asked := Checks{State: func([]float64) error { return nil }}
	require.NoError(t, asked.CheckState([]float64{1, math.Inf(1)}))
	require.NoError(t, Checks{}.CheckState(nil))
	require.Error(t, Checks{}.CheckState([]float64{1}))
	for _, v := range []float64{math.NaN(), math.Inf(-1)} {
		require.EqualError(t, asked.CheckState([]float64{1, v}), fmt.Sprintf("number 1 of a proposal is %g", v))
	}
}

// replay makes a log of its events.
func replay(s *space.Space, outputs []Output, events []Event) *Log {
	h := NewLog(s, outputs...)
	for _, e := range events {
		h.Apply(e)
	}
	return h
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
	kind := EventKind(1 + rng.IntN(int(EventStopped)))
	e := Event{Kind: kind, Index: -1}
	switch kind {
	case EventTold, EventFailed, EventCancelled, EventReported, EventStopped:
		if len(open) > 0 {
			e.Trial = open[rng.IntN(len(open))]
			steps := h.Trials[e.Trial-1].Curve.Steps
			switch {
			case kind == EventStopped && len(steps) == 0:
				e.Kind = EventReported
			case kind == EventStopped && rng.IntN(3) > 0:
				e.Y, e.Noise = float64(rng.IntN(5)), 0.5
			}
			e.Paused = e.Kind == EventStopped && rng.IntN(2) == 0
			if e.Kind == EventReported {
				e.Step, e.Y = rng.IntN(3), rng.NormFloat64()
				if len(steps) > 0 {
					e.Step += steps[len(steps)-1] + 1
				}
			}
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
		e.Saw, e.Params = rng.IntN(len(h.Events)+1), []float64{rng.NormFloat64(), 2}
		e.Count = countOf(rng, h, e)
	case EventObserved, EventEnqueued:
		e.X = rows[i]
	}
	if e.Kind == EventTold || e.Kind == EventObserved {
		e.Y, e.Noise = float64(rng.IntN(5)), float64(rng.IntN(2))/4
		if len(h.outputs) > 0 {
			e.Outputs = map[string]float64{"size": 8 + float64(rng.IntN(6))}
			if rng.IntN(2) == 0 {
				e.Outputs["time"] = rng.NormFloat64()
			}
		}
	}
	return e
}

// statusOf returns what the last event says that closed a trial.
// outputsOf returns what a trial brought.
func outputsOf(events []Event, trial int) map[string]float64 {
	for _, e := range events {
		if e.Trial == trial && (e.Kind == EventTold || e.Kind == EventFailed) {
			return e.Outputs
		}
	}
	return nil
}

func statusOf(events []Event, id int) Status {
	status := Open
	for _, e := range events {
		if s := map[EventKind]Status{EventTold: Told, EventFailed: Failed, EventCancelled: Cancelled, EventStopped: Stopped}[e.Kind]; e.Trial == id && s != Open {
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
	used := make(map[[2]float64]int)
	curves := make(map[int]space.Curve)
	var learned []Observation // and estimates
	var estimated []bool
	var values, labels []float64
	var ours []int     // 1 of a label that answers a proposal
	var ends []float64 // labels, of trials that were stopped as of those that failed
	var trials, observed, labelled, seen, pending [][]float64
	var open []int
	started, failures := 0, 0
	failedBefore, counted := []int{}, 0 // failures, and those before the last value
	paused := make(map[[2]float64]int)  // the trial that can go on
	waiting := make(map[int]bool)       // trials whose estimates count while nobody goes on
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
			got := h.Trials[e.Trial-1]
			assert.Equal(t, Trial{Status: statusOf(h.Events, e.Trial), Index: e.Index, X: e.X, State: e.State, Outputs: outputsOf(h.Events, e.Trial), Curve: got.Curve, Resumes: paused[[2]float64(e.X)]}, got)
		case EventReported:
			c := curves[e.Trial]
			curves[e.Trial] = space.Curve{Steps: append(c.Steps, e.Step), Values: append(c.Values, e.Y)}
		case EventStopped:
			if !e.Paused {
				labelled, labels = append(labelled, asked[e.Trial]), append(labels, hierarchy.Succeeded)
				ends, ours = append(ends, hierarchy.Failed), append(ours, 1)
			} else {
				x := [2]float64(asked[e.Trial])
				paused[x], waiting[e.Trial] = e.Trial, true
				used[x]--
				for i := len(learned) - 1; i >= 0; i-- {
					if waiting[learned[i].Trial] && estimated[i] && [2]float64(learned[i].X) == x {
						learned, estimated = slices.Delete(learned, i, i+1), slices.Delete(estimated, i, i+1)
					}
				}
			}
			if e.Noise > 0 {
				learned, estimated = append(learned, Observation{asked[e.Trial], e.Y, e.Noise, e.Trial, nil}), append(estimated, true)
			}
		case EventTold:
			delete(paused, [2]float64(asked[e.Trial]))
			learned, estimated = append(learned, Observation{asked[e.Trial], e.Y, e.Noise, e.Trial, e.Outputs}), append(estimated, false)
			observed, labelled = append(observed, asked[e.Trial]), append(labelled, asked[e.Trial])
			values, labels, ours, ends = append(values, e.Y), append(labels, hierarchy.Succeeded), append(ours, 1), append(ends, hierarchy.Succeeded)
			failedBefore, counted = append(failedBefore, failures-counted), failures
		case EventObserved:
			learned, estimated = append(learned, Observation{e.X, e.Y, e.Noise, 0, e.Outputs}), append(estimated, false)
			started++
			used[[2]float64(e.X)]++
			observed, labelled = append(observed, e.X), append(labelled, e.X)
			values, labels, ours, ends = append(values, e.Y), append(labels, hierarchy.Succeeded), append(ours, 0), append(ends, hierarchy.Succeeded)
			failedBefore, counted = append(failedBefore, failures-counted), failures
		case EventFailed:
			failures++
			delete(paused, [2]float64(asked[e.Trial]))
			labelled, labels, ours, ends = append(labelled, asked[e.Trial]), append(labels, hierarchy.Failed), append(ours, 1), append(ends, hierarchy.Failed)
		}
	}
	for i, tr := range h.Trials {
		assert.Equal(t, curves[i+1], tr.Curve)
	}
	for i := len(learned) - 1; i >= 0; i-- {
		if estimated[i] && waiting[learned[i].Trial] && used[[2]float64(learned[i].X)] > 0 {
			learned, estimated = slices.Delete(learned, i, i+1), slices.Delete(estimated, i, i+1)
		}
	}
	maps.DeleteFunc(used, func(_ [2]float64, n int) bool { return n == 0 })
	if !slices.Contains(estimated, true) {
		estimated = nil
	}
	gotLearned, gotEstimated := h.Learned()
	assert.Equal(t, learned, gotLearned)
	assert.Equal(t, estimated, gotEstimated)
	assert.Len(t, h.Trials, len(trials))
	assert.Equal(t, started, h.Started())
	assert.Equal(t, open, h.Pending())
	assert.Equal(t, failures, h.Failures)
	assert.Equal(t, failedBefore, h.FailedBefore())
	assert.Equal(t, seen, h.Seen)
	assert.True(t, slices.EqualFunc(queue(h.Events), h.Queue, slices.Equal), "the queue")
	unproposable := maps.Clone(h.Used)
	maps.DeleteFunc(unproposable, func(_ string, n int) bool { return n == 0 })
	assert.Len(t, unproposable, len(used))
	for _, x := range [][]float64{{0, 0}, {0.5, 1}, {2, 1}, {1, 3}, {1, 2}, {1.5, 1}} {
		key := points.Key(x)
		assert.Equal(t, used[[2]float64(x)] == 0, h.Proposable(key))
	}
	assert.Equal(t, h.space.EncodeAll(observed), h.Encoded(h.Observations))
	assert.Equal(t, h.space.EncodeAll(pending), h.EncodedPending())
	x, z := h.EncodedLabels()
	assert.Equal(t, h.space.EncodeAll(labelled), x)
	assert.Equal(t, labels, z)
	assert.Equal(t, len(labels), h.Ended())
	if len(values) == 0 {
		assert.Equal(t, -1, h.Best(false))
		proposed := 0
		for _, o := range ours {
			proposed += o
		}
		assert.Equal(t, proposed, h.Stalled(false))
		return
	}
	assert.Equal(t, bestOf(h, values, 1), h.Best(false))
	assert.Equal(t, bestOf(h, values, -1), h.Best(true))
	assert.Equal(t, stalled(h, values, ends, ours, 1), h.Stalled(false))
	assert.Equal(t, stalled(h, values, ends, ours, -1), h.Stalled(true))
}

// bestOf returns the index of the largest product of a value and sign whose size, if there
// is one, is at most 10; -1 if there is none.
func bestOf(h *Log, values []float64, sign float64) int {
	best := -1
	for i, v := range values {
		if h.Observations[i].Outputs["size"] <= 10 && (best < 0 || sign*v > sign*values[best]) {
			best = i
		}
	}
	return best
}

// stalled returns the number of proposals, those of which ours is 1, among the labels after
// that of the best value, among all if there is none; if none holds the limit, the best of all.
func stalled(h *Log, values, labels []float64, ours []int, sign float64) int {
	best, n := bestOf(h, values, sign), 0
	for i, v := range values {
		if best < 0 || bestOf(h, values, sign) < 0 && sign*v > sign*values[best] {
			best = i
		}
	}
	for i, o := range ours {
		if best < 0 {
			n += o
		} else if labels[i] == hierarchy.Succeeded {
			best--
		}
	}
	return n
}

// Of observations none of which holds the limits the nearest is the one that is the least
// beyond them, each output in its own unit.
func TestNearest(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	zero, ten := 0.0, 10.0
	h := NewLog(s, Output{Name: "a", AtMost: &ten, Optional: true}, Output{Name: "b", AtLeast: &zero, AtMost: &ten}, Output{Name: "c", Optional: true})
	assert.Equal(t, -1, h.Nearest(false))
	for i, o := range []map[string]float64{
		{"b": 5, "c": 1},                      // a is not known
		{"a": 12, "b": -1e6},                  // beyond by 2/sd(a) + 1e6/sd(b)
		{"a": 12, "b": 10, "c": -1},           // beyond by 2/sd(a)
		{"a": 12, "b": 0},                     // the same with a better value
		{"a": 15, "b": math.Nextafter(10, 0)}, // beyond by 5/sd(a)
		{"a": 12, "b": 0},                     // the same again
	} {
		require.NoError(t, h.CheckValues(o, false))
		h.Apply(Event{Kind: EventObserved, X: []float64{float64(i) / 8}, Y: min(float64(i), 3), Outputs: o})
		assert.False(t, h.Feasible(i))
	}
	assert.Equal(t, -1, h.Best(false))
	assert.Equal(t, 3, h.Nearest(false))
	assert.Equal(t, 2, h.Nearest(true))
	first := NewLog(s, Output{Name: "a", AtMost: &ten})
	for i, a := range []float64{11, 12, 11, 13} {
		first.Apply(Event{Kind: EventObserved, X: []float64{float64(i) / 8}, Y: 1, Outputs: map[string]float64{"a": a}})
		assert.Equal(t, 0, first.Nearest(false), "after %d", i)
	}
	h.Apply(Event{Kind: EventObserved, X: []float64{1}, Y: -9, Outputs: map[string]float64{"a": 10, "b": 10}})
	assert.Equal(t, 6, h.Best(false), "limits themselves hold")
}

// The nearest is so by the distances beyond each limit over the deviation of the output's values, which
// those that lack the output have no part in.
func TestNearestOfRandom(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	zero, one := 0.0, 1.0
	for range 200 {
		h := NewLog(s, Output{Name: "a", AtMost: &zero, Optional: true}, Output{Name: "b", AtLeast: &one}, Output{Name: "c", Optional: true})
		n := 1 + r.IntN(6)
		var a, b []float64
		for i := range n {
			o := map[string]float64{"b": 1000 * r.NormFloat64()}
			b = append(b, o["b"])
			if r.IntN(4) > 0 {
				o["a"] = 0.01 * math.Round(3*r.NormFloat64())
				a = append(a, o["a"])
			}
			h.Apply(Event{Kind: EventObserved, X: []float64{float64(i) / 8}, Y: float64(r.IntN(3)), Outputs: o})
		}
		sd := func(v []float64) float64 {
			var mean, square float64
			for _, x := range v {
				mean += x / float64(len(v))
			}
			for _, x := range v {
				square += (x - mean) * (x - mean) / float64(len(v))
			}
			if square < 1e-20 {
				return 1
			}
			return math.Sqrt(square)
		}
		want, least := -1, math.Inf(1)
		for i, ob := range h.Observations {
			v, ok := ob.Outputs["a"]
			if !ok {
				continue
			}
			if d := max(v, 0)/sd(a) + max(1-ob.Outputs["b"], 0)/sd(b); want < 0 || d < least-1e-9 || d < least+1e-9 && ob.Y > h.Observations[want].Y {
				want, least = i, d
			}
		}
		require.Equal(t, want, h.Nearest(false))
	}
}

// Outputs that are unknown, missing or no numbers are errors that name them.
func TestCheckValues(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	one := 1.0
	h := NewLog(s, Output{Name: "a", AtMost: &one}, Output{Name: "b", Optional: true})
	for want, values := range map[string]map[string]float64{
		`output "a" is missing`:                      {"b": 1},
		`output "c" is none of the run's, ["a" "b"]`: {"a": 1, "c": 1},
		`output "b": value NaN`:                      {"a": 1, "b": math.NaN()},
		`output "a": value +Inf`:                     {"a": math.Inf(1)},
	} {
		assert.ErrorContains(t, h.CheckValues(values, false), want)
	}
	assert.ErrorContains(t, NewLog(s).CheckValues(map[string]float64{"a": 1}, false), `output "a" is none of the run's, []`)
	y := 2.0
	assert.ErrorContains(t, h.Restore(Stored{Kind: "observed", X: []float64{0}, Y: &y}, Checks{}), `output "a" is missing`)
	assert.ErrorContains(t, h.Restore(Stored{Kind: "enqueued", X: []float64{0}, Outputs: map[string]float64{"a": 1}}, Checks{}), `"enqueued" with outputs`)
	// What ends without a value has all outputs that it must have, or none.
	for i, e := range []Stored{{Kind: "failed"}, {Kind: "stopped"}} {
		h := NewLog(s, Output{Name: "a", Cost: true}, Output{Name: "b"})
		h.Apply(Event{Kind: EventAsked, Trial: 1, Index: -1, X: []float64{0.5}})
		h.Apply(Event{Kind: EventReported, Trial: 1, Step: 1, Y: 1})
		e.Trial = 1
		for want, values := range map[string]map[string]float64{`output "a" is missing`: {"b": 1}, `output "c" is none of the run's`: {"a": 1, "c": 1}, `-1 is not positive`: {"a": -1}} {
			e.Outputs = values
			assert.ErrorContains(t, h.Restore(e, Checks{}), want)
		}
		e.Outputs = []map[string]float64{nil, {"a": 1}}[i]
		assert.NoError(t, h.Restore(e, Checks{}))
	}
	assert.Empty(t, h.Events)
	two, half, zero, nan := 2.0, 0.5, 0.0, math.NaN()
	assert.NoError(t, CheckOutputs([]Output{{Name: "a", Cost: true, AtMost: &half}, {Name: "b", AtLeast: &one, AtMost: &two}}))
	for want, outputs := range map[string][]Output{
		`output ""`:                {{}},
		"output \"\\xff\"":         {{Name: "\xff"}},
		`output "a" follows "a"`:   {{Name: "a"}, {Name: "a"}},
		`limit NaN`:                {{Name: "a", AtMost: &nan}},
		`at least 1 and at most 1`: {{Name: "a", AtLeast: &one, AtMost: &one}},
		`at most 0 leaves no room`: {{Name: "a", Cost: true, AtMost: &zero}},
		`"a" and "b" are both the`: {{Name: "a", Cost: true}, {Name: "b", Cost: true}},
		`at least 2 and at most 1`: {{Name: "a", AtLeast: &two, AtMost: &one}},
	} {
		assert.ErrorContains(t, CheckOutputs(outputs), want)
	}
	assert.NoError(t, CheckOutputs([]Output{{Name: "a", AtLeast: &one, AtMost: &two}, {Name: "b"}}))
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

// Values that a run cannot have are refused wherever a stored event has one.
func TestValuesChecked(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	refused := errors.New("not positive")
	positive := Checks{Value: func(y float64) error {
		if y > 0 {
			return nil
		}
		return refused
	}}
	for kind, rest := range map[string]string{
		"told": `,"trial":1`, "observed": `,"x":[0.5]`, "reported": `,"trial":1,"step":2`, "stopped": `,"trial":1,"noise_variance":1`,
	} {
		for y, want := range map[float64]error{1: nil, -1: refused} {
			h := NewLog(s)
			h.Apply(Event{Kind: EventAsked, Trial: 1, Index: -1, X: []float64{0.5}})
			h.Apply(Event{Kind: EventReported, Trial: 1, Step: 1, Y: 1})
			before := h.Clone()
			var e Stored
			require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"event":%q,"y":%g%s}`, kind, y, rest), &e))
			require.ErrorIs(t, h.Restore(e, positive), want, kind)
			require.Equal(t, want == nil, len(h.Events) > len(before.Events), kind)
		}
	}
	h := NewLog(s)
	h.Apply(Event{Kind: EventAsked, Trial: 1, Index: -1, X: []float64{0.5}})
	h.Apply(Event{Kind: EventReported, Trial: 1, Step: 1, Y: 1})
	require.NoError(t, h.Restore(Stored{Kind: "stopped", Trial: 1}, positive), "a stop that says nothing of the end has no value")
}

// A stored event that has a part which none of its kind has, or has not what each of its kind
// has, is refused, with both named, and changes nothing.
func TestForms(t *testing.T) {
	s, err := space.UnitCube(1)
	require.NoError(t, err)
	must := map[string][]string{
		"asked": {"x"}, "told": {"y"}, "failed": {}, "cancelled": {}, "observed": {"x", "y"},
		"fitted": {"count"}, "enqueued": {"x"}, "reported": {"step", "y"}, "stopped": {},
	}
	may := map[string][]string{
		"trial": {"asked", "told", "failed", "cancelled", "reported", "stopped"}, "index": {"asked"}, "state": {"asked"},
		"saw": {"asked", "fitted"}, "y": {"stopped"}, "noise_variance": {"told", "observed", "stopped"},
		"outputs": {"told", "failed", "observed", "stopped"}, "params": {"fitted"}, "paused": {"stopped"},
		"x": {}, "step": {}, "count": {},
	}
	values := map[string]string{
		"trial": "1", "x": "[0.5]", "y": "0", "step": "0", "index": "0", "noise_variance": "1", "outputs": "{}", "state": "[1]",
		"count": "0", "params": "[1]", "saw": "1", "paused": "true",
	}
	restore := func(kind string, parts []string) error {
		b := fmt.Sprintf(`{"event":%q`, kind)
		for _, p := range parts {
			b += fmt.Sprintf(`,%q:%s`, p, values[p])
		}
		var e Stored
		require.NoError(t, json.Unmarshal([]byte(b+"}"), &e))
		h := NewLog(s)
		err := h.Restore(e, Checks{})
		if err != nil {
			require.Equal(t, NewLog(s), h)
		}
		return err
	}
	for kind, own := range must {
		for i, p := range own {
			require.ErrorContains(t, restore(kind, slices.Delete(slices.Clone(own), i, i+1)), fmt.Sprintf("%q without %s", kind, p))
		}
		for p, kinds := range may {
			if slices.Contains(own, p) {
				continue
			}
			err := restore(kind, append(slices.Clone(own), p))
			if want := fmt.Sprintf("%q with %s", kind, p); slices.Contains(kinds, kind) {
				require.NotContains(t, fmt.Sprint(err), want)
			} else {
				require.EqualError(t, err, want)
			}
		}
	}
	for _, kind := range []string{"", "Asked"} {
		require.EqualError(t, restore(kind, nil), fmt.Sprintf("%q is not an event", kind))
	}
}
