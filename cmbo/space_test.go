package cmbo

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

func mixedSpace(t testing.TB) *Space {
	s, err := NewSpace(
		Float("momentum", -1, 3),
		LogFloat("lr", 1e-5, 10),
		Int("depth", 2, 9),
		LogInt("batch", 1, 1024),
		Categorical("kernel", "rbf", "poly", "linear"),
		Bool("bias"),
	)
	require.NoError(t, err)
	return s
}

func TestSpaceEncodeKnownValues(t *testing.T) {
	s := mixedSpace(t)
	require.Equal(t, 8, s.Dim())
	u, err := s.Encode([]float64{1, 1e-2, 2, 32, 1, 1})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.5, 0.5, 0, 0.5, 0, 1, 0, 1}, u, 1e-15)
	lo, err := s.Encode([]float64{-1, 1e-5, 2, 1, 0, 0})
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0, 0, 0, 1, 0, 0, 0}, lo)
	hi, err := s.Encode([]float64{3, 10, 9, 1024, 2, 1})
	require.NoError(t, err)
	require.Equal(t, []float64{1, 1, 1, 1, 0, 0, 1, 1}, hi)
}

func TestSpaceRoundTrip(t *testing.T) {
	s := mixedSpace(t)
	r := rng.Stream(1, "round trip")
	for range 1000 {
		row := make([]float64, len(s.params))
		for i, p := range s.params {
			row[i] = p.spread(r.Float64())
		}
		require.NoError(t, s.Check(row))
		u, err := s.Encode(row)
		require.NoError(t, err)
		for _, v := range u {
			require.True(t, v >= 0 && v <= 1)
		}
		back, err := s.Decode(u)
		require.NoError(t, err)
		require.NoError(t, s.Check(back))
		for i := range row {
			if s.params[i].kind <= KindLogFloat {
				require.InDelta(t, row[i], back[i], 1e-14*math.Max(1, math.Abs(row[i])))
			} else {
				require.Equal(t, row[i], back[i])
			}
		}
		config, err := s.Config(row)
		require.NoError(t, err)
		blob, err := json.Marshal(config)
		require.NoError(t, err)
		var decoded map[string]any
		require.NoError(t, json.Unmarshal(blob, &decoded))
		again, err := s.Row(decoded)
		require.NoError(t, err)
		require.Equal(t, row, again)
	}
}

// TestSpaceDecodeIsValid decodes arbitrary coordinates.
func TestSpaceDecodeIsValid(t *testing.T) {
	s := mixedSpace(t)
	r := rng.Stream(1, "decode")
	for range 1000 {
		u := make([]float64, s.Dim())
		for i := range u {
			u[i] = 4*r.Float64() - 1.5
		}
		row, err := s.Decode(u)
		require.NoError(t, err)
		require.NoError(t, s.Check(row), "%v", row)
	}
}

// TestParamSpread: whole numbers and choices are equally likely.
func TestParamSpread(t *testing.T) {
	for _, p := range []Param{Int("i", -2, 5), Categorical("c", "a", "b", "c"), Bool("b")} {
		lo, hi := p.Bounds()
		n := int(hi-lo) + 1
		counts := make([]int, n)
		const m = 840 // a multiple of every n
		for i := range m {
			counts[int(p.spread((float64(i)+0.5)/m)-lo)]++
		}
		for i, c := range counts {
			require.Equal(t, m/n, c, "%s: value %d", p.Name(), i)
		}
	}
	p := LogInt("n", 1, 1000)
	below := 0
	for i := range 1000 {
		if p.spread((float64(i)+0.5)/1000) <= 32 {
			below++
		}
	}
	// ln(32.5/0.5)/ln(1000.5/0.5)
	require.InDelta(t, 1000*math.Log(65)/math.Log(2001), below, 1)
}

func TestNewSpaceRejects(t *testing.T) {
	for name, params := range map[string][]Param{
		"no parameters":            nil,
		"empty name":               {Float("", 0, 1)},
		`both named "a"`:           {Float("a", 0, 1), Bool("a")},
		"need lo < hi":             {Float("a", 1, 1)},
		"not finite":               {Float("a", math.NaN(), 1)},
		"overflows":                {Float("a", -math.MaxFloat64, math.MaxFloat64)},
		"need 0 < lo":              {LogFloat("a", 0, 1)},
		"need lo <= hi":            {Int("a", 3, 2)},
		"lo >= 1":                  {LogInt("a", 0, 2)},
		"at least one choice":      {Categorical("a")},
		`choice "x" appears twice`: {Categorical("a", "x", "y", "x")},
		"unknown kind":             {{name: "a", kind: 77}},
	} {
		_, err := NewSpace(params...)
		require.ErrorIs(t, err, ErrSpace, name)
		require.ErrorContains(t, err, name)
	}
	_, err := UnitCube(0)
	require.ErrorIs(t, err, ErrSpace)
	_, err = Candidates(nil)
	require.ErrorIs(t, err, ErrSpace)
}

