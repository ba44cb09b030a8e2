package suggest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// A run is an experiment's optimiser and what it knows of Katib's trials.
type run struct {
	*experiment
	opt *cmbo.Optimizer
	// ids has the trials of the optimiser by the names that Katib gave them; 0
	// for a trial that was observed because the optimiser had not proposed it.
	ids map[string]int
	// unclaimed has the open trials that have no name yet, by the keys of their
	// rows.
	unclaimed map[string]int
	// strange has trials without a value that the optimiser did not propose, by
	// the keys of their rows.
	strange map[string][]*api.Trial
	// evaluations counts the trials of each row.
	evaluations map[string]int
	logf        func(format string, args ...any)
}

// maxState bounds the size of a state once it is unpacked.
const maxState = 256 << 20

// encode returns the state of the run: the names and, on a line of its own, the
// optimiser's snapshot, packed.
func (r *run) encode() (string, error) {
	var b bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &b)
	packed := gzip.NewWriter(text)
	err := json.NewEncoder(packed).Encode(r.ids)
	if err == nil {
		err = r.opt.Snapshot(packed)
	}
	err = errors.Join(err, packed.Close(), text.Close())
	return b.String(), err
}

// decode takes up the run of a state.
func (r *run) decode(state string, prior *cmbo.Prior) error {
	packed, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(state)))
	if err != nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(packed, maxState))
	if err != nil {
		return err
	}
	names, snapshot, _ := bytes.Cut(b, []byte("\n"))
	var ids map[string]int
	if err := json.Unmarshal(names, &ids); err != nil {
		return err
	}
	var opts []cmbo.Option
	if prior != nil {
		opts = append(opts, cmbo.WithPrior(prior))
	}
	opt, err := cmbo.Restore(bytes.NewReader(snapshot), opts...)
	if err != nil {
		return err
	}
	was, err := json.Marshal(opt.Space())
	if err != nil {
		return err
	}
	is, err := json.Marshal(r.space)
	if err != nil {
		return err
	}
	if !bytes.Equal(was, is) {
		return errors.New("it belongs to other parameters")
	}
	r.opt, r.ids = opt, ids
	return nil
}

// newRun takes up the run that the experiment's state describes, or begins one.
func newRun(x *experiment, opts []cmbo.Option, prior *cmbo.Prior, logf func(string, ...any)) (*run, error) {
	r := &run{
		experiment: x, ids: map[string]int{}, unclaimed: map[string]int{},
		strange: map[string][]*api.Trial{}, evaluations: map[string]int{}, logf: logf,
	}
	if x.state != "" {
		err := r.decode(x.state, prior)
		if err == nil {
			return r, nil
		}
		// A new release or another prior: the trials are learned again.
		logf("the state cannot be taken up, the run begins anew with the trials of the request: %v", err)
	}
	var err error
	r.opt, err = cmbo.New(x.space.Space, opts...)
	return r, err
}

// learn takes the trials of a request in, those that are new.
func (r *run) learn(trials []*api.Trial) error {
	claimed := map[int]bool{}
	for _, id := range r.ids {
		claimed[id] = true
	}
	open := map[int]bool{}
	for _, t := range r.opt.Open() {
		open[t.ID] = true
		if !claimed[t.ID] {
			r.unclaimed[r.space.key(t.X)] = t.ID
		}
	}
	trials = slices.Clone(trials)
	slices.SortStableFunc(trials, func(a, b *api.Trial) int { return cmp.Compare(a.GetName(), b.GetName()) })
	for _, t := range trials {
		row, err := r.space.row(t.GetSpec().GetParameterAssignments().GetAssignments())
		if err != nil {
			r.logf("trial %q is passed over: %v", t.GetName(), err)
			continue
		}
		key := r.space.key(row)
		r.evaluations[key]++
		id, known := r.ids[t.GetName()]
		if !known {
			if id = r.unclaimed[key]; id > 0 {
				delete(r.unclaimed, key)
				r.ids[t.GetName()] = id
			}
		}
		y, outcome := r.outcome(t)
		switch {
		case open[id]:
			err = r.close(id, y, outcome)
		case known || id > 0: // closed already
		case outcome == told:
			r.ids[t.GetName()] = 0
			err = r.opt.Observe(row, y)
		default:
			r.strange[key] = append(r.strange[key], t)
		}
		if err != nil {
			return fmt.Errorf("trial %q: %w", t.GetName(), err)
		}
	}
	return nil
}

