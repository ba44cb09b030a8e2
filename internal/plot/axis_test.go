package plot

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// read turns a tick label back into a number.
func read(t *testing.T, label string) float64 {
	t.Helper()
	s := strings.Replace(label, "−", "-", 1)
	power := ""
	if i := strings.Index(s, "10"); i >= 0 && strings.ContainsAny(s, "⁰¹²³⁴⁵⁶⁷⁸⁹") {
		mantissa := strings.TrimSuffix(s[:i], "×")
		if mantissa == "" || mantissa == "-" {
			mantissa += "1"
		}
		for _, r := range s[i+2:] {
			if r == '⁻' {
				power += "-"
				continue
			}
			d := 0
			for _, c := range "⁰¹²³⁴⁵⁶⁷⁸⁹" {
				if c == r {
					power += strconv.Itoa(d)
				}
				d++
			}
		}
		s = mantissa + "e" + power
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !strings.Contains(err.Error(), "range") {
		t.Fatalf("label %q: %v", label, err)
	}
	return v
}

func checkScale(t *testing.T, s *scale, context ...any) {
	t.Helper()
	if !(s.lo < s.hi) || math.IsInf(s.lo, 0) || math.IsInf(s.hi, 0) || s.log && !(s.lo > 0) {
		t.Fatalf("limits %g, %g: %v", s.lo, s.hi, context)
	}
	if len(s.ticks) < 1 || len(s.ticks) > 200 {
		t.Fatalf("%d ticks: %v", len(s.ticks), context)
	}
	for i, tick := range s.ticks {
		if at := s.pos(tick.at); !(at > -1e-6 && at < 1+1e-6) {
			t.Fatalf("tick %g outside of [%g, %g]: %v", tick.at, s.lo, s.hi, context)
		}
		if i > 0 && !(tick.at > s.ticks[i-1].at) {
			t.Fatalf("tick %g after %g: %v", tick.at, s.ticks[i-1].at, context)
		}
		if i > 0 && tick.label == s.ticks[i-1].label {
			t.Fatalf("two ticks %q at %g and %g: %v", tick.label, s.ticks[i-1].at, tick.at, context)
		}
		if i > 0 && !(s.pos(tick.at) > s.pos(s.ticks[i-1].at)) {
			t.Fatalf("ticks %g and %g are not in order: %v", s.ticks[i-1].at, tick.at, context)
		}
	}
	if a, b := s.pos(s.lo), s.pos(s.hi); math.Abs(a) > 1e-9 || math.Abs(b-1) > 1e-9 {
		t.Fatalf("the limits lie at %g and %g: %v", a, b, context)
	}
	for i := 1; i < len(s.minor); i++ {
		if !(s.minor[i] > s.minor[i-1]) {
			t.Fatalf("minor tick %g after %g: %v", s.minor[i], s.minor[i-1], context)
		}
	}
}

func TestScaleOfAnyData(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	value := func() float64 {
		switch rng.IntN(8) {
		case 0:
			return 0
		case 1:
			return math.Pow(10, float64(rng.IntN(620)-310)) * rng.NormFloat64()
		case 2:
			return math.Inf(1 - 2*rng.IntN(2))
		case 3:
			return math.NaN()
		case 4:
			return math.MaxFloat64 * (rng.Float64()*2 - 1)
		}
		return math.Pow(10, float64(rng.IntN(16)-8)) * rng.NormFloat64()
	}
	rounds := 30000
	if testing.Short() {
		rounds = 5000
	}
	for range rounds {
		a := Axis{Log: rng.IntN(2) == 0, Zero: rng.IntN(4) == 0, Integer: rng.IntN(4) == 0}
		if rng.IntN(3) == 0 {
			a.Min, a.Max = value(), value()
		}
		var e extent
		for range rng.IntN(4) {
			v := value()
			if rng.IntN(3) == 0 && e.any {
				v = e.hi * (1 + 1e-12*rng.NormFloat64())
			}
			if known(v) && (!a.Log || v > 0) {
				e.add(v)
			}
		}
		nice, count := rng.IntN(2) == 0, rng.IntN(20)
		s := newScale(&a, e, nice, count)
		checkScale(t, s, a, e, nice, count)
		fixed := a.limits()
		if a.Integer && !a.Log && !fixed && max(-s.lo, s.hi) < 1e9 {
			for _, tick := range s.ticks {
				if tick.at != math.Trunc(tick.at) {
					t.Fatalf("tick %g is not whole: %v %v", tick.at, a, e)
				}
			}
		}
		if e.any && !fixed && !a.Log {
			if slack := 1e-9 * (s.hi - s.lo); bound(e.lo) < s.lo-slack || bound(e.hi) > s.hi+slack {
				t.Fatalf("data %v outside of [%g, %g]", e, s.lo, s.hi)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	tests := []struct {
		name   string
		axis   Axis
		lo, hi float64
		nice   bool
		count  int
		want   string
	}{
		{"tenths", Axis{}, 0, 1, true, 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{"tight", Axis{}, 1, 50, false, 5, "10 20 30 40 50"},
		{"moved outward", Axis{}, 0.13, 0.87, true, 4, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{"negative", Axis{}, -1, 1, true, 4, "−1.0 −0.5 0.0 0.5 1.0"},
		{"hundreds", Axis{}, 0, 900, true, 5, "0 200 400 600 800 1000"},
		{"large", Axis{}, 0, 4e7, true, 4, "0 10⁷ 2×10⁷ 3×10⁷ 4×10⁷"},
		{"small", Axis{}, 0, 4e-8, true, 4, "0 10⁻⁸ 2×10⁻⁸ 3×10⁻⁸ 4×10⁻⁸"},
		{"whole numbers", Axis{Integer: true}, 2, 4, false, 8, "2 3 4"},
		{"one whole number", Axis{Integer: true}, 2.5, 3.5, false, 4, "3"},
		{"with zero", Axis{Zero: true}, 30, 40, true, 4, "0 10 20 30 40"},
		{"with zero below", Axis{Zero: true}, 0.2, 0.4, false, 4, "0.0 0.1 0.2 0.3 0.4"},
		{"with zero above", Axis{Zero: true}, -40, -30, true, 4, "−40 −30 −20 −10 0"},
		{"constant 0", Axis{}, 0, 0, true, 4, "−0.5 0.0 0.5"},
		{"constant below 0", Axis{}, -3, -3, true, 4, "−3.4 −3.2 −3.0 −2.8 −2.6"},
		{"with zero alone", Axis{Zero: true}, 0, 0, true, 4, "0.0 0.5 1.0"},
		{"fixed", Axis{Min: 0, Max: 1}, 0.4, 3, true, 2, "0.0 0.5 1.0"},
		{"swapped limits count as none", Axis{Min: 1, Max: 0}, 0, 4, true, 4, "0 1 2 3 4"},
		{"constant", Axis{}, 3, 3, true, 4, "2.6 2.8 3.0 3.2 3.4"},
		{"decades", Axis{Log: true}, 0.001, 1, true, 4, "0.001 0.01 0.1 1"},
		{"1-2-5", Axis{Log: true}, 0.012, 0.9, true, 6, "0.01 0.02 0.05 0.1 0.2 0.5 1"},
		{"moved outward to 1-2-5", Axis{Log: true}, 0.03, 0.4, true, 6, "0.02 0.05 0.1 0.2 0.5"},
		{"every second decade", Axis{Log: true}, 1e-6, 100, true, 4, "10⁻⁶ 10⁻⁴ 10⁻² 10⁰ 10²"},
		{"half a decade", Axis{Log: true}, 2, 5, true, 4, "2 3 4 5"},
		{"names", Axis{Names: []string{"a", "b c"}, Log: true}, 0, 9, true, 2, "a b c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScale(&tt.axis, extent{tt.lo, tt.hi, true}, tt.nice, tt.count)
			checkScale(t, s)
			var labels []string
			for _, tick := range s.ticks {
				labels = append(labels, tick.label)
				if tt.axis.Names == nil {
					if v := read(t, tick.label); math.Abs(v-tick.at) > 1e-9*math.Abs(tick.at) {
						t.Errorf("the label of %g is %q", tick.at, tick.label)
					}
				}
			}
			if got := strings.Join(labels, " "); got != tt.want {
				t.Errorf("ticks %s, want %s", got, tt.want)
			}
		})
	}
}

func TestHorizontalLabelsDoNotTouch(t *testing.T) {
	for _, w := range []float64{60, 100, 150, 300, 700} {
		for _, e := range []extent{{0, 1, true}, {1, 50, true}, {1e-9, 3e9, true}, {0.123456, 0.123457, true}, {-1e300, 1e300, true}} {
			for _, log := range []bool{false, true} {
				if log && e.lo <= 0 {
					continue
				}
				v := &panel{Chart: &Chart{X: Axis{Log: log}}, ex: e}
				s := v.xScale(w)
				checkScale(t, s)
				if len(s.ticks) > 1 && !s.fits(w) {
					t.Errorf("labels of %v in %g pixels touch: %v", e, w, s.ticks)
				}
			}
		}
	}
}

// Labels keep apart if eight pixels or more lie between the end of one and the beginning of the next.
func TestFits(t *testing.T) {
	s := &scale{lo: 0, hi: 1, ticks: []tick{{0, "1"}, {0.5, "1000000"}, {1, "10"}}}
	long := textWidth("1000000", tickSize) / 2
	for _, gap := range []float64{7.99, 8.01} {
		w := 2 * (long + gap + textWidth("10", tickSize)/2)
		if got := s.fits(w); got != (gap > 8) {
			t.Errorf("%g pixels between labels: %v", gap, got)
		}
	}
}

// A tick is the number nearest to its decimal, so that any format writes that.
func TestTicksAreDecimals(t *testing.T) {
	for _, hi := range []float64{1, 0.3, 0.07, 70, 1e-5} {
		s := newScale(&Axis{}, extent{0, hi, true}, true, 6)
		for _, tick := range s.ticks {
			if digits := strconv.FormatFloat(tick.at, 'g', -1, 64); len(digits) > 6 {
				t.Errorf("up to %g: tick %s", hi, digits)
			}
		}
	}
}
