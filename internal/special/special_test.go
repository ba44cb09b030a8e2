package special

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"
)

// bounds are the error bounds of the doc comments in units of u = 2^-53,
// relative to max(|value|, floor).
var bounds = []struct {
	name  string
	f     func(float64) float64
	units float64
	floor func(x float64) float64
}{
	{"NormPDF", NormPDF, 6, nil},
	{"NormCDF", NormCDF, 8, nil},
	{"NormLogCDF", NormLogCDF, 10, nil},
	{"Erfcx", func(x float64) float64 { return keep(x >= 0, Erfcx(x)) }, 8, nil},
	{"Erfcx", func(x float64) float64 { return keep(x < 0, Erfcx(x)) }, 6, nil},
	{"NormEI", NormEI, 10, nil},
	{"NormLogEI", func(x float64) float64 { return keep(x <= 0, NormLogEI(x)) }, 6, nil},
	{"NormLogEI", func(x float64) float64 { return keep(x > 0, NormLogEI(x)) }, 6, func(float64) float64 { return 1 }},
	{"NormQuantile", NormQuantile, 8, nil},
	{"Log", Log, 2, nil},
}

// skipped marks the arguments to which a bound does not apply.
const skipped = math.MaxFloat64

func keep(ok bool, v float64) float64 {
	if ok {
		return v
	}
	return skipped
}

type table struct {
	Func  string
	Cases [][2]json.RawMessage
}

func readTables(t *testing.T) map[string][]point {
	t.Helper()
	raw, err := os.ReadFile("testdata/special.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Tables []table }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string][]point{}
	for _, tab := range file.Tables {
		for _, c := range tab.Cases {
			var p point
			var s string
			if err := json.Unmarshal(c[0], &p.x); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(c[1], &s); err != nil {
				t.Fatal(err)
			}
			want, _, err := big.ParseFloat(s, 10, 140, big.ToNearestEven)
			if err != nil {
				t.Fatal(err)
			}
			p.want = want
			out[tab.Func] = append(out[tab.Func], p)
		}
	}
	return out
}

type point struct {
	x    float64
	want *big.Float
}

// units returns |got − want|/max(|want|, floor) in units of u.
func (p point) units(got, floor float64) float64 {
	if math.IsNaN(got) || math.IsInf(got, 0) {
		return math.Inf(1)
	}
	d := new(big.Float).Sub(new(big.Float).SetPrec(140).SetFloat64(got), p.want)
	scale := new(big.Float).Abs(p.want)
	if f := big.NewFloat(floor); scale.Cmp(f) < 0 {
		scale = f
	}
	if scale.Sign() == 0 {
		if got == 0 {
			return 0
		}
		return math.Inf(1)
	}
	e, _ := d.Quo(d.Abs(d), scale).Float64()
	return e * (1 << 53)
}

func TestAccuracy(t *testing.T) {
	tables := readTables(t)
	for _, b := range bounds {
		points := tables[b.name]
		if len(points) == 0 {
			t.Errorf("%s: no values", b.name)
		}
		var worst, at float64
		checked := 0
		for _, p := range points {
			got := b.f(p.x)
			if got == skipped {
				continue
			}
			checked++
			var floor float64
			if b.floor != nil {
				floor = b.floor(p.x)
			}
			if e := p.units(got, floor); e > worst || math.IsNaN(e) {
				worst, at = e, p.x
			}
		}
		t.Logf("%s: worst of %d: %.2f u at %g", b.name, checked, worst, at)
		if !(worst <= b.units) {
			t.Errorf("%s(%g) is off by %.3g u, bound %g u", b.name, at, worst, b.units)
		}
	}
}
