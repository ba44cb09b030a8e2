package study

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
)

// A Trial is a point proposed and what became of it. Its slices are shared and
// must not be changed.
type Trial struct {
	ID       int
	Status   string // as in package api
	Index    int    // of the candidate, -1 in a parameter space
	X        []float64
	Y        float64 // if it was told
	Noise    float64 // variance, 0 if it was not given
	Weights  []float64
	Deadline Deadline
	Expired  bool // it ended at its deadline
	// Expected is what the model expected of the value when it chose the
	// point. It is nil for points that no model chose, and for trials that were
	// open when the service restarted.
	Expected *Forecast
	Enqueued bool // it was proposed because it was enqueued
	Resumes  int  // the trial whose evaluation it goes on with, 0 for none
	After    int  // how many observations there were when it ended

	Outputs map[string]float64 // that it brought; shared

	Steps  []int     // at which it has reported
	Values []float64 // what
	// Prospect is the answer to the newest report, nil while it is computed and after a
	// restart of the service.
	Prospect *cmbo.Prospect
}

// An Observation is a value and where it was measured. Its slice is shared.
type Observation struct {
	X     []float64
	Y     float64
	Trial int // 0 if it was not proposed

	Outputs map[string]float64 // shared
}

// Holds reports whether the limits of all outputs are known to hold.
func (o *Observation) Holds(outputs []api.Output) bool {
	for _, out := range outputs {
		v, told := o.Outputs[out.Name]
		limited := out.AtMost != nil || out.AtLeast != nil
		if limited && !(told && (out.AtMost == nil || v <= *out.AtMost) && (out.AtLeast == nil || v >= *out.AtLeast)) {
			return false
		}
	}
	return true
}

// A Reply is what a request that changed a study is answered with.
type Reply struct {
	// Trials are those asked for, or the one answered.
	Trials []int
	// Observations is the number of observations after the request.
	Observations int
	// Enqueued is the number of points that are enqueued after the request.
	Enqueued int

	request string // fingerprint
}

// view is a study as its log tells it.
type view struct {
	mu           sync.RWMutex
	trials       []Trial
	observations []Observation
	best         int // index of the best observation that holds all limits, -1 before the first
	counts       api.Counts
	replies      map[string]Reply // by key
	running      map[string]bool  // keys of requests under way
	queue        int              // points that are enqueued
	reports      int              // values reported
	events       int              // that were applied, and priors that took the place of others
	timed        []int            // trials with a deadline that were open when last looked at
	paused       []int            // trials that were stopped and can go on
	history      []api.Event      // one for each
	news         chan struct{}    // closed with the next event
}

// turn notes that the study goes on with another prior: what was asked of the model is asked again.
func (v *view) turn(to *priorOf) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events++
	v.note(api.Event{Kind: api.EventPrior, Prior: cmp.Or(to.PriorName, to.Prior)})
	v.tell()
}

// tell has those who wait for news look.
func (v *view) tell() {
	close(v.news)
	v.news = make(chan struct{})
}

// version goes up with every event, and with another prior.
func (v *view) version() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.events
}

// expect notes what the model expects of a trial.
func (v *view) expect(id int, f Forecast) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.trials[id-1].Expected = &f
}

// foresee notes what was answered to a report.
func (v *view) foresee(p cmbo.Prospect) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.trials[p.Trial-1].Prospect = &p
}

// reported counts the values reported.
func (v *view) reported() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.reports
}

// begin looks up what a request was answered with, or marks its key as that of
// a request under way.
func (v *view) begin(q Request) (r Reply, again bool, err error) {
	if q.Key == "" {
		return Reply{}, false, nil
	}
	if !validKey(q.Key) {
		return Reply{}, false, ErrKey
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if r, ok := v.replies[q.Key]; ok {
		if r.request != q.Fingerprint {
			return Reply{}, false, ErrKeyReused
		}
		return r, true, nil
	}
	// The same request would wait for the lock of this one: it is another.
	if v.running[q.Key] {
		return Reply{}, false, ErrKeyReused
	}
	v.running[q.Key] = true
	return Reply{}, false, nil
}

// end marks a request as no longer under way.
func (v *view) end(q Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.running, q.Key)
}

