package cmbo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

func snapshot(t testing.TB, o *cmbo.Optimizer) []byte {
	var b bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	return b.Bytes()
}

// kit is a way to make optimisers and to restore them.
type kit struct {
	name    string
	space   *cmbo.Space
	opts    []cmbo.Option
	restore []cmbo.Option
}

func kits(t testing.TB) []kit {
	list, _ := grid(t, 6)
	box := unitCube(t, 2)
	mixed := newSpace(t, cmbo.Float("a", 0, 1), cmbo.LogFloat("b", 1e-3, 1), cmbo.Categorical("c", "x", "y"), cmbo.Bool("d"), cmbo.Int("e", 1, 9))
	small := newSpace(t, cmbo.Int("a", 0, 4), cmbo.Categorical("b", "x", "y", "z"))
	var out []kit
	add := func(name string, s *cmbo.Space, opts []cmbo.Option, again ...cmbo.Option) {
		out = append(out, kit{name, s, opts, again})
	}
	byDefault := learn(t, box, family(5, 10), smallSets...)
	add("default list", list, []cmbo.Option{cmbo.WithPrior(byDefault)}, cmbo.WithPrior(byDefault))
	add("default box", box, []cmbo.Option{cmbo.WithPrior(byDefault), cmbo.WithCandidateCounts(20, 6), cmbo.WithNoiseVariance(0.02)}, cmbo.WithPrior(byDefault))
	ranks := learn(t, box, family(5, 10), append(slices.Clip(smallSets), cmbo.WithYPolicy(cmbo.Copula))...)
	add("default by rank", box, []cmbo.Option{cmbo.WithPrior(ranks), cmbo.WithCandidateCounts(20, 6), cmbo.WithAcquisition(cmbo.UCB(2))}, cmbo.WithPrior(ranks))
	add("plain list", list, []cmbo.Option{cmbo.WithSeed(5), cmbo.WithInitial(2), cmbo.WithAcquisition(cmbo.PI()), cmbo.WithYPolicy(cmbo.MinMax)})
	add("plain mixed", mixed, []cmbo.Option{cmbo.WithMinimize(), cmbo.WithCandidateCounts(20, 6)})
	add("plain ARD kernel", box, []cmbo.Option{cmbo.WithKernel(kernel.Scale(1, kernel.Matern52(0.3, 0.4))), cmbo.WithCandidateCounts(20, 6), cmbo.WithAcquisition(cmbo.MaxValuePI())})
	add("foreign kernel", box, []cmbo.Option{cmbo.WithKernel(foreign{0.5}), cmbo.WithCandidateCounts(20, 6)}, cmbo.WithKernel(foreign{0.5}))
	add("small discrete", small, []cmbo.Option{cmbo.WithInitial(3)})
	limits := []cmbo.Option{cmbo.WithOutput("seconds", cmbo.AtMost(1.5)), cmbo.WithOutput("parts", cmbo.AtLeast(0.2), cmbo.Optional()), cmbo.WithOutput("kept")}
	tasks := family(5, 10)
	for i := range tasks {
		tasks[i].Outputs = make(map[string][]float64)
		for _, x := range tasks[i].X {
			tasks[i].Outputs["seconds"] = append(tasks[i].Outputs["seconds"], math.Exp(x[0]-x[1]+float64(i)/4))
		}
	}
	limited := learn(t, box, tasks, smallSets...)
	add("limits list", list, append(limits[:3:3], cmbo.WithPrior(limited)), cmbo.WithPrior(limited))
	add("limits box", box, append(limits[:3:3], cmbo.WithPrior(limited), cmbo.WithCandidateCounts(20, 6)), cmbo.WithPrior(limited))
	add("limits plain", box, append(limits[:3:3], cmbo.WithCandidateCounts(20, 6), cmbo.WithAcquisition(cmbo.UCB(2))))
	space, videos := timed(t, 20)
	described := learn(t, space, videos, cmbo.WithIndexPoints(64), cmbo.WithMinimize())
	add("limits described", space, append(limits[:3:3], cmbo.WithPrior(described), cmbo.WithContext(cmbo.Context{"height": 900})), cmbo.WithPrior(described))
	return out
}

// outputsOf makes up the outputs that an optimiser with the limits above wants.
func outputsOf(t testing.TB, r *rand.Rand, o *cmbo.Optimizer, x []float64) cmbo.Outputs {
	if !bytes.Contains(snapshot(t, o), []byte(`"outputs":[`)) {
		return nil
	}
	out := cmbo.Outputs{"seconds": math.Exp(x[0]-x[1]) + r.Float64(), "kept": r.NormFloat64()}
	if r.IntN(3) > 0 {
		out["parts"] = x[0] * x[1]
	}
	return out
}

// middle is a point of a space.
func middle(t testing.TB, s *cmbo.Space) []float64 {
	u := make([]float64, s.Dim())
	for i := range u {
		u[i] = 0.4
	}
	row, err := s.Decode(u)
	require.NoError(t, err)
	return row
}

// act does one random thing to an optimiser and says what.
func act(t testing.TB, r *rand.Rand, o *cmbo.Optimizer, s *cmbo.Space) string {
	value := func(x []float64) float64 { return x[0] - x[1]*x[1] + 0.1*r.NormFloat64() }
	open := o.Open()
	k := r.IntN(10)
	switch {
	case k < 4 || len(open) == 0 && k < 9:
		n := 1 + r.IntN(2)
		ts, err := o.AskN(ctx, n)
		if errors.Is(err, cmbo.ErrNoCandidates) {
			return "exhausted"
		}
		require.NoError(t, err)
		return fmt.Sprint("asked ", ts)
	case k < 7:
		tr := open[r.IntN(len(open))]
		var opts []cmbo.ObservationOption
		if r.IntN(3) == 0 {
			opts = append(opts, cmbo.WithNoise(0.01+r.Float64()))
		}
		if out := outputsOf(t, r, o, tr.X); out != nil {
			opts = append(opts, out)
		}
		require.NoError(t, o.Tell(tr.ID, value(tr.X), opts...))
		return "told"
	case k == 7:
		require.NoError(t, o.TellFailed(open[r.IntN(len(open))].ID))
		return "failed"
	case k == 8:
		require.NoError(t, o.Cancel(open[r.IntN(len(open))].ID))
		return "cancelled"
	}
	var row []float64
	for _, p := range s.Params() {
		lo, hi := p.Bounds()
		v := lo + r.Float64()*(hi-lo)
		if p.Kind() > cmbo.KindLogFloat {
			v = float64(int(v))
		}
		row = append(row, v)
	}
	require.NoError(t, o.Observe(row, value(row), outputsOf(t, r, o, row)))
	return "observed"
}

