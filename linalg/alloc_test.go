package linalg

import (
	"runtime"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestZeroAlloc: with destinations and receivers that have seen the size, no
// operation allocates, below the size of two goroutines and above it on one.
func TestZeroAlloc(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, n := range []int{9, 70, 210} {
		if n > 100 && testing.Short() {
			break
		}
		rng := testutil.RNG(t)
		a := NewSym(n, testutil.SPD(rng, n, 1e6))
		g := randDense(rng, n, n)
		x := make([]float64, n)
		y := make([]float64, n)
		var c, ap Cholesky
		if err := c.Factorize(a); err != nil {
			t.Fatal(err)
		}
		l := c.Lower()
		var head Sym // the leading block, for a factor that grows back
		idx := make([]int, n-1)
		for i := range idx {
			idx[i] = i
		}
		head.Subset(a, idx)
		var m Dense
		var s Sym
		for name, f := range map[string]func(){
			"Mul":             func() { m.Mul(g, g) },
			"MulTrans":        func() { m.MulTrans(g, g) },
			"TransMul":        func() { m.TransMul(g, g) },
			"CopyTrans":       func() { m.CopyTrans(g) },
			"MulVecTo":        func() { g.MulVecTo(y, x) },
			"Gram":            func() { s.Gram(g) },
			"AddTransGram":    func() { s.Resize(n); s.AddTransGram(1, g) },
			"Congruence":      func() { s.Congruence(g, a) },
			"Sym.MulVecTo":    func() { a.MulVecTo(y, x) },
			"TransMulLower":   func() { TransMulLower(&m, l, l) },
			"MulLower":        func() { MulLower(&m, l, g) },
			"MulUpper":        func() { MulUpper(&m, l, g) },
			"Factorize":       func() { _ = ap.Factorize(a) },
			"FactorizeJitter": func() { _, _ = ap.FactorizeJitter(a, 1e-4) },
			"Append": func() {
				_ = ap.Factorize(&head)
				_ = ap.Append(a.Row(n - 1)[:n-1], a.At(n-1, n-1))
			},
			"SolveLowerVecTo": func() { c.SolveLowerVecTo(y, x) },
			"SolveUpperVecTo": func() { c.SolveUpperVecTo(y, x) },
			"SetLower":        func() { _ = ap.SetLower(l) },
			"SolveTo":         func() { c.SolveTo(&m, g) },
			"SolveLowerTo":    func() { c.SolveLowerTo(&m, g) },
			"SolveUpperTo":    func() { c.SolveUpperTo(&m, g) },
			"SolveVecTo":      func() { c.SolveVecTo(y, x) },
			"InverseTo":       func() { c.InverseTo(&s) },
			"LogDet":          func() { c.LogDet() },
			"Subset":          func() { s.Subset(a, []int{0, 2, 1}) },
		} {
			t.Run(name, func(t *testing.T) { testutil.ZeroAlloc(t, f) })
		}
	}
}
