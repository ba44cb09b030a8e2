package report

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/rng"
)

// coverage is the probability content of all intervals.
const coverage = 0.95

// metrics are the values of a run whose means the bootstrap compares.
var metrics = [...]func(curve []float64) float64{
	func(c []float64) float64 { return c[len(c)-1] },
	area,
}

// pair bootstraps every pair of results. All methods see the same draws of
// tasks, in all comparisons of a space, so differences are paired.
func (s *Summary) pair(c *Comparison, strata []*stratum) {
	var means [len(metrics)][][]float64 // by method, then resample
	for k := range means {
		means[k] = make([][]float64, len(c.Results))
		for e := range c.Results {
			means[k][e] = make([]float64, s.resamples)
		}
	}
	few := c.fewest < 2
	for _, st := range strata {
		s.resample(st, &means, len(strata))
	}
	scratch := make([]float64, s.resamples)
	final := func(e int) float64 { return c.Results[e].Final() }
	auc := func(e int) float64 { return c.Results[e].AUC }
	for a := range c.Results {
		for b := a + 1; b < len(c.Results); b++ {
			p := Pair{A: c.Results[a].Method, B: c.Results[b].Method}
			p.Regret = difference(means[0][a], means[0][b], scratch, few)
			p.Regret.Mean = final(a) - final(b)
			p.AUC = difference(means[1][a], means[1][b], scratch, few)
			p.AUC.Mean = auc(a) - auc(b)
			c.Pairs = append(c.Pairs, p)
		}
	}
}

// resample adds the means over one stratum, divided by the number of strata, to
// those of the resamples. A task that is drawn brings all of its runs.
func (s *Summary) resample(st *stratum, means *[len(metrics)][][]float64, strata int) {
	tasks := len(st.runs)
	var sums [len(metrics)][][]float64
	for k, metric := range metrics {
		for e := range st.records {
			sums[k] = append(sums[k], st.sums(func(run int) float64 { return metric(st.records[e][run].Regret) }))
		}
	}
	r := rng.Stream(seed, "report/bootstrap/"+st.space)
	times := make([]float64, tasks)
	for b := range s.resamples {
		clear(times)
		for range tasks {
			times[r.IntN(tasks)]++
		}
		var runs float64
		for t, w := range times {
			runs += w * st.runs[t]
		}
		for k := range sums {
			for e, sum := range sums[k] {
				var v float64
				for t, w := range times {
					v += w * sum[t]
				}
				means[k][e][b] += v / runs / float64(strata)
			}
		}
	}
}

// difference summarises the resampled differences of two means. The limits are
// the order statistics that leave out 2.5% at each end, so that exchanging the
// two only changes signs.
func difference(a, b, scratch []float64, few bool) Difference {
	if few {
		return Difference{Lower: math.NaN(), Upper: math.NaN(), Share: math.NaN()}
	}
	var halves int
	for i := range scratch {
		scratch[i] = a[i] - b[i]
		if scratch[i] < 0 {
			halves += 2
		} else if scratch[i] == 0 {
			halves++
		}
	}
	slices.Sort(scratch)
	n := len(scratch)
	k := int(math.Round((1 - coverage) / 2 * float64(n)))
	return Difference{
		Lower: scratch[k], Upper: scratch[n-1-k],
		Share: float64(halves) / float64(2*n),
	}
}
