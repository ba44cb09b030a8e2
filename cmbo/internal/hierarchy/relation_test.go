package hierarchy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// described makes tasks whose deviation from a common part follows a number and a choice.
func described(k int) []Task {
	tasks := makeTasks(31, k, 12, 2, 0, 1)
	for i := range tasks {
		r := rng.Stream(31, "described", uint64(i))
		h, kind := r.Float64(), []string{"a", "b"}[i%2]
		y := make([]float64, len(tasks[i].Z))
		for j := range y {
			x := tasks[i].X.Row(j)
			y[j] = math.Sin(5*x[0]) + 2*h*math.Cos(4*x[1]) + float64(i%2)*math.Cos(5*x[0]) + 0.05*r.NormFloat64()
		}
		tasks[i] = scaled(tasks[i].ID, tasks[i].X, y)
		tasks[i].Context = map[string]any{"h": 100 * h, "kind": kind, "noise": r.NormFloat64()}
		if i%5 == 4 {
			delete(tasks[i].Context, "kind")
		}
	}
	return tasks
}

// What descriptors make of the population is what the joint Gaussian of the tasks and the new
// one has, given the tasks' means: worked out with the Kronecker product of both covariances.
func TestMovedAgainstJoint(t *testing.T) {
	r := rng.Stream(1, t.Name())
	settings := testSettings(2)
	settings.Neighbours = 3 // of the 5 points, so that others see more of a point than these carry
	m := learn(t, described(9), uniform(r, 5, 2), settings)
	target := map[string]any{"h": 37.5, "kind": "b"}
	rel, _, err := m.relate(ctx, 0)
	require.NoError(t, err)
	if rel == nil { // the formula is held whether the tasks are worth it or not
		rel = relationOf(t, m, 0.6, "h", "kind")
	}
	require.NotZero(t, rel.Rho)
	n, g := len(rel.task), m.grid.len()
	between := linalg.NewSym(n+1, nil) // of tasks, the new one last
	all := append(rel.task[:n:n], target)
	for i := range n + 1 {
		for j := range i + 1 {
			v := rel.Rho
			for a, name := range rel.Names {
				if i != j {
					v *= likeness(rel, name, rel.Lengths[a], all[i][name], all[j][name])
				}
			}
			if i == j {
				v += 1 - rel.Rho
			}
			between.Set(i, j, v)
		}
	}
	seen := linalg.NewSym(n*g, nil)
	for a := range n * g {
		for b := range a + 1 {
			seen.Set(a, b, between.At(a/g, b/g)*m.pop.Cov.At(a%g, b%g))
		}
	}
	seen.AddDiag(1e-12 * m.pop.Cov.Trace())
	dev := make([]float64, n*g)
	for a := range dev {
		dev[a] = rel.dev.At(a/g, a%g)
	}
	alpha, _ := solve(t, seen, dev)
	got := rel.at(m.pop.Mean, target)
	for p := range g {
		cross := make([]float64, n*g)
		for a := range cross {
			cross[a] = between.At(n, a/g) * m.pop.Cov.At(p, a%g)
		}
		assert.InDelta(t, m.pop.Mean[p]+linalg.Dot(cross, alpha), got.mean[p], 1e-6, "mean at %d", p)
		w, _ := solve(t, seen, cross)
		assert.InDelta(t, m.pop.Cov.At(p, p)-linalg.Dot(cross, w), got.factor*m.pop.Cov.At(p, p), 1e-6, "variance at %d", p)
	}

	// And the hypothesis carries them to points as any other's moments are.
	with := *m
	with.moved = got
	got.surface, err = m.grid.surface(got.mean)
	require.NoError(t, err)
	s, found := with.Settings(), 0
	for _, h := range with.hypotheses(&s) {
		conforms(t, &with, h, func(x *linalg.Dense) ([]float64, *linalg.Sym) { return denseMoments(t, &with, h, x) })
		if h.past == shifted {
			found++
		}
	}
	require.Equal(t, len(s.Besides), found)
}

