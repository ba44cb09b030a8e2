// Package kerneltest checks that a covariance function keeps the contract of package kernel.
//
//	func TestMyKernel(t *testing.T) {
//		kerneltest.TestKernel(t, MyKernel{…}, points)
//	}
//
// The checks are of consistency: a kernel that passes is symmetric, positive semi-definite on the points, agrees with its
// own gradients and survives the round trip of its parameters. That its formula is the one intended they cannot know.
package kerneltest
