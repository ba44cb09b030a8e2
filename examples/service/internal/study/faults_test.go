package study_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// Whatever fails on the disk, and whenever the power does: a request that fails
// changes nothing, one that succeeds lasts, and one that is repeated with its
// key is done once.
func TestDiskFaults(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 8
	}
	var c faultCount
	rng := twin.RNG(t)
	for round := range rounds {
		fault := []error{syscall.ENOSPC, syscall.EIO}[round%2]
		c.run(t, rng, twin.Kinds(t)[round/2%len(twin.Kinds(t))], fault)
	}
	t.Logf("%d requests, %d failed, %d power failures, %d failed requests found after them", c.requests, c.failed, c.powerFailures, c.found)
	if c.failed == 0 || c.powerFailures == 0 || c.found == 0 && !testing.Short() {
		t.Error("the test does not try much")
	}
}

type faultCount struct{ requests, failed, powerFailures, found int }

func (c *faultCount) run(t *testing.T, rng *rand.Rand, k twin.Kind, fault error) {
	fsys := disktest.New(rng)
	m := open(t, study.Config{Dir: "d", FS: fsys})
	s, w := create(t, m, "s", k)
	healthy := 0 // operations until the next fault
	faulty := 0
	fail := func(n int, op string) error {
		if healthy > 0 {
			healthy--
			return nil
		}
		if faulty > 0 {
			faulty--
			return fault
		}
		healthy, faulty = rng.IntN(30), 1+rng.IntN(6)
		return nil
	}
	fsys.Fault(fail)
	for i := range 40 {
		key := fmt.Sprintf("key-%d", i)
		op := w.Next(rng)
		for {
			c.requests++
			got, _, err := do(t.Context(), s, key, op)
			if storage(err) {
				c.failed++
				if d := diff(s, w); d != "" {
					t.Fatalf("%v failed: %v: %s", op, err, d)
				}
			} else {
				want, wantErr := w.Apply(op)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("%v: %v, the twin: %v", op, err, wantErr)
				}
				if d := twin.DiffTrials(got, want); d != "" {
					t.Fatal(d)
				}
				break
			}
			if rng.IntN(4) > 0 {
				continue
			}
			// The machine goes down between the failure and the next attempt.
			s = c.restart(t, rng, fsys, w, true)
			fsys.Fault(fail)
			if diff(s, w) != "" {
				c.found++
				got, again, err := do(t.Context(), s, key, op)
				want, wantErr := w.Apply(op)
				if err != nil || wantErr != nil || !again {
					t.Fatalf("%v, found: %v, the twin: %v", op, err, wantErr)
				}
				if d := twin.DiffTrials(got, want); d != "" {
					t.Fatal(d)
				}
				if d := diff(s, w); d != "" {
					t.Fatal(d)
				}
				break
			}
		}
		if rng.IntN(10) == 0 {
			s = c.restart(t, rng, fsys, w, false)
			fsys.Fault(fail)
		}
	}
}

// restart opens the directory again after a power failure, or a kill and then a
// power failure, and compares the study with its twin; it may differ if a request
// had failed. What the service found after the kill lasts.
func (c *faultCount) restart(t *testing.T, rng *rand.Rand, fsys *disktest.FS, w *twin.Twin, failed bool) *study.Study {
	t.Helper()
	c.powerFailures++
	fsys.Fault(nil)
	found := -1
	if rng.IntN(2) == 0 {
		fsys.Kill()
		found = study1(t, open(t, study.Config{Dir: "d", FS: fsys})).Summary().Observations
	}
	fsys.PowerFailure()
	s := study1(t, open(t, study.Config{Dir: "d", FS: fsys}))
	if n := s.Summary().Observations; found >= 0 && n != found {
		t.Fatalf("%d observations after a kill, %d after a power failure", found, n)
	}
	if d := diff(s, w); d != "" && !failed {
		t.Fatalf("after a power failure: %s", d)
	}
	return s
}