// askSame asks two optimisers, whose proposals are the same point.
func askSame(t testing.TB, a, b *cmbo.Optimizer) (p, q cmbo.Trial) {
	t.Helper()
	p = ask(t, a)
	q = ask(t, b)
	require.Equal(t, p.X, q.X)
	return p, q
}

// same asks two optimisers for what they would do next.
func same(t testing.TB, a, b *cmbo.Optimizer) {
	t.Helper()
	require.Equal(t, a.Observations(), b.Observations())
	require.Equal(t, weightsOf(t, a), weightsOf(t, b))
	require.Equal(t, fmt.Sprint(a.Open()), fmt.Sprint(b.Open()))
	ta, ea := a.AskN(ctx, 2)
	tb, eb := b.AskN(ctx, 2)
	require.Equal(t, fmt.Sprint(ea), fmt.Sprint(eb))
	require.Equal(t, fmt.Sprint(ta), fmt.Sprint(tb))
	sa, oka := a.LastStep()
	sb, okb := b.LastStep()
	if oka && okb && sa.Trial == sb.Trial {
		require.Equal(t, sa, sb)
	}
}

// TestSnapshotAfterEveryEvent stops random histories after every event: what is
// restored proposes the same, bit for bit, and so does what is restored from the
// journal, at whatever moment predictions were asked for in between.
func TestSnapshotAfterEveryEvent(t *testing.T) {
	t.Parallel()
	steps := 32
	if testing.Short() {
		steps = 12
	}
	for _, k := range kits(t) {
		t.Run(k.name, func(t *testing.T) {
			var journal []byte
			o := newOptimizer(t, k.space, append(k.opts[:len(k.opts):len(k.opts)], cmbo.WithJournal(func(lines []byte) error {
				journal = append(journal, lines...)
				return nil
			}))...)
			r := rng.Stream(2, "history "+k.name)
			probe := middle(t, k.space)
			for range steps {
				snap := snapshot(t, o)
				back := restore(t, bytes.NewReader(snap), k.restore...)
				require.Equal(t, snap, snapshot(t, back), "whole")
				fromJournal, valid, err := cmbo.RestoreJournal(bytes.NewReader(journal), k.restore...)
				require.NoError(t, err)
				require.EqualValues(t, len(journal), valid)
				require.Equal(t, snap, snapshot(t, fromJournal))

				twin := restore(t, bytes.NewReader(snap), k.restore...)
				if r.IntN(3) == 0 {
					row := back.Observations()
					if len(row) > 0 {
						predict(t, back, row[0].X)
					}
				}
				same(t, back, twin)
				require.Equal(t, snap, snapshot(t, o), "nothing happened to the original")
				// The one that never stopped goes on as the restored ones do.
				seed := r.Uint64()
				again := restore(t, bytes.NewReader(snap), k.restore...)
				want := act(t, rand.New(rand.NewPCG(seed, 1)), o, k.space)
				got := act(t, rand.New(rand.NewPCG(seed, 1)), again, k.space)
				require.Equal(t, want, got)
				require.Equal(t, snapshot(t, o), snapshot(t, again))
				require.Equal(t, weightsOf(t, o), weightsOf(t, again))
				m1, s1 := predict(t, o, probe)
				m2, s2 := predict(t, again, probe)
				require.Equal(t, []float64{m1, s1}, []float64{m2, s2})
				if strings.HasPrefix(want, "asked") {
					step, ok := o.LastStep()
					restored, okRestored := again.LastStep()
					require.Equal(t, ok, okRestored)
					require.Equal(t, fmt.Sprintf("%+v", step), fmt.Sprintf("%+v", restored))
				}
			}
		})
	}
}

func TestSnapshotRefusesDamage(t *testing.T) {
	testutil.SkipRace(t, "one goroutine reads")
	list, _ := grid(t, 3)
	o := newOptimizer(t, list, cmbo.WithInitial(1))
	drive(t, o, bump([]float64{0.3, 0.3}), 2)
	ask(t, o)
	b := snapshot(t, o)
	refused := func(b []byte) {
		t.Helper()
		_, err := cmbo.Restore(bytes.NewReader(b))
		if !errors.Is(err, cmbo.ErrCorrupt) && !errors.Is(err, cmbo.ErrVersion) {
			t.Fatalf("%s\nerr = %v", b, err)
		}
	}
	for i := range b {
		for bit := range 8 {
			c := bytes.Clone(b)
			c[i] ^= 1 << bit
			refused(c)
		}
		refused(b[:i])
	}
	refused(append(bytes.Clone(b), ' '))
	refused(bytes.Replace(b, []byte(`"version":2`), []byte(`"Version":2`), 1))
	for _, v := range []string{"1", "3", "70"} {
		other := bytes.Replace(b, []byte(`"version":2`), []byte(`"version":`+v), 1)
		_, err := cmbo.Restore(bytes.NewReader(other))
		require.ErrorIs(t, err, cmbo.ErrVersion)
		require.ErrorContains(t, err, "snapshot of version "+v+", this release reads 2")
		_, _, err = cmbo.RestoreJournal(bytes.NewReader(other))
		require.ErrorIs(t, err, cmbo.ErrVersion)
	}
	_, err := cmbo.Restore(failingReader{})
	require.Error(t, err)
	// Any one digit of a value changed, checksum and all, is another run, not a
	// damaged one; a digit without its checksum is refused.
	refused(bytes.Replace(b, []byte(`"seed":1`), []byte(`"seed":2`), 1))
}

