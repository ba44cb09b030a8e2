package cmbo

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func spaceOf(t testing.TB, params ...Param) *Space {
	s, err := NewSpace(params...)
	require.NoError(t, err)
	return s
}

// TestRecordedByName: a task that knows its parameters means the same whatever
// their order and that of their choices.
func TestRecordedByName(t *testing.T) {
	old := spaceOf(t, Categorical("kernel", "rbf", "poly", "linear"), LogFloat("c", 1e-2, 1e2), Bool("scale"))
	now := spaceOf(t, Bool("scale"), Categorical("kernel", "linear", "rbf", "sigmoid", "poly"), LogFloat("c", 1e-3, 1e3))
	x := [][]float64{{0, 1, 1}, {1, 0.1, 0}, {2, 10, 1}, {0, 50, 0}}
	y := []float64{3, 1, 4, 1.5}
	recorded := []Task{{ID: "a", X: x, Y: y, Params: old.Params()}, {ID: "b", X: x[:2], Y: y[:2], Params: old.Params()}}
	moved := [][]float64{{1, 1, 1}, {0, 3, 0.1}, {1, 0, 10}, {0, 1, 50}}
	plain := []Task{{ID: "a", X: moved, Y: y}, {ID: "b", X: moved[:2], Y: y[:2]}}

	digest := func(tasks []Task) string {
		p, err := Learn(t.Context(), now, tasks, WithClusters(1))
		require.NoError(t, err)
		d, err := p.Digest()
		require.NoError(t, err)
		return d
	}
	require.Equal(t, digest(plain), digest(recorded))
	require.Equal(t, []float64{0, 1, 1}, recorded[0].X[0], "the tasks are not changed")

	// What Learn does not decide by itself names the parameter.
	for reason, params := range map[string][]Param{
		`parameter "extra": it was not recorded`:                                            {Bool("scale"), now.params[1], now.params[2], Bool("extra")},
		`parameter "scale": it was recorded, but is not in the space`:                       {now.params[1], now.params[2]},
		`parameter "c": it was recorded as a logfloat in [0.01, 100]; the space has a bool`: {Bool("scale"), now.params[1], Bool("c")},
	} {
		_, err := Learn(t.Context(), spaceOf(t, params...), recorded)
		require.ErrorIs(t, err, ErrSpace)
		require.ErrorContains(t, err, `task "a": `+reason)
	}
	narrow := spaceOf(t, Bool("scale"), Categorical("kernel", "linear", "rbf"), LogFloat("c", 1e-3, 1e3))
	_, err := Learn(t.Context(), narrow, recorded)
	require.ErrorIs(t, err, ErrOutOfSpace)
	require.ErrorContains(t, err, `task "a": row 1: parameter "kernel": "poly" is not a value of one of "linear", "rbf"`)
}

