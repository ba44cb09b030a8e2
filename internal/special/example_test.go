package special_test

import (
	"fmt"

	"github.com/gocmbo/cmbo/internal/special"
)

func ExampleNormLogEI() {
	// The expected improvement itself underflows here; its logarithm still
	// tells the two candidates apart.
	fmt.Println(special.NormEI(-40), special.NormEI(-41))
	fmt.Printf("%.4f %.4f\n", special.NormLogEI(-40), special.NormLogEI(-41))
	// Output:
	// 0 0
	// -808.2986 -848.8479
}

func ExampleNormQuantile() {
	fmt.Printf("%.6f %.6f\n", special.NormQuantile(0.975), special.NormQuantile(1e-300))
	// Output: 1.959964 -37.047096
}
