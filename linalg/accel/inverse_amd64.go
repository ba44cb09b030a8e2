//go:build amd64 && gc && !purego && !noasm

package accel

// InvertRows keeps the rows as a packed panel: entry (r, k) of U, k ≥ i, is at
// k·w + r − i of panel, w being the width of a panel.
func (t *kernels) InvertRows(n, i int, u, l []float64, ldl int) {
	w := panelVectors * t.lanes
	rows := min(w, n-i)
	l = l[i*ldl+i:]
	_ = l[(n-i-1)*ldl+n-i-1]
	p := t.inversePanel(n, i, i, u)
	clear(p[:rows*w])
	for r := range rows {
		p[r*w+r] = 1
	}
	t.invertPanel(n-i, &p[0], &l[0], ldl)
}

// inversePanel returns rows j to j+w of U from entry k ≥ j on.
func (t *kernels) inversePanel(n, j, k int, u []float64) []float64 {
	w := panelVectors * t.lanes
	return u[j*n+k*w : j*n+n*w]
}

// InverseRows works in strips of as many rows as a vector has lanes: row r of U
// begins at entry r, so that the sums of a strip begin where its first row does.
func (t *kernels) InverseRows(n, i int, c []float64, ldc int, u []float64) {
	w := panelVectors * t.lanes
	rows := min(w, n-i)
	c = c[i*ldc:]
	_ = c[(rows-1)*ldc+i+rows-1]
	for j := 0; j <= i; j += w {
		for r := 0; r < rows; r += t.lanes {
			a, b := t.inversePanel(n, i, i+r, u), t.inversePanel(n, j, i+r, u)
			cols := min(w, n-j)
			if j == i {
				cols = min(cols, r+t.lanes)
			}
			for o := 0; o < cols; {
				nb := t.panelWidth(cols - o)
				t.gemmPanel(min(t.lanes, rows-r), n-i-r, 1, &a[r], 1, w, &b[o], w, &c[r*ldc+j+o], ldc, nb, 1)
				o += nb
			}
		}
	}
}