func TestSpaceCheckSaysWhere(t *testing.T) {
	s := mixedSpace(t)
	ok := []float64{0, 1, 3, 8, 2, 0}
	require.NoError(t, s.Check(ok))
	for _, tt := range []struct {
		column int
		value  float64
		want   error
	}{
		{0, math.NaN(), ErrNotFinite},
		{0, math.Inf(1), ErrNotFinite},
		{0, 3.5, ErrOutOfSpace},
		{1, 0, ErrOutOfSpace},
		{2, 2.5, ErrOutOfSpace},
		{3, 1025, ErrOutOfSpace},
		{4, 3, ErrOutOfSpace},
		{4, -1, ErrOutOfSpace},
		{5, 0.5, ErrOutOfSpace},
	} {
		row := append([]float64(nil), ok...)
		row[tt.column] = tt.value
		err := s.Check(row)
		require.ErrorIs(t, err, tt.want)
		var de *DataError
		require.ErrorAs(t, err, &de)
		require.Equal(t, tt.column, de.Column)
		require.Contains(t, err.Error(), s.params[tt.column].Name())
	}
	require.ErrorIs(t, s.Check(ok[:5]), ErrDimension)

	_, err := s.WithCandidates([][]float64{ok, {0, 1, 3, 8, 9, 0}})
	require.ErrorIs(t, err, ErrOutOfSpace)
	require.ErrorContains(t, err, "row 1")
	_, err = Candidates([][]float64{{0.5, 0.5}, {0.5}})
	require.ErrorIs(t, err, ErrDimension)
}

func TestSpaceRowRejects(t *testing.T) {
	s := mixedSpace(t)
	good := func() map[string]any {
		return map[string]any{"momentum": 0, "lr": 0.1, "depth": 3, "batch": 64, "kernel": "poly", "bias": true}
	}
	_, err := s.Row(good())
	require.NoError(t, err)
	for name, edit := range map[string]func(m map[string]any){
		"missing":        func(m map[string]any) { delete(m, "lr") },
		"no parameter":   func(m map[string]any) { m["extra"] = 1 },
		`"rbff"`:         func(m map[string]any) { m["kernel"] = "rbff" },
		"type string":    func(m map[string]any) { m["depth"] = "3" },
		"type int":       func(m map[string]any) { m["bias"] = 1 },
		"whole number":   func(m map[string]any) { m["depth"] = 3.5 },
		"is not in":      func(m map[string]any) { m["lr"] = 99 },
		"type float64 d": func(m map[string]any) { m["kernel"] = 1.0 },
	} {
		m := good()
		edit(m)
		_, err := s.Row(m)
		require.ErrorIs(t, err, ErrOutOfSpace, name)
		require.ErrorContains(t, err, name)
	}
}

func TestCandidateDuplicates(t *testing.T) {
	s, err := Candidates([][]float64{{0, 0.5}, {1, 0.5}, {0, 0.5}, {math.Copysign(0, -1), 0.5}})
	require.NoError(t, err)
	require.Equal(t, 4, s.NumCandidates())
	require.Equal(t, []int{0, 1, 0, 0}, s.first)
	require.Equal(t, 1, s.Index([]float64{1, 0.5}))
	require.Equal(t, -1, s.Index([]float64{1, 0.25}))
	r, err := s.Candidate(1)
	require.NoError(t, err)
	r[0] = 77
	r2, _ := s.Candidate(1)
	require.Equal(t, 1.0, r2[0], "a copy")
	_, err = s.Candidate(4)
	require.ErrorIs(t, err, ErrDimension)
}

func TestDataErrorText(t *testing.T) {
	err := inTask(atRow(&DataError{Row: -1, Column: 2, Name: "lr", Reason: "0 is not in [1, 2]", Err: ErrOutOfSpace}, 3), "iris")
	require.EqualError(t, err, `cmbo: point outside the space: task "iris": row 3: parameter "lr": 0 is not in [1, 2]`)
	foreign := errors.New("other")
	require.ErrorIs(t, inTask(foreign, "iris"), foreign)
	require.EqualError(t, inTask(foreign, "iris"), `task "iris": other`)
}
