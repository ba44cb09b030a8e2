// Package kernel holds covariance functions as immutable values.
//
// Points are slices of float64, matrices of points have one point in each row. A kernel k(x, y) of the distance r, r² = Σ_d
// ((x_d − y_d)/ℓ_d)², has k(0) = 1; [Scale] puts a variance on it. With one length ℓ a kernel is isotropic and takes points
// of any dimension, with more it has one length for each dimension (automatic relevance determination). [Sum], [Product] and
// [Constant] compose; a composite has the gradient if all its parts have it.
//
//	k := kernel.Scale(1.5, kernel.Matern32(0.3))
//
// [Gram], [Cross] and [Diag] fill matrices from any kernel, and faster from Stationary ones. [Pairs] keeps the distances of
// one point set for a fit, in which only hyperparameters change. All agree with Eval within a few units of rounding.
//
// # Parameters
//
// The parameters θ of a kernel are the logarithms of its positive hyperparameters: first the variance of Scale, then what is
// inside; lengths in the order of the dimensions; parts in the order of the constructor's arguments. Derivatives by
// parameters are derivatives by these logarithms. A round trip through AppendParams and WithParams changes values by a
// relative error of |θ|·2^-52 or so. Hyperparameters lie between 2^-500 and 2^500.
//
// # Failure
//
// Literal mistakes panic with the numbers: a hyperparameter out of range in a constructor, points of different dimensions or
// of another one than the lengths, a destination of the wrong size; [CheckDim] looks at a kernel first. WithParams and
// [Spec.Kernel], which see data, return a typed error. A NaN coordinate gives NaN, but of [Constant].
//
// # A kernel of one's own
//
// Implement [Kernel]; it then works everywhere, also inside Scale, Sum and Product. Implement [ParamGradient] too and a fit
// costs one evaluation for each pair, not two for each pair and parameter. Run package kerneltest on it. The methods must
// not modify the kernel, keep the slices they are given, or depend on anything but their arguments. A zero in a factor is no
// reason to skip work: a NaN must come out as a NaN.
package kernel