func TestAdopt(t *testing.T) {
	old := []Param{Categorical("units", "16", "32", "many"), Float("lr", 0, 1), Bool("bias"), Int("gone", 1, 3), Categorical("flag", "true", "false")}
	tasks := []Task{
		{
			ID: "a", Params: old, Y: []float64{1, 2, 3, 4}, NoiseVariance: []float64{0, 0.1, 0.2, 0.3},
			X:      [][]float64{{0, 0.5, 1, 1, 0}, {1, 0.25, 0, 2, 1}, {2, 0.5, 1, 3, 0}, {1, 1e-9, 1, 3, 0}},
			Failed: [][]float64{{0, 0.125, 1, 1, 1}, {1, 0, 0, 1, 1}},
		},
		{ID: "lost", Params: old, X: [][]float64{{2, 0.5, 0, 1, 0}}, Y: []float64{1}},
		{ID: "new", X: [][]float64{{64, 1, 1, 0.5, 3, 0}, {64, 20, 1, 0.5, 3, 0}}, Y: []float64{5, 6}},
	}
	before, err := json.Marshal(tasks)
	require.NoError(t, err)
	space := spaceOf(t, Ordinal("units", 16, 32, 64), LogFloat("lr", 1e-4, 10), Bool("flag"), Float("momentum", 0, 1).WithStep(0.25), Int("more", 1, 5), Categorical("bias", "false", "true"))
	got, a, err := space.Adopt(tasks, map[string]any{"momentum": 0.75, "more": 2})
	require.NoError(t, err)
	require.Equal(t, []Task{
		{ID: "a", Params: space.Params(), X: [][]float64{{16, 0.5, 1, 0.75, 2, 1}, {32, 0.25, 0, 0.75, 2, 0}}, Y: []float64{1, 2}, NoiseVariance: []float64{0, 0.1}, Failed: [][]float64{{16, 0.125, 0, 0.75, 2, 1}}},
		{ID: "new", Params: space.Params(), X: [][]float64{{64, 1, 1, 0.5, 3, 0}}, Y: []float64{5}},
	}, got)
	require.Equal(t, []string{"momentum", "more"}, a.Filled)
	require.Equal(t, []string{"gone"}, a.Dropped)
	require.Equal(t, 4, a.Rows)
	var places []string
	for _, e := range a.Outside {
		places = append(places, e.Error())
	}
	require.Equal(t, []string{
		`cmbo: point outside the space: task "a": row 2: parameter "units": "many" is not a value of an ordinal of [16 32 64]`,
		`cmbo: point outside the space: task "a": row 3: parameter "lr": 1e-09 is not in [0.0001, 10]`,
		`cmbo: point outside the space: task "a": row 5: parameter "lr": 0 is not in [0.0001, 10]`,
		`cmbo: point outside the space: task "lost": row 0: parameter "units": "many" is not a value of an ordinal of [16 32 64]`,
		`cmbo: point outside the space: task "new": row 1: parameter "lr": 20 is not in [0.0001, 10]`,
	}, places)
	after, err := json.Marshal(tasks)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))

	for _, tt := range []struct {
		defaults map[string]any
		tasks    []Task
		want     error
		reason   string
	}{
		{map[string]any{"more": 2}, tasks, ErrSpace, `task "a": parameter "momentum": it was not recorded`},
		{map[string]any{"more": 2, "momentum": 0.3}, tasks, ErrOutOfSpace, `parameter "momentum": 0.3 is not one of 0, 0.25`},
		{map[string]any{"more": "2", "momentum": 0.5}, tasks, ErrOutOfSpace, `parameter "more": a value of type string`},
		{map[string]any{"mor": 2}, tasks, ErrOutOfSpace, `a default for "mor"`},
		{map[string]any{"more": 2, "momentum": 0.5}, []Task{{ID: "x", Params: old, X: [][]float64{{7, 0, 0, 1, 0}}, Y: []float64{1}}}, ErrOutOfSpace, `task "x": row 0: parameter "units": choice index 7`},
		{map[string]any{"more": 2, "momentum": 0.5}, []Task{{ID: "x", Params: old, X: [][]float64{{1, math.NaN(), 0, 1, 0}}, Y: []float64{1}}}, ErrNotFinite, `parameter "lr"`},
		{map[string]any{"more": 2, "momentum": 0.5}, []Task{{ID: "x", Params: old, X: [][]float64{{1, 0, 0}}, Y: []float64{1}}}, ErrDimension, `3 values for 5`},
		{nil, []Task{{ID: "x", Params: []Param{Bool("b"), Bool("b")}, X: [][]float64{{1, 0}}, Y: []float64{1}}}, ErrSpace, `task "x"`},
		{nil, []Task{{ID: "x"}}, ErrTask, `no observations`},
	} {
		_, _, err := space.Adopt(tt.tasks, tt.defaults)
		require.ErrorIs(t, err, tt.want)
		require.ErrorContains(t, err, tt.reason)
	}
}

