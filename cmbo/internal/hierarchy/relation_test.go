package hierarchy

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/internal/rng"
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
	m := learn(t, described(9), uniform(r, 5, 2), testSettings(2))
	target := map[string]any{"h": 37.5, "kind": "b"}
	rel, err := m.relate(ctx)
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
	moved := *m
	moved.moved = got
	gridMoments[reflect.TypeFor[*movedPopulation]()] = func(m *Model, _ hypothesis) ([]float64, *linalg.Sym) {
		cov := linalg.NewSym(g, nil)
		cov.Copy(m.pop.Cov)
		cov.Scale(m.moved.factor)
		return m.moved.mean, cov
	}
	s, found := moved.Settings(), 0
	for _, h := range moved.hypotheses(&s) {
		conforms(t, &moved, h, func(x *linalg.Dense) ([]float64, *linalg.Sym) { return denseMoments(t, &moved, h, x) })
		if b, ok := h.(*beside); ok {
			if _, ok := b.hypothesis.(*movedPopulation); ok {
				found++
			}
		}
	}
	require.Equal(t, len(s.Besides), found)
}

// likeness is the kernel of one descriptor, a missing value being the mean over the tasks' that
// are known.
func likeness(r *Relation, name string, length float64, a, b any) (k float64) {
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
func relationOf(t *testing.T, m *Model, rho float64, names ...string) *Relation {
	t.Helper()
	r, err := m.gather(ctx)
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

// bestOf is the mean of the best true values of the first one to five points of a prediction.
func bestOf(t *testing.T, foretold, truth []float64) (mean float64) {
	t.Helper()
	left := append([]float64(nil), foretold...)
	best := math.Inf(-1)
	for range 5 {
		at := 0
		for j, v := range left {
			if v > left[at] {
				at = j
			}
		}
		left[at] = math.Inf(-1)
		best = max(best, truth[at])
		mean += best / 5
	}
	return mean
}

// A task left out has the error of the joint Gaussian of all others.
func TestLeftOut(t *testing.T) {
	r := rng.Stream(2, t.Name())
	m := learn(t, described(7), uniform(r, 6, 2), testSettings(2))
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
	scores, asked := leftOut(k, 0.7, &squares, 0.3), rel.asked()
	a := mixed(k, 0.7)
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
		truth, foretold := make([]float64, m.grid.len()), make([]float64, m.grid.len())
		for p := range m.grid.len() {
			e := rel.dev.At(out, p)
			for i := range w {
				e -= w[i] * rel.dev.At(at(i), p)
			}
			sse += e * e
			truth[p] = m.pop.Mean[p] + rel.dev.At(out, p)
			foretold[p] = truth[p] - e
		}
		gain := bestOf(t, foretold, truth) - bestOf(t, m.pop.Mean, truth)
		assert.InDelta(t, gain, asked[out], 1e-6, "task %d", out)
		assert.InDelta(t, math.Log1p(sse/0.3), scores[out], 1e-9, "task %d", out)
	}
}

// Descriptors that tasks follow are found, those that they do not are not, and dealt out at
// random they say nothing; a missing value is no value of its own.
func TestRelationFinds(t *testing.T) {
	r := rng.Stream(3, t.Name())
	z := uniform(r, 25, 2)
	tasks := described(40)
	rel, err := learn(t, tasks, z, testSettings(2)).Relation(ctx)
	require.NoError(t, err)
	require.NotNil(t, rel)
	require.ElementsMatch(t, []string{"h", "kind"}, rel.Names)
	require.Greater(t, rel.Gain, 0.3)
	said := 0
	for range 20 {
		moved := append([]Task(nil), tasks...)
		for i, j := range r.Perm(len(tasks)) {
			moved[i].Context = tasks[j].Context
		}
		rel, err := learn(t, moved, z, testSettings(2)).Relation(ctx)
		require.NoError(t, err)
		if rel != nil {
			said++
		}
	}
	require.LessOrEqual(t, said, 2, "of 20 deals at random")
}

// A descriptor that foretells how bad the bad points are, and nothing of the best ones, is of
// no use.
func TestRelationOfBadPoints(t *testing.T) {
	for _, bad := range []bool{false, true} {
		tasks := makeTasks(37, 40, 12, 2, 0, 1)
		for i := range tasks {
			r := rng.Stream(37, "described", uint64(i))
			h := r.Float64()
			y := make([]float64, len(tasks[i].Z))
			for j := range y {
				x := tasks[i].X.Row(j)
				at := 0.3
				if !bad {
					at = h // where the hill is
				}
				y[j] = 4*math.Exp(-8*(x[0]-0.2)*(x[0]-0.2)-8*(x[1]-at)*(x[1]-at)) + 8*h*max(x[0]-0.5, 0)*math.Cos(6*x[1]) + 0.02*r.NormFloat64()
			}
			tasks[i] = scaled(tasks[i].ID, tasks[i].X, y)
			tasks[i].Context = map[string]any{"h": h}
		}
		m := learn(t, tasks, uniform(rng.Stream(6, t.Name()), 40, 2), testSettings(2))
		rel, err := m.Relation(ctx)
		require.NoError(t, err)
		require.Equal(t, bad, rel == nil)
	}
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
	got, err := m.At(ctx, map[string]any{"noise": 0.3})
	require.NoError(t, err)
	require.Same(t, m, got)
	for want, c := range map[string]map[string]any{
		`descriptor "height": the past tasks have ["noise" "same"]`:     {"height": 3.0},
		`descriptor "noise" is "much", and the past tasks have such as`: {"noise": "much"},
		`descriptor "same" is 1, and the past tasks have such as "x"`:   {"same": 1.0},
	} {
		_, err := m.At(ctx, c)
		require.ErrorContains(t, err, want)
	}
	bare := learn(t, makeTasks(3, 4, 8, 2, 0, 1), z, testSettings(2))
	_, err = bare.At(ctx, map[string]any{"noise": 0.3})
	require.ErrorContains(t, err, "the past tasks have no descriptors")
	got, err = bare.At(ctx, nil)
	require.NoError(t, err)
	require.Same(t, bare, got)

	// So does a task of which nothing is known that is of use.
	useful := learn(t, described(40), uniform(rng.Stream(3, "TestRelationFinds"), 25, 2), testSettings(2))
	for h, same := range map[string]bool{"": true, "noise": true, "h": false} {
		var c map[string]any
		if h != "" {
			c = map[string]any{h: 0.3}
		}
		got, err = useful.At(ctx, c)
		require.NoError(t, err)
		require.Equal(t, same, useful == got, h)
	}
}

// A model that was stored says the same of its tasks, to the bit.
func TestRelationStored(t *testing.T) {
	m := learn(t, described(30), uniform(rng.Stream(5, t.Name()), 20, 2), testSettings(2))
	var e codec.Encoder
	require.NoError(t, m.Encode(&e))
	back, err := Decode(&codec.Decoder{Buf: e.Buf, Ctx: ctx, Limits: codec.Limits{Tasks: 99, TaskRows: 99, TotalRows: 9999, Points: 999, Entries: 1 << 20}}, 2, m.settings)
	require.NoError(t, err)
	c := map[string]any{"h": 10.0, "kind": "a"}
	a, err := m.At(ctx, c)
	require.NoError(t, err)
	b, err := back.At(ctx, c)
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
