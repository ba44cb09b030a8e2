package space

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mixedSpace(t testing.TB) *Space {
	s, err := New(
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

func gridSpace(t testing.TB) *Space {
	s, err := New(
		Float("dropout", 0.1, 0.75).WithStep(0.1),
		Int("width", 16, 256).WithStep(48),
		Ordinal("units", 16, 32, 64, 512),
		Ordinal("rate", -0.5, 0.25, 1e10),
		Float("one", 2, 2.5).WithStep(1),
		Float("binary", 0, 1).WithStep(0x1p-20),
	)
	require.NoError(t, err)
	return s
}

func TestGridKnownValues(t *testing.T) {
	s := gridSpace(t)
	lo, hi := s.Params()[0].Bounds()
	require.Equal(t, []float64{0.1, 0.7}, []float64{lo, hi}, "the last multiple of the step is the bound")
	var drops, widths []float64
	for k := range 7 {
		drops = append(drops, s.params[0].nth(float64(k)))
	}
	for k := range int(s.params[1].count()) {
		widths = append(widths, s.params[1].nth(float64(k)))
	}
	require.Equal(t, []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}, drops, "decimals, not sums of binary fractions")
	require.Equal(t, []float64{16, 64, 112, 160, 208, 256}, widths)

	u, err := s.Encode([]float64{0.4, 112, 64, 0.25, 2, 0.5})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.5, 0.4, 2. / 3, 0.5, 0, 0.5}, u, 1e-15)
	row, err := s.Decode([]float64{0.41, 0.29, 0.49, 0.8, 1, 0.3})
	require.NoError(t, err)
	require.Equal(t, []float64{0.3, 64, 32, 1e10, 2, math.Round(0.3*0x1p20) * 0x1p-20}, row)

	config, err := s.Config([]float64{0.4, 112, 64, 0.25, 2, 0.5})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"dropout": 0.4, "width": 112, "units": 64, "rate": 0.25, "one": 2.0, "binary": 0.5}, config)
	trial := Point{s, []float64{0.4, 112, 64, 0.25, 2, 0.5}}
	require.Equal(t, 64, trial.Int("units"))
	require.Equal(t, 64.0, trial.Float("units"))
	require.Equal(t, 0.25, trial.Float("rate"))

	// Values as other programs compute them are taken, those between are not.
	require.NoError(t, s.Check([]float64{0.1 + 2*0.1, 16, 16, 1e10, 2, 0}))
	for _, bad := range [][]float64{
		{0.35, 16, 16, 1e10, 2, 0}, {0.8, 16, 16, 1e10, 2, 0}, {0, 16, 16, 1e10, 2, 0}, {0.1 + 1e-8, 16, 16, 1e10, 2, 0},
		{0.1, 17, 16, 1e10, 2, 0}, {0.1, 272, 16, 1e10, 2, 0}, {0.1, 16, 17, 1e10, 2, 0}, {0.1, 16, 16, 0, 2, 0}, {0.1, 16, 16, 1e10, 2.5, 0},
	} {
		require.ErrorIs(t, s.Check(bad), ErrOutOfSpace, "%v", bad)
	}
}

// TestGridEverywhere: each way to a point of the space stays on the grid and
// reaches all of it.
func TestGridEverywhere(t *testing.T) {
	s, err := New(Float("a", -0.3, 0.3).WithStep(0.2), Int("b", 1, 9).WithStep(4), Ordinal("c", 1, 10, 100))
	require.NoError(t, err)
	all := s.Enumerate(36)
	require.Len(t, all, 36)
	require.Nil(t, s.Enumerate(35))
	want := make(map[string]bool)
	for _, row := range all {
		require.NoError(t, s.Check(row))
		u, err := s.Encode(row)
		require.NoError(t, err)
		back, err := s.Decode(u)
		require.NoError(t, err)
		require.Equal(t, row, back)
		want[points.Key(row)] = true
	}
	require.Len(t, want, 36)
	reached := func(name string, n int, rows [][]float64) {
		got := make(map[string]bool)
		for _, row := range rows {
			require.True(t, want[points.Key(row)], "%s: %v", name, row)
			got[points.Key(row)] = true
		}
		require.Len(t, got, n, name)
	}
	r := rng.Stream(1, "grid")
	reached("sobol", 36, s.Spread(36, r))
	reached("design", 36, s.Design(2000, r))
	reached("neighbours of a corner", 8, s.Near(all[0], 5000, 0.1, r))
	var decoded [][]float64
	for range 5000 {
		row, err := s.Decode([]float64{2*r.Float64() - 0.5, 2*r.Float64() - 0.5, 2*r.Float64() - 0.5})
		require.NoError(t, err)
		decoded = append(decoded, row)
	}
	reached("decode", 36, decoded)
}

