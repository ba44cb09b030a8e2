package spectral

import (
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// bidiag is the reduction A = Q·L·Pᵀ of an m×n matrix, m ≤ n, to lower bidiagonal form by Householder reflectors, from
// the right and from the left in turn:
//
//	L = Q_{m−2}⋯Q_0·A·P_0⋯P_{m−1},
//
// P_k acting on columns k and after, Q_k on rows k+1 and after. The matrix is
// scaled by a power of two to entries of at most 1 first.
//
// Every step costs one pass over what remains of the matrix (f64.Ops.BidiagPass). The vector of the left reflector is a
// combination of the matrix with the right one already applied, and the product with it is formed before it is
// normalised; so the two products of a step and the two updates of the step before need each row once (G. W. Howell et
// al., Cache efficient bidiagonalization using BLAS 2.5 operators, ACM Trans. Math. Softw. 34 (2008) 14). 8n³/3
// operations for a square matrix; backward stable like tridiag.
type bidiag struct {
	m, n       int
	exp        int       // A = 2^exp · (the matrix reduced)
	p          []float64 // m×n, row k holds the vector of P_k, zeros before it
	q          []float64 // m×m, row k the vector of Q_k, if asked for
	d          []float64 // diagonal of L, m, scaled
	e          []float64 // subdiagonal of L, m−1, scaled
	tauP, tauQ []float64
	rows       [4][]float64 // scratch
	cols       [3][]float64
	blk        block
}

// reduce computes the reduction of a, or of its transpose if it has more rows than columns, or
// returns ErrNotFinite. Left reflectors are kept if vectors is set.
func (b *bidiag) reduce(a *linalg.Dense, vectors bool) error {
	m, n := a.Dims()
	data, stride := a.Raw()
	b.p = f64.Grow(b.p, m*n)
	if m > n {
		f64.Ops.Transpose(m, n, b.p, m, data, stride)
		m, n = n, m
	} else {
		for i := range m {
			copy(b.p[i*n:i*n+n], a.Row(i))
		}
	}
	b.m, b.n = m, n
	b.d, b.e = f64.Grow(b.d, m), f64.Grow(b.e, max(m-1, 0))
	b.tauP, b.tauQ = f64.Grow(b.tauP, m), f64.Grow(b.tauQ, m)
	if vectors {
		b.q = f64.Grow(b.q, m*m)
		clear(b.q)
	}
	var ok bool
	if b.exp, ok = scaleExp(b.p); !ok {
		return ErrNotFinite
	}
	copyScaled(b.p, b.p, -b.exp)

	for i, x := range b.rows {
		b.rows[i] = f64.Grow(x, m)
	}
	for i, x := range b.cols {
		b.cols[i] = f64.Grow(x, n)
	}
	u, s, y, c := b.rows[0], b.rows[1], b.rows[2], b.rows[3]
	z, r, v := b.cols[0], b.cols[1], b.cols[2]
	// So that the first step has no update to make, whatever z and v are.
	clear(u)
	clear(s)
	// Before step k the rows from k+1 on lack the update −u·zᵀ − s·vᵀ of the step before, whose right reflector is v.
	for k := range m {
		p := b.p[k*n : k*n+n]
		clear(p[:k])
		var sigma float64
		b.d[k], sigma = reflector(p[k:], 0)
		b.tauP[k] = sigma
		k1 := k + 1
		if k1 == m {
			break
		}
		yk, ck, pk, rk := y[k1:], c[k1:], p[k:], r[k:]
		f64.Ops.BidiagPass(m-k1, n-k, b.p[k1*n+k:], n, u[k1:], z[k:], s[k1:], v[k:], pk, -sigma, yk, ck, rk)
		dot := f64.Ops.Dot(yk, ck)
		alpha := ck[0]
		beta, tau := reflector(ck, 0)
		b.e[k], b.tauQ[k] = beta, tau
		g := 0.0
		if tau != 0 {
			g = tau / (alpha - beta)
		}
		leftUpdate(rk, b.p[k1*n+k:k1*n+n], pk, sigma*dot, sigma*yk[0], beta, g)
		f64.Ops.Scale(yk, sigma)
		if vectors {
			copy(b.q[k*m+k1:k*m+m], ck)
		}
		u, c, s, y, z, r, v = c, u, y, s, r, z, p
	}
	return nil
}

// leftUpdate ends a step of the reduction. row is the first row below, p the right reflector, r the
// product of the rows with the column c to be annihilated, neither with that reflector applied:
// that adds −h·p to row and −f·p to r. What makes tau·Aᵀ·u of r is to subtract beta times the row
// and to multiply by g; the row, updated, then loses just that, u being 1 there.
func leftUpdate(r, row, p []float64, f, h, beta, g float64) {
	row, p = row[:len(r)], p[:len(r)]
	for j, pj := range p {
		t := row[j] - h*pj
		q := (r[j] - f*pj - beta*t) * g
		r[j] = q
		row[j] = t - q
	}
}

// normalise scales L by a further power of two, counted in exp, to a norm between
// about a quarter and 1. It reports whether there is a nonzero entry to do that.
func (b *bidiag) normalise() bool {
	// The norm is at most the geometric mean of the largest row and column sums.
	var row, col float64
	for i, v := range b.d {
		r, c := math.Abs(v), math.Abs(v)
		if i > 0 {
			r += math.Abs(b.e[i-1])
		}
		if i < len(b.e) {
			c += math.Abs(b.e[i])
		}
		row, col = math.Max(row, r), math.Max(col, c)
	}
	norm := math.Sqrt(row) * math.Sqrt(col)
	if norm == 0 {
		return false
	}
	_, x := math.Frexp(norm)
	copyScaled(b.d, b.d, -x)
	copyScaled(b.e, b.e, -x)
	b.exp += x
	return true
}

// multiplyQ overwrites the r×m matrix C with C·Qᵀ. The last reflector, of one entry, is the identity.
func (b *bidiag) multiplyQ(r int, c []float64, ldc int) {
	b.multiply(b.m-2, b.m, 1, b.q, b.tauQ, r, c, ldc)
}

// multiplyP overwrites the r×n matrix C with C·Pᵀ.
func (b *bidiag) multiplyP(r int, c []float64, ldc int) {
	b.multiply(b.m, b.n, 0, b.p, b.tauP, r, c, ldc)
}

// multiply applies count reflectors from the right to r rows of C, the last first, of which
// reflector k has its vector in row k of v, of length n, from entry k+first on.
func (b *bidiag) multiply(count, n, first int, v, tau []float64, r int, c []float64, ldc int) {
	step := reflectors()
	for k := (count-1+step)/step*step - step; k >= 0; k -= step {
		kb, j := min(step, count-k), k+first
		vk := v[k*n+j:]
		b.blk.set(kb, n-j, vk, n, tau[k:], true)
		b.blk.applyRight(kb, r, n-j, vk, n, c[j:], ldc)
	}
}
