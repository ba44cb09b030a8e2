package linalg_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/linalg"
)

// A product: the destination is the receiver and takes its size from the
// operands.
func ExampleDense_Mul() {
	a := linalg.NewDense(2, 3, []float64{
		1, 2, 3,
		4, 5, 6,
	})
	b := linalg.NewDense(3, 2, []float64{
		1, 0,
		0, 1,
		1, 1,
	})
	var m linalg.Dense
	m.Mul(a, b)
	for i := range 2 {
		fmt.Println(m.Row(i))
	}
	// Output:
	// [4 5]
	// [10 11]
}

// Rows of a view are rows of the matrix it was taken from.
func ExampleDense_View() {
	m := linalg.NewDense(3, 3, nil)
	block := m.View(1, 1, 2, 2)
	block.Set(0, 0, 5)
	fmt.Println(m.Row(1))
	// Output: [0 5 0]
}

func ExampleCholesky() {
	a := linalg.NewSym(3, []float64{
		4, 2, 0,
		2, 5, 2,
		0, 2, 5,
	})
	var c linalg.Cholesky
	if err := c.Factorize(a); err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 3)
	c.SolveVecTo(x, []float64{8, 18, 19})
	fmt.Printf("x = %.3f\n", x)
	fmt.Printf("log det A = %.4f, det A = %.1f\n", c.LogDet(), math.Exp(c.LogDet()))
	// Output:
	// x = [1.000 2.000 3.000]
	// log det A = 4.1589, det A = 64.0
}

// One more observation costs O(n²), not a new factorisation.
func ExampleCholesky_Append() {
	var c linalg.Cholesky
	rows := [][]float64{{}, {0.5}, {0.25, 0.5}}
	for _, row := range rows {
		if err := c.Append(row, 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	err := c.Append([]float64{1, 0.5, 0.25}, 0.9)
	var npd *linalg.NotPositiveDefiniteError
	if errors.As(err, &npd) {
		fmt.Printf("row %d refused: pivot %.2f\n", npd.Pivot, npd.Value)
	}
	fmt.Printf("%d rows, det %.4f\n", c.Dim(), math.Exp(c.LogDet()))
	// Output:
	// row 3 refused: pivot -0.10
	// 3 rows, det 0.5625
}

// The ladder returns the amount that was added to the diagonal.
func ExampleCholesky_FactorizeJitter() {
	a := linalg.NewSym(2, []float64{2, 2, 2, 2}) // singular
	a.AddDiag(-1e-9)
	var c linalg.Cholesky
	jitter, err := c.FactorizeJitter(a, 1e-4)
	fmt.Printf("%.1e %v\n", jitter, err)
	// Output: 2.0e-09 <nil>
}