// TestNearManyChoices: what is near a point differs from it in about one of many choices besides the one that
// has to move, however many there are, and one or two change as often as numbers do; numbers of two or three values
// are choices, every second move of which ends at a bound that they lie on.
func TestNearManyChoices(t *testing.T) {
	for _, k := range []struct {
		of        func(name string) Param
		at, moves float64
	}{
		{func(name string) Param { return Categorical(name, "a", "b", "c") }, 0, 1},
		{Bool, 1, 1},
		{func(name string) Param { return Int(name, 1, 3) }, 2, 1},
		{func(name string) Param { return Ordinal(name, 8, 64) }, 8, 0.5},
	} {
		for _, c := range []int{1, 2, 10, 30} {
			params, at := []Param{Float("x", 0, 1)}, []float64{0}
			for i := range c {
				params, at = append(params, k.of(fmt.Sprint("c", i))), append(at, k.at)
			}
			s, err := New(params...)
			require.NoError(t, err)
			changed, alone := 0, 0
			const n = 10000
			for _, row := range s.Near(at, n, 0.1, rng.Stream(1, "near")) {
				differ := 0
				for _, v := range row[1:] {
					if v != k.at {
						differ++
					}
				}
				changed += differ
				if differ == 1 {
					alone++
				}
			}
			move := min(0.5, 1/float64(c))
			forced := float64(c) / float64(c+1) // that one of them has to move
			require.InDelta(t, k.moves*(move*float64(c)+forced*(1-move)), float64(changed)/n, 0.05, "%d of %v", c, params[1])
			require.Greater(t, float64(alone)/n, 0.3, "%d of %v", c, params[1])
		}
	}
	s, err := New(Categorical("only", "a"), Bool("b"))
	require.NoError(t, err)
	for _, row := range s.Near([]float64{0, 0}, 100, 0.02, rng.Stream(1, "near")) {
		require.Zero(t, row[0])
	}
}

// TestNearByLittle: steps of 0.02 and less move numbers that may move so little, and what else there is only where there are
// none.
func TestNearByLittle(t *testing.T) {
	s, err := New(LogFloat("rate", 1e-4, 1), Int("fine", 0, 1000), Int("coarse", 0, 40), Categorical("kind", "a", "b", "c"), Bool("on"))
	require.NoError(t, err)
	at := []float64{0.01, 500, 25, 1, 0}
	moved := func(s *Space, at []float64, step float64) []int {
		n := make([]int, len(at))
		for _, row := range s.Near(at, 2000, step, rng.Stream(1, "little")) {
			require.NotEqual(t, at, row)
			for k, v := range row {
				if v != at[k] {
					n[k]++
				}
			}
		}
		return n
	}
	for _, n := range moved(s, at, 0.0201) {
		require.Greater(t, n, 400)
	}
	few := moved(s, at, 0.02)
	require.Greater(t, min(few[0], few[1]), 1000)
	require.Equal(t, []int{0, 0, 0}, few[2:], "neither coarse whole numbers nor choices")
	finer := moved(s, at, 0.0009)
	require.Equal(t, []int{2000, 0, 0, 0, 0}, finer)
	rest, err := New(Int("coarse", 0, 40), Categorical("kind", "a", "b", "c"))
	require.NoError(t, err)
	for _, n := range moved(rest, at[2:4], 0.001) {
		require.Greater(t, n, 900)
	}
}

