package spectral

import (
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// SingularValues sets dst, of length min(rows, cols), to the singular values of
// a in descending order. a is not modified. It returns ErrNotFinite if a has a
// NaN or an infinity and ErrNoConvergence if the iteration fails, which no matrix
// is known to cause.
//
// Values of the bidiagonal matrix come from the differential quotient-difference
// algorithm with shifts (dqds), which keeps their relative accuracy as far as
// their squares, relative to the largest, do not underflow. 8n³/3 operations for
// an n×n matrix.
func (d *SVD) SingularValues(dst []float64, a *linalg.Dense) error {
	rows, cols := a.Dims()
	m := min(rows, cols)
	if len(dst) != m {
		panic(fmt.Sprintf("spectral: SingularValues: dst has length %d, want %d", len(dst), m))
	}
	if err := d.bi.reduce(a, false); err != nil {
		return err
	}
	if d.prepare() == nil {
		clear(dst)
		return nil
	}
	d.work = f64.Grow(d.work, 2*m)
	z := qdArray{q: d.sq[:m], e: d.sq[m : 2*m-1], nq: d.work[:m], ne: d.work[m:]}
	if !z.values(dst) {
		return ErrNoConvergence
	}
	slices.Sort(dst)
	slices.Reverse(dst)
	f := math.Ldexp(1, d.bi.exp/2)
	g := math.Ldexp(1, d.bi.exp-d.bi.exp/2)
	for i, v := range dst {
		dst[i] = math.Sqrt(v) * f * g
	}
	return nil
}

// qdArray is the qd representation of BᵀB for an upper bidiagonal matrix: q its
// squared diagonal, e its squared superdiagonal.
type qdArray struct {
	q, e   []float64
	nq, ne []float64 // result of a step
}

// values sets dst to the eigenvalues of BᵀB in no order, one block after the
// other from the end, destroying the array. It reports whether it succeeded.
//
// A block is [lo, hi) where e is not negligible. The shift of each step is
// Laguerre's lower bound for the smallest eigenvalue, which the traces of the
// inverse and of its square give in O(n); it converges cubically and never
// exceeds the eigenvalue but by rounding, so that a step fails rarely and is then
// repeated with less.
//
// B. N. Parlett and O. A. Marques, An implementation of the dqds algorithm,
// Linear Algebra Appl. 309 (2000) 217–259; K. V. Fernando and B. N. Parlett,
// Numer. Math. 67 (1994) 191–229.
func (z *qdArray) values(dst []float64) bool {
	// Blocks below the present one are done. dst[i] is the sum of the shifts of the
	// block that ends with i, which it has from when it was split off.
	const (
		tol   = 0x1p-106 // u², for e and q are squares
		split = -1       // in place of a negligible e
	)
	q, e := z.q, z.e
	budget := 40 * len(q)
	clear(dst)
	for hi := len(q); hi > 0; {
		sigma := dst[hi-1]
		lo := 0
		for i := hi - 2; i >= 0; i-- {
			if e[i] < 0 {
				lo = i + 1
				break
			}
			if e[i] <= tol*(sigma+q[i]) || e[i] <= tol*(sigma+q[i+1]) {
				e[i] = split
				dst[i] = sigma
				lo = i + 1
				break
			}
		}
		if lo == hi-1 {
			dst[hi-1] = sigma + q[hi-1]
			hi--
			continue
		}
		if budget--; budget < 0 {
			return false
		}
		qb, eb := q[lo:hi], e[lo:hi-1]
		if qb[0] < qb[len(qb)-1] {
			slices.Reverse(qb)
			slices.Reverse(eb)
		}
		tau := laguerreBound(qb, eb)
		for !z.step(lo, hi, tau) {
			if tau == 0 {
				return false
			}
			if tau *= 0.5; tau < 0x1p-52*qb[len(qb)-1] {
				tau = 0
			}
		}
		copy(qb, z.nq[lo:hi])
		copy(eb, z.ne[lo:hi-1])
		dst[hi-1] = sigma + tau
	}
	return true
}

// step writes one dqds transform of the block, with shift tau, to nq and ne. It
// reports whether all entries stayed non-negative, as they do without a shift.
func (z *qdArray) step(lo, hi int, tau float64) bool {
	q, e := z.q[lo:hi], z.e[lo:hi-1]
	nq, ne := z.nq[lo:hi], z.ne[lo:hi-1]
	d := q[0] - tau
	for i, ei := range e {
		if !(d >= 0) {
			return false
		}
		s := d + ei
		nq[i] = s
		if s == 0 {
			ne[i] = 0
			d = q[i+1] - tau
			continue
		}
		t := q[i+1] / s
		ne[i] = ei * t
		d = d*t - tau
	}
	nq[len(e)] = d
	return d >= 0
}

// laguerreBound returns a lower bound for the smallest eigenvalue of BᵀB,
//
//	n/(J₁ + ((n−1)·(n·J₂ − J₁²))^½),   J_k = tr (BᵀB)^(−k),
//
// or 0 if B is singular or the traces overflow.
func laguerreBound(q, e []float64) float64 {
	// y is the diagonal of (BBᵀ)⁻¹, g the sum of squares above it by columns.
	var j1, j2, l, y, g float64
	for i, qi := range q {
		r := 1 / qi
		if i > 0 {
			g = e[i-1] * r * (y*y + g)
			l = e[i-1] / q[i-1] * (1 + l)
		}
		y = r * (1 + l)
		j1 += y
		j2 += y*y + 2*g
	}
	n := float64(len(q))
	b := n / (j1 + math.Sqrt((n-1)*math.Max(n*j2-j1*j1, 0)))
	if !(b > 0) || math.IsInf(j2, 1) {
		return 0
	}
	// Rounding of the traces must not carry it past the eigenvalue.
	return b * (1 - 0x1p-50*n)
}
