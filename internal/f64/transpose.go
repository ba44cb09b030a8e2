package f64

// Transpose works on four rows of a at a time, in blocks of columns that stay in the cache.
func (*generic) Transpose(rows, cols int, dst []float64, ldd int, a []float64, lda int) {
	const nb = 32
	for j0 := 0; j0 < cols; j0 += nb {
		jb := min(nb, cols-j0)
		i := 0
		for ; i+4 <= rows; i += 4 {
			s0 := a[i*lda+j0:][:jb]
			s1 := a[(i+1)*lda+j0:][:len(s0)]
			s2 := a[(i+2)*lda+j0:][:len(s0)]
			s3 := a[(i+3)*lda+j0:][:len(s0)]
			o := j0*ldd + i
			for j, v := range s0 {
				d := dst[o : o+4 : o+4]
				d[0], d[1], d[2], d[3] = v, s1[j], s2[j], s3[j]
				o += ldd
			}
		}
		for ; i < rows; i++ {
			for j, v := range a[i*lda+j0:][:jb] {
				dst[(j0+j)*ldd+i] = v
			}
		}
	}
}
