package cmbo_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	noPastRuns = flag.Int("nopast", 3, "runs on each problem of TestWithoutPastBesideRandom, and of TestPlateau")
	design     = flag.Int("design", 5, "points of its initial design")
	noViews    = flag.Bool("noviews", false, "its models see values as they are")
)

// A trialled function is to be maximised; ok is false where its evaluation fails.
type trialled func(x []float64) (y float64, ok bool)

// always makes a function of one whose evaluations succeed.
func always(f func(x []float64) float64) trialled {
	return func(x []float64) (float64, bool) { return f(x), true }
}

// A soloProblem is one on which a run without a past is compared with random search.
type soloProblem struct {
	name   string
	params []cmbo.Param
	draw   func(r *rand.Rand) trialled
	logs   bool // regret is that of the logarithms of costs, which are the values' negatives
}

// soloProblems are those on which expected improvement alone, a design that failures use up,
// or a stationary process are at a disadvantage.
func soloProblems() []soloProblem {
	line := []cmbo.Param{cmbo.Float("x", 0, 1)}
	square := append(line[:1:1], cmbo.Float("y", 0, 1))
	somewhere := func(r *rand.Rand, width float64) func(x []float64) float64 {
		p := peak(0.1+0.8*r.Float64(), 0.1+0.8*r.Float64(), width)
		return func(x []float64) float64 { return p(x[0], x[1]) }
	}
	out := []soloProblem{
		{"plateau: most points have one middling value", line, func(r *rand.Rand) trialled {
			at := 0.5 + 0.2*r.Float64()
			return always(func(x []float64) float64 {
				if x[0] <= at {
					return x[0]
				}
				return at - 0.1
			})
		}, false},
		{"cap: the best value is that of a seventh of all points", square, func(r *rand.Rand) trialled {
			f := somewhere(r, 0.25)
			return always(func(x []float64) float64 { return min(f(x), 0.7) })
		}, false},
		{"needle: all but a hundredth of the points have next to the same value", square, func(r *rand.Rand) trialled {
			return always(somewhere(r, 0.03))
		}, false},
		{"levels: a dozen different values", square, func(r *rand.Rand) trialled {
			f := somewhere(r, 0.3)
			return always(func(x []float64) float64 { return math.Floor(12 * f(x)) })
		}, false},
		{"mixed: a logarithmic, a whole and a plain number, a choice and a switch", []cmbo.Param{
			cmbo.LogFloat("rate", 1e-5, 1), cmbo.Int("depth", 1, 12), cmbo.Float("share", 0, 1),
			cmbo.Categorical("kind", "a", "b", "c", "d"), cmbo.Categorical("on", "no", "yes"),
		}, func(r *rand.Rand) trialled {
			at := []float64{-4 + 3*r.Float64(), 3 + 8*r.Float64(), r.Float64()}
			bonus := []float64{r.Float64(), r.Float64(), r.Float64(), r.Float64()}
			shift := []float64{r.Float64(), r.Float64(), r.Float64(), r.Float64()}
			return always(func(x []float64) float64 {
				kind := int(x[3])
				rate, depth := math.Log10(x[0])-at[0]-shift[kind], (x[1]-at[1])/4
				return bonus[kind] - 0.3*rate*rate - depth*depth - (1+x[4])*(x[2]-at[2])*(x[2]-at[2])
			})
		}, false},
	}
	failing := []float64{0.5}
	if *noPastRuns > 8 {
		failing = []float64{0.3, 0.5, 0.7}
	}
	for _, share := range failing {
		out = append(out, soloProblem{fmt.Sprintf("failures of %.0f %% of the points", 100*share), square, func(r *rand.Rand) trialled {
			f := somewhere(r, 0.25)
			a := 2 * math.Pi * r.Float64()
			side := func(x []float64) float64 { return math.Cos(a)*x[0] + math.Sin(a)*x[1] }
			var sides []float64
			for range 4000 {
				sides = append(sides, side([]float64{r.Float64(), r.Float64()}))
			}
			slices.Sort(sides)
			border := sides[int(share*4000)]
			return func(x []float64) (float64, bool) { return f(x), side(x) > border }
		}, false})
	}
	for _, p := range slices.Delete(slices.Clone(skewed), 1, 2) { // but for the one that differs from the first by noise
		out = append(out, soloProblem{p.name, square, func(r *rand.Rand) trialled {
			c := p.draw(r)
			return always(func(x []float64) float64 { return -c.f(x[0], x[1]) })
		}, true})
	}
	return out
}

