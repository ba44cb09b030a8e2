package model

import "math"

// equalWeights returns n weights 1/n.
func equalWeights(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return w
}

// distanceWeights turns distances into weights,
//
//	w_i = e^(1−d_i/d_max) / Σ_j e^(1−d_j/d_max),
//
// (paper, algorithm 1, lines 16-17). d_max is the largest finite distance; an
// infinite distance counts as ratio 1, as the farthest does. If d_max is 0 all
// finite distances are, and they count as ratio 0. Ratios lie in [0, 1], so no
// weight is more than e times another.
func distanceWeights(d []float64) []float64 {
	if len(d) == 0 {
		return nil
	}
	top := MaxFinite(d)
	w := make([]float64, len(d))
	var sum float64
	for i, v := range d {
		ratio := 1.0
		switch {
		case math.IsInf(v, 1):
		case top > 0:
			ratio = v / top
		default:
			ratio = 0
		}
		w[i] = math.Exp(1 - ratio)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// MaxFinite returns the largest finite distance, 0 if there is none.
func MaxFinite(d []float64) float64 {
	var top float64
	for _, v := range d {
		if !math.IsInf(v, 1) {
			top = max(top, v)
		}
	}
	return top
}
