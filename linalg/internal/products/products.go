// Package products holds what linalg and the packages below it make their operations of: products
// on slices whose rows are shared between goroutines where that pays, and scratch memory.
package products

import (
	"context"
	"runtime"
	"sync"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// ParallelWork is the number of multiplications and additions from which an
// operation is worth two goroutines: that of a product of size 200.
var ParallelWork = 2 * 200.0 * 200 * 200

// Workers returns how many goroutines to use for an operation of so many
// multiplications and additions that is cut into at most parts parts.
func Workers(work float64, parts int) int {
	if work < ParallelWork || parts < 2 {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), parts)
}

// ParallelRows calls f(lo, hi) for the ranges [0, grain), [grain, 2·grain), … of [0, n) from so many goroutines, itself one
// of them. Ranges are fixed by n and grain; f must write where no other range does, so that results do not depend on who
// runs what. A function passed here is allocated, which is why callers take another path for one goroutine.
func ParallelRows(workers, n, grain int, f func(lo, hi int)) {
	err := parallel.For(context.Background(), workers, (n+grain-1)/grain, func(_, i int) error {
		f(i*grain, min((i+1)*grain, n))
		return nil
	})
	if err != nil {
		panic(err) // f panicked, and nothing else fails
	}
}

// Gemm is that of f64 with the rows of C shared between goroutines where that pays, cut where f64 allows it.
func Gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	gemmWith(f64.Table.Gemm, m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
}

// gemmWith is Gemm for f64.Table.Gemm or f64.Table.GemmSet as the product.
func gemmWith(product func(t f64.Table, m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int,
	c []float64, ldc int),
	m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	w := Workers(2*float64(m)*float64(n)*float64(k), m/16)
	if w == 1 {
		product(f64.Ops, m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
		return
	}
	grain := (m/w + 16) &^ 15
	ParallelRows(w, m, grain, func(lo, hi int) {
		product(f64.Ops, hi-lo, n, k, alpha, a[lo*ars:], ars, acs, b, brs, bcs, c[lo*ldc:], ldc)
	})
}

// GemmSet is Gemm for a C that is zero, whatever it is.
func GemmSet(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	gemmWith(f64.Table.GemmSet, m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
}

// SymLower adds alpha·A·B to the lower triangle of the n×n matrix C, where A·B is symmetric with
// inner dimension k. Entries of C above the diagonal but close to it are written too.
func SymLower(n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	if k == 0 {
		return
	}
	rows := f64.Ops.Rows()
	if n <= symLeaf {
		for i := 0; i < n; i += rows {
			mb := min(rows, n-i)
			f64.Ops.Gemm(mb, i+mb, k, alpha, a[i*ars:], ars, acs, b, brs, bcs, c[i*ldc:], ldc)
		}
		return
	}
	h := (n/2 + rows - 1) / rows * rows
	if Workers(float64(n)*float64(n)*float64(k), 2) == 1 {
		SymLower(h, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
		SymLower(n-h, k, alpha, a[h*ars:], ars, acs, b[h*bcs:], brs, bcs, c[h*ldc+h:], ldc)
	} else {
		ParallelRows(2, 2, 1, func(lo, _ int) {
			if lo == 0 {
				SymLower(h, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
			} else {
				SymLower(n-h, k, alpha, a[h*ars:], ars, acs, b[h*bcs:], brs, bcs, c[h*ldc+h:], ldc)
			}
		})
	}
	Gemm(n-h, h, k, alpha, a[h*ars:], ars, acs, b, brs, bcs, c[h*ldc:], ldc)
}

// symLeaf is the size up to which SymLower works in strips of f64.Ops.Rows rows.
var symLeaf = 16

// scratches keeps temporary matrices of operations that have no receiver to keep them in.
var scratches = sync.Pool{New: func() any { return new([]float64) }}

// Scratch returns n numbers of unspecified value in a slice to be given back with [Release].
func Scratch(n int) *[]float64 {
	s := scratches.Get().(*[]float64)
	*s = f64.Grow(*s, n)
	return s
}

// Release takes a slice of Scratch back.
func Release(s *[]float64) { scratches.Put(s) }

// Mirror copies the lower triangle of an n×n matrix onto the upper one: strips of rows as far as
// their first diagonal entry by f64.Ops.Transpose, then the triangle that is left of each.
func Mirror(n int, a []float64, lda int) {
	const nb = 8
	for i0 := 0; i0 < n; i0 += nb {
		i1 := min(i0+nb, n)
		if i0 > 0 {
			f64.Ops.Transpose(i1-i0, i0, a[i0:], lda, a[i0*lda:], lda)
		}
		for i := i0 + 1; i < i1; i++ {
			for j, v := range a[i*lda+i0 : i*lda+i] {
				a[(i0+j)*lda+i] = v
			}
		}
	}
}
