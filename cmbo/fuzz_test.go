package cmbo_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/stretchr/testify/require"
)

// sentinels are the errors of the package; whatever the input, an error wraps
// one of them.
var sentinels = []error{
	cmbo.ErrDimension, cmbo.ErrValue, cmbo.ErrOutOfSpace, cmbo.ErrSpace, cmbo.ErrNoTasks, cmbo.ErrTask,
	cmbo.ErrOutput, cmbo.ErrStep, cmbo.ErrOption, cmbo.ErrPriorMismatch, cmbo.ErrNoCandidates, cmbo.ErrUnknownTrial, cmbo.ErrTrialClosed, cmbo.ErrNumerical,
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return
		}
	}
	t.Fatalf("an error of no kind: %v", err)
}

// reader deals out bytes of a fuzz input.
type reader struct{ b []byte }

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// float returns any float64 at all for a tag of 0, else a multiple of 1/16.
func (r *reader) float() float64 {
	if tag := r.byte(); tag != 0 || len(r.b) < 8 {
		return float64(tag) / 16
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}

// FuzzTell drives an optimiser with arbitrary calls: no panic, no value lost or
// made up, no candidate twice.
func FuzzTell(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 16, 0, 0, 1, 2, 32, 2, 3, 5, 1, 1})
	f.Add([]byte{3, 1, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f})
	f.Add([]byte{4, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 16, 1, 3, 16})
	f.Add([]byte{1, 0, 7, 1, 1, 16, 7, 1, 2, 32, 8, 1, 0, 7, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 0, 7, 3, 5, 8, 8, 3, 8, 3})
	f.Add([]byte{16, 0, 0, 1, 1, 0, 32, 1, 2, 0, 16, 0, 0, 1, 3, 0, 16, 1, 4, 0, 8, 0, 0, 6})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &reader{b: b}
		rows := [][]float64{{0, 0}, {0.5, 0}, {0, 0.5}, {1, 1}, {0.25, 0.75}, {0.75, 0.125}}
		space, err := cmbo.Candidates(rows)
		require.NoError(t, err)
		head := r.byte()
		opts := []cmbo.Option{cmbo.WithInitial(2), cmbo.WithYPolicy(cmbo.YPolicy(head % 4))}
		outputs := func() cmbo.Outputs { return nil }
		if head&16 != 0 {
			opts = append(opts, cmbo.WithOutput("a", cmbo.AtMost(1), cmbo.Optional()), cmbo.WithOutput("b", cmbo.AtLeast(-1), cmbo.Optional()))
			outputs = func() cmbo.Outputs {
				out := cmbo.Outputs{}
				for _, name := range []string{"a", "b", "c"}[:2+r.byte()%16/15] {
					if v := r.float(); v != 7 {
						out[name] = v
					}
				}
				return out
			}
		}
		o := newOptimizer(t, space, opts...)
		asked := make(map[int]bool)
		open := make(map[int]bool)
		told := 0
		for range 40 {
			if len(r.b) == 0 {
				break
			}
			switch r.byte() % 9 {
			case 7:
				id := int(r.byte() % 16)
				p, err := o.Report(ctx, id, int(int8(r.byte())), r.float())
				checkError(t, err)
				if p.Diverged != (err == nil && p.Stop && math.IsNaN(p.Best)) || p.Diverged && !open[id] {
					t.Fatalf("%v, %v", p, err)
				}
				if p.Diverged {
					delete(open, id)
				}
			case 8:
				id := int(r.byte() % 16)
				err := o.TellStopped(ctx, id)
				checkError(t, err)
				if err == nil {
					if !open[id] {
						t.Fatalf("trial %d was stopped without being open", id)
					}
					delete(open, id)
				}
			case 6:
				_, err := o.Outlook(ctx)
				checkError(t, err)
				best, ok := o.Best()
				if ok && best.Violations() != nil {
					t.Fatalf("the best violates %v", best.Violations())
				}
			case 0:
				trial, err := o.Ask(ctx)
				checkError(t, err)
				if err == nil {
					if asked[trial.Index] {
						t.Fatalf("candidate %d proposed twice", trial.Index)
					}
					asked[trial.Index], open[trial.ID] = true, true
				}
			case 1:
				id := int(int8(r.byte()))
				err := o.Tell(id, r.float(), outputs())
				checkError(t, err)
				if err == nil {
					if !open[id] {
						t.Fatalf("trial %d was told without being open", id)
					}
					delete(open, id)
					told++
				}
			case 2:
				id := int(r.byte() % 16)
				err := o.TellFailed(id)
				checkError(t, err)
				if (err == nil) != open[id] {
					t.Fatalf("TellFailed(%d) = %v", id, err)
				}
				delete(open, id)
			case 3:
				x := []float64{r.float(), r.float()}
				err := o.Observe(x, r.float(), outputs())
				checkError(t, err)
				if err == nil {
					told++
					if i := space.Index(x); i >= 0 {
						asked[i] = true
					}
				}
			case 4:
				err := o.Tell(int(r.byte()%8), r.float(), cmbo.WithNoise(r.float()), outputs())
				checkError(t, err)
				if err == nil {
					told++
					open = make(map[int]bool)
					for _, tr := range o.Open() {
						open[tr.ID] = true
					}
				}
			case 5:
				mean, sd, err := o.Predict(ctx, []float64{r.float(), r.float()})
				checkError(t, err)
				if err == nil && (math.IsNaN(mean) || !(sd >= 0)) {
					t.Fatalf("prediction %g ± %g", mean, sd)
				}
			}
			if got := len(o.Observations()); got != told {
				t.Fatalf("%d observations of %d told", got, told)
			}
		}
	})
}

