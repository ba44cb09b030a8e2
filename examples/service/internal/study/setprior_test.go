package study_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// digests are those of the priors of a kind, which the manager keeps.
func digests(t *testing.T, m *study.Manager, k twin.Kind) (out []string) {
	t.Helper()
	for _, p := range k.Priors() {
		info, err := m.AddPrior(t.Context(), "", encode(t, p))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, info.Digest)
	}
	return out
}

// A study goes on with another prior, and with the one before again, as an optimiser in the process that does, through
// restarts; requests of before are known by their keys, and what waits for the study goes on waiting.
func TestSetPrior(t *testing.T) {
	for _, k := range twin.Kinds(t)[2:] {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			rng := twin.RNG(t)
			fsys := disktest.New(rng)
			log := logFile{fsys}
			config := study.Config{Dir: "d", FS: fsys}
			m := open(t, config)
			s, w := create(t, m, "s", k)
			priors := digests(t, m, k)
			deadline := func() study.Deadline { return study.Deadline{At: 100} }
			if _, _, err := s.Ask(t.Context(), study.Request{Key: "first", Fingerprint: "f"}, 2, deadline); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Apply(twin.Op{Kind: "ask", N: 2}); err != nil {
				t.Fatal(err)
			}
			change := func(n int) {
				t.Helper()
				with, _ := s.Prior()
				before, news := s.Events(0)
				size := len(log.read(t))
				got, err := m.SetPrior(t.Context(), "s", priors[n])
				if err != nil || got != s {
					t.Fatalf("%v; the same study: %v", err, got == s)
				}
				if _, err := w.Apply(twin.Op{Kind: "prior", N: n}); err != nil {
					t.Fatal(err)
				}
				if same := len(log.read(t)) == size; same != (with == priors[n]) {
					t.Fatalf("the log grew: %v, for another prior: %v", !same, with != priors[n])
				}
				if digest, _ := s.Prior(); digest != priors[n] {
					t.Fatalf("it runs with prior %s, given %s", digest, priors[n])
				}
				told := false
				select {
				case <-news:
					told = true
				default:
				}
				after, _ := s.Events(0)
				switch e := after[len(after)-1]; {
				case with == priors[n]:
					if told || len(after) != len(before) {
						t.Fatalf("the prior that it has is told as event %+v", e)
					}
				case !told || len(after) != len(before)+1 || e.Number != len(after) || e.Kind != api.EventPrior || e.Prior != priors[n]:
					t.Fatalf("another prior is told as event %+v: %v", e, told)
				}
			}
			for step := range 40 {
				if step%7 == 3 {
					change(rng.IntN(2))
				} else {
					same(t, s, w, w.Next(rng))
				}
				if rng.IntN(6) == 0 {
					events, _ := s.Events(0)
					if err := m.Close(); err != nil {
						t.Fatal(err)
					}
					m = open(t, config)
					s = study1(t, m)
					if again, _ := s.Events(0); !reflect.DeepEqual(again, events) {
						t.Fatalf("events after a restart: %v, before: %v", again, events)
					}
				}
				if d := diff(s, w); d != "" {
					t.Fatalf("step %d: %s", step, d)
				}
			}
			change(1)
			if _, name := s.Prior(); name != "" || s.PastTasks() != 2 {
				t.Errorf("prior %q, of %d tasks", name, s.PastTasks())
			}
			r, again, err := s.Ask(t.Context(), study.Request{Key: "first", Fingerprint: "f"}, 2, deadline)
			if err != nil || !again || len(r.Trials) != 2 {
				t.Errorf("the first request again: %v, %v, %v", r, again, err)
			}
			if tr, _ := s.Trial(1); tr.Deadline.At != 100 || len(tr.Weights) == 0 {
				t.Errorf("trial 1 is %+v", tr)
			}
			// What was asked of the model is asked again.
			shown := func() (all []study.Slice) {
				for range 2 {
					var done <-chan struct{}
					all, _, done = s.Slices()
					<-done
				}
				return all
			}
			before := shown()
			change(0)
			if after := shown(); len(before) == 0 || reflect.DeepEqual(before, after) {
				t.Errorf("%d slices, the same with another prior: %v", len(before), after)
			}
			// The request that made the study finds it, whatever it runs with.
			q := k.Study
			q.ID = "s"
			if got, again, err := m.Create(t.Context(), "made by s", &q); err != nil || !again || got != s {
				t.Errorf("created again: %v, %v", again, err)
			}
		})
	}
}

