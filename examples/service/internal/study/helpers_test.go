package study_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

func open(t *testing.T, c study.Config) *study.Manager {
	t.Helper()
	if c.Limits == (study.Limits{}) {
		c.Limits = study.DefaultLimits()
	}
	if c.Report == nil {
		c.Report = func(id string, err error) { t.Errorf("study %s is damaged: %v", id, err) }
	}
	m, err := study.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// create makes a study of a kind, with its prior.
func create(t *testing.T, m *study.Manager, id string, k twin.Kind) (*study.Study, *twin.Twin) {
	t.Helper()
	if k.Prior != nil {
		if _, err := m.AddPrior(t.Context(), "", encode(t, k.Prior)); err != nil {
			t.Fatal(err)
		}
	}
	q := k.Study
	q.ID = id
	s, _, err := m.Create(t.Context(), "made by "+id, &q)
	if err != nil {
		t.Fatal(err)
	}
	w, err := twin.New(k)
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

// do does what op says to a study, and returns the trials it opened.
func do(ctx context.Context, s *study.Study, key string, op twin.Op) (opened []api.Trial, again bool, err error) {
	q := study.Request{Key: key, Fingerprint: fmt.Sprint(op)}
	var r study.Reply
	switch op.Kind {
	case "tell":
		_, again, err = s.Tell(ctx, q, op.Trial, study.Measured{Y: op.Y, Noise: op.Noise})
	case "fail":
		_, again, err = s.Fail(ctx, q, op.Trial, nil)
	case "cancel":
		_, again, err = s.Cancel(ctx, q, op.Trial)
	case "observe":
		_, again, err = s.Observe(ctx, q, op.X, study.Measured{Y: op.Y, Noise: op.Noise})
	default:
		r, again, err = s.Ask(ctx, q, op.N, nil)
		for _, id := range r.Trials {
			tr, _ := s.Trial(id)
			opened = append(opened, wire(tr))
		}
	}
	return opened, again, err
}

func wire(t study.Trial) api.Trial {
	out := api.Trial{ID: t.ID, Status: t.Status, X: t.X, NoiseVariance: t.Noise}
	if t.Index >= 0 {
		out.Index = &t.Index
	}
	if t.Status == api.Told {
		out.Y = &t.Y
	}
	return out
}

// diff tells how a study differs from its twin.
func diff(s *study.Study, w *twin.Twin) string {
	m := s.Summary()
	var best *api.Best
	if m.Best != nil {
		best = &api.Best{X: m.Best.X, Y: m.Best.Y, Trial: m.Best.Trial}
	}
	list, more := s.Trials("", 0, 1<<20)
	if more {
		return "there are more trials"
	}
	var trials []api.Trial
	counts := api.Counts{}
	for _, t := range list {
		trials = append(trials, wire(t))
		*map[string]*int{api.Open: &counts.Open, api.Told: &counts.Told, api.Failed: &counts.Failed, api.Cancelled: &counts.Cancelled}[t.Status]++
	}
	if counts != m.Counts {
		return fmt.Sprintf("counts %v, trials are %v", m.Counts, counts)
	}
	return w.Diff(trials, best, m.Observations)
}

// same does op to a study and its twin, and compares.
func same(t *testing.T, s *study.Study, w *twin.Twin, op twin.Op) {
	t.Helper()
	got, _, err := do(t.Context(), s, "", op)
	want, wantErr := w.Apply(op)
	if (err == nil) != (wantErr == nil) || err != nil && !errors.Is(err, cmbo.ErrUnknownTrial) && !errors.Is(err, cmbo.ErrTrialClosed) && !errors.Is(err, cmbo.ErrNoCandidates) {
		t.Fatalf("%v: %v, the twin: %v", op, err, wantErr)
	}
	if d := twin.DiffTrials(got, want); d != "" {
		t.Fatalf("%v: %s", op, d)
	}
}

func storage(err error) bool { return errors.Is(err, disk.ErrFull) || errors.Is(err, disk.ErrIO) }
