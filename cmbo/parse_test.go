package cmbo_test

import (
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/stretchr/testify/require"
)

// TestNamesParse: what prints parses to itself, in any letter case, and what
// does not is refused by name.
func TestNamesParse(t *testing.T) {
	for _, a := range []acq.Func{cmbo.UCB(3), cmbo.UCB(0.125), cmbo.UCB(0), cmbo.EI(), cmbo.PI(), cmbo.MaxValuePI()} {
		for _, name := range []string{a.String(), strings.ToLower(a.String()), strings.ToUpper(a.String())} {
			got, err := cmbo.ParseAcquisition(name)
			require.NoError(t, err, name)
			require.Equal(t, a, got, name)
		}
	}
	got, err := cmbo.ParseAcquisition("ucb")
	require.NoError(t, err)
	require.Equal(t, cmbo.UCB(3), got)
	for _, name := range []string{"", "EII", "UCB(", "UCB()", "UCB(-1)", "UCB(NaN)", "UCB(+Inf)", "UCB(3", "UCB(3))", "UCB 3"} {
		_, err := cmbo.ParseAcquisition(name)
		require.ErrorIs(t, err, cmbo.ErrOption, "%q", name)
	}
	for _, p := range []cmbo.YPolicy{cmbo.ZScore, cmbo.MinMax, cmbo.RawValues, cmbo.Copula} {
		got, err := cmbo.ParseYPolicy(strings.ToUpper(p.String()))
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
	_, err = cmbo.ParseYPolicy("zscores")
	require.ErrorIs(t, err, cmbo.ErrOption)
}