// TestWithNewPrior: a run goes on with another prior as one that was told the same values does, its log and open trials
// as they were, and is then that prior's: from a snapshot, or a journal that begins with one.
func TestWithNewPrior(t *testing.T) {
	list, _ := grid(t, 7)
	p, q := learn(t, list, family(4, 10), smallSets...), learn(t, list, family(5, 10), smallSets...)
	var journal bytes.Buffer
	o := newOptimizer(t, list, cmbo.WithPrior(p), cmbo.WithJournal(func(lines []byte) error { journal.Write(lines); return nil }))
	f := bump([]float64{0.3, 0.3})
	drive(t, o, f, 4)
	failed := ask(t, o)
	require.NoError(t, o.TellFailed(failed.ID))
	open := ask(t, o)
	b := snapshot(t, o)

	o = restore(t, bytes.NewReader(b), cmbo.WithNewPrior(q))
	fromJournal, _, err := cmbo.RestoreJournal(bytes.NewReader(journal.Bytes()), cmbo.WithNewPrior(q))
	require.NoError(t, err)
	fresh := newOptimizer(t, list, cmbo.WithPrior(q))
	for _, v := range o.Observations() {
		require.NoError(t, fresh.Observe(v.X, v.Y))
	}
	mean, sd := predict(t, fresh, []float64{0.4, 0.6})
	for _, r := range []*cmbo.Optimizer{o, fromJournal} {
		m, s := predict(t, r, []float64{0.4, 0.6})
		require.Equal(t, []float64{mean, sd}, []float64{m, s})
		require.Equal(t, []cmbo.Trial{open}, r.Open())
		task := taskOf(t, r, "it")
		require.Equal(t, [][]float64{failed.X}, task.Failed)
	}
	require.Equal(t, snapshot(t, o), snapshot(t, fromJournal))
	// By the new prior the points proposed with the old one need not have the largest score.
	behind, tasks := 0, family(5, 10)
	for _, task := range tasks {
		for j, x := range task.X {
			task.Y[j] = bump([]float64{0.9, 0.9})(x)
		}
	}
	elsewhere := restore(t, bytes.NewReader(b), cmbo.WithNewPrior(learn(t, list, tasks, smallSets...)))
	for id := 2; id <= 4; id++ {
		e := explain(t, elsewhere, id)
		larger := 0
		for r, x := range list.Rows() {
			told := slices.ContainsFunc(o.Observations()[:id-1], func(v cmbo.Observation) bool { return slices.Equal(v.X, x) })
			if !told && e.Step.Scores[r] > e.Step.Scores[e.Step.Chosen] {
				larger++
			}
		}
		if larger == 0 {
			require.Contains(t, e.String(), ": the largest ")
		} else {
			behind++
			require.Contains(t, e.String(), fmt.Sprintf("with this one behind %d others by ", larger))
		}
	}
	require.Positive(t, behind)

	// It is the new prior's run: restored with that alone, and its snapshot is a journal's beginning.
	b = snapshot(t, o)
	back := restore(t, bytes.NewReader(b), cmbo.WithPrior(q))
	again, valid, err := cmbo.ResumeJournal(bytes.NewReader(b), list, cmbo.WithPrior(q), cmbo.WithJournal(func([]byte) error { return nil }))
	require.NoError(t, err)
	require.EqualValues(t, len(b), valid)
	for _, r := range []*cmbo.Optimizer{back, again} {
		require.NoError(t, r.Tell(open.ID, f(open.X)))
		trial := ask(t, r)
		require.Equal(t, 7, trial.ID)
	}
	require.Equal(t, snapshot(t, back), snapshot(t, again))
	_, err = cmbo.Restore(bytes.NewReader(b), cmbo.WithPrior(p))
	require.ErrorIs(t, err, cmbo.ErrPriorMismatch)

	// A prior of one value has an initial design, a later one has none, and the run keeps what it began with.
	first := learn(t, list, []cmbo.Task{{ID: "first", X: list.Rows()[:1], Y: []float64{1}}}, smallSets...)
	for _, tt := range []struct {
		was, is *cmbo.Prior
		reason  cmbo.Reason
	}{{first, q, cmbo.ReasonDesign}, {q, first, cmbo.ReasonScore}} {
		r := restore(t, bytes.NewReader(snapshot(t, newOptimizer(t, list, cmbo.WithPrior(tt.was)))), cmbo.WithNewPrior(tt.is))
		begun := snapshot(t, r)
		resumed, _, err := cmbo.ResumeJournal(bytes.NewReader(begun), list, cmbo.WithPrior(tt.is))
		require.NoError(t, err)
		require.Equal(t, begun, snapshot(t, resumed))
		trial := ask(t, resumed)
		e := explain(t, resumed, trial.ID)
		require.Equal(t, tt.reason, e.Reason)
		_, _, err = cmbo.ResumeJournal(bytes.NewReader(begun), list, cmbo.WithPrior(tt.is), cmbo.WithInitial(7))
		require.ErrorContains(t, err, ", not 7")
	}

	// So it keeps the numbers of candidates, whose default may be another in another release.
	box := unitCube(t, 2)
	begun := snapshot(t, newOptimizer(t, box, cmbo.WithCandidateCounts(40, 7)))
	resumed, _, err := cmbo.ResumeJournal(bytes.NewReader(begun), box)
	require.NoError(t, err)
	require.Equal(t, begun, snapshot(t, resumed))
	_, _, err = cmbo.ResumeJournal(bytes.NewReader(begun), box, cmbo.WithCandidateCounts(41, 7))
	require.ErrorIs(t, err, cmbo.ErrOption)
	require.ErrorContains(t, err, "begun with sobol_candidates 40, not 41")

	wide := newSpace(t, cmbo.Float("x", 0, 1), cmbo.Float("z", 0, 2))
	spelled := family(4, 10)
	for i := range spelled {
		spelled[i].Outputs = map[string][]float64{"Seconds": spelled[i].Y}
	}
	for name, tt := range map[string]struct {
		b    []byte
		opts []cmbo.Option
		want error
	}{
		"no prior before": {snapshot(t, newOptimizer(t, list)), []cmbo.Option{cmbo.WithNewPrior(q)}, cmbo.ErrPriorMismatch},
		"nil":             {b, []cmbo.Option{cmbo.WithNewPrior(nil)}, cmbo.ErrOption},
		"the old later":   {b, []cmbo.Option{cmbo.WithNewPrior(q), cmbo.WithPrior(p)}, cmbo.ErrPriorMismatch},
		"direction":       {b, []cmbo.Option{cmbo.WithNewPrior(learn(t, list, family(4, 10), append(smallSets, cmbo.WithMinimize())...))}, cmbo.ErrPriorMismatch},
		"spelling":        {snapshot(t, newOptimizer(t, list, cmbo.WithPrior(p), cmbo.WithOutput("seconds"))), []cmbo.Option{cmbo.WithNewPrior(learn(t, list, spelled, smallSets...))}, cmbo.ErrOption},
		"sign":            {b, []cmbo.Option{cmbo.WithNewPrior(learn(t, list, family(4, 10), append(smallSets, cmbo.WithPositiveValues())...))}, cmbo.ErrPriorMismatch},
		"space":           {b, []cmbo.Option{cmbo.WithNewPrior(learn(t, wide, family(4, 10), smallSets...))}, cmbo.ErrPriorMismatch},
	} {
		_, err := cmbo.Restore(bytes.NewReader(tt.b), tt.opts...)
		require.ErrorIs(t, err, tt.want, name)
	}
	_, err = cmbo.New(list, cmbo.WithNewPrior(q))
	require.ErrorIs(t, err, cmbo.ErrOption)
	_, _, err = cmbo.RestoreJournal(bytes.NewReader(journal.Bytes()), cmbo.WithNewPrior(q), cmbo.WithJournal(func([]byte) error { return nil }))
	require.ErrorContains(t, err, "begin another with a Snapshot")
}

