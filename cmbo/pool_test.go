package cmbo_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
)

// TestCandidatesStay: of the candidates in a parameter space all but a sixteenth are
// those of the proposal before, in their places, as are those around the best point while
// it stays the best; whatever else was asked, a run with past tasks, open trials and failures
// says of them, bit for bit, what a restored one says that has worked out nothing yet.
func TestCandidatesStay(t *testing.T) {
	space := unitCube(t, 2)
	prior := learn(t, space, crashing(3), cmbo.WithIndexPoints(60))
	const sobol, local = 203, 41
	o := newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithCandidateCounts(sobol, local))
	var before cmbo.Step
	var around []float64 // the best point that the candidates before were drawn around
	var asked [][]float64
	stayed, open := 0, 0
	garble := func(s cmbo.Step) { // what was handed out is the caller's
		for _, x := range s.Candidates {
			clear(x)
		}
	}
	for i := range 12 {
		var best []float64
		if b, ok := o.Best(); ok {
			best = b.X
		}
		twin := restored(t, o, cmbo.WithPrior(prior))
		n := 1 + i%3/2*2 // 1, 1, 3
		trials := askN(t, o, n)
		again := askN(t, twin, n)
		for j, trial := range trials {
			require.Equal(t, trial.X, again[j].X)
			require.NotContains(t, asked, trial.X, "proposed again")
			asked = append(asked, trial.X)
		}
		step, ok := o.LastStep()
		require.True(t, ok)
		same, ok := twin.LastStep()
		require.True(t, ok)
		require.Equal(t, step, same, "step %d", i)
		if n == 1 && i > 0 && step.Trial == before.Trial+1 {
			kept := func(from, to int) (n int) {
				for r := from; r < min(to, len(before.Candidates)); r++ {
					if slices.Equal(step.Candidates[r], before.Candidates[r]) {
						n++
					}
				}
				return n
			}
			require.Contains(t, []int{190, 191}, kept(0, sobol)) // blocks of 13 and 12
			if best != nil {
				require.GreaterOrEqual(t, len(step.Candidates), sobol+local) // and those near the best candidate
			}
			if slices.Equal(best, around) && best != nil {
				require.Contains(t, []int{38, 39}, kept(sobol, sobol+local)) // of 3 and 2
				stayed++
			}
		}
		before, around = step, best
		for j, trial := range trials {
			switch {
			case j == 1:
				open++ // stays open
			case crashes(trial.X):
				require.NoError(t, o.TellFailed(trial.ID))
			default:
				require.NoError(t, o.Tell(trial.ID, objective(trial.X)))
			}
		}
		switch i % 4 {
		case 1:
			outlookOf(t, o)
		case 2:
			garble(explain(t, o, trials[0].ID).Step)
		case 3:
			predict(t, o, []float64{0.3, 0.7})
		}
		shown, _ := o.LastStep()
		garble(shown)
	}
	require.NotZero(t, stayed)
	require.NotZero(t, open)
}

// TestFewCandidates: where blocks have a point or none, each proposal has a new one.
func TestFewCandidates(t *testing.T) {
	space := unitCube(t, 2)
	prior := learn(t, space, family(3, 10), cmbo.WithIndexPoints(30))
	for sobol := 1; sobol <= 5; sobol++ {
		o := newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithCandidateCounts(sobol, 0))
		drive(t, o, bump([]float64{0.5, 0.5}), 7)
		step, ok := o.LastStep()
		require.True(t, ok)
		require.Len(t, step.Candidates, sobol)
	}
}
