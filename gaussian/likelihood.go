package gaussian

import (
	"math"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Likelihood evaluates the log marginal likelihood of one data set for many hyperparameters. Distances between points are
// computed once, by [Likelihood.Reset]; an evaluation does not allocate once the sizes have been seen, for the kernels that
// [kernel.Pairs] says that of. The zero value has no data, and likelihood 1. A Likelihood serves one goroutine at a time.
type Likelihood struct {
	pairs kernel.Pairs
	first []float64 // a point of the data
	resid []float64
	extra []float64
	noise []float64
	alpha []float64
	gram  linalg.Sym
	cond  Conditioner
}

// Reset sets the data: resid = y − m(X) at the rows of x, and noise variances extra to be added to the common one, or nil.
// All are copied. A kernel for points of another dimension is [ErrDimension]. After an error the receiver has no data.
func (l *Likelihood) Reset(k kernel.Kernel, x *linalg.Dense, resid, extra []float64) error {
	return l.reset("Likelihood.Reset", k, x, resid, extra)
}

func (l *Likelihood) reset(op string, k kernel.Kernel, x *linalg.Dense, resid, extra []float64) error {
	l.resid = l.resid[:0]
	if k == nil {
		return fault.Nil(op, "the kernel")
	}
	if err := checkData(op, k, x, resid, extra); err != nil {
		return err
	}
	l.extra = f64.Grow(l.extra, len(resid))
	clear(l.extra)
	copy(l.extra, extra)
	if len(resid) > 0 {
		l.pairs.Reset(x)
		l.first = append(l.first[:0], x.Row(0)...)
	}
	l.resid = append(l.resid, resid...)
	return nil
}

// Eval returns the log marginal likelihood for kernel k, of the form given to Reset, and common noise variance noise. If
// grad is not nil, of length k.NumParams() + 1, it is set to the derivatives by the log-parameters of k and then by ln
// noise. If no jitter makes A definite that is [ErrNotPositiveDefinite]. It takes n³/3 multiplications, n³ with gradient.
func (l *Likelihood) Eval(k kernel.Kernel, noise float64, grad []float64) (float64, error) {
	const op = "Likelihood.Eval"
	if k == nil {
		return 0, fault.Nil(op, "the kernel")
	}
	if err := fault.NonNegative(op, "noise", noise); err != nil {
		return 0, err
	}
	np := k.NumParams()
	if grad != nil {
		if err := fault.Len(op, "grad", len(grad), np+1); err != nil {
			return 0, err
		}
		clear(grad)
	}
	n := len(l.resid)
	if n == 0 {
		return 0, nil
	}
	if err := checkKernel(op, k, l.first); err != nil {
		return 0, err
	}
	l.pairs.Gram(&l.gram, k)
	l.noise = f64.Grow(l.noise, n)
	trace := l.gram.Trace()
	for i, e := range l.extra {
		l.noise[i] = noise + e
		trace += l.noise[i]
	}
	if err := l.cond.Factorize(&l.gram, l.noise, l.resid); err != nil {
		return math.Inf(-1), err
	}
	v := l.cond.LogMarginal()
	if !fault.Finite(v) {
		return v, fault.Scalar(op, "log likelihood", v, ErrNotFinite)
	}
	if grad == nil {
		return v, nil
	}
	l.alpha = f64.Grow(l.alpha, n)
	if err := l.cond.Precision(l.alpha, &l.gram); err != nil {
		return v, err
	}
	var diag float64
	for i, a := range l.alpha {
		r := l.gram.Row(i)
		for j, b := range l.alpha {
			r[j] = 0.5 * (a*b - r[j])
		}
		diag += r[i]
	}
	rate := l.cond.Jitter() / trace // what one entry of the diagonal adds by the jitter to each
	l.gram.AddDiag(rate * diag)
	l.pairs.GradDot(grad[:np], &l.gram)
	grad[np] = noise * diag * (1 + rate*float64(n))
	return v, fault.Vec(op, "gradient", grad, len(grad))
}
