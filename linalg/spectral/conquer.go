package spectral

import (
	"cmp"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// conquer solves the symmetric tridiagonal eigenproblem by divide and conquer. Eigenvectors are kept as rows.
//
// A block of the matrix is torn in two,
//
//	T = diag(T₁, T₂) + ρ·u·uᵀ,
//
// each half is solved, and the eigenvalues of the whole are those of diag(D₁, D₂) + ρ·z·zᵀ, z = diag(Q₁, Q₂)ᵀ·u: the
// roots of the secular equation. Entries of z that are negligible and pairs of equal diagonal entries are deflated. The
// vectors come from the entries of z recomputed out of the roots (Löwner's formula), for which the roots are exact; so
// they are orthogonal to working precision whatever the gaps.
//
// M. Gu and S. C. Eisenstat, SIAM J. Matrix Anal. Appl. 16 (1995) 172–191; deflation as in J.
// Dongarra and D. C. Sorensen, SIAM J. Sci. Stat. Comput. 8 (1987) 139–154.
type conquer struct {
	n    int
	w    []float64 // n×n, rows are eigenvectors of the blocks solved so far
	d    []float64
	z    []float64
	dl   []float64 // entries of D that are not deflated, ascending
	zl   []float64 // and of z
	zz   []float64 // squares of zl
	lam  []float64 // the new diagonal, roots first
	s    []float64 // row j: dl − lam[j]; then eigenvectors of the rank-one problem
	half []float64 // rows gathered from either half
	kept []float64 // deflated rows
	ord  []int     // rows by diagonal entry; then columns of s
	src  []int     // rows of dl
	defl []int     // deflated rows
	kind []int8    // of each row, see leftRow
}

// Kinds of rows: with entries in the left half, in both, in the right half.
const (
	leftRow int8 = iota
	bothRow
	rightRow
)

// solve returns the eigenvectors, as rows, of the tridiagonal matrix with diagonal d and
// subdiagonal e, of size about 1; d becomes the eigenvalues, in the order of the rows.
func (c *conquer) solve(d, e []float64) []float64 {
	n := len(d)
	c.n, c.d = n, d
	c.w = f64.Grow(c.w, n*n)
	clear(c.w)
	for i := range n {
		c.w[i*n+i] = 1
	}
	c.z, c.dl, c.zl, c.zz, c.lam = f64.Grow(c.z, n), f64.Grow(c.dl, n), f64.Grow(c.zl, n), f64.Grow(c.zz, n),
		f64.Grow(c.lam, n)
	c.ord, c.src, c.defl = f64.Grow(c.ord, n), f64.Grow(c.src, n), f64.Grow(c.defl, n)
	c.kind = f64.Grow(c.kind, n)
	c.s, c.half, c.kept = f64.Grow(c.s, n*n), f64.Grow(c.half, n*n), f64.Grow(c.kept, n*n)
	c.block(0, n, e)
	return c.w
}

func (c *conquer) block(lo, hi int, e []float64) {
	if hi-lo <= 1 {
		return
	}
	mid := lo + (hi-lo)/2
	rho := e[mid-1]
	c.d[mid-1] -= math.Abs(rho)
	c.d[mid] -= math.Abs(rho)
	c.block(lo, mid, e)
	c.block(mid, hi, e)
	c.merge(lo, mid, hi, rho)
}

// rotate applies a plane rotation: x, y ← cs·x + sn·y, cs·y − sn·x.
func rotate(x, y []float64, cs, sn float64) {
	for i, u := range x {
		v := y[i]
		x[i], y[i] = cs*u+sn*v, cs*v-sn*u
	}
}

// merge joins the solved blocks [lo, mid) and [mid, hi) that were torn by rho.
func (c *conquer) merge(lo, mid, hi int, rho float64) {
	n, w := c.n, c.w
	nb := hi - lo
	d, z := c.d[lo:hi], c.z[:nb]
	// z: last entries of the left vectors, first ones of the right. Its norm is √2: normalise.
	sign := math.Copysign(math.Sqrt(0.5), rho)
	for i := range z {
		row := w[(lo+i)*n:]
		if lo+i < mid {
			z[i], c.kind[i] = row[mid-1]*math.Abs(sign), leftRow
		} else {
			z[i], c.kind[i] = row[mid]*sign, rightRow
		}
	}
	rho = 2 * math.Abs(rho)
	ord := c.ord[:nb]
	for i := range ord {
		ord[i] = i
	}
	slices.SortFunc(ord, func(i, j int) int { return cmp.Compare(d[i], d[j]) })

	k, nd := c.deflate(lo, hi, rho, ord)
	if k == 0 {
		return
	}
	dl, zl, zz := c.dl[:k], c.zl[:k], c.zz[:k]
	for i, r := range c.src[:k] {
		dl[i], zl[i] = d[r], z[r]
		zz[i] = zl[i] * zl[i]
	}
	for j := range k {
		c.lam[j], _ = secularRoot(j, rho, dl, zz, c.s[j*k:j*k+k])
	}
	c.rankOneVectors(k)
	c.assemble(lo, mid, hi, k, nd)
}

// assemble replaces the rows of the block by the k new eigenvectors, the rows of c.s times those of c.src, and the nd
// deflated ones, and d by c.lam and their eigenvalues. Rows of c.src with entries in one half only are used for that
// half only: the columns of c.s are brought into the order left, both, right.
func (c *conquer) assemble(lo, mid, hi, k, nd int) {
	n, w, s := c.n, c.w, c.s
	nb, left, right := hi-lo, mid-lo, hi-mid
	d, lam := c.d[lo:hi], c.lam[:nb]
	var count [3]int
	for _, r := range c.src[:k] {
		count[c.kind[r]]++
	}
	next := [3]int{0, count[leftRow], count[leftRow] + count[bothRow]}
	nl, nr := count[leftRow]+count[bothRow], count[bothRow]+count[rightRow]
	gl, gr := c.half[:nl*left], c.half[nl*left:nl*left+nr*right]
	col := c.ord[:k]
	for i, r := range c.src[:k] {
		p := next[c.kind[r]]
		next[c.kind[r]]++
		col[i] = p
		row := w[(lo+r)*n+lo:][:nb]
		if p < nl {
			copy(gl[p*left:p*left+left], row)
		}
		if p -= count[leftRow]; p >= 0 {
			copy(gr[p*right:p*right+right], row[left:])
		}
	}
	for i, r := range c.defl[:nd] {
		copy(c.kept[i*nb:i*nb+nb], w[(lo+r)*n+lo:])
		lam[k+i] = d[r]
	}
	tmp := c.zl[:k]
	for j := range k {
		row := s[j*k : j*k+k]
		copy(tmp, row)
		for i, p := range col {
			row[p] = tmp[i]
		}
		clear(w[(lo+j)*n+lo:][:nb])
	}
	products.Gemm(k, left, nl, 1, s, k, 1, gl, left, 1, w[lo*n+lo:], n)
	products.Gemm(k, right, nr, 1, s[count[leftRow]:], k, 1, gr, right, 1, w[lo*n+mid:], n)
	for i := range nd {
		copy(w[(lo+k+i)*n+lo:][:nb], c.kept[i*nb:])
	}
	copy(d, lam)
}

// deflate splits the rows of the block, in the order ord of their diagonal entries, into k that
// enter the secular equation, in c.src, and nd that are eigenvectors already, in c.defl.
func (c *conquer) deflate(lo, hi int, rho float64, ord []int) (k, nd int) {
	n, w := c.n, c.w
	d, z := c.d[lo:hi], c.z
	var norm float64
	for i, v := range d {
		norm = math.Max(norm, math.Max(math.Abs(v), math.Abs(z[i])))
	}
	tol := 8 * 0x1p-53 * norm
	for _, j := range ord {
		if rho*math.Abs(z[j]) <= tol {
			c.defl[nd] = j
			nd++
			continue
		}
		if k > 0 {
			last := c.src[k-1]
			// Rotate z[last] to zero if that leaves a negligible entry behind.
			tau := math.Hypot(z[j], z[last])
			cs, sn := z[j]/tau, -z[last]/tau
			t := d[j] - d[last]
			if math.Abs(t*cs*sn) <= tol {
				z[j], z[last] = tau, 0
				if c.kind[j] != c.kind[last] {
					c.kind[j] = bothRow
				}
				rotate(w[(lo+last)*n+lo:(lo+last)*n+hi], w[(lo+j)*n+lo:(lo+j)*n+hi], cs, sn)
				t = d[last]*cs*cs + d[j]*sn*sn
				d[j] = d[last]*sn*sn + d[j]*cs*cs
				d[last] = t
				c.defl[nd] = last
				nd++
				k--
			}
		}
		c.src[k] = j
		k++
	}
	return k, nd
}

// rankOneVectors overwrites row j of c.s, the differences dl − λ_j, with the eigenvector of
// diag(dl) + ρ·ẑ·ẑᵀ for λ_j. The ẑ for which the roots are exact is, up to a factor common to all,
//
//	ẑ_i² = (λ_i − dl_i)·Π_{j≠i} (λ_j − dl_i)/(dl_j − dl_i).
func (c *conquer) rankOneVectors(k int) {
	dl, zl, s, zh := c.dl[:k], c.zl[:k], c.s, c.zz[:k]
	for i := range zh {
		zh[i] = 1
	}
	for j := range k {
		row, dj := s[j*k:j*k+k], dl[j]
		for i := range j {
			zh[i] *= row[i] / (dl[i] - dj)
		}
		zh[j] *= row[j]
		for i := j + 1; i < k; i++ {
			zh[i] *= row[i] / (dl[i] - dj)
		}
	}
	for i, v := range zh {
		zh[i] = math.Copysign(math.Sqrt(math.Abs(v)), zl[i])
	}
	for j := range k {
		row := s[j*k : j*k+k]
		for i, v := range zh {
			row[i] = v / row[i]
		}
		f64.Ops.Scale(row, 1/math.Sqrt(f64.Ops.Dot(row, row)))
	}
}
