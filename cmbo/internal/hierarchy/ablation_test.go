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
