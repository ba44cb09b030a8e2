package kernel

import (
	"fmt"
	"math"
)

// Parameters lie between minParam and maxParam, so that squares and reciprocals of lengths neither overflow nor vanish.
const (
	minParam = 0x1p-500
	maxParam = 0x1p+500
)

// ParamError reports a log-parameter outside the range of a kernel: not a number,
// or such that its exponential is not between 2^-500 and 2^500.
type ParamError struct {
	Kernel string  // the constructor of the (part of the) kernel, such as "Matern32"
	Index  int     // into the vector given to WithParams
	Value  float64 // the log-parameter
}

// Error names kernel, index and value.
func (e *ParamError) Error() string {
	return fmt.Sprintf("kernel: %s: log-parameter %d is %g", e.Kernel, e.Index, e.Value)
}

// ParamCountError reports a vector of log-parameters of the wrong length.
type ParamCountError struct {
	Kernel    string
	Got, Want int
}

// Error names kernel and lengths.
func (e *ParamCountError) Error() string {
	return fmt.Sprintf("kernel: %s: %d log-parameters, want %d", e.Kernel, e.Got, e.Want)
}

// DimensionError reports a kernel that is not made for points of a dimension.
type DimensionError struct {
	Kernel    string // the kernel, or the part of it, such as "Matern32"
	Got, Want int    // dimension of the points, number of lengths
}

// Error names kernel and dimensions.
func (e *DimensionError) Error() string {
	return fmt.Sprintf("kernel: %s: points of dimension %d, %d lengths", e.Kernel, e.Got, e.Want)
}

// CheckDim returns a *DimensionError if k, or a part of it, has lengths for points of another dimension than dim, on
// which its methods panic. It calls no method of a kernel of another package: what points that takes is not known.
func CheckDim(k Kernel, dim int) error {
	switch k := unwrap(k).(type) {
	case Stationary:
		if !k.takes(dim) {
			return &DimensionError{Kernel: k.name(), Got: dim, Want: len(k.ls)}
		}
	case scaled:
		return CheckDim(k.k, dim)
	case compound:
		for _, p := range k.ks {
			if err := CheckDim(p, dim); err != nil {
				return err
			}
		}
	}
	return nil
}

// fromLog returns exp(theta[i]), checked; rounding does not take a bound beyond itself.
func fromLog(kernel string, theta []float64, i int) (float64, error) {
	if !(math.Abs(theta[i]) <= 500*math.Ln2) {
		return 0, &ParamError{Kernel: kernel, Index: i, Value: theta[i]}
	}
	return min(max(math.Exp(theta[i]), minParam), maxParam), nil
}

func validParam(v float64) bool { return v >= minParam && v <= maxParam }

// mustParam panics unless v, given to a constructor, is a possible parameter.
func mustParam(kernel, what string, v float64) {
	if !validParam(v) {
		panic(fmt.Sprintf("kernel: %s: %s is %g, want a number between 2^-500 and 2^500", kernel, what, v))
	}
}

// countMessage is what a method panics with whose dst has the wrong length.
func countMessage(k fmt.Stringer, op string, got, want int) string {
	return fmt.Sprintf("kernel: %v: %s: dst has length %d, want %d", k, op, got, want)
}
