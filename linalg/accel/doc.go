// Package accel puts vector kernels in place of the plain Go loops under linalg,
// kernel and gaussian. It is imported for that effect:
//
//	import _ "github.com/gocmbo/cmbo/linalg/accel"
//
// A program that does not import it, itself or through another package, links no
// assembly.
//
// # Tiers
//
// When the program starts, the package asks the processor what it has and the
// operating system which registers it saves, and installs the best of
//
//   - avx512: vectors of 8, AVX-512 F, DQ and VL beside AVX2 and FMA;
//   - avx2: vectors of 4, AVX2 and FMA;
//   - none: the plain loops stay.
//
// [Tier] tells which. On platforms other than amd64, with compilers other than
// gc, and with the build tag purego (or noasm) the package is empty, and it is
// always "none".
//
// # What is guaranteed
//
// On one tier every result is a function of the arguments, bit for bit: machines
// with the same tier agree, on any number of goroutines. What the loops promise
// of products and solves in parts holds for the kernels too.
//
// Tiers differ from each other and from the loops in last digits: they fuse
// multiplications and additions and sum in another order. Sums of k products are
// within γ_k·Σ|terms| of the exact ones on every tier, γ_k = k·u/(1 − k·u),
// u = 2⁻⁵³, solves with triangular matrices satisfy |b − L·x| ≤ γ_{n+2}·|L|·|x|,
// factors of positive definite matrices |A − L·Lᵀ| ≤ γ_{n+2}·|L|·|Lᵀ|, which are the
// bounds the loops have. Exponentials are within 0.9 units in the
// last place of the exact ones, 0.95 where the result is denormal, with the
// special cases of math.Exp. Sums over poles have a relative error of a few units
// for each row, like the loops.
//
// Infinities and NaNs go where the formulas send them. In triangular solves that
// holds for diagonals of which neither the reciprocal nor its product with the
// row overflows. Denormal numbers are kept.
//
// # Kernels
//
// The assembly is written by the program in the directory gen, one description
// for both tiers, and checked in:
//
//	go run -C gen . ..
//
// Every kernel says in its comment which registers it uses, how it cuts its work
// into vectors, and why it touches nothing outside its slices. The Go functions that
// call them check lengths first. The tests compare every kernel of every tier that the
// machine has with its definition, on memory that ends at pages which cannot be touched;
// those of the packages above run on the kernels with the build tag accel. Rates and
// times on the machine at hand:
//
//	go test -run 'Report|Stages|Small' -report ./linalg/accel/
//	go test -run '^$' -bench . ./linalg/accel/
package accel
