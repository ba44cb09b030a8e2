package space

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type optimizerTags struct {
	LR       float64 `cmbo:"lr,log,1e-5,1"`
	Momentum float32 `cmbo:"momentum, 0, 0.99"`
}

type configTags struct {
	optimizerTags
	Dropout float64 `cmbo:"dropout,0,0.5,step=0.1"`
	Depth   uint8   `cmbo:",1,12"`
	Batch   int     `cmbo:"batch,log,8,512"`
	Width   int32   `cmbo:"width,16,256,step=16"`
	Units   int     `cmbo:"units,ordinal,16,32,64"`
	Gamma   float64 `cmbo:"gamma,ordinal,0.5,1"`
	Kernel  string  `cmbo:"kernel,rbf,poly"`
	Bias    bool    `cmbo:"bias"`
	Note    string
	Skipped float64 `cmbo:"-"`
}

func TestSpaceOf(t *testing.T) {
	want := spaceOf(t,
		LogFloat("lr", 1e-5, 1), Float("momentum", 0, 0.99), Float("dropout", 0, 0.5).WithStep(0.1), Int("Depth", 1, 12), LogInt("batch", 8, 512),
		Int("width", 16, 256).WithStep(16), Ordinal("units", 16, 32, 64), Ordinal("gamma", 0.5, 1), Categorical("kernel", "rbf", "poly"), Bool("bias"))
	for _, cfg := range []any{configTags{}, &configTags{}, (*configTags)(nil)} {
		s, err := Of(cfg)
		require.NoError(t, err)
		require.Equal(t, want.Params(), s.Params())
	}
	for reason, cfg := range map[string]any{
		"no struct":     3,
		"no parameters": struct{ A int }{},
		"field A: want lo,hi": struct {
			A float64 `cmbo:"a"`
		}{},
		`field A: "1.5" is no number of the field's type`: struct {
			A int `cmbo:"a,1.5,2"`
		}{},
		"field a: it is not exported": struct {
			a int `cmbo:"a,1,2"`
		}{},
		"field A: a []int cannot be": struct {
			A []int `cmbo:"a,1,2"`
		}{},
		"field A: a string needs its choices": struct {
			A string `cmbo:"a"`
		}{},
		"field A: a bool has nothing after": struct {
			A bool `cmbo:"a,true"`
		}{},
		"takes no step": struct {
			A float64 `cmbo:"a,log,1,2,step=0.5"`
		}{},
		"field A: want": struct {
			A float64 `cmbo:"a,ordinal,1,2,step=0.5"`
		}{},
		"need lo <= hi": struct {
			A int `cmbo:"a,3,2"`
		}{},
		"exact integers": struct {
			A int `cmbo:"a,0,9007199254740993"`
		}{},
		"field A: a int8 does not hold 300, a value of an int in [0, 300]": struct {
			A int8 `cmbo:"a,0,300"`
		}{},
		"field A: a uint does not hold -1": struct {
			A uint `cmbo:"a,ordinal,-1,3"`
		}{},
		"field A: a float32 does not hold 1e-60": struct {
			A float32 `cmbo:"a,log,1e-60,1"`
		}{},
		`both named "a"`: struct {
			A int `cmbo:"a,1,2"`
			B int `cmbo:"a,1,2"`
		}{},
	} {
		_, err := Of(cfg)
		require.ErrorIs(t, err, ErrSpace, reason)
		require.ErrorContains(t, err, reason)
	}
}

// Base has a tag behind a pointer of its own kind.
type Base struct {
	*Base
	X float64 `cmbo:"x,0,1"`
}

// TestSpaceOfPointers: the parameters of a struct that is embedded by a pointer, which could not be set, are not
// passed over, and pointers to structs that have none are.
func TestSpaceOfPointers(t *testing.T) {
	_, err := Of(struct {
		*Base
		Y float64 `cmbo:"y,0,1"`
	}{})
	require.ErrorIs(t, err, ErrSpace)
	require.ErrorContains(t, err, "field Base: a *space.Base cannot be a parameter")
	s, err := Of(struct {
		*Base `cmbo:"-"`
		*strings.Builder
		Y float64 `cmbo:"y,0,1"`
	}{})
	require.NoError(t, err)
	require.Len(t, s.Params(), 1)
}