// size counts trials, and observations that are of none.
func (v *view) size() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.trials) + len(v.observations) - v.counts.Told
}

// due returns the open trials whose deadline is not after now.
func (v *view) due(now int64) []Trial {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timed = slices.DeleteFunc(v.timed, func(id int) bool { return v.trials[id-1].Status != api.Open })
	var due []Trial
	for _, id := range v.timed {
		if t := v.trials[id-1]; t.Deadline.At <= now {
			due = append(due, t)
		}
	}
	return due
}

// better reports whether y is better than the best so far; the first of equals
// stays.
func (v *view) better(y float64, minimize bool) bool {
	if v.best < 0 {
		return true
	}
	top := v.observations[v.best].Y
	if minimize {
		return y < top
	}
	return y > top
}

// apply adds the events of a record and returns the reply to its request.
func (v *view) apply(r *record, events []event, s *Study) Reply {
	v.mu.Lock()
	defer v.mu.Unlock()
	reply := Reply{request: r.Request}
	for _, e := range events {
		switch e.Kind {
		case "asked":
			t := Trial{ID: e.Trial, Status: api.Open, Index: -1, X: e.X, Weights: r.Weights,
				Deadline: Deadline{At: r.Deadline, Fail: r.Fail}}
			if e.Index != nil {
				t.Index = *e.Index
			}
			if t.Enqueued = v.queue > 0; t.Enqueued {
				v.queue--
			}
			if i := v.pausedAt(e.X); i >= 0 {
				t.Resumes = v.paused[i]
			}
			v.trials = append(v.trials, t)
			if t.Deadline.At != 0 {
				v.timed = append(v.timed, t.ID)
			}
			v.counts.Open++
		case "told", "failed", "cancelled", "stopped":
			v.answer(e, r, s)
		case "reported":
			t := &v.trials[e.Trial-1]
			t.Steps, t.Values, t.Prospect = append(t.Steps, *e.Step), append(t.Values, *e.Y), nil
			v.reports++
		case "observed":
			v.observe(Observation{X: e.X, Y: *e.Y, Outputs: e.Outputs}, s)
		}
		if e.Kind == "enqueued" {
			v.queue++
		}
		if e.Trial > 0 {
			reply.Trials = append(reply.Trials, e.Trial)
		}
		h := api.Event{Kind: e.Kind, Trial: e.Trial}
		if e.Kind == api.Told || e.Kind == api.EventObserved || e.Kind == api.EventReported {
			h.Y, h.Step = e.Y, e.Step
		}
		v.note(h)
	}
	v.tell()
	reply.Observations, reply.Enqueued = len(v.observations), v.queue
	v.events += len(events)
	if r.Key != "" {
		v.replies[r.Key] = reply
	}
	return reply
}

// note adds what happened to the history, with the state after it.
func (v *view) note(h api.Event) {
	h.Number, h.Observations, h.Open = len(v.history)+1, len(v.observations), v.counts.Open
	if v.best >= 0 {
		best := v.observations[v.best].Y
		h.Best = &best
	}
	v.history = append(v.history, h)
}

// Events returns what happened after the first so many events, and a channel that is
// closed when something more has. The slice is shared.
func (s *Study) Events(after int) ([]api.Event, <-chan struct{}) {
	v := &s.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.history[min(max(after, 0), len(v.history)):], v.news
}

