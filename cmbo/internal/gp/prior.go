package gp

import (
	"context"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A Function is a Gaussian process known by its moments. Its methods may run concurrently.
type Function interface {
	// Moments sets mean and variance to those at the rows of x; either may be nil.
	Moments(ctx context.Context, mean, variance []float64, x *linalg.Dense) error
	// Cov makes dst the covariances of the rows of x with the rows of y.
	Cov(ctx context.Context, dst, x, y *linalg.Dense) error
	// Gram makes dst the covariance matrix at the rows of x.
	Gram(ctx context.Context, dst *linalg.Sym, x *linalg.Dense) error
}

// FromKernel is the prior with a constant mean and the covariance of a kernel.
type FromKernel struct {
	Kernel kernel.Kernel
	Mean   float64
}

// Moments implements [Function].
func (f FromKernel) Moments(_ context.Context, mean, variance []float64, x *linalg.Dense) error {
	for i := range mean {
		mean[i] = f.Mean
	}
	if variance != nil {
		kernel.Diag(variance, f.Kernel, x)
	}
	return nil
}

// Cov implements [Function].
func (f FromKernel) Cov(_ context.Context, dst, x, y *linalg.Dense) error {
	kernel.Cross(dst, f.Kernel, x, y)
	return nil
}

// Gram implements [Function].
func (f FromKernel) Gram(_ context.Context, dst *linalg.Sym, x *linalg.Dense) error {
	kernel.Gram(dst, f.Kernel, x)
	return nil
}
