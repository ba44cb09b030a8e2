package cmbo

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func spaceOf(t testing.TB, params ...Param) *Space {
	s, err := NewSpace(params...)
	require.NoError(t, err)
	return s
}

func unitCube(t testing.TB, dim int) *Space {
	s, err := UnitCube(dim)
	require.NoError(t, err)
	return s
}

func priorOf(t testing.TB, s *Space, tasks []Task, opts ...LearnOption) *Prior {
	p, err := Learn(context.Background(), s, tasks, opts...)
	require.NoError(t, err)
	return p
}

func optimizerOf(t testing.TB, s *Space, opts ...Option) *Optimizer {
	o, err := New(s, opts...)
	require.NoError(t, err)
	return o
}

func ask(t testing.TB, o *Optimizer) Trial {
	trial, err := o.Ask(context.Background())
	require.NoError(t, err)
	return trial
}

func outlookOf(t testing.TB, o *Optimizer) Outlook {
	u, err := o.Outlook(context.Background())
	require.NoError(t, err)
	return u
}
