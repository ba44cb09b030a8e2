package f64

const inverseStep = stripRows

// invertRows leaves U in u by rows of length n. Entries of a row before its first
// one are zero.
func invertRows(n, i int, u, l []float64, ldl int) {
	ib := min(inverseStep, n-i)
	for r := i; r < i+ib; r++ {
		clear(u[r*n+i : r*n+n])
		u[r*n+r] = 1
	}
	trsm(ib, n-i, u[i*n+i:], n, l[i*ldl+i:], ldl)
}

func inverseRows(n, i int, c []float64, ldc int, u []float64) {
	ib := min(inverseStep, n-i)
	gemmSet(ib, i+ib, n-i, 1, u[i*n+i:], n, 1, u[i:], 1, n, c[i*ldc:], ldc)
}
