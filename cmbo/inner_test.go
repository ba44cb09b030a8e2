package cmbo

import (
	"bytes"
	"context"
	"io"
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

func transferOf(t testing.TB, o *Optimizer) Transfer {
	out, err := o.Transfer(context.Background())
	require.NoError(t, err)
	return out
}

func recommend(t testing.TB, o *Optimizer) Recommendation {
	out, err := o.Recommend(context.Background())
	require.NoError(t, err)
	return out
}

func calibrate(t testing.TB, o *Optimizer) Calibration {
	out, err := o.Calibration(context.Background())
	require.NoError(t, err)
	return out
}

func importance(t testing.TB, o *Optimizer) []Importance {
	out, err := o.Importance(context.Background())
	require.NoError(t, err)
	return out
}

func taskOf(t testing.TB, o *Optimizer, id string) Task {
	out, err := o.Task(id)
	require.NoError(t, err)
	return out
}

func decodePrior(t testing.TB, r io.Reader) *Prior {
	out, err := DecodePrior(r)
	require.NoError(t, err)
	return out
}

func sample(t testing.TB, s *Space, n int, seed uint64) [][]float64 {
	out, err := s.Sample(n, seed)
	require.NoError(t, err)
	return out
}

func listOf(t testing.TB, s *Space, rows [][]float64) *Space {
	out, err := s.WithCandidates(rows)
	require.NoError(t, err)
	return out
}

func askN(t testing.TB, o *Optimizer, n int) []Trial {
	out, err := o.AskN(context.Background(), n)
	require.NoError(t, err)
	return out
}

func explain(t testing.TB, o *Optimizer, id int) Explanation {
	out, err := o.Explain(context.Background(), id)
	require.NoError(t, err)
	return out
}

// restored returns the run that a snapshot of o restores.
func restored(t testing.TB, o *Optimizer, opts ...Option) *Optimizer {
	var b bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	out, err := Restore(&b, opts...)
	require.NoError(t, err)
	return out
}
