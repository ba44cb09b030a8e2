// Package runlog keeps the log of a run, from which its whole state follows, and writes and reads it: events as JSON, the
// envelope of a snapshot, the chained lines of a journal. Errors wrap those of package codec where stored data is damaged.
package runlog

import (
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/linalg"
)

// EventKind names what happened to an optimiser.
type EventKind uint8

// The kinds of events.
const (
	EventAsked EventKind = iota + 1
	EventTold
	EventFailed
	EventCancelled
	EventObserved
	EventFitted
	EventEnqueued
	EventReported
	EventStopped
)

// An Event is one entry of an optimiser's log. The log is the optimiser's whole
// state: everything else follows from it, the prior and the options.
type Event struct {
	Kind  EventKind
	Trial int       // asked, told, failed, cancelled, reported, stopped
	Step  int       // reported: the step of the value
	Index int       // asked: candidate, or -1
	X     []float64 // asked, observed, enqueued: the point
	Y     float64   // told, observed, reported: the user's value; stopped: the end expected
	Noise float64   // the variance of Y: told, observed: of its noise; stopped: of its error; 0 if not known

	// Outputs are the values told or observed beside Y, or with a failure or a stop, by name, nil
	// for none. They must not be changed.
	Outputs map[string]float64

	// Paused says that the evaluation can go on where it stopped (stopped).
	Paused bool

	// State is what the model wants back of the proposal (asked).
	State []float64
	// Params are fitted parameters (fitted) and Count the number of observations they were fitted to.
	Params []float64
	Count  int
	// Saw is how many events of the log were known to the AskN that added this
	// one (asked, fitted), its own not counted; 0 if all before it were.
	Saw int
}

// Status is the state of a trial.
type Status uint8

// The states of a trial.
const (
	Open Status = iota
	Told
	Failed
	Cancelled
	Stopped
)

// String says what happened to the trial.
func (s Status) String() string {
	return [...]string{"open", "told", "failed", "cancelled", "stopped"}[s]
}

// Observation is a value that was told or observed, and its point.
type Observation struct {
	X             []float64
	Y             float64 // the user's value
	NoiseVariance float64 // 0 if not given
	Trial         int     // 0 if the point was not proposed
	Outputs       map[string]float64
}

// An Estimate is what a trial that was stopped showed of its end.
type Estimate struct {
	Observation
	After  int // observations made before
	paused bool
}

// Trial is what the log says of one trial.
type Trial struct {
	Status Status
	Index  int
	X      []float64
	State  []float64

	Outputs map[string]float64 // that it brought, failed, stopped or neither
	Curve   space.Curve        // of values reported before the end
	Resumes int                // the trial whose evaluation it goes on with, 0 for none
}

// A Log is the list of events of a run and what follows from it.
type Log struct {
	space        *space.Space
	outputs      []Output
	Events       []Event
	Trials       []Trial // trial ID - 1
	Observations []Observation
	Estimates    []Estimate     // of trials that were stopped
	answers      []Event        // told, failed, observed, stopped for good, each with its point
	Failures     int            // among the answers
	Seen         [][]float64    // every point asked or observed
	Used         map[string]int // by row: how many reasons there are not to propose it
	paused       map[string]int // by row: the trial whose evaluation can go on
	Queue        [][]float64    // points that are proposed next
	// Fitted holds parameters by how many of the first rows of Learned they were fitted to, as long as these are the first.
	Fitted  map[int][]float64
	changed int // events up to the last by which an estimate came to count, or to count no more
}

// NewLog returns an empty log of a run over s whose evaluations have further outputs, in the order of their names.
func NewLog(s *space.Space, outputs ...Output) *Log {
	return &Log{space: s, outputs: outputs, Used: make(map[string]int), paused: make(map[string]int), Fitted: make(map[int][]float64)}
}