// FuzzLearn gives Learn arbitrary tasks.
func FuzzLearn(f *testing.F) {
	f.Add([]byte{2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5})
	f.Add([]byte{1, 1, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &reader{b: b}
		space := unitCube(t, 1)
		tasks := make([]cmbo.Task, r.byte()%5)
		for j := range tasks {
			tasks[j].ID = string(rune('a' + r.byte()%8))
			for range r.byte() % 6 {
				tasks[j].X = append(tasks[j].X, make([]float64, 1+r.byte()/250))
				tasks[j].X[len(tasks[j].X)-1][0] = r.float()
				tasks[j].Y = append(tasks[j].Y, r.float())
			}
			if r.byte() > 200 {
				tasks[j].NoiseVariance = append(tasks[j].NoiseVariance, r.float(), r.float())
			}
		}
		p, err := cmbo.Learn(ctx, space, tasks, cmbo.WithYPolicy(cmbo.YPolicy(r.byte()%4)), cmbo.WithIndexPoints(8))
		checkError(t, err)
		if err != nil {
			return
		}
		o, err := cmbo.New(space, cmbo.WithPrior(p), cmbo.WithCandidateCounts(16, 4))
		checkError(t, err)
		if err == nil {
			_, err = o.Ask(ctx)
			checkError(t, err)
		}
	})
}

// FuzzDecodePrior: whatever stands behind a right checksum, there is no panic,
// and a prior that is accepted is encoded as it was, has tasks that could be learned from
// anew, their values bounded, and works.
func FuzzDecodePrior(f *testing.F) {
	cube := unitCube(f, 1)
	list, err := cmbo.Candidates([][]float64{{0}, {0.25}, {0.5}, {1}})
	require.NoError(f, err)
	add := func(s *cmbo.Space, tasks []cmbo.Task, opts ...cmbo.LearnOption) {
		p := learn(f, s, tasks, append(opts, cmbo.WithIndexPoints(3))...)
		var b bytes.Buffer
		require.NoError(f, p.Encode(&b))
		f.Add(b.Bytes())
		const count = len("cmboprior") + 2 // of parameters, here in a byte more than it needs
		f.Add(slices.Concat(b.Bytes()[:count], []byte{b.Bytes()[count] | 0x80, 0}, b.Bytes()[count+1:]))
		bits := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
		for was, is := range map[float64]float64{0.0625: -0.0625, 5: 2e150} { // a variance and a value
			f.Add(bytes.ReplaceAll(b.Bytes(), bits(was), bits(is)))
		}
	}
	tasks := []cmbo.Task{{ID: "a", X: [][]float64{{0.1}, {0.7}}, Y: []float64{1, 2}}, {ID: "b", X: [][]float64{{0.3}}, Y: []float64{5}}}
	add(cube, tasks)
	add(list, tasks)
	add(cube, tasks, cmbo.WithMinimize(), cmbo.WithYPolicy(cmbo.Copula), cmbo.WithSeed(1<<63))
	failing := slices.Clone(tasks)
	failing[0].Failed, failing[0].NoiseVariance = [][]float64{{0.9}}, []float64{0.0625, 0}
	failing[1].Outputs = map[string][]float64{"seconds": {3}}
	add(cube, append(failing, cmbo.Task{ID: "crashed", Failed: [][]float64{{0.8}}}))
	outputs := slices.Clone(tasks)
	outputs[0].Outputs = map[string][]float64{"seconds": {1, math.NaN()}, "size": {-1, 2}}
	add(cube, outputs, cmbo.WithMinimize())
	curves := slices.Clone(outputs)
	curves[0].Curves = []cmbo.Curve{{Steps: []int{1, 3}, Values: []float64{3, 1}}, {}}
	curves[0].Context, curves[1].Context = cmbo.Context{"height": 1.0}, cmbo.Context{"height": 2.0, "kind": "b"}
	for i := range curves { // costs over decades, which are learned as logarithms
		curves[i].Outputs = map[string][]float64{"seconds": make([]float64, len(curves[i].Y))}
		for k := range curves[i].Y {
			curves[i].Outputs["seconds"][k] = math.Exp(float64(20 * (2*i - k)))
		}
	}
	add(cube, curves)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = cmbo.Reseal(b)
		p, err := cmbo.DecodePrior(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, cmbo.ErrCorrupt) && !errors.Is(err, cmbo.ErrVersion) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		var again bytes.Buffer
		if err := p.Encode(&again); err != nil {
			t.Fatalf("what was accepted cannot be encoded: %v", err)
		}
		if !bytes.Equal(b, again.Bytes()) {
			t.Fatalf("%d bytes were accepted, and %d others are their encoding", len(b), again.Len())
		}
		if _, err := space.CheckTasks(p.Space(), p.Tasks()); err != nil {
			t.Fatalf("Learn would not take its tasks: %v", err)
		}
		o, err := cmbo.New(p.Space(), cmbo.WithPrior(p), cmbo.WithCandidateCounts(8, 2))
		checkError(t, err)
		if err == nil && p.Space().Dim() < 6 {
			_, err = o.Ask(ctx)
			checkError(t, err)
		}
	})
}

