package linalg

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
)

// Dot returns Σ x_i·y_i. It panics if the lengths differ.
func Dot(x, y []float64) float64 {
	if len(x) != len(y) {
		panicLen("Dot", "y", len(y), len(x))
	}
	return f64.Ops.Dot(x, y)
}

// Axpy adds alpha·x to dst. It panics if the lengths differ.
func Axpy(dst []float64, alpha float64, x []float64) {
	if len(x) != len(dst) {
		panicLen("Axpy", "x", len(x), len(dst))
	}
	f64.Ops.Axpy(dst, alpha, x)
}

// SqDist returns Σ (x_i − y_i)². It panics if the lengths differ.
func SqDist(x, y []float64) float64 {
	if len(x) != len(y) {
		panicLen("SqDist", "y", len(y), len(x))
	}
	var s float64
	for i, v := range x {
		d := v - y[i]
		s += d * d
	}
	return s
}

// Norm2 returns the Euclidean norm (Σ x_i²)^½ with a relative error of about n·u/2 at any scale: squares that overflow or
// underflow are taken of scaled entries. It is NaN if an entry is, else +Inf if one is infinite.
func Norm2(x []float64) float64 {
	s := f64.Ops.Dot(x, x)
	if s > 1e-280 && s < 1e280 {
		return math.Sqrt(s)
	}
	if math.IsNaN(s) {
		return s
	}
	var scale float64 // f64.Ops.Magnitude may be NaN where an entry is infinite
	for _, v := range x {
		scale = max(scale, math.Abs(v))
	}
	if scale == 0 || math.IsInf(scale, 1) {
		return scale
	}
	s = 0
	for _, v := range x {
		v /= scale
		s += v * v
	}
	return scale * math.Sqrt(s)
}
