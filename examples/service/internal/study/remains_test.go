package study_test

import (
	"errors"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// Whatever remains of a directory when the power fails after any operation: the
// service starts, no study is damaged, and all that was acknowledged is there.
func TestEveryRemainsOfADirectory(t *testing.T) {
	grain := 7
	if testing.Short() {
		grain = 29
	}
	r := new(disktest.Recorder)
	m := open(t, study.Config{Dir: "d", FS: r})
	kind := twin.Kinds(t)[2]
	type fact struct {
		from, to int // operations between which it was acknowledged and not revoked
		holds    func(m *study.Manager) bool
	}
	var facts []fact
	acknowledged := func(err error, holds func(m *study.Manager) bool) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, fact{r.Len(), 1 << 30, holds})
	}
	counts := func(id string, want api.Counts, observations int) func(m *study.Manager) bool {
		return func(m *study.Manager) bool {
			s, err := m.Study(id)
			if err != nil {
				return false
			}
			got := s.Summary()
			c := got.Counts
			return c.Open+c.Told+c.Failed+c.Cancelled >= want.Open+want.Told+want.Failed && c.Told >= want.Told && c.Failed >= want.Failed && got.Observations >= observations
		}
	}
	_, err := m.AddPrior(t.Context(), "past", encode(t, kind.Prior))
	acknowledged(err, func(m *study.Manager) bool { _, err := m.Prior(t.Context(), "past"); return err == nil })
	q := kind.Study
	q.ID = "with"
	s, _, err := m.Create(t.Context(), "f", &q)
	acknowledged(err, counts("with", api.Counts{}, 0))
	_, _, err = do(t.Context(), s, "a", twin.Op{Kind: "ask", N: 3})
	acknowledged(err, counts("with", api.Counts{Open: 3}, 0))
	_, _, err = do(t.Context(), s, "b", twin.Op{Kind: "tell", Trial: 1, Y: 2})
	acknowledged(err, counts("with", api.Counts{Open: 2, Told: 1}, 1))
	_, _, err = s.Enqueue(t.Context(), study.Request{}, []float64{0.5, 0.01})
	acknowledged(err, func(m *study.Manager) bool {
		s, err := m.Study("with")
		return err == nil && s.Summary().Enqueued == 1
	})
	q = twin.Kinds(t)[1].Study
	q.ID = "short"
	_, _, err = m.Create(t.Context(), "f", &q)
	acknowledged(err, counts("short", api.Counts{}, 0))
	_, _, err = do(t.Context(), s, "c", twin.Op{Kind: "fail", Trial: 2})
	acknowledged(err, counts("with", api.Counts{Open: 1, Told: 1, Failed: 1}, 1))
	other, err := m.AddPrior(t.Context(), "", encode(t, kind.Other))
	acknowledged(err, func(m *study.Manager) bool { _, err := m.Prior(t.Context(), other.Digest); return err == nil })
	_, err = m.SetPrior(t.Context(), "with", other.Digest)
	acknowledged(err, func(m *study.Manager) bool {
		s, err := m.Study("with")
		if err != nil {
			return false
		}
		digest, _ := s.Prior()
		return digest == other.Digest
	})
	_, _, err = do(t.Context(), s, "d", twin.Op{Kind: "tell", Trial: 3, Y: 1})
	acknowledged(err, counts("with", api.Counts{Told: 2, Failed: 1}, 2))
	for i := range facts {
		if facts[i].holds(m) != true {
			t.Fatalf("fact %d does not hold", i)
		}
	}
	facts[5].to = r.Len()
	err = m.Delete(t.Context(), "short")
	acknowledged(err, func(m *study.Manager) bool {
		_, err := m.Study("short")
		return errors.Is(err, study.ErrUnknownStudy)
	})
	facts[0].to = r.Len()
	acknowledged(m.DeletePrior("past"), func(m *study.Manager) bool {
		_, err := m.Prior(t.Context(), "past")
		return errors.Is(err, study.ErrUnknownPrior) && len(m.Priors()) == 1
	})
	facts[len(facts)-1].to = r.Len()
	_, err = m.AddPrior(t.Context(), "past", encode(t, kind.Other))
	acknowledged(err, func(m *study.Manager) bool {
		p, err := m.Prior(t.Context(), "past")
		return err == nil && p.Digest == other.Digest
	})
	states := 0
	for n := 0; n <= r.Len(); n++ {
		r.States(n, grain, func(f *disktest.FS) bool {
			states++
			m := open(t, study.Config{Dir: "d", FS: f}) // which reports what is damaged
			for i, fact := range facts {
				if n >= fact.from && n <= fact.to && !fact.holds(m) {
					t.Errorf("after operation %d of %d: what was acknowledged as number %d is gone", n, r.Len(), i+1)
				}
			}
			if s, err := m.Study("with"); err == nil {
				if _, _, err := do(t.Context(), s, "next", twin.Op{Kind: "observe", X: []float64{0, 1}, Y: 1}); err != nil {
					t.Errorf("after operation %d: %v", n, err)
				}
			}
			return !t.Failed()
		})
	}
	t.Logf("%d states after %d operations", states, r.Len())
	if states < 100 {
		t.Error("the test does not try much")
	}
}
