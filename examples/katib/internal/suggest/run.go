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
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// A run is an experiment's optimiser and what it knows of Katib's trials.
type run struct {
	*experiment
	opt *cmbo.Optimizer
	// ids has the trials of the optimiser by the names that Katib gave them.
	ids map[string]int
	// unclaimed has the open trials that have no name yet, by the keys of their
	// rows.
	unclaimed map[string][]int
	// evaluations counts the trials of each row.
	evaluations map[string]int
	// reported returns what a trial that has ended reported of the objective; nil if
	// nobody knows.
	reported func(ctx context.Context, t *api.Trial) ([]float64, error)
	logf     func(format string, args ...any)
}

// maxState bounds the size of a state once it is unpacked.
const maxState = 64 << 20

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
	same, err := sameSpace(opt.Space(), r.space.Space)
	if err != nil {
		return err
	}
	if !same {
		return errors.New("it belongs to other parameters")
	}
	r.opt, r.ids = opt, ids
	return nil
}

// newRun takes up the run that the experiment's state describes, or begins one.
func newRun(x *experiment, opts []cmbo.Option, prior *cmbo.Prior, logf func(string, ...any)) (*run, error) {
	r := &run{experiment: x, ids: map[string]int{}, unclaimed: map[string][]int{}, evaluations: map[string]int{},
		logf: logf}
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
func (r *run) learn(ctx context.Context, trials []*api.Trial) error {
	claimed := map[int]bool{}
	for _, id := range r.ids {
		claimed[id] = true
	}
	open := map[int]bool{}
	for _, t := range r.opt.Open() {
		open[t.ID] = true
		if key := r.space.key(t.X); !claimed[t.ID] {
			r.unclaimed[key] = append(r.unclaimed[key], t.ID)
			r.evaluations[key]++
		}
	}
	trials = slices.Clone(trials)
	slices.SortStableFunc(trials, func(a, b *api.Trial) int {
		// The curves of those that came to their end tell the ends of the others.
		return cmp.Or(compareBool(r.stoppedEarly(a), r.stoppedEarly(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
	for _, t := range trials {
		row, err := r.space.row(t.GetSpec().GetParameterAssignments().GetAssignments())
		if err != nil {
			r.logf("trial %q is passed over: %v", t.GetName(), err)
			continue
		}
		key := r.space.key(row)
		id, known := r.ids[t.GetName()]
		if ids := r.unclaimed[key]; !known && len(ids) > 0 {
			id, known, r.unclaimed[key] = ids[0], true, ids[1:]
		} else {
			r.evaluations[key]++
		}
		y, outcome := r.outcome(t)
		if !known {
			if outcome == cancelled {
				continue
			}
			if id, err = r.propose(ctx, row); err != nil {
				return fmt.Errorf("trial %q: %w", t.GetName(), err)
			}
			open[id] = true
		}
		r.ids[t.GetName()] = id
		if !open[id] {
			continue
		}
		if outcome, err = r.curve(ctx, t, id, outcome); err != nil {
			return err
		}
		if err := r.close(ctx, id, y, r.outputs(t), outcome); err != nil {
			return fmt.Errorf("trial %q: %w", t.GetName(), err)
		}
		open[id] = outcome == waiting // a request may list a trial twice
	}
	return nil
}

// curve takes in what a trial that has ended reported, which tells of its end if it was
// stopped.
func (r *run) curve(ctx context.Context, t *api.Trial, id int, o outcome) (outcome, error) {
	if o != told || r.reported == nil {
		return o, nil
	}
	values, err := r.reported(ctx, t)
	if err != nil || len(values) == 0 {
		return o, err
	}
	if r.stoppedEarly(t) {
		o = stopped
	} else {
		values = values[:len(values)-1] // the last one is the end
	}
	if err := r.report(ctx, id, values); err != nil {
		return o, fmt.Errorf("what trial %q reported: %w", t.GetName(), err)
	}
	return o, nil
}

// stoppedEarly reports whether a trial was, and its curve is known.
func (r *run) stoppedEarly(t *api.Trial) bool {
	return r.reported != nil && t.GetStatus().GetCondition() == api.TrialStatus_EARLYSTOPPED
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// propose has the optimiser propose a row.
func (r *run) propose(ctx context.Context, row []float64) (id int, err error) {
	if err := r.opt.Enqueue(row); err != nil {
		return 0, err
	}
	t, err := r.opt.Ask(ctx)
	return t.ID, err
}

// Outcomes of a trial.
type outcome uint8

const (
	waiting outcome = iota
	told
	stopped
	failed
	cancelled
)

// maxValue is the largest size of a value that the library takes.
const maxValue = 1e150

// outcome returns what became of a trial, and its value if it has one.
func (r *run) outcome(t *api.Trial) (float64, outcome) {
	switch t.GetStatus().GetCondition() {
	case api.TrialStatus_SUCCEEDED, api.TrialStatus_EARLYSTOPPED:
		metric := r.metricOf(t)
		for _, m := range t.GetStatus().GetObservation().GetMetrics() {
			if m.GetName() != metric {
				continue
			}
			y, err := number("the metric", m.GetValue())
			if err == nil && -maxValue <= y && y <= maxValue && (!r.positive || y > 0) {
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

// metricOf returns the name of a trial's objective.
func (r *run) metricOf(t *api.Trial) string {
	return cmp.Or(t.GetSpec().GetObjective().GetObjectiveMetricName(), r.metric)
}

// outputs returns the metrics of a trial that have to hold a limit.
func (r *run) outputs(t *api.Trial) cmbo.Outputs {
	out := cmbo.Outputs{}
	for _, m := range t.GetStatus().GetObservation().GetMetrics() {
		if !slices.Contains(r.limited, m.GetName()) {
			continue
		}
		y, err := number("the metric", m.GetValue())
		if err != nil || !(-maxValue <= y && y <= maxValue) {
			r.logf("trial %q is not known to hold the limit of metric %s, which is %q", t.GetName(), m.GetName(), m.GetValue())
			continue
		}
		out[m.GetName()] = y
	}
	return out
}

// close tells an open trial's outcome.
func (r *run) close(ctx context.Context, id int, y float64, outputs cmbo.Outputs, o outcome) error {
	switch o {
	case told:
		return r.opt.Tell(id, y, outputs)
	case stopped:
		err := r.opt.TellStopped(ctx, id)
		if errors.Is(err, cmbo.ErrStep) { // nothing that it reported is a value
			err = r.opt.TellFailed(id)
		}
		return err
	case failed:
		return r.opt.TellFailed(id)
	case cancelled:
		return r.opt.Cancel(id)
	}
	return nil
}

// ask returns exactly n rows, n > 0.
func (r *run) ask(ctx context.Context, n int) ([][]float64, error) {
	trials, err := r.opt.AskN(ctx, n)
	if err != nil && !errors.Is(err, cmbo.ErrNoCandidates) {
		return nil, err
	}
	var rows [][]float64
	for _, t := range trials {
		rows = append(rows, t.X)
		r.evaluations[r.space.key(t.X)]++
	}
	if len(rows) < n {
		return r.repeat(ctx, rows, n)
	}
	return rows, nil
}

// repeat adds rows to n, where a space of few points has no new one: those
// evaluated least, the best of them first.
func (r *run) repeat(ctx context.Context, rows [][]float64, n int) ([][]float64, error) {
	best := map[string]cmbo.Observation{}
	for _, t := range r.opt.Open() {
		best[r.space.key(t.X)] = cmbo.Observation{X: t.X, Y: math.Inf(-1)}
	}
	for _, o := range r.opt.Observations() {
		if r.minimize {
			o.Y = -o.Y
		}
		if key := r.space.key(o.X); best[key].X == nil || o.Y > best[key].Y {
			best[key] = o
		}
	}
	if len(best) == 0 {
		return nil, fmt.Errorf("%w: every point of the space has failed", cmbo.ErrNoCandidates)
	}
	keys := slices.Sorted(maps.Keys(best))
	for len(rows) < n {
		next := slices.MinFunc(keys, func(a, b string) int {
			return cmp.Or(cmp.Compare(r.evaluations[a], r.evaluations[b]), cmp.Compare(best[b].Y, best[a].Y))
		})
		if _, err := r.propose(ctx, best[next].X); err != nil {
			return nil, err
		}
		rows = append(rows, best[next].X)
		r.evaluations[next]++
	}
	return rows, nil
}
