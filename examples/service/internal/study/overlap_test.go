package study_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// slowStudy makes a study whose next proposal takes seconds, with two open
// trials: the last two.
func slowStudy(t *testing.T, m *study.Manager, rng *rand.Rand, id string) (s *study.Study, openTrials [2]int) {
	t.Helper()
	const told = 180
	var params []cmbo.Param
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		params = append(params, cmbo.Float(n, 0, 1))
	}
	space, err := cmbo.NewSpace(params...)
	if err != nil {
		t.Fatal(err)
	}
	initial, sobol := told+2, 10000
	s, _, err = m.Create(t.Context(), id, &api.NewStudy{ID: id, Space: space, Options: api.Options{Initial: &initial, Sobol: &sobol}})
	if err != nil {
		t.Fatal(err)
	}
	for next := 1; next <= told; {
		if _, _, err := do(t.Context(), s, "", twin.Op{Kind: "ask", N: 20}); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, _, err := do(t.Context(), s, "", twin.Op{Kind: "tell", Trial: next, Y: rng.NormFloat64()}); err != nil {
				t.Fatal(err)
			}
			next++
		}
	}
	r, _, err := s.Ask(t.Context(), study.Request{}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, [2]int(r.Trials)
}

// While a proposal is computed, everything else is answered at once, another
// study proposes, and what was answered meanwhile is there after a restart.
func TestNothingWaitsForAnAsk(t *testing.T) {
	rng := twin.RNG(t)
	fsys := disktest.New(rng)
	m := open(t, study.Config{Dir: "d", FS: fsys})
	s, trials := slowStudy(t, m, rng, "slow")
	quick, w := create(t, m, "quick", twin.Kinds(t)[0])
	var finished atomic.Bool
	done := make(chan error, 1)
	began := time.Now()
	go func() {
		_, _, err := s.Ask(t.Context(), study.Request{Key: "ask", Fingerprint: "a"}, 1, nil)
		finished.Store(true)
		done <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if _, _, err := s.Tell(t.Context(), study.Request{Key: "tell", Fingerprint: "t"}, trials[0], study.Measured{Y: 3}); err != nil {
		t.Error(err)
	}
	if _, again, err := s.Tell(t.Context(), study.Request{Key: "tell", Fingerprint: "t"}, trials[0], study.Measured{Y: 3}); err != nil || !again {
		t.Error(again, err)
	}
	if _, _, err := s.Tell(t.Context(), study.Request{Key: "ask", Fingerprint: "t"}, trials[1], study.Measured{Y: 3}); !errors.Is(err, study.ErrKeyReused) {
		t.Errorf("the key of the Ask: %v", err)
	}
	if _, _, err := s.Fail(t.Context(), study.Request{}, trials[1], nil); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Cancel(t.Context(), study.Request{}, trials[1]+1); !errors.Is(err, cmbo.ErrUnknownTrial) {
		t.Errorf("the trial that is not there yet: %v", err)
	}
	if m := s.Summary(); m.Counts.Told != 181 || m.Counts.Failed != 1 || m.Best.Y != 3 {
		t.Errorf("%+v", m)
	}
	if _, _, _, err := s.LastStep(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Snapshot(io.Discard); err != nil {
		t.Error(err)
	}
	for range 5 {
		same(t, quick, w, twin.Op{Kind: "ask", N: 1})
	}
	// A second Ask waits for the first, no longer than it may.
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := s.Ask(ctx, study.Request{}, 1, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if finished.Load() {
		t.Fatalf("the Ask was too quick for the test: %v", time.Since(began))
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	before, _ := s.Trials("", 0, 1000)
	fsys.PowerFailure()
	m = open(t, study.Config{Dir: "d", FS: fsys})
	s, err := m.Study("slow")
	if err != nil {
		t.Fatal(err)
	}
	after, _ := s.Trials("", 0, 1000)
	if len(after) != len(before) || len(after) != 183 {
		t.Fatalf("%d trials, %d before", len(after), len(before))
	}
	for i, tr := range after {
		if d := twin.DiffTrials([]api.Trial{wire(tr)}, []api.Trial{wire(before[i])}); d != "" {
			t.Error(d)
		}
	}
}

// A trial ends by itself once its deadline has passed, also after a restart, and
// not before, nor if it was answered.
func TestDeadlines(t *testing.T) {
	rng := twin.RNG(t)
	fsys := disktest.New(rng)
	m := open(t, study.Config{Dir: "d", FS: fsys})
	s, _ := create(t, m, "s", twin.Kinds(t)[1])
	ask := func(n int, d study.Deadline) {
		t.Helper()
		if _, _, err := s.Ask(t.Context(), study.Request{}, n, func() study.Deadline { return d }); err != nil {
			t.Fatal(err)
		}
	}
	ask(2, study.Deadline{At: 1000})
	ask(2, study.Deadline{At: 2000, Fail: true})
	ask(1, study.Deadline{})
	if _, _, err := s.Tell(t.Context(), study.Request{}, 1, study.Measured{Y: 4}); err != nil {
		t.Fatal(err)
	}
	expire := func(now int64, want ...string) {
		t.Helper()
		if err := m.Expire(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		list, _ := s.Trials("", 0, 10)
		for i, tr := range list {
			ended := tr.Status != api.Open && tr.ID > 1
			if tr.Status != want[i] || tr.Expired != ended {
				t.Errorf("at %d: trial %d is %s, expired %v; want %s", now, tr.ID, tr.Status, tr.Expired, want[i])
			}
		}
	}
	expire(999, api.Told, api.Open, api.Open, api.Open, api.Open)
	expire(1000, api.Told, api.Cancelled, api.Open, api.Open, api.Open)
	fsys.PowerFailure()
	m = open(t, study.Config{Dir: "d", FS: fsys})
	s = study1(t, m)
	expire(1999, api.Told, api.Cancelled, api.Open, api.Open, api.Open)
	// A disk that is full lets nothing end; the next call tries again.
	fsys.Fault(func(int, string) error { return syscall.ENOSPC })
	if err := m.Expire(t.Context(), 5000); !storage(err) {
		t.Errorf("on a full disk: %v", err)
	}
	fsys.Fault(nil)
	expire(5000, api.Told, api.Cancelled, api.Failed, api.Failed, api.Open)
	fsys.PowerFailure()
	m = open(t, study.Config{Dir: "d", FS: fsys})
	s = study1(t, m)
	expire(5000, api.Told, api.Cancelled, api.Failed, api.Failed, api.Open)
	if _, _, err := s.Tell(t.Context(), study.Request{}, 2, study.Measured{Y: 1}); !errors.Is(err, cmbo.ErrTrialClosed) {
		t.Errorf("an answer after the deadline: %v", err)
	}
}
