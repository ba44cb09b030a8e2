package kernel

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/f64"
)

// shape numbers the radial functions. The numbers are internal: descriptions and errors use the names.
type shape uint8

const (
	matern12 shape = iota
	matern32
	matern52
	squaredExp
	matern32x12
)

var shapeNames = [...]string{
	matern12:    "Matern12",
	matern32:    "Matern32",
	matern52:    "Matern52",
	squaredExp:  "SquaredExp",
	matern32x12: "Matern32x12",
}

// Stationary is a kernel k(x, y) = k(r) of the scaled distance r with k(0) = 1. It has one
// length for all dimensions (isotropic: it accepts points of any dimension) or one for each.
// Its log-parameters are log ℓ_d in the order given to the constructor.
//
// In d dimensions the relative error of a value is at most (d + 16)·(1 + t)·2^-53, exp(−t) being the exponential in it.
// Values underflow to 0 with distance, to which even infinitely far points lead. Points closer than 1e-154 lengths
// count as equal. A NaN coordinate, or infinities of one sign in both points, give NaN.
//
// Make one with [Matern12], [Matern32], [Matern52], [SquaredExp] or [Matern32x12]: the zero value is not a kernel.
type Stationary struct {
	shape shape
	ls    []float64 // never written after construction
	inv   []float64 // 1/ls
}

// Matern12 returns the exponential kernel k(r) = exp(−r), whose sample paths are continuous but nowhere differentiable.
//
// One length makes it isotropic, more give one length to each dimension. It
// panics without a length or with one outside [2^-500, 2^500].
func Matern12(lengths ...float64) Stationary { return newStationary(matern12, lengths) }

// Matern32 returns the Matérn kernel of smoothness 3/2, k(r) = (1 + √3·r)·exp(−√3·r), with
// once differentiable sample paths. Lengths are as for [Matern12].
func Matern32(lengths ...float64) Stationary { return newStationary(matern32, lengths) }

// Matern52 returns the Matérn kernel of smoothness 5/2, k(r) = (1 + √5·r + 5r²/3)·exp(−√5·r), with
// twice differentiable sample paths. Lengths are as for [Matern12].
func Matern52(lengths ...float64) Stationary { return newStationary(matern52, lengths) }

// SquaredExp returns the squared exponential (Gaussian) kernel k(r) = exp(−r²/2), with analytic sample paths. Its Gram
// matrices are close to singular as soon as a few points share a length. Lengths are as for [Matern12].
func SquaredExp(lengths ...float64) Stationary { return newStationary(squaredExp, lengths) }

// Matern32x12 returns the product of [Matern32] and [Matern12] with shared lengths, k(r) = (1 + √3·r)·exp(−(1+√3)·r),
// with half the parameters of Product(Matern32(…), Matern12(…)) and one exponential. Lengths are as for [Matern12].
func Matern32x12(lengths ...float64) Stationary { return newStationary(matern32x12, lengths) }

func newStationary(s shape, lengths []float64) Stationary {
	if len(lengths) == 0 {
		panic(fmt.Sprintf("kernel: %s: no length", shapeNames[s]))
	}
	for i, l := range lengths {
		mustParam(shapeNames[s], fmt.Sprintf("length %d", i), l)
	}
	return withLengths(s, slices.Clone(lengths))
}

// withLengths returns the kernel of lengths that have been checked, which it keeps.
func withLengths(s shape, ls []float64) Stationary {
	inv := each.Of(ls, func(l float64) float64 { return 1 / l })
	return Stationary{s, ls, inv}
}

// Lengths returns a copy of the lengths: one if k is isotropic, else one for each dimension.
func (k Stationary) Lengths() []float64 { return slices.Clone(k.ls) }

func (k Stationary) name() string        { return shapeNames[k.shape] }
func (k Stationary) radial() *f64.Radial { return &shapes[k.shape] }

func (k Stationary) isotropic() bool { return len(k.ls) == 1 }

// Eval returns k(x, y).
func (k Stationary) Eval(x, y []float64) float64 {
	v, _ := f64.Ops.RadialAt(k.square("Eval", x, y), k.radial())
	return v
}

func (k Stationary) square(op string, x, y []float64) float64 {
	if len(x) != len(y) {
		panic(fmt.Sprintf("kernel: %s: %s: points of dimension %d and %d", k.name(), op, len(x), len(y)))
	}
	k.checkDim(op, len(x))
	var s float64
	if k.isotropic() {
		inv := k.inv[0]
		for i, v := range x {
			d := (v - y[i]) * inv
			s += d * d
		}
		return s
	}
	for i, v := range x {
		d := (v - y[i]) * k.inv[i]
		s += d * d
	}
	return s
}

func (k Stationary) checkDim(op string, dim int) {
	if !k.takes(dim) {
		panic(fmt.Sprintf("kernel: %s: %s: points of dimension %d, %d lengths", k.name(), op, dim, len(k.ls)))
	}
}

func (k Stationary) takes(dim int) bool { return k.isotropic() || len(k.ls) == dim }

// NumParams returns the number of lengths.
func (k Stationary) NumParams() int { return len(k.ls) }

// AppendParams appends the logarithms of the lengths.
func (k Stationary) AppendParams(dst []float64) []float64 {
	for _, l := range k.ls {
		dst = append(dst, math.Log(l))
	}
	return dst
}

// WithParams returns the kernel of the same shape with lengths exp(theta).
func (k Stationary) WithParams(theta []float64) (Kernel, error) {
	if len(theta) != len(k.ls) {
		return nil, &ParamCountError{Kernel: k.name(), Got: len(theta), Want: len(k.ls)}
	}
	ls := make([]float64, len(theta))
	for i := range ls {
		var err error
		if ls[i], err = fromLog(k.name(), theta, i); err != nil {
			return nil, err
		}
	}
	return withLengths(k.shape, ls), nil
}

// ParamGrad sets dst to the derivatives by the log-lengths,
//
//	∂k/∂log ℓ_d = −k'(r)/r·((x_d − y_d)/ℓ_d)²,
//
// which vanish at x = y for every shape, and returns k(x, y).
func (k Stationary) ParamGrad(dst, x, y []float64) float64 {
	if want := len(k.ls); len(dst) != want {
		panic(countMessage(k, "ParamGrad", len(dst), want))
	}
	s := k.square("ParamGrad", x, y)
	v, slope := f64.Ops.RadialAt(s, k.radial())
	if k.isotropic() {
		dst[0] = slope
		return v
	}
	if s > f64.FarSquare {
		clear(dst) // a square below may overflow
		return v
	}
	c := ratio(slope, s)
	for i, xi := range x {
		d := (xi - y[i]) * k.inv[i]
		dst[i] = c * (d * d)
	}
	return v
}

// ratio returns slope/s = −k'(r)/r, and 0 at s = 0: what it multiplies there is
// zero, and for the shapes with a kink it is infinite.
func ratio(slope, s float64) float64 {
	if s == 0 {
		return 0
	}
	return slope / s
}

// String returns the kernel in the form of a call, such as "Matern32(0.5)".
func (k Stationary) String() string {
	lengths := each.Of(k.ls, func(l float64) string { return fmt.Sprintf("%.4g", l) })
	return k.name() + "(" + strings.Join(lengths, ", ") + ")"
}
