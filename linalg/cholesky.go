package linalg

import (
	"iter"
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// Cholesky is the factorisation A = L·Lᵀ of a symmetric positive definite matrix, L lower triangular with positive diagonal.
// The zero value is the factor of the empty matrix, ready for Factorize, SetLower and Append. A Cholesky keeps its memory:
// factorising again at a size it has seen does not allocate. Methods that only read the factor may run concurrently.
//
// The computed factor satisfies |A − L·Lᵀ| ≤ γ_{n+1}·|L|·|Lᵀ| entry by entry
// (Higham, Accuracy and Stability of Numerical Algorithms, 2002, Theorem 10.3).
type Cholesky struct {
	l    Dense // stride may exceed n: room for Append
	work []float64
}

// cholBlock is the number of columns factored together where the matrix is larger
// than f64.Ops.CholSize, or than cholDirect, from where goroutines pay.
var (
	cholBlock  = 96
	cholDirect = 352
)

// cholRows is the number of rows below such a block computed at a time, a multiple of what Gemm and Trsm may be cut at.
const cholRows = 96

// pivotFloor returns what the pivot of row i, from 0, with diagonal entry a must exceed
// to count as positive: 4·n·ε·a, n = i+1.
//
// The computed factor of the first n rows is the exact one of A + E with |e_ij| ≤ γ_{n+2}·(a_ii·a_jj)^½, γ_k ≈ k·ε/2
// (Higham, theorem 10.3; two roundings more for products with reciprocals and for the square that is compared), and its last
// pivot the least value of (−w, 1)·(A + E)·(−w, 1)ᵀ over all w. If row i repeats row j, the unit vector w = e_j makes A's
// part of that 0 and E's at most
//
//	γ_{n+2}·(1 + 1)²·a_ii = 2·(n+2)·ε·a_ii ≤ 4·n·ε·a_ii,  n ≥ 2.
//
// So no order of summation, fused or not, lets a repeated row pass for another one.
func pivotFloor(i int, a float64) float64 { return 4 * float64(i+1) * 0x1p-52 * a }

// Factorize computes the factor of a, which is not modified. If a pivot is not finite or does not exceed 4·(i+1)·2⁻⁵²·a_ii,
// i its row from 0, as much as rounding may leave of 0 where a row repeats an earlier one, it returns a
// *NotPositiveDefiniteError and leaves the receiver empty. n³/3 operations.
func (c *Cholesky) Factorize(a *Sym) error { return c.FactorizeShift(a, 0) }

// Jitters are the shares of a variance that are added to a matrix for it to have a
// factor, one after the other until it has: 0, then 1e-10, 1e-9, … up to limit, or to 1.
func Jitters(limit float64) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for _, share := range [...]float64{0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1} {
			if share > 0 && !(share <= limit) || !yield(share) {
				return
			}
		}
	}
}

// FactorizeJitter factorises a + jitter·I with the first jitter that succeeds of [Jitters] of max, times the mean of the
// diagonal of a, and returns that absolute amount, 0 for a matrix that needs none. If all fail it returns the amount and the
// error of the last try; there is one try only, of 0, if the mean is not positive and finite.
func (c *Cholesky) FactorizeJitter(a *Sym, max float64) (jitter float64, err error) {
	mean := a.Trace() / float64(a.n)
	if !(mean > 0) || math.IsInf(mean, 1) {
		return 0, c.Factorize(a)
	}
	for share := range Jitters(max) {
		jitter = share * mean
		if err = c.FactorizeShift(a, jitter); err == nil {
			break
		}
	}
	return jitter, err
}

// FactorizeShift is Factorize of a + shift·I.
func (c *Cholesky) FactorizeShift(a *Sym, shift float64) error {
	n := a.n
	c.reset(n)
	l := c.l.data
	p, v := cholesky(n, shift, a.data, l)
	for i := 0; i < n && p < 0; i++ {
		if d := l[i*n+i]; !(d*d > pivotFloor(i, a.data[i*n+i]+shift)) {
			p, v = i, d*d
		}
		clear(l[i*n+i+1 : i*n+n])
	}
	if p >= 0 {
		c.reset(0)
		return &NotPositiveDefiniteError{Pivot: p, Value: v}
	}
	return nil
}

// cholesky sets the lower triangle of the n×n matrix l to the factor of a + shift·I. It returns the index and value of the
// first bad pivot, or −1. Entries of l above the diagonal but close to it may change.
func cholesky(n int, shift float64, a, l []float64) (pivot int, value float64) {
	if n <= min(cholDirect, f64.Ops.CholSize()) {
		return f64.Ops.Chol(n, shift, a, n, l, n)
	}
	for i := range n {
		copy(l[i*n:i*n+i+1], a[i*n:])
		l[i*n+i] += shift
	}
	for j := 0; j < n; j += cholBlock {
		jb := min(cholBlock, n-j)
		left, diag := l[j*n:], l[j*n+j:]
		products.SymLower(jb, j, -1, left, n, 1, left, 1, n, diag, n)
		if p, v := f64.Ops.Chol(jb, 0, diag, n, diag, n); p >= 0 {
			return j + p, v
		}
		below := n - j - jb
		if below == 0 {
			break
		}
		// Cut at multiples of cholRows, whoever works.
		if w := products.Workers(float64(n)*float64(n)*float64(n)/3, (below+cholRows-1)/cholRows); w > 1 {
			products.ParallelRows(w, below, cholRows, func(lo, hi int) { choleskyRows(l, n, j, jb, lo, hi) })
		} else {
			for lo := 0; lo < below; lo += cholRows {
				choleskyRows(l, n, j, jb, lo, min(lo+cholRows, below))
			}
		}
	}
	return -1, 0
}

