package cmbo_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

func encode(t testing.TB, p *cmbo.Prior) []byte {
	var b bytes.Buffer
	require.NoError(t, p.Encode(&b))
	return b.Bytes()
}

var smallSets = []cmbo.LearnOption{cmbo.WithIndexPoints(12)}

func TestPriorRoundTrip(t *testing.T) {
	list, _ := grid(t, 6)
	box := unitCube(t, 2)
	mixed, err := cmbo.NewSpace(cmbo.Float("a", 0, 1), cmbo.LogFloat("b", 1e-3, 1), cmbo.Categorical("c", "x", "y"), cmbo.Bool("d"), cmbo.LogInt("e", 1, 9),
		cmbo.Ordinal("f", 1, 4, 16), cmbo.Float("g", 0, 1).WithStep(0.25))
	require.NoError(t, err)
	f := bump([]float64{0.3, 0.3})
	var tasks []cmbo.Task
	for j := range 4 {
		o := newOptimizer(t, mixed, cmbo.WithInitial(12), cmbo.WithSeed(uint64(j)))
		drive(t, o, func(x []float64) float64 { return f(x[:2]) + x[2] + float64(j)*x[3] }, 12)
		task := taskOf(t, o, string(rune('a'+j)))
		task.NoiseVariance = make([]float64, 12)
		task.NoiseVariance[3] = 0.01
		tasks = append(tasks, task)
	}
	check := func(t *testing.T, p *cmbo.Prior, space *cmbo.Space, f func([]float64) float64) {
		b := encode(t, p)
		require.Equal(t, b, encode(t, p), "deterministic")
		q := decodePrior(t, bytes.NewReader(b))
		require.Equal(t, b, encode(t, q), "whole")
		require.Equal(t, p.Report(), q.Report())
		require.Equal(t, p.NoiseVariance(), q.NoiseVariance())
		require.Equal(t, p.Minimizes(), q.Minimizes())
		dp, err := p.Digest()
		require.NoError(t, err)
		dq, err := q.Digest()
		require.NoError(t, err)
		require.Equal(t, dp, dq)
		a, c := newOptimizer(t, space, cmbo.WithPrior(p), cmbo.WithCandidateCounts(30, 10)), newOptimizer(t, space, cmbo.WithPrior(q), cmbo.WithCandidateCounts(30, 10))
		require.Equal(t, drive(t, a, f, 4), drive(t, c, f, 4))
		require.Equal(t, weightsOf(t, a), weightsOf(t, c))
	}
	check(t, learn(t, list, family(5, 10), smallSets...), list, f)
	check(t, learn(t, box, family(5, 10), append(slices.Clip(smallSets), cmbo.WithKernel(kernel.Matern32(0.3)))...), box, f)
	p := learn(t, box, family(5, 10), smallSets...)
	check(t, p, box, f)
	q, err := p.Reindex(ctx, list)
	require.NoError(t, err)
	check(t, q, list, f)
	again, err := q.Reindex(ctx, list)
	require.NoError(t, err)
	require.Same(t, q, again)
	require.NotSame(t, p, q)
	check(t, learn(t, mixed, tasks, cmbo.WithIndexPoints(12), cmbo.WithMinimize()), mixed, func(x []float64) float64 { return x[0] + x[3] })
}

// TestPriorSize: the size per task is what the documentation says.
func TestPriorSize(t *testing.T) {
	box := unitCube(t, 2)
	size := func(k, n int) int {
		return len(encode(t, learn(t, box, family(k, n), smallSets...)))
	}
	perTask := (size(6, 20) - size(4, 20)) / 2
	require.Greater(t, perTask, 8*20*3)
	require.Less(t, perTask, 8*20*3+300)
}

