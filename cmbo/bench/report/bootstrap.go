package report

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/rng"
)

// coverage is the probability content of all intervals.
const coverage = 0.95

// pair bootstraps the default of cm-BO against every other result. All methods see
// the same draws of tasks, in all comparisons of a space, so differences are paired.
func (s *Summary) pair(c *Comparison, strata []*stratum) {
	at := slices.IndexFunc(c.Results, func(r Result) bool { return r.Method == standard })
	if at < 0 {
		return
	}
	last := s.means(c, strata, func(curve []float64) float64 { return curve[len(curve)-1] })
	areas := s.means(c, strata, area)
	scratch := make([]float64, s.resamples)
	own := &c.Results[at]
	for e := range c.Results {
		if e == at {
			continue
		}
		r := &c.Results[e]
		p := &Pair{difference(last[at], last[e], scratch, c.fewest < 2), difference(areas[at], areas[e], scratch, c.fewest < 2)}
		p.Regret.Mean, p.AUC.Mean = own.Final()-r.Final(), own.AUC-r.AUC
		r.Against = p
	}
}

// means returns the mean of a value of a run, over the strata, of each result in each
// resample. A task that is drawn brings all of its runs.
func (s *Summary) means(c *Comparison, strata []*stratum, value func(curve []float64) float64) [][]float64 {
	means := make([][]float64, len(c.Results))
	for e := range means {
		means[e] = make([]float64, s.resamples)
	}
	for _, st := range strata {
		sums := make([][]float64, len(st.records))
		for e := range sums {
			sums[e] = st.sums(func(run int) float64 { return value(st.records[e][run].Regret) })
		}
		r := rng.Stream(seed, "report/bootstrap/"+st.space)
		times := make([]float64, len(st.runs))
		for b := range s.resamples {
			clear(times)
			for range times {
				times[r.IntN(len(times))]++
			}
			var runs float64
			for t, w := range times {
				runs += w * st.runs[t]
			}
			for e, sum := range sums {
				var v float64
				for t, w := range times {
					v += w * sum[t]
				}
				means[e][b] += v / runs / float64(len(strata))
			}
		}
	}
	return means
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