// choleskyRows computes columns j to j+jb of the factor in the rows lo to hi, counted from j+jb,
// once the columns before and the block on the diagonal are known.
func choleskyRows(a []float64, lda, j, jb, lo, hi int) {
	o := (j + jb + lo) * lda
	f64.Ops.Gemm(hi-lo, jb, j, -1, a[o:], lda, 1, a[j*lda:], 1, lda, a[o+j:], lda)
	f64.Ops.Trsm(hi-lo, jb, a[o+j:], lda, a[j*lda+j:], lda)
}

// reset makes the factor n×n without gaps between its rows, contents unspecified.
func (c *Cholesky) reset(n int) {
	c.l = Dense{rows: n, cols: n, stride: n, view: true, data: f64.Grow(c.l.data, n*n)}
}

// Dim returns the size of the factored matrix.
func (c *Cholesky) Dim() int { return c.l.rows }

// Clone returns an independent copy of the factor.
func (c *Cholesky) Clone() *Cholesky {
	d := new(Cholesky)
	d.reset(c.l.rows)
	for i := range c.l.rows {
		copy(d.l.row(i), c.l.row(i))
	}
	return d
}

// LogDet returns ln det A = 2·Σ ln L_ii. The absolute error, beyond that of the
// factor, is a few units in the last place of Σ |ln L_ii|.
func (c *Cholesky) LogDet() float64 {
	var s float64
	for i := range c.l.rows {
		s += special.Log(c.l.data[i*c.l.stride+i])
	}
	return 2 * s
}

// Lower returns L, with zeros above the diagonal. It is the memory of the
// receiver: for reading, and until the next call that changes the receiver.
func (c *Cholesky) Lower() *Dense { return &c.l }

// SetLower adopts a copy of l, of which only the lower triangle is read, as the factor of the matrix l·lᵀ. If a diagonal
// entry is not positive and finite, or so small that its reciprocal overflows, it returns a *NotPositiveDefiniteError with
// that entry and leaves the receiver unchanged. l must not be a view of the receiver's factor.
func (c *Cholesky) SetLower(l *Dense) error {
	n := l.rows
	if l.cols != n {
		panicShape("SetLower", l.rows, l.cols, l.cols, l.rows)
	}
	for i := range n {
		if d := l.data[i*l.stride+i]; !(d > 0) || math.IsInf(d, 1) || math.IsInf(1/d, 1) {
			return &NotPositiveDefiniteError{Pivot: i, Value: d}
		}
	}
	c.reset(n)
	for i := range n {
		d := c.l.row(i)
		copy(d[:i+1], l.row(i))
		clear(d[i+1:])
	}
	return nil
}

// Append grows the factored matrix by one row and column,
//
//	A ← ⎡A    row⎤
//	    ⎣rowᵀ diag⎦,
//
// in n² operations, copying the factor a constant number of times on average. If the new
// pivot diag − ‖L⁻¹·row‖² is not positive beyond rounding and finite, as Factorize
// wants it, it returns a *NotPositiveDefiniteError and leaves the factor unchanged.
func (c *Cholesky) Append(row []float64, diag float64) error {
	n := c.l.rows
	if len(row) != n {
		panicLen("Append", "row", len(row), n)
	}
	c.work = f64.Grow(c.work, n)
	copy(c.work, row)
	f64.Ops.Trsm(1, n, c.work, n, c.l.data, c.l.stride)
	v := diag - f64.Ops.Dot(c.work, c.work)
	if !(v > pivotFloor(n, diag)) || math.IsInf(v, 1) {
		return &NotPositiveDefiniteError{Pivot: n, Value: v}
	}
	if n+1 > c.l.stride {
		c.widen(n + 1 + n/2)
	}
	c.l.rows, c.l.cols = n+1, n+1
	r := c.l.row(n)
	copy(r, c.work)
	r[n] = math.Sqrt(v)
	return nil
}

// widen gives the factor the stride ld, not below its own, and room for ld rows, on its own memory if that is large enough.
func (c *Cholesky) widen(ld int) {
	data := f64.Grow(c.l.data, ld*ld)
	// Rows move away from the front, so the last one goes first. What lies between
	// them is part of later factors and has to be zero.
	end := ld * ld
	for i := c.l.rows - 1; i >= 0; i-- {
		copy(data[i*ld:], c.l.row(i)[:i+1])
		clear(data[i*ld+i+1 : end])
		end = i * ld
	}
	c.l.data, c.l.stride = data, ld
}
