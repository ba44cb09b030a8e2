package rng_test

import (
	"fmt"

	"github.com/gocmbo/cmbo/internal/rng"
)

func ExampleStream() {
	// The third draw of task 7 does not depend on the other tasks.
	a := rng.Stream(1, "task", 7)
	b := rng.Stream(1, "task", 7)
	rng.Stream(1, "task", 6).Uint64()
	fmt.Println(a.Uint64())
	fmt.Println(b.Uint64())
	// Output:
	// 12769357881405290061
	// 12769357881405290061
}
