package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/kernel/kerneltest"
	"github.com/gocmbo/cmbo/linalg"
)

// constructors of all shapes, by name.
var constructors = map[string]func(...float64) kernel.Stationary{
	"Matern12":    kernel.Matern12,
	"Matern32":    kernel.Matern32,
	"Matern52":    kernel.Matern52,
	"SquaredExp":  kernel.SquaredExp,
	"Matern32x12": kernel.Matern32x12,
}

// TestGolden compares every shape with values computed in 50-digit arithmetic.
func TestGolden(t *testing.T) {
	var file struct {
		Cases []struct {
			Kernel       string
			Variance     float64
			Lengthscales []float64
			X, Z         []float64
			K            float64
		}
	}
	testutil.Golden(t, "kernel.json", &file)
	names := map[string]string{
		"matern12": "Matern12", "matern32": "Matern32", "matern52": "Matern52",
		"se": "SquaredExp", "matern32*matern12": "Matern32x12",
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range file.Cases {
		make, ok := constructors[names[c.Kernel]]
		if !ok {
			t.Errorf("case %d: kernel %q", i, c.Kernel)
			continue
		}
		st := make(c.Lengthscales...)
		x, z := linalg.NewDense(1, len(c.X), c.X), linalg.NewDense(1, len(c.Z), c.Z)
		both := linalg.NewDense(2, len(c.X), append(append([]float64(nil), c.X...), c.Z...))
		k := kernel.Scale(c.Variance, st)
		var cross linalg.Dense
		var g, p linalg.Sym
		kernel.Cross(&cross, k, x, z)
		kernel.Gram(&g, k, both)
		kernel.NewPairs(both).Gram(&p, k)
		got := []float64{k.Eval(c.X, c.Z), k.Eval(c.Z, c.X), cross.At(0, 0), g.At(1, 0), p.At(1, 0)}
		if c.Kernel == "matern32*matern12" {
			product := kernel.Product(kernel.Matern32(c.Lengthscales...), kernel.Matern12(c.Lengthscales...))
			got = append(got, kernel.Scale(c.Variance, product).Eval(c.X, c.Z))
		}
		for _, v := range got {
			// Below the normal numbers a relative error means nothing.
			if !testutil.Close(v, c.K, 1e-12) && !(math.Abs(v-c.K) <= 0x1p-1060) {
				t.Errorf("case %d, %v: got %v, want %v", i, k, got, c.K)
				break
			}
		}
	}
}

// kernels returns kernels of every kind for points of dimension dim.
func kernels(dim int) []kernel.Kernel {
	var ks []kernel.Kernel
	for _, name := range []string{"Matern12", "Matern32", "Matern52", "SquaredExp", "Matern32x12"} {
		make := constructors[name]
		ks = append(ks, make(0.6), make(lengths(dim)...), kernel.Scale(2.5, make(0.3)), kernel.Scale(0.4, make(lengths(dim)...)))
	}
	return append(ks,
		kernel.Constant(0.7),
		kernel.Scale(3, kernel.Scale(0.5, kernel.Matern32(0.5))),
		kernel.Sum(kernel.Scale(2, kernel.Matern32(0.4)), kernel.Constant(0.1)),
		kernel.Sum(kernel.SquaredExp(0.9)),
		kernel.Product(kernel.Matern32(lengths(dim)...), kernel.Matern12(0.8), kernel.Constant(1.5)),
		kernel.Scale(1.2, kernel.Sum(
			kernel.Product(kernel.Matern52(0.5), kernel.Sum(kernel.Constant(0.3), kernel.SquaredExp(1.5))),
			kernel.Scale(0.2, kernel.Matern12(0.2)))),
		kernel.Product(many(10)...),
	)
}

func many(n int) []kernel.Kernel {
	ks := make([]kernel.Kernel, n)
	for i := range ks {
		ks[i] = kernel.Matern52(2 + float64(i))
	}
	return ks
}

// TestKernels runs the conformance suite on everything, in dimensions below,
// across and above the tile of the fast path.
func TestKernels(t *testing.T) {
	testutil.SkipRace(t, "one goroutine computes")
	for _, dim := range []int{1, 2, 5, 11} {
		x := points(t, 10, dim)
		for d := range dim { // two points 1e-5 apart
			x.Set(9, d, x.At(8, d)+1e-5)
		}
		for _, k := range kernels(dim) {
			kerneltest.TestKernel(t, k, x)
			testMatrices(t, k, x)
		}
	}
}

// testMatrices holds matrices and their derivatives to Eval and ParamGrad. Distances are
// summed in another order there, which the rate of the kernel magnifies.
func testMatrices(t *testing.T, k kernel.Kernel, x *linalg.Dense) {
	t.Helper()
	n, _ := x.Dims()
	var g, p, w linalg.Sym
	var cross linalg.Dense
	diag, got := make([]float64, n), make([]float64, k.NumParams())
	kernel.Gram(&g, k, x)
	kernel.Cross(&cross, k, x, x)
	kernel.Diag(diag, k, x)
	pairs := kernel.NewPairs(x)
	pairs.Gram(&p, k)
	w.Resize(n)
	want, grad := make([]float64, len(got)), make([]float64, len(got))
	var largest, weights float64
	for i := range n {
		largest = max(largest, diag[i])
		for j := range n {
			w.Set(i, j, math.Cos(float64(3*max(i, j)+7*min(i, j)))+0.25)
			weights += math.Abs(w.At(i, j))
			k.(kernel.ParamGradient).ParamGrad(grad, x.Row(i), x.Row(j))
			for q, v := range grad {
				want[q] += w.At(i, j) * v
			}
		}
	}
	got[0] = 7 // which is overwritten
	pairs.GradDot(got, &w)
	for q, v := range want {
		if !(math.Abs(got[q]-v) <= 1e-12*weights*largest) {
			t.Errorf("%v: entry %d of GradDot is %v, %v by ParamGrad", k, q, got[q], v)
		}
	}
	for i := range n {
		for j := range n {
			value := k.Eval(x.Row(i), x.Row(j))
			for name, m := range map[string]float64{"Gram": g.At(i, j), "Cross": cross.At(i, j), "Pairs.Gram": p.At(i, j)} {
				if !(math.Abs(m-value) <= 1e-12*largest) {
					t.Errorf("%v: %s has %v for points %d and %d, Eval returns %v", k, name, m, i, j, value)
				}
			}
		}
		if v := k.Eval(x.Row(i), x.Row(i)); diag[i] != v {
			t.Errorf("%v: Diag has %v for point %d, Eval returns %v", k, diag[i], i, v)
		}
	}
}

// TestMatrixSizes compares the tiled fills with Eval for sizes around the tile.
func TestMatrixSizes(t *testing.T) {
	for _, dim := range []int{0, 1, 3, 4, 5, 7, 8, 9, 12, 17} {
		sizes := []int{0, 1, 2, 63, 64, 65, 130}
		switch {
		case testing.Short() && dim == 9: // two tiles of points, of two tiles of coordinates
			sizes = []int{0, 1, 130}
		case testing.Short():
			sizes = []int{0, 1, 65}
		}
		ks := []kernel.Kernel{kernel.Scale(1.7, kernel.Matern52(0.8)), kernel.Sum(kernel.Matern12(0.5))}
		if dim > 0 {
			ks = append(ks, kernel.Matern32(lengths(dim)...))
		}
		for _, n := range sizes {
			x, y := points(t, n, dim), points(t, n/2+3, dim)
			m, _ := y.Dims()
			diag := make([]float64, n)
			for _, k := range ks {
				var g, p linalg.Sym
				var c linalg.Dense
				kernel.Gram(&g, k, x)
				kernel.NewPairs(x).Gram(&p, k)
				kernel.Cross(&c, k, x, y)
				kernel.Diag(diag, k, x)
				bad := func(what string, i, j int, got, want float64) bool {
					// γ for the sum of squares, and what the rate of at most
					// √5·r of the exponential makes of it, at most 1/e·r·√5·k.
					if math.Abs(got-want) <= 1.7*testutil.Gamma(dim+16) {
						return false
					}
					t.Errorf("%v, dim %d, n %d: %s[%d, %d] = %v, Eval %v", k, dim, n, what, i, j, got, want)
					return true
				}
				for i := range n {
					for j := range n {
						want := k.Eval(x.Row(i), x.Row(j))
						if bad("Gram", i, j, g.At(i, j), want) || bad("Pairs.Gram", i, j, p.At(i, j), want) {
							return
						}
					}
					for j := range m {
						if bad("Cross", i, j, c.At(i, j), k.Eval(x.Row(i), y.Row(j))) {
							return
						}
					}
					if bad("Diag", i, i, diag[i], k.Eval(x.Row(i), x.Row(i))) {
						return
					}
				}
			}
		}
	}
}

// TestIdentities checks relations that hold exactly or to rounding.
func TestIdentities(t *testing.T) {
	x := points(t, 2, 3)
	a, b := x.Row(0), x.Row(1)
	ls := lengths(3)
	eq := func(name string, got, want float64) {
		t.Helper()
		if !testutil.Close(got, want, 1e-14) {
			t.Errorf("%s: %v and %v", name, got, want)
		}
	}
	eq("shared lengths", kernel.Matern32x12(ls...).Eval(a, b), kernel.Product(kernel.Matern32(ls...), kernel.Matern12(ls...)).Eval(a, b))
	eq("one length", kernel.Matern52(0.7).Eval(a, b), kernel.Matern52(0.7, 0.7, 0.7).Eval(a, b))
	eq("sum", kernel.Sum(kernel.Matern12(1), kernel.Constant(2)).Eval(a, b), kernel.Matern12(1).Eval(a, b)+2)
	eq("scale", kernel.Scale(2.5, kernel.SquaredExp(1)).Eval(a, b), 2.5*kernel.SquaredExp(1).Eval(a, b))
	eq("square", kernel.Product(kernel.SquaredExp(1), kernel.SquaredExp(1)).Eval(a, b), kernel.SquaredExp(math.Sqrt(0.5)).Eval(a, b))
	eq("length is the unit", kernel.Matern32(2).Eval([]float64{0}, []float64{3}), kernel.Matern32(1).Eval([]float64{0}, []float64{1.5}))
}

func TestImmutable(t *testing.T) {
	ls := []float64{0.5, 0.6}
	k := kernel.Matern32(ls...)
	ls[0] = 9
	k.Lengths()[1] = 9
	if got := k.Lengths(); got[0] != 0.5 || got[1] != 0.6 {
		t.Errorf("lengths %v", got)
	}
	parts := []kernel.Kernel{kernel.Matern12(1), kernel.Constant(1)}
	s, p := kernel.Sum(parts...), kernel.Product(parts...)
	parts[0] = nil
	s.Eval([]float64{1}, []float64{1})
	p.Eval([]float64{1}, []float64{1})
}

func TestParamOrder(t *testing.T) {
	k := kernel.Sum(kernel.Scale(2, kernel.Matern32(3, 4)), kernel.Product(kernel.Constant(5), kernel.Matern12(6)))
	want := []float64{2, 3, 4, 5, 6}
	got := k.AppendParams(nil)
	if len(got) != len(want) || k.NumParams() != len(want) {
		t.Fatalf("%d parameters, want %d", len(got), len(want))
	}
	for i, v := range want {
		if got[i] != math.Log(v) {
			t.Errorf("parameter %d is %v, want log %v", i, got[i], v)
		}
	}
}

func TestString(t *testing.T) {
	tests := []struct {
		k    kernel.Kernel
		want string
	}{
		{kernel.Matern32(0.5), "Matern32(0.5)"},
		{kernel.SquaredExp(0.5, 1.25), "SquaredExp(0.5, 1.25)"},
		{kernel.Scale(2, kernel.Matern12(0.1)), "Scale(2, Matern12(0.1))"},
		{kernel.Sum(kernel.Matern52(1), kernel.Constant(0.25)), "Sum(Matern52(1), Constant(0.25))"},
		{kernel.Product(kernel.Matern32x12(1)), "Product(Matern32x12(1))"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(tt.k); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}