// likeness is the kernel of one descriptor, a missing value being the mean over the tasks' that
// are known.
func likeness(r *Likeness, name string, length float64, a, b any) (k float64) {
	d := r.of[name]
	one := func(v any) []any {
		if v == nil {
			return d.known
		}
		return []any{v}
	}
	for _, u := range one(a) {
		for _, v := range one(b) {
			k += math.Exp(-d.distance(u, v)/length) / float64(len(one(a))*len(one(b)))
		}
	}
	return k
}

// relationOf makes a relation of given descriptors, of lengths 1.
func relationOf(t *testing.T, m *Model, rho float64, names ...string) *Likeness {
	t.Helper()
	r, _, err := m.gather(ctx, 0)
	require.NoError(t, err)
	base := linalg.NewSym(len(r.task), nil)
	for i := range r.task {
		for j := range i + 1 {
			base.Set(i, j, 1)
		}
	}
	for _, name := range names {
		base = r.gram(base, name, 1)
		r.Names, r.Lengths = append(r.Names, name), append(r.Lengths, 1)
	}
	r.Rho = rho
	_, err = r.chol.FactorizeJitter(mixed(base, rho), 1e-6)
	require.NoError(t, err)
	return r
}

// A task left out has the error of the joint Gaussian of all others.
func TestLeftOut(t *testing.T) {
	r := rng.Stream(2, t.Name())
	m := learn(t, described(7), uniform(r, 20, 2), testSettings(2))
	rel := relationOf(t, m, 0.7, "h", "kind")
	n := len(rel.task)
	k := linalg.NewSym(n, nil)
	for i := range n {
		for j := range i + 1 {
			k.Set(i, j, 1)
		}
	}
	k = rel.gram(rel.gram(k, "h", 1), "kind", 1)
	var squares linalg.Sym
	squares.Gram(rel.dev)
	squared, a := leftOut(k, 0.7, &squares), mixed(k, 0.7)
	for out := range n {
		others, cross := linalg.NewSym(n-1, nil), make([]float64, n-1)
		at := func(i int) int { return i + min(1, max(0, i-out+1)) }
		for i := range n - 1 {
			cross[i] = a.At(out, at(i))
			for j := range i + 1 {
				others.Set(i, j, a.At(at(i), at(j)))
			}
		}
		w, _ := solve(t, others, cross)
		var sse float64
		for p := range m.grid.len() {
			e := rel.dev.At(out, p)
			for i := range w {
				e -= w[i] * rel.dev.At(at(i), p)
			}
			sse += e * e
		}
		assert.InDelta(t, sse, squared[out], 1e-9*(0.3+sse), "task %d", out)
	}
}

// TestSurely: gains are no chance if their mean is more than 1.6 of its standard errors above 0.
func TestSurely(t *testing.T) {
	const limit = relationErrors / 3 // ten gains of deviation 1
	for gain, want := range map[float64]bool{limit + 0.001: true, limit - 0.001: false, 0: false, -limit - 0.1: false} {
		require.Equal(t, want, surely(slices.Repeat([]float64{gain - 1, gain + 1}, 5)), gain)
	}
	require.True(t, surely([]float64{0.1, 0.1, 0.1}))
	require.False(t, surely([]float64{0, 0, 0}))
}

// TestSearch: a descriptor is taken that lowers the mean score of the tasks by a step, the first
// of equal ones, at a length and a share that were tried; not by what tasks gain by chance.
func TestSearch(t *testing.T) {
	r := rng.Stream(11, t.Name())
	tasks := described(40)
	for i := range tasks {
		tasks[i].Context["again"] = tasks[i].Context["h"]
		for k := range 6 {
			tasks[i].Context[fmt.Sprint("noise ", k)] = r.NormFloat64()
		}
	}
	m := learn(t, tasks, uniform(r, 25, 2), testSettings(2))
	rel, _, err := m.gather(ctx, 0)
	require.NoError(t, err)
	require.Same(t, rel, rel.search(ctx))
	require.ElementsMatch(t, []string{"again", "kind"}, rel.Names)
	require.Subset(t, relationLengths, rel.Lengths)
	require.Contains(t, relationRhos, rel.Rho)
	testutil.SkipShort(t, "it counts deals at random")
	m = learn(t, described(40), uniform(r, 10, 2), testSettings(2))
	said := 0
	for range 25 {
		dealt, _, err := m.gather(ctx, 0)
		require.NoError(t, err)
		r.Shuffle(len(dealt.task), func(i, j int) { dealt.task[i], dealt.task[j] = dealt.task[j], dealt.task[i] })
		if dealt.search(ctx) != nil {
			said++
		}
	}
	require.LessOrEqual(t, said, 1, "of 25 deals at random")
}

