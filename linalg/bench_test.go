package linalg

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	benchSizes = []int{50, 100, 300, 1000}
	benchSmall = []int{50, 100, 300}
)

// benchSym is a smooth covariance on a grid of n points.
func benchSym(n int) *Sym {
	s := NewSym(n, nil)
	for i := range n {
		for j := range i {
			d := float64(i-j) / float64(n) / 0.1
			s.Set(i, j, math.Exp(-d*d/2))
		}
		s.Set(i, i, 1+1e-6)
	}
	return s
}

func benchChol(b *testing.B, n int) *Cholesky { return mustFactorize(b, benchSym(n)) }

func BenchmarkMul(b *testing.B) {
	testutil.BenchCubes(b, 2, benchSizes, func(n int) func() {
		x, m := randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { m.Mul(x, x) }
	})
}

func BenchmarkMulTrans(b *testing.B) {
	testutil.BenchCubes(b, 2, benchSizes, func(n int) func() {
		x, m := randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { m.MulTrans(x, x) }
	})
}

func BenchmarkTransMul(b *testing.B) {
	testutil.BenchCubes(b, 2, benchSizes, func(n int) func() {
		x, m := randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { m.TransMul(x, x) }
	})
}

func BenchmarkGram(b *testing.B) {
	testutil.BenchCubes(b, 1, benchSizes, func(n int) func() {
		x, s := randDense(testutil.RNG(b), n, n), new(Sym)
		return func() { s.Gram(x) }
	})
}

func BenchmarkAddTransGram(b *testing.B) {
	testutil.BenchCubes(b, 1, benchSmall, func(n int) func() {
		x, s := randDense(testutil.RNG(b), n, n), NewSym(n, nil)
		return func() { s.AddTransGram(1, x) }
	})
}

func BenchmarkCongruence(b *testing.B) {
	testutil.BenchCubes(b, 3, benchSmall, func(n int) func() {
		x, a, s := randDense(testutil.RNG(b), n, n), benchSym(n), new(Sym)
		return func() { s.Congruence(x, a) }
	})
}

func BenchmarkTransMulLower(b *testing.B) {
	testutil.BenchCubes(b, 2.0/3, benchSizes, func(n int) func() {
		l, m := benchChol(b, n).Lower(), new(Dense)
		return func() { TransMulLower(m, l, l) }
	})
}

func BenchmarkMulLower(b *testing.B) {
	testutil.BenchCubes(b, 1, benchSmall, func(n int) func() {
		l, x, m := benchChol(b, n).Lower(), randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { MulLower(m, l, x) }
	})
}

func BenchmarkMulUpper(b *testing.B) {
	testutil.BenchCubes(b, 1, benchSmall, func(n int) func() {
		l, x, m := benchChol(b, n).Lower(), randDense(testutil.RNG(b), n, n), new(Dense)
		return func() { MulUpper(m, l, x) }
	})
}

func BenchmarkCholeskyFactorize(b *testing.B) {
	testutil.BenchCubes(b, 1.0/3, benchSizes, func(n int) func() {
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
	testutil.BenchCubes(b, 2, benchSizes, func(n int) func() {
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
	testutil.BenchCubes(b, 2.0/3, benchSizes, func(n int) func() {
		c, s := benchChol(b, n), new(Sym)
		return func() { c.InverseTo(s) }
	})
}