func TestPointInto(t *testing.T) {
	small, err := New(Float("x", 0, 1), Int("n", -500, -300), Categorical("c", "a"))
	require.NoError(t, err)
	other := Point{small, []float64{1, -400, 0}}
	for reason, cfg := range map[string]any{
		"no pointer to a struct": struct{}{},
		"no pointer":             (*configTags)(nil),
		"*int is no pointer":     new(int),
		`parameter "n": *struct { X float64 "cmbo:\"x\"" } has no field for it`: &struct {
			X float64 `cmbo:"x"`
		}{},
		`parameter "y": field Y: the space has no such parameter`: &struct {
			Y float64 `cmbo:"y"`
		}{},
		"field X: a int does not hold 1, a value of a float in [0, 1]": &struct {
			X int `cmbo:"x"`
		}{},
		"field N: a int8 does not hold -400": &struct {
			X float64 `cmbo:"x"`
			N int8    `cmbo:"n"`
		}{},
		"field N: a uint does not hold -400": &struct {
			N uint `cmbo:"n"`
		}{},
		"field C: a bool does not hold a": &struct {
			C bool `cmbo:"c"`
		}{},
		"field x: it is not exported": &struct {
			x float64 `cmbo:"x"`
		}{},
		"field Base: the space has no such parameter": &struct{ *Base }{},
	} {
		err := other.Into(cfg)
		require.ErrorIs(t, err, ErrSpace, reason)
		require.ErrorContains(t, err, reason)
	}
	half := struct {
		X float64 `cmbo:"x"`
		N string  `cmbo:"n"`
	}{X: 3}
	require.Error(t, other.Into(&half))
	require.Equal(t, 3.0, half.X, "a failed call changes nothing")
	require.ErrorIs(t, Point{X: []float64{1}}.Into(&half), ErrSpace)
}

// TestPointIntoFloat32: a float32 rounds reals, but refuses what it would turn into another
// whole number, an infinity, or a 0 without a logarithm.
func TestPointIntoFloat32(t *testing.T) {
	for _, tt := range []struct {
		p    Param
		x    float64
		want float32
		text string // of the value that is refused, else empty
	}{
		{LogFloat("v", 1e-5, 1e300), 6.68e249, 0, "6.68e+249, a value of a logfloat in [1e-05, 1e+300]"},
		{Float("v", -1e40, 0), -1e39, 0, "-1e+39"},
		{Float("v", 0, 1e40), math.MaxFloat32, math.MaxFloat32, ""},
		{LogFloat("v", 1e-60, 1), 1e-50, 0, "1e-50"},
		{Float("v", 0, 1), 1e-50, 0, ""},
		{Float("v", 0, 1), 0.1, 0.1, ""},
		{Int("v", 0, 1e8), 1<<24 + 1, 0, "16777217, a value of an int in [0, 100000000]"},
		{Int("v", 0, 1e8), 1<<24 + 2, 1<<24 + 2, ""},
		{LogInt("v", 1, 1e8), 1<<24 + 1, 0, "16777217"},
		{Ordinal("v", 1, 1<<24+1), 1<<24 + 1, 0, "16777217"},
		{Ordinal("v", 0.1, 1), 0.1, 0.1, ""},
	} {
		point := Point{spaceOf(t, tt.p), []float64{tt.x}}
		single := struct {
			V float32 `cmbo:"v"`
		}{7}
		err := point.Into(&single)
		if tt.text == "" {
			require.NoError(t, err)
			require.Equal(t, tt.want, single.V)
		} else {
			require.ErrorIs(t, err, ErrSpace)
			require.ErrorContains(t, err, `parameter "v": field V: a float32 does not hold `+tt.text)
			require.Equal(t, float32(7), single.V)
		}
		var double struct {
			V float64 `cmbo:"v"`
		}
		require.NoError(t, point.Into(&double))
		require.Equal(t, tt.x, double.V)
	}
}

