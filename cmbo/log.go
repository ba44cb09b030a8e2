package cmbo

import (
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// eventKind names what happened to an optimiser.
type eventKind uint8

const (
	eventAsked eventKind = iota + 1
	eventTold
	eventFailed
	eventCancelled
	eventObserved
	eventFitted
	eventEnqueued
)

// event is one entry of an optimiser's log. The log is the optimiser's whole
// state: everything else follows from it, the prior and the options.
type event struct {
	kind  eventKind
	trial int       // asked, told, failed, cancelled
	index int       // asked: candidate, or -1
	x     []float64 // asked, observed, enqueued: the point
	y     float64   // told, observed: the user's value
	noise float64   // told, observed: its noise variance, 0 if not given

	// state is what the model wants back of the proposal (asked).
	state []float64
	// params are fitted parameters (fitted) and count the number of
	// observations they were fitted to.
	params []float64
	count  int
	// saw is how many events of the log were known to the AskN that added this
	// one (asked, fitted), its own not counted; 0 if all before it were.
	saw int
}

// status is the state of a trial.
type status uint8

const (
	open status = iota
	told
	failed
	cancelled
)

// String says what happened to the trial.
func (s status) String() string {
	return [...]string{"open", "told", "failed", "cancelled"}[s]
}

// label says whether the evaluation of a point succeeded.
type label struct {
	x  []float64
	ok bool
}

// trialState is what the log says of one trial.
type trialState struct {
	status status
	index  int
	x      []float64
	state  []float64
}

// history is the log and what follows from it.
type history struct {
	space    *Space
	events   []event
	trials   []trialState // trial ID - 1
	obs      []Observation
	labels   []label        // of the points evaluated, in the order of the answers
	failures int            // among them
	seen     [][]float64    // every point asked or observed
	used     map[string]int // rows that are not to be proposed: how many reasons
	queue    [][]float64    // points that are proposed next
	// fitted holds parameters by the number of observations they belong to.
	fitted map[int][]float64
}

func newHistory(s *Space) *history {
	return &history{space: s, used: make(map[string]int), fitted: make(map[int][]float64)}
}

// apply appends an event that has been validated.
func (h *history) apply(e event) {
	switch e.kind {
	case eventAsked:
		h.trials = append(h.trials, trialState{index: e.index, x: e.x, state: e.state})
		h.seen = append(h.seen, e.x)
		h.used[points.Key(e.x)]++
		if len(h.queue) > 0 { // as long as there is a queue, nothing else is proposed
			h.queue = h.queue[1:]
		}
	case eventTold:
		t := &h.trials[e.trial-1]
		t.status = told
		h.obs = append(h.obs, Observation{X: t.x, Y: e.y, NoiseVariance: e.noise, Trial: e.trial, space: h.space})
		h.labels = append(h.labels, label{t.x, true})
	case eventFailed:
		t := &h.trials[e.trial-1]
		t.status = failed
		h.labels = append(h.labels, label{t.x, false})
		h.failures++
	case eventCancelled:
		t := &h.trials[e.trial-1]
		t.status = cancelled
		if key := points.Key(t.x); h.used[key] > 1 {
			h.used[key]--
		} else {
			delete(h.used, key)
		}
	case eventObserved:
		h.obs = append(h.obs, Observation{X: e.x, Y: e.y, NoiseVariance: e.noise, space: h.space})
		h.labels = append(h.labels, label{e.x, true})
		h.seen = append(h.seen, e.x)
		h.used[points.Key(e.x)]++
	case eventFitted:
		h.fitted[e.count] = e.params
	case eventEnqueued:
		h.queue = append(h.queue, e.x)
	}
	h.events = append(h.events, e)
}

// pending lists the IDs of trials that are open: points a model counts as visited
// without a value.
func (h *history) pending() []int {
	var ids []int
	for i, t := range h.trials {
		if t.status == open {
			ids = append(ids, i+1)
		}
	}
	return ids
}

// numOpen counts the trials that are waited for.
func (h *history) numOpen() int {
	n := 0
	for _, t := range h.trials {
		if t.status == open {
			n++
		}
	}
	return n
}

// started counts the points that have been settled: observed by the caller or
// asked and not cancelled.
func (h *history) started() int {
	n := 0
	for _, o := range h.obs {
		if o.Trial == 0 {
			n++
		}
	}
	for _, t := range h.trials {
		if t.status != cancelled {
			n++
		}
	}
	return n
}

// isUsed reports whether a row was asked or observed and not cancelled.
func (h *history) isUsed(row []float64) bool { return h.used[points.Key(row)] > 0 }

// oriented returns the values with larger being better.
func (h *history) oriented(minimize bool) []float64 {
	y := make([]float64, len(h.obs))
	for i, o := range h.obs {
		y[i] = orient(o.Y, minimize)
	}
	return y
}

// best returns the index of the best observation, the first of equals, or -1.
func (h *history) best(minimize bool) int {
	best := -1
	top := math.Inf(-1)
	for i, o := range h.obs {
		if y := orient(o.Y, minimize); y > top {
			best, top = i, y
		}
	}
	return best
}

// encodedObservations returns the observed points in the unit cube.
func (h *history) encodedObservations() *linalg.Dense {
	rows := make([][]float64, len(h.obs))
	for i, o := range h.obs {
		rows[i] = o.X
	}
	return h.space.EncodeAll(rows)
}

// encodedLabels returns the points evaluated in the unit cube, and their labels.
func (h *history) encodedLabels() (x *linalg.Dense, z []float64) {
	rows := make([][]float64, len(h.labels))
	for i, l := range h.labels {
		rows[i] = l.x
		z = append(z, hierarchy.Failed)
		if l.ok {
			z[i] = hierarchy.Succeeded
		}
	}
	return h.space.EncodeAll(rows), z
}

// encodedPending returns the points of the open trials in the unit cube.
func (h *history) encodedPending() *linalg.Dense {
	var rows [][]float64
	for _, id := range h.pending() {
		rows = append(rows, h.trials[id-1].x)
	}
	return h.space.EncodeAll(rows)
}

// clone returns a copy that shares what is only ever appended to.
func (h *history) clone() *history {
	c := *h
	c.events, c.obs, c.seen, c.queue, c.labels = slices.Clip(h.events), slices.Clip(h.obs), slices.Clip(h.seen), slices.Clip(h.queue), slices.Clip(h.labels)
	c.trials, c.used, c.fitted = slices.Clone(h.trials), maps.Clone(h.used), maps.Clone(h.fitted)
	return &c
}

// before returns the history from which event i was computed.
func (h *history) before(i int) *history {
	e := h.events[i]
	if e.saw == 0 {
		return replay(h.space, h.events[:i])
	}
	past := slices.Clone(h.events[:e.saw])
	for _, f := range h.events[e.saw:i] {
		if f.saw == e.saw {
			past = append(past, f)
		}
	}
	return replay(h.space, past)
}

// replay makes a history of a log.
func replay(s *Space, events []event) *history {
	h := newHistory(s)
	for _, e := range events {
		h.apply(e)
	}
	return h
}

// clone returns an independent copy of an observation.
func (o Observation) clone() Observation {
	o.X = slices.Clone(o.X)
	return o
}
