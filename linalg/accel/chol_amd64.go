//go:build amd64 && gc && !purego && !noasm

package accel

import "github.com/gocmbo/cmbo/internal/f64"

// small is the size up to which the plain loops are faster at factors.
const small = 4

// Chol computes the factor in blocks of as many rows as a panel has columns. Such rows are packed
// by columns with the block on the diagonal below them, solved against the rows of the factor above
// and, with that, subtracted from their block, which is factored in place.
func (t *kernels) Chol(n int, shift float64, a []float64, lda int, l []float64, ldl int) (pivot int, value float64) {
	if n <= small {
		return f64.Generic.Chol(n, shift, a, lda, l, ldl)
	}
	_ = a[(n-1)*lda+n-1]
	_ = l[(n-1)*ldl+n-1]
	w := panelVectors * t.lanes
	buf := t.getPanels(1, n)
	p := *buf
	for j := 0; j < n; j += w {
		rows := min(w, n-j)
		k := j + rows
		t.packT(&p[0], &a[j*lda], lda, rows, k)
		if shift != 0 {
			for r := range rows {
				p[(j+r)*w+r] += shift
			}
		}
		if j > 0 {
			t.trsmPanel(j, &p[0], (rows+t.lanes-1)/t.lanes, &l[0], ldl)
		}
		if good := t.cholPanel(j, rows, &p[0]); good < rows {
			value = p[(j+good)*w+good]
			panels.Put(buf)
			return j + good, value
		}
		t.unpackT(&l[j*ldl], ldl, &p[0], rows, k)
	}
	panels.Put(buf)
	return -1, 0
}
