// Package accel puts vector kernels in place of the plain Go loops under linalg,
// kernel and gaussian. It is imported for that effect:
//
//	import _ "github.com/gocmbo/cmbo/linalg/accel"
//
// A program that does not import it, itself or through another package, links no
// assembly. At its start the package asks the processor what it has and the operating
// system which registers it saves, and installs the best of three tiers, which [Tier] tells:
//
//   - avx512: vectors of 8, AVX-512 F, DQ and VL beside AVX2 and FMA;
//   - avx2: vectors of 4, AVX2 and FMA;
//   - none: the plain loops stay, as they do on platforms other than amd64, with
//     compilers other than gc, and with the build tag purego (or noasm).
//
// # What is guaranteed
//
// On one tier every result is a function of the arguments, bit for bit: machines with the same tier agree, on any number of
// goroutines. What the loops promise of products and solves in parts holds for the kernels too.
//
// Tiers differ from each other and from the loops in last digits: they fuse multiplications and additions and sum in another
// order. They have the bounds of the loops, γ_k = k·u/(1 − k·u), u = 2⁻⁵³: γ_k·Σ|terms| for a sum of k products, |b − L·x| ≤
// γ_{n+2}·|L|·|x| for solves, |A − L·Lᵀ| ≤ γ_{n+2}·|L|·|Lᵀ| for factors. Exponentials are within 0.9 units in the last
// place, 0.95 where the result is denormal, with the special cases of math.Exp. Sums over poles have a relative error of a
// few units for each row.
//
// Infinities and NaNs go where the formulas send them; in triangular solves, if neither the
// reciprocals of the diagonal nor their products with the row overflow. Denormal numbers are kept.
//
// # Kernels
//
// The assembly is written by the program in the directory gen, one description for both tiers: go run -C gen . .. makes it
// anew. Every kernel says in its comment which registers it uses, how it cuts its work into vectors, and why it touches
// nothing outside its slices. The Go functions that call them check lengths first. The tests compare every kernel of every
// tier that the machine has with its definition, on memory that ends at pages which cannot be touched. Rates and times on
// the machine at hand:
//
//	go test -run 'Report|Stages|Small' -report ./linalg/accel/
//	go test -run '^$' -bench . ./linalg/accel/
package accel