// TestExplainByAnotherPrior: in a space without a list points are drawn near the best candidate, which by another prior is
// another one; a point that is then none of the candidates is scored beside them.
func TestExplainByAnotherPrior(t *testing.T) {
	box, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	tasks := family(5, 10)
	p := learn(t, box, tasks, smallSets...)
	for _, task := range tasks {
		for j, x := range task.X {
			task.Y[j] = bump([]float64{0.9, 0.9})(x)
		}
	}
	o := newOptimizer(t, box, cmbo.WithPrior(p))
	asked := drive(t, o, bump([]float64{0.3, 0.3}), 6)
	o = restored(t, o, cmbo.WithNewPrior(learn(t, box, tasks, smallSets...)))
	behind := 0
	for id := range asked {
		e := explain(t, o, id+1)
		s := e.Step
		require.Equal(t, asked[id], s.Candidates[s.Chosen])
		require.Equal(t, []int{len(s.Candidates), len(s.Candidates)}, []int{len(s.Scores), len(s.Mean)})
		if strings.Contains(e.String(), "chosen with another prior or build") {
			behind++
		}
	}
	require.Positive(t, behind)
}

func TestRestoreChecksWhatIsGiven(t *testing.T) {
	list, _ := grid(t, 5)
	p, q := learn(t, list, family(4, 10), smallSets...), learn(t, list, family(5, 10), smallSets...)
	withPrior := snapshot(t, newOptimizer(t, list, cmbo.WithPrior(p)))
	plain := snapshot(t, newOptimizer(t, list))
	withForeign := snapshot(t, newOptimizer(t, list, cmbo.WithKernel(foreign{1})))
	withSurrogate := snapshot(t, newOptimizer(t, list, cmbo.WithSurrogate(flat{})))
	for name, tt := range map[string]struct {
		b    []byte
		opts []cmbo.Option
		want error
	}{
		"no prior":          {withPrior, nil, cmbo.ErrPriorMismatch},
		"wrong prior":       {withPrior, []cmbo.Option{cmbo.WithPrior(q)}, cmbo.ErrPriorMismatch},
		"prior for plain":   {plain, []cmbo.Option{cmbo.WithPrior(p)}, cmbo.ErrPriorMismatch},
		"seed":              {plain, []cmbo.Option{cmbo.WithSeed(3)}, cmbo.ErrOption},
		"acquisition":       {plain, []cmbo.Option{cmbo.WithAcquisition(cmbo.UCB(1))}, cmbo.ErrOption},
		"kernel":            {plain, []cmbo.Option{cmbo.WithKernel(kernel.Matern32(1))}, cmbo.ErrOption},
		"no foreign kernel": {withForeign, nil, cmbo.ErrOption},
		"other kernel":      {withForeign, []cmbo.Option{cmbo.WithKernel(kernel.Matern32(1))}, cmbo.ErrOption},
		"no surrogate":      {withSurrogate, nil, cmbo.ErrOption},
		"surrogate":         {plain, []cmbo.Option{cmbo.WithSurrogate(flat{})}, cmbo.ErrOption},
		"nil":               {plain, []cmbo.Option{nil}, cmbo.ErrOption},
	} {
		_, err := cmbo.Restore(bytes.NewReader(tt.b), tt.opts...)
		require.ErrorIs(t, err, tt.want, name)
	}
	_, err := cmbo.Restore(bytes.NewReader(withPrior), cmbo.WithPrior(q))
	require.ErrorContains(t, err, "WithNewPrior") // and what can be done
	for _, tt := range []struct {
		b    []byte
		opts []cmbo.Option
	}{
		{withPrior, []cmbo.Option{cmbo.WithPrior(p), cmbo.WithParallelism(2)}},
		{plain, nil},
		{withForeign, []cmbo.Option{cmbo.WithKernel(foreign{1})}},
		{withSurrogate, []cmbo.Option{cmbo.WithSurrogate(flat{})}},
	} {
		o := restore(t, bytes.NewReader(tt.b), tt.opts...)
		drive(t, o, bump([]float64{0.3, 0.3}), 2)
	}
}

