package study_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// pastTasks are two tasks over a parameter x in [0, 1].
func pastTasks() []api.Task {
	return []api.Task{
		{ID: "one", X: []api.Row{{0.1}, {0.5}, {0.9}}, Y: api.Row{1, 2, 3}},
		{ID: "two", X: []api.Row{{0.2}, {0.6}}, Y: api.Row{5, 1}, NoiseVariance: api.Row{0.1, 0}},
	}
}

func unitSpace(t *testing.T) *cmbo.Space {
	t.Helper()
	s, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Priors are kept by their content, whether they are learned, uploaded or made
// with a study, and a name means the same as long as they are kept.
func TestPriors(t *testing.T) {
	dir := t.TempDir()
	m := open(t, study.Config{Dir: dir})
	points := 8
	learn := api.Learn{Tasks: pastTasks(), IndexPoints: &points}
	a, err := m.LearnPrior(t.Context(), &api.NewPrior{Name: "a", Space: unitSpace(t), Learn: learn})
	if err != nil {
		t.Fatal(err)
	}
	var tasks []cmbo.Task
	for _, task := range pastTasks() {
		tasks = append(tasks, task.Task())
	}
	want, err := cmbo.Learn(t.Context(), unitSpace(t), tasks, cmbo.WithIndexPoints(points))
	if err != nil {
		t.Fatal(err)
	}
	if digest, _ := want.Digest(); a.Digest != digest || a.Prior.NumTasks() != 2 || !slices.Equal(a.Names, []string{"a"}) || a.Bytes == 0 {
		t.Fatalf("learned %s, want %s", a.Digest, digest)
	}
	// The same content is the same prior, and may have several names.
	b, err := m.AddPrior(t.Context(), "b", encode(t, want))
	if err != nil || b.Digest != a.Digest || b.Prior != a.Prior || !slices.Equal(b.Names, []string{"a", "b"}) {
		t.Fatalf("%+v, %v", b.PriorFile, err)
	}
	other, err := cmbo.Learn(t.Context(), unitSpace(t), tasks[:1], cmbo.WithIndexPoints(points))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.AddPrior(t.Context(), "a", encode(t, other)); !errors.Is(err, study.ErrNameTaken) {
		t.Fatalf("a name was given to another prior: %v", err)
	}
	if _, err := m.AddPrior(t.Context(), "", encode(t, other)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"A", "../a", "a.b", "_a", "a b", string(bytes.Repeat([]byte("a"), 64))} {
		if _, err := m.AddPrior(t.Context(), name, encode(t, other)); !errors.Is(err, study.ErrName) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if _, err := m.Prior(t.Context(), "c"); !errors.Is(err, study.ErrUnknownPrior) {
		t.Error(err)
	}
	if _, err := m.AddPrior(t.Context(), "", []byte("cmboprior\x01 but nothing else, though this is long enough for a sum")); !errors.Is(err, study.ErrRequest) {
		t.Error(err)
	}

	s, _, err := m.Create(t.Context(), "f", &api.NewStudy{ID: "named", Space: unitSpace(t), Prior: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if digest, name := s.Prior(); digest != a.Digest || name != "b" || s.PastTasks() != len(tasks) {
		t.Fatal(digest, name)
	}
	s, _, err = m.Create(t.Context(), "f", &api.NewStudy{ID: "learned", Space: unitSpace(t), Learn: &learn})
	if err != nil {
		t.Fatal(err)
	}
	if digest, name := s.Prior(); digest != a.Digest || name != "" {
		t.Fatal(digest, name)
	}
	files := m.Priors()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = open(t, study.Config{Dir: dir})
	if again := m.Priors(); fmt.Sprint(again) != fmt.Sprint(files) || len(again) != 2 {
		t.Fatalf("after a restart %v, before %v", again, files)
	}
	if b, err := m.EncodedPrior("a"); err != nil || !bytes.Equal(b, encode(t, want)) {
		t.Fatal(err)
	}
}

// A request that is refused its name keeps no prior, which nobody would know of; nor does one whose name there is
// no room for, nor a study that is refused.
func TestRefusedNamesKeepNothing(t *testing.T) {
	l := study.DefaultLimits()
	l.Priors = 2
	dir := t.TempDir()
	m := open(t, study.Config{Dir: dir, Limits: l})
	learn := func(name string, tasks int) (study.PriorInfo, error) {
		return m.LearnPrior(t.Context(), &api.NewPrior{Name: name, Space: unitSpace(t), Learn: api.Learn{Tasks: pastTasks()[:tasks]}})
	}
	kept, err := learn("a", 2)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := cmbo.NewSpace(cmbo.Float("x", 0, 1), cmbo.Float("y", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	adopt := &api.Adopt{Name: "a", Space: wide, Changes: cmbo.Changes{Defaults: map[string]any{"y": 0.5}}}
	for range 2 {
		_, learned := learn("a", 1)
		_, added := m.AddPrior(t.Context(), "a", encode(t, learnOther(t)))
		_, _, adopted := m.Adopt(t.Context(), "a", adopt)
		for what, err := range map[string]error{"learned": learned, "added": added, "adopted": adopted} {
			if !errors.Is(err, study.ErrNameTaken) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if again, err := learn("b", 2); err != nil || again.Digest != kept.Digest {
		t.Fatal(err)
	}
	var full *study.LimitError
	if _, err := learn("c", 1); !errors.As(err, &full) {
		t.Errorf("a third name: %v", err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "priors"))
	if err != nil || len(files) != 1 || len(m.Priors()) != 1 {
		t.Errorf("%d files and %d priors, want the one that has names (%v)", len(files), len(m.Priors()), err)
	}
	long := &api.NewStudy{ID: "s", Space: unitSpace(t), Learn: &api.Learn{Tasks: pastTasks()[1:]}, Objective: strings.Repeat("y", 100)}
	vague := &api.NewStudy{ID: "s", Space: unitSpace(t), Learn: long.Learn, Options: api.Options{Context: api.Context{"size": []any{1}}}}
	other := &api.NewStudy{ID: "s", Space: unitSpace(t), Learn: long.Learn, Options: api.Options{Minimize: true}} // than its prior
	for _, q := range []*api.NewStudy{long, vague, other} {
		if _, _, err := m.Create(t.Context(), "f", q); err == nil || len(m.Priors()) != 1 {
			t.Errorf("a study that is refused leaves %d priors: %v", len(m.Priors()), err)
		}
	}
	if _, err := learn("", 1); err != nil {
		t.Errorf("a second prior has no room: %v", err)
	}
	third := &api.NewStudy{ID: "s", Space: unitSpace(t), Learn: long.Learn}
	if _, _, err := m.Create(t.Context(), "f", third); err == nil || err.Error() != "no more than 2 priors are kept" {
		t.Errorf("a study with a third prior: %v", err)
	}
	if studies, err := os.ReadDir(filepath.Join(dir, "studies")); err != nil || len(studies) != 0 {
		t.Errorf("refused studies leave %v (%v)", studies, err)
	}
}

// Studies over one list share what the prior makes of it, also after a restart and with another prior; those that run
// over parameters, or another list, have their own. The prior that is kept is the one that was given.
func TestPriorOfCandidates(t *testing.T) {
	config := study.Config{Dir: t.TempDir()}
	m := open(t, config)
	list, box := twin.Kinds(t)[3], twin.Kinds(t)[2]
	create(t, m, "a", list)
	create(t, m, "b", list)
	create(t, m, "box", box)
	short := list
	var err error
	if short.Study.Space, err = box.Study.Space.WithCandidates([][]float64{{0, 0.1}, {1, 0.2}}); err != nil {
		t.Fatal(err)
	}
	create(t, m, "short", short)
	priors := digests(t, m, list)
	check := func(what string, want int, with ...string) {
		t.Helper()
		made := map[*cmbo.Prior]bool{}
		for i, s := range m.Studies() {
			made[study.PriorOf(s)] = true
			if digest, _ := s.Prior(); digest != with[i] {
				t.Errorf("%s: study %s has prior %s, want %s", what, s.ID(), digest, with[i])
			}
		}
		if len(made) != want || len(m.Priors()) != 2 {
			t.Errorf("%s: the studies have %d priors in memory, want %d; %d are kept, want 2", what, len(made), want, len(m.Priors()))
		}
	}
	restart := func() {
		t.Helper()
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m = open(t, config)
	}
	first, other := priors[0], priors[1]
	check("made", 3, first, first, first, first)
	restart()
	check("after a restart", 3, first, first, first, first)
	for _, id := range []string{"a", "b", "box"} {
		if _, err := m.SetPrior(t.Context(), id, other); err != nil {
			t.Fatal(err)
		}
	}
	check("with another prior", 3, other, other, other, first)
	restart()
	check("with another prior, after a restart", 3, other, other, other, first)
}

// A study whose prior is gone or damaged is damaged itself, and well again when
// the file is back.
func TestPriorGone(t *testing.T) {
	dir := t.TempDir()
	m := open(t, study.Config{Dir: dir})
	s, w := create(t, m, "s", twin.Kinds(t)[2])
	same(t, s, w, twin.Op{Kind: "ask", N: 1})
	digest, _ := s.Prior()
	if _, err := m.AddPrior(t.Context(), "name", encode(t, twin.Kinds(t)[2].Prior)); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "priors", digest+".prior")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 4
	version := bytes.Clone(whole)
	version[9] ^= 4
	otherPrior := encode(t, learnOther(t))
	for name, content := range map[string][]byte{"gone": nil, "cut": whole[:len(whole)-1], "flipped": flipped, "its version flipped": version, "another": otherPrior} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if content != nil {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var reported error
		m := open(t, study.Config{Dir: dir, Report: func(_ string, err error) { reported = err }})
		if reported == nil || study1(t, m).Damaged() == nil {
			t.Errorf("%s: the study is not damaged", name)
		}
		if _, err := m.Prior(t.Context(), "name"); err == nil || name == "gone" && !errors.Is(err, study.ErrUnknownPrior) {
			t.Errorf("%s: the name stands for a prior: %v", name, err)
		}
		if name != "gone" && !errors.Is(reported, disk.ErrDamaged) {
			t.Errorf("%s: %v", name, reported)
		}
		if _, err := m.AddPrior(t.Context(), "", whole); err != nil {
			t.Fatalf("%s, and sent again: %v", name, err)
		}
		if s, err := m.SetPrior(t.Context(), "s", digest); err != nil || diff(s, w) != "" {
			t.Errorf("%s, and sent again: %v", name, err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, study1(t, open(t, study.Config{Dir: dir})), w, twin.Op{Kind: "ask", N: 1})
}

func learnOther(t *testing.T) *cmbo.Prior {
	t.Helper()
	task := pastTasks()[0].Task()
	p, err := cmbo.Learn(t.Context(), unitSpace(t), []cmbo.Task{task}, cmbo.WithIndexPoints(5))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Where values are said to be positive, others are refused, and the prior says it to its studies.
func TestPositiveValues(t *testing.T) {
	m := open(t, study.Config{Dir: t.TempDir()})
	task := api.Task{ID: "past", X: []api.Row{{0.1}, {0.5}, {0.9}}, Y: api.Row{1, 10, 0.1}}
	prior, err := m.LearnPrior(t.Context(), &api.NewPrior{Name: "p", Space: unitSpace(t), Learn: api.Learn{Tasks: []api.Task{task}, Positive: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []*api.NewStudy{
		{ID: "alone", Space: unitSpace(t), Options: api.Options{Positive: true}},
		{ID: "after", Space: unitSpace(t), Prior: prior.Digest},
	} {
		s, _, err := m.Create(t.Context(), q.ID, q)
		if err != nil {
			t.Fatal(err)
		}
		for y, want := range map[float64]error{-1: cmbo.ErrValue, 2: nil} {
			if _, _, err := do(t.Context(), s, "", twin.Op{Kind: "observe", X: []float64{0.3}, Y: y}); !errors.Is(err, want) {
				t.Errorf("%s: value %g: %v", q.ID, y, err)
			}
		}
	}
	task.Y[1] = 0
	if _, err := m.LearnPrior(t.Context(), &api.NewPrior{Space: unitSpace(t), Learn: api.Learn{Tasks: []api.Task{task}, Positive: true}}); !errors.Is(err, cmbo.ErrValue) {
		t.Errorf("a past value of 0: %v", err)
	}
}

// What studies have observed is something to learn from.
func TestLearnFromStudies(t *testing.T) {
	m := open(t, study.Config{Dir: t.TempDir()})
	var tasks []cmbo.Task
	for i := range 3 {
		id := fmt.Sprintf("past-%d", i)
		s, _, err := m.Create(t.Context(), id, &api.NewStudy{ID: id, Space: unitSpace(t), Options: api.Options{Minimize: true}})
		if err != nil {
			t.Fatal(err)
		}
		task := cmbo.Task{ID: id}
		for j := range 4 {
			x, y := []float64{float64(j) / 5}, float64(i*j%3)
			if _, _, err := do(t.Context(), s, "", twin.Op{Kind: "observe", X: x, Y: y}); err != nil {
				t.Fatal(err)
			}
			task.X, task.Y = append(task.X, x), append(task.Y, y)
		}
		tasks = append(tasks, task)
	}
	points := 6
	q := &api.NewPrior{Name: "p", Learn: api.Learn{Studies: []string{"past-0", "past-1", "past-2"}, Minimize: true, IndexPoints: &points}}
	p, err := m.LearnPrior(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	want, err := cmbo.Learn(t.Context(), unitSpace(t), tasks, cmbo.WithMinimize(), cmbo.WithIndexPoints(points))
	if err != nil {
		t.Fatal(err)
	}
	if digest, _ := want.Digest(); digest != p.Digest {
		t.Error("another prior than the library learns from the same tasks")
	}
	if again, err := m.LearnPrior(t.Context(), q); err != nil || again.Digest != p.Digest {
		t.Errorf("the same request again: %v", err)
	}
	q.Minimize = false
	if _, err := m.LearnPrior(t.Context(), q); !errors.Is(err, study.ErrRequest) {
		t.Errorf("another direction: %v", err)
	}
	q.Minimize, q.Studies = true, []string{"nobody"}
	if _, err := m.LearnPrior(t.Context(), q); !errors.Is(err, study.ErrRequest) || errors.Is(err, study.ErrUnknownStudy) {
		t.Errorf("an unknown study: %v", err)
	}
	other, err := cmbo.NewSpace(cmbo.Float("x", 0, 2))
	if err != nil {
		t.Fatal(err)
	}
	q.Studies, q.Space = []string{"past-0"}, other
	if _, err := m.LearnPrior(t.Context(), q); !errors.Is(err, study.ErrRequest) {
		t.Errorf("other parameters: %v", err)
	}
}

// The options of a prior are the library's.
func TestLearnOptions(t *testing.T) {
	m := open(t, study.Config{Dir: t.TempDir()})
	points := 6
	learn := api.Learn{Tasks: pastTasks(), YPolicy: "copula", IndexPoints: &points}
	p, err := m.LearnPrior(t.Context(), &api.NewPrior{Space: unitSpace(t), Learn: learn})
	if err != nil {
		t.Fatal(err)
	}
	var tasks []cmbo.Task
	for i := range learn.Tasks {
		tasks = append(tasks, learn.Tasks[i].Task())
	}
	want, err := cmbo.Learn(t.Context(), unitSpace(t), tasks, cmbo.WithYPolicy(cmbo.Copula), cmbo.WithIndexPoints(points))
	if err != nil {
		t.Fatal(err)
	}
	if digest, _ := want.Digest(); digest != p.Digest {
		t.Error("another prior than the library's")
	}
}

// The cost of an evaluation that was stopped and resumed is that of its trials together, whose limit decides what is the
// best, as in the library; not of one whose steps it began again, and unknown where one is.
func TestCostOfResumed(t *testing.T) {
	limit := 60.0
	o := api.Options{Checkpoints: true, Outputs: []api.Output{{Name: "seconds", Cost: true, AtMost: &limit}}}
	m := open(t, study.Config{Dir: t.TempDir()})
	for name, c := range map[string]struct {
		first api.Values
		begin int // the step that the second trial reports first
		holds bool
	}{
		"together": {api.Values{"seconds": 45}, 2, true}, "dear": {api.Values{"seconds": 51}, 2, false},
		"unknown": {nil, 2, false}, "anew": {api.Values{"seconds": 51}, 1, true},
	} {
		s, _, err := m.Create(t.Context(), name, &api.NewStudy{ID: name, Space: unitSpace(t), Options: o})
		if err != nil {
			t.Fatal(err)
		}
		ctx, q := t.Context(), study.Request{}
		for k := range 2 {
			_, _, err := s.Enqueue(ctx, q, []float64{0.5})
			_, _, err2 := s.Ask(ctx, q, 1, nil)
			_, _, err3 := s.Report(ctx, q, k+1, 1+k*(c.begin-1), 1)
			if err := errors.Join(err, err2, err3); err != nil {
				t.Fatal(err)
			}
			if k == 0 {
				_, _, err = s.TellStopped(ctx, q, 1, c.first)
			} else {
				_, _, err = s.Tell(ctx, q, 2, study.Measured{Y: 2, Outputs: api.Values{"seconds": 10}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := s.Summary().Best != nil; got != c.holds {
			t.Errorf("%s: a best value %v, want %v", name, got, c.holds)
		}
	}
}

// A prior is removed with all its names unless a study runs with it, whatever has become of the study: one that was given
// it, learned it, has gone on with it, runs with it over a list, or cannot be opened. Its names and its place are free then.
func TestDeletePrior(t *testing.T) {
	limits := study.DefaultLimits()
	limits.Priors = 3
	damaged := 0
	config := study.Config{Dir: t.TempDir(), Limits: limits, Report: func(string, error) { damaged++ }}
	m := open(t, config)
	box, list := twin.Kinds(t)[2], twin.Kinds(t)[3]
	create(t, m, "box", box)
	create(t, m, "list", list)
	create(t, m, "plain", twin.Kinds(t)[0])
	priors := digests(t, m, box)
	first, other := priors[0], priors[1]
	for _, name := range []string{"a", "b"} {
		if _, err := m.AddPrior(t.Context(), name, encode(t, box.Prior)); err != nil {
			t.Fatal(err)
		}
	}
	points := 5
	learn := &api.Learn{IndexPoints: &points, Tasks: pastTasks()}
	learned, _, err := m.Create(t.Context(), "learned", &api.NewStudy{ID: "learned", Space: unitSpace(t), Learn: learn})
	if err != nil {
		t.Fatal(err)
	}
	own, _ := learned.Prior()
	refused := func(ref string, want ...string) {
		t.Helper()
		var used *study.PriorInUseError
		if err := m.DeletePrior(ref); !errors.As(err, &used) || !slices.Equal(used.Studies, want) {
			t.Fatalf("%s is removed: %v, want studies %q", ref, err, want)
		}
	}
	deleted := func(ref string) {
		t.Helper()
		if err := m.DeletePrior(ref); err != nil {
			t.Fatal(err)
		}
		if err := m.DeletePrior(ref); !errors.Is(err, study.ErrUnknownPrior) {
			t.Fatalf("%s is removed twice: %v", ref, err)
		}
	}
	restart := func() {
		t.Helper()
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if err := m.DeletePrior(other); !errors.Is(err, study.ErrStopped) {
			t.Fatalf("removed of a directory that is closed: %v", err)
		}
		m = open(t, config)
	}
	refused("b", "box", "list")
	refused(own, "learned")
	if err := m.DeletePrior("nobody"); !errors.Is(err, study.ErrUnknownPrior) {
		t.Error(err)
	}
	// What a study ran with before is not needed.
	if _, err := m.SetPrior(t.Context(), "box", other); err != nil {
		t.Fatal(err)
	}
	refused(other, "box")
	refused(first, "list")
	// A study that cannot be opened runs with it if its log says so anywhere.
	log := filepath.Join(config.Dir, "studies", "list.log")
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	restart()
	if damaged != 1 {
		t.Fatalf("%d studies are damaged", damaged)
	}
	refused("a", "list")
	if err := m.Delete(t.Context(), "list"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.AddPrior(t.Context(), "c", encode(t, learnOther(t))); err == nil {
		t.Fatal("there is room for a fourth prior")
	}
	deleted("a")
	again, err := m.AddPrior(t.Context(), "b", encode(t, learnOther(t)))
	if err != nil || !slices.Equal(again.Names, []string{"b"}) {
		t.Fatalf("its name is given to another: %v %v", again.Names, err)
	}
	for _, ref := range []string{first, "a"} {
		_, err := m.Prior(t.Context(), ref)
		_, err2 := m.EncodedPrior(ref)
		_, err3 := m.SetPrior(t.Context(), "box", ref)
		_, _, err4 := m.Create(t.Context(), "f", &api.NewStudy{ID: "new", Space: box.Study.Space, Prior: ref})
		if !errors.Is(err, study.ErrUnknownPrior) || !errors.Is(err2, study.ErrUnknownPrior) || !errors.Is(err3, study.ErrUnknownPrior) ||
			!errors.Is(err4, study.ErrRequest) {
			t.Errorf("%s is there: %v, %v, %v, %v", ref, err, err2, err3, err4)
		}
	}
	files := m.Priors()
	restart()
	if now := m.Priors(); fmt.Sprint(now) != fmt.Sprint(files) || len(now) != 3 {
		t.Fatalf("after a restart %v, before %v", now, files)
	}
	for dir, want := range map[string]int{"priors": 3, "names": 1} {
		if files, err := os.ReadDir(filepath.Join(config.Dir, dir)); err != nil || len(files) != want {
			t.Errorf("%d files in %s, want %d (%v)", len(files), dir, want, err)
		}
	}
	// A prior whose file is gone leaves its names, which go with it.
	if err := os.Remove(filepath.Join(config.Dir, "priors", again.Digest+".prior")); err != nil {
		t.Fatal(err)
	}
	restart()
	deleted("b")
}

// Studies that are made, or given another prior, while it is removed have it or are refused it.
func TestDeletePriorMeanwhile(t *testing.T) {
	config := study.Config{Dir: t.TempDir()}
	m := open(t, config)
	k := twin.Kinds(t)[2]
	create(t, m, "s", k)
	rng := twin.RNG(t)
	var kept, gone int
	for round := range 80 {
		if _, err := m.AddPrior(t.Context(), "other", encode(t, k.Other)); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("new-%d", round)
		var made, set, removed error
		var wg sync.WaitGroup
		wait := func(n int) func() {
			d := time.Duration(rng.IntN(n)) * 10 * time.Microsecond
			return func() { time.Sleep(d) }
		}
		create, give, remove := wait(60), wait(60), wait(200)
		wg.Go(func() {
			create()
			_, _, made = m.Create(t.Context(), "f", &api.NewStudy{ID: id, Space: k.Study.Space, Prior: "other"})
		})
		wg.Go(func() {
			give()
			_, set = m.SetPrior(t.Context(), "s", "other")
		})
		wg.Go(func() {
			remove()
			removed = m.DeletePrior("other")
		})
		wg.Wait()
		var used *study.PriorInUseError
		if removed == nil == (made == nil || set == nil) || removed != nil && !errors.As(removed, &used) ||
			made != nil && !errors.Is(made, study.ErrRequest) || set != nil && !errors.Is(set, study.ErrUnknownPrior) {
			t.Fatalf("made: %v, set: %v, removed: %v", made, set, removed)
		}
		if removed == nil {
			gone++
			continue
		}
		kept++
		if made == nil {
			if err := m.Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.SetPrior(t.Context(), "s", digests(t, m, k)[0]); err != nil {
			t.Fatal(err)
		}
	}
	// One that is learned with a study is the study's from the moment it is kept.
	learn := &api.NewStudy{ID: "learned", Space: unitSpace(t), Learn: &api.Learn{Tasks: pastTasks()}}
	own := ""
	for range 10 {
		done := make(chan error)
		go func() {
			_, _, err := m.Create(t.Context(), "f", learn)
			done <- err
		}()
		for waits := true; waits; {
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				waits = false
			default:
				if own != "" && m.DeletePrior(own) == nil {
					t.Fatal("the prior of a study that is being made is removed")
				}
			}
		}
		s, err := m.Study("learned")
		if err != nil {
			t.Fatal(err)
		}
		own, _ = s.Prior()
		if err := errors.Join(m.Delete(t.Context(), "learned"), m.DeletePrior(own)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, config) // which reports what is damaged
	t.Logf("it was removed %d times and in use %d times", gone, kept)
	if gone == 0 || kept == 0 {
		t.Error("the test does not try much")
	}
}
