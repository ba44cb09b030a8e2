package gaussian

import (
	"fmt"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Process is Gaussian process regression: a prior N(m, k) over functions, with
// mean function m and covariance function k, conditioned on observations
//
//	y_i = f(x_i) + e_i,   e_i ~ N(0, σ² + s_i),
//
// σ² common to all and s_i, 0 unless given, to one of them. With A = K + diag(σ² +
// s_i) + jitter·I the posterior is
//
//	mean        m(x) + k(x, X)·A⁻¹·(y − m(X))
//	covariance  k(x, x′) − k(x, X)·A⁻¹·k(X, x′),
//
// that of f, not of further observations: noise is not added to it.
//
// A new Process has no observations and predicts with the prior. [Process.Fit]
// sets them, [Process.Append] adds one, [Process.Tune] chooses hyperparameters;
// these three change the Process, and leave it as it was if they fail. Everything
// else only reads it and may run concurrently. Repeated observation points are
// legal, without noise too, where a jitter keeps A definite: see [Process.Jitter].
//
// C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning,
// MIT Press 2006, section 2.2; the paper, section 2.1.
type Process struct {
	processConfig
	kernel kernel.Kernel
	obs    observations
}

// processConfig is what options set.
type processConfig struct {
	mean     func(x []float64) float64 // nil: constant
	constant float64
	noise    float64
}

// observations is what a fit consists of.
type observations struct {
	dim   int
	x     linalg.Dense // n×dim, on the memory of data
	data  []float64
	y     []float64
	extra []float64 // s_i
	cond  Conditioner
	alpha []float64 // A⁻¹·(y − m)
}

// ProcessOption is an option of [NewProcess].
type ProcessOption func(*processConfig) error

// WithNoise sets the noise variance σ² common to all observations, 0 or more.
// Default 0: observations are exact.
func WithNoise(variance float64) ProcessOption {
	return func(c *processConfig) error {
		c.noise = variance
		return checkNonNegative("WithNoise", "variance", variance)
	}
}

// WithConstantMean sets the prior mean to a constant. Default 0.
func WithConstantMean(m float64) ProcessOption {
	return func(c *processConfig) error {
		c.mean, c.constant = nil, m
		if !finite(m) {
			return scalarError("WithConstantMean", "mean", m, ErrNotFinite)
		}
		return nil
	}
}

// WithMean sets the prior mean function. It must be safe for concurrent use, must
// not keep or change its argument, and return finite values, or calls fail with
// [ErrNotFinite].
func WithMean(m func(x []float64) float64) ProcessOption {
	return func(c *processConfig) error {
		c.mean, c.constant = m, 0
		if m == nil {
			return errNil("WithMean", "the function")
		}
		return nil
	}
}

// NewProcess returns a process with prior covariance k and no observations. It
// fails with [ErrArgument] if k is nil, and where an option does.
func NewProcess(k kernel.Kernel, opts ...ProcessOption) (*Process, error) {
	if k == nil {
		return nil, errNil("NewProcess", "the kernel")
	}
	p := &Process{kernel: k}
	for _, o := range opts {
		if o == nil {
			return nil, errNil("NewProcess", "an option")
		}
		if err := o(&p.processConfig); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Kernel returns the prior covariance function.
func (p *Process) Kernel() kernel.Kernel { return p.kernel }

// Noise returns the common noise variance σ².
func (p *Process) Noise() float64 { return p.noise }

// Len returns the number of observations.
func (p *Process) Len() int { return len(p.obs.y) }

// Jitter returns the absolute amount added to the diagonal of A to keep it
// definite: 0 unless points (nearly) coincide and noise is (nearly) 0.
func (p *Process) Jitter() float64 { return p.obs.cond.Jitter() }

// Fit replaces the observations by values y at the rows of x, which it copies.
// Without rows the process is its prior again.
//
// It fails with [ErrDimension] if y does not fit x or the kernel is made for
// points of another dimension, with [ErrNotFinite], and with
// [ErrNotPositiveDefinite] if no jitter makes A definite. It takes O(n³) time.
func (p *Process) Fit(x *linalg.Dense, y []float64) error {
	return p.fit("Fit", x, y, nil)
}

// FitNoise is [Process.Fit] with a noise variance of its own for each
// observation, added to the common one. extra has the length of y and entries of
// 0 or more, or is nil; negative ones fail with [ErrArgument].
func (p *Process) FitNoise(x *linalg.Dense, y, extra []float64) error {
	return p.fit("FitNoise", x, y, extra)
}

func (p *Process) fit(op string, x *linalg.Dense, y, extra []float64) error {
	dim, err := checkData(op, p.kernel, x, y, extra)
	if err != nil {
		return err
	}
	n := len(y)
	o := observations{dim: dim, data: make([]float64, 0, n*dim), y: append([]float64(nil), y...), extra: make([]float64, n)}
	copy(o.extra, extra)
	for i := range n {
		o.data = append(o.data, x.Row(i)...)
	}
	o.x = *linalg.NewDense(n, dim, o.data)
	if err := p.condition(op, &o); err != nil {
		return err
	}
	p.obs = o
	return nil
}

// condition computes the factor and the weights of o.
func (p *Process) condition(op string, o *observations) error {
	n := len(o.y)
	if n == 0 {
		return nil
	}
	var gram linalg.Sym
	kernel.Gram(&gram, p.kernel, &o.x)
	noise := make([]float64, n)
	resid := make([]float64, n)
	for i := range n {
		noise[i] = p.noise + o.extra[i]
		resid[i] = o.y[i]
	}
	if err := p.subtractMean(op, resid, &o.x); err != nil {
		return err
	}
	if err := o.cond.Factorize(&gram, noise, resid); err != nil {
		return fmt.Errorf("gaussian: %s: %w", op, err)
	}
	o.alpha = make([]float64, n)
	o.cond.alphaTo(o.alpha)
	return nil
}

// Append adds the observation y at x in O(n²) time. The result is that of a new
// [Process.Fit] up to rounding; where A becomes singular, or a jitter is in use,
// it is computed as one, in O(n³). x is copied. Append fails like Fit.
func (p *Process) Append(x []float64, y float64) error {
	return p.append("Append", x, y, 0)
}

// AppendNoise is [Process.Append] for an observation with a noise variance of its
// own, added to the common one; a negative one fails with [ErrArgument].
func (p *Process) AppendNoise(x []float64, y, extra float64) error {
	return p.append("AppendNoise", x, y, extra)
}

func (p *Process) append(op string, x []float64, y, extra float64) error {
	o := &p.obs
	n := len(o.y)
	dim := len(x)
	if n > 0 {
		dim = o.dim
	}
	if err := checkVec(op, "x", x, dim); err != nil {
		return err
	}
	if !finite(y) {
		return scalarError(op, "y", y, ErrNotFinite)
	}
	if err := checkNonNegative(op, "noise variance", extra); err != nil {
		return err
	}
	if n == 0 {
		if err := checkKernel(op, p.kernel, x); err != nil {
			return err
		}
	}
	row := linalg.NewDense(1, dim, append([]float64(nil), x...))
	resid := []float64{y}
	if err := p.subtractMean(op, resid, row); err != nil {
		return err
	}
	if o.cond.Jitter() == 0 {
		var cross linalg.Dense
		if n > 0 {
			kernel.Cross(&cross, p.kernel, row, &o.x)
		} else {
			cross.Resize(1, 0)
		}
		err := o.cond.Append(cross.Row(0), p.kernel.Eval(x, x), p.noise+extra, resid[0])
		if err == nil {
			p.extend(dim, x, y, extra)
			o.alpha = grow(o.alpha, n+1)
			o.cond.alphaTo(o.alpha)
			return nil
		}
	}
	all := observations{
		dim:   dim,
		data:  append(append([]float64(nil), o.data...), x...),
		y:     append(append([]float64(nil), o.y...), y),
		extra: append(append([]float64(nil), o.extra...), extra),
	}
	all.x = *linalg.NewDense(n+1, dim, all.data)
	if err := p.condition(op, &all); err != nil {
		return err
	}
	p.obs = all
	return nil
}

// extend adds an observation whose factor row is there.
func (p *Process) extend(dim int, x []float64, y, extra float64) {
	o := &p.obs
	o.dim = dim
	o.data = append(o.data, x...)
	o.y, o.extra = append(o.y, y), append(o.extra, extra)
	o.x = *linalg.NewDense(len(o.y), dim, o.data)
}

// subtractMean subtracts the prior mean at the rows of x from dst.
func (p *Process) subtractMean(op string, dst []float64, x *linalg.Dense) error {
	for i := range dst {
		m, err := p.meanAt(op, x.Row(i))
		if err != nil {
			return err
		}
		dst[i] -= m
	}
	return nil
}

func (p *Process) meanAt(op string, x []float64) (float64, error) {
	if p.mean == nil {
		return p.constant, nil
	}
	m := p.mean(x)
	if !finite(m) {
		return 0, scalarError(op, "prior mean", m, ErrNotFinite)
	}
	return m, nil
}

// checkData checks a data set and returns the dimension of its points.
func checkData(op string, k kernel.Kernel, x *linalg.Dense, y, extra []float64) (dim int, err error) {
	if x == nil {
		return 0, errNil(op, "x")
	}
	n, dim := x.Dims()
	if err := checkVec(op, "y", y, n); err != nil {
		return 0, err
	}
	if extra != nil {
		if err := checkLen(op, "noise variances", len(extra), n); err != nil {
			return 0, err
		}
	}
	for i, v := range extra {
		if !(v >= 0) || !finite(v) {
			return 0, checkNonNegative(op, "noise variance "+itoa(i), v)
		}
	}
	if err := checkPoints(op, "x", x, dim); err != nil {
		return 0, err
	}
	if n == 0 {
		return dim, nil
	}
	return dim, checkKernel(op, k, x.Row(0))
}

// checkPoints wants rows of finite coordinates of the given dimension.
func checkPoints(op, what string, x *linalg.Dense, dim int) error {
	if x == nil {
		return errNil(op, what)
	}
	n, d := x.Dims()
	if n > 0 && d != dim {
		return &DimensionError{Op: op, What: "row of " + what, Got: d, Want: dim}
	}
	for i := range n {
		r := x.Row(i)
		if j := allFinite(r); j >= 0 {
			return &ValueError{Op: op, What: what, Row: i, Col: j, Value: r[j], Err: ErrNotFinite}
		}
	}
	return nil
}

// checkKernel evaluates k once at a point of a data set. A kernel panics on points
// of another dimension than it is made for, which here is a property of the data.
func checkKernel(op string, k kernel.Kernel, x []float64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gaussian: %s: points of dimension %d: %v: %w", op, len(x), r, ErrDimension)
		}
	}()
	if v := k.Eval(x, x); !(v >= 0) || !finite(v) {
		return scalarError(op, "prior variance", v, ErrArgument)
	}
	return nil
}
