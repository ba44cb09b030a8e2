package cmbo

import (
	"context"
	"testing"

	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// The power of the probability of success is SuccessPower while at most a share MayFail of the evaluations fails. With
// failures beyond it grows: without a past by SuccessPower times the square root of their number, rounded down; with
// one by SuccessPower times SuccessGrowth for each but the first.
func TestSuccessPower(t *testing.T) {
	ctx := context.Background()
	space := unitCube(t, 1)
	o := optimizerOf(t, space, WithInitial(0), WithSurrogate(flat{}))
	const n = 20
	for range n {
		trial := ask(t, o)
		require.NoError(t, o.TellFailed(trial.ID))
	}
	o.settings.SuccessPower, o.settings.SuccessGrowth = 100, 3
	power := func(beyond int) int {
		d := o.draft()
		d.h.Failures = int(o.settings.MayFail*n) + beyond
		f, err := (&successRequirement{}).factor(ctx, d, false)(linalg.NewDense(1, 1, nil))
		require.NoError(t, err)
		return f.power
	}
	for beyond, want := range map[int]int{-4: 100, 0: 100, 1: 200, 4: 300, 5: 323, 9: 400, 16: 500} {
		require.Equal(t, want, power(beyond), "%d failures more than may be", beyond)
	}
	o.config.prior = &Prior{}
	for beyond, want := range map[int]int{-4: 100, 0: 100, 1: 100, 2: 400, 3: 700, 16: 4600} {
		require.Equal(t, want, power(beyond), "%d failures more than may be, with a past", beyond)
	}
}
