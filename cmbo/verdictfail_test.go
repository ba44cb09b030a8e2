package cmbo_test

import (
	"flag"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	besideFailures = flag.Int("beside-failures", 3, "problems of each family of TestVerdictBesideFailures")
	besideFirst    = flag.Uint64("beside-failures-first", 3, "number of the first problem of each of its families")
	besideBudget   = flag.Int("beside-failures-budget", 15, "evaluations of each of its runs")
)

// besideFailuresOf returns a problem of two or three numbers whose evaluations fail outside a ball, and a past of which seven
// or fewer of 25 evaluations of each task are left. Values are of one shape, or of shapes that have little or nothing in
// common, or turned over; the target's ball lies elsewhere, or its best values where the past fails; or few evaluations fail,
// and the past has another best. Values lie between -1 and 0.
func besideFailuresOf(tb testing.TB, family string, seed uint64) *pastProblem {
	r := rng.Stream(seed, "TestVerdictBesideFailures"+family)
	dim := 2 + r.IntN(2)
	space := unitCube(tb, dim)
	ball := func() []float64 { return between(r, dim, 0.2, 0.8) }
	distance := func(x, c []float64) float64 {
		d := 0.0
		for j, v := range c {
			d += (x[j] - v) * (x[j] - v)
		}
		return math.Sqrt(d)
	}
	radius := 0.25 + 0.1*r.Float64()
	inside := func(c []float64) func(x []float64) bool {
		return func(x []float64) bool { return distance(x, c) <= radius }
	}
	common := ball()
	within := func(c []float64) []float64 {
		p := between(r, dim, -1, 1)
		n := distance(p, make([]float64, dim))
		for j := range p {
			p[j] = c[j] + p[j]/max(n, 1)*radius*0.9
		}
		return p
	}
	best := within(common)
	if family == "misleading values" {
		radius = []float64{0.45, 0.6}[dim-2] + 0.1*r.Float64()
		for j := range common {
			common[j] = 0.5
		}
	}
	elsewhere := func() []float64 {
		c := ball()
		for distance(c, common) < radius {
			c = ball()
		}
		return c
	}
	succeeds := inside(common)
	function := func(target bool) func(x []float64) float64 {
		top := within(common)
		sign := 1.0
		switch family {
		case "alike":
			copy(top, best)
			for j := range top {
				top[j] += 0.03 * r.NormFloat64()
			}
		case "upside down":
			copy(top, best)
			if target {
				sign = -1
			}
		case "region elsewhere":
			if target {
				c := elsewhere()
				succeeds, top = inside(c), within(c)
			}
		case "fails where it is best":
			if target {
				top = within(elsewhere())
			}
		case "misleading values":
			copy(top, best)
			for j := range top {
				top[j] += 0.03 * r.NormFloat64()
			}
			if target {
				other := within(common)
				for distance(other, best) < 0.4 {
					other = within(common)
				}
				return func(x []float64) float64 {
					return max(0.5*math.Exp(-10*distance(x, top)), math.Exp(-6*distance(x, other)), 0.3*math.Sin(9*x[0])*math.Sin(11*x[1]))
				}
			}
		case "waves":
			f, ph := between(r, dim, 6, 15), between(r, dim, 0, 6)
			return func(x []float64) float64 {
				y := 0.0
				for j := range f {
					y += math.Sin(f[j]*x[j] + ph[j])
				}
				return y
			}
		}
		return func(x []float64) float64 { return -sign * distance(x, top) * (1 + 0.1*math.Sin(20*x[0])) }
	}
	h := &pastProblem{space: space, rows: seed}
	past := succeeds
	h.tasks = pastOfFunctions(tb, space, r, func() func(x []float64) float64 { return function(false) })
	for i := range h.tasks {
		t := &h.tasks[i]
		var x [][]float64
		var y []float64
		for j, p := range t.X {
			if past(p) {
				x, y = append(x, p), append(y, t.Y[j])
			} else {
				t.Failed = append(t.Failed, p)
			}
		}
		t.X, t.Y = x, y
	}
	target := function(true)
	if family == "fails where it is best" {
		succeeds = func([]float64) bool { return true }
	}
	at := sample(tb, space, 20000, seed)
	most, least := math.Inf(-1), math.Inf(1)
	for _, x := range at {
		if succeeds(x) {
			most, least = max(most, target(x)), min(least, target(x))
		}
	}
	h.fails = func(x []float64) bool { return !succeeds(x) }
	h.target = func(x []float64) float64 { return (target(x) - most) / (most - least) }
	return h
}

// TestVerdictBesideFailures: where most evaluations fail, past ones too, the values that are left say little, and no past
// task may seem to be like the new one. That the past misleads is said where it does nevertheless: of three such runs no more
// than one is [clearly] better than one without a past, as chance has it where the past brings as much as it costs.
func TestVerdictBesideFailures(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares areas")
	said, wrong := 0, 0
	for _, family := range []string{"alike", "own values", "waves", "upside down", "region elsewhere", "fails where it is best", "misleading values"} {
		var ratios []float64
		verdicts := map[cmbo.Verdict]int{}
		for k := range uint64(*besideFailures) {
			seed := *besideFirst + k
			h := besideFailuresOf(t, family, seed)
			var area [2]float64
			for arm, opts := range [2][]cmbo.Option{nil, {cmbo.WithPrior(learn(t, h.space, h.tasks))}} {
				best := -1.0
				h.regret(t, seed, *besideBudget, func(n int, o *cmbo.Optimizer) {
					if b, ok := o.Best(); ok {
						best = b.Y
					}
					if area[arm] -= best; arm == 1 && n == *besideBudget {
						verdict := transferOf(t, o).Verdict
						if verdicts[verdict]++; verdict == cmbo.TransferMisleads {
							if said++; clearly*area[1] < area[0] {
								wrong++
							}
						}
					}
				}, opts...)
			}
			ratios = append(ratios, math.Log10(area[1])-math.Log10(area[0]))
		}
		t.Logf("%s: runs have %s of the area; %v", family, ratioOf(ratios), verdicts)
	}
	t.Logf("the past misleads in %d runs, of which %d are clearly better than without it", said, wrong)
	require.Positive(t, said)
	require.LessOrEqual(t, float64(wrong), float64(said)/3)
}
