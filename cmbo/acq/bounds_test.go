package acq_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/acq"
)

// TestEIBeyondRange: a certain improvement is the difference, also where that is beyond
// the range of numbers, and an uncertain one is that of smaller units.
func TestEIBeyondRange(t *testing.T) {
	holds := func(want, got float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("score %g, want %g", got, want)
		}
	}
	holds(math.Log(1.5e308)+math.Ln2, acq.EI{Best: -1.5e308}.Score(1.5e308, 1))
	holds(math.Log(1.6e308)+math.Log1p(1.2/1.6), acq.EI{Best: -1.2e308}.Score(1.6e308, 1))
	for _, sd := range []float64{1e307, 1e308, 1.7e308} {
		for _, sign := range []float64{-1, 1} {
			want := acq.EI{Best: -sign * 0x1p1013}.Score(sign*0x1p1013, sd/1024) + 10*math.Ln2
			holds(want, acq.EI{Best: -sign * 0x1p1023}.Score(sign*0x1p1023, sd))
		}
	}
	// Far below the best value the score is one of (mean − best)/sd.
	for _, sd := range []float64{5e-324, 1e-323, 1e-300, 1} {
		want, got := acq.EI{Best: 0x1p1013}.Score(-0x1p1013, sd), acq.EI{Best: 0x1p1023}.Score(-0x1p1023, sd)
		if fold := 1e200 * 20 * math.Ln2; !(math.Abs(got-want+fold) <= 1e-12*fold) {
			t.Errorf("sd %g: score %g, %g in a unit of 1024", sd, got, want)
		}
	}
}

// TestParseEmptyParameter: parentheses hold a parameter.
func TestParseEmptyParameter(t *testing.T) {
	for _, name := range []string{"EI()", "UCB()", "PI( )", "EI(", "()"} {
		if _, err := acq.Parse(name); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}
