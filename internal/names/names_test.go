package names

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFind: a name is found whatever its letters' case, and one that is missing is named beside those that there are.
func TestFind(t *testing.T) {
	list := []string{"alpha", "beta"}
	same := func(s string) string { return s }
	found, err := Find(list, same, "letter", "BETA")
	require.NoError(t, err)
	require.Equal(t, "beta", found)
	_, err = Find(list, same, "letter", "gamma")
	require.EqualError(t, err, `there is no letter "gamma" among alpha, beta`)
}
