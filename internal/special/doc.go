// Package special holds the scalar functions that probabilities need and package math lacks: the normal distribution to full
// precision in both tails, its expected excess (the kernel of expected improvement) and two logarithms that would cancel.
//
// φ and Φ are the density and the distribution function of the standard normal law, and for x ≥ 0
//
//	M(x) = Φ(−x)/φ(x)    Mills' ratio, √(π/2) at 0, about 1/x far out
//	R(x) = 1 − x·M(x)    1 at 0, about 1/x² far out
//	h(z) = φ(z) + z·Φ(z) = E max(0, z + ε), ε ~ N(0, 1).
//
// M and R are smooth, positive and free of overflow, and evaluated by one polynomial each;
// the factor φ is put on only where it is wanted, from a square formed in two parts.
//
// Every function is defined for every float64; a NaN gives a NaN. The tests hold the error
// bounds against 50-digit values, where the result is a normal number. u is 2^-53.
package special
