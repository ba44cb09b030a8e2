package f64

const inverseStep = stripRows

// InvertRows leaves U in u by rows of length n. Entries of a row before its first one are zero.
func (*generic) InvertRows(n, i int, u, l []float64, ldl int) {
	ib := min(inverseStep, n-i)
	for r := i; r < i+ib; r++ {
		clear(u[r*n+i : r*n+n])
		u[r*n+r] = 1
	}
	Generic.Trsm(ib, n-i, u[i*n+i:], n, l[i*ldl+i:], ldl)
}

func (*generic) InverseRows(n, i int, c []float64, ldc int, u []float64) {
	ib := min(inverseStep, n-i)
	Generic.GemmSet(ib, i+ib, n-i, 1, u[i*n+i:], n, 1, u[i:], 1, n, c[i*ldc:], ldc)
}
