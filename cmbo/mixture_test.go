package cmbo_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/linalg"
)

// mixed is a surrogate from outside that weighs hypotheses, as it is told to.
type mixed struct {
	coordinate
	shares []cmbo.Hypothesis
	mean   []float64
}

func (m mixed) Hypotheses() []cmbo.Hypothesis { return m.shares }
func (m mixed) PriorMean() []float64          { return m.mean }
func (m mixed) TaskMeans(context.Context, *linalg.Dense) (ids []string, means [][]float64, err error) {
	return nil, nil, nil
}

// shares makes a hypothesis of each level.
func masses(none, population, cluster0, cluster1, a, b float64) []cmbo.Hypothesis {
	return []cmbo.Hypothesis{
		{Level: cmbo.LevelNone, Cluster: -1, Mass: none},
		{Level: cmbo.LevelPopulation, Cluster: -1, Mass: population},
		{Level: cmbo.LevelCluster, Cluster: 0, Tasks: []string{"a", "c", "d", "e"}, Mass: cluster0},
		{Level: cmbo.LevelCluster, Cluster: 1, Tasks: []string{"b"}, Mass: cluster1},
		{Level: cmbo.LevelCluster, Cluster: 2, Tasks: []string{"a"}, Mass: a},
		{Level: cmbo.LevelCluster, Cluster: 3, Tasks: []string{"b"}, Mass: b},
	}
}

// transferFrom has a run of n rising values tell what the mixture comes to.
func transferFrom(t *testing.T, m mixed, n int) cmbo.Transfer {
	t.Helper()
	space := unitCube(t, 1)
	o := newOptimizer(t, space, cmbo.WithSurrogate(m))
	for i := range n {
		require.NoError(t, o.Observe([]float64{float64(i) / 10}, float64(i)))
	}
	return transferOf(t, o)
}

// namesake has methods that the library's own models have, and means something else by them.
type namesake struct{ mixed }

func (namesake) Back(v float64) float64 { return v - 1000 }
func (namesake) OtherUnits() float64    { return 1 }

// TestNamesakes: methods of a surrogate that no interface of the package names change nothing.
func TestNamesakes(t *testing.T) {
	space, rows := grid(t, 4)
	m := mixed{shares: masses(0.1, 0.9, 0, 0, 0, 0)}
	one, other := newOptimizer(t, space, cmbo.WithSurrogate(m)), newOptimizer(t, space, cmbo.WithSurrogate(namesake{m}))
	for i := range 6 {
		require.NoError(t, one.Observe(rows[i], float64(i)))
		require.NoError(t, other.Observe(rows[i], float64(i)))
	}
	for _, x := range rows {
		mean, sd := predict(t, one, x)
		same, sameSD := predict(t, other, x)
		require.Equal(t, []float64{mean, sd}, []float64{same, sameSD})
	}
	require.Equal(t, transferOf(t, one), transferOf(t, other))
}

// TestPriorMeanOfOtherLength: a mean that is not of the points told is the surrogate's mistake, and said to be.
func TestPriorMeanOfOtherLength(t *testing.T) {
	space, rows := grid(t, 4)
	o := newOptimizer(t, space, cmbo.WithSurrogate(mixed{shares: masses(0.1, 0.9, 0, 0, 0, 0), mean: []float64{1, 2, 3, 4}}))
	for i, x := range rows[:5] {
		require.NoError(t, o.Observe(x, float64(i)))
	}
	_, err := o.Transfer(ctx)
	require.ErrorIs(t, err, cmbo.ErrNumerical)
	require.ErrorContains(t, err, "mixed.PriorMean: 4 numbers for 5 points")
}

