// Package stat holds statistics of short lists of numbers.
package stat

import (
	"math"
	"slices"
)

// Median sorts v and returns its median, the mean of the middle two if their number
// is even, NaN if v is empty.
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
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	return order
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