// Apply appends an event that has been validated.
func (h *Log) Apply(e Event) {
	h.Events = append(h.Events, e)
	var t *Trial
	if e.Trial > 0 && e.Kind != EventAsked {
		t = &h.Trials[e.Trial-1]
		e.X = t.X
	}
	switch e.Kind {
	case EventAsked:
		h.Trials = append(h.Trials, Trial{Index: e.Index, X: e.X, State: e.State, Resumes: h.paused[points.Key(e.X)]})
		h.Seen = append(h.Seen, e.X)
		h.use(e.X, 1)
		if len(h.Queue) > 0 { // as long as there is a queue, nothing else is proposed
			h.Queue = h.Queue[1:]
		}
	case EventTold:
		t.Status, t.Outputs = Told, e.Outputs
		e.Outputs = h.Whole(e.Trial, e.Outputs)
		delete(h.paused, points.Key(e.X))
		h.Observations = append(h.Observations, Observation{e.X, e.Y, e.Noise, e.Trial, e.Outputs})
		h.answers = append(h.answers, e)
	case EventFailed:
		t.Status, t.Outputs = Failed, e.Outputs
		e.Outputs = h.Whole(e.Trial, e.Outputs)
		delete(h.paused, points.Key(e.X))
		h.answers = append(h.answers, e)
		h.Failures++
	case EventCancelled:
		t.Status = Cancelled
		h.use(e.X, -1)
	case EventObserved:
		h.Observations = append(h.Observations, Observation{e.X, e.Y, e.Noise, 0, e.Outputs})
		h.answers = append(h.answers, e)
		h.Seen = append(h.Seen, e.X)
		h.use(e.X, 1)
	case EventFitted:
		if e.Saw == 0 || e.Saw >= h.changed { // else it may be fitted to rows that were others meanwhile
			h.Fitted[e.Count] = e.Params
		}
	case EventEnqueued:
		h.Queue = append(h.Queue, e.X)
	case EventReported:
		t.Curve.Steps, t.Curve.Values = append(t.Curve.Steps, e.Step), append(t.Curve.Values, e.Y)
	case EventStopped:
		t.Status, t.Outputs = Stopped, e.Outputs
		if !e.Paused {
			h.answers = append(h.answers, e)
		} else {
			h.paused[points.Key(e.X)] = e.Trial
			h.Estimates = slices.DeleteFunc(slices.Clone(h.Estimates), func(o Estimate) bool { return o.paused && slices.Equal(o.X, e.X) })
			h.use(e.X, -1)
		}
		if e.Noise > 0 {
			h.Estimates = append(h.Estimates, Estimate{Observation{e.X, e.Y, e.Noise, e.Trial, nil}, len(h.Observations), e.Paused})
		}
	}
}

// use counts one more reason not to propose a point, or one less. With the first, or without any, an estimate of the point
// begins or ceases to count, and what was fitted to it, or to rows after it, is forgotten: as many rows may be others then.
func (h *Log) use(x []float64, more int) {
	key := points.Key(x)
	was := h.Proposable(key)
	h.Used[key] += more
	i := slices.IndexFunc(h.Estimates, func(o Estimate) bool { return o.paused && slices.Equal(o.X, x) })
	if i < 0 || h.Proposable(key) == was {
		return
	}
	same := h.Estimates[i].After + each.Count(h.Estimates[:i], func(o Estimate) bool {
		return !o.paused || h.Proposable(points.Key(o.X))
	})
	maps.DeleteFunc(h.Fitted, func(count int, _ []float64) bool { return count > same })
	h.changed = len(h.Events)
}

// Shown returns what an evaluation has shown, before it was stopped and went on too.
func (h *Log) Shown(trial int) space.Curve {
	c, _ := h.Parts(trial)
	return c
}

// Parts returns that, and which of the trials that were stopped it goes on with: not one after whose beginning it began anew.
func (h *Log) Parts(trial int) (c space.Curve, stopped []int) {
	c = h.Trials[trial-1].Curve
	for k := h.Trials[trial-1].Resumes; k > 0; k = h.Trials[k-1].Resumes {
		p := h.Trials[k-1].Curve
		n := len(p.Steps)
		if len(c.Steps) > 0 {
			n, _ = slices.BinarySearch(p.Steps, c.Steps[0])
		}
		if n > 0 {
			stopped = append(stopped, k)
			c = space.Curve{Steps: slices.Concat(p.Steps[:n], c.Steps), Values: slices.Concat(p.Values[:n], c.Values)}
		}
	}
	return c, stopped
}

// Whole returns the outputs of an evaluation, of which a trial brought those given: its cost is the sum over all trials
// that it went through, and missing where one of them did not tell it.
func (h *Log) Whole(trial int, brought map[string]float64) map[string]float64 {
	cost := h.CostOutput()
	_, stopped := h.Parts(trial)
	if cost == nil || len(stopped) == 0 {
		return brought
	}
	sum, known := brought[cost.Name]
	for _, k := range stopped {
		c, told := h.Trials[k-1].Outputs[cost.Name]
		sum, known = min(sum+c, points.MaxValue), known && told
	}
	out := maps.Clone(brought)
	delete(out, cost.Name)
	if known {
		out[cost.Name] = sum
	}
	return out
}

// Pending lists the IDs of trials that are open: points a model counts as visited without a value.
func (h *Log) Pending() []int {
	var ids []int
	for i, t := range h.Trials {
		if t.Status == Open {
			ids = append(ids, i+1)
		}
	}
	return ids
}

// Started counts the points that have been settled: observed by the caller or asked and not cancelled.
func (h *Log) Started() int {
	return each.Count(h.Observations, func(o Observation) bool { return o.Trial == 0 }) +
		each.Count(h.Trials, func(t Trial) bool { return t.Status != Cancelled })
}

// Proposable reports whether the point of a key may be proposed: it was not asked or observed, or cancelled since.
func (h *Log) Proposable(key string) bool { return h.Used[key] == 0 }

