package acq

import (
	"fmt"
	"math"
	"testing"
)

// tenth is a function from outside.
type tenth struct{ share float64 }

func (f tenth) Score(mean, sd float64) float64 { return mean + f.share*sd }
func (f tenth) String() string                 { return fmt.Sprintf("Share(%g)", f.share) }

func (f tenth) Validate() error {
	if f.share < 0 {
		return fmt.Errorf("a share of %g", f.share)
	}
	return nil
}

// TestValidate: a function is asked that has a method for it, one from outside, a pointer and one
// that embeds another too.
func TestValidate(t *testing.T) {
	for _, f := range []Func{tenth{-1}, &UCB{-1}, UCB{math.NaN()}, &EI{math.Inf(1)}, struct{ PI }{PI{math.NaN()}}} {
		if Validate(f) == nil {
			t.Errorf("%T %v is taken", f, f)
		}
	}
	for _, f := range []Func{tenth{1}, &UCB{1}, EI{-1}, AdaptiveEI, UCB{0}, UCB{math.MaxFloat64}, PI{-math.MaxFloat64}} {
		if err := Validate(f); err != nil {
			t.Errorf("%T %v: %v", f, f, err)
		}
	}
}

// TestParse: what String prints is read as an equal value.
func TestParse(t *testing.T) {
	Register("Share", func(arg string) (Func, error) {
		var f tenth
		_, err := fmt.Sscanf(arg, "%g", &f.share)
		return f, err
	})
	for _, f := range []Func{UCB{3}, UCB{0}, UCB{0.1}, AdaptiveEI, AdaptivePI, MaxValuePI, Thompson, EI{-0.3}, PI{1e-7}, tenth{0.1}} {
		got, err := Parse(f.String())
		if err != nil || got != f {
			t.Errorf("Parse(%q) = %v, %v", f, got, err)
		}
	}
	if f, err := Parse(" ucb"); err != nil || f != (UCB{DefaultBeta}) {
		t.Errorf("%v, %v", f, err)
	}
	for _, name := range []string{"", "UCB(", "UCB(-1)", "UCB(NaN)", "UCB(Inf)", "UCB(x)", "EI(NaN)", "EI(Inf)", "PI(-Inf)", "PI(NaN)", "Thompson(1)", "MaxValuePI(2)", "mean", "share(x)"} {
		if f, err := Parse(name); err == nil {
			t.Errorf("Parse(%q) = %v", name, f)
		}
	}
	some := func(string) (Func, error) { return tenth{}, nil }
	for name, parse := range map[string]func(string) (Func, error){"": some, "share": some, "EI": some, "a(b": some, " a": some, "a\t": some, "nothing": nil} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Register(%q) did not panic", name)
				}
			}()
			Register(name, parse)
		}()
	}
}

// TestParseParameter: the text in parentheses reaches a function from outside as it is.
func TestParseParameter(t *testing.T) {
	var got string
	Register("Text", func(arg string) (Func, error) { got = arg; return tenth{}, nil })
	if _, err := Parse(" TEXT(Ab(C))"); err != nil || got != "Ab(C)" {
		t.Errorf("parameter %q, %v, want \"Ab(C)\"", got, err)
	}
}

// TestAdapt: targets follow the values told.
func TestAdapt(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		f    Adaptive
		told []float64
		most float64
		want Func
	}{
		{AdaptiveEI, nil, nan, EI{}},
		{AdaptiveEI, []float64{-3, -1, -2}, nan, EI{-1}},
		{AdaptivePI, nil, nan, PI{}},
		{AdaptivePI, []float64{2}, nan, PI{2 + 0.1}},
		{AdaptivePI, []float64{-4, -2}, nan, PI{-2 + 0.1*2}},
		{MaxValuePI, []float64{-4, -2}, nan, PI{-2 + 0.1*2}},
		{MaxValuePI, nil, -7, PI{-7}},
		{MaxValuePI, []float64{-4, -2}, -7, PI{-2}},
		{MaxValuePI, []float64{-4, -2}, 5, PI{5}},
	} {
		if got := tt.f.Adapt(Proposal{Told: tt.told, MaxValue: tt.most}); got != tt.want {
			t.Errorf("%s after %v: %v, want %v", tt.f, tt.told, got, tt.want)
		}
		if got, want := tt.f.Score(1, 2), tt.f.Adapt(Proposal{MaxValue: nan}).Score(1, 2); got != want {
			t.Errorf("%s: %g before the first value, %g adapted", tt.f, got, want)
		}
	}
}
