package linalg

import (
	"context"
	"runtime"
	"sync"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// parallelWork is the number of multiplications and additions from which an
// operation is worth two goroutines: that of a product of size 200.
var parallelWork = 2 * 200.0 * 200 * 200

// workers returns how many goroutines to use for an operation of so many
// multiplications and additions that is cut into at most parts parts.
func workers(work float64, parts int) int {
	if work < parallelWork || parts < 2 {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), parts)
}

// parallelRows calls f(lo, hi) for the ranges [0, grain), [grain, 2·grain), … of
// [0, n) from so many goroutines, itself one of them. Ranges are fixed by n and
// grain; f must write where no other range does, so that results do not depend
// on who runs what. A function passed here is allocated, which is why callers
// take another path for one goroutine.
func parallelRows(workers, n, grain int, f func(lo, hi int)) {
	err := parallel.For(context.Background(), workers, (n+grain-1)/grain, func(_, i int) error {
		f(i*grain, min((i+1)*grain, n))
		return nil
	})
	if err != nil {
		panic(err) // f panicked, and nothing else fails
	}
}

// gemm is f64.Gemm with the rows of C shared between goroutines where that pays,
// cut where f64.Gemm allows it.
func gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	gemmWith(f64.Gemm, m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
}

// gemmWith is gemm for f64.Gemm or f64.GemmSet as the product.
func gemmWith(product func(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int),
	m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	w := workers(2*float64(m)*float64(n)*float64(k), m/16)
	if w == 1 {
		product(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
		return
	}
	grain := (m/w + 16) &^ 15
	parallelRows(w, m, grain, func(lo, hi int) {
		product(hi-lo, n, k, alpha, a[lo*ars:], ars, acs, b, brs, bcs, c[lo*ldc:], ldc)
	})
}

// gemmSet is gemm for a C that is zero, whatever it is.
func gemmSet(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	gemmWith(f64.GemmSet, m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
}

// symLower adds alpha·A·B to the lower triangle of the n×n matrix C, where A·B
// is symmetric with inner dimension k. Entries of C above the diagonal but close
// to it are written too.
func symLower(n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	if k == 0 {
		return
	}
	rows := f64.Rows()
	if n <= symLeaf {
		for i := 0; i < n; i += rows {
			mb := min(rows, n-i)
			f64.Gemm(mb, i+mb, k, alpha, a[i*ars:], ars, acs, b, brs, bcs, c[i*ldc:], ldc)
		}
		return
	}
	h := (n/2 + rows - 1) / rows * rows
	if workers(float64(n)*float64(n)*float64(k), 2) == 1 {
		symLower(h, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
		symLower(n-h, k, alpha, a[h*ars:], ars, acs, b[h*bcs:], brs, bcs, c[h*ldc+h:], ldc)
	} else {
		parallelRows(2, 2, 1, func(lo, _ int) {
			if lo == 0 {
				symLower(h, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
			} else {
				symLower(n-h, k, alpha, a[h*ars:], ars, acs, b[h*bcs:], brs, bcs, c[h*ldc+h:], ldc)
			}
		})
	}
	gemm(n-h, h, k, alpha, a[h*ars:], ars, acs, b, brs, bcs, c[h*ldc:], ldc)
}

// symLeaf is the size up to which symLower works in strips of f64.Rows rows.
var symLeaf = 16

// scratches keeps temporary matrices of operations that have no receiver to keep
// them in.
var scratches = sync.Pool{New: func() any { return new([]float64) }}

// getScratch returns n numbers of unspecified value in a slice to be given back
// with scratches.Put.
func getScratch(n int) *[]float64 {
	s := scratches.Get().(*[]float64)
	*s = grow(*s, n)
	return s
}
