package hierarchy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each ablation changes the settings, and a name that there is none of is refused with those
// that there are.
func TestAblate(t *testing.T) {
	seen := make(map[string]bool)
	for _, a := range Ablations {
		assert.False(t, seen[a.Name], "%s twice", a.Name)
		seen[a.Name] = true
		assert.NotEmpty(t, a.What, a.Name)
		s := DefaultSettings(2)
		require.NoError(t, s.Ablate(a.Name))
		assert.NotEqual(t, DefaultSettings(2), s, a.Name)
	}
	s := DefaultSettings(2)
	require.NoError(t, s.Ablate())
	assert.Equal(t, DefaultSettings(2), s)
	err := s.Ablate("no-hedge", "no-luck")
	for _, a := range Ablations {
		assert.ErrorContains(t, err, a.Name)
	}
	assert.ErrorContains(t, err, `no ablation "no-luck"`)
}

// A field that holds a number, or several, is set to others, in the copy at hand alone.
func TestAblateField(t *testing.T) {
	s, want := DefaultSettings(2), DefaultSettings(2)
	other := s // shares what slices hold
	require.NoError(t, s.Ablate("Shrink=0.25", "Steps=8", "Besides=0.1:1:2", "Hedge.Trusted=3:7", "Hedge.Ties=3"))
	want.Shrink, want.Steps, want.Besides, want.Hedge.Trusted, want.Hedge.Ties = 0.25, 8, []float64{0.1, 1, 2}, [2]int{3, 7}, 3
	assert.Equal(t, want, s)
	assert.Equal(t, DefaultSettings(2), other)
	for change, what := range map[string]string{
		"Shrinkage=1": "no field Shrinkage", "Hedge.Luck=1": "no field Hedge.Luck", "Shrink.x=1": "no field Shrink.x",
		"Shrink=": "no number", "Shrink=-1": "no number", "Shrink=NaN": "no number", "Shrink=+Inf": "no number",
		"Steps=1.5": "no whole number", "Steps=0": "no whole number", "Shrink=1:2": "holds one number",
		"Hedge.Trusted=1": "holds 2 numbers", "Besides=1:": "no number", "Kernels=1": "holds no number", "Compress=1": "holds no number",
		"Hedge=1":        "holds no number",
		"NoiseRange=5:1": "smaller one first", "LengthRange=0:1": "above 0", "VarianceRange=2": "holds 2 numbers",
	} {
		assert.ErrorContains(t, s.Ablate(change), what, change)
		assert.ErrorContains(t, s.Ablate(change), change)
	}
	assert.Equal(t, want.Steps, s.Steps)
	require.NoError(t, s.Ablate("NoiseRange=0.1:0.1"))
}

// A share of more than all, beside that of other units where it is one of offsets, is refused, and all that is left is none.
func TestAblateShares(t *testing.T) {
	for change, most := range map[string]string{
		"Shrink=1.5": "1", "Shares=0.5:1.5": "1", "NoTransferMass=2": "1", "SuccessNoTransfer=2": "1", "Moved=1.1": "1", "Reversed=2": "1",
		"TransferTail=0.95": "0.92", "NoTransferTail=1": "0.92", "ReversedTail=1": "0.92", "OtherUnits=0.3": "0.7",
	} {
		s := DefaultSettings(2)
		assert.ErrorContains(t, s.Ablate(change), "is more than "+most, change)
	}
	s := DefaultSettings(2)
	require.NoError(t, s.Ablate("Shrink=1", "Shares=1", "NoTransferMass=1", "SuccessNoTransfer=1", "Moved=1", "Reversed=1"))
	s = DefaultSettings(2)
	require.NoError(t, s.Ablate("OtherUnits=0.5", "TransferTail=0.5", "NoTransferTail=0.25", "ReversedTail=0"))
	assert.ErrorContains(t, s.Ablate("NoTransferTail=0.75"), "NoTransferTail is a share, and 0.75 is more than 0.5")
}