// Creating a study can fail at any operation: then there is none, also after a
// restart, or the same request finds it.
func TestCreateFaults(t *testing.T) {
	rng := twin.RNG(t)
	for _, k := range twin.Kinds(t)[1:] {
		for n := 1; ; n++ {
			fsys := disktest.New(rng)
			m := open(t, study.Config{Dir: "d", FS: fsys})
			if k.Prior != nil {
				if _, err := m.AddPrior(t.Context(), "given", encode(t, k.Prior)); err != nil {
					t.Fatal(err)
				}
			}
			q := k.Study
			q.ID = "s"
			fsys.Fault(func(i int, op string) error {
				if i == n {
					return syscall.ENOSPC
				}
				return nil
			})
			_, _, err := m.Create(t.Context(), "f", &q)
			count := fsys.Count()
			fsys.Fault(nil)
			if n > count {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if !storage(err) {
				t.Fatalf("operation %d of %d failed: %v", n, count, err)
			}
			if _, err := m.Study("s"); !errors.Is(err, study.ErrUnknownStudy) {
				t.Fatalf("operation %d failed, and there is a study: %v", n, err)
			}
			fsys.PowerFailure()
			m = open(t, study.Config{Dir: "d", FS: fsys})
			s, _, err := m.Create(t.Context(), "f", &q)
			if err != nil {
				t.Fatal(err)
			}
			w, err := twin.New(k)
			if err != nil {
				t.Fatal(err)
			}
			same(t, s, w, twin.Op{Kind: "ask", N: 2})
			if _, again, err := m.Create(t.Context(), "f", &q); err != nil || !again {
				t.Fatalf("the same request: %v, %v", again, err)
			}
		}
	}
}

// A kill while a study is created leaves none, or one that the same request
// finds; what that request acknowledges survives a power failure.
func TestCreateKilled(t *testing.T) {
	points := 5
	rng := twin.RNG(t)
	for _, k := range twin.Kinds(t)[1:3] {
		for n, more := 1, true; more; n++ {
			for range 4 {
				fsys := disktest.New(rng)
				m := open(t, study.Config{Dir: "d", FS: fsys})
				q := k.Study
				q.ID, q.Prior = "s", ""
				if k.Prior != nil { // a prior of its own, that the kill interrupts too
					q.Learn = &api.Learn{IndexPoints: &points, Tasks: []api.Task{{ID: "a", X: []api.Row{{0, 1}}, Y: api.Row{1}}}}
				}
				fsys.Fault(func(i int, op string) error {
					if i >= n {
						return syscall.EIO
					}
					return nil
				})
				_, _, err := m.Create(t.Context(), "f", &q)
				more = err != nil
				fsys.Kill()
				fsys.Fault(nil)
				m = open(t, study.Config{Dir: "d", FS: fsys})
				if _, _, err := m.Create(t.Context(), "f", &q); err != nil {
					t.Fatalf("operation %d: %v", n, err)
				}
				fsys.PowerFailure()
				m = open(t, study.Config{Dir: "d", FS: fsys})
				if _, _, err := do(t.Context(), study1(t, m), "", twin.Op{Kind: "ask", N: 1}); err != nil {
					t.Fatalf("operation %d: %v", n, err)
				}
			}
		}
	}
}

// A deletion can fail at any operation: the study is there then as if nobody had asked for it, or it is gone. It has not
// failed where only the mark is left, which does no harm to the next study of the ID, killed while it is made or not.
func TestDeleteFaults(t *testing.T) {
	rng := twin.RNG(t)
	k := twin.Kinds(t)[1]
	gone := 0
	for n, more := 1, true; more; n++ {
		for killed := 1; killed <= 16; killed++ {
			fsys := disktest.New(rng)
			m := open(t, study.Config{Dir: "d", FS: fsys})
			s, w := create(t, m, "s", k)
			for range 4 {
				same(t, s, w, twin.Op{Kind: "ask", N: 1})
			}
			failed := ""
			fsys.Fault(func(i int, op string) error {
				if i == n {
					failed = op
					return syscall.EIO
				}
				return nil
			})
			err := m.Delete(t.Context(), "s")
			more = failed != ""
			fsys.Fault(nil)
			if s, unknown := m.Study("s"); unknown == nil {
				if n > 1 || !storage(err) {
					t.Fatalf("the study is there after operation %d failed: %v", n, err)
				}
				same(t, s, w, twin.Op{Kind: "ask", N: 1})
				break
			}
			if lasting := n != 2; lasting != (err == nil) || lasting == errors.Is(err, study.ErrRemoved) {
				t.Fatalf("the study is gone, and after operation %d, %s, failed the answer is %v", n, failed, err)
			}
			gone++
			fsys.Fault(func(i int, op string) error {
				if i >= killed {
					return syscall.EIO
				}
				return nil
			})
			q := k.Study
			q.ID = "s"
			_, _, err = m.Create(t.Context(), "f", &q)
			fsys.Fault(nil)
			fsys.PowerFailure()
			m = open(t, study.Config{Dir: "d", FS: fsys}) // which reports what is damaged
			if err == nil {
				w, err := twin.New(k)
				if err != nil {
					t.Fatal(err)
				}
				same(t, study1(t, m), w, twin.Op{Kind: "ask", N: 1})
			}
			if t.Failed() {
				t.Fatalf("operation %d of the deletion failed, and operation %d of the next creation", n, killed)
			}
		}
	}
	if gone < 48 {
		t.Errorf("the study was deleted %d times", gone)
	}
}

// The removal of a prior can fail, or be killed, at any operation, and the power may fail then: the prior is there with its
// names, or it is gone, and the same request again has its names free for another. What was acknowledged lasts.
func TestDeletePriorFaults(t *testing.T) {
	rng := twin.RNG(t)
	k := twin.Kinds(t)[2]
	var left, lasts int
	for _, killed := range []bool{false, true} {
		for n, more := 1, true; more; n++ {
			for range 4 {
				fsys := disktest.New(rng)
				config := study.Config{Dir: "d", FS: fsys}
				m := open(t, config)
				_, w := create(t, m, "s", k)
				for _, name := range []string{"a", "b"} {
					if _, err := m.AddPrior(t.Context(), name, encode(t, k.Other)); err != nil {
						t.Fatal(err)
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
				err := m.DeletePrior("a")
				more = failed
				fsys.Fault(nil)
				if (err == nil) != !failed || err != nil && !storage(err) {
					t.Fatalf("operation %d: %v", n, err)
				}
				_, there := m.Prior(t.Context(), "b")
				if gone := errors.Is(there, study.ErrUnknownPrior); there != nil && !gone || gone != (err == nil || errors.Is(err, study.ErrRemoved)) {
					t.Fatalf("operation %d: the removal: %v, and then: %v", n, err, there)
				}
				if rng.IntN(2) == 0 {
					fsys.Kill()
				}
				if rng.IntN(3) > 0 {
					fsys.PowerFailure()
				}
				m = open(t, config)
				switch _, there := m.Prior(t.Context(), "b"); {
				case there == nil && err == nil:
					t.Fatalf("operation %d: a prior is back whose removal was acknowledged", n)
				case there == nil:
					left++
				case !errors.Is(there, study.ErrUnknownPrior):
					t.Fatalf("operation %d: %v", n, there)
				case err == nil:
					lasts++
				}
				if again := m.DeletePrior("a"); again != nil && !errors.Is(again, study.ErrUnknownPrior) {
					t.Fatalf("operation %d, again: %v", n, again)
				}
				fsys.PowerFailure()
				m = open(t, config)
				for _, name := range []string{"a", "b"} {
					if _, err := m.AddPrior(t.Context(), name, encode(t, learnOther(t))); err != nil {
						t.Fatalf("operation %d: the name %s is not free: %v", n, name, err)
					}
				}
				same(t, study1(t, m), w, twin.Op{Kind: "ask", N: 1})
			}
		}
	}
	t.Logf("the prior was left %d times and its removal lasted %d times", left, lasts)
	if left < 4 || lasts < 4 {
		t.Error("the test does not try much")
	}
}
