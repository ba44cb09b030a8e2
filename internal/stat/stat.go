// Package stat holds statistics of short lists of numbers.
package stat

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/each"
)

// Median sorts v and returns its median, the mean of the middle two if their number is even, NaN if v is empty.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return v[n/2-1]/2 + v[n/2]/2
}

// Order returns the numbers from 0 to n-1 in the order of compare, of equals the smaller one first.
func Order(n int, compare func(i, j int) int) []int {
	order := each.Below(n, func(i int) int { return i })
	slices.SortStableFunc(order, compare)
	return order
}

// Sum returns the sum of v.
func Sum[T int | int64 | float64](v []T) (sum T) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// Normalise divides w by its sum.
func Normalise(w []float64) {
	sum := Sum(w)
	for i := range w {
		w[i] /= sum
	}
}

// MeanVariance returns the mean and the population variance of v, 0 for none.
func MeanVariance(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, variance
}

// StudentQuantile returns the p quantile, p from .95 to .975, of Student's distribution with so many degrees of
// freedom, at least 1 and for what it matters at most 500: where the probability that its variable lies within ±t, by
// the finite series for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4), is 2p-1.
func StudentQuantile(p float64, freedom int) float64 {
	freedom = min(max(freedom, 1), 500)
	lo, hi := 1.6, 13.0
	for hi-lo > 1e-12*hi {
		t := lo + (hi-lo)/2
		theta := math.Atan(t / math.Sqrt(float64(freedom)))
		sin, cos := math.Sincos(theta)
		term, within := sin*math.Pow(cos, float64(freedom%2)), 0.0
		for k := freedom % 2; k <= freedom-2; k += 2 {
			within += term
			term *= cos * cos * float64(k+1) / float64(k+2)
		}
		if freedom%2 == 1 {
			within = 2 / math.Pi * (theta + within)
		}
		if within < 2*p-1 {
			lo = t
		} else {
			hi = t
		}
	}
	return hi
}
