//go:build amd64 && gc && !purego && !noasm

package accel

import (
	"sync"

	"github.com/gocmbo/cmbo/internal/f64"
)

// Cuts of the product, each into equal parts no longer than these. gemmK bounds the sums that are added to C at a time, and
// so is part of the result's last bits: a packed panel of B of that length leaves room in the first-level cache for the
// tiles of A that pass by. gemmM rows of A of that length stay in the second level while panels of B pass by; gemmN columns
// of B, in panels, are packed at once where there are more rows than that. Neither of these changes the order of any sum.
var (
	gemmK = 192
	gemmM = 384
	gemmN = 1536
)

// part returns the length of the parts into which n is cut, as equal as multiples
// of unit allow and not above limit by more than that.
func part(n, limit, unit int) int {
	if n <= limit {
		return n
	}
	parts := (n + limit - 1) / limit
	return ((n+parts-1)/parts + unit - 1) / unit * unit
}

const (
	// tiny is the size n·k up to which the plain loops are faster at A·Bᵀ, whatever m is.
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

// getPanels returns room for so many packed panels of k rows, one after the other.
func (t *kernels) getPanels(count, k int) *[]float64 {
	p := panels.Get().(*[]float64)
	*p = f64.Grow(*p, count*t.panelSize(k))
	return p
}

// panelSize is the length of a packed panel of k rows, rounded up to whole blocks of the transposition.
func (t *kernels) panelSize(k int) int {
	return panelVectors * t.lanes * ((k + t.lanes - 1) &^ (t.lanes - 1))
}

// panelWidth returns the number of columns of the next panel where so many are left.
func (t *kernels) panelWidth(left int) int {
	nv := nextPanel((left + t.lanes - 1) / t.lanes)
	if nv > t.masked && left < nv*t.lanes {
		nv = t.masked
	}
	return min(nv*t.lanes, left)
}

func (t *kernels) Gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int,
	c []float64, ldc int) {
	t.gemm(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc, false)
}

func (t *kernels) GemmSet(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int,
	c []float64, ldc int) {
	t.gemm(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc, true)
}

// gemm adds alpha·A·B to C or, with set, overwrites C with it.
func (t *kernels) gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int,
	c []float64, ldc int, set bool) {
	if m <= 0 || n <= 0 {
		return
	}
	if k <= 0 {
		if set {
			clearRows(m, n, c, ldc)
		}
		return
	}
	_ = a[(m-1)*ars+(k-1)*acs]
	_ = b[(k-1)*brs+(n-1)*bcs]
	_ = c[(m-1)*ldc+n-1]
	if acs == 1 && brs == 1 && (n == 1 || bcs != 1) {
		if set && (n == 1 || n*k <= tiny) {
			clearRows(m, n, c, ldc)
		}
		if n*k <= tiny {
			f64.Generic.Gemm(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
			return
		}
		if n == 1 {
			t.gemv(m, k, alpha, &a[0], ars, &b[0], &c[0], ldc)
			return
		}
		// A·Bᵀ, of which the last rows, fewer than 16, are formed by inner products: packing B would cost more. What is done
		// with a row depends on its place among 16 only, so that cuts there do not show.
		if d := m & 15; d != 0 {
			m -= d
			if set {
				clearRows(d, n, c[m*ldc:], ldc)
			}
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
	kb, mb := part(k, gemmK, 1), part(m, gemmM, 8)
	pack := bcs != 1 || brs >= farRow && m > directRows
	var buf *[]float64
	group, size := 1, 0
	if pack {
		if mb < m {
			group = max(1, (min(n, gemmN)+t.lanes-1)/t.lanes/panelVectors)
		}
		size = t.panelSize(kb)
		buf = t.getPanels(group, kb)
	}
	for l := 0; l < k; l += kb {
		kb := min(kb, k-l)
		overwrite := 0
		if set && l == 0 {
			overwrite = 1
		}
		for j0, j1 := 0, n; j0 < n; j0, j1 = j1, n {
			if pack {
				j1 = t.packPanels(*buf, group, size, b[l*brs:], brs, bcs, j0, n, kb)
			}
			for i := 0; i < m; i += mb {
				mb, used := min(mb, m-i), 0
				for j := j0; j < j1; {
					nb := t.panelWidth(n - j)
					bp, ldb := &b[l*brs+j*bcs], brs
					if pack {
						bp, ldb = &(*buf)[used], panelVectors*t.lanes
						used += size
					}
					panel := t.gemmPanel
					if nb <= narrow {
						panel = t.gemmNarrow
					}
					panel(mb, kb, alpha, &a[i*ars+l*acs], ars, acs, bp, ldb, &c[i*ldc+j], ldc, nb, overwrite)
					j += nb
				}
			}
		}
	}
	if pack {
		panels.Put(buf)
	}
}

// packPanels packs up to count panels of k rows of B from column j0 on, each of
// length size, and returns the column after them.
func (t *kernels) packPanels(dst []float64, count, size int, b []float64, brs, bcs, j0, n, k int) (j1 int) {
	if bcs == 1 && brs != 1 {
		// Row by row, as they lie in memory.
		for l := range k {
			row, used := b[l*brs:], l*panelVectors*t.lanes
			j1 = j0
			for p := 0; p < count && j1 < n; p++ {
				nb := t.panelWidth(n - j1)
				copy(dst[used:][:nb], row[j1:])
				used += size
				j1 += nb
			}
		}
		return j1
	}
	j1 = j0
	for p := 0; p < count && j1 < n; p++ {
		nb := t.panelWidth(n - j1)
		panel, columns := dst[p*size:], b[j1*bcs:]
		j1 += nb
		if brs == 1 {
			t.packT(&panel[0], &columns[0], bcs, nb, k)
			continue
		}
		for l := range k {
			d := panel[l*panelVectors*t.lanes:][:nb]
			for j := range d {
				d[j] = columns[l*brs+j*bcs]
			}
		}
	}
	return j1
}

func clearRows(m, n int, c []float64, ldc int) {
	for i := range m {
		clear(c[i*ldc:][:n])
	}
}
