package f64

import "sync"

// Block sizes of the generic product, in entries. A panel of four rows of A and
// one of two columns of B, each gemmK long, stay in the first-level cache
// together; the gemmK×gemmN block of B the panel is run against stays in the
// second. They decide where partial sums are added to C, so they are part of the
// result's last bits. Tests lower them.
var (
	gemmK = 256
	gemmM = 128
	gemmN = 128
)

// packs keeps packing buffers between products, which have no receiver to keep
// them in.
var packs = sync.Pool{New: func() any { return new([]float64) }}

func gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
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
	if cap(*buf) < la+lb {
		*buf = make([]float64, la+lb)
	}
	pa, pb := (*buf)[:la], (*buf)[la:la+lb]
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

func gemmSet(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	for i := range m {
		clear(c[i*ldc:][:n])
	}
	gemm(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
}

// pack copies the rows×cols matrix with entry (i, j) at src[i·rs + j·cs] to dst,
// row-major without gaps. It is made for rs = 1, four columns of src at a time.
func pack(dst, src []float64, rows, cols, rs, cs int) {
	if rs != 1 {
		for i := range rows {
			d := dst[i*cols : i*cols+cols]
			for j := range d {
				d[j] = src[i*rs+j*cs]
			}
		}
		return
	}
	j := 0
	for ; j+4 <= cols; j += 4 {
		s0 := src[j*cs:][:rows]
		s1 := src[(j+1)*cs:][:len(s0)]
		s2 := src[(j+2)*cs:][:len(s0)]
		s3 := src[(j+3)*cs:][:len(s0)]
		o := j
		for i, v := range s0 {
			d := dst[o : o+4 : o+4]
			d[0], d[1], d[2], d[3] = v, s1[i], s2[i], s3[i]
			o += cols
		}
	}
	for ; j < cols; j++ {
		o := j
		for _, v := range src[j*cs:][:rows] {
			dst[o] = v
			o += cols
		}
	}
}

// gemmBlock adds alpha·A·Bᵀ to C for row-contiguous A (m×k) and B (n×k).
func gemmBlock(m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	i := 0
	for ; i+4 <= m; i += 4 {
		gemmStrip4(n, k, alpha, a[i*lda:], lda, b, ldb, c[i*ldc:], ldc)
	}
	if i+2 <= m {
		gemmStrip2(n, k, alpha, a[i*lda:], lda, b, ldb, c[i*ldc:], ldc)
		i += 2
	}
	if i < m {
		gemmStrip1(n, k, alpha, a[i*lda:], b, ldb, c[i*ldc:])
	}
}

// gemmStrip4 is gemmBlock for four rows of A.
func gemmStrip4(n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	c0 := c[:n]
	c1 := c[ldc:][:len(c0)]
	c2 := c[2*ldc:][:len(c0)]
	c3 := c[3*ldc:][:len(c0)]
	j := 0
	for ; j < len(c0)-1; j += 2 {
		s00, s01, s10, s11, s20, s21, s30, s31 := tile42(k, a, lda, b[j*ldb:], ldb)
		c0[j] += alpha * s00
		c0[j+1] += alpha * s01
		c1[j] += alpha * s10
		c1[j+1] += alpha * s11
		c2[j] += alpha * s20
		c2[j+1] += alpha * s21
		c3[j] += alpha * s30
		c3[j+1] += alpha * s31
	}
	if j < len(c0) {
		s0, s1, s2, s3 := tile41(a, lda, b[j*ldb:][:k])
		c0[j] += alpha * s0
		c1[j] += alpha * s1
		c2[j] += alpha * s2
		c3[j] += alpha * s3
	}
}

// gemmStrip2 is gemmBlock for two rows of A.
func gemmStrip2(n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	a0, a1 := a[:k], a[lda:][:k]
	c0 := c[:n]
	c1 := c[ldc:][:len(c0)]
	j := 0
	for ; j < len(c0)-3; j += 4 {
		s00, s01, s10, s11, s20, s21, s30, s31 := tile42(k, b[j*ldb:], ldb, a, lda)
		c0[j] += alpha * s00
		c1[j] += alpha * s01
		c0[j+1] += alpha * s10
		c1[j+1] += alpha * s11
		c0[j+2] += alpha * s20
		c1[j+2] += alpha * s21
		c0[j+3] += alpha * s30
		c1[j+3] += alpha * s31
	}
	for ; j < len(c0); j++ {
		c0[j] += alpha * tile11(a0, b[j*ldb:][:k])
		c1[j] += alpha * tile11(a1, b[j*ldb:][:k])
	}
}

// gemmStrip1 is gemmBlock for one row of A.
func gemmStrip1(n, k int, alpha float64, a []float64, b []float64, ldb int, c []float64) {
	a, c = a[:k], c[:n]
	j := 0
	for ; j < len(c)-3; j += 4 {
		s0, s1, s2, s3 := tile41(b[j*ldb:], ldb, a)
		c[j] += alpha * s0
		c[j+1] += alpha * s1
		c[j+2] += alpha * s2
		c[j+3] += alpha * s3
	}
	for ; j < len(c); j++ {
		c[j] += alpha * tile11(a, b[j*ldb:][:k])
	}
}