// TestPriorRefusesDamage flips every bit, cuts at every length and appends.
func TestPriorRefusesDamage(t *testing.T) {
	box := unitCube(t, 1)
	p := learn(t, box, []cmbo.Task{{ID: "a", X: [][]float64{{0.1}, {0.7}}, Y: []float64{1, 2}}}, cmbo.WithIndexPoints(2))
	b := encode(t, p)
	refused := func(b []byte) {
		t.Helper()
		_, err := cmbo.DecodePrior(bytes.NewReader(b))
		if !errors.Is(err, cmbo.ErrCorrupt) && !errors.Is(err, cmbo.ErrVersion) {
			t.Fatalf("err = %v", err)
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
	refused(append(bytes.Clone(b), 0))
	for _, v := range []byte{0, 1, 18, 20} {
		other := bytes.Clone(b)
		other[9] = v
		_, err := cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(other)))
		require.ErrorIs(t, err, cmbo.ErrVersion)
		require.ErrorContains(t, err, fmt.Sprintf("prior of version %d, this release reads 19: learn it again", v))
	}
	// An option that does not exist follows the y policy.
	other := bytes.Replace(b, []byte("\x06zscore\x00"), []byte("\x06zscore\x01"), 1)
	require.NotEqual(t, b, other)
	_, err := cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(other)))
	require.ErrorIs(t, err, cmbo.ErrVersion)
	for text, want := range map[string]string{"\x06zscore": `an unknown y policy "{score"`, "\x05float": `a parameter of kind "gloat"`} {
		other := bytes.Replace(b, []byte(text), []byte(text[:1]+string(text[1]+1)+text[2:]), 1)
		require.NotEqual(t, b, other)
		_, err = cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(other)))
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.ErrorContains(t, err, want)
	}
	// The kind of the model follows the version.
	for kind, want := range map[byte]error{1: cmbo.ErrVersion, 3: cmbo.ErrCorrupt} {
		other := bytes.Clone(b)
		other[10] = kind
		_, err = cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(other)))
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, map[byte]string{1: "learn it again by package cmbo/paper", 3: "a prior of kind 3"}[kind])
	}
	_, err = cmbo.DecodePrior(io.MultiReader(bytes.NewReader(b), failingReader{}))
	require.ErrorIs(t, err, io.ErrClosedPipe)

	foreignPrior := learn(t, box, []cmbo.Task{{ID: "a", X: [][]float64{{0.1}, {0.7}}, Y: []float64{1, 2}}}, cmbo.WithKernel(foreign{1}))
	require.ErrorIs(t, foreignPrior.Encode(io.Discard), cmbo.ErrOption)
	_, err = foreignPrior.Digest()
	require.ErrorContains(t, err, "foreign")
	ablations, _ := cmbo.Ablations()
	ablated := learn(t, box, []cmbo.Task{{ID: "a", X: [][]float64{{0.1}, {0.7}}, Y: []float64{1, 2}}}, cmbo.WithAblation(ablations[0]))
	require.ErrorIs(t, ablated.Encode(io.Discard), cmbo.ErrOption)
}

// TestPriorRefusesValues: no sum holds out against whoever computes it anew, so values that no
// task may have are refused by what they are.
func TestPriorRefusesValues(t *testing.T) {
	box := unitCube(t, 1)
	const least, y, noise = 3e-5, 0.7071, 0.0123
	task := cmbo.Task{ID: "a", X: [][]float64{{0.1}, {0.5}, {0.7}}, Y: []float64{1, y, 2}, NoiseVariance: []float64{noise, 0, 0}}
	task.Outputs = map[string][]float64{"seconds": {2, least, 1e150}}
	crashed := cmbo.Task{ID: "crashed", Failed: [][]float64{{0.8}}}
	b := encode(t, learn(t, box, []cmbo.Task{task, crashed}, cmbo.WithIndexPoints(3)))
	bits := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
	for _, c := range []struct {
		was, is float64
		text    string
	}{
		{noise, -noise, "a variance of -0.0123"},
		{y, 2e150, "a number of 2e+150; the largest is 1e+150"},
		{y, -2e150, "a number of -2e+150; the largest is 1e+150"},
		{y, math.NaN(), "a number that is not finite"},
		{least / 1024, 0.01, `output "seconds" of task "a": row 2 has a value of`}, // the unit of its logarithms
	} {
		require.Equal(t, 1, bytes.Count(b, bits(c.was)), "%g", c.was)
		_, err := cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(bytes.Replace(b, bits(c.was), bits(c.is), 1))))
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.ErrorContains(t, err, c.text)
	}
	for _, outside := range []float64{1.5, -0.5, math.NaN()} { // the last point of the first task
		_, err := cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(bytes.Replace(b, bits(0.7), bits(outside), 1))))
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.ErrorContains(t, err, fmt.Sprintf("a point at %g of the unit cube", outside))
	}
	at := bytes.Index(b, []byte("crashed")) + len("crashed")
	label := bytes.Index(b[at:], bits(-1))
	require.Positive(t, label)
	other := slices.Concat(b[:at+label], bits(1), b[at+label+8:])
	_, err := cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(other)))
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	require.ErrorContains(t, err, `task "crashed": no observations`)
	_, err = cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(bytes.Replace(b, []byte("\acrashed"), []byte("\x00"), 1))))
	require.ErrorContains(t, err, `task 1 has 1 points and the ID ""`)
	p := decodePrior(t, bytes.NewReader(b))
	_, _, err = p.Adopt(ctx, box, cmbo.Changes{}, cmbo.WithIndexPoints(3))
	require.NoError(t, err, "the largest value that is legal stays so")
}