// TestSearchBesideACommonDeviation: where all tasks deviate alike from the population's mean, what they share foretells
// that, and a descriptor, even one that all have in common, says what it foretells of the rest.
func TestSearchBesideACommonDeviation(t *testing.T) {
	t.Parallel()
	const n = 20
	for _, tt := range []struct{ common, follows float64 }{{0, 0}, {0.3, 0}, {30, 0}, {0, 1}, {0.3, 1}} {
		r := rng.Stream(13, t.Name())
		l := &Likeness{of: map[string]*descriptor{"h": {number: true}, "none": {}}, dev: linalg.NewDense(n, 4, nil)}
		for i := range n {
			h := r.Float64()
			l.task = append(l.task, map[string]any{"h": h, "none": "x"})
			l.of["h"].known, l.of["none"].known = append(l.of["h"].known, h), append(l.of["none"].known, "x")
			l.of["h"].values = append(l.of["h"].values, h)
			for j := range 4 {
				l.dev.Row(i)[j] = tt.common + tt.follows*(h-0.5) + 0.05*r.NormFloat64()
			}
		}
		slices.Sort(l.of["h"].values)
		if got := l.search(ctx); tt.follows == 0 {
			require.True(t, got == nil, "%+v", tt)
		} else {
			require.Equal(t, []string{"h"}, got.Names)
			require.InDelta(t, 0.948, got.Gain, 0.003, "%+v", tt)
		}
	}
}

// TestForeign: of the descriptors of use it is told which a new task has not, and which no task that was compared has, or
// one as large or small.
func TestForeign(t *testing.T) {
	t.Parallel()
	l := &Likeness{Names: []string{"h", "kind"}, of: map[string]*descriptor{
		"h": {number: true, values: []float64{2, 3, 5}}, "kind": {known: []any{"a", "b"}}, "useless": {number: true, values: []float64{1}},
	}}
	for _, tt := range []struct {
		h, kind any
		want    []string
	}{
		{2.0, "a", nil}, {5.0, "b", nil},
		{1.9, "A", []string{"h 1.9 lies beyond 2 to 5 of the past tasks compared, and how far does not count", `none of the past tasks compared has kind "A"`}},
		{5.1, nil, []string{"h 5.1 lies beyond 2 to 5 of the past tasks compared, and how far does not count", "kind is not known of this task"}},
	} {
		require.Equal(t, tt.want, l.Foreign(map[string]any{"h": tt.h, "kind": tt.kind, "useless": 7.0}))
	}
}