// answer closes an open trial. The optimiser has accepted the event before.
func (v *view) answer(e event, r *record, s *Study) {
	t := &v.trials[e.Trial-1]
	t.Expired, t.Expected, t.After, t.Outputs = r.Expired, r.Expected, len(v.observations), e.Outputs
	v.counts.Open--
	if i := v.pausedAt(t.X); i >= 0 && e.Kind != "cancelled" { // one taken back leaves the checkpoint
		v.paused = slices.Delete(v.paused, i, i+1)
	}
	switch e.Kind {
	case "told":
		t.Status, t.Y, t.Noise = api.Told, *e.Y, e.Noise
		v.counts.Told++
		v.observe(Observation{X: t.X, Y: t.Y, Trial: t.ID, Outputs: v.whole(t, s.header.Options.Outputs)}, s)
	case "failed":
		t.Status = api.Failed
		v.counts.Failed++
	case "cancelled":
		t.Status = api.Cancelled
		v.counts.Cancelled++
	case "stopped":
		t.Status = api.Stopped
		v.counts.Stopped++
		if e.Paused {
			v.paused = append(v.paused, t.ID)
		}
	}
}

// whole returns what an evaluation that t ended brought, of which the cost is the sum of what its trials were told, as in
// a [cmbo.Observation]: not of those whose steps it began again, and missing where one is not known.
func (v *view) whole(t *Trial, outputs []api.Output) map[string]float64 {
	cost := slices.IndexFunc(outputs, func(o api.Output) bool { return o.Cost })
	if cost < 0 || t.Resumes == 0 {
		return t.Outputs
	}
	name, out := outputs[cost].Name, maps.Clone(t.Outputs)
	first := append(slices.Clone(t.Steps), math.MaxInt)[0]
	for k := t.Resumes; k > 0; k = v.trials[k-1].Resumes {
		p := &v.trials[k-1]
		if p.Steps[0] >= first {
			continue
		}
		first = p.Steps[0]
		part, told := p.Outputs[name]
		if sum, known := out[name]; told && known {
			out[name] = sum + part
		} else {
			delete(out, name)
		}
	}
	return out
}

// pausedAt returns the place among those paused of the trial at a point, -1 for none.
func (v *view) pausedAt(x []float64) int {
	return slices.IndexFunc(v.paused, func(id int) bool { return slices.Equal(v.trials[id-1].X, x) })
}

func (v *view) observe(o Observation, s *Study) {
	better := o.Holds(s.header.Options.Outputs) && v.better(o.Y, s.minimize)
	v.observations = append(v.observations, o)
	if better {
		v.best = len(v.observations) - 1
	}
}

// Summary is a study in numbers.
type Summary struct {
	Counts       api.Counts
	Observations int
	Enqueued     int
	Best         *Observation // nil before the first
	BestIndex    int          // its place among the observations, -1 before the first
}

// Summary returns the study in numbers.
func (s *Study) Summary() Summary {
	s.view.mu.RLock()
	defer s.view.mu.RUnlock()
	return s.view.summary()
}

// summary is the view in numbers. A lock is held.
func (v *view) summary() Summary {
	m := Summary{Counts: v.counts, Observations: len(v.observations), Enqueued: v.queue, BestIndex: v.best}
	if v.best >= 0 {
		best := v.observations[v.best]
		m.Best = &best
	}
	return m
}

// Trials returns up to limit trials of a status, any if it is empty, whose ID is
// above after, and whether there are more.
func (s *Study) Trials(status string, after, limit int) (ts []Trial, more bool) {
	v := &s.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, t := range v.trials[min(max(after, 0), len(v.trials)):] {
		if status != "" && t.Status != status {
			continue
		}
		if len(ts) == limit {
			return ts, true
		}
		ts = append(ts, t)
	}
	return ts, false
}

// Trial returns a trial; ok is false if it was never asked.
func (s *Study) Trial(id int) (t Trial, ok bool) {
	v := &s.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	if id < 1 || id > len(v.trials) {
		return Trial{}, false
	}
	return v.trials[id-1], true
}

// A State is a study at one moment. Its slices are shared and must not be changed.
type State struct {
	Summary
	Values []Observation // told and observed, in that order
	Trials []Trial
	Events []api.Event
}

// State returns the study as it is.
func (s *Study) State() *State {
	v := &s.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	return &State{Summary: v.summary(), Values: v.observations, Trials: slices.Clone(v.trials), Events: v.history}
}

// Newest returns the newest trials, n at most.
func (s *State) Newest(n int) []Trial { return s.Trials[max(0, len(s.Trials)-n):] }
