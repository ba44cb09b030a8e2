// Package qmc generates low-discrepancy points in the open unit cube: Sobol's
// sequence (I. M. Sobol', On the distribution of points in a cube and the
// approximate evaluation of integrals, USSR Comput. Math. Math. Phys. 7 (1967)
// 86–112), scrambled.
//
// A [Sobol] value is a sequence of points. It is determined by its dimension and
// the state of the random source it was made with, so it is as reproducible as
// that source, and it reads the source only when it is made. The coordinates
// never are 0 or 1: they are odd multiples of 2^-53.
//
// # Properties
//
// With scrambling every single point is uniform in the cube, so averages over
// points are unbiased. Among the points 0, …, 2^m − 1, and in every later block
// of 2^m points that starts at a multiple of 2^m,
//
//   - every coordinate has exactly one point in each interval [c, c+1)/2^m;
//   - the first two coordinates have exactly one point in each dyadic rectangle
//     of area 2^-m;
//   - with 2^m = 2^d points, each of the 2^d orthants of the first d coordinates
//     has exactly one (property A), for every d up to 52.
//
// Any two of the first 20 coordinates have exactly 16 of 2^10 points in each
// dyadic rectangle of area 2^-6, any two of the first [MaxDim] 64 of them in those
// of area 2^-4: the direction numbers, found for this package by a search that
// its tests can repeat, were chosen for their two-dimensional projections.
//
// Balance is best when a power of two of points is used. Dropping the first point
// would destroy it (A. B. Owen, On dropping the first Sobol' point, MCQMC 2020).
//
// Direction numbers are held for MaxDim coordinates; further ones are pseudo-random.
package qmc
