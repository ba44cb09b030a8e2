package cmbo_test

import (
	"bytes"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	nearProblems  = flag.Int("near", 2, "problems of each family of TestNearTheBest")
	nearPast      = flag.Int("near-past", 0, "past tasks of each of its problems, 0 for none")
	nearChange    = flag.String("near-change", "one-kernel,OwnSD=1:1,OwnSmooth=0", "what a past is learned and followed with where functions are neither exact nor smooth")
	nearBudget    = flag.Int("near-budget", 50, "evaluations of each of its runs")
	nearRival     = flag.String("near-rival", "", "a method of package baseline that it compares the default with instead, of the same past")
	pastRuns      = flag.Int("past-runs", 1, "problems of each family of TestCoverageOfPastRuns")
	pastChange    = flag.String("past-runs-change", "", "an ablation of its priors, empty for none")
	nearNoise     = flag.Float64("near-noise", 0, "deviation of the noise of its values, where their range is about 1")
	nearHindsight = flag.Bool("near-hindsight", false, "whether its runs are judged by the best of their points, though noise hides which that is")
)

// basins returns functions of one family on the unit cube, each with its largest value at a point of its own near a common
// one.
func basins(family string, r *rand.Rand, dim, n int) []func(x []float64) float64 {
	centre := make([]float64, dim)
	for j := range centre {
		centre[j] = 0.2 + 0.6*r.Float64()
	}
	out := make([]func(x []float64) float64, n)
	for i := range out {
		c := make([]float64, dim)
		for j := range c {
			c[j] = centre[j] + 0.05*r.NormFloat64()
		}
		out[i] = basinAt(family, c)
	}
	return out
}

// basinAt returns the function of a family whose largest value, 0, is at c, where it is as smooth as a bowl or has an edge:
// those of Levy, of Styblinski and Tang, of Ackley, of Zakharov, and a narrow peak on a broad one.
func basinAt(family string, c []float64) func(x []float64) float64 {
	dim := float64(len(c))
	return func(x []float64) float64 {
		var sum, far, waves, along float64
		for j := range x {
			d := x[j] - c[j]
			far += d * d / dim
			waves += math.Cos(6*math.Pi*d) / dim
			along += float64(j+1) * d / dim
			switch w := 1 + 1.5*d; family {
			case "Levy":
				s := math.Sin(math.Pi*w + 1)
				if j == 0 {
					s = math.Sin(math.Pi * w)
					sum += s * s
				}
				sum += (w - 1) * (w - 1) * (1 + 4*s*s)
			case "Styblinski-Tang":
				z := 8*d - 2.903534
				sum += (z*z*z*z - 16*z*z + 5*z + 78.332332) / 100
			}
		}
		switch family {
		case "Ackley":
			return -(1 - math.Exp(-2*math.Sqrt(far))) - (1-waves)/8
		case "Zakharov":
			return -far - along*along - along*along*along*along
		case "peak":
			return (2*math.Exp(-4*far) + math.Exp(-60*far) - 3) / 3
		}
		return -sum / dim
	}
}

// TestNearTheBest: in spaces without a list, runs whose candidates come nearer and nearer to the best one, and whose values
// may be those of a smooth function and next to exact, end nearer to the best value than those with as many candidates and
// without either.
func TestNearTheBest(t *testing.T) {
	testutil.SkipShort(t, "it compares where runs end")
	families := []string{"Styblinski-Tang", "peak"}
	if *nearProblems > 8 {
		families = append(families, "Levy", "Ackley", "Zakharov")
	}
	arms := []string{"neither", "nearer candidates alone", "exact and smooth functions alone"}
	if *nearProblems <= 8 || *nearRival != "" {
		arms = arms[:1]
	}
	if *nearRival != "" {
		arms[0] = *nearRival
	}
	all := make([][]float64, len(arms))
	climbs := *cmbo.Climbs
	defer func() { *cmbo.Climbs, *cmbo.MayBeExact = climbs, true }()
	for _, family := range families {
		ends := make([][]float64, len(arms)+1)
		for seed := range uint64(*nearProblems) {
			r := rng.Stream(seed, t.Name()+family)
			dim := []int{2, 3, 4, 6}[seed%4]
			h := problemOf(t, r, dim, basins(family, r, dim, *nearPast+1), *nearNoise)
			h.hindsight = *nearHindsight
			var priors [2]*cmbo.Prior
			if *nearPast > 0 {
				priors = h.priors(t, *nearChange)
			}
			for arm := range ends {
				var opts []cmbo.Option
				rival := arm == 1 && *nearRival != ""
				*cmbo.Climbs, *cmbo.MayBeExact = climbs, arm != 1 && arm != 2
				if (arm == 1 || arm == 3) && !rival {
					*cmbo.Climbs = 0
					opts = append(opts, cmbo.WithCandidateCounts(300, 240))
				}
				if rival {
					opts = append(opts, h.against(t, priors[0], *nearRival, seed)...)
				} else if prior := priors[0]; prior != nil {
					if !*cmbo.MayBeExact {
						prior = priors[1]
					}
					opts = append(opts, cmbo.WithPrior(prior))
				}
				regret := h.regret(t, seed, *nearBudget, func(int, *cmbo.Optimizer) {}, opts...)
				ends[arm] = append(ends[arm], math.Log10(max(regret, 1e-7)))
			}
		}
		for arm, name := range arms {
			var d []float64
			for i, v := range ends[0] {
				d = append(d, v-ends[arm+1][i])
			}
			t.Logf("%s: runs end at %s of the regret with %s", family, ratioOf(d), name)
			all[arm] = append(all[arm], d...)
		}
	}
	for arm, name := range arms {
		t.Logf("all: runs end at %s of the regret with %s", ratioOf(all[arm]), name)
	}
	if mean, _ := stat.MeanVariance(all[0]); *nearNoise == 0 && *nearRival == "" {
		assert.Less(t, mean, -0.15)
	}
}

