package study

import (
	"fmt"
	"sync"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

// A Trial is a point proposed and what became of it. Its slices are shared and
// must not be changed.
type Trial struct {
	ID        int
	Status    string // as in package api
	Index     int    // of the candidate, -1 in a parameter space
	X         []float64
	Y         float64 // if it was told
	Noise     float64 // variance, 0 if it was not given
	Weights   []float64
	Distances []*float64 // nil entries for infinity
}

// An Observation is a value and where it was measured. Its slice is shared.
type Observation struct {
	X     []float64
	Y     float64
	Trial int // 0 if it was not proposed
}

// A Reply is what a request that changed a study is answered with.
type Reply struct {
	// Trials are those asked for, or the one answered.
	Trials []int
	// Observations is the number of observations after the request.
	Observations int

	request string // fingerprint
}

// view is a study as its log tells it.
type view struct {
	mu           sync.RWMutex
	trials       []Trial
	observations []Observation
	best         int // index of the best observation, -1 before the first
	counts       api.Counts
	replies      map[string]Reply // by key
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

// apply adds a record's events, all or none of them.
func (v *view) apply(r *record, minimize bool) (Reply, error) {
	events := make([]event, len(r.Journal))
	for i, line := range r.Journal {
		e, err := decodeEvent(line)
		if err != nil {
			return Reply{}, fmt.Errorf("%w: %w", disk.ErrDamaged, err)
		}
		events[i] = e
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	reply := Reply{request: r.Request}
	for _, e := range events {
		switch e.Kind {
		case "asked":
			t := Trial{ID: e.Trial, Status: api.Open, Index: -1, X: e.X, Weights: r.Weights, Distances: e.Distances}
			if e.Index != nil {
				t.Index = *e.Index
			}
			v.trials = append(v.trials, t)
			v.counts.Open++
		case "told", "failed", "cancelled":
			v.end(e, minimize)
		case "observed":
			v.observe(Observation{X: e.X, Y: *e.Y}, minimize)
		}
		if e.Trial > 0 {
			reply.Trials = append(reply.Trials, e.Trial)
		}
	}
	reply.Observations = len(v.observations)
	if r.Key != "" {
		v.replies[r.Key] = reply
	}
	return reply, nil
}

// end closes an open trial. The optimiser has accepted the event before.
func (v *view) end(e event, minimize bool) {
	t := &v.trials[e.Trial-1]
	v.counts.Open--
	switch e.Kind {
	case "told":
		t.Status, t.Y, t.Noise = api.Told, *e.Y, e.Noise
		v.counts.Told++
		v.observe(Observation{X: t.X, Y: t.Y, Trial: t.ID}, minimize)
	case "failed":
		t.Status = api.Failed
		v.counts.Failed++
	case "cancelled":
		t.Status = api.Cancelled
		v.counts.Cancelled++
	}
}

func (v *view) observe(o Observation, minimize bool) {
	better := v.better(o.Y, minimize)
	v.observations = append(v.observations, o)
	if better {
		v.best = len(v.observations) - 1
	}
}

// Summary is a study in numbers.
type Summary struct {
	Counts       api.Counts
	Observations int
	Best         *Observation // nil before the first
}

// Summary returns the study in numbers.
func (s *Study) Summary() Summary {
	v := &s.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	m := Summary{Counts: v.counts, Observations: len(v.observations)}
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

// Observations returns what was told and observed, in that order.
func (s *Study) Observations() []Observation {
	v := &s.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	return append([]Observation(nil), v.observations...)
}
