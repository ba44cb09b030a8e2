package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

// measure fills in the results of c.
func (s *Summary) measure(c *Comparison, strata []*stratum) {
	n := s.Budget + 1
	for e := range c.Results {
		r := &c.Results[e]
		r.Regret, r.Lower, r.Upper = make([]float64, n), make([]float64, n), make([]float64, n)
		r.Rank, r.Solved = make([]float64, n), make([]float64, n)
		for q := range n {
			r.Regret[q], r.Lower[q], r.Upper[q] = interval(strata, func(st *stratum, run int) float64 {
				return st.records[e][run].Regret[q]
			})
			r.Solved[q] = mean(strata, func(st *stratum, run int) float64 {
				if st.records[e][run].Regret[q] < Threshold {
					return 1
				}
				return 0
			})
		}
		r.AUC, r.AUCLower, r.AUCUpper = interval(strata, func(st *stratum, run int) float64 {
			return area(st.records[e][run].Regret)
		})
		r.GeometricAUC = geometric(strata, func(st *stratum, run int) float64 { return area(st.records[e][run].Regret) })
		r.GeometricLate = geometric(strata, func(st *stratum, run int) float64 { return late(st.records[e][run].Regret) })
		var all []*bench.Record
		for _, st := range strata {
			all = append(all, st.records[e]...)
		}
		r.Calibration = calibrate(all)
	}
	for _, st := range strata {
		sums := make([][]float64, len(c.Results))
		for e := range sums {
			sums[e] = make([]float64, n)
		}
		regret := make([]float64, len(c.Results))
		for run := range st.task {
			for q := range n {
				for e := range regret {
					regret[e] = st.records[e][run].Regret[q]
				}
				for e, v := range ranks(regret) {
					sums[e][q] += v
				}
			}
		}
		for e := range sums {
			for q, v := range sums[e] {
				c.Results[e].Rank[q] += v / float64(len(st.task)) / float64(len(strata))
			}
		}
	}
}

// mean is that over the runs of a stratum, and then over the strata.
func mean(strata []*stratum, value func(st *stratum, run int) float64) float64 {
	var m float64
	for _, st := range strata {
		var sum float64
		for run := range st.task {
			sum += value(st, run)
		}
		m += sum / float64(len(st.task)) / float64(len(strata))
	}
	return m
}

// interval returns the mean and its 95% confidence limits over tasks, clipped
// to [0, 1], where all regrets lie.
//
// In a stratum the mean is a ratio, of the sum of values v_t over the tasks t to
// the sum of their numbers of runs n_t. With the residuals e_t = v_t − mean·n_t
// of T tasks its variance is T/(T−1)·Σ e_t²/(Σ n_t)², the usual linearisation for
// samples of clusters (Cochran, Sampling Techniques, section 6.3). The mean over
// S strata has the sum of their variances over S², with Satterthwaite's degrees
// of freedom, rounded down.
func interval(strata []*stratum, value func(st *stratum, run int) float64) (mean, lower, upper float64) {
	var variance, squares float64
	few := false
	for _, st := range strata {
		sums := make([]float64, len(st.runs))
		for run, t := range st.task {
			sums[t] += value(st, run)
		}
		m, v := ratio(sums, st.runs)
		mean += m / float64(len(strata))
		if len(sums) < 2 {
			few = true
			continue
		}
		variance += v
		squares += v * v / float64(len(sums)-1)
	}
	if few {
		return mean, math.NaN(), math.NaN()
	}
	if !(variance > 0) {
		return mean, mean, mean
	}
	half := studentQuantile(int(variance*variance/squares*(1+1e-9))) * math.Sqrt(variance) / float64(len(strata))
	return mean, max(mean-half, 0), min(mean+half, 1)
}

func ratio(sums, runs []float64) (mean, variance float64) {
	var v, n float64
	for t := range sums {
		v += sums[t]
		n += runs[t]
	}
	mean = v / n
	for t := range sums {
		e := sums[t] - mean*runs[t]
		variance += e * e
	}
	tasks := float64(len(sums))
	return mean, tasks / (tasks - 1) * variance / (n * n)
}

// studentQuantile returns the 97.5% quantile of Student's distribution with a
// whole number of degrees of freedom, at least 1 and for what it matters at most
// 500, by bisection of its distribution function to 1e-12 relative.
func studentQuantile(freedom int) float64 {
	freedom = min(max(freedom, 1), 500)
	lo, hi := 1.9, 13.0
	for hi-lo > 1e-12*hi {
		mid := lo + (hi-lo)/2
		if studentCentral(mid, freedom) < 0.95 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// studentCentral returns the probability that Student's variable lies within
// ±t, by the finite series for whole degrees of freedom (Abramowitz and Stegun,
// 26.7.3 and 26.7.4).
func studentCentral(t float64, freedom int) float64 {
	theta := math.Atan(t / math.Sqrt(float64(freedom)))
	sin, cos := math.Sincos(theta)
	if freedom%2 == 1 {
		term, sum := cos, 0.0
		for k := 1; k <= freedom-2; k += 2 {
			sum += term
			term *= cos * cos * float64(k+1) / float64(k+2)
		}
		return 2 / math.Pi * (theta + sin*sum)
	}
	term, sum := 1.0, 0.0
	for k := 0; k <= freedom-2; k += 2 {
		sum += term
		term *= cos * cos * float64(k+1) / float64(k+2)
	}
	return sin * sum
}

// area is the mean of a curve after its first query, and after no query if it has
// none: what holds before is not the method's doing.
func area(curve []float64) float64 {
	if len(curve) > 1 {
		curve = curve[1:]
	}
	var sum float64
	for _, v := range curve {
		sum += v
	}
	return sum / float64(len(curve))
}

// late is the area from query [LateFrom] on, NaN for curves that end before.
func late(curve []float64) float64 {
	if len(curve) <= LateFrom {
		return math.NaN()
	}
	return area(curve[LateFrom-1:])
}

// geometric is the geometric mean over the strata of the mean over their runs. A mean
// below [Threshold]/1000 counts as that.
func geometric(strata []*stratum, value func(st *stratum, run int) float64) float64 {
	var m float64
	for _, st := range strata {
		m += math.Log(max(mean([]*stratum{st}, value), Threshold/1000)) / float64(len(strata))
	}
	return math.Exp(m)
}

// rankUnit is what regrets are rounded to before they are ranked.
const rankUnit = 1e-8

// ranks returns the ranks of regrets from 1, ties averaged.
func ranks(regret []float64) []float64 {
	key, order, rank := make([]float64, len(regret)), make([]int, len(regret)), make([]float64, len(regret))
	for i, v := range regret {
		key[i], order[i] = math.Round(v/rankUnit), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && key[order[j]] == key[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			rank[order[k]] = float64(i+j+1) / 2 // the mean of i+1 to j
		}
		i = j
	}
	return rank
}
