package space

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestAdoptSnaps: values between steps become the nearest, are counted, and no other
// value does.
func TestAdoptSnaps(t *testing.T) {
	s := spaceOf(t, Float("drop", 0, 0.5).WithStep(0.1), Int("width", 16, 250).WithStep(48), LogInt("batch", 1, 64), Ordinal("units", 16, 32), Float("free", 0, 1))
	recorded := []Param{Float("drop", 0, 1), Float("width", 0, 300), Float("batch", 0.5, 100), Float("units", 1, 64), Float("free", 0, 2)}
	in := [][]float64{
		{0.3, 64, 8, 16, 0.5},
		{0.30000000000000004, 64, 8, 16, 0.5},        // that is 0.3
		{0.137, 64, 8, 16, 0.5},                      // between
		{0.549, 231, 64.4, 32, 1},                    // beyond the last by less than half a step
		{0.551, 64, 8, 16, 0.5},                      // by more
		{0.1, 233, 8, 16, 0.5},                       // 208 + 25
		{0.1, 64, 0.4, 16, 0.5},                      // below 1 by more than a half
		{0.1, 64, 8, 24, 0.5}, {0.1, 64, 8, 16, 1.1}, // no steps
	}
	task := Task{ID: "a", Params: recorded, X: in, Y: make([]float64, len(in)), Failed: [][]float64{{0.44, 16, 7.6, 32, 0}}}
	got, a, err := s.Adopt([]Task{task}, Changes{})
	require.NoError(t, err)
	require.Equal(t, [][]float64{{0.3, 64, 8, 16, 0.5}, {0.3, 64, 8, 16, 0.5}, {0.1, 64, 8, 16, 0.5}, {0.5, 208, 64, 32, 1}}, got[0].X)
	require.Equal(t, [][]float64{{0.4, 16, 8, 32, 0}}, got[0].Failed)
	require.Equal(t, 5, a.Rows)
	require.Equal(t, 3, a.Snapped)
	require.Len(t, a.Outside, 5)
	require.Equal(t, `5 rows taken over, 3 of them moved to the nearest step; 5 rows left out: task "a", row 4, parameter "drop" (0.551 is not one of 0, 0.1, ... 0.5), `+
		`task "a", row 5, parameter "width" (233 is not in [16, 208]), task "a", row 6, parameter "batch" (0.4 is not in [1, 64]), and 2 more`, a.String())

	// A task that says nothing of its parameters is snapped alike.
	_, a, err = s.Adopt([]Task{{ID: "b", X: in[:3], Y: make([]float64, 3)}}, Changes{})
	require.NoError(t, err)
	require.Equal(t, 1, a.Snapped)
	// Learn leaves such a decision to its caller.
	_, err = CheckTasks(s, []Task{{ID: "b", X: in[:3], Y: make([]float64, 3)}})
	require.ErrorIs(t, err, ErrOutOfSpace)

	// Whatever the row, what Snap returns is nearest, and moved tells the truth.
	rng := testutil.RNG(t)
	grid := spaceOf(t, Float("drop", -0.3, 0.5).WithStep(0.1))
	for range 2000 {
		x := -0.5 + 1.2*rng.Float64()
		row, moved, err := grid.Snap([]float64{x})
		nearest, gap := 0.0, math.Inf(1)
		for k := range 9 {
			if v := float64(k-3) / 10; math.Abs(v-x) < gap {
				nearest, gap = v, math.Abs(v-x)
			}
		}
		if gap > 0.05+1e-9 {
			require.ErrorIs(t, err, ErrOutOfSpace, x)
			continue
		}
		require.NoError(t, err)
		require.InDelta(t, nearest, row[0], 1e-15)
		require.Equal(t, gap > 1e-9, moved, x)
	}
	_, _, err = grid.Snap([]float64{0, 1})
	require.ErrorIs(t, err, ErrDimension)
	_, _, err = grid.Snap([]float64{math.NaN()})
	require.ErrorIs(t, err, ErrValue)
}

