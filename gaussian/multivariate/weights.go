package multivariate

import (
	"slices"
	"strconv"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// Centroid returns the normal whose mean and covariance are the weighted arithmetic means of those
// of ps, m = Σ w_i·m_i and S = Σ w_i·S_i, the geometric centre of the paper, section 3, stage 2.
//
// weights are non-negative and finite with a positive sum, to which they are normalised; others are [ErrWeights], nil
// stands for equal weights. Members of weight zero are ignored. If one member has all the weight it is returned itself.
// No member, or nil, is [gaussian.ErrArgument]. It takes O(len(ps)·n²) time.
func Centroid(ps []*Normal, weights []float64) (*Normal, error) {
	const op = "Centroid"
	ps, w, err := activeMembers(op, ps, weights)
	if err != nil {
		return nil, err
	}
	if len(ps) == 1 {
		return ps[0], nil
	}
	mean := weightedMean(ps, w)
	cov := linalg.NewSym(len(mean), nil)
	for i, p := range ps {
		cov.AddScaled(w[i], p.cov)
	}
	return finishNormal(op, mean, cov)
}

func weightedMean(ps []*Normal, w []float64) []float64 {
	mean := make([]float64, ps[0].Dim())
	for i, p := range ps {
		linalg.Axpy(mean, w[i], p.mean)
	}
	return mean
}

// activeMembers validates a weighted family of Normals and returns the members of positive weight with weights that sum to 1.
func activeMembers(op string, ps []*Normal, weights []float64) ([]*Normal, []float64, error) {
	if len(ps) == 0 {
		return nil, nil, fault.Nil(op, "the list of members")
	}
	for i, p := range ps {
		if p == nil {
			return nil, nil, fault.Nil(op, "a member")
		}
		if err := fault.Len(op, memberName(i), p.Dim(), ps[0].Dim()); err != nil {
			return nil, nil, err
		}
	}
	if weights == nil {
		weights = slices.Repeat([]float64{1}, len(ps))
	}
	if err := fault.Len(op, "weights", len(weights), len(ps)); err != nil {
		return nil, nil, err
	}
	var largest float64
	for i, v := range weights {
		if !(v >= 0) || !fault.Finite(v) {
			return nil, nil, &gaussian.ValueError{Op: op, What: "weights", Row: i, Col: -1, Value: v, Err: ErrWeights}
		}
		largest = max(largest, v)
	}
	if !(largest > 0) {
		return nil, nil, fault.Scalar(op, "sum of weights", largest, ErrWeights)
	}
	// Scaled by the largest, the weights cannot overflow their sum.
	var active []*Normal
	var w []float64
	for i, v := range weights {
		if v /= largest; v > 0 {
			active, w = append(active, ps[i]), append(w, v)
		}
	}
	stat.Normalise(w)
	return active, w, nil
}

func memberName(i int) string { return "member " + strconv.Itoa(i) }
