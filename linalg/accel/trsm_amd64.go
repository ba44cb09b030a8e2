//go:build amd64 && gc && !purego && !noasm

package accel

import "github.com/gocmbo/cmbo/internal/f64"

// trsmN is the number of unknowns solved for before the columns that follow are
// updated by a product; it is part of the result's last bits.
var trsmN = 320

// solveRows is the number of rows, of 32, up to which they are solved for without packing.
const solveRows = 4

func (t *kernels) Trsm(m, n int, x []float64, ldx int, l []float64, ldl int) {
	if m <= 0 || n <= 0 {
		return
	}
	if n <= 2 {
		f64.Generic.Trsm(m, n, x, ldx, l, ldl)
		return
	}
	_ = x[(m-1)*ldx+n-1]
	_ = l[(n-1)*ldl+n-1]
	// A row is treated by its place among 32 alone.
	if m&31 == 1 {
		m--
		t.trsmRow(n, &x[m*ldx], &l[0], ldl)
		if m == 0 {
			return
		}
	}
	for j := 0; j < n; j += trsmN {
		nb := min(trsmN, n-j)
		xj, lj := x[j:], l[j*ldl+j:]
		if j > 0 {
			t.gemm(m, nb, j, -1, x, ldx, 1, l[j*ldl:], 1, ldl, xj, ldx, false)
		}
		packed := m
		if d := m & 31; d != 0 && d <= solveRows {
			packed -= d
			t.trsmRows(d, nb, &xj[packed*ldx], ldx, &lj[0], ldl)
		}
		if packed > 0 {
			t.solvePanels(t.trsmPanel, packed, nb, xj, ldx, lj, ldl)
		}
	}
}

// solvePanels solves for rows of X in packed panels.
func (t *kernels) solvePanels(panel func(n int, y *float64, nv int, l *float64, ldl int), m, n int, x []float64,
	ldx int, l []float64, ldl int) {
	buf := t.getPanels(1, n)
	p := &(*buf)[0]
	for i := 0; i < m; {
		nv := nextPanel((m - i + t.lanes - 1) / t.lanes)
		rows := min(nv*t.lanes, m-i)
		t.packT(p, &x[i*ldx], ldx, rows, n)
		panel(n, p, nv, &l[0], ldl)
		t.unpackT(&x[i*ldx], ldx, p, rows, n)
		i += rows
	}
	panels.Put(buf)
}

// TrsmBack does the same with every row, wherever it stands.
func (t *kernels) TrsmBack(m, n int, x []float64, ldx int, l []float64, ldl int) {
	if m <= 0 || n <= 0 {
		return
	}
	if n <= 2 {
		f64.Generic.TrsmBack(m, n, x, ldx, l, ldl)
		return
	}
	_ = x[(m-1)*ldx+n-1]
	_ = l[(n-1)*ldl+n-1]
	nb := part(n, trsmN, 1)
	for j := (n - 1) / nb * nb; j >= 0; j -= nb {
		nb := min(nb, n-j)
		if k := j + nb; k < n {
			t.gemm(m, nb, n-k, -1, x[k:], ldx, 1, l[k*ldl+j:], ldl, 1, x[j:], ldx, false)
		}
		t.solvePanels(t.backPanel, m, nb, x[j:], ldx, l[j*ldl+j:], ldl)
	}
}
