package report

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/stat"
)

// threshold is the regret below which a run counts as solved (the paper's C).
const threshold = 0.005

// measure fills in the results of c.
func (s *Summary) measure(c *Comparison, strata []*stratum) {
	n := s.Budget + 1
	for e := range c.Results {
		r := &c.Results[e]
		r.Regret, r.Lower, r.Upper = make([]float64, n), make([]float64, n), make([]float64, n)
		r.Rank, r.Solved = make([]float64, n), make([]float64, n)
		for q := range n {
			r.Regret[q], r.Lower[q], r.Upper[q] = interval(strata, e, func(regret []float64) float64 { return regret[q] })
			r.Solved[q], _, _ = moments(strata, e, func(regret []float64) float64 {
				if regret[q] < threshold {
					return 1
				}
				return 0
			})
		}
		r.AUC, r.AUCLower, r.AUCUpper = interval(strata, e, area)
		r.GeometricAUC, r.GeometricLate = geometric(strata, e, area), geometric(strata, e, late)
		all := each.Of(strata, func(st *stratum) []*bench.Record { return st.records[e] })
		r.Calibration = calibrate(slices.Concat(all...))
	}
	regret := make([]float64, len(c.Results))
	for _, st := range strata {
		weight := 1 / float64(len(st.ids)*len(strata))
		for run := range st.ids {
			for q := range n {
				for e := range regret {
					regret[e] = st.records[e][run].Regret[q]
				}
				for e, v := range ranks(regret) {
					c.Results[e].Rank[q] += v * weight
				}
			}
		}
	}
}

// interval returns the mean and its 95% confidence limits over tasks, clipped
// to [0, 1], where all regrets lie; NaN if a stratum has a single task.
func interval(strata []*stratum, method int, value func(regret []float64) float64) (mean, lower, upper float64) {
	mean, sd, freedom := moments(strata, method, value)
	half := stat.StudentQuantile(0.975, freedom) * sd
	return mean, max(mean-half, 0), min(mean+half, 1)
}

// moments returns the mean of a value over a method's runs in a stratum, and then over the strata, its standard deviation
// over tasks and the degrees of freedom of that, Satterthwaite's, rounded down. The variance of the mean of a stratum is
// the usual linearisation for samples of clusters (Cochran, Sampling Techniques, section 6.3), NaN for a single one.
func moments(strata []*stratum, method int, value func(regret []float64) float64) (mean, sd float64, freedom int) {
	var variance, squares float64
	for _, st := range strata {
		sums, total, n, tasks := make([]float64, len(st.runs)), 0.0, float64(len(st.task)), float64(len(st.runs))
		for run, t := range st.task {
			v := value(st.records[method][run].Regret)
			sums[t] += v
			total += v
		}
		var residuals float64
		for t, sum := range sums {
			e := sum - total/n*st.runs[t]
			residuals += e * e
		}
		v := tasks / (tasks - 1) * residuals / (n * n)
		if tasks < 2 { // residuals may be rounding errors
			v = math.NaN()
		}
		mean += total / n / float64(len(strata))
		variance += v
		squares += v * v / (tasks - 1)
	}
	return mean, math.Sqrt(variance) / float64(len(strata)), int(variance * variance / squares * (1 + 1e-9))
}

// area is the mean of a curve after its first query, and after no query if it has
// none: what holds before is not the method's doing.
func area(curve []float64) float64 {
	if len(curve) > 1 {
		curve = curve[1:]
	}
	return stat.Sum(curve) / float64(len(curve))
}

// lateFrom is the query from which the late part of a regret curve is counted.
const lateFrom = 6

// late is the area from query lateFrom on, NaN for curves that end before.
func late(curve []float64) float64 {
	if len(curve) <= lateFrom {
		return math.NaN()
	}
	return area(curve[lateFrom-1:])
}

// geometric is the geometric mean over the strata of the mean over their runs. A mean below leastArea counts as that.
func geometric(strata []*stratum, method int, value func(regret []float64) float64) float64 {
	var m float64
	for _, st := range strata {
		mean, _, _ := moments([]*stratum{st}, method, value)
		m += math.Log(max(mean, leastArea)) / float64(len(strata))
	}
	return math.Exp(m)
}

// rankUnit is what regrets are rounded to before they are ranked.
const rankUnit = 1e-8

// ranks returns the ranks of regrets from 1, ties averaged.
func ranks(regret []float64) []float64 {
	key, rank := each.Of(regret, func(v float64) float64 { return math.Round(v / rankUnit) }), make([]float64, len(regret))
	for i, v := range key {
		rank[i] = 0.5 // with the half for itself, a method that is better than all has 1
		for _, w := range key {
			if w < v {
				rank[i]++
			} else if w == v {
				rank[i] += 0.5
			}
		}
	}
	return rank
}

// z90 is the 95% quantile of the normal distribution, to the digits that records have.
const z90 = 1.6449

// calibrate pools the predictions of all records.
func calibrate(rs []*bench.Record) Calibration {
	var scores, logs []float64
	var sum, inside float64
	for _, r := range rs {
		for i, z := range r.Z {
			score := z*z/2 + r.LogSD[i] + math.Log(2*math.Pi)/2
			scores, logs = append(scores, score), append(logs, r.LogSD[i])
			sum += score
			if math.Abs(z) <= z90 {
				inside++
			}
		}
	}
	n := float64(len(scores))
	return Calibration{
		Predictions: len(scores),
		MeanNLPD:    sum / n, MedianNLPD: stat.Median(scores),
		Coverage90: inside / n, MedianSD: math.Exp(stat.Median(logs)),
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