// TestCoverageOfPastRuns: where past tasks are runs, of which most values are near the best, and in spaces without a list,
// intervals hold values away from where a run asks, too.
func TestCoverageOfPastRuns(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it runs past tasks")
	var held, of int
	for _, family := range []string{"Levy", "Styblinski-Tang", "peak", "Ackley", "Zakharov"} {
		var in, all int
		for seed := range uint64(*pastRuns) {
			r := rng.Stream(seed, t.Name()+family)
			dim := []int{3, 2, 4, 5}[seed%4]
			h := problemOf(t, r, dim, basins(family, r, dim, 4), *nearNoise)
			h.run(t, 30)
			var change []cmbo.LearnOption
			if *pastChange != "" {
				change = append(change, cmbo.WithAblation(*pastChange))
			}
			h.regret(t, seed, 16, func(n int, o *cmbo.Optimizer) {
				if n == 16 {
					in += h.held(t, o, 100)
					all += 100
				}
			}, cmbo.WithPrior(learn(t, h.space, h.tasks, change...)))
		}
		t.Logf("%s: after 16 values 90 %% intervals hold %.3f of random rows", family, float64(in)/float64(all))
		held, of = held+in, of+all
	}
	t.Logf("all: %.3f of %d", float64(held)/float64(of), of)
	require.Greater(t, float64(held)/float64(of), 0.85)
}

// TestLowEndsOfAPrior: how low intervals reach is what the past's values say whatever their direction, and is restored with
// the prior.
func TestLowEndsOfAPrior(t *testing.T) {
	testutil.SkipShort(t, "it is about what is learned")
	r := rng.Stream(1, t.Name())
	h := problemOf(t, r, 2, basins("Zakharov", r, 2, 4), 0)
	h.run(t, 30)
	at := sample(t, h.space, 20, h.rows)
	minimized := slices.Clone(h.tasks)
	for i := range minimized {
		minimized[i].Y = nil
		for _, y := range h.tasks[i].Y {
			minimized[i].Y = append(minimized[i].Y, -y)
		}
	}
	prior, mirrored := learn(t, h.space, h.tasks), learn(t, h.space, minimized, cmbo.WithMinimize())
	var b bytes.Buffer
	require.NoError(t, mirrored.Encode(&b))
	decoded := decodePrior(t, &b)
	var lows []float64
	for i, p := range []*cmbo.Prior{prior, mirrored, decoded} {
		sign := 1.0
		if i > 0 {
			sign = -1
		}
		o := newOptimizer(t, h.space, cmbo.WithPrior(p))
		for _, x := range h.tasks[0].X[6:10] {
			require.NoError(t, o.Observe(x, sign*h.target(x)))
		}
		least := math.Inf(1)
		for _, x := range at {
			q := quantiles(t, o, x)
			least = min(least, sign*q.Low, sign*q.High)
		}
		lows = append(lows, least)
	}
	require.Less(t, lows[0], -3.)
	require.InEpsilon(t, lows[0], lows[1], 1e-9)
	require.Equal(t, lows[1], lows[2])
}
