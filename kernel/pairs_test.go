package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// TestPairsReuse runs one Pairs over point sets that grow and shrink, kernels of
// all kinds in turn: the results must be those of a fresh one.
func TestPairsReuse(t *testing.T) {
	rng := testutil.RNG(t)
	var p kernel.Pairs
	for _, size := range [][2]int{{7, 3}, {20, 3}, {5, 3}, {9, 6}, {6, 2}, {0, 2}, {1, 4}, {70, 5}} {
		n, dim := size[0], size[1]
		x := points(t, n, dim)
		p.Reset(x)
		for i := range n {
			clear(x.Row(i)) // the points were copied
		}
		x = points(t, n, dim)
		w := linalg.NewSym(n, testutil.SPD(rng, n, 10))
		for range 2 {
			for _, k := range kernels(dim) {
				var g, want linalg.Sym
				dst, wantDst := make([]float64, k.NumParams()), make([]float64, k.NumParams())
				p.Gram(&g, k)
				p.GradDot(dst, w)
				q := kernel.NewPairs(x)
				q.Gram(&want, k)
				q.GradDot(wantDst, w)
				if fmt.Sprint(dst) != fmt.Sprint(wantDst) {
					t.Fatalf("n %d, %v: gradient %v, fresh %v", n, k, dst, wantDst)
				}
				for i := range n {
					for j := range n {
						if g.At(i, j) != want.At(i, j) {
							t.Fatalf("n %d, %v: entry (%d, %d) is %v, fresh %v", n, k, i, j, g.At(i, j), want.At(i, j))
						}
					}
				}
			}
		}
	}
}

// TestGradDotWeights: a NaN among the weights must not be lost, not even where the
// derivative is zero.
func TestGradDotWeights(t *testing.T) {
	x := points(t, 3, 2)
	for d := range 2 {
		x.Set(2, d, x.At(0, d)) // equal points
	}
	for _, k := range kernels(2) {
		for _, at := range [][2]int{{0, 0}, {1, 0}, {2, 0}} {
			p := kernel.NewPairs(x)
			w := linalg.NewSym(3, nil)
			w.Set(at[0], at[1], math.NaN())
			var g linalg.Sym
			p.Gram(&g, k)
			dst := make([]float64, k.NumParams())
			p.GradDot(dst, w)
			for i, v := range dst {
				if !math.IsNaN(v) {
					t.Errorf("%v: entry %d is %v with weight %v undefined", k, i, v, at)
				}
			}
		}
	}
}

// TestGradDotDifferences holds the fallback for kernels without gradients to the
// error it states.
func TestGradDotDifferences(t *testing.T) {
	x := points(t, 12, 3)
	rng := testutil.RNG(t)
	w := linalg.NewSym(12, testutil.SPD(rng, 12, 10))
	for _, k := range kernels(3) {
		var g linalg.Sym
		want, got := make([]float64, k.NumParams()), make([]float64, k.NumParams())
		p := kernel.NewPairs(x)
		p.Gram(&g, k)
		p.GradDot(want, w)
		p.Gram(&g, only{k})
		p.GradDot(got, w)
		var scale float64 // Σ|w|·k, what the sums could be
		for i := range 12 {
			for j := range 12 {
				scale += math.Abs(w.At(i, j)) * g.At(i, j)
			}
		}
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-9*scale) {
				t.Errorf("%v: entry %d is %v by differences, %v", k, i, got[i], want[i])
			}
		}
	}
	// At the end of the range of a parameter there is no difference to take.
	k := only{kernel.Constant(0x1p500)}
	var g linalg.Sym
	got := make([]float64, 1)
	p := kernel.NewPairs(x)
	p.Gram(&g, k)
	p.GradDot(got, w)
	if !math.IsNaN(got[0]) {
		t.Errorf("difference across the end of the range: %v", got[0])
	}
}

func TestAllocations(t *testing.T) {
	x := points(t, 40, 6)
	w := linalg.NewSym(40, testutil.SPD(testutil.RNG(t), 40, 10))
	for _, k := range []kernel.Kernel{
		kernel.Matern32(0.5), kernel.Scale(2, kernel.Matern32x12(0.5)), kernel.Scale(2, kernel.Matern52(lengths(6)...)),
		kernel.Sum(kernel.Scale(2, kernel.Matern32(0.5)), kernel.Constant(1)),
	} {
		var p kernel.Pairs
		var g linalg.Sym
		var c linalg.Dense
		dst, diag := make([]float64, k.NumParams()), make([]float64, 40)
		testutil.ZeroAlloc(t, func() { p.Reset(x); p.Gram(&g, k); p.GradDot(dst, w) })
		testutil.ZeroAlloc(t, func() { kernel.Gram(&g, k, x); kernel.Cross(&c, k, x, x); kernel.Diag(diag, k, x) })
	}
}
