//go:build accel

package spectral_test

// With this tag the tests of the package run on the vector kernels.
import _ "github.com/gocmbo/cmbo/linalg/accel"
