package cmbo_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	aloneProblems = flag.Int("alone", 2, "problems of each family of TestAloneBesideAPast")
	alonePast     = flag.String("alone-past", "shuffled", "its past tasks: as they are, shuffled, negated, few, two of eight rows, or runs, of 30 evaluations")
	aloneOther    = flag.String("alone-other", "AloneMass=0,OwnFrom=15:55", "what it compares the default with: a change of it, no design, a rival, or none for no past")
	aloneBudget   = flag.Int("alone-budget", 30, "evaluations of each of its runs")
	aloneDim      = flag.Int("alone-dim", 2, "dimensions of its first problem; those of the next three have one more each")
	aloneNoise    = flag.Float64("alone-noise", 0, "deviation of the noise of its values")
)

// slopesTo returns functions of one family on the unit cube, each with its largest value, 0, at a point of its own near a
// common one: Rosenbrock's valley, Griewank's waves on a bowl, the largest of weighted distances by coordinate, what is
// steep on one side, the same with waves so short that rows do not show them, and four bumps, of which one is the highest.
func slopesTo(family string, r *rand.Rand, dim, n int) []func(x []float64) float64 {
	centre, weight := make([]float64, dim), make([]float64, dim)
	for j := range centre {
		centre[j], weight[j] = 0.25+0.5*r.Float64(), math.Exp(0.7*r.NormFloat64())
	}
	away := make([][]float64, 3)
	for i := range away {
		for range dim {
			away[i] = append(away[i], 0.6*r.Float64()-0.3)
		}
	}
	out := make([]func(x []float64) float64, n)
	for i := range out {
		c := make([]float64, dim)
		for j := range c {
			c[j] = centre[j] + 0.06*r.NormFloat64()
		}
		phase := make([]float64, dim)
		for j := range phase {
			if family == "waves" {
				phase[j] = 2 * math.Pi * r.Float64()
			}
		}
		out[i] = func(x []float64) float64 {
			var sum, most float64
			waves := 1.0
			for j := range x {
				d := x[j] - c[j]
				waves *= math.Cos(12 * d / math.Sqrt(float64(j+1)))
				most = max(most, weight[j]*math.Abs(d))
				switch family {
				case "Rosenbrock":
					sum += 2 * d * d
					if j+1 < dim {
						e := x[j+1] - c[j+1] - 2*d*d
						sum += 20 * e * e
					}
				case "Griewank":
					sum += weight[j] * d * d
				case "lopsided", "waves":
					if sum += weight[j] * (math.Exp(4*d) - 4*d - 1) / 8; family == "waves" {
						sum += 0.05 * (1 - math.Sin(45*x[j]+phase[j])) / math.Sqrt(float64(dim))
					}
				}
			}
			switch family {
			case "Griewank":
				return -sum - 0.2*(1-waves)
			case "largest":
				return -most
			case "bumps":
				bump := func(from []float64) float64 {
					var q float64
					for j := range x {
						d := x[j] - c[j]
						if from != nil {
							d -= from[j]
						}
						q += weight[j] * d * d
					}
					return math.Exp(-20 * q / math.Sqrt(float64(dim)))
				}
				v := bump(nil)
				for i, from := range away {
					v = max(v, (0.5+0.1*float64(i))*bump(from))
				}
				return v - 1
			}
			return -sum
		}
	}
	return out
}

// slopeFamilies are those of slopesTo, but for waves.
var slopeFamilies = []string{"Rosenbrock", "Griewank", "largest", "lopsided", "bumps"}

// slopesOf returns the problem of that number, in dim dimensions or up to three more, with three or eight past tasks.
func slopesOf(tb testing.TB, r *rand.Rand, family string, seed uint64, dim int, noise float64) pastProblem {
	dim, past := dim+int(seed%4), []int{3, 8}[seed/4%2]
	return problemOf(tb, r, dim, slopesTo(family, r, dim, past+1), noise)
}

// TestFewRowsLookLikeNoise: of pasts that are like the target some with few rows a task have a share of noise that with more
// rows means that the past says nothing.
func TestFewRowsLookLikeNoise(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it learns from many pasts")
	noise := make(map[int]int)
	for _, rows := range []int{8, 12, 20, 40} {
		for _, family := range slopeFamilies {
			for seed := range uint64(*aloneProblems) * 2 {
				h := slopesOf(t, rng.Stream(seed, t.Name()+family), family, seed, 2, 0)
				for i := range h.tasks {
					h.tasks[i].X, h.tasks[i].Y = h.tasks[i].X[:rows], h.tasks[i].Y[:rows]
				}
				if learn(t, h.space, h.tasks).Report().Noise >= 0.9 {
					noise[rows]++
				}
			}
		}
		t.Logf("%d rows a task: %d of %d pasts look like noise", rows, noise[rows], len(slopeFamilies)**aloneProblems*2)
	}
	assert.Less(t, 10*noise[40], noise[8])
}

// TestAloneBesideAPast: in spaces without a list, runs of which one hypothesis is what a run without a past takes the
// target for end nearer to the best value where the past says nothing.
func TestAloneBesideAPast(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	families := []string{"Rosenbrock", "lopsided", "bumps"}
	if *aloneProblems > 2 {
		families = slopeFamilies
	}
	all := compared(t, "", families, *aloneProblems, 1e-4, func(family string, seed uint64) [2]float64 {
		r := rng.Stream(seed, t.Name()+family)
		h := slopesOf(t, r, family, seed, *aloneDim, *aloneNoise)
		if *alonePast == "runs" {
			h.run(t, 30)
		}
		for i := range h.tasks {
			switch y := h.tasks[i].Y; *alonePast {
			case "shuffled":
				r.Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
			case "negated":
				for j := range y {
					y[j] *= -1
				}
			case "few":
				h.tasks[i].X, h.tasks[i].Y = h.tasks[i].X[:8], y[:8]
			default:
				require.Contains(t, []string{"as they are", "runs"}, *alonePast)
			}
		}
		if *alonePast == "few" {
			h.tasks = h.tasks[:2]
		}
		return h.beside(t, *aloneOther, seed, *aloneBudget)
	})
	if mean, _ := stat.MeanVariance(all); *alonePast == "shuffled" {
		assert.Less(t, mean, -0.1)
	}
}
