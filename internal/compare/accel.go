//go:build accel

package main

// The second column: -tags accel links the vector kernels.
import _ "github.com/gocmbo/cmbo/linalg/accel"