// TestPriorAdopt: a prior of the same space relearned is the same prior but for
// rounding, and one brought to a changed space still knows where the optimum is.
func TestPriorAdopt(t *testing.T) {
	old := spaceOf(t, Float("x", 0, 1), Categorical("kind", "good", "bad"))
	for _, minimize := range []bool{false, true} {
		var tasks []Task
		for k, id := range []string{"a", "b", "c"} {
			task := Task{ID: id}
			for i := range 9 {
				for kind := range 2 {
					x := float64(i) / 8
					y := float64(k+1) * (1 - (x-0.25)*(x-0.25) - float64(kind))
					if minimize {
						y = -y
					}
					task.X, task.Y = append(task.X, []float64{x, float64(kind)}), append(task.Y, y)
				}
			}
			tasks = append(tasks, task)
		}
		opts := []LearnOption{WithClusters(1), WithSeed(3)}
		if minimize {
			opts = append(opts, WithMinimize())
		}
		p, err := Learn(t.Context(), old, tasks, opts...)
		require.NoError(t, err)
		require.Equal(t, old.Params(), p.Space().Params())
		for i, task := range p.Tasks() {
			require.Equal(t, tasks[i].ID, task.ID)
			require.Len(t, task.X, 18)
			require.Equal(t, slices.Index(task.Y, slices.Max(task.Y)), slices.Index(tasks[i].Y, slices.Max(tasks[i].Y)))
		}
		same, a, err := p.Adopt(t.Context(), old, nil)
		require.NoError(t, err)
		require.Equal(t, 3*18, a.Rows)
		require.Equal(t, minimize, same.Minimizes())
		require.InDeltaSlice(t, p.Prototype(0).Mean(), same.Prototype(0).Mean(), 1e-6)

		now := spaceOf(t, Categorical("kind", "bad", "new", "good"), Float("x", -1, 0.75), Bool("flag"))
		_, err = New(now, WithPrior(p))
		require.ErrorIs(t, err, ErrPriorMismatch)
		q, a, err := p.Adopt(t.Context(), now, map[string]any{"flag": true})
		require.NoError(t, err)
		require.Len(t, a.Outside, 3*2*2)
		require.Equal(t, []string{"flag"}, a.Filled)
		o, err := New(now, WithPrior(q))
		require.NoError(t, err)
		trial, err := o.Ask(t.Context())
		require.NoError(t, err)
		mean := func(kind int, x float64) float64 {
			m, _, err := o.Predict([]float64{float64(kind), x, 1})
			require.NoError(t, err)
			if minimize {
				return -m
			}
			return m
		}
		require.Greater(t, mean(2, 0.25), mean(0, 0.25), "%v", trial)
		require.Greater(t, mean(2, 0.25), mean(2, 0.75))
	}
}

func TestPriorMismatchSaysWhere(t *testing.T) {
	old := []Param{Float("lr", 0, 1), Categorical("kernel", "rbf", "poly"), Int("depth", 1, 9).WithStep(2)}
	task := Task{ID: "a", X: [][]float64{{0.5, 0, 1}, {0.25, 1, 3}}, Y: []float64{1, 2}}
	p, err := Learn(t.Context(), spaceOf(t, old...), []Task{task})
	require.NoError(t, err)
	for want, params := range map[string][]Param{
		`parameter "lr": a float in [0, 1] there, but a logfloat in [0.1, 1] in the space`:            {LogFloat("lr", 0.1, 1), old[1], old[2]},
		`parameter "kernel": choice 0 is "rbf" there; the space has one of "poly", "rbf"`:             {old[0], Categorical("kernel", "poly", "rbf"), old[2]},
		`parameter "depth": an int in [1, 9] with step 2 there, but an int in [1, 9] in the space`:    {old[0], old[1], Int("depth", 1, 9)},
		`parameter "depth": the space lacks it`:                                                       old[:2],
		`parameter "more": the space has it besides`:                                                  append(slices.Clone(old), Bool("more")),
		`parameter "kernel": it is parameter 1 there, but 2 of the space`:                             {old[0], old[2], old[1]},
		`parameter "kernel": one of "rbf", "poly" there, but an ordinal of [1 2] in the space; Prior`: {old[0], Ordinal("kernel", 1, 2), old[2]},
	} {
		s := spaceOf(t, params...)
		_, err := New(s, WithPrior(p))
		require.ErrorIs(t, err, ErrPriorMismatch)
		require.ErrorContains(t, err, want)
		var de *DataError
		require.True(t, errors.As(err, &de))
		require.Contains(t, want, `"`+de.Name+`"`)
		_, err = p.Reindex(t.Context(), s)
		require.ErrorContains(t, err, want)
	}
}

