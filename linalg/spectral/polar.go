package spectral

import (
	"fmt"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// PolarTo makes u the orthogonal polar factor of the square matrix a, the orthogonal U nearest to
// it: a = U·H, H = (aᵀ·a)^½. u may be a. It returns ErrNotFinite if a has a NaN or an infinity,
// and ErrNoConvergence where rounding leaves a singular and eight perturbations of its size do too.
//
// U is orthogonal to a small multiple of n·u, and it is the factor of a matrix within a small multiple of n·u·‖a‖ of a:
// its error in directions i, j of singular vectors is of order n·u·‖a‖/(σ_i + σ_j). So of an a that is singular to
// working precision it is one of the minimisers of ‖a − U‖, up to rounding, and of the zero matrix the identity. About
// 20n³/3 operations, and 2·n² for each of up to 192 poles.
//
// N. J. Higham, Functions of Matrices, SIAM, 2008, chapter 8.
func (d *SVD) PolarTo(u, a *linalg.Dense) error {
	n, cols := a.Dims()
	if cols != n {
		panic(fmt.Sprintf("spectral: PolarTo: %d×%d is not square", n, cols))
	}
	if err := d.bi.reduce(a, true); err != nil {
		return err
	}
	t := d.prepare()
	if t == nil {
		u.Resize(n, n)
		u.Zero()
		for i := range n {
			u.Set(i, i, 1)
		}
		return nil
	}
	for try := uint64(0); !(inverseTrace(d.a2, d.b2) <= t.kappa); try++ {
		if try == 8 {
			return ErrNoConvergence
		}
		var p linalg.Dense
		perturb(&p, a, try)
		if err := d.bi.reduce(&p, true); err != nil {
			return err
		}
		t = d.prepare()
	}
	// u = Q·Fᵀ·Pᵀ for the factor F of B, a = Q·Bᵀ·Pᵀ, a sum over poles in which every term has a small relative error.
	d.res.set(d.bi.d, d.bi.e, t)
	d.f = f64.Grow(d.f, n*n)
	d.res.polar(d.f)
	d.bi.multiplyQ(n, d.f, n)
	u.Resize(n, n)
	data, stride := u.Raw()
	f64.Ops.Transpose(n, n, data, stride, d.f, n)
	d.bi.multiplyP(n, data, stride)
	return nil
}

// perturb makes p a multiple of a with pseudo-random numbers of the size of its rounding errors added: it is then not
// singular, but for a chance that another value of try removes. Numbers depend on their position and try alone.
func perturb(p, a *linalg.Dense, try uint64) {
	p.Copy(a)
	data, _ := p.Raw()
	exp, _ := scaleExp(data)
	copyScaled(data, data, -exp)
	r := rng.Stream(try, "perturbation of a singular matrix")
	for i := range data {
		data[i] += 0x1p-53 * (2*r.Float64() - 1)
	}
}
