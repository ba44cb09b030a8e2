//go:build accel

package main

// With this tag runs take the vector kernels; results differ in last digits.
import _ "github.com/gocmbo/cmbo/linalg/accel"