// TestVerdictByHand: the verdicts at their thresholds of mass, of the number of values, and
// of the ranks by which a past that misleads is told from one whose differences alone are
// other ones: a deviation is a correlation of 1/√(n-1).
func TestVerdictByHand(t *testing.T) {
	reversed := func(s []cmbo.Hypothesis, i int, mass float64) []cmbo.Hypothesis { s[i].Reversed = mass; return s }
	like := []float64{0, 1, 2, 3, 4, 6, 5, 8, 7, 9}
	third := []float64{4, 0, 2, 8, 6, 3, 9, 1, 7, 5} // correlated by .321, which of eleven values were clear
	for name, tt := range map[string]struct {
		m    mixed
		n    int
		want cmbo.Verdict
	}{
		"four values":     {mixed{shares: masses(0, 1, 0, 0, 0, 0)}, 4, cmbo.TransferTooEarly},
		"five values":     {mixed{shares: masses(0, 1, 0, 0, 0, 0)}, 5, cmbo.TransferHelps},
		"nine tenths":     {mixed{shares: masses(0.0999, 0.3, 0.2, 0.1, 0.2, 0.1001)}, 10, cmbo.TransferHelps},
		"just as much":    {mixed{shares: masses(0.1, 0.9, 0, 0, 0, 0)}, 10, cmbo.TransferHelps},
		"a quarter":       {mixed{shares: masses(0.75, 0.25, 0, 0, 0, 0)}, 10, cmbo.TransferMisleads},
		"less":            {mixed{shares: masses(0.1001, 0.3, 0.2, 0.1, 0.2, 0.0999)}, 10, cmbo.TransferUnclear},
		"upside down":     {mixed{shares: reversed(masses(0, 0, 1, 0, 0, 0), 2, 0.2)}, 10, cmbo.TransferUnclear},
		"mostly so":       {mixed{shares: reversed(masses(0, 0.25, 0.75, 0, 0, 0), 2, 0.75)}, 10, cmbo.TransferReversed},
		"not so much":     {mixed{shares: reversed(masses(0.01, 0.24, 0.75, 0, 0, 0), 2, 0.7499)}, 10, cmbo.TransferMisleads},
		"so, and ranked":  {mixed{masses0, reversed(masses(0, 0.2, 0.8, 0, 0, 0), 2, 0.8), like}, 10, cmbo.TransferUnclear},
		"so, too early":   {mixed{shares: reversed(masses(0, 0, 1, 0, 0, 0), 2, 1)}, 4, cmbo.TransferTooEarly},
		"of no task":      {mixed{shares: reversed(masses(0.05, 0.95, 0, 0, 0, 0), 0, 0.05)}, 10, cmbo.TransferHelps},
		"misleads":        {mixed{shares: masses(0.7501, 0.2499, 0, 0, 0, 0)}, 10, cmbo.TransferMisleads},
		"a little more":   {mixed{shares: masses(0.7499, 0.2501, 0, 0, 0, 0)}, 10, cmbo.TransferUnclear},
		"ranks alike":     {mixed{masses0, masses(0.9, 0.1, 0, 0, 0, 0), like}, 10, cmbo.TransferUnclear},
		"ranks not alike": {mixed{masses0, masses(0.9, 0.1, 0, 0, 0, 0), third}, 10, cmbo.TransferMisleads},
		"nothing to rank": {mixed{shares: masses(0.9, 0.1, 0, 0, 0, 0)}, 10, cmbo.TransferMisleads},
		"no no transfer":  {mixed{shares: masses(0, 0, 0, 1, 0, 0)[1:]}, 10, cmbo.TransferUnknown},
	} {
		require.Equal(t, tt.want, transferFrom(t, tt.m, tt.n).Verdict, name)
	}
}

