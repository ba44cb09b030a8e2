package kernel_test

import (
	"encoding/json"
	"fmt"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func Example() {
	k := kernel.Scale(2, kernel.Matern32(0.5))
	x := linalg.NewDense(3, 1, []float64{0, 0.25, 1})
	var g linalg.Sym
	kernel.Gram(&g, k, x)
	for i := range 3 {
		fmt.Printf("%.4f\n", g.Row(i))
	}
	// Output:
	// [2.0000 1.5698 0.2795]
	// [1.5698 2.0000 0.5355]
	// [0.2795 0.5355 2.0000]
}

// A trend that is linear in one coordinate has no kernel here; composition makes
// others out of those there are.
func ExampleSum() {
	k := kernel.Sum(
		kernel.Scale(1, kernel.Matern52(0.3)), // what varies
		kernel.Constant(4),                    // an offset nobody knows
	)
	fmt.Println(k)
	fmt.Printf("%.4f\n", k.Eval([]float64{0.2}, []float64{0.4}))
	fmt.Printf("%.4f\n", k.AppendParams(nil))
	// Output:
	// Sum(Scale(1, Matern52(0.3)), Constant(4))
	// 4.7278
	// [0.0000 -1.2040 1.3863]
}

// A fit evaluates the Gram matrix of the same points for many parameters.
func ExamplePairs() {
	x := linalg.NewDense(3, 1, []float64{0, 0.25, 1})
	p := kernel.NewPairs(x)
	w := linalg.NewSym(3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})
	w.Set(0, 1, 0.5)
	var g linalg.Sym
	grad := make([]float64, 2)
	var k kernel.Kernel = kernel.Scale(2, kernel.Matern32(0.5))
	for _, theta := range [][]float64{{0, 0}, {0.5, -0.5}} {
		k, err := k.WithParams(theta)
		if err != nil {
			fmt.Println(err)
			return
		}
		p.Gram(&g, k)
		p.GradDot(grad, w)
		fmt.Printf("%v: %.4f\n", k, grad)
	}
	// Output:
	// Scale(1, Matern32(1)): [3.9294 0.1216]
	// Scale(1.649, Matern32(0.6065)): [6.3300 0.4115]
}

func ExampleDescribe() {
	spec, err := kernel.Describe(kernel.Scale(2, kernel.Matern32(0.5, 1)))
	if err != nil {
		fmt.Println(err)
		return
	}
	raw, _ := json.Marshal(spec)
	fmt.Println(string(raw))
	k, err := spec.Kernel()
	fmt.Println(k, err)
	// Output:
	// {"name":"Scale","params":[2],"kernels":[{"name":"Matern32","params":[0.5,1]}]}
	// Scale(2, Matern32(0.5, 1)) <nil>
}
