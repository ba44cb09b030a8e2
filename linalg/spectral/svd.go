package spectral

import (
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// SVD computes what belongs to the singular value decomposition of a general matrix: the sum of the
// singular values, the values, the orthogonal polar factor. The zero value is ready. It holds the
// scratch memory of its methods: at a size it has seen they do not allocate.
//
// All go through a reduction to bidiagonal form, which is backward stable: the singular values of
// the bidiagonal matrix are those of a within a small multiple of n·u·‖a‖.
type SVD struct {
	bi     bidiag
	a2, b2 []float64 // see prepare
	work   []float64
	res    resolvents
	f      []float64
}

// NuclearNorm returns the sum of the singular values of a, which is not modified. It is NaN if a has an entry that is
// not finite, and 0 for an empty matrix. The sum is taken without the values themselves, by the quadrature
//
//	Σ_i σ_i = Σ_j w_j Σ_i σ_i²/(σ_i² + s_j),
//
// with a relative error of about 1e-15 at any condition number and one of a small multiple of
// √n·u from the reduction. 8n³/3 operations for an n×n matrix.
//
// N. Hale, N. J. Higham and L. N. Trefethen, SIAM J. Numer. Anal. 46 (2008) 2505–2523.
func (d *SVD) NuclearNorm(a *linalg.Dense) float64 {
	if d.bi.reduce(a, false) != nil {
		return math.NaN()
	}
	t := d.prepare()
	if t == nil {
		return 0
	}
	d.work = f64.Grow(d.work, 3*len(t.s))
	return math.Ldexp(f64.Ops.PoleSum(d.a2, d.b2, t.s, t.w, d.work), d.bi.exp)
}

// prepare scales the bidiagonal matrix to norm at most 1, accounted for in bi.exp, sets a2 and b2
// to the squares of its entries and returns the poles for its condition, nil for a zero matrix.
func (d *SVD) prepare() *poleTable {
	if !d.bi.normalise() {
		return nil
	}
	d.a2, d.b2 = squares(d.a2, d.bi.d), squares(d.b2, d.bi.e)
	return polesFor(inverseTrace(d.a2, d.b2))
}

// squares returns the squares of x, in the memory of dst if that suffices.
func squares(dst, x []float64) []float64 {
	dst = f64.Grow(dst, len(x))
	for i, v := range x {
		dst[i] = v * v
	}
	return dst
}

// SingularValues sets dst, of length min(rows, cols), to the singular values of a in descending order. a is not
// modified. It returns ErrNotFinite if a has a NaN or an infinity and ErrNoConvergence if the iteration fails, which no
// matrix is known to cause. 8n³/3 operations for an n×n matrix.
//
// G. H. Golub and W. Kahan, Calculating the singular values and pseudo-inverse of
// a matrix, SIAM J. Numer. Anal. 2 (1965) 205–224.
func (d *SVD) SingularValues(dst []float64, a *linalg.Dense) error {
	rows, cols := a.Dims()
	m := min(rows, cols)
	if len(dst) != m {
		panic(fmt.Sprintf("spectral: SingularValues: dst has length %d, want %d", len(dst), m))
	}
	if err := d.bi.reduce(a, false); err != nil {
		return err
	}
	// With ± they are the eigenvalues of [0 Bᵀ; B 0], B the bidiagonal matrix, whose rows,
	// taken from either half in turn, make it tridiagonal with zeros on the diagonal.
	d.a2, d.b2 = f64.Grow(d.a2, 2*m), f64.Grow(d.b2, m+len(d.bi.e))
	diag, off := d.a2, d.b2
	clear(diag)
	for i, v := range d.bi.d {
		off[2*i] = v
	}
	for i, v := range d.bi.e {
		off[2*i+1] = v
	}
	if err := tridiagValues(diag, off); err != nil {
		return err
	}
	copyScaled(dst, diag[m:], d.bi.exp)
	slices.Reverse(dst)
	for i, v := range dst {
		dst[i] = math.Max(v, 0)
	}
	return nil
}