// TestPriorRefusesTasks: what no Learn takes is no prior's, and no two encodings are of one prior.
func TestPriorRefusesTasks(t *testing.T) {
	box := unitCube(t, 1)
	tasks := make([]cmbo.Task, 3)
	for i := range tasks {
		tasks[i] = cmbo.Task{ID: fmt.Sprint("t", i), X: [][]float64{{0.1}, {0.5}}, Y: []float64{1, 2.5},
			Context: cmbo.Context{"aa": 1.5 + float64(i), "bb": 1.0}}
	}
	text := func(name string, v float64) string {
		return name + "\x01" + string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	}
	for _, c := range []struct{ was, is, why string }{
		{"\x02aa\x02bb", "\x02bb\x02aa", `names ["bb" "aa"], which do not rise`},
		{"\x02aa\x02bb", "\x02bb\x02bb", `names ["bb" "bb"], which do not rise`},
		{"\x02aa\x02bb", "\x02a\n\x02bb", "its name has a control character"},
		{text("\x02bb", 2.5), "\x02bb\x00\aanumber", `descriptor "aa" is "anumber", and in task "t0" it is 1.5`},
		{text("", 2.5)[1:], text("", -2.5)[1:], "value -2.5 is not positive"},
	} {
		b := encode(t, learn(t, box, tasks, cmbo.WithIndexPoints(3), cmbo.WithPositiveValues()))
		require.True(t, bytes.Contains(b, []byte(c.was)), "%q", c.was)
		_, err := cmbo.DecodePrior(bytes.NewReader(cmbo.Reseal(bytes.ReplaceAll(b, []byte(c.was), []byte(c.is)))))
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.ErrorContains(t, err, c.why)
	}
}

