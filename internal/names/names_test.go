package names

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCount: one is not said to be several.
func TestCount(t *testing.T) {
	require.Equal(t, []string{"0 rows", "1 row", "2 rows"}, []string{Count(0, "row"), Count(1, "row"), Count(2, "row")})
	require.Equal(t, []string{"1 query", "2 queries", "0 queries"}, []string{Count(1, "query"), Count(2, "query"), Count(0, "query")})
}

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
