package kernel

import (
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// Pairs holds the squared differences of one point set, so that its Gram matrix and the derivatives of that can be had
// for many hyperparameters, as a fit of them asks for. For [Stationary] kernels, scaled or not, it keeps up to four
// numbers for each pair, and one more for each dimension if they have one length per dimension; an evaluation with its
// gradient takes one exponential for each pair and, once a size has been seen, does not allocate. The zero value holds
// no points. It serves one goroutine at a time.
type Pairs struct {
	x linalg.Dense // a copy of the points
	n int

	// Packed lower triangles, row after row, the diagonal included.
	sq   []float64   // squared distances; empty until an isotropic kernel needs them
	dims [][]float64 // the same by dimension; empty until one length per dimension is asked for
	s    []float64   // scaled by the lengths of the latest kernel, if one per dimension
	val  []float64   // k and −r·dk/dr of the latest kernel, its variance left out
	grad []float64
	w    []float64 // a row of weights

	k        Kernel // of the latest Gram
	st       Stationary
	fast     bool
	variance float64 // the product of so many factors
	factors  int
	buf      []float64
	other    linalg.Sym // for differences
}

// NewPairs returns the pairs of the rows of x, which it copies.
func NewPairs(x *linalg.Dense) *Pairs {
	p := new(Pairs)
	p.Reset(x)
	return p
}

// Reset replaces the points by the rows of x, which it copies. It keeps memory.
func (p *Pairs) Reset(x *linalg.Dense) {
	p.x.Copy(x)
	p.n, _ = x.Dims()
	p.sq, p.dims = p.sq[:0], p.dims[:0]
	p.k = nil
}

// Gram sets dst to the matrix of k(x_i, x_j), as [Gram] does. For a Stationary kernel,
// scaled or not, it also keeps what [Pairs.GradDot] needs.
func (p *Pairs) Gram(dst *linalg.Sym, k Kernel) {
	p.k = k
	p.variance, p.factors, p.st, p.fast = fast(k)
	if !p.fast {
		Gram(dst, k, &p.x)
		return
	}
	_, dim := p.x.Dims()
	p.st.checkDim("Gram", dim)
	size := packed(p.n)
	p.val, p.grad = f64.Grow(p.val, size), f64.Grow(p.grad, size)
	dst.Resize(p.n)
	sq, scale := p.squares()
	f64.Ops.RadialSlopes(p.val, p.grad, sq, scale, p.st.radial())
	for i := range p.n {
		row := dst.Row(i)[:i+1]
		for j, v := range p.val[packed(i):packed(i+1)] {
			row[j] = p.variance * v
		}
	}
	dst.Mirror()
}

// squares returns squared distances and the factor that scales them.
func (p *Pairs) squares() (sq []float64, scale float64) {
	if p.st.isotropic() {
		if len(p.sq) == 0 {
			p.sq = f64.Grow(p.sq, packed(p.n))
			row := func(i int) []float64 { return p.sq[packed(i):packed(i+1)] }
			squares(&p.x, &p.x, []float64{1}, true, row, func([]float64) {})
		}
		inv := p.st.inv[0]
		return p.sq, inv * inv
	}
	if len(p.dims) == 0 {
		p.differences()
	}
	p.s = f64.Grow(p.s, packed(p.n))
	clear(p.s)
	// Four dimensions at a time: s is read and written once for them.
	q, inv := p.dims, p.st.inv
	for ; len(q) >= 4; q, inv = q[4:], inv[4:] {
		f64.Ops.Axpy4(p.s, inv[0]*inv[0], inv[1]*inv[1], inv[2]*inv[2], inv[3]*inv[3], q[0], q[1], q[2], q[3])
	}
	for d, v := range q {
		f64.Ops.Axpy(p.s, inv[d]*inv[d], v)
	}
	return p.s, 1
}

// differences fills dims.
func (p *Pairs) differences() {
	_, dim := p.x.Dims()
	p.dims = f64.Grow(p.dims, dim)
	size := packed(p.n)
	for d := range p.dims {
		p.dims[d] = f64.Grow(p.dims[d], size)
	}
	for i := range p.n {
		xi := p.x.Row(i)
		for j := range i + 1 {
			at := packed(i) + j
			for d, v := range p.x.Row(j) {
				v -= xi[d]
				// Far points have derivative 0, which must not meet an infinity.
				p.dims[d][at] = min(v*v, math.MaxFloat64)
			}
		}
	}
}

// GradDot sets dst, of length NumParams, to the inner products of w with the derivatives of the Gram matrix, dst_p =
// Σ_ij w_ij·∂k(x_i, x_j)/∂θ_p, for the kernel k of the latest [Pairs.Gram] and its log-parameters θ. It panics if there
// was none since the points were set, or the sizes do not match.
//
// For a Stationary kernel, scaled or not, it takes no exponential. For another [ParamGradient] it calls ParamGrad for
// every pair. For any other Kernel it takes central differences of Gram matrices over steps of 2^-17 in θ, with a
// relative error about 1e-10; an entry is NaN where WithParams refuses a step.
func (p *Pairs) GradDot(dst []float64, w *linalg.Sym) {
	if p.k == nil {
		panic("kernel: GradDot: no Gram before")
	}
	if len(dst) != p.k.NumParams() || w.Dim() != p.n {
		panic(fmt.Sprintf("kernel: GradDot: dst has length %d, want %d; w is %d×%d, %d points",
			len(dst), p.k.NumParams(), w.Dim(), w.Dim(), p.n))
	}
	g, ok := p.k.(ParamGradient)
	switch {
	case p.fast:
		p.gradFast(dst, w)
	case ok:
		p.gradPairs(dst, w, g)
	default:
		p.gradDifference(dst, w)
	}
}

func (p *Pairs) gradFast(dst []float64, w *linalg.Sym) {
	if p.factors > 0 {
		v := p.variance * p.dotLower(w, p.val)
		for i := range p.factors {
			dst[i] = v
		}
	}
	dst = dst[p.factors:]
	if p.st.isotropic() {
		dst[0] = p.variance * p.dotLower(w, p.grad)
		return
	}
	// ∂k/∂log ℓ_d = (−dk/dr/r)·q_d/ℓ_d², q_d the squared differences. The weights 2·w_ij·(−dk/dr/r)
	// below the diagonal serve all dimensions; on the diagonal q_d is 0, or NaN.
	p.w = f64.Grow(p.w, len(p.s))
	for i := range p.n {
		lo, hi := packed(i), packed(i+1)
		s, g, to := p.s[lo:hi], p.grad[lo:hi], p.w[lo:hi]
		for j, v := range w.Row(i)[:i+1] {
			to[j] = 2 * v * ratio(g[j], s[j])
		}
	}
	for d, q := range p.dims {
		inv := p.st.inv[d]
		dst[d] = p.variance * (inv * inv) * f64.Ops.Dot(p.w, q)
	}
}

// dotLower returns Σ_ij w_ij·a_ij, a symmetric and packed.
func (p *Pairs) dotLower(w *linalg.Sym, a []float64) float64 {
	var off, diag float64
	for i := range p.n {
		row, ai := w.Row(i), a[packed(i):packed(i+1)]
		off += f64.Ops.Dot(row[:i], ai[:i])
		diag += row[i] * ai[i]
	}
	return 2*off + diag
}

func (p *Pairs) gradPairs(dst []float64, w *linalg.Sym, k ParamGradient) {
	p.buf = f64.Grow(p.buf, len(dst))
	clear(dst)
	for i := range p.n {
		xi, wi := p.x.Row(i), w.Row(i)
		for j := range i + 1 {
			k.ParamGrad(p.buf, xi, p.x.Row(j))
			c := wi[j]
			if j < i {
				c *= 2
			}
			for q, g := range p.buf {
				dst[q] += c * g
			}
		}
	}
}

// gradStep is near the cube root of the roundoff, where truncation and rounding of a central difference balance.
const gradStep = 0x1p-17

func (p *Pairs) gradDifference(dst []float64, w *linalg.Sym) {
	theta := p.k.AppendParams(nil)
	for q, t := range theta {
		var side [2]float64
		for i, h := range []float64{gradStep, -gradStep} {
			theta[q] = t + h
			k, err := p.k.WithParams(theta)
			if err != nil {
				side[i] = math.NaN()
				continue
			}
			Gram(&p.other, k, &p.x)
			side[i] = p.other.Dot(w)
		}
		theta[q] = t
		dst[q] = (side[0] - side[1]) / (2 * gradStep)
	}
}

// packed returns the offset of row i of a packed lower triangle, and the size of one with i rows.
func packed(i int) int { return i * (i + 1) / 2 }