// TestIntLimits: integers end at ±2^53, whatever rounds to it, and where an int has 32 bits at what that holds.
func TestIntLimits(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		require.NoError(t, json.Unmarshal([]byte(`{"params":[{"name":"a","kind":"int","lo":-2147483648,"hi":2147483647}]}`), new(Space)))
		for _, beyond := range []string{`"int","lo":0,"hi":2147483648`, `"int","lo":-2147483649,"hi":0`, `"logint","lo":1,"hi":9007199254740992`} {
			err := json.Unmarshal([]byte(`{"params":[{"name":"a","kind":`+beyond+`}]}`), new(Space))
			require.ErrorContains(t, err, "is beyond -2147483648..2147483647", beyond)
		}
		require.False(t, Ordinal("o", 1, 0x1p31).wholeValues())
		return
	}
	limit := int64(maxInt)
	most := int(limit)
	s, err := New(Int("a", most-1, most), Int("b", -most, 1-most))
	require.NoError(t, err)
	require.Equal(t, [][]float64{{maxInt - 1, -maxInt}, {maxInt - 1, 1 - maxInt}, {maxInt, -maxInt}, {maxInt, 1 - maxInt}}, s.Enumerate(10))
	for _, row := range s.Near([]float64{maxInt, -maxInt}, 10, 0.1, rng.Stream(1, "limits")) {
		require.NoError(t, s.Check(row))
	}
	// The ranks of a wide range round.
	lo, hi := []int64{-8556006616956595, -5796155065108054}, []int64{5532155694621852, 4646532170301361}
	wide, err := New(Int("a", int(lo[0]), int(hi[0])), Int("b", int(lo[1]), int(hi[1])))
	require.NoError(t, err)
	for _, row := range wide.Near([]float64{float64(hi[0]), float64(hi[1])}, 100, 1e-17, rng.Stream(1, "limits")) {
		require.NoError(t, wide.Check(row))
	}

	for _, p := range []Param{Int("a", 0, most+1), Int("a", -most-1, 0), LogInt("a", 1, most+1), Int("a", 0, math.MaxInt)} {
		_, err := New(p)
		require.ErrorIs(t, err, ErrSpace)
		require.ErrorContains(t, err, "exact integers")
	}
	var stored Space
	require.ErrorIs(t, json.Unmarshal([]byte(`{"params":[{"name":"a","kind":"int","lo":0,"hi":9007199254740993}]}`), &stored), ErrSpace)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"params":[{"name":"a","kind":"int","lo":0,"hi":1e300}]}`), &stored), "0..1e+300 is beyond -9007199254740992..9007199254740992")
	require.NoError(t, json.Unmarshal([]byte(`{"params":[{"name":"a","kind":"int","lo":0,"hi":9007199254740992}]}`), &stored))
	for _, v := range []any{most + 1, int64(most + 1), uint64(most + 1), json.Number("9007199254740993"), uint64(math.MaxUint64)} {
		_, err := s.Row(map[string]any{"a": v, "b": -most})
		require.ErrorIs(t, err, ErrOutOfSpace, "%T %v", v, v)
	}
	row, err := s.Row(map[string]any{"a": json.Number("9007199254740992"), "b": int64(-most)})
	require.NoError(t, err)
	require.Equal(t, []float64{maxInt, -maxInt}, row)
	row, err = spaceOf(t, Float("a", 0, 2e19)).Row(map[string]any{"a": uint64(math.MaxUint64)})
	require.NoError(t, err)
	require.Equal(t, []float64{0x1p64}, row)
	context, err := Context{"a": uint64(1<<63 + 1<<62)}.Normal()
	require.NoError(t, err)
	require.Equal(t, Context{"a": 0x1.8p63}, context)
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

// TestEncodeRounds: a sum of steps is encoded as the value that it stands for.
func TestEncodeRounds(t *testing.T) {
	s, err := New(Float("x", 0, 0.5).WithStep(0.1))
	require.NoError(t, err)
	a, b := 0.1, 0.2
	require.NotEqual(t, 0.3, a+b)
	want, err := s.Encode([]float64{0.3})
	require.NoError(t, err)
	got, err := s.Encode([]float64{a + b})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestStepsFarFromZero: multiples of a step that the size of a bound rounds, of either sign, are values.
func TestStepsFarFromZero(t *testing.T) {
	for _, p := range []Param{Float("x", -1e8, 10).WithStep(0.2), Float("x", -10, 1e8).WithStep(0.2)} {
		s, err := New(p)
		require.NoError(t, err)
		for _, k := range []float64{1, 2, 17, 499_999_990} {
			v := p.nth(k)
			for _, near := range []float64{math.Nextafter(v, -1e9), v, math.Nextafter(v, 1e9)} {
				_, _, err := s.Place([]float64{near})
				require.NoError(t, err, "%.17g", near)
			}
			_, _, err := s.Place([]float64{v + 1e-6})
			require.ErrorIs(t, err, ErrOutOfSpace, "%.17g", v)
		}
	}
}

// TestOneStepValue: the one value of a step beyond the range is the lower bound to the bit, so that the space, with
// equal bounds, can be stored.
func TestOneStepValue(t *testing.T) {
	s, err := New(Float("x", -4391623222.116677, -4.3e9).WithStep(299129535990.2023))
	require.NoError(t, err)
	b, err := json.Marshal(s)
	require.NoError(t, err)
	var again Space
	require.NoError(t, json.Unmarshal(b, &again))
	require.True(t, again.SameParams(s))
}

// TestDecodeRefuses: coordinates that are no finite number, with their place.
func TestDecodeRefuses(t *testing.T) {
	s, err := UnitCube(2)
	require.NoError(t, err)
	for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		_, err := s.Decode([]float64{0.5, v})
		var e *DataError
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, ErrValue)
		require.Equal(t, 1, e.Column)
	}
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

// TestBoundsAreExact: the ends of the unit interval are the bounds to the last bit.
func TestBoundsAreExact(t *testing.T) {
	r := rng.Stream(1, "bounds")
	for range 200 {
		lo, width := math.Exp(40*r.Float64()-20), math.Exp(40*r.Float64()-20)
		for _, p := range []Param{Float("x", lo, lo+width), Float("x", -lo, width), LogFloat("x", lo, lo+width)} {
			require.Equal(t, p.lo, p.decode([]float64{0}), "%v", p)
			require.Equal(t, p.hi, p.decode([]float64{1}), "%v", p)
		}
	}
	p := LogFloat("lr", 0.001, 10)
	require.Equal(t, []float64{0.001, 10}, []float64{p.decode([]float64{0}), p.decode([]float64{1})})
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
	top := 0
	for i := range 1000 {
		if LogInt("n", 1, 3).spread((float64(i)+0.5)/1000) == 3 {
			top++
		}
	}
	require.InDelta(t, 1000*math.Log(3.5/2.5)/math.Log(3.5/0.5), top, 1)
	require.Equal(t, []float64{0, 1}, []float64{Bool("b").decode([]float64{0.4999}), Bool("b").decode([]float64{0.5})})
	ordinal := Ordinal("o", 1, 2, 4)
	for v, want := range map[float64]float64{0: 0, 1.2: 0, 1.7: 1, 2.9: 1, 3.1: 2, 9: 2} {
		require.Equal(t, want, ordinal.rank(v), "%g", v)
	}
	require.Equal(t, 1.0, Int("i", -2, 5).nth(3))
	require.True(t, ordinal.wholeValues())
	require.False(t, Ordinal("o", -1e300, 1).wholeValues() || Ordinal("o", 1, 1e300).wholeValues() || Ordinal("o", 1, 2.5).wholeValues())
}

func TestNewSpaceRejects(t *testing.T) {
	for name, params := range map[string][]Param{
		"no parameters":                 nil,
		"parameter 1 has an empty name": {Bool("b"), Float("", 0, 1)},
		`both named "a"`:                {Float("a", 0, 1), Bool("a")},
		"need lo < hi":                  {Float("a", 1, 1)},
		"not finite":                    {Float("a", math.NaN(), 1)},
		"overflows":                     {Float("a", -math.MaxFloat64, math.MaxFloat64)},
		"need 0 < lo":                   {LogFloat("a", 0, 1)},
		"need lo <= hi":                 {Int("a", 3, 2)},
		"lo >= 1":                       {LogInt("a", 0, 2)},
		"at least one choice":           {Categorical("a")},
		`choice "x" appears twice`:      {Categorical("a", "x", "y", "x")},
		"unknown kind":                  {{name: "a", kind: 77}},
		"not positive and finite":       {Float("a", 0, 1).WithStep(-0.5)},
		"positive and finite":           {Float("a", 0, 1).WithStep(math.NaN())},
		"not a whole number":            {Int("a", 0, 10).WithStep(2.5)},
		"below a billionth":             {Float("a", 0, 1).WithStep(1e-10)},
		"logfloat parameter takes":      {LogFloat("a", 1, 2).WithStep(0.5)},
		"logint parameter takes":        {LogInt("a", 1, 8).WithStep(2)},
		"at least one value":            {Ordinal("a")},
		"2 follows 2; they must":        {Ordinal("a", 1, 2, 2)},
		"1 follows 2; they must":        {Ordinal("a", 2, 1)},
		"value NaN is not finite":       {Ordinal("a", 1, math.NaN(), 3)},
	} {
		_, err := New(params...)
		require.ErrorIs(t, err, ErrSpace, name)
		require.ErrorContains(t, err, name)
	}
	for _, dim := range []int{0, -1, math.MaxInt} {
		_, err := UnitCube(dim)
		require.ErrorIs(t, err, ErrSpace)
	}
	_, err := Candidates(nil)
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
		{0, math.NaN(), ErrValue},
		{0, math.Inf(1), ErrValue},
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

// TestNilSpace: what can fail says that there is no space.
func TestNilSpace(t *testing.T) {
	for _, s := range []*Space{nil, new(Space)} {
		_, err := s.Row(nil)
		require.ErrorIs(t, err, ErrSpace)
		_, err = s.WithCandidates([][]float64{{1}})
		require.ErrorIs(t, err, ErrSpace)
		_, err = s.Config(nil)
		require.ErrorIs(t, err, ErrSpace)
		require.ErrorIs(t, s.Check(nil), ErrSpace)
	}
}

func TestSpaceRowRejects(t *testing.T) {
	s := mixedSpace(t)
	good := func() map[string]any {
		return map[string]any{"momentum": 0, "lr": 0.1, "depth": 3, "batch": 64, "kernel": "poly", "bias": true}
	}
	_, err := s.Row(good())
	require.NoError(t, err)
	for name, edit := range map[string]func(m map[string]any){
		"missing":         func(m map[string]any) { delete(m, "lr") },
		`no parameter "e`: func(m map[string]any) { m["extra"] = 1 },
		`"rbff"`:          func(m map[string]any) { m["kernel"] = "rbff" },
		"type string":     func(m map[string]any) { m["depth"] = "3" },
		"type int":        func(m map[string]any) { m["bias"] = 1 },
		"whole number":    func(m map[string]any) { m["depth"] = 3.5 },
		"is not in":       func(m map[string]any) { m["lr"] = 99 },
		"type float64 d":  func(m map[string]any) { m["kernel"] = 1.0 },
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
	err := InTask(AtRow(&DataError{Row: -1, Column: 2, Name: "lr", Reason: "0 is not in [1, 2]", Err: ErrOutOfSpace}, 3), "iris")
	require.EqualError(t, err, `cmbo: point outside the space: task "iris": row 3: parameter "lr": 0 is not in [1, 2]`)
	require.EqualError(t, new(DataError), "<nil>: row 0: column 0")
	foreign := errors.New("other")
	require.ErrorIs(t, InTask(foreign, "iris"), foreign)
	require.EqualError(t, InTask(foreign, "iris"), `task "iris": other`)
}