// TestAdoptChanges: parameters and choices may have other names now.
func TestAdoptChanges(t *testing.T) {
	old := []Param{Float("learning_rate", 0, 1), Categorical("kernel", "rbf", "poly"), Bool("scale"), Categorical("size", "small", "large"), Int("level", 1, 3)}
	s := spaceOf(t, Categorical("kernel", "gaussian", "poly"), LogFloat("lr", 1e-4, 1), Categorical("scaling", "off", "std"), Ordinal("units", 16, 64), Categorical("level", "low", "2", "high"))
	tasks := []Task{
		{ID: "old", Params: old, X: [][]float64{{0.5, 0, 1, 1, 3}, {0.25, 1, 0, 0, 2}}, Y: []float64{1, 2}},
		{ID: "new", Params: s.Params(), X: [][]float64{{0, 0.5, 1, 64, 2}}, Y: []float64{3}},
	}
	c := Changes{
		Renamed: map[string]string{"learning_rate": "lr", "scale": "scaling", "size": "units"},
		Choices: map[string]map[string]string{
			"kernel": {"rbf": "gaussian"}, "scaling": {"false": "off", "true": "std"}, "units": {"small": "16", "large": "64"}, "level": {"1": "low", "3": "high"},
		},
	}
	// As a request in JSON has it.
	blob, err := json.Marshal(c)
	require.NoError(t, err)
	c = Changes{}
	require.NoError(t, json.Unmarshal(blob, &c))
	got, a, err := s.Adopt(tasks, c)
	require.NoError(t, err)
	require.Equal(t, [][]float64{{0, 0.5, 1, 64, 2}, {1, 0.25, 0, 16, 1}}, got[0].X)
	require.Equal(t, [][]float64{{0, 0.5, 1, 64, 2}}, got[1].X)
	require.Equal(t, "3 rows taken over", a.String())
	require.Equal(t, "learning_rate", tasks[0].Params[0].Name(), "the tasks are not changed")

	// A zero that has a sign is called what the other is.
	zero := Changes{Choices: map[string]map[string]string{"l2": {"0": "1e-08"}, "level": {"0": "none"}}}
	recorded := []Param{Float("l2", -1, 1), Int("level", -1, 1)}
	zeros, _, err := spaceOf(t, LogFloat("l2", 1e-8, 1), Categorical("level", "none", "1")).Adopt(
		[]Task{{ID: "zeros", Params: recorded, X: [][]float64{{0, 0}, {math.Copysign(0, -1), math.Copysign(0, -1)}}, Y: []float64{1, 2}}}, zero)
	require.NoError(t, err)
	require.Equal(t, [][]float64{{1e-8, 0}, {1e-8, 0}}, zeros[0].X)

	// With a past in the old names alone, and a parameter that is new.
	_, a, err = spaceOf(t, Float("lr", 0, 1), Bool("more")).Adopt(tasks[:1], Changes{Renamed: map[string]string{"learning_rate": "lr"}, Defaults: map[string]any{"more": true}})
	require.NoError(t, err)
	require.Equal(t, "2 rows taken over; taken from the defaults: more; dropped: kernel, level, scale, size", a.String())

	for reason, tt := range map[string]struct {
		c    Changes
		want error
	}{
		`"learning_rate" is renamed to "rate", which is not a parameter`:                                                {Changes{Renamed: map[string]string{"learning_rate": "rate"}}, ErrOutOfSpace},
		`parameter "learnin_rate": it is renamed to "lr", but no task was recorded with it, as far as their Params say`: {Changes{Renamed: map[string]string{"learnin_rate": "lr"}}, ErrSpace},
		`both "learning_rate" and "size" are renamed to "lr"`:                                                           {Changes{Renamed: map[string]string{"learning_rate": "lr", "size": "lr"}}, ErrOutOfSpace},
		`task "old": parameter "kernel": it was recorded, and so was "scale", which`:                                    {Changes{Renamed: map[string]string{"scale": "kernel"}}, ErrSpace},
		`choices of "kernels", which is not a parameter`:                                                                {Changes{Choices: map[string]map[string]string{"kernels": {"rbf": "poly"}}}, ErrOutOfSpace},
		`parameter "kernel": "rbf" is called "gauss", which is not a value of one of`:                                   {Changes{Choices: map[string]map[string]string{"kernel": {"rbf": "gauss"}}}, ErrSpace},
		`parameter "kernel": "Rbf" is called "gaussian", but no task was recorded with it, as far as their Params say`:  {Changes{Choices: map[string]map[string]string{"kernel": {"Rbf": "gaussian"}}}, ErrSpace},
		`parameter "level": "1.0" is called "low", but no task was recorded`:                                            {Changes{Choices: map[string]map[string]string{"level": {"3": "high", "1.0": "low"}}}, ErrSpace},
		`parameter "units": "small" is called "17", which is not a value of`:                                            {Changes{Choices: map[string]map[string]string{"units": {"small": "17"}}}, ErrSpace},
	} {
		_, _, err := s.Adopt(tasks, tt.c)
		require.ErrorIs(t, err, tt.want)
		require.ErrorContains(t, err, reason)
	}
}

