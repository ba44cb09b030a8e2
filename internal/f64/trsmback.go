package f64

import "slices"

// TrsmBack is trsm with the lower triangular matrix that has the rows and columns
// of Lᵀ in reverse order, on rows of X in reverse order.
func (*generic) TrsmBack(m, n int, x []float64, ldx int, l []float64, ldl int) {
	if m <= 0 || n <= 0 {
		return
	}
	buf := packs.Get().(*[]float64)
	*buf = Grow(*buf, n*n)
	r := *buf
	reverseLower(n, r, l, ldl)
	for i := range m {
		slices.Reverse(x[i*ldx:][:n])
	}
	Generic.Trsm(m, n, x, ldx, r, n)
	for i := range m {
		slices.Reverse(x[i*ldx:][:n])
	}
	packs.Put(buf)
}

// reverseLower sets the lower triangle of the n×n matrix r to that of Lᵀ with
// the order of rows and of columns reversed: r_ij = l_pq, p = n−1−j, q = n−1−i.
func reverseLower(n int, r, l []float64, ldl int) {
	for i := range n {
		ri, o := r[i*n:i*n+i+1], (n-1)*ldl+n-1-i
		for j := range ri {
			ri[j] = l[o]
			o -= ldl
		}
	}
}
