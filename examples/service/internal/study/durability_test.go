package study_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

func encode(t *testing.T, p *cmbo.Prior) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A study does what an optimiser in the process does, through any number of
// restarts, whatever is predicted and looked at in between.
func TestStudyIsItsTwin(t *testing.T) {
	for _, k := range twin.Kinds(t) {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			rng := twin.RNG(t)
			dir := t.TempDir()
			m := open(t, study.Config{Dir: dir})
			s, w := create(t, m, "s", k)
			weights := map[int][]float64{} // by trial
			expected := 0
			for step := range 60 {
				before, err := w.Opt.Weights(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				n := len(w.Trials())
				same(t, s, w, w.Next(rng))
				for id := n + 1; id <= len(w.Trials()); id++ {
					weights[id] = before
					tr, _ := s.Trial(id)
					mean, sd, err := w.Opt.Predict(t.Context(), tr.X)
					if e := tr.Expected; e != nil && (err != nil || e.Mean != mean || e.SD != sd) {
						t.Fatalf("expected %+v of trial %d, the twin %g and %g: %v", *e, id, mean, sd, err)
					} else if e != nil {
						expected++
					}
				}
				if d := diff(s, w); d != "" {
					t.Fatalf("step %d: %s", step, d)
				}
				for id, want := range weights {
					if tr, ok := s.Trial(id); !ok || !slices.Equal(tr.Weights, want) {
						t.Fatalf("trial %d was chosen with weights %v, want %v", id, tr.Weights, want)
					}
				}
				switch rng.IntN(6) {
				case 0:
					if err := m.Close(); err != nil {
						t.Fatal(err)
					}
					m = open(t, study.Config{Dir: dir})
					var err error
					if s, err = m.Study("s"); err != nil {
						t.Fatal(err)
					}
				case 1:
					x := k.Study.Space.Params()
					if _, err := s.Predict(t.Context(), [][]float64{lowest(x)}); err != nil {
						t.Fatal(err)
					}
				case 2:
					if _, _, _, err := s.LastStep(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if expected == 0 {
				t.Error("nothing was expected of any trial")
			}
		})
	}
}

func lowest(params []cmbo.Param) []float64 {
	x := make([]float64, len(params))
	for i, p := range params {
		x[i], _ = p.Bounds()
	}
	return x
}

// logFile is the log of study s in a file system in memory.
type logFile struct{ *disktest.FS }

func (f logFile) read(t *testing.T) []byte {
	t.Helper()
	b, err := f.ReadFile(filepath.Join("d", "studies", "s.log"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (f logFile) write(t *testing.T, b []byte) {
	t.Helper()
	if err := disk.WriteFile(f, filepath.Join("d", "studies", "s.log"), b); err != nil {
		t.Fatal(err)
	}
}

var markFile = filepath.Join("d", "marks", "s.mark")

func (f logFile) readMark(t *testing.T) []byte {
	t.Helper()
	b, err := f.ReadFile(markFile)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (f logFile) writeMark(t *testing.T, b []byte) {
	t.Helper()
	if err := disk.WriteFile(f, markFile, b); err != nil {
		t.Fatal(err)
	}
}

// study1 returns study s.
func study1(t *testing.T, m *study.Manager) *study.Study {
	t.Helper()
	s, err := m.Study("s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var everyByte = flag.Bool("every-byte", false, "cut the log at every byte, not at some")

// A log cut at any byte gives the study after the requests whose lines are
// whole: trials, best and the next proposal. Requests are all or nothing, also
// those for several trials.
func TestLogCutAtAnyByte(t *testing.T) {
	k := twin.Kinds(t)[2]
	rng := twin.RNG(t)
	log := logFile{disktest.New(rng)}
	config := study.Config{Dir: "d", FS: log}
	m := open(t, config)
	s, w := create(t, m, "s", k)
	var ops []twin.Op
	ends, marks := []int{len(log.read(t))}, [][]byte{log.readMark(t)}
	for len(ops) < 14 {
		op := w.Next(rng)
		same(t, s, w, op)
		if n := len(log.read(t)); n > ends[len(ends)-1] {
			ops, ends, marks = append(ops, op), append(ends, n), append(marks, log.readMark(t))
		}
	}
	whole := log.read(t)
	// Every third byte, or all; what is proposed next at all ends of lines, and
	// at some bytes between.
	every, asked := 3, 0
	switch {
	case *everyByte:
		every = 1
	case testing.Short():
		every = 11
	}
	for n := 0; n <= len(whole); n++ {
		done := 0
		for done < len(ops) && ends[done+1] <= n {
			done++
		}
		end := ends[done] == n
		if !end && n%every != 0 {
			continue
		}
		log.write(t, whole[:n])
		log.writeMark(t, marks[max(done-rng.IntN(2), 0)]) // a kill may come between the log and the mark
		if n < ends[0] {
			damagedStudy(t, log)
			continue
		}
		s := study1(t, open(t, config))
		w, err := twin.New(k)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range ops[:done] {
			if _, err := w.Apply(op); err != nil {
				t.Fatal(err)
			}
		}
		if d := diff(s, w); d != "" {
			t.Fatalf("%d bytes, %d requests: %s", n, done, d)
		}
		if size := len(log.read(t)); size != ends[done] {
			t.Fatalf("%d bytes were cut to %d, not to %d", n, size, ends[done])
		}
		if end || rng.IntN(40) == 0 {
			same(t, s, w, twin.Op{Kind: "ask", N: 1})
			asked++
		}
	}
	t.Logf("a log of %d bytes and %d requests, %d proposals compared", len(whole), len(ops), asked)
}

// Lines that were acknowledged and are lost from the end of the log, or are zeros there,
// make the study a damaged one; without its mark it goes on from what is left, as after a
// line that was never finished.
func TestAcknowledgedLinesLost(t *testing.T) {
	k := twin.Kinds(t)[0]
	rng := twin.RNG(t)
	log := logFile{disktest.New(rng)}
	config := study.Config{Dir: "d", FS: log}
	m := open(t, config)
	s, w := create(t, m, "s", k)
	ends := []int{len(log.read(t))}
	for len(ends) < 8 {
		same(t, s, w, w.Next(rng))
		if n := len(log.read(t)); n > ends[len(ends)-1] {
			ends = append(ends, n)
		}
	}
	whole, mark := log.read(t), log.readMark(t)
	for _, end := range ends[:len(ends)-1] {
		zeroed := bytes.Clone(whole)
		clear(zeroed[end:])
		half := bytes.Clone(whole) // the first half of a line is there still
		clear(half[end+(ends[1]-ends[0])/2:])
		for _, b := range [][]byte{whole[:end], zeroed, half} {
			log.write(t, b)
			log.writeMark(t, mark)
			damagedStudy(t, log)
		}
	}
	log.write(t, whole[:ends[2]])
	if err := log.Remove(markFile); err != nil {
		t.Fatal(err)
	}
	if got := study1(t, open(t, config)); got.Damaged() != nil {
		t.Error(got.Damaged())
	}
	// A study that is made again under the ID of one that was deleted is not held to its
	// mark, even if that was left.
	log.write(t, whole)
	log.writeMark(t, mark)
	m = open(t, config)
	if err := m.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := log.ReadFile(markFile); err == nil {
		t.Error("the mark of a deleted study is there")
	}
	log.writeMark(t, mark)
	m = open(t, config)
	create(t, m, "s", k)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if got := study1(t, open(t, config)); got.Damaged() != nil {
		t.Error(got.Damaged())
	}
}

// damagedStudy checks that study s is known, damaged and left alone.
func damagedStudy(t *testing.T, log logFile) {
	t.Helper()
	before := log.read(t)
	reported := 0
	s := study1(t, open(t, study.Config{Dir: "d", FS: log, Report: func(id string, err error) { reported++ }}))
	var damaged *study.DamagedError
	if reported != 1 || !errors.As(s.Damaged(), &damaged) {
		t.Fatalf("%d bytes: not damaged: %v", len(before), s.Damaged())
	}
	if _, _, err := do(t.Context(), s, "", twin.Op{Kind: "ask", N: 1}); !errors.As(err, &damaged) {
		t.Fatalf("a damaged study answers %v", err)
	}
	if !bytes.Equal(before, log.read(t)) {
		t.Fatal("the damaged file was changed")
	}
}

// A damaged byte anywhere is noticed and does not touch other studies.
func TestDamagedLog(t *testing.T) {
	rng := twin.RNG(t)
	log := logFile{disktest.New(rng)}
	m := open(t, study.Config{Dir: "d", FS: log})
	s, w := create(t, m, "s", twin.Kinds(t)[1])
	other, otherTwin := create(t, m, "other", twin.Kinds(t)[0])
	for range 12 {
		same(t, s, w, w.Next(rng))
		same(t, other, otherTwin, otherTwin.Next(rng))
	}
	whole := log.read(t)
	for range 60 {
		b := bytes.Clone(whole)
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		log.write(t, b)
		damagedStudy(t, log)
	}
	m = open(t, study.Config{Dir: "d", FS: log, Report: func(string, error) {}})
	other, err := m.Study("other")
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(other, otherTwin); d != "" {
		t.Fatal(d)
	}
	same(t, other, otherTwin, twin.Op{Kind: "ask", N: 1})
	if err := m.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Study("s"); !errors.Is(err, study.ErrUnknownStudy) {
		t.Error(err)
	}
}

// A request that is repeated with its key is done once, also after a restart.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	m := open(t, study.Config{Dir: dir})
	s, w := create(t, m, "s", twin.Kinds(t)[0])
	ops := []twin.Op{
		{Kind: "ask", N: 3}, {Kind: "tell", Trial: 2, Y: 1.5}, {Kind: "fail", Trial: 1}, {Kind: "cancel", Trial: 3},
		{Kind: "observe", X: lowest(w.Kind.Study.Space.Params()), Y: 2}, {Kind: "ask", N: 1},
	}
	for i, op := range ops {
		key := fmt.Sprintf("K.%d_-", i)
		first, again, err := do(t.Context(), s, key, op)
		if err != nil || again {
			t.Fatal(again, err)
		}
		if _, err := w.Apply(op); err != nil {
			t.Fatal(err)
		}
		for restart := range 2 {
			if restart == 1 {
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				m = open(t, study.Config{Dir: dir})
				s = study1(t, m)
			}
			second, again, err := do(t.Context(), s, key, op)
			if err != nil || !again {
				t.Fatalf("%v repeated: %v, %v", op, again, err)
			}
			if d := twin.DiffTrials(second, first); d != "" {
				t.Fatal(d)
			}
			other := op
			other.Y++
			if _, _, err := do(t.Context(), s, key, other); !errors.Is(err, study.ErrKeyReused) {
				t.Fatalf("another request with the key: %v", err)
			}
			if d := diff(s, w); d != "" {
				t.Fatal(d)
			}
		}
	}
	// A key of a request that failed is free.
	if _, _, err := do(t.Context(), s, "free", twin.Op{Kind: "tell", Trial: 1, Y: 1}); !errors.Is(err, cmbo.ErrTrialClosed) {
		t.Fatal(err)
	}
	if _, again, err := do(t.Context(), s, "free", twin.Op{Kind: "tell", Trial: 4, Y: 1}); err != nil || again {
		t.Fatal(again, err)
	}
	for _, key := range []string{"a b", "ä", strings.Repeat("a", 65), "a\n"} {
		if _, _, err := do(t.Context(), s, key, twin.Op{Kind: "ask", N: 1}); !errors.Is(err, study.ErrKey) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}
