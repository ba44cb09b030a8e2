package f64

import "math"

// chol works in strips of four rows: each is solved against the rows above it and
// then updates its own diagonal block.
func chol(n int, shift float64, a []float64, lda int, l []float64, ldl int) (pivot int, value float64) {
	for i := 0; i < n; i += 4 {
		ib := min(4, n-i)
		for r := i; r < i+ib; r++ {
			copy(l[r*ldl:][:r+1], a[r*lda:])
			l[r*ldl+r] += shift
		}
		x, d := l[i*ldl:], l[i*ldl+i:]
		trsm(ib, i, x, ldl, l, ldl)
		gemm(ib, ib, i, -1, x, ldl, 1, x, 1, ldl, d, ldl)
		for j := range ib {
			dj := d[j*ldl:][:j+1]
			for k := range j {
				dk := d[k*ldl:]
				s := dj[k]
				for l := range k {
					s -= dj[l] * dk[l]
				}
				dj[k] = s / dk[k]
			}
			v := dj[j]
			for _, x := range dj[:j] {
				v -= x * x
			}
			if !(v > 0) || math.IsInf(v, 1) {
				return i + j, v
			}
			dj[j] = math.Sqrt(v)
		}
	}
	return -1, 0
}