// TestGather: tasks without descriptors are left out, of a descriptor those are known that have it,
// and a search that is interrupted has no result.
func TestGather(t *testing.T) {
	tasks := described(11)
	tasks[2].Context, tasks[7].Context = nil, map[string]any{}
	m := learn(t, tasks, uniform(rng.Stream(12, t.Name()), 8, 2), testSettings(2))
	all, got, err := m.gather(ctx, 0)
	require.NoError(t, err)
	require.Len(t, got, 9)
	require.Equal(t, []int{9, 7}, []int{len(all.of["h"].known), len(all.of["kind"].known)})
	require.True(t, all.of["h"].number && !all.of["kind"].number)
	require.Equal(t, slices.Sorted(slices.Values(all.of["h"].values)), all.of["h"].values)
	v := all.of["h"].values
	require.InDelta(t, 1.5/9, all.of["h"].place(v[1]), 1e-15)
	require.InDelta(t, 1.0/9, all.of["h"].place((v[0]+v[1])/2), 1e-15)
	require.Zero(t, all.of["h"].place(v[0]-1))
	require.Equal(t, 1.0, all.of["h"].place(v[8]+1))
	stopped := 0
	for n := range 200 {
		r, _, err := m.gather(testutil.Countdown(n), 0)
		if err == nil {
			require.Equal(t, all.dev, r.dev)
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		stopped++
	}
	require.Greater(t, stopped, 4, "the work has that many parts, each with a look at the context before")
}

// TestRelationIsNotWaitedForAfterTheEnd: a call whose context ends does not wait for another that looks for relations.
func TestRelationIsNotWaitedForAfterTheEnd(t *testing.T) {
	m := learn(t, described(3), uniform(rng.Stream(1, t.Name()), 4, 2), testSettings(2))
	m.related.lock <- struct{}{} // another call looks for it
	ended, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := m.Likeness(ended, 0)
	require.ErrorIs(t, err, context.Canceled)
	<-m.related.lock
	_, err = m.Likeness(ctx, 0)
	require.NoError(t, err)
}

// TestFewTasks: of two tasks nothing can be said, of three that two are alike.
func TestFewTasks(t *testing.T) {
	for n := 2; n <= 3; n++ {
		tasks := makeTasks(5, n, 12, 2, 0, 1)
		for i := range tasks {
			tasks[i] = scaled(tasks[i].ID, tasks[0].X, tasks[0].Z)
			tasks[i].Shift, tasks[i].Scale = []float64{3, 3, -3}[i], 1
			tasks[i].Context = map[string]any{"kind": []string{"a", "a", "b"}[i]}
		}
		_, level, err := learn(t, tasks, uniform(rng.Stream(13, t.Name()), 8, 2), outputSettings()).relations(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, n == 3, level != nil, n)
	}
}

// Descriptors that tasks follow are found, those that they do not are not, and dealt out at
// random they say nothing; a missing value is no value of its own.
func TestRelationFinds(t *testing.T) {
	r := rng.Stream(3, t.Name())
	z := uniform(r, 25, 2)
	tasks := described(40)
	rel, err := learn(t, tasks, z, testSettings(2)).Likeness(ctx, 0)
	require.NoError(t, err)
	require.NotNil(t, rel)
	require.ElementsMatch(t, []string{"h", "kind"}, rel.Names)
	require.Greater(t, rel.Gain, 0.3)
	testutil.SkipShort(t, "it counts deals at random")
	said := 0
	for range 20 {
		moved := append([]Task(nil), tasks...)
		for i, j := range r.Perm(len(tasks)) {
			moved[i].Context = tasks[j].Context
		}
		rel, err := learn(t, moved, z, testSettings(2)).Likeness(ctx, 0)
		require.NoError(t, err)
		if rel != nil {
			said++
		}
	}
	require.LessOrEqual(t, said, 2, "of 20 deals at random")
}

// No descriptor, too few tasks and useless descriptors leave the model as it is; a name or a
// kind that the tasks do not have is an error that says so.
func TestAt(t *testing.T) {
	r := rng.Stream(4, t.Name())
	z := uniform(r, 12, 2)
	tasks := described(12)
	for i := range tasks {
		tasks[i].Context = map[string]any{"noise": tasks[i].Context["noise"], "same": "x"}
	}
	m := learn(t, tasks, z, testSettings(2))
	got, err := m.At(ctx, map[string]any{"noise": 0.3}, 0)
	require.NoError(t, err)
	require.Same(t, m, got)
	for want, c := range map[string]map[string]any{
		`descriptor "height": the past tasks have ["noise" "same"]`:                                                 {"height": 3.0},
		fmt.Sprintf(`descriptor "noise" is "much", and the past tasks have such as %#v`, tasks[0].Context["noise"]): {"noise": "much"},
		`descriptor "same" is 1, and the past tasks have such as "x"`:                                               {"same": 1.0},
	} {
		require.ErrorContains(t, m.CheckContext(c), want)
	}
	bare := learn(t, makeTasks(3, 4, 8, 2, 0, 1), z, testSettings(2))
	require.ErrorContains(t, bare.CheckContext(map[string]any{"noise": 0.3}), "the past tasks have no descriptors")
	got, err = bare.At(ctx, nil, 0)
	require.NoError(t, err)
	require.Same(t, bare, got)

	// So does a task of which nothing is known that is of use.
	useful := learn(t, described(40), uniform(rng.Stream(3, "TestRelationFinds"), 25, 2), testSettings(2))
	for h, same := range map[string]bool{"": true, "noise": true, "h": false} {
		var c map[string]any
		if h != "" {
			c = map[string]any{h: 0.3}
		}
		got, err = useful.At(ctx, c, 0)
		require.NoError(t, err)
		require.Equal(t, same, useful == got, h)
	}
}

// A model that was stored says the same of its tasks, to the bit.
func TestRelationStored(t *testing.T) {
	m := learn(t, described(30), uniform(rng.Stream(5, t.Name()), 20, 2), testSettings(2))
	var e codec.Encoder
	m.Encode(&e)
	back, err := Decode(&codec.Decoder{Buf: e.Buf, Limits: codec.Limits{Tasks: 99, TaskRows: 99, TotalRows: 9999, Points: 999}}, 2, m.settings)
	require.NoError(t, err)
	c := map[string]any{"h": 10.0, "kind": "a"}
	a, err := m.At(ctx, c, 0)
	require.NoError(t, err)
	b, err := back.At(ctx, c, 0)
	require.NoError(t, err)
	require.NotNil(t, a.moved)
	require.Equal(t, a.moved, b.moved)
	require.Equal(t, fmt.Sprint(m.tasks[4].Context), fmt.Sprint(back.tasks[4].Context))
}

// TestDescriptorKernel: likeness falls with the difference by the length; of a value that is
// missing it is the mean over those that are known.
func TestDescriptorKernel(t *testing.T) {
	d := &descriptor{known: []any{"a", "b", "a"}}
	f, e := d.kernel(0.5), math.Exp(-2)
	assert.Equal(t, 1.0, f("b", "b"))
	assert.InDelta(t, e, f("a", "b"), 1e-15)
	assert.InDelta(t, (2+e)/3, f("a", nil), 1e-15)
	assert.InDelta(t, (1+2*e)/3, f(nil, "b"), 1e-15)
	for range 2 {
		assert.InDelta(t, (5+4*e)/9, f(nil, nil), 1e-15)
	}
}

// leveled are tasks whose level follows the number that describes them.
func leveled(k int, rise float64) []Task {
	tasks := described(k)
	for i := range tasks {
		h := tasks[i].Context["h"].(float64) / 100
		tasks[i].Shift, tasks[i].Scale = 7+2*rise*h, 2*math.Exp(0.3*rise*h)
	}
	return tasks
}

func outputSettings() Settings {
	s := testSettings(2)
	s.Output = true
	return s
}

// Of an output a level that follows a descriptor is found, and one that does not is not; the
// objective's is not looked at.
func TestLevel(t *testing.T) {
	r := rng.Stream(7, t.Name())
	z := uniform(r, 25, 2)
	m := learn(t, leveled(20, 1), z, outputSettings())
	shape, level, err := m.relations(ctx, 0)
	require.NoError(t, err)
	require.NotNil(t, shape)
	require.Equal(t, []string{"h"}, level.Names)
	require.Greater(t, level.Gain, 0.8)
	rel, err := m.Likeness(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, level.Gain, rel.Gain)
	_, level, err = learn(t, leveled(20, 1), z, testSettings(2)).relations(ctx, 0)
	require.NoError(t, err)
	require.Nil(t, level)
	testutil.SkipShort(t, "it counts deals at random")
	said := 0
	for range 10 {
		moved := leveled(20, 1)
		for i, j := range r.Perm(len(moved)) {
			moved[i].Shift, moved[i].Scale, moved[j].Shift, moved[j].Scale = moved[j].Shift, moved[j].Scale, moved[i].Shift, moved[i].Scale
		}
		_, level, err := learn(t, moved, z, outputSettings()).relations(ctx, 0)
		require.NoError(t, err)
		if level != nil {
			said++
		}
	}
	require.LessOrEqual(t, said, 1, "of 10 deals at random")
}

// What descriptors make of offset and scale is what the joint Gaussian of the tasks and the new
// one has, with what is left of the variances as the errors of tasks left out show it.
func TestLevelAgainstJoint(t *testing.T) {
	m := learn(t, leveled(9, 1), uniform(rng.Stream(8, t.Name()), 20, 2), outputSettings())
	rel := relationOf(t, m, 0.7, "h")
	n := len(rel.task)
	rel.dev = linalg.NewDense(n, 2, nil)
	a := linalg.NewSym(n, nil)
	target := map[string]any{"h": 37.5}
	cross := make([]float64, n)
	for i, task := range m.tasks {
		rel.dev.Row(i)[0] = (task.Shift - m.affine.shift) / math.Exp(m.affine.logScale)
		rel.dev.Row(i)[1] = math.Log(task.Scale) - m.affine.logScale
		cross[i] = 0.7 * likeness(rel, "h", 1, target["h"], rel.task[i]["h"])
		for j := range i + 1 {
			a.Set(i, j, 0.7*likeness(rel, "h", 1, rel.task[i]["h"], rel.task[j]["h"]))
		}
		a.Set(i, i, 1)
	}
	without := func(out int) []int {
		var others []int
		for i := range n {
			if i != out {
				others = append(others, i)
			}
		}
		return others
	}
	var usual float64
	var errors, all, mean [2]float64
	for out := range n {
		others := without(out)
		b, c := linalg.NewSym(n-1, nil), make([]float64, n-1)
		for i, u := range others {
			c[i] = a.At(out, u)
			for j, v := range others[:i+1] {
				b.Set(i, j, a.At(u, v))
			}
		}
		w, _ := solve(t, b, c)
		usual += (1 - linalg.Dot(w, c)) / float64(n)
		for k := range errors {
			e := rel.dev.At(out, k)
			for i, u := range others {
				e -= w[i] * rel.dev.At(u, k)
			}
			errors[k] += e * e
			all[k] += rel.dev.At(out, k) * rel.dev.At(out, k)
		}
	}
	w, _ := solve(t, a, cross)
	for i := range w {
		mean[0] += w[i] * rel.dev.At(i, 0)
		mean[1] += w[i] * rel.dev.At(i, 1)
	}
	left := func(k int) float64 {
		share := (errors[k]/all[k]*float64(n) + 1) / float64(n+1)
		return min(1, share*(1-linalg.Dot(w, cross))/usual)
	}
	got := rel.affineOf(m.affine, target)
	assert.Less(t, left(0), 1.0)
	assert.InDelta(t, m.affine.shift+mean[0]*math.Exp(m.affine.logScale), got.shift, 1e-9)
	assert.InDelta(t, m.affine.logScale+mean[1], got.logScale, 1e-9)
	assert.InEpsilon(t, left(0)*m.affine.shiftVar*math.Exp(2*m.affine.logScale), got.shiftVar*math.Exp(2*got.logScale), 1e-6)
	m.affine.logScaleVar = 3 // which is not near the least there is
	assert.InEpsilon(t, 3*left(1), rel.affineOf(m.affine, target).logScaleVar, 1e-6)
	for i := range n { // all scales are alike
		rel.dev.Row(i)[1] = 0
	}
	assert.Equal(t, 3.0, rel.affineOf(m.affine, target).logScaleVar)
	for i := range n {
		rel.dev.Row(i)[1] = math.Log(m.tasks[i].Scale) - m.affine.logScale
	}
	m.affine.logScaleVar = 1.02 * minScaleVariance
	assert.Equal(t, minScaleVariance, rel.affineOf(m.affine, target).logScaleVar)

	// Where the others only mislead nothing is known better than without them.
	for i := range n {
		rel.dev.Row(i)[1] = float64(1 - 2*(i%2))
	}
	m.affine.logScaleVar = 3
	assert.LessOrEqual(t, rel.affineOf(m.affine, target).logScaleVar, 3.0)
}

// A relation of a descriptor that is not known of the new task is left out.
func TestLevelAndShape(t *testing.T) {
	tasks := leveled(20, 1)
	for i := range tasks {
		tasks[i].Context["size"] = tasks[i].Context["h"]
		tasks[i].Context["h"] = float64(i)
	}
	m := learn(t, tasks, uniform(rng.Stream(9, t.Name()), 25, 2), outputSettings())
	m.related.shape, m.related.level = relationOf(t, m, 0.5, "kind"), relationOf(t, m, 0.5, "size")
	m.related.known = true
	m.related.level.dev = linalg.NewDense(20, 2, nil)
	for i := range tasks {
		m.affine.deviation(m.related.level.dev.Row(i), &m.tasks[i])
	}
	for name, want := range map[string][2]bool{"kind": {true, false}, "size": {false, true}, "h": {false, false}} {
		c := map[string]any{name: 50.0}
		if name == "kind" {
			c[name] = "a"
		}
		at, err := m.At(ctx, c, 0)
		require.NoError(t, err)
		require.Equal(t, want, [2]bool{at.moved != nil, at.affine != m.affine}, name)
		require.Equal(t, name == "h", at == m)
	}
}

// The level moves what a run expects before its first value, and a task without a scale, of one
// value, has none.
func TestLevelMovesTheRun(t *testing.T) {
	z := uniform(rng.Stream(9, t.Name()), 25, 2)
	tasks := append(leveled(20, 1), scaled("alone", uniform(rng.Stream(10, t.Name()), 1, 2), []float64{9}))
	tasks[20].Context = map[string]any{"h": 50.0}
	m := learn(t, tasks, z, outputSettings())
	dev := []float64{0, 1}
	m.affine.deviation(dev, &tasks[20])
	assert.Equal(t, []float64{(9 - m.affine.shift) / math.Exp(m.affine.logScale), 0}, dev)
	m.affine.deviation(dev, &Task{Z: tasks[20].Z, Shift: -1e300})
	assert.Equal(t, -maxRatio, dev[0])
	for _, h := range []float64{5, 95} {
		at, err := m.At(ctx, map[string]any{"h": h}, 0)
		require.NoError(t, err)
		r := NewRun(at, at.Settings(), math.NaN(), 1, nil, nil)
		require.NoError(t, r.Fit(ctx, linalg.NewDense(0, 2, nil), nil, nil, linalg.NewDense(0, 2, nil)))
		mean, sd := make([]float64, 25), make([]float64, 25)
		require.NoError(t, r.Predict(ctx, mean, sd, z))
		assert.InDelta(t, 7+2*h/100, stat.Sum(mean)/25, 0.5)
	}
}

// A run whose population descriptors leave as it is predicts what one without descriptors does, on
// the grid and off it, though it keeps the parts of covariances apart.
func TestMovedByNothing(t *testing.T) {
	r := rng.Stream(11, t.Name())
	s := testSettings(2)
	z := uniform(r, 24, 2)
	m := learn(t, makeTasks(1, 5, 12, 2, 3, 2), z, s)
	surface, err := m.mean()
	require.NoError(t, err)
	same := *m
	same.moved = &moved{m.pop.Mean, surface, 1}
	on := z.View(0, 0, 3, 2)
	x, cand := join(uniform(r, 9, 2), &on), join(uniform(r, 4, 2), &on)
	y := []float64{3, 4, 2, 3.5, 1, 2.5, 3.2, 2.8, 3.9, 2.2, 3.1, 1.7}
	n := rows(cand)
	var mean, sd [2][]float64
	for i, m := range []*Model{m, &same} {
		run := NewRun(m, s, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))
		mean[i], sd[i] = make([]float64, n), make([]float64, n)
		require.NoError(t, run.Predict(ctx, mean[i], sd[i], cand))
	}
	assert.InDeltaSlice(t, mean[0], mean[1], 1e-10)
	assert.InDeltaSlice(t, sd[0], sd[1], 1e-10)
}