// TestAdoptCopies: what is done to adopted tasks does nothing to those that they were made of.
func TestAdoptCopies(t *testing.T) {
	s, err := New(Float("x", 0, 1))
	require.NoError(t, err)
	tasks := []Task{{ID: "a", X: [][]float64{{0.5}}, Y: []float64{1}, Curves: []Curve{{Steps: []int{1}, Values: []float64{2}}}}}
	adopted, _, err := s.Adopt(tasks, Changes{})
	require.NoError(t, err)
	c := adopted[0].Curves[0]
	require.Equal(t, tasks[0].Curves[0], c)
	c.Steps[0], c.Values[0] = 7, 7
	require.Equal(t, Curve{Steps: []int{1}, Values: []float64{2}}, tasks[0].Curves[0])
}

// TestAdoptRenamesAtOnce: names that are swapped or passed on are renamed whatever the order of the columns.
func TestAdoptRenamesAtOnce(t *testing.T) {
	adopt := func(to *Space, renamed map[string]string, recorded ...Param) [][]float64 {
		got, _, err := to.Adopt([]Task{{ID: "old", Params: recorded, X: [][]float64{{0.25, 0.5}}, Y: []float64{1}}}, Changes{Renamed: renamed})
		require.NoError(t, err)
		return got[0].X
	}
	a, b, c := Float("a", 0, 1), Float("b", 0, 1), Float("c", 0, 1)
	swap, on := map[string]string{"a": "b", "b": "a"}, map[string]string{"a": "b", "b": "c"}
	require.Equal(t, [][]float64{{0.5, 0.25}}, adopt(spaceOf(t, a, b), swap, a, b))
	require.Equal(t, [][]float64{{0.25, 0.5}}, adopt(spaceOf(t, a, b), swap, b, a))
	require.Equal(t, [][]float64{{0.25, 0.5}}, adopt(spaceOf(t, b, c), on, a, b))
	require.Equal(t, [][]float64{{0.5, 0.25}}, adopt(spaceOf(t, b, c), on, b, a))
}

// TestAdoptNothing: columns in another order that nobody declared, and tasks without a
// row in the space, are errors that say so.
func TestAdoptNothing(t *testing.T) {
	s := spaceOf(t, LogFloat("lr", 1e-4, 1), Int("units", 16, 512))
	permuted := Task{ID: "a", X: [][]float64{{64, 0.01}, {128, 0.1}}, Y: []float64{1, 2}, Failed: [][]float64{{256, 0.1}}}
	_, _, err := s.Adopt([]Task{permuted}, Changes{})
	require.ErrorIs(t, err, ErrSpace)
	require.ErrorIs(t, err, ErrOutOfSpace)
	require.EqualError(t, err, `cmbo: invalid space: cmbo: point outside the space: task "a": row 0: parameter "lr": 64 is not in [0.0001, 1]; none of the 3 rows lies in the space, and the task has no Params that say what its columns are`)
	_, _, err = spaceOf(t, LogFloat("lr", 1e-4, 1), Bool("amp")).Adopt([]Task{{ID: "a", X: [][]float64{{0.1}}, Y: []float64{1}}}, Changes{})
	require.EqualError(t, err, `cmbo: wrong dimension: task "a": row 0: 1 value for 2 parameters, and the task has no Params that say what its columns are`)
	permuted.Params = []Param{Int("units", 16, 512), Float("lr", 0, 1)}
	got, _, err := s.Adopt([]Task{permuted}, Changes{})
	require.NoError(t, err)
	require.Equal(t, [][]float64{{0.01, 64}, {0.1, 128}}, got[0].X)
	for i := range permuted.X {
		permuted.X[i][0] = 1000
	}
	permuted.Failed = nil
	_, _, err = s.Adopt([]Task{permuted}, Changes{})
	require.ErrorIs(t, err, ErrNoTasks)
	require.ErrorContains(t, err, `0 rows taken over; 2 rows left out: task "a", row 0, parameter "units" (1000 is not in [16, 512])`)
	_, _, err = s.Adopt(nil, Changes{})
	require.ErrorIs(t, err, ErrNoTasks)
}

// Who writes all fields gives bounds of 0 to parameters that have none of their own.
func TestBoundsNotGiven(t *testing.T) {
	for text, want := range map[string]Param{
		`{"name":"a","kind":"bool","lo":0,"hi":0}`:                            Bool("a"),
		`{"name":"a","kind":"categorical","choices":["x","y"],"lo":0,"hi":0}`: Categorical("a", "x", "y"),
		`{"name":"a","kind":"ordinal","values":[2,3],"lo":0,"hi":0}`:          Ordinal("a", 2, 3),
	} {
		var p Param
		require.NoError(t, json.Unmarshal([]byte(text), &p), text)
		require.Equal(t, want, p, text)
	}
	var p Param
	require.ErrorIs(t, json.Unmarshal([]byte(`{"name":"a","kind":"bool","lo":0,"hi":2}`), &p), ErrSpace)
}