// TestVerdictOfUse: a past of little mass that ranks the better half of the points told, or all of
// them the other way round, does not mislead where good values came early, whatever a penalty is among
// them; where they came late, or it ranks the better half alone the other way round, it does.
func TestVerdictOfUse(t *testing.T) {
	space, rows := grid(t, 4)
	early := []float64{1, 9, 10, 8, 7, 6, 3, 2, 4, 0, 5, -1e9}
	late := []float64{0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10, -1e9}
	// ranking has values of less than 5 above the others, and these as they are or the other way round.
	ranking := func(sign float64) func([]float64) []float64 {
		return func(y []float64) []float64 {
			mean := make([]float64, len(y))
			for i, v := range y {
				if mean[i] = sign * v; v < 5 {
					mean[i] = 20 - v
				}
			}
			return mean
		}
	}
	better, worse := ranking(1), ranking(-1)
	// among puts values of less than 5 between the others, so that all are correlated by -.19 and .23, as chance may have it.
	among := func(mean, y []float64, middle, slope float64) []float64 {
		for i, v := range y {
			if v < 5 {
				mean[i] = middle + slope*max(v, -1)/100
			}
		}
		return mean
	}
	halfWorse := func(y []float64) []float64 { return among(worse(y), y, -7.5, 1) }
	medianFirst := func(y []float64) []float64 { // by which the six of the better half are correlated by .14
		mean := among(better(y), y, 7.5, -1)
		mean[slices.Index(y, 5)] = 11
		return mean
	}
	// Regret at random of 1.286 and 1.306 times their own, on the list.
	less := []float64{1, 3, 9, 2, 10, 4, 0, 7, 5, 6, 8, -1e9}
	more := []float64{3, 8, 7, 0, 4, 5, 10, 2, 6, 1, 9, -1e9}
	cube := unitCube(t, 2)
	for _, tt := range []struct {
		y      []float64
		mean   func([]float64) []float64
		want   cmbo.Verdict
		spaces []*cmbo.Space
	}{
		{early, better, cmbo.TransferUnclear, []*cmbo.Space{space, cube}},
		{late, better, cmbo.TransferMisleads, []*cmbo.Space{space, cube}},
		{early, worse, cmbo.TransferUnclear, []*cmbo.Space{space, cube}},
		{late, worse, cmbo.TransferMisleads, []*cmbo.Space{space, cube}},
		{early, halfWorse, cmbo.TransferMisleads, []*cmbo.Space{space, cube}},
		{early, medianFirst, cmbo.TransferMisleads, []*cmbo.Space{space, cube}},
		{less, better, cmbo.TransferMisleads, []*cmbo.Space{space}},
		{more, better, cmbo.TransferUnclear, []*cmbo.Space{space}},
	} {
		for _, s := range tt.spaces {
			m := mixed{shares: masses(0.9, 0.1, 0, 0, 0, 0), mean: tt.mean(tt.y)}
			m.shares[1].Reversed = 0.04
			o := newOptimizer(t, s, cmbo.WithSurrogate(m))
			for i, y := range tt.y {
				require.NoError(t, o.Observe(rows[i], y))
			}
			got := transferOf(t, o)
			require.Equal(t, tt.want, got.Verdict, "%v", tt.y)
			if tt.want == cmbo.TransferUnclear {
				past := "the past"
				if slices.Equal(m.mean, worse(tt.y)) {
					past = "the past upside down"
				}
				require.Equal(t, "unclear: the run came to good values sooner than chance does, and "+past+" ranks them as they are, "+
					"but 90 % of the mass says that no past task is like this one, 4 % that what was good there is bad here", got.String())
			}
		}
	}
}

// TestTransferWords: three tasks of a cluster are named, and of an unclear verdict it is said
// whether the ranks or the masses make it so.
func TestTransferWords(t *testing.T) {
	three := cmbo.Hypothesis{Level: cmbo.LevelCluster, Cluster: 1, Tasks: []string{"a", "b", "c"}, Mass: 0.5}
	require.Equal(t, "cluster 1 (tasks a, b, c) 50 %", three.String())
	three.Tasks = append(three.Tasks, "d")
	require.Equal(t, "cluster 1 (tasks a, b, c and 1 more) 50 %", three.String())
	unclear := cmbo.Transfer{Verdict: cmbo.TransferUnclear, Hypotheses: masses(0.75, 0.25, 0, 0, 0, 0)}
	require.Contains(t, unclear.String(), "the past ranks the points told as their values do")
	unclear.Hypotheses = masses(0.74, 0.26, 0, 0, 0, 0)
	require.Contains(t, unclear.String(), "unclear: 26 % of the mass lies on the past")
}

var masses0 coordinate

// TestFocus: where the mass lies is said by its largest part.
func TestFocus(t *testing.T) {
	for want, s := range map[string][]cmbo.Hypothesis{
		"99 % of the mass lies on the past, 50 % on cluster 2 (task a)":                   masses(0.01, 0.49, 0, 0, 0.5, 0),
		"99 % of the mass lies on the past, 50 % on what all tasks have in common":        masses(0.01, 0.5, 0, 0, 0.49, 0),
		"91 % of the mass lies on the past, 49 % on cluster 0 (tasks a, c, d and 1 more)": masses(0.09, 0.02, 0.49, 0, 0.4, 0),
		"100 % of the mass lies on the past, 40 % on cluster 1 (task b)":                  masses(0, 0.1, 0.15, 0.4, 0.15, 0.2),
		"100 % of the mass lies on the past, 100 % on what all tasks have in common":      masses(0, 1, 0, 0, 0, 0),
	} {
		require.Equal(t, "transfer helps: "+want, transferFrom(t, mixed{shares: s}, 10).String())
	}
	even := masses(0.5, 0, 0.5, 0, 0, 0)
	even[2].Reversed = 0.5
	require.Equal(t, "the past misleads: 50 % of the mass says that no past task is like this one, 50 % that what was good there is bad here", transferFrom(t, mixed{shares: even}, 10).String())
}