// What a description of a space says is taken, or refused, and nothing is made up.
func TestSpaceDescriptions(t *testing.T) {
	for text, want := range map[string]string{
		`{"params": [{"name": "a", "kind": "float", "lo": 1e-5, "hi": 1, "log": true}]}`:              `parameter "a": json: unknown field "log"`,
		`{"params": [{"name": "a", "kind": "float", "lo": 0, "hi": 1, "steps": 0.1}]}`:                `parameter "a": json: unknown field "steps"`,
		`{"params": [{"name": "a", "kind": "float", "lo": 0, "hi": 1}], "candidate": [[0.5]]}`:        `unknown field "candidate"`,
		`{"params": [{"name": "a", "kind": "int", "lo": -3}]}`:                                        `parameter "a" is of kind int without both bounds, "lo" and "hi"`,
		`{"params": [{"name": "a", "kind": "float", "lo": 0, "hi": 1}], "candidates": [[1], [null]]}`: `row 1: column 0: "candidates" is null`,
		`{"params": [{"name": "a", "kind": "float", "lo": 0, "hi": 1}], "candidates": [null]}`:        `row 0: "candidates" is null`,
		`{"params": [{"name": "a", "kind": "ordinal", "values": [null, 1]}]}`:                         `parameter "a": cmbo: unusable value: row 0: "values" is null`,
		`{"params": [{"name": "a", "kind": "categorical", "choices": ["x", null]}]}`:                  `parameter "a": cmbo: unusable value: row 1: "choices" is null`,
		`{"params": [{"name": "a", "kind": "choice", "choices": ["x"]}]}`:                             `parameter "a" is of unknown kind "choice", none of float, logfloat, int, logint, categorical, bool, ordinal`,
		`{"params": [{"name": "a", "kind": "float", "hi": 1}]}`:                                       `parameter "a" is of kind float without both bounds`,
	} {
		var s Space
		err := json.Unmarshal([]byte(text), &s)
		require.ErrorIs(t, err, ErrSpace, text)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, s.Defined(), ErrSpace)
	}
	var s Space
	require.NoError(t, json.Unmarshal([]byte(`{"params": [{"name": "a", "kind": "bool"}, {"name": "b", "kind": "ordinal", "values": [1, 2]}, {"name": "c", "kind": "categorical", "choices": ["x"]}]}`), &s))
	var p Param
	require.ErrorIs(t, p.UnmarshalJSON([]byte(`{"name": "a", "kind": "bool"} {}`)), ErrSpace)
}

