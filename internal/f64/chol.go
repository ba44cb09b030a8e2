package f64

import "math"

// cholColumns is the number of columns that Chol finishes together: Trsm takes four unknowns at a time.
const cholColumns = 4

// Chol takes a few columns at a time: what those before take from them, the
// triangle on the diagonal, the rows below it. So no row waits for itself.
func (*generic) Chol(n int, shift float64, a []float64, lda int, l []float64, ldl int) (pivot int, value float64) {
	for i := range n {
		copy(l[i*ldl:][:i+1], a[i*lda:])
		l[i*ldl+i] += shift
	}
	for j := 0; j < n; j += cholColumns {
		jb := min(cholColumns, n-j)
		left, d := l[j*ldl:], l[j*ldl+j:]
		Generic.Gemm(n-j, jb, j, -1, left, ldl, 1, left, 1, ldl, d, ldl)
		if p, v := cholCorner(jb, d, ldl); p >= 0 {
			return j + p, v
		}
		if j+jb < n {
			Generic.Trsm(n-j-jb, jb, d[jb*ldl:], ldl, d, ldl)
		}
	}
	return -1, 0
}

// cholCorner is Chol for a few rows, in place.
func cholCorner(n int, a []float64, lda int) (pivot int, value float64) {
	for j := range n {
		aj := a[j*lda:][:j+1]
		for k := range j {
			ak := a[k*lda:]
			s := aj[k]
			for l := range k {
				s -= aj[l] * ak[l]
			}
			aj[k] = s / ak[k]
		}
		v := aj[j]
		for _, x := range aj[:j] {
			v -= x * x
		}
		if !(v > 0) || math.IsInf(v, 1) {
			return j, v
		}
		aj[j] = math.Sqrt(v)
	}
	return -1, 0
}