// Outcomes of a trial.
type outcome uint8

const (
	waiting outcome = iota
	told
	failed
	cancelled
)

// maxValue is the largest size of a value that the library takes.
const maxValue = 1e150

// outcome returns what became of a trial, and its value if it has one.
func (r *run) outcome(t *api.Trial) (float64, outcome) {
	switch t.GetStatus().GetCondition() {
	case api.TrialStatus_SUCCEEDED, api.TrialStatus_EARLYSTOPPED:
		metric := t.GetSpec().GetObjective().GetObjectiveMetricName()
		if metric == "" {
			metric = r.metric
		}
		for _, m := range t.GetStatus().GetObservation().GetMetrics() {
			if m.GetName() != metric {
				continue
			}
			y, err := number("the metric", m.GetValue())
			if err == nil && -maxValue <= y && y <= maxValue {
				return y, told
			}
			r.logf("trial %q counts as failed: metric %s is %q", t.GetName(), metric, m.GetValue())
		}
		return 0, failed
	case api.TrialStatus_FAILED, api.TrialStatus_METRICSUNAVAILABLE:
		return 0, failed
	case api.TrialStatus_KILLED:
		return 0, cancelled
	}
	return 0, waiting
}

// close tells an open trial's outcome.
func (r *run) close(id int, y float64, o outcome) error {
	switch o {
	case told:
		return r.opt.Tell(id, y)
	case failed:
		return r.opt.TellFailed(id)
	case cancelled:
		return r.opt.Cancel(id)
	}
	return nil
}

// ask returns exactly n rows.
func (r *run) ask(ctx context.Context, n int) ([][]float64, error) {
	var rows [][]float64
	for len(rows) < n {
		trials, err := r.opt.AskN(ctx, n-len(rows))
		if errors.Is(err, cmbo.ErrNoCandidates) {
			return r.repeat(rows, n)
		}
		if err != nil {
			return nil, err
		}
		for _, t := range trials {
			key := r.space.key(t.X)
			if s := r.strange[key]; len(s) > 0 {
				// Katib has tried this row already: what came of it is told.
				r.strange[key] = s[1:]
				r.ids[s[0].GetName()] = t.ID
				if err := r.close(t.ID, 0, second(r.outcome(s[0]))); err != nil {
					return nil, err
				}
				continue
			}
			rows = append(rows, t.X)
			r.evaluations[key]++
		}
	}
	return rows, nil
}

func second(_ float64, o outcome) outcome { return o }

// repeat adds rows to n, where a space of few points has no new one: those
// evaluated least, the best of them first.
func (r *run) repeat(rows [][]float64, n int) ([][]float64, error) {
	seen := map[string]cmbo.Observation{}
	for _, o := range r.opt.Observations() {
		if r.minimize {
			o.Y = -o.Y
		}
		if key := r.space.key(o.X); seen[key].X == nil || o.Y > seen[key].Y {
			seen[key] = o
		}
	}
	if len(seen) == 0 {
		for _, t := range r.opt.Open() {
			seen[r.space.key(t.X)] = cmbo.Observation{X: t.X}
		}
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("%w: every point of the space has failed", cmbo.ErrNoCandidates)
	}
	keys := slices.Sorted(maps.Keys(seen))
	for len(rows) < n {
		best := slices.MinFunc(keys, func(a, b string) int {
			return cmp.Or(cmp.Compare(r.evaluations[a], r.evaluations[b]), cmp.Compare(seen[b].Y, seen[a].Y))
		})
		rows = append(rows, seen[best].X)
		r.evaluations[best]++
	}
	return rows, nil
}