// FuzzRestore: whatever stands behind a right checksum, there is no panic, and
// an optimiser that is accepted is consistent and works.
func FuzzRestore(f *testing.F) {
	space := newSpace(f, cmbo.Float("a", 0, 1), cmbo.Categorical("b", "x", "y"))
	list, err := cmbo.Candidates([][]float64{{0}, {0.5}, {1}})
	require.NoError(f, err)
	for _, s := range []*cmbo.Space{space, list} {
		o := newOptimizer(f, s, cmbo.WithInitial(1), cmbo.WithCandidateCounts(8, 2), cmbo.WithOutput("seconds", cmbo.AsCost(), cmbo.Optional()), cmbo.WithBudget(20))
		for i := range 3 {
			trial := ask(f, o)
			if i == 0 {
				err = o.Tell(trial.ID, 1, cmbo.WithNoise(0.1), cmbo.Outputs{"seconds": 3})
			} else if i == 1 {
				err = o.Cancel(trial.ID)
			}
			require.NoError(f, err)
		}
		var b bytes.Buffer
		require.NoError(f, o.Snapshot(&b))
		f.Add(cmbo.SnapshotState(b.Bytes()))
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		o, err := cmbo.Restore(bytes.NewReader(cmbo.SealSnapshot(state)))
		if err != nil {
			if !errors.Is(err, cmbo.ErrCorrupt) && !errors.Is(err, cmbo.ErrVersion) && !errors.Is(err, cmbo.ErrPriorMismatch) && !errors.Is(err, cmbo.ErrOption) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		var again bytes.Buffer
		require.NoError(t, o.Snapshot(&again))
		if _, err := cmbo.Restore(&again); err != nil {
			t.Fatalf("what was accepted is not accepted again: %v", err)
		}
		for _, trial := range o.Open() {
			require.NoError(t, o.Tell(trial.ID, 0.5))
		}
		if o.Space().Dim() < 6 {
			_, err = o.Ask(ctx)
			checkError(t, err)
		}
	})
}

// FuzzJournal: whatever stands behind right sums, and however a journal is cut,
// there is no panic, and an optimiser that is accepted is that of a journal too.
func FuzzJournal(f *testing.F) {
	list, err := cmbo.Candidates([][]float64{{0}, {0.5}, {1}})
	require.NoError(f, err)
	var journal []byte
	o, err := cmbo.New(list, cmbo.WithInitial(1), cmbo.WithJournal(func(lines []byte) error {
		journal = append(journal, lines...)
		return nil
	}))
	require.NoError(f, err)
	first := bytes.Clone(journal)
	for range 2 {
		trial, err := o.Ask(ctx)
		if err == nil {
			err = o.Tell(trial.ID, 1, cmbo.WithNoise(0.1))
		}
		require.NoError(f, err)
	}
	var entries [][]byte
	for line := range bytes.Lines(journal[len(first):]) {
		_, entry, _ := bytes.Cut(line, []byte(`"entry":`))
		entries = append(entries, bytes.TrimSuffix(entry, []byte("}\n")))
	}
	f.Add(bytes.Join(entries, []byte("\n")), 0)
	f.Add([]byte(`{"event":"observed","x":[0.25],"y":3}`+"\n"+`{"event":"told","trial":1,"y":1}`), 3)
	f.Add([]byte{0}, 0)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		j := cmbo.SealJournal(first, bytes.Split(b, []byte("\n")))
		j = j[:len(j)-min(max(cut, 0), len(j))]
		o, valid, err := cmbo.RestoreJournal(bytes.NewReader(j))
		if err != nil {
			if !errors.Is(err, cmbo.ErrCorrupt) && !errors.Is(err, cmbo.ErrVersion) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		require.LessOrEqual(t, valid, int64(len(j)))
		if line, _, whole := bytes.Cut(j[valid:], []byte("\n")); whole && bytes.IndexByte(line, 0) < 0 { // zeros: a block of it was lost
			t.Fatalf("%d bytes are valid of %d", valid, len(j))
		}
		var state, again bytes.Buffer
		require.NoError(t, o.Snapshot(&state))
		back, _, err := cmbo.ResumeJournal(bytes.NewReader(j[:valid]), list, cmbo.WithInitial(1))
		if err == nil {
			err = back.Snapshot(&again)
		}
		if err != nil || state.String() != again.String() {
			t.Fatalf("%v:\n%s\n%s", err, state.String(), again.String())
		}
		_, err = o.Ask(ctx)
		checkError(t, err)
	})
}
