package gaussian

import (
	"fmt"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Predictor is the scratch memory of predictions. Its methods do what those of
// the same names of [Process] do, bit for bit, and do not allocate once it has
// seen the sizes. The zero value is ready; a Predictor serves any number of
// processes, one goroutine at a time.
type Predictor struct {
	cross, cross2 linalg.Dense
	part          linalg.Dense
	weights, grad []float64
}

// predictBlock is the number of points predicted at a time: a block of
// covariances with some tens of observations stays in cache.
const predictBlock = 256

// PredictTo sets mean[i] and variance[i] to the posterior mean and variance at
// row i of z. variance may be nil, which saves most of the work. Variances that
// rounding pushed below zero are 0.
//
// It fails with [ErrDimension] and [ErrNotFinite]. It takes O(N·n·(n + d)) time
// for N rows and n observations, O(N·n·d) without variances, and O(n) memory
// for each of 256 rows at a time.
func (p *Process) PredictTo(mean, variance []float64, z *linalg.Dense) error {
	var r Predictor
	return r.PredictTo(p, mean, variance, z)
}

// PredictTo is [Process.PredictTo] on the memory of r.
func (r *Predictor) PredictTo(p *Process, mean, variance []float64, z *linalg.Dense) error {
	const op = "PredictTo"
	dim, err := p.checkQuery(op, "z", z)
	if err != nil {
		return err
	}
	rows, _ := z.Dims()
	if err := checkLen(op, "mean", len(mean), rows); err != nil {
		return err
	}
	if variance != nil {
		if err := checkLen(op, "variance", len(variance), rows); err != nil {
			return err
		}
	}
	for lo := 0; lo < rows; lo += predictBlock {
		hi := min(lo+predictBlock, rows)
		r.part = z.View(lo, 0, hi-lo, dim)
		var v []float64
		if variance != nil {
			v = variance[lo:hi]
			kernel.Diag(v, p.kernel, &r.part)
		}
		if err := r.meanBlock(op, p, mean[lo:hi], &r.part); err != nil {
			return err
		}
		if variance != nil && p.Len() > 0 {
			// cross is left by meanBlock.
			if err := p.obs.cond.Whiten(&r.cross, &r.cross); err != nil {
				return err
			}
			if err := p.obs.cond.UpdateVariance(v, &r.cross); err != nil {
				return err
			}
		}
	}
	return nil
}

// meanBlock sets mean to the posterior mean at the rows of z and leaves their
// covariances with the observations in cross.
func (r *Predictor) meanBlock(op string, p *Process, mean []float64, z *linalg.Dense) error {
	for i := range mean {
		m, err := p.meanAt(op, z.Row(i))
		if err != nil {
			return err
		}
		mean[i] = m
	}
	if p.Len() == 0 {
		return nil
	}
	kernel.Cross(&r.cross, p.kernel, &p.obs.x, z)
	for i, a := range p.obs.alpha {
		linalg.Axpy(mean, a, r.cross.Row(i))
	}
	return nil
}

// Posterior returns the joint posterior at the rows of z, at least one: the normal
// with mean as from [Process.PredictTo] and the covariance matrix of the posterior.
//
// It fails with [ErrDimension] and [ErrNotFinite]. It takes O(N²·(n + d) + N·n²)
// time.
func (p *Process) Posterior(z *linalg.Dense) (*Normal, error) {
	const op = "Posterior"
	if _, err := p.checkQuery(op, "z", z); err != nil {
		return nil, err
	}
	rows, _ := z.Dims()
	if rows == 0 {
		return nil, &DimensionError{Op: op, What: "z", Got: 0, Want: 1}
	}
	var r Predictor
	mean := make([]float64, rows)
	cov := new(linalg.Sym)
	prior, err := r.posteriorTo(op, p, mean, cov, z)
	if err != nil {
		return nil, err
	}
	return finishNormal(op, mean, cov, indefiniteTol*prior)
}

// PosteriorTo sets mean and cov, which is resized, to the moments of
// [Process.Posterior]. mean may be nil. It does not allocate once r and cov have
// seen the sizes.
func (r *Predictor) PosteriorTo(p *Process, mean []float64, cov *linalg.Sym, z *linalg.Dense) error {
	const op = "PosteriorTo"
	if _, err := p.checkQuery(op, "z", z); err != nil {
		return err
	}
	rows, _ := z.Dims()
	if mean != nil {
		if err := checkLen(op, "mean", len(mean), rows); err != nil {
			return err
		}
	}
	if cov == nil {
		return errNil(op, "cov")
	}
	_, err := r.posteriorTo(op, p, mean, cov, z)
	return err
}

// posteriorTo returns the trace of the prior covariance too.
func (r *Predictor) posteriorTo(op string, p *Process, mean []float64, cov *linalg.Sym, z *linalg.Dense) (prior float64, err error) {
	// Symmetric in the end, also where the mean fails.
	kernel.GramLower(cov, p.kernel, z)
	prior = cov.Trace()
	if p.Len() == 0 {
		cov.Mirror()
	}
	if mean != nil {
		if err := r.meanBlock(op, p, mean, z); err != nil {
			cov.Mirror()
			return 0, err
		}
	} else if p.Len() > 0 {
		kernel.Cross(&r.cross, p.kernel, &p.obs.x, z)
	}
	if p.Len() == 0 {
		return prior, nil
	}
	p.obs.cond.updateCovFrom(cov, &r.cross2, &r.cross)
	return prior, nil
}

// CovTo makes dst the N×M matrix of posterior covariances between the rows of x
// and the rows of y. dst is resized and must not be x or y. For x = y,
// [Predictor.PosteriorTo] takes half the time.
//
// It fails with [ErrDimension] and [ErrNotFinite]. It takes O(N·M·(n + d) +
// (N + M)·n²) time.
func (p *Process) CovTo(dst, x, y *linalg.Dense) error {
	var r Predictor
	return r.CovTo(p, dst, x, y)
}

// CovTo is [Process.CovTo] on the memory of r.
func (r *Predictor) CovTo(p *Process, dst, x, y *linalg.Dense) error {
	const op = "CovTo"
	if dst == nil {
		return errNil(op, "dst")
	}
	dim, err := p.checkQuery(op, "x", x)
	if err != nil {
		return err
	}
	if err := checkPoints(op, "y", y, dim); err != nil {
		return err
	}
	n, _ := x.Dims()
	m, _ := y.Dims()
	if n == 0 || m == 0 {
		dst.Resize(n, m)
		return nil
	}
	kernel.Cross(dst, p.kernel, x, y)
	if p.Len() == 0 {
		return nil
	}
	kernel.Cross(&r.cross, p.kernel, &p.obs.x, x)
	kernel.Cross(&r.cross2, p.kernel, &p.obs.x, y)
	c := &p.obs.cond
	if err := c.Whiten(&r.cross, &r.cross); err != nil {
		return err
	}
	if err := c.Whiten(&r.cross2, &r.cross2); err != nil {
		return err
	}
	return c.UpdateCross(dst, &r.cross, &r.cross2)
}

// Gradient returns the posterior mean and variance at x and sets dmean and dvar,
// of the length of x, to their gradients there. dvar may be nil.
//
// It fails with [ErrDimension], with [ErrNotFinite], and with [ErrArgument] if the
// kernel is no [kernel.InputGradient] or the prior mean is a function, whose
// derivative is not known. It takes O(n² + n·d) time.
func (p *Process) Gradient(dmean, dvar, x []float64) (mean, variance float64, err error) {
	var r Predictor
	return r.Gradient(p, dmean, dvar, x)
}

// Gradient is [Process.Gradient] on the memory of r.
func (r *Predictor) Gradient(p *Process, dmean, dvar, x []float64) (mean, variance float64, err error) {
	const op = "Gradient"
	k, ok := p.kernel.(kernel.InputGradient)
	if !ok || p.mean != nil {
		return 0, 0, fmt.Errorf("gaussian: %s: the derivative of the kernel or of the prior mean is not known: %w", op, ErrArgument)
	}
	dim := len(x)
	if p.Len() > 0 {
		dim = p.obs.dim
	}
	if err := checkVec(op, "x", x, dim); err != nil {
		return 0, 0, err
	}
	if err := checkLen(op, "dmean", len(dmean), dim); err != nil {
		return 0, 0, err
	}
	if dvar != nil {
		if err := checkLen(op, "dvar", len(dvar), dim); err != nil {
			return 0, 0, err
		}
	}
	if p.Len() == 0 {
		if err := checkKernel(op, p.kernel, x); err != nil {
			return 0, 0, err
		}
	}
	n := p.Len()
	r.weights, r.grad = grow(r.weights, n), grow(r.grad, dim)
	mean, variance = p.constant, k.InputGrad(r.grad, x, x)
	clear(dmean)
	for j := range dvar {
		dvar[j] = 2 * r.grad[j] // both arguments of k(x, x) move
	}
	for i, a := range p.obs.alpha {
		v := k.InputGrad(r.grad, x, p.obs.x.Row(i))
		r.weights[i] = v
		mean += a * v
		linalg.Axpy(dmean, a, r.grad)
	}
	if n == 0 {
		return mean, variance, nil
	}
	w := r.weights
	c := &p.obs.cond.chol
	c.SolveLowerVecTo(w, w)
	variance = max(variance-linalg.Dot(w, w), 0)
	if dvar != nil {
		c.SolveUpperVecTo(w, w)
		for i, b := range w {
			k.InputGrad(r.grad, x, p.obs.x.Row(i))
			linalg.Axpy(dvar, -2*b, r.grad)
		}
	}
	return mean, variance, nil
}

// checkQuery checks points to predict at and returns their dimension.
func (p *Process) checkQuery(op, what string, z *linalg.Dense) (dim int, err error) {
	if z == nil {
		return 0, errNil(op, what)
	}
	rows, dim := z.Dims()
	if p.Len() > 0 {
		dim = p.obs.dim
	}
	if err := checkPoints(op, what, z, dim); err != nil {
		return 0, err
	}
	if p.Len() == 0 && rows > 0 {
		return dim, checkKernel(op, p.kernel, z.Row(0))
	}
	return dim, nil
}