// TestRestoreRefusesForgedState: a state that no run can have come to is refused,
// whatever its sum, and what options allow at most is not.
func TestRestoreRefusesForgedState(t *testing.T) {
	other := map[error]error{cmbo.ErrCorrupt: cmbo.ErrVersion, cmbo.ErrVersion: cmbo.ErrCorrupt}
	list, _ := grid(t, 3)
	o := newOptimizer(t, list, cmbo.WithInitial(1))
	require.NoError(t, o.Enqueue([]float64{0.5, 0.5}))
	drive(t, o, bump([]float64{0.3, 0.3}), 2)
	state := cmbo.SnapshotState(snapshot(t, o))
	for _, tt := range []struct{ was, is, says string }{
		{`"trial":1,"index":4,"x":[0.5,0.5]`, `"trial":1,"index":3,"x":[0.5,0]`, "enqueued"},
		{`"trial":1,"index":4,"x":[0.5,0.5]`, `"trial":1,"index":4,"x":[0.5,0.5],"saw":-1`, "saw -1 of 1 events"},
		{`"trial":1,"index":4,"x":[0.5,0.5]`, `"trial":1,"index":4,"x":[0.5,0.5],"saw":2`, "saw 2 of 1 events"},
		{`"event":"told","trial":1`, `"event":"told","trial":2`, "trial 2 is not open"},
		{`"event":"told","trial":1`, `"event":"told","trial":0`, "trial 0 is not open"},
		{`"event":"told","trial":1`, `"saw":1,"event":"told","trial":1`, `"told" with saw`},
		{`"asked","trial":2`, `"asked","trial":3`, "trial 3 follows 1"},
		{`"sobol_candidates":300`, `"sobol_candidates":0`, "0 Sobol"},
		{`"sobol_candidates":300`, `"sobol_candidates":1048577`, "1048577 Sobol"},
		{`"local_candidates":160`, `"local_candidates":-1`, "-1 local"},
		{`"local_candidates":160`, `"local_candidates":1048577`, "1048577 local"},
		{`"initial":1`, `"initial":-1`, "of -1 points"},
		{`"initial":1`, `"noise_variance":2e150,"initial":1`, "noise variance 2e+150"},
	} {
		forged := bytes.Replace(state, []byte(tt.was), []byte(tt.is), 1)
		require.NotEqual(t, state, forged, tt.was)
		_, err := cmbo.Restore(bytes.NewReader(cmbo.SealSnapshot(forged)))
		require.ErrorIs(t, err, cmbo.ErrCorrupt, tt.is)
		require.ErrorContains(t, err, tt.says)
	}
	// Under a right sum a name that is not known is of another release, a wrong type is not.
	for _, tt := range []struct {
		was, is string
		want    error
	}{
		{`"initial":1`, `"initial":1,"weights":"evidence"`, cmbo.ErrVersion},
		{`"initial":1`, `"initial":1,"repeats":true`, cmbo.ErrVersion},
		{`"event":"told"`, `"event":"told","cluster":2`, cmbo.ErrVersion},
		{`"initial":1`, `"initial":"1","weights":"evidence"`, cmbo.ErrCorrupt},
	} {
		forged := bytes.Replace(state, []byte(tt.was), []byte(tt.is), 1)
		require.NotEqual(t, state, forged, tt.was)
		_, err := cmbo.Restore(bytes.NewReader(cmbo.SealSnapshot(forged)))
		require.ErrorIs(t, err, tt.want, tt.is)
		require.NotErrorIs(t, err, other[tt.want], tt.is)
	}
	first := snapshot(t, newOptimizer(t, list))
	for entry, want := range map[string]error{
		`{"event":"told","trial":1,"cluster":2}`: cmbo.ErrVersion, `{"event":"told","trial":1}`: cmbo.ErrCorrupt, `{"event":"told","trial":"1"}`: cmbo.ErrCorrupt,
	} {
		_, _, err := cmbo.RestoreJournal(bytes.NewReader(cmbo.SealJournal(first, [][]byte{[]byte(entry)})))
		require.ErrorIs(t, err, want, entry)
		require.NotErrorIs(t, err, other[want], entry)
		require.ErrorContains(t, err, "line 2 of the journal", entry)
	}
	for _, n := range [][2]int{{1, 0}, {1 << 20, 1 << 20}} {
		at := snapshot(t, newOptimizer(t, list, cmbo.WithCandidateCounts(n[0], n[1])))
		again := restore(t, bytes.NewReader(at))
		require.Equal(t, at, snapshot(t, again))
	}
}

