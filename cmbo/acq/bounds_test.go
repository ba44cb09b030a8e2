package acq_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/stretchr/testify/require"
)

// TestEIBeyondRange: a certain improvement is the difference, also where that is beyond
// the range of numbers.
func TestEIBeyondRange(t *testing.T) {
	require.InDelta(t, math.Log(1.5e308)+math.Ln2, acq.EI{Best: -1.5e308}.Score(1.5e308, 1), 1e-12)
	require.InDelta(t, math.Log(1.6e308)+math.Log1p(1.2/1.6), acq.EI{Best: -1.2e308}.Score(1.6e308, 1), 1e-12)
}

// TestParseEmptyParameter: parentheses hold a parameter.
func TestParseEmptyParameter(t *testing.T) {
	for _, name := range []string{"EI()", "UCB()", "PI( )", "EI(", "()"} {
		_, err := acq.Parse(name)
		require.Error(t, err, name)
	}
}
