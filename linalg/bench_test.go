package linalg

import (
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// bench runs f at several sizes, set up by setup, and reports the rate for so
// many operations in units of n³.
func bench(b *testing.B, cubes float64, sizes []int, setup func(n int) func()) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			f := setup(n)
			f() // sizes the workspace
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
			flop := cubes * float64(n) * float64(n) * float64(n)
			b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

var (
	benchSizes = []int{50, 100, 300, 1000}
	benchSmall = []int{50, 100, 300}
)

func benchSym(n int) *Sym {
	s := kernelMatrix(n, 0.1, 1e-6)
	return s
}

func benchChol(b *testing.B, n int) *Cholesky { return mustFactorize(b, benchSym(n)) }

func BenchmarkMul(b *testing.B) {
	bench(b, 2, benchSizes, func(n int) func() {
		x, m := randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { m.Mul(x, x) }
	})
}

func BenchmarkMulTrans(b *testing.B) {
	bench(b, 2, benchSizes, func(n int) func() {
		x, m := randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { m.MulTrans(x, x) }
	})
}

func BenchmarkTransMul(b *testing.B) {
	bench(b, 2, benchSizes, func(n int) func() {
		x, m := randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { m.TransMul(x, x) }
	})
}

func BenchmarkGram(b *testing.B) {
	bench(b, 1, benchSizes, func(n int) func() {
		x, s := randDense(testutil.RNG(b), n, n), new(Sym)
		return func() { s.Gram(x) }
	})
}

func BenchmarkAddTransGram(b *testing.B) {
	bench(b, 1, benchSmall, func(n int) func() {
		x, s := randDense(testutil.RNG(b), n, n), NewSym(n, nil)
		return func() { s.AddTransGram(1, x) }
	})
}

func BenchmarkCongruence(b *testing.B) {
	bench(b, 3, benchSmall, func(n int) func() {
		x, a, s := randDense(testutil.RNG(b), n, n), benchSym(n), new(Sym)
		return func() { s.Congruence(x, a) }
	})
}

func BenchmarkTransMulLower(b *testing.B) {
	bench(b, 2.0/3, benchSizes, func(n int) func() {
		l, m := benchChol(b, n).Lower(), new(Dense)
		return func() { TransMulLower(m, l, l) }
	})
}

func BenchmarkMulLower(b *testing.B) {
	bench(b, 1, benchSmall, func(n int) func() {
		l, x, m := benchChol(b, n).Lower(), randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { MulLower(m, l, x) }
	})
}

func BenchmarkMulUpper(b *testing.B) {
	bench(b, 1, benchSmall, func(n int) func() {
		l, x, m := benchChol(b, n).Lower(), randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { MulUpper(m, l, x) }
	})
}

func BenchmarkCholeskyFactorize(b *testing.B) {
	bench(b, 1.0/3, benchSizes, func(n int) func() {
		a, c := benchSym(n), new(Cholesky)
		return func() {
			if err := c.Factorize(a); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCholeskyAppend(b *testing.B) {
	for _, n := range benchSmall {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			a := benchSym(n + 1)
			idx := make([]int, n)
			for i := range idx {
				idx[i] = i
			}
			head := new(Sym)
			head.Subset(a, idx)
			c := mustFactorize(b, head)
			row, diag := a.Row(n)[:n], a.At(n, n)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Append(row, diag); err != nil {
					b.Fatal(err)
				}
				c.l.rows, c.l.cols = n, n
			}
			b.ReportMetric(float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkCholeskySolveTo(b *testing.B) {
	bench(b, 2, benchSizes, func(n int) func() {
		c, x, m := benchChol(b, n), randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { c.SolveTo(m, x) }
	})
}

func BenchmarkCholeskySolveVecTo(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			c, x := benchChol(b, n), make([]float64, n)
			rhs := randDense(testutil.RNG(b), 1, n).Row(0)
			b.ReportAllocs()
			for b.Loop() {
				c.SolveVecTo(x, rhs)
			}
			b.ReportMetric(2*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkCholeskyInverseTo(b *testing.B) {
	bench(b, 2.0/3, benchSizes, func(n int) func() {
		c, s := benchChol(b, n), new(Sym)
		return func() { c.InverseTo(s) }
	})
}

func BenchmarkEigenValues(b *testing.B) {
	bench(b, 4.0/3, benchSmall, func(n int) func() {
		a, e := benchSym(n), new(EigenSym)
		return func() {
			if err := e.FactorizeValues(a); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEigenVectors(b *testing.B) {
	bench(b, 14.0/3, benchSmall, func(n int) func() {
		a, e := benchSym(n), new(EigenSym)
		return func() {
			if err := e.Factorize(a); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchCross is what distances decompose: L1ᵀ·L0 for two covariances.
func benchCross(b *testing.B, n int) *Dense {
	m := new(Dense)
	TransMulLower(m, mustFactorize(b, kernelMatrix(n, 0.15, 1e-6)).Lower(), benchChol(b, n).Lower())
	return m
}

func BenchmarkNuclearNorm(b *testing.B) {
	bench(b, 8.0/3, benchSmall, func(n int) func() {
		m, d := benchCross(b, n), new(SVD)
		return func() { d.NuclearNorm(m) }
	})
}

func BenchmarkSingularValues(b *testing.B) {
	bench(b, 8.0/3, benchSmall, func(n int) func() {
		m, d, s := benchCross(b, n), new(SVD), make([]float64, n)
		return func() {
			if err := d.SingularValues(s, m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPolar(b *testing.B) {
	bench(b, 20.0/3, benchSmall, func(n int) func() {
		m, d, u := benchCross(b, n), new(SVD), new(Dense)
		return func() {
			if err := d.PolarTo(u, m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSqrt compares the two routes, by poles and by eigenvectors.
func BenchmarkSqrt(b *testing.B) {
	for name, min := range map[string]int{"poles": 1, "eigenvectors": 1 << 30} {
		b.Run(name, func(b *testing.B) {
			defer setDuringTest(&rootMinSize, min)()
			bench(b, 10.0/3, []int{5, 8, 12, 50, 100, 300}, func(n int) func() {
				a, r, s := benchSym(n), new(RootPSD), new(Sym)
				return func() {
					if err := r.SqrtTo(s, a); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
