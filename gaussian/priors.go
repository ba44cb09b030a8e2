package gaussian

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/kernel"
)

// LogNormal is a prior on a positive hyperparameter θ, with bounds:
//
//	ln θ ~ N(Mean, SD²),   Min ≤ θ ≤ Max.
//
// Mean is that of the logarithm. SD may be +Inf, for a flat prior on ln θ; its
// centre Mean then only serves as the start. Min = Max fixes θ.
type LogNormal struct {
	Mean, SD float64
	Min, Max float64
}

// Priors holds one prior for each kind of hyperparameter. The prior of the lengths applies to each
// of them, that of the variance to each factor of kernel.Scale and each kernel.Constant.
type Priors struct {
	LengthScale LogNormal
	Variance    LogNormal
	Noise       LogNormal
}

// DefaultPriors returns priors for points in the unit cube of the given dimension and values of unit variance:
//
//	length    ln ℓ ~ N(ln(√dim/2), 1)     in [0.02, 20]
//	variance  ln v ~ N(0, 2²)             in [0.05, 20]
//	noise     ln σ² ~ N(ln 0.01, 1.5²)    in [1e-4, 1]
//
// Lengths scale with the diagonal of the cube, as distances between points do. A dimension below 1 counts as 1.
func DefaultPriors(dim int) Priors {
	return Priors{
		LengthScale: LogNormal{Mean: math.Log(math.Sqrt(float64(max(dim, 1))) / 2), SD: 1, Min: 0.02, Max: 20},
		Variance:    LogNormal{Mean: 0, SD: 2, Min: 0.05, Max: 20},
		Noise:       LogNormal{Mean: math.Log(0.01), SD: 1.5, Min: 1e-4, Max: 1},
	}
}

func (p LogNormal) check(op, what string) error {
	switch {
	case !fault.Finite(p.Mean):
		return fault.Scalar(op, "mean of the prior of "+what, p.Mean, ErrNotFinite)
	case !(p.SD > 0):
		return fault.Scalar(op, "standard deviation of the prior of "+what, p.SD, ErrArgument)
	case !(p.Min > 0):
		return fault.Scalar(op, "lower bound of "+what, p.Min, ErrArgument)
	case !(p.Max >= p.Min) || !fault.Finite(p.Max):
		return fault.Scalar(op, "upper bound of "+what, p.Max, ErrArgument)
	}
	return nil
}

// appendSpec appends the priors of the parameters of the kernel that s describes, in their order.
func (p Priors) appendSpec(dst []LogNormal, s kernel.Spec) []LogNormal {
	prior := p.LengthScale
	if s.Name == "Scale" || s.Name == "Constant" {
		prior = p.Variance
	}
	dst = append(dst, slices.Repeat([]LogNormal{prior}, len(s.Params))...)
	for _, c := range s.Kernels {
		dst = p.appendSpec(dst, c)
	}
	return dst
}