// What a study cannot go on with is refused, and nothing changes.
func TestSetPriorRefuses(t *testing.T) {
	m := open(t, study.Config{Dir: t.TempDir()})
	s, w := create(t, m, "s", twin.Kinds(t)[2])
	create(t, m, "plain", twin.Kinds(t)[0])
	add := func(space *cmbo.Space, minimize bool) string {
		t.Helper()
		row := make(api.Row, space.Dim())
		for i, p := range space.Params() {
			row[i], _ = p.Bounds()
		}
		task := api.Task{ID: "a", X: []api.Row{row}, Y: api.Row{1}}
		p, err := m.LearnPrior(t.Context(), &api.NewPrior{Space: space, Learn: api.Learn{Tasks: []api.Task{task}, Minimize: minimize}})
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest
	}
	fits := add(s.Space(), false)
	for _, tt := range []struct {
		name, study, prior string
		want               error
	}{
		{"no such study", "nobody", fits, study.ErrUnknownStudy},
		{"no such prior", "s", "nobody", study.ErrUnknownPrior},
		{"another space", "s", add(unitSpace(t), false), cmbo.ErrPriorMismatch},
		{"another direction", "s", add(s.Space(), true), cmbo.ErrPriorMismatch},
		{"a study without a prior", "plain", fits, cmbo.ErrPriorMismatch},
	} {
		if _, err := m.SetPrior(t.Context(), tt.study, tt.prior); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	same(t, s, w, twin.Op{Kind: "ask", N: 2})
	if err := m.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.SetPrior(t.Context(), "s", fits); !errors.Is(err, study.ErrUnknownStudy) {
		t.Errorf("a deleted study: %v", err)
	}
}

// A change of the prior can fail, or be killed, at any operation of the disk, and the power may fail then: the study has
// the one prior or the other, the new one once that was acknowledged, and all else that it had; also one that could not be
// opened because its prior is gone, which is as it was or well.
func TestSetPriorFaults(t *testing.T) {
	rng := twin.RNG(t)
	k := twin.Kinds(t)[2]
	found := [2]int{}
	for _, gone := range []bool{false, true} {
		for _, killed := range []bool{false, true} {
			for n, more := 1, true; more; n++ {
				fsys := disktest.New(rng)
				report := func(_ string, err error) {
					if !gone {
						t.Errorf("it is damaged: %v", err)
					}
				}
				config := study.Config{Dir: "d", FS: fsys, Report: report}
				m := open(t, config)
				s, w := create(t, m, "s", k)
				priors := digests(t, m, k)
				for _, op := range []twin.Op{{Kind: "ask", N: 3}, {Kind: "tell", Trial: 2, Y: 1}, {Kind: "fail", Trial: 3}} {
					same(t, s, w, op)
				}
				if gone {
					if err := disk.Remove(fsys, filepath.Join("d", "priors", priors[0]+".prior")); err != nil {
						t.Fatal(err)
					}
					if m = open(t, config); study1(t, m).Damaged() == nil {
						t.Fatal("a study without its prior was opened")
					}
				}
				failed := false
				fsys.Fault(func(i int, op string) error {
					if i == n || killed && i > n {
						failed = true
						return syscall.EIO
					}
					return nil
				})
				_, err := m.SetPrior(t.Context(), "s", priors[1])
				more = failed
				fsys.Fault(nil)
				if err != nil && !storage(err) || err != nil && !failed {
					t.Fatalf("operation %d: %v", n, err)
				}
				if !killed && err != nil {
					if got := study1(t, m); !gone {
						same(t, got, w, twin.Op{Kind: "ask", N: 1})
					} else if got.Damaged() == nil {
						t.Fatalf("operation %d failed, and the study is open: %v", n, err)
					}
				}
				if rng.IntN(2) == 0 {
					fsys.Kill()
				} else {
					fsys.PowerFailure()
				}
				m = open(t, config)
				s = study1(t, m)
				with := 0
				if s.Damaged() == nil {
					if digest, _ := s.Prior(); digest == priors[1] {
						with = 1
					}
				} else if !gone {
					t.Fatalf("operation %d: it cannot be opened: %v", n, s.Damaged())
				}
				if err == nil && with != 1 {
					t.Fatalf("operation %d: an acknowledged prior is not the study's", n)
				}
				found[with]++
				if with == 0 { // the request again does it
					if s, err = m.SetPrior(t.Context(), "s", priors[1]); err != nil {
						t.Fatalf("operation %d, again: %v", n, err)
					}
				}
				if _, err := w.Apply(twin.Op{Kind: "prior", N: 1}); err != nil {
					t.Fatal(err)
				}
				if d := diff(s, w); d != "" {
					t.Fatalf("operation %d: %s", n, d)
				}
				same(t, s, w, twin.Op{Kind: "ask", N: 1})
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	}
	if found[0] < 4 || found[1] < 4 {
		t.Errorf("the old prior was found %d times, the new one %d times", found[0], found[1])
	}
}

// A change of the prior that was acknowledged and is lost from the end of the log is noticed; one whose mark was not
// written is not missed.
func TestSetPriorLost(t *testing.T) {
	k := twin.Kinds(t)[2]
	log := logFile{disktest.New(twin.RNG(t))}
	config := study.Config{Dir: "d", FS: log}
	m := open(t, config)
	s, w := create(t, m, "s", k)
	priors := digests(t, m, k)
	same(t, s, w, twin.Op{Kind: "ask", N: 4})
	before, mark := log.read(t), log.readMark(t)
	if _, err := m.SetPrior(t.Context(), "s", priors[1]); err != nil {
		t.Fatal(err)
	}
	after := log.read(t)
	if _, err := w.Apply(twin.Op{Kind: "prior", N: 1}); err != nil {
		t.Fatal(err)
	}
	marked := log.readMark(t)
	log.write(t, before)
	damagedStudy(t, log)
	log.write(t, after)
	for _, m := range [][]byte{mark, marked} {
		log.writeMark(t, m)
		if d := diff(study1(t, open(t, config)), w); d != "" {
			t.Error(d)
		}
	}
	s = study1(t, open(t, config))
	same(t, s, w, twin.Op{Kind: "tell", Trial: 1, Y: 2})
	log.write(t, after) // without the line that was told
	damagedStudy(t, log)
}

// Requests that come while the prior changes are done, with the one or the other.
func TestSetPriorMeanwhile(t *testing.T) {
	k := twin.Kinds(t)[2]
	dir := t.TempDir()
	m := open(t, study.Config{Dir: dir})
	s, _ := create(t, m, "s", k)
	priors := digests(t, m, k)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 12 {
				r, _, err := s.Ask(ctx, study.Request{}, 1, nil)
				if err == nil {
					_, _, err = s.Tell(ctx, study.Request{}, r.Trials[0], study.Measured{Y: float64(r.Trials[0])})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 12 {
			if _, err := m.SetPrior(ctx, "s", priors[(i+1)%2]); err != nil {
				t.Error(err)
			}
			s.Summary()
			s.PastTasks()
			if _, _, _, err := s.LastStep(ctx); err != nil {
				t.Error(err)
			}
			_, _, _ = s.Slices()
		}
	})
	wg.Wait()
	if n := s.Summary().Counts.Told; n != 24 {
		t.Errorf("%d trials were told", n)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if n := study1(t, open(t, study.Config{Dir: dir})).Summary().Counts.Told; n != 24 {
		t.Errorf("%d trials were told, after a restart", n)
	}
}
