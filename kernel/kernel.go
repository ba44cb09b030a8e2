package kernel

// Kernel is a covariance function: symmetric and positive semi-definite. A
// Kernel is an immutable value, safe for concurrent use.
type Kernel interface {
	// Eval returns k(x, y). It panics if the points do not have the same dimension, or not the one the kernel is made for.
	Eval(x, y []float64) float64
	// NumParams returns the number of hyperparameters.
	NumParams() int
	// AppendParams appends the logarithms of the hyperparameters to dst and returns the extended slice.
	AppendParams(dst []float64) []float64
	// WithParams returns a kernel of the same form whose log-parameters are theta, in the order of AppendParams. It keeps no
	// reference to theta. The error is a *ParamCountError for a wrong length and a *ParamError for values out of range.
	WithParams(theta []float64) (Kernel, error)
}

// ParamGradient is a [Kernel] that knows its derivatives by log-parameters.
type ParamGradient interface {
	Kernel
	// ParamGrad sets dst, of length NumParams, to ∂k(x, y)/∂θ, θ the
	// log-parameters in the order of AppendParams, and returns k(x, y).
	ParamGrad(dst, x, y []float64) float64
}
