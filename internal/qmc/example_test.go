package qmc_test

import (
	"fmt"

	"github.com/gocmbo/cmbo/internal/qmc"
	"github.com/gocmbo/cmbo/internal/rng"
)

// Sixteen points in the square: four in each quadrant, one in each row and column
// of a 16×16 grid.
func ExampleSobol() {
	s := qmc.New(2, rng.Stream(1, "example"))
	var quadrant [4]int
	x := make([]float64, 2)
	for range 16 {
		s.Next(x)
		quadrant[2*int(2*x[0])+int(2*x[1])]++
	}
	fmt.Println(quadrant)
	// Output: [4 4 4 4]
}
