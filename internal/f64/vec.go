package f64

import "math"

// dot sums in four interleaved partial sums, added pairwise.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i < len(x)-7; i += 8 {
		s0 += x[i] * y[i]
		s1 += x[i+1] * y[i+1]
		s2 += x[i+2] * y[i+2]
		s3 += x[i+3] * y[i+3]
		s0 += x[i+4] * y[i+4]
		s1 += x[i+5] * y[i+5]
		s2 += x[i+6] * y[i+6]
		s3 += x[i+7] * y[i+7]
	}
	for ; i < len(x); i++ {
		s0 += x[i] * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func axpy(dst []float64, alpha float64, x []float64) {
	dst = dst[:len(x)]
	i := 0
	for ; i < len(x)-3; i += 4 {
		dst[i] += alpha * x[i]
		dst[i+1] += alpha * x[i+1]
		dst[i+2] += alpha * x[i+2]
		dst[i+3] += alpha * x[i+3]
	}
	for ; i < len(x); i++ {
		dst[i] += alpha * x[i]
	}
}

func exp(dst, x []float64) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = math.Exp(v)
	}
}

// Axpy4 adds four multiples of rows to dst: dst += c0·a0 + c1·a1 + c2·a2 + c3·a3
// over the length of dst, the terms of an entry added pairwise.
func Axpy4(dst []float64, c0, c1, c2, c3 float64, a0, a1, a2, a3 []float64) {
	a0, a1, a2, a3 = a0[:len(dst)], a1[:len(dst)], a2[:len(dst)], a3[:len(dst)]
	for j := range dst {
		dst[j] += (c0*a0[j] + c1*a1[j]) + (c2*a2[j] + c3*a3[j])
	}
}