// Learned returns what models learn from: the observations and, in the order of the log
// among them, the estimates, which estimated tells apart; it is nil where there are none. The
// estimate of an evaluation that goes on does not count: what it shows then says more.
func (h *Log) Learned() (rows []Observation, estimated []bool) {
	rows = h.Observations
	for _, e := range slices.Backward(h.Estimates) { // so that After counts observations alone
		if e.paused && !h.Proposable(points.Key(e.X)) {
			continue
		}
		if estimated == nil {
			rows, estimated = slices.Clone(rows), make([]bool, len(rows))
		}
		rows, estimated = slices.Insert(rows, e.After, e.Observation), slices.Insert(estimated, e.After, true)
	}
	return rows, estimated
}

// CheckReport reports a step that cannot follow those of an open trial, or a value that is no number.
func (h *Log) CheckReport(trial, step int, y float64) error {
	steps := h.Trials[trial-1].Curve.Steps
	switch n := len(steps); {
	case step < 0:
		return space.Errorf(space.ErrStep, "step %d is negative", step)
	case n > 0 && step == steps[n-1]:
		return space.Errorf(space.ErrStep, "step %d was reported before", step)
	case n > 0 && step < steps[n-1]:
		return space.Errorf(space.ErrStep, "step %d comes after step %d", step, steps[n-1])
	}
	return space.CheckValue(y)
}

// Best returns the index of the best observation that holds all limits, the first of equals, or -1.
func (h *Log) Best(minimize bool) int { return h.best(minimize, h.Feasible) }

// best returns the index of the best observation that counts, the first of equals, or -1.
func (h *Log) best(minimize bool, counts func(i int) bool) int {
	best := -1
	top := math.Inf(-1)
	for i, o := range h.Observations {
		if y := scaling.Orient(o.Y, minimize); y > top && counts(i) {
			best, top = i, y
		}
	}
	return best
}

// Stalled returns the number of proposals whose evaluations, failed ones too, ended since the one of the best value, of
// all values if none holds all limits: those that proposals improve on. Points that were observed say nothing of how
// good proposals are, and do not count, nor do those whose evaluation can go on.
func (h *Log) Stalled(minimize bool) int {
	best := h.Best(minimize)
	if best < 0 {
		best = h.best(minimize, func(int) bool { return true })
	}
	stalled, value := 0, -1
	for _, e := range h.answers {
		brought := e.Kind == EventTold || e.Kind == EventObserved
		if brought {
			value++
		}
		switch {
		case brought && value == best:
			stalled = 0
		case e.Trial > 0:
			stalled++
		}
	}
	return stalled
}

// Encoded returns the points of observations in the unit cube.
func (h *Log) Encoded(observations []Observation) *linalg.Dense {
	return h.space.EncodeAll(each.Of(observations, func(o Observation) []float64 { return o.X }))
}

// EncodedLabels returns the points of the evaluations that Ended counts in the unit cube, and their labels.
func (h *Log) EncodedLabels() (x *linalg.Dense, z []float64) {
	rows := make([][]float64, len(h.answers))
	for i, e := range h.answers {
		rows[i] = e.X
		z = append(z, hierarchy.Succeeded)
		if e.Kind == EventFailed {
			z[i] = hierarchy.Failed
		}
	}
	return h.space.EncodeAll(rows), z
}

// Ended returns the number of evaluations that succeeded or failed, observed ones and those stopped for good too.
func (h *Log) Ended() int { return len(h.answers) }

// FailedBefore returns how many evaluations failed between each observation and the one before it.
func (h *Log) FailedBefore() []int {
	failed := make([]int, 0, len(h.Observations))
	n := 0
	for _, e := range h.answers {
		switch e.Kind {
		case EventFailed:
			n++
		case EventTold, EventObserved:
			failed, n = append(failed, n), 0
		}
	}
	return failed
}

// EncodedPending returns the points of the open trials in the unit cube.
func (h *Log) EncodedPending() *linalg.Dense {
	return h.space.EncodeAll(each.Of(h.Pending(), func(id int) []float64 { return h.Trials[id-1].X }))
}

// Clone returns a copy that shares what is only ever appended to. Of the two one alone may be told reports.
func (h *Log) Clone() *Log {
	c := *h
	c.Estimates = slices.Clip(h.Estimates)
	c.Events, c.Observations, c.Seen, c.Queue, c.answers = slices.Clip(h.Events), slices.Clip(h.Observations),
		slices.Clip(h.Seen), slices.Clip(h.Queue), slices.Clip(h.answers)
	c.Trials, c.Used, c.paused, c.Fitted = slices.Clone(h.Trials), maps.Clone(h.Used), maps.Clone(h.paused), maps.Clone(h.Fitted)
	return &c
}

// Before returns the log from which event i was computed.
func (h *Log) Before(i int) *Log {
	saw := h.Events[i].Saw
	past := NewLog(h.space, h.outputs...)
	for k, e := range h.Events[:i] {
		if saw == 0 || k < saw || e.Saw == saw {
			past.Apply(e)
		}
	}
	return past
}
