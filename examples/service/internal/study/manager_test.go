package study_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// Each limit is met by one more than it allows, and not before.
func TestLimits(t *testing.T) {
	l := study.DefaultLimits()
	l.Studies, l.OpenTrials, l.Events, l.Ask, l.Points, l.Dims, l.Candidates = 3, 4, 6, 3, 2, 2, 3
	l.Tasks, l.TaskRows, l.TotalRows, l.Index, l.Priors, l.PriorBytes = 2, 3, 4, 5, 1, 4000
	m := open(t, study.Config{Dir: t.TempDir(), Limits: l})
	create := func(id string, q api.NewStudy) error {
		q.ID = id
		if q.Space == nil {
			q.Space = unitSpace(t)
		}
		_, _, err := m.Create(t.Context(), id, &q)
		return err
	}
	limit := func(what string, err error, limit int, kept bool) {
		t.Helper()
		var e *study.LimitError
		if !errors.As(err, &e) || e.Limit != limit || e.Kept != kept {
			t.Errorf("%s: %v", what, err)
		}
	}
	fine := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	space := func(s *cmbo.Space, err error) *cmbo.Space {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	limit("dimensions", create("s", api.NewStudy{Space: space(cmbo.UnitCube(3))}), 2, false)
	limit("candidates", create("s", api.NewStudy{Space: space(cmbo.Candidates([][]float64{{0}, {0.1}, {0.2}, {0.3}}))}), 3, false)
	four := 4
	limit("drawn candidates", create("s", api.NewStudy{Options: api.Options{Sobol: &four}}), 3, false)
	fine("two dimensions", create("s", api.NewStudy{Space: space(cmbo.UnitCube(2))}))
	fine("three candidates", create("s2", api.NewStudy{Space: space(cmbo.Candidates([][]float64{{0}, {0.1}, {0.2}}))}))
	fine("a third study", create("s3", api.NewStudy{}))
	limit("studies", create("s4", api.NewStudy{}), 3, true)
	fine("a deletion", m.Delete(t.Context(), "s3"))
	fine("room again", create("s4", api.NewStudy{}))

	s := study1(t, m)
	try := func(op twin.Op) error {
		_, _, err := do(t.Context(), s, "", op)
		return err
	}
	limit("asked at once", try(twin.Op{Kind: "ask", N: 4}), 3, false)
	fine("three at once", try(twin.Op{Kind: "ask", N: 3}))
	limit("open trials", try(twin.Op{Kind: "ask", N: 2}), 4, true)
	fine("a fourth", try(twin.Op{Kind: "ask", N: 1}))
	fine("a tell", try(twin.Op{Kind: "tell", Trial: 1, Y: 1}))
	fine("a fifth", try(twin.Op{Kind: "ask", N: 1}))
	fine("an observation", try(twin.Op{Kind: "observe", X: []float64{0, 0}, Y: 1}))
	limit("events by observing", try(twin.Op{Kind: "observe", X: []float64{0, 0}, Y: 1}), 6, true)
	fine("a cancellation", try(twin.Op{Kind: "cancel", Trial: 2}))
	limit("events by asking", try(twin.Op{Kind: "ask", N: 1}), 6, true)
	fine("an answer", try(twin.Op{Kind: "tell", Trial: 3, Y: 1}))
	_, err := s.Predict(t.Context(), [][]float64{{0, 0}, {0, 0}, {0, 0}})
	limit("points", err, 2, false)

	learn := func(q api.Learn) error {
		_, err := m.LearnPrior(t.Context(), &api.NewPrior{Space: unitSpace(t), Learn: q})
		return err
	}
	filled := func(n int, id string) api.Task {
		task := api.Task{ID: id, X: make([]api.Row, n), Y: make(api.Row, n)}
		for i := range task.X {
			task.X[i] = api.Row{float64(i) / 10}
		}
		return task
	}
	six := 6
	limit("index points", learn(api.Learn{IndexPoints: &six}), 5, false)
	limit("tasks", learn(api.Learn{Tasks: []api.Task{filled(1, "a"), filled(1, "b"), filled(1, "c")}}), 2, false)
	limit("rows of a task", learn(api.Learn{Tasks: []api.Task{filled(4, "a")}}), 3, false)
	limit("rows", learn(api.Learn{Tasks: []api.Task{filled(3, "a"), filled(2, "b")}}), 4, false)
	five := 5
	fine("tasks within limits", learn(api.Learn{Tasks: []api.Task{filled(2, "a"), filled(2, "b")}, IndexPoints: &five}))
	limit("priors", learn(api.Learn{Tasks: []api.Task{filled(2, "a")}, IndexPoints: &five}), 1, true)
	_, err = m.AddPrior(t.Context(), "", make([]byte, 4001))
	limit("bytes of a prior", err, 4000, false)
}

// Requests of many clients to a few studies: every trial is handed out once,
// nothing told is lost, and the log holds it all.
func TestConcurrentClients(t *testing.T) {
	dir := t.TempDir()
	m := open(t, study.Config{Dir: dir})
	var ids []string
	for _, k := range twin.Kinds(t)[:3] {
		s, _ := create(t, m, k.Name, k)
		ids = append(ids, s.ID())
	}
	const workers, rounds = 6, 8
	told := make([]map[string]float64, workers)
	asked := make([]map[string]bool, workers)
	var wg sync.WaitGroup
	for i := range workers {
		told[i], asked[i] = map[string]float64{}, map[string]bool{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range rounds {
				s, err := m.Study(ids[(i+j)%len(ids)])
				if err != nil {
					t.Error(err)
					return
				}
				trials, _, err := do(t.Context(), s, fmt.Sprintf("%d-%d", i, j), twin.Op{Kind: "ask", N: 1})
				if errors.Is(err, cmbo.ErrNoCandidates) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				name := fmt.Sprintf("%s %d", s.ID(), trials[0].ID)
				asked[i][name] = true
				s.Summary()
				s.Trials("", 0, 10)
				s.State()
				y := float64(i*rounds + j)
				if _, _, err := do(t.Context(), s, "", twin.Op{Kind: "tell", Trial: trials[0].ID, Y: y}); err != nil {
					t.Error(err)
					return
				}
				told[i][name] = y
			}
		}()
	}
	wg.Wait()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = open(t, study.Config{Dir: dir})
	seen := map[string]bool{}
	total := 0
	for i := range workers {
		for name := range asked[i] {
			if seen[name] {
				t.Errorf("trial %s was handed out twice", name)
			}
			seen[name] = true
		}
	}
	for _, id := range ids {
		s, err := m.Study(id)
		if err != nil {
			t.Fatal(err)
		}
		trials, _ := s.Trials("", 0, 1000)
		for _, tr := range trials {
			total++
			found := false
			for i := range workers {
				if y, ok := told[i][fmt.Sprintf("%s %d", id, tr.ID)]; ok {
					found = tr.Status == api.Told && tr.Y == y
				}
			}
			if !found {
				t.Errorf("%s: trial %v is not what was told", id, tr)
			}
		}
	}
	if total != len(seen) {
		t.Errorf("%d trials in the logs, %d handed out", total, len(seen))
	}
}

// One ID is one study, however many clients create it at once.
func TestConcurrentCreation(t *testing.T) {
	m := open(t, study.Config{Dir: t.TempDir()})
	k := twin.Kinds(t)[0].Study
	k.ID = "s"
	var wg sync.WaitGroup
	made := make([]bool, 16)
	for i := range made {
		wg.Add(1)
		go func() {
			defer wg.Done()
			fingerprint := fmt.Sprint(i % 2)
			_, again, err := m.Create(t.Context(), fingerprint, &k)
			made[i] = err == nil && !again
			if err != nil && !errors.Is(err, study.ErrStudyExists) {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	n := 0
	for _, v := range made {
		if v {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d requests made the study", n)
	}
}

// Whoever waits does not wait longer than the context; whoever is late finds
// the service closed.
func TestContextAndClose(t *testing.T) {
	m := open(t, study.Config{Dir: t.TempDir()})
	s, w := create(t, m, "s", twin.Kinds(t)[0])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := do(ctx, s, "k", twin.Op{Kind: "ask", N: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if d := diff(s, w); d != "" {
		t.Fatal(d)
	}
	same(t, s, w, twin.Op{Kind: "ask", N: 1})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := do(t.Context(), s, "", twin.Op{Kind: "ask", N: 1}); !errors.Is(err, study.ErrStopped) {
		t.Error(err)
	}
	q := twin.Kinds(t)[0].Study
	q.ID = "late"
	if _, _, err := m.Create(t.Context(), "f", &q); !errors.Is(err, study.ErrStopped) {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}
