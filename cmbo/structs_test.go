package cmbo

import (
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
		s, err := SpaceOf(cfg)
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
		`both named "a"`: struct {
			A int `cmbo:"a,1,2"`
			B int `cmbo:"a,1,2"`
		}{},
	} {
		_, err := SpaceOf(cfg)
		require.ErrorIs(t, err, ErrSpace, reason)
		require.ErrorContains(t, err, reason)
	}
}

func TestInto(t *testing.T) {
	s, err := SpaceOf(configTags{})
	require.NoError(t, err)
	o, err := New(s)
	require.NoError(t, err)
	trial, err := o.Ask(t.Context())
	require.NoError(t, err)
	cfg := configTags{Note: "stays", Skipped: 7}
	require.NoError(t, trial.Into(&cfg))
	require.Equal(t, configTags{
		optimizerTags: optimizerTags{LR: trial.Float("lr"), Momentum: float32(trial.Float("momentum"))},
		Dropout:       trial.Float("dropout"), Depth: uint8(trial.Int("Depth")), Batch: trial.Int("batch"), Width: int32(trial.Int("width")),
		Units: trial.Int("units"), Gamma: trial.Float("gamma"), Kernel: trial.Choice("kernel"), Bias: trial.Bool("bias"), Note: "stays", Skipped: 7,
	}, cfg)
	require.NotZero(t, cfg.Batch)
	require.NotEmpty(t, cfg.Kernel)

	// What was told is read in the same way, after a restore too.
	require.NoError(t, o.Tell(trial.ID, 1))
	require.NoError(t, o.Observe(trial.X, 0.5))
	best, ok := o.Best()
	require.True(t, ok)
	for _, ob := range append(o.Observations(), best) {
		var again configTags
		require.NoError(t, ob.Into(&again))
		require.Equal(t, cfg.optimizerTags, again.optimizerTags)
		require.Equal(t, trial.Config(), ob.Config())
		require.Equal(t, cfg.LR, ob.Float("lr"))
		require.Equal(t, cfg.Batch, ob.Int("batch"))
		require.Equal(t, cfg.Kernel, ob.Choice("kernel"))
		require.Equal(t, cfg.Bias, ob.Bool("bias"))
	}

	small, err := NewSpace(Float("x", 0, 1), Int("n", -500, -300), Categorical("c", "a"))
	require.NoError(t, err)
	other := Trial{X: []float64{1, -400, 0}, space: small}
	for reason, cfg := range map[string]any{
		"no pointer to a struct": struct{}{},
		"no pointer":             (*configTags)(nil),
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
	require.ErrorIs(t, Trial{X: []float64{1}}.Into(&half), ErrSpace)
}