// TestRestoreRefusesForgedScale: a run whose values have another direction, sign or policy than its prior, or its surrogate,
// gives them is none that New begins, and one of descriptors has a prior that knows them.
func TestRestoreRefusesForgedScale(t *testing.T) {
	list, _ := grid(t, 3)
	p := learn(t, list, family(4, 10), smallSets...)
	losses := learn(t, list, family(4, 10), append(slices.Clip(smallSets), cmbo.WithMinimize(), cmbo.WithPositiveValues())...)
	of := cmbo.WithPrior(p)
	scaled := cmbo.WithSurrogate(scaledFlat{})
	for _, tt := range []struct {
		begun, again cmbo.Option
		was, is      string
		want         error
	}{
		{of, of, `"minimize":false`, `"minimize":true`, cmbo.ErrPriorMismatch},
		{of, of, `"minimize":false`, `"minimize":false,"positive_values":true`, cmbo.ErrPriorMismatch},
		{of, of, `"y_policy":"none"`, `"y_policy":"minmax"`, cmbo.ErrPriorMismatch},
		{of, of, `"y_policy":"none"`, `"y_policy":"copula"`, cmbo.ErrPriorMismatch},
		{of, of, `"initial":0`, `"initial":0,"context":{"height":3}`, cmbo.ErrOption},
		{cmbo.WithPrior(losses), cmbo.WithPrior(losses), `"minimize":true`, `"minimize":false`, cmbo.ErrPriorMismatch},
		{cmbo.WithPrior(losses), cmbo.WithPrior(losses), `"positive_values":true,`, ``, cmbo.ErrPriorMismatch},
		{scaled, scaled, `"minimize":true`, `"minimize":false`, cmbo.ErrPriorMismatch},
		{scaled, scaled, `"minimize":true`, `"minimize":true,"positive_values":true`, cmbo.ErrPriorMismatch},
		{cmbo.WithSeed(1), cmbo.WithParallelism(1), `"initial":5`, `"initial":5,"context":{"height":3}`, cmbo.ErrOption},
	} {
		b := snapshot(t, newOptimizer(t, list, tt.begun))
		o := restore(t, bytes.NewReader(b), tt.again)
		require.Equal(t, b, snapshot(t, o))
		state := cmbo.SnapshotState(b)
		forged := bytes.Replace(state, []byte(tt.was), []byte(tt.is), 1)
		require.NotEqual(t, state, forged, tt.was)
		_, err := cmbo.Restore(bytes.NewReader(cmbo.SealSnapshot(forged)), tt.again)
		require.ErrorIs(t, err, tt.want, tt.is)
	}
	// A policy given to New beside a surrogate that has another is the run's.
	b := snapshot(t, newOptimizer(t, list, scaled, cmbo.WithYPolicy(cmbo.MinMax)))
	o := restore(t, bytes.NewReader(b), scaled)
	require.Equal(t, b, snapshot(t, o))
}

// scaledFlat knows nothing but how values were scaled.
type scaledFlat struct{ flat }

func (scaledFlat) Minimizes() bool       { return true }
func (scaledFlat) YPolicy() cmbo.YPolicy { return cmbo.Copula }

// flat is the simplest surrogate: it knows nothing.
type flat struct{}

func (flat) Fit(context.Context, cmbo.Data) error { return nil }
func (flat) Predict(_ context.Context, mean, sd []float64, _ *linalg.Dense) error {
	for i := range mean {
		mean[i], sd[i] = 0, 1
	}
	return nil
}

// TestJournalTornAndDamaged cuts a journal at every byte: what was complete
// counts, what is torn does not, what is damaged is refused.
func TestJournalTornAndDamaged(t *testing.T) {
	t.Parallel()
	testutil.SkipRace(t, "one goroutine reads")
	list, _ := grid(t, 3)
	var journal []byte
	var ends []int // of acknowledged writes
	o := newOptimizer(t, list, cmbo.WithInitial(2), cmbo.WithJournal(func(lines []byte) error {
		journal = append(journal, lines...)
		ends = append(ends, len(journal))
		return nil
	}))
	var snaps [][]byte
	snaps = append(snaps, snapshot(t, o))
	r := rng.Stream(1, "journal")
	for range 12 {
		act(t, r, o, list)
		if len(ends) > len(snaps) {
			snaps = append(snaps, snapshot(t, o))
		}
	}
	require.Len(t, snaps, len(ends))
	every := 1
	if testing.Short() {
		every = 7
	}
	for cut := 0; cut <= len(journal); cut += every {
		got, valid, err := cmbo.RestoreJournal(bytes.NewReader(journal[:cut]))
		if cut < ends[0] {
			require.ErrorIs(t, err, cmbo.ErrCorrupt)
			require.ErrorContains(t, err, "a journal without a whole first line")
			continue
		}
		require.NoError(t, err)
		require.LessOrEqual(t, int(valid), cut)
		for i, end := range ends {
			if int(valid) == end {
				require.Equal(t, snaps[i], snapshot(t, got))
			}
		}
	}
	refused := func(c []byte, what string, at int) {
		t.Helper()
		_, _, err := cmbo.RestoreJournal(bytes.NewReader(c))
		if !errors.Is(err, cmbo.ErrCorrupt) && !errors.Is(err, cmbo.ErrVersion) {
			t.Fatalf("%s %d of %d: err = %v", what, at, len(c), err)
		}
	}
	for i := 0; i < len(journal); i += every {
		c := bytes.Clone(journal)
		c[i] ^= 1 << (i % 8)
		refused(c, "byte", i)
	}
	// The end of the last line, in every way but the loss of it and what follows.
	last := len(journal) - 1
	for v := range 256 {
		if v == '\n' {
			continue
		}
		c := bytes.Clone(journal)
		c[last] = byte(v)
		if v != 0 { // zero is what a block has that was not written
			refused(c, "end of line as", v)
		}
		refused(append(c, 'x'), "end of line, and more, as", v)
	}
	for _, v := range []byte("x]|~") {
		c := bytes.Clone(journal[:last])
		c[last-1] = v
		refused(c, "without its end of line, the brace before as", int(v))
	}
	sum := bytes.Clone(journal[:last])
	sum[ends[len(ends)-2]+8] ^= 1
	refused(sum, "the sum of a line without its end", 0)
	refused(append(sum, 0, 0), "the sum of a line with zeros for its end", 0)
	for i := ends[len(ends)-2]; i <= last; i++ {
		// Zeros behind a beginning are what a power failure leaves, and behind a line that lacks
		// its end alone, if that is the first byte of a block.
		torn := append(bytes.Clone(journal[:i]), make([]byte, 7)...)
		_, valid, err := cmbo.RestoreJournal(bytes.NewReader(torn))
		require.NoError(t, err)
		require.EqualValues(t, ends[len(ends)-2], valid)
	}
	// An acknowledged line whose end was lost is missed where its mark is kept.
	newest, _ := o.JournalMark()
	torn := append(bytes.Clone(journal[:last]), 0)
	_, _, err := cmbo.RestoreJournal(bytes.NewReader(torn), cmbo.WithJournalMark(newest))
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	lines := strings.SplitAfter(string(journal), "\n")
	_, _, err = cmbo.RestoreJournal(strings.NewReader(lines[0] + strings.Join(lines[2:], "")))
	require.ErrorIs(t, err, cmbo.ErrCorrupt, "a line lost")
	_, _, err = cmbo.RestoreJournal(strings.NewReader(lines[0] + lines[2] + lines[1] + strings.Join(lines[3:], "")))
	require.ErrorIs(t, err, cmbo.ErrCorrupt, "lines exchanged")
	// Where each event could have happened without the others, the sums alone tell.
	var free []byte
	o2 := newOptimizer(t, list, cmbo.WithJournal(func(l []byte) error { free = append(free, l...); return nil }))
	for i := range 3 {
		require.NoError(t, o2.Observe([]float64{float64(i) / 2, 0.5}, 1))
	}
	lines = strings.SplitAfter(string(free), "\n")
	_, _, err = cmbo.RestoreJournal(strings.NewReader(lines[0] + lines[2] + lines[3]))
	require.ErrorIs(t, err, cmbo.ErrCorrupt, "an observation lost")
	_, _, err = cmbo.RestoreJournal(strings.NewReader(lines[0] + lines[2] + lines[1] + lines[3]))
	require.ErrorIs(t, err, cmbo.ErrCorrupt, "observations exchanged")

	// It goes on where it ended.
	half := ends[len(ends)/2]
	tail := bytes.Clone(journal[:half])
	on, _, err := cmbo.RestoreJournal(bytes.NewReader(journal[:half]), cmbo.WithJournal(func(l []byte) error {
		tail = append(tail, l...)
		return nil
	}))
	require.NoError(t, err)
	act(t, r, on, list)
	whole, _, err := cmbo.RestoreJournal(bytes.NewReader(tail))
	require.NoError(t, err)
	require.Equal(t, snapshot(t, on), snapshot(t, whole))

	// A journal begun from a snapshot holds what went before.
	var second []byte
	from, err := cmbo.Restore(bytes.NewReader(snapshot(t, o)), cmbo.WithJournal(func(l []byte) error {
		second = append(second, l...)
		return nil
	}))
	require.NoError(t, err)
	act(t, r, from, list)
	whole, _, err = cmbo.RestoreJournal(bytes.NewReader(second))
	require.NoError(t, err)
	require.Equal(t, snapshot(t, from), snapshot(t, whole))
}

