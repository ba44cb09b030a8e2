package cmbo

import (
	"context"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted counts how often a requirement learns a log.
type counted struct {
	requirement
	learned int
}

func (c *counted) factor(ctx context.Context, o *draft, pending bool) factorAt {
	c.learned++
	return c.requirement.factor(ctx, o, pending)
}

// Candidates near the best one are scored in lists of their own, for all of which a log is learned once. What a step says of
// them is what it would say of one list of all, scores but for a constant, with noise, failures, a limit and a cost; and
// Explain has them again.
func TestClimb(t *testing.T) {
	testutil.SkipRace(t, "one goroutine climbs")
	ctx := context.Background()
	s := spaceOf(t, Float("x", 0, 1), Float("y", 0, 1), Int("n", 1, 40))
	value := func(x []float64) float64 { return -math.Abs(x[0]-0.3) - math.Pow(x[1]-0.6, 2) - math.Abs(x[2]-17)/40 }
	for name, opts := range map[string][]Option{
		"values alone": nil,
		"noise":        nil,
		"a limit":      {WithOutput("size", AtMost(1.2))},
		"a cost":       {WithOutput("seconds", AsCost())},
		"both":         {WithOutput("size", AtMost(1.2)), WithOutput("seconds", AsCost()), WithBudget(100)},
	} {
		o := optimizerOf(t, s, opts...)
		climbed, failures := false, &counted{requirement: o.requirements[success]}
		o.requirements[success] = failures
		for id := 1; id <= 14; id++ {
			if id > 6 {
				present := o.draft()
				failures.learned = 0
				c, step, how, err := present.scored(ctx, id, nil)
				require.NoError(t, err)
				require.Equal(t, 1, failures.learned)
				d, _ := present.data(true)
				all := s.EncodeAll(c.rows)
				once, _, err := present.score(ctx, id, present.question(id, d), all)
				require.NoError(t, err)
				require.Len(t, c.free, len(c.seen))
				if how.climbs {
					climbed = climbed || len(c.rows) > o.config.sobol+o.config.local
					shift := step.Scores[0] - once.Scores[0]
					for i, v := range once.Scores {
						require.InDelta(t, v+shift, step.Scores[i], 1e-6*(1+math.Abs(v)), "%s, %d: candidate %d", name, id, i)
						require.InDelta(t, once.Mean[i], step.Mean[i], 1e-9)
						require.InDelta(t, once.SD[i], step.SD[i], 1e-9)
					}
					for of, p := range once.Holds {
						assert.InDeltaSlice(t, p, step.Holds[of], 1e-9, name)
					}
					assert.InDeltaSlice(t, once.Cost, step.Cost, 1e-9, name)
					assert.InDeltaSlice(t, once.Success, step.Success, 1e-9, name)
				}
			}
			trial := ask(t, o)
			if id > 6 {
				why := explain(t, o, trial.ID)
				last, _ := o.LastStep()
				require.Equal(t, last.Candidates, why.Step.Candidates)
				require.Equal(t, last.Scores, why.Step.Scores)
			}
			outputs := Outputs{}
			if len(opts) > 0 {
				outputs = Outputs{"size": trial.X[0] + trial.X[1], "seconds": 1 + trial.X[0]}
				if name == "a limit" {
					delete(outputs, "seconds")
				} else if name == "a cost" {
					delete(outputs, "size")
				}
			}
			if trial.X[1] > 0.9 {
				delete(outputs, "size")
				require.NoError(t, o.TellFailed(trial.ID, outputs))
				continue
			}
			told := []ObservationOption{outputs}
			if name == "noise" {
				told = append(told, WithNoise(1e-4))
			}
			require.NoError(t, o.Tell(trial.ID, value(trial.X), told...))
		}
		require.True(t, climbed, name)
	}
}