// A run without a past is behind random search on none of the problems by more than its runs
// leave in doubt, neither in the first evaluations nor in all of them: the mean difference of
// the areas under the curves of regret, a share of the range, is at most two standard errors, and
// a thousandth where areas are next to nothing.
func TestWithoutPastBesideRandom(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares areas")
	if *noViews {
		defer func(shares []float64) { *cmbo.ViewShares = shares }(*cmbo.ViewShares)
		*cmbo.ViewShares = nil
	}
	const budget, early, others = 40, 15, 100
	for _, p := range soloProblems() {
		t.Run(p.name, func(t *testing.T) {
			s := newSpace(t, p.params...)
			var better [2][]float64 // of random search's areas, early and whole
			var sum [2][2]float64
			for run := range *noPastRuns {
				r := rand.New(rand.NewPCG(uint64(run), 11))
				f := p.draw(r)
				judged := func(y float64) float64 {
					if p.logs {
						return -math.Log(-y)
					}
					return y
				}
				random := func() []float64 {
					u := make([]float64, s.Dim())
					for i := range u {
						u[i] = r.Float64()
					}
					x, err := s.Decode(u)
					require.NoError(t, err)
					return x
				}
				// A curve holds the best value after each evaluation, -Inf before there is one.
				curve := func(next func() (y float64, ok bool)) []float64 {
					best := []float64{math.Inf(-1)}
					for i := range budget {
						y, ok := next()
						if best = append(best, best[i]); ok {
							best[i+1] = max(best[i], judged(y))
						}
					}
					return best[1:]
				}
				o := newOptimizer(t, s, cmbo.WithSeed(uint64(run+1)), cmbo.WithCandidateCounts(300, 100), cmbo.WithInitial(*design))
				curves := [][]float64{curve(func() (float64, bool) {
					trial := ask(t, o)
					y, ok := f(trial.X)
					if ok {
						require.NoError(t, o.Tell(trial.ID, y))
					} else {
						require.NoError(t, o.TellFailed(trial.ID))
					}
					return y, ok
				})}
				for range others {
					curves = append(curves, curve(func() (float64, bool) { return f(random()) }))
				}
				lo, hi := math.Inf(1), math.Inf(-1)
				for range 4000 {
					if y, ok := f(random()); ok {
						lo, hi = min(lo, judged(y)), max(hi, judged(y))
					}
				}
				for _, c := range curves {
					hi = max(hi, c[budget-1])
				}
				for k, n := range []int{early, budget} {
					var own, theirs float64
					for i, c := range curves {
						for _, best := range c[:n] {
							regret := min((hi-best)/(hi-lo), 1) / float64(n)
							if i == 0 {
								own += regret
							} else {
								theirs += regret / others
							}
						}
					}
					better[k] = append(better[k], theirs-own)
					sum[k][0] += own
					sum[k][1] += theirs
				}
			}
			for k, n := range []int{early, budget} {
				mean, se := meanAndError(better[k])
				t.Logf("%s, %d evaluations: %.2f of random search's area, %.3f ± %.3f less", p.name, n, sum[k][0]/sum[k][1], mean, se)
				assert.Greater(t, mean, -2*se-1e-3, "%s, %d evaluations", p.name, n)
			}
		})
	}
}

// meanAndError returns the mean and its standard error.
func meanAndError(v []float64) (mean, se float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		se += (x - mean) * (x - mean) / n / max(n-1, 1)
	}
	return mean, math.Sqrt(se)
}

// Costs that explode are seen by a run without a past as their logarithms would be; restored it
// goes on alike, and foretells values in their own unit. Where a noise variance is given, with
// another y policy, and with a prior, values are seen as they are.
func TestViewRestored(t *testing.T) {
	s := unitCube(t, 2)
	cost := func(x []float64) float64 { return math.Exp(6 * (x[0] + x[1]*x[1])) }
	seen := func(o *cmbo.Optimizer) bool {
		step, ok := o.LastStep()
		require.True(t, ok)
		return slices.Contains([]float64{1, 0.25, 3, 2.25}, step.Parameters[len(step.Parameters)-1]) // with a rough kernel or a smooth one
	}
	o := newOptimizer(t, s, cmbo.WithMinimize())
	drive(t, o, cost, 14)
	require.True(t, seen(o))
	mean, sd := predict(t, o, []float64{0.9, 0.9})
	require.Greater(t, mean+2*sd, 100.0)
	back := restored(t, o)
	for range 8 {
		a, b := askSame(t, o, back)
		require.NoError(t, o.Tell(a.ID, cost(a.X)))
		require.NoError(t, back.Tell(b.ID, cost(b.X)))
	}
	for _, opt := range []cmbo.Option{cmbo.WithNoiseVariance(0.01), cmbo.WithYPolicy(cmbo.MinMax)} {
		o := newOptimizer(t, s, cmbo.WithMinimize(), opt)
		drive(t, o, cost, 14)
		require.False(t, seen(o))
	}
}
