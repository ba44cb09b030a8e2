// Package qmc generates low-discrepancy points in the open unit cube: Sobol's sequence (I. M. Sobol', On the distribution of
// points in a cube and the approximate evaluation of integrals, USSR Comput. Math. Math. Phys. 7 (1967) 86–112), scrambled.
//
// A [Sobol] value is determined by its dimension and the state of the random source it was made with, which it reads only
// then. Coordinates are odd multiples of 2^-53, never 0 or 1. With scrambling every single point is uniform in the cube.
// Among the points 0, …, 2^m − 1, and in every later block of 2^m points that starts at a multiple of 2^m,
//
//   - every coordinate has exactly one point in each interval [c, c+1)/2^m;
//   - the first two coordinates have exactly one point in each dyadic rectangle of area 2^-m;
//   - with 2^m = 2^d points, each of the 2^d orthants of the first d coordinates
//     has exactly one (property A), for every d up to 52.
//
// Any two of the first 20 coordinates have exactly 16 of 2^10 points in each dyadic rectangle of area 2^-6, any two of the
// first [MaxDim] 64 of them in those of area 2^-4. So a power of two of points is best, and dropping the first would destroy
// the balance (A. B. Owen, On dropping the first Sobol' point, MCQMC 2020). Coordinates beyond MaxDim, for which there are
// no direction numbers, are pseudo-random.
package qmc
