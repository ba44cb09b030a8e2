package spectral

import (
	"errors"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

var benchSmall = []int{50, 100, 300}

func benchSym(n int) *linalg.Sym { return kernelMatrix(n, 0.1, 1e-6) }

func BenchmarkEigenValues(b *testing.B) {
	testutil.BenchCubes(b, 4.0/3, benchSmall, func(n int) func() {
		a, e := benchSym(n), new(EigenSym)
		return func() {
			if err := e.FactorizeValues(a); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEigenVectors(b *testing.B) {
	testutil.BenchCubes(b, 14.0/3, benchSmall, func(n int) func() {
		a, e := benchSym(n), new(EigenSym)
		return func() {
			if err := e.Factorize(a); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchCross is what distances decompose: L1ᵀ·L0 for two covariances.
func benchCross(b *testing.B, n int) *linalg.Dense {
	var p, q linalg.Cholesky
	if err := errors.Join(p.Factorize(kernelMatrix(n, 0.15, 1e-6)), q.Factorize(benchSym(n))); err != nil {
		b.Fatal(err)
	}
	m := new(linalg.Dense)
	linalg.TransMulLower(m, p.Lower(), q.Lower())
	return m
}

func BenchmarkNuclearNorm(b *testing.B) {
	testutil.BenchCubes(b, 8.0/3, benchSmall, func(n int) func() {
		m, d := benchCross(b, n), new(SVD)
		return func() { d.NuclearNorm(m) }
	})
}

func BenchmarkSingularValues(b *testing.B) {
	testutil.BenchCubes(b, 8.0/3, benchSmall, func(n int) func() {
		m, d, s := benchCross(b, n), new(SVD), make([]float64, n)
		return func() {
			if err := d.SingularValues(s, m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPolar(b *testing.B) {
	testutil.BenchCubes(b, 20.0/3, benchSmall, func(n int) func() {
		m, d, u := benchCross(b, n), new(SVD), new(linalg.Dense)
		return func() {
			if err := d.PolarTo(u, m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSqrt(b *testing.B) {
	testutil.BenchCubes(b, 10.0/3, []int{5, 8, 12, 50, 100, 300}, func(n int) func() {
		a, r, s := benchSym(n), new(RootPSD), new(linalg.Sym)
		return func() {
			if err := r.SqrtTo(s, a); err != nil {
				b.Fatal(err)
			}
		}
	})
}