// TestDescription: the parts of a parameter make it again, and parts that no constructor makes are refused.
func TestDescription(t *testing.T) {
	for _, p := range []Param{Float("a", 0, 1).WithStep(0.1), LogFloat("a", 1e-5, 1), Int("a", 0, 3), LogInt("a", 1, 8), Categorical("a", "x", "y"), Bool("a"), Ordinal("a", 1, 2, 4)} {
		d := p.Describe()
		q, err := d.Param()
		require.NoError(t, err)
		assert.Equal(t, p, q)
		if other := d; !d.Kind.ranged() {
			other.Hi++
			_, err = other.Param()
			assert.ErrorContains(t, err, "has bounds", d.Kind)
		}
		if d.Kind != KindCategorical {
			d.Choices = []string{"x"}
		} else {
			d.Values = []float64{1}
		}
		_, err = d.Param()
		assert.ErrorContains(t, err, "is a "+d.Kind.String()+" with", d.Kind)
	}
	_, err := Description{Name: "a", Kind: KindInt, Lo: 0.5, Hi: 1}.Param()
	assert.ErrorContains(t, err, "is an integer in")
}

// TestPairs: of 64 points of a Sobol sequence in the coordinates of both points each eighth of a range has eight. A list is
// drawn from column by column.
func TestPairs(t *testing.T) {
	t.Parallel()
	s, err := New(Float("a", 0, 8), Float("b", 0, 8))
	require.NoError(t, err)
	a, b := s.Pairs(64, rng.Stream(1, "pairs"))
	for k := range 2 {
		for _, rows := range [][][]float64{a, b} {
			require.Len(t, rows, 64)
			var counts [8]int
			for _, row := range rows {
				counts[int(row[k])]++
			}
			require.Equal(t, [8]int{8, 8, 8, 8, 8, 8, 8, 8}, counts)
		}
	}
	require.NotEqual(t, a, b)
	list, err := s.WithCandidates([][]float64{{1, 2}, {3, 4}})
	require.NoError(t, err)
	a, b = list.Pairs(64, rng.Stream(1, "pairs"))
	for _, rows := range [][][]float64{a, b} {
		seen := map[[2]float64]int{}
		for _, row := range rows {
			seen[[2]float64(row)]++
		}
		require.Len(t, seen, 4)
		require.Equal(t, 32, seen[[2]float64{1, 2}]+seen[[2]float64{1, 4}])
		require.Equal(t, 32, seen[[2]float64{1, 2}]+seen[[2]float64{3, 2}])
	}
}