// TestPriorLimits: each limit refuses what is one beyond it, by name, before any
// matrix is made, and accepts what is not.
func TestPriorLimits(t *testing.T) {
	list, _ := grid(t, 4)
	tasks := append(family(3, 20), family(4, 300)[3])
	b := encode(t, learn(t, list, tasks, cmbo.WithIndexPoints(12)))
	for _, tt := range []struct {
		name         string
		exact, below cmbo.PriorLimits
	}{
		{"Bytes", cmbo.PriorLimits{Bytes: int64(len(b))}, cmbo.PriorLimits{Bytes: int64(len(b)) - 1}},
		{"Tasks", cmbo.PriorLimits{Tasks: 4}, cmbo.PriorLimits{Tasks: 3}},
		{"TaskRows", cmbo.PriorLimits{TaskRows: 300}, cmbo.PriorLimits{TaskRows: 299}},
		{"TotalRows", cmbo.PriorLimits{TotalRows: 360}, cmbo.PriorLimits{TotalRows: 359}},
		{"Points", cmbo.PriorLimits{Points: 12}, cmbo.PriorLimits{Points: 11}},
	} {
		_, err := tt.exact.Decode(ctx, bytes.NewReader(b))
		require.NoError(t, err, tt.name)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := tt.below.Decode(ctx, bytes.NewReader(b))
		runtime.ReadMemStats(&after)
		require.Nil(t, p)
		require.ErrorIs(t, err, cmbo.ErrLimit)
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.NotContains(t, err.Error(), "corrupt", "it is whole")
		require.ErrorContains(t, err, ", which PriorLimits."+tt.name+" sets")
		if tt.name != "Points" { // which come after the tasks
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*300*300), tt.name)
		}
	}
	tasks[0].Outputs = map[string][]float64{"seconds": tasks[0].Y}
	again := encode(t, learn(t, list, tasks, cmbo.WithIndexPoints(12)))
	_, err := cmbo.PriorLimits{TotalRows: 379}.Decode(ctx, bytes.NewReader(again))
	require.ErrorContains(t, err, "5 tasks, each output's counted again, have 380 observations; the limit is 379")
	const most, mostInt = int64(math.MaxInt64), math.MaxInt
	_, err = cmbo.PriorLimits{
		Bytes: most, Tasks: mostInt, TaskRows: mostInt, TotalRows: mostInt, Points: mostInt,
	}.Decode(ctx, bytes.NewReader(b))
	require.NoError(t, err)
	_, err = cmbo.PriorLimits{Tasks: -1}.Decode(ctx, bytes.NewReader(b))
	require.ErrorIs(t, err, cmbo.ErrOption)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	p, err := cmbo.PriorLimits{}.Decode(cancelled, bytes.NewReader(b))
	require.Nil(t, p)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, cmbo.ErrCorrupt)
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestPriorTasks: a prior gives its tasks back as they were told, bit for bit, whatever it
// made of them to learn from, also decoded.
func TestPriorTasks(t *testing.T) {
	box := unitCube(t, 1)
	task := cmbo.Task{ID: "a"}
	for i := range 12 {
		x := float64(i) / 11
		task.X, task.Y = append(task.X, []float64{x}), append(task.Y, 3.1-8*x+math.Sin(40*x))
		task.NoiseVariance = append(task.NoiseVariance, 0.01)
	}
	for i, opts := range [][]cmbo.LearnOption{{cmbo.WithMinimize()}, nil, {cmbo.WithYPolicy(cmbo.Copula)}, {cmbo.WithYPolicy(cmbo.MinMax)}} {
		if i < 2 {
			task.Y[11] = []float64{1e9, -1e9}[i] // beyond the limit of Learn
		} else {
			task.Y[11] = -6
		}
		p := learn(t, box, []cmbo.Task{task}, append(opts, cmbo.WithIndexPoints(12))...)
		b := encode(t, p)
		decoded := decodePrior(t, bytes.NewReader(b))
		require.Equal(t, b, encode(t, decoded))
		for _, got := range [][]cmbo.Task{p.Tasks(), decoded.Tasks()} {
			require.Equal(t, task.Y, got[0].Y)
			require.Equal(t, task.NoiseVariance, got[0].NoiseVariance)
		}
	}
}

// TestPriorOfLargeVariances: a variance of a task's values in the unit of their deviation, which a task of equal values
// makes smaller, is bounded as a stored prior has it.
func TestPriorOfLargeVariances(t *testing.T) {
	cube := unitCube(t, 1)
	x := [][]float64{{0.1}, {0.5}, {0.9}}
	tasks := []cmbo.Task{{ID: "a", X: x, Y: []float64{0.1, 0.2, 0.15}, NoiseVariance: []float64{0, 1e150, 0}}, {ID: "b", X: x, Y: []float64{3, 3, 3}}}
	p := learn(t, cube, tasks)
	var b bytes.Buffer
	require.NoError(t, p.Encode(&b))
	back := decodePrior(t, &b)
	require.Equal(t, tasks[0].NoiseVariance, back.Tasks()[0].NoiseVariance)
}