// TestJournalFailureChangesNothing: an event that cannot be written down did not
// happen.
func TestJournalFailureChangesNothing(t *testing.T) {
	list, _ := grid(t, 4)
	for _, k := range [][]cmbo.Option{{cmbo.WithPrior(learn(t, list, family(4, 10), smallSets...))}, {cmbo.WithInitial(1)}} {
		full := errors.New("disk full")
		var fail error
		o := newOptimizer(t, list, append(k[:1:1], cmbo.WithJournal(func([]byte) error { return fail }))...)
		drive(t, o, bump([]float64{0.3, 0.3}), 3)
		trial := ask(t, o)
		before := snapshot(t, o)
		step, _ := o.LastStep()
		fail = full
		_, err := o.Ask(ctx)
		require.ErrorIs(t, err, full)
		_, err = o.AskN(ctx, 3)
		require.ErrorIs(t, err, full)
		require.ErrorIs(t, o.Tell(trial.ID, 1), full)
		require.ErrorIs(t, o.TellFailed(trial.ID), full)
		require.ErrorIs(t, o.Cancel(trial.ID), full)
		require.ErrorIs(t, o.Observe([]float64{0, 0}, 1), full)
		require.Equal(t, before, snapshot(t, o))
		after, _ := o.LastStep()
		require.Equal(t, step, after)
		fail = nil
		require.NoError(t, o.Tell(trial.ID, 1))
		drive(t, o, bump([]float64{0.3, 0.3}), 2)

		_, err = cmbo.New(list, append(k[:1:1], cmbo.WithJournal(func([]byte) error { return full }))...)
		require.ErrorIs(t, err, full)
	}
	_, err := cmbo.New(list, cmbo.WithJournal(nil))
	require.ErrorIs(t, err, cmbo.ErrOption)
}

// TestJournalMark: with the mark of an acknowledged line nothing up to it can be
// missing, whatever else the journal holds.
func TestJournalMark(t *testing.T) {
	list, _ := grid(t, 3)
	var journal []byte
	o := newOptimizer(t, list, cmbo.WithInitial(2), cmbo.WithJournal(func(lines []byte) error {
		journal = append(journal, lines...)
		return nil
	}))
	type point struct {
		mark cmbo.JournalMark
		end  int
	}
	var points []point
	r := rng.Stream(1, "marks")
	for range 8 {
		m, ok := o.JournalMark()
		require.True(t, ok)
		require.Equal(t, bytes.Count(journal, []byte("\n")), m.Lines)
		points = append(points, point{m, len(journal)})
		act(t, r, o, list)
	}
	for i, p := range points {
		for k, q := range points {
			got, valid, err := cmbo.RestoreJournal(bytes.NewReader(journal[:q.end]), cmbo.WithJournalMark(p.mark), cmbo.WithJournal(func([]byte) error { return nil }))
			if q.mark.Lines < p.mark.Lines {
				require.ErrorIs(t, err, cmbo.ErrCorrupt, "the mark of %d, the journal of %d", i, k)
				continue
			}
			require.NoError(t, err)
			require.EqualValues(t, q.end, valid)
			m, ok := got.JournalMark()
			require.True(t, ok)
			require.Equal(t, q.mark, m)
		}
		other := p.mark
		other.Sum = "0123456789abcdef"
		_, _, err := cmbo.RestoreJournal(bytes.NewReader(journal), cmbo.WithJournalMark(other))
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.ErrorContains(t, err, fmt.Sprintf("line %d ", p.mark.Lines))
		_, _, err = cmbo.ResumeJournal(bytes.NewReader(nil), list, cmbo.WithInitial(2), cmbo.WithJournalMark(p.mark))
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
	}
	m := points[0].mark
	_, err := cmbo.New(list, cmbo.WithJournalMark(m))
	require.ErrorIs(t, err, cmbo.ErrOption)
	_, err = cmbo.Restore(bytes.NewReader(snapshot(t, o)), cmbo.WithJournalMark(m))
	require.ErrorIs(t, err, cmbo.ErrOption)
	_, _, err = cmbo.RestoreJournal(bytes.NewReader(journal), cmbo.WithJournalMark(cmbo.JournalMark{}))
	require.ErrorIs(t, err, cmbo.ErrOption)
	_, ok := newOptimizer(t, list).JournalMark()
	require.False(t, ok)
}

