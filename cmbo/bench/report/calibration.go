package report

import (
	"math"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A Calibration tells how good predictions of the queried values were. All but
// Predictions are NaN if there are none.
type Calibration struct {
	// Predictions is the number of queries that were predicted.
	Predictions int
	// MeanNLPD and MedianNLPD are of the negative logarithm of the predictive
	// density, in nats, where the range of the task's table is 1.
	MeanNLPD, MedianNLPD float64
	// Coverage90 is how often the value lay in the central 90% interval.
	Coverage90 float64
	// MedianSD is the median predicted deviation in units of the range.
	MedianSD float64
}

// z90 is the 95% quantile of the normal distribution, to the digits that records
// have.
const z90 = 1.6449

// calibrate pools the predictions of all records.
func calibrate(rs []*bench.Record) Calibration {
	var scores, logs []float64
	var sum float64
	inside := 0
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
		Coverage90: float64(inside) / n, MedianSD: math.Exp(stat.Median(logs)),
	}
}
