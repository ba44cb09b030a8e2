package cmbo

import (
	"context"
	"testing"

	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// The power of the probability of success is 2 while a fifth of the evaluations fails, and
// grows with the square root of the failures beyond.
func TestSuccessPower(t *testing.T) {
	ctx := context.Background()
	space, err := UnitCube(1)
	require.NoError(t, err)
	for failures, want := range map[int]int{0: 2, 2: 2, 6: 6, 8: 6, 10: 7} { // of ten, 2·(1+√(failures − 2))
		o, err := New(space, WithInitial(0), WithSurrogate(flat{}))
		require.NoError(t, err)
		for i := range 10 {
			trial, err := o.Ask(ctx)
			require.NoError(t, err)
			if i < failures {
				require.NoError(t, o.TellFailed(trial.ID))
			} else {
				require.NoError(t, o.Tell(trial.ID, float64(i)))
			}
		}
		f, err := (&successRequirement{}).factor(ctx, o.draft(), linalg.NewDense(1, 1, nil), false)
		require.NoError(t, err)
		require.Equal(t, want, f.power, "%d failures", failures)
	}
}
