package f64

import "sync"

// Block sizes of the generic product, in entries. A strip of rows of A, gemmK long, stays in the
// first-level cache; the gemmK×gemmN block of B it is run against stays in the second. They decide
// where partial sums are added to C, so they are part of the result's last bits.
var (
	gemmK = 256
	gemmM = 120
	gemmN = 128
)

// GemmBlocks returns the block sizes of the generic product of an m×k and a k×n matrix.
func GemmBlocks() (m, n, k int) { return gemmM, gemmN, gemmK }

// SetGemmBlocks sets them, all at least 1, and returns a function that restores them: for
// programs that measure products. No product may be under way.
func SetGemmBlocks(m, n, k int) (restore func()) {
	om, on, ok := gemmM, gemmN, gemmK
	gemmM, gemmN, gemmK = m, n, k
	return func() { gemmM, gemmN, gemmK = om, on, ok }
}

// packs keeps packing buffers between products, which have no receiver to keep them in.
var packs = sync.Pool{New: func() any { return new([]float64) }}

func (*generic) Gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int,
	c []float64, ldc int) {
	if m <= 0 || n <= 0 || k <= 0 {
		return
	}
	if acs == 1 && brs == 1 && k <= gemmK {
		gemmBlock(m, n, k, alpha, a, ars, b, bcs, c, ldc)
		return
	}
	kb, la, lb := min(k, gemmK), 0, 0
	if acs != 1 {
		la = min(m, gemmM) * kb
	}
	if brs != 1 {
		lb = min(n, gemmN) * kb
	}
	buf := packs.Get().(*[]float64)
	*buf = Grow(*buf, la+lb)
	pa, pb := (*buf)[:la], (*buf)[la:]
	for l := 0; l < k; l += gemmK {
		kb := min(gemmK, k-l)
		for j := 0; j < n; j += gemmN {
			nb := min(gemmN, n-j)
			bt, ldb := b[l*brs+j*bcs:], bcs
			if brs != 1 {
				pack(pb, bt, nb, kb, bcs, brs)
				bt, ldb = pb, kb
			}
			for i := 0; i < m; i += gemmM {
				mb := min(gemmM, m-i)
				at, lda := a[i*ars+l*acs:], ars
				if acs != 1 {
					pack(pa, at, mb, kb, ars, acs)
					at, lda = pa, kb
				}
				gemmBlock(mb, nb, kb, alpha, at, lda, bt, ldb, c[i*ldc+j:], ldc)
			}
		}
	}
	packs.Put(buf)
}

func (*generic) GemmSet(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int,
	c []float64, ldc int) {
	for i := range m {
		clear(c[i*ldc:][:n])
	}
	Generic.Gemm(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
}

// pack copies the rows×cols matrix with entry (i, j) at src[i·rs + j·cs] to dst,
// row-major without gaps. It is made for rs = 1.
func pack(dst, src []float64, rows, cols, rs, cs int) {
	if rs == 1 {
		Generic.Transpose(cols, rows, dst, cols, src, cs)
		return
	}
	for i := range rows {
		d := dst[i*cols : i*cols+cols]
		for j := range d {
			d[j] = src[i*rs+j*cs]
		}
	}
}

// gemmBlock adds alpha·A·Bᵀ to C for row-contiguous A (m×k) and B (n×k).
func gemmBlock(m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	i := 0
	for ; i+stripRows <= m; i += stripRows {
		strip(n, k, alpha, a[i*lda:], lda, b, ldb, c[i*ldc:], ldc, 1)
	}
	if i == m {
		return
	}
	// The rows that remain, against strips of B.
	a, c, m = a[i*lda:], c[i*ldc:], m-i
	j := 0
	for ; j+stripRows <= n; j += stripRows {
		strip(m, k, alpha, b[j*ldb:], ldb, a, lda, c[j:], 1, ldc)
	}
	if j < n {
		corner(m, n-j, k, alpha, a, lda, b[j*ldb:], ldb, c[j:], ldc, 1)
	}
}
