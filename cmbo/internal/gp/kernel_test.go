package gp

import (
	"errors"
	"testing"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

// broken is a kernel of the library, as its file is, that panics.
type broken struct {
	kernel.Kernel
	with any
}

func (b broken) Eval(_, _ []float64) float64 { panic(b.with) }

// TestCheckKernel: a text is what kernels say of shapes, and any other panic of theirs a mistake.
func TestCheckKernel(t *testing.T) {
	kind := errors.New("kind")
	require.NoError(t, CheckKernel(kernel.Matern32(1), 2, kind))
	err := CheckKernel(broken{kernel.Matern32(1), "shapes"}, 2, kind)
	require.EqualError(t, err, "kind: the kernel does not take points of 2 coordinates: shapes")
	require.ErrorIs(t, err, kind)
	mistake := errors.New("mistake")
	err = CheckKernel(broken{kernel.Matern32(1), mistake}, 2, kind)
	require.NotErrorIs(t, err, kind)
	require.ErrorIs(t, err, mistake)
	var p *parallel.Panic
	require.ErrorAs(t, err, &p)
	require.Contains(t, string(p.Stack), "broken")
}
