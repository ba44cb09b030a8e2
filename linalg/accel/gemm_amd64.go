//go:build amd64 && gc && !purego && !noasm

package accel

import (
	"sync"

	"github.com/gocmbo/cmbo/internal/f64"
)

// Cuts of the product. gemmK is the length of the sums that are added to C at a
// time, and so part of the result's last bits: a packed panel of B of that length
// is as large as the first-level cache of the processors in question, from which
// the panel streams. gemmM rows of A of that length stay in the second level
// while panels of B pass by. Neither must change the order of any sum but by
// gemmK.
var (
	gemmK = 192
	gemmM = 384
)

const (
	// tiny is the size n·k up to which the plain loops are faster at A·Bᵀ,
	// whatever m is.
	tiny = 4

	// narrow is the number of columns that vectors of four lanes suffice for.
	narrow = 4
)

// directRows is the number of rows up to which B is used where it lies even if
// its rows are farRow or more apart, each on a page of its own.
const (
	directRows = 32
	farRow     = 512
)

// panels keeps packed panels between calls, which have no receiver.
var panels = sync.Pool{New: func() any { return new([]float64) }}

// getPanel returns room for a packed panel of k rows, rounded up to whole blocks
// of the transposition.
func (t *kernels) getPanel(k int) *[]float64 {
	n := panelVectors * t.lanes * ((k + t.lanes - 1) &^ (t.lanes - 1))
	p := panels.Get().(*[]float64)
	if cap(*p) < n {
		*p = make([]float64, n)
	}
	*p = (*p)[:n]
	return p
}

func (t *kernels) tGemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		return
	}
	_ = a[(m-1)*ars+(k-1)*acs]
	_ = b[(k-1)*brs+(n-1)*bcs]
	_ = c[(m-1)*ldc+n-1]
	if acs == 1 && brs == 1 && (n == 1 || bcs != 1) {
		if n*k <= tiny {
			f64.Generic.Gemm(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
			return
		}
		if n == 1 {
			t.gemv(m, k, alpha, &a[0], ars, &b[0], &c[0], ldc)
			return
		}
		// A·Bᵀ, of which the last rows, fewer than 16, are formed by inner
		// products: packing B would cost more. What is done with a row depends on
		// its place among 16 only, so that cuts there do not show.
		if d := m & 15; d != 0 {
			m -= d
			if d == 1 {
				t.gemv(n, k, alpha, &b[0], bcs, &a[m*ars], &c[m*ldc], 1)
			} else {
				t.gemmDots(d, n, k, alpha, &a[m*ars], ars, &b[0], bcs, &c[m*ldc], ldc)
			}
			if m == 0 {
				return
			}
		}
	}
	pack := bcs != 1 || brs >= farRow && m > directRows
	var buf *[]float64
	if pack {
		buf = t.getPanel(min(k, gemmK))
	}
	for l := 0; l < k; l += gemmK {
		kb := min(gemmK, k-l)
		for i := 0; i < m; i += gemmM {
			mb := min(gemmM, m-i)
			for j := 0; j < n; {
				left := n - j
				nv := nextPanel((left + t.lanes - 1) / t.lanes)
				if nv > t.masked && left < nv*t.lanes {
					nv = t.masked
				}
				nb := min(nv*t.lanes, left)
				bp, ldb := &b[l*brs+j*bcs], brs
				if pack {
					t.packPanel(*buf, b[l*brs+j*bcs:], brs, bcs, nb, kb)
					bp, ldb = &(*buf)[0], panelVectors*t.lanes
				}
				panel := t.gemmPanel
				if nb <= narrow {
					panel = t.gemmNarrow
				}
				panel(mb, kb, alpha, &a[i*ars+l*acs], ars, acs, bp, ldb, &c[i*ldc+j], ldc, nb)
				j += nb
			}
		}
	}
	if pack {
		panels.Put(buf)
	}
}

// packPanel copies k rows of n entries of B, given with its strides, to a packed
// panel.
func (t *kernels) packPanel(dst, b []float64, brs, bcs, n, k int) {
	w := panelVectors * t.lanes
	switch {
	case brs == 1:
		t.packT(&dst[0], &b[0], bcs, n, k)
	case bcs == 1:
		for l := range k {
			copy(dst[l*w:][:n], b[l*brs:])
		}
	default:
		for l := range k {
			d := dst[l*w:][:n]
			for j := range d {
				d[j] = b[l*brs+j*bcs]
			}
		}
	}
}