// TestTaskFailed: failures travel with the task and through a prior.
func TestTaskFailed(t *testing.T) {
	s := spaceOf(t, Float("x", 0, 1), Bool("b"))
	o, err := New(s)
	require.NoError(t, err)
	_, err = o.Task("empty")
	require.ErrorIs(t, err, ErrTask)
	var failed [][]float64
	for i := range 6 {
		trial, err := o.Ask(t.Context())
		require.NoError(t, err)
		if i%2 == 0 {
			require.NoError(t, o.TellFailed(trial.ID))
			failed = append(failed, trial.X)
			only, err := o.Task("run")
			require.NoError(t, err)
			require.Equal(t, failed, only.Failed)
			continue
		}
		require.NoError(t, o.Tell(trial.ID, trial.Float("x")))
	}
	task, err := o.Task("run")
	require.NoError(t, err)
	require.Len(t, task.X, 3)
	blob, err := json.Marshal(task)
	require.NoError(t, err)
	var back Task
	require.NoError(t, json.Unmarshal(blob, &back))
	require.Equal(t, task, back)

	without := Task{ID: "run", X: task.X, Y: task.Y}
	p, err := Learn(t.Context(), s, []Task{task, {ID: "all failed", Failed: failed}})
	require.NoError(t, err)
	kept := p.Tasks()
	require.Len(t, kept, 2)
	for i := range failed {
		require.InDeltaSlice(t, failed[i], kept[0].Failed[i], 1e-12)
		require.InDeltaSlice(t, failed[i], kept[1].Failed[i], 1e-12)
	}
	require.Equal(t, 1, p.NumTasks())
	_, err = Learn(t.Context(), s, []Task{{ID: "all failed", Failed: failed}})
	require.ErrorIs(t, err, ErrNoTasks)
	_, err = Learn(t.Context(), s, []Task{without, {ID: "bad", Failed: [][]float64{{0.5, 0}, {2, 0}}}})
	require.ErrorIs(t, err, ErrOutOfSpace)
	require.ErrorContains(t, err, `task "bad": row 1: parameter "x"`)
}

func TestSpaceSample(t *testing.T) {
	s := spaceOf(t, Float("x", 0, 1), Int("i", 1, 3))
	a, err := s.Sample(100, 7)
	require.NoError(t, err)
	b, err := s.Sample(100, 7)
	require.NoError(t, err)
	c, err := s.Sample(100, 8)
	require.NoError(t, err)
	require.Len(t, a, 100)
	require.Equal(t, a, b)
	require.NotEqual(t, a, c)
	count := make(map[float64]int)
	for _, row := range a {
		require.NoError(t, s.Check(row))
		count[row[1]]++
	}
	for i := 1.0; i <= 3; i++ {
		require.InDelta(t, 33, count[i], 5)
	}

	few := spaceOf(t, Int("i", 1, 3), Bool("b"))
	all, err := few.Sample(10, 1)
	require.NoError(t, err)
	require.Len(t, all, 6)
	list, err := few.WithCandidates([][]float64{{1, 0}, {2, 1}, {1, 0}, {3, 1}})
	require.NoError(t, err)
	for n, want := range []int{0, 1, 2, 3, 3} {
		rows, err := list.Sample(n, 5)
		require.NoError(t, err)
		require.Len(t, rows, want)
		for i, row := range rows {
			require.GreaterOrEqual(t, list.Index(row), 0)
			require.False(t, slices.ContainsFunc(rows[:i], func(q []float64) bool { return slices.Equal(q, row) }))
		}
	}
	_, err = few.Sample(-1, 1)
	require.ErrorIs(t, err, ErrOption)
	_, err = new(Space).Sample(1, 1)
	require.ErrorIs(t, err, ErrSpace)
}
