package accel_test

import (
	"fmt"
	"slices"

	// A program that asks for no tier imports the package as _.
	"github.com/gocmbo/cmbo/linalg/accel"
)

func ExampleTier() {
	known := []string{"avx512", "avx2", "none"}
	fmt.Println(slices.Contains(known, accel.Tier()))
	// Output: true
}