func spaceOf(t testing.TB, params ...Param) *Space {
	s, err := New(params...)
	require.NoError(t, err)
	return s
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
	got, a, err := space.Adopt(tasks, Changes{Defaults: map[string]any{"momentum": 0.75, "more": 2}})
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
		`cmbo: point outside the space: task "a": row 1: parameter "lr": 0 is not in [0.0001, 10], in a row of Failed`,
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
		{map[string]any{"more": 2}, tasks, ErrSpace, `task "a": parameter "momentum": it was not recorded; recorded are "units", "lr", "bias", "gone", "flag": Changes.Renamed or Defaults`},
		{map[string]any{"more": 2, "momentum": 0.3}, tasks, ErrOutOfSpace, `parameter "momentum": 0.3 is not one of 0, 0.25`},
		{map[string]any{"more": "2", "momentum": 0.5}, tasks, ErrOutOfSpace, `parameter "more": a value of type string`},
		{map[string]any{"mor": 2}, tasks, ErrOutOfSpace, `a default for "mor"`},
		{map[string]any{"more": 2, "momentum": 0.5}, []Task{{ID: "x", Params: old, X: [][]float64{{7, 0, 0, 1, 0}}, Y: []float64{1}}}, ErrOutOfSpace, `task "x": row 0: parameter "units": choice index 7`},
		{map[string]any{"more": 2, "momentum": 0.5}, []Task{{ID: "x", Params: old, X: [][]float64{{1, math.NaN(), 0, 1, 0}}, Y: []float64{1}}}, ErrValue, `parameter "lr"`},
		{map[string]any{"more": 2, "momentum": 0.5}, []Task{{ID: "x", Params: old, X: [][]float64{{1, 0, 0}}, Y: []float64{1}}}, ErrDimension, `3 values for 5`},
		{nil, []Task{{ID: "x", Params: []Param{Bool("b"), Bool("b")}, X: [][]float64{{1, 0}}, Y: []float64{1}}}, ErrSpace, `task "x"`},
		{nil, []Task{{ID: "x"}}, ErrTask, `no observations`},
		{map[string]any{"more": 2, "momentum": 0.5}, []Task{{ID: "x", Params: old, X: tasks[1].X, Y: []float64{1}, Context: Context{"a": []int{1}}}}, ErrTask, `task "x": descriptor "a" is a []int`},
		{map[string]any{"more": 2, "momentum": 0.5}, []Task{{ID: "x", Params: old, X: tasks[1].X, Y: []float64{1}, Context: Context{" a": 1}}}, ErrTask, `task "x": descriptor " a": its name begins`},
	} {
		_, _, err := space.Adopt(tt.tasks, Changes{Defaults: tt.defaults})
		require.ErrorIs(t, err, tt.want)
		require.ErrorContains(t, err, tt.reason)
	}
}

// TestAdoptText: numbers and the choices that name them find each other, and a choice
// that names no finite number has no place among numbers.
func TestAdoptText(t *testing.T) {
	for _, tt := range []struct {
		from, to Param
		x, want  []float64
		outside  []string // the values of the rows after these
	}{
		{Ordinal("p", 65536, 1048576, 2097152), Categorical("p", "65536", "1048576", "2097152"), []float64{65536, 1048576, 2097152}, []float64{0, 1, 2}, nil},
		{Float("p", 0, 1e7), Categorical("p", "1000000", "2e+06", "3.5", "2000000"), []float64{1e6, 2e6, 3.5, 4e6}, []float64{0, 3, 2}, []string{"4000000"}},
		{Float("p", 0, 0.5).WithStep(0.1), Categorical("p", "0.1", "0.3"), []float64{0.30000000000000004, 0.1, 0.7000000000000001}, []float64{1, 0}, []string{"0.7000000000000001"}},
		{Float("p", 0, 1e7), Categorical("p", "1e+06"), []float64{1e6}, []float64{0}, nil},
		{Float("p", 0, 1e17), Categorical("p", "9007199254740992", "1e+16"), []float64{1 << 53, 1e16}, []float64{0, 1}, nil},
		{Categorical("p", "1", "1e1", "inf", "-Infinity", "nan", "1e400", "none", "0x10"), Float("p", 0, 100), []float64{0, 1, 2, 3, 4, 5, 6, 7}, []float64{1, 10}, []string{"inf", "-Infinity", "nan", "1e400", "none", "0x10"}},
	} {
		task := Task{ID: "a", Params: []Param{tt.from}, Y: make([]float64, len(tt.x))}
		for _, v := range tt.x {
			task.X = append(task.X, []float64{v})
		}
		tasks, a, err := spaceOf(t, tt.to).Adopt([]Task{task}, Changes{})
		require.NoError(t, err)
		var got []float64
		for _, row := range tasks[0].X {
			got = append(got, row[0])
		}
		require.Equal(t, tt.want, got)
		require.Len(t, a.Outside, len(tt.outside))
		for i, e := range a.Outside {
			require.ErrorIs(t, e, ErrOutOfSpace)
			require.ErrorContains(t, e, `"`+tt.outside[i]+`" is not a value of`)
			require.Equal(t, len(tt.want)+i, e.Row)
		}
	}
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
	for _, s := range []*Space{few, list} {
		rows, err := s.Sample(math.MaxInt, 1)
		require.NoError(t, err)
		require.LessOrEqual(t, len(rows), 6)
	}
	for _, n := range []int{1<<24 + 1, math.MaxInt} {
		_, err = s.Sample(n, 1)
		require.ErrorIs(t, err, ErrOption)
		_, err = spaceOf(t, Int("i", 0, 1<<30)).Sample(n, 1)
		require.ErrorIs(t, err, ErrOption)
	}
	_, err = few.Sample(-1, 1)
	require.ErrorIs(t, err, ErrOption)
	_, err = new(Space).Sample(1, 1)
	require.ErrorIs(t, err, ErrSpace)
}
