//go:build amd64 && gc && !purego && !noasm

// Package peak runs multiply-adds at the processor's rate, for benchmarks to compare with.
package peak

//go:noescape
func run512(n int)

//go:noescape
func run256(n int)

// Run executes n times 16 vector multiply-adds of so many lanes, 4 or 8, and returns the number of
// floating point operations. The caller must know that the processor has them.
func Run(lanes, n int) (flops float64) {
	if lanes == 8 {
		run512(n)
	} else {
		run256(n)
	}
	return 32 * float64(lanes) * float64(n)
}
