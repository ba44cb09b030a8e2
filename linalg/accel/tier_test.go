//go:build !amd64 || !gc || purego || noasm

package accel_test

import (
	"testing"

	"github.com/gocmbo/cmbo/linalg/accel"
)

func TestNone(t *testing.T) {
	if got := accel.Tier(); got != "none" {
		t.Errorf("tier %q in a build without kernels", got)
	}
}