// TestResumeJournal: the program that began a run goes on with it by the same call,
// as one that never stopped; another space, option or prior is refused by name.
func TestResumeJournal(t *testing.T) {
	for _, k := range kits(t) {
		t.Run(k.name, func(t *testing.T) {
			var journal []byte
			write := cmbo.WithJournal(func(lines []byte) error {
				journal = append(journal, lines...)
				return nil
			})
			twin := newOptimizer(t, k.space, k.opts...)
			seed := rng.Stream(4, "resumed "+k.name).Uint64()
			mine, others := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))
			for range 8 {
				o, valid, err := cmbo.ResumeJournal(bytes.NewReader(journal), k.space, append(k.opts[:len(k.opts):len(k.opts)], write)...)
				require.NoError(t, err)
				if valid > 0 {
					require.EqualValues(t, len(journal), valid)
				}
				require.Equal(t, act(t, others, twin, k.space), act(t, mine, o, k.space))
				require.Equal(t, snapshot(t, twin), snapshot(t, o))
			}
		})
	}
	list, _ := grid(t, 3)
	other, _ := grid(t, 4)
	var journal []byte
	newOptimizer(t, list, cmbo.WithSeed(4), cmbo.WithJournal(func(lines []byte) error { journal = append(journal, lines...); return nil }))
	for cut := range len(journal) {
		_, valid, err := cmbo.ResumeJournal(bytes.NewReader(journal[:cut]), list)
		require.NoError(t, err, "New had not returned")
		require.Zero(t, valid)
	}
	for text, tt := range map[string]struct {
		space *cmbo.Space
		opts  []cmbo.Option
		want  error
	}{
		"seed 4, not 1":              {list, nil, cmbo.ErrOption},
		"checkpoints none, not true": {list, []cmbo.Option{cmbo.WithSeed(4), cmbo.WithCheckpoints()}, cmbo.ErrOption},
		"begun with candidates[1][1] 0.5, not 0.3333333333333333": {other, []cmbo.Option{cmbo.WithSeed(4)}, cmbo.ErrSpace},
		"begun with candidates[1][1] 0.5":                         {other, []cmbo.Option{cmbo.WithSeed(4), cmbo.WithPrior(learn(t, other, family(4, 10), smallSets...))}, cmbo.ErrSpace},
		"the run had none":                                        {list, []cmbo.Option{cmbo.WithSeed(4), cmbo.WithPrior(learn(t, list, family(4, 10), smallSets...))}, cmbo.ErrPriorMismatch},
	} {
		_, _, err := cmbo.ResumeJournal(bytes.NewReader(journal), tt.space, tt.opts...)
		require.ErrorIs(t, err, tt.want, text)
		require.ErrorContains(t, err, text)
	}
	_, _, err := cmbo.ResumeJournal(strings.NewReader("a file that is no journal"), list)
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	_, _, err = cmbo.ResumeJournal(failingReader{}, list)
	require.Error(t, err)
}

// TestResumeJournalInPlainFile does what the documentation says with a file that is appended to: it
// resumes, cuts the file to valid, and goes on. Whatever a killed process has left of the first
// line, and whether or not events follow, the file then holds the run.
func TestResumeJournalInPlainFile(t *testing.T) {
	box := unitCube(t, 2)
	name := filepath.Join(t.TempDir(), "run")
	broken := errors.New("broken")
	var fault error
	open := func() (*cmbo.Optimizer, func()) {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		require.NoError(t, err)
		o, valid, err := cmbo.ResumeJournal(f, box, cmbo.WithJournal(func(lines []byte) error {
			if fault != nil {
				return fault
			}
			_, err := f.Write(lines)
			return err
		}))
		require.NoError(t, err)
		require.NoError(t, f.Truncate(valid))
		return o, func() { require.NoError(t, f.Close()) }
	}
	var first string
	for _, left := range []string{"", `{"cmb`, `{"cmbo":"snapshot","version":2,"sha256":"0` + "\x00\x00"} {
		require.NoError(t, os.WriteFile(name, []byte(left), 0o600))
		o, done := open()
		mark, ok := o.JournalMark()
		require.Equal(t, left == "", ok, "the first line of an empty file is written at once")
		require.Equal(t, ok, mark.Lines == 1)
		done()
		o, done = open() // the process ended before anything happened
		fault = broken
		require.ErrorIs(t, o.Observe([]float64{0.2, 0.3}, 1), broken)
		fault = nil
		drive(t, o, bump([]float64{0.4, 0.4}), 2)
		mark, ok = o.JournalMark()
		require.True(t, ok)
		require.Equal(t, 5, mark.Lines)
		want := snapshot(t, o)
		done()
		o, done = open()
		require.Equal(t, want, snapshot(t, o))
		back, ok := o.JournalMark()
		require.True(t, ok)
		require.Equal(t, mark, back)
		done()
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		if first == "" {
			first = string(b)
		}
		require.Equal(t, first, string(b))
	}
}
