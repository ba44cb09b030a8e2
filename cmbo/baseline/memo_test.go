package baseline

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// A list is computed once for all who ask for it at a time, and nobody waits for another list.
func TestMemo(t *testing.T) {
	list := func(v float64) *linalg.Dense { return linalg.NewDense(1, 1, []float64{v}) }
	var m memo[float64]
	computed := make(map[float64]int)
	of := func(v float64) (float64, error) {
		return m.get(list(v), func(x *linalg.Dense) (float64, error) { computed[v]++; return 10 * x.At(0, 0), nil })
	}

	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if v, err := of(1); v != 10 || err != nil {
				t.Error(v, err)
			}
		}()
	}
	wg.Wait()
	require.Equal(t, 1, computed[1])

	v, err := m.get(list(2), func(*linalg.Dense) (float64, error) {
		other := make(chan float64, 1)
		go func() {
			v, _ := of(3)
			other <- v
		}()
		select {
		case v := <-other:
			return v, nil
		case <-time.After(time.Minute):
			return 0, errors.New("the other list waits for this one")
		}
	})
	require.NoError(t, err)
	require.Equal(t, 30.0, v)

	failed := errors.New("failed")
	_, err = m.get(list(4), func(*linalg.Dense) (float64, error) { return 0, failed })
	require.ErrorIs(t, err, failed)
	v, err = of(4)
	require.NoError(t, err)
	require.Equal(t, 40.0, v)

	// Four are kept, those asked for last: 5 takes the place of 2.
	for _, v := range []float64{1, 5, 3, 4, 1, 5, 2} {
		_, err := of(v)
		require.NoError(t, err)
	}
	require.Equal(t, map[float64]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, computed)
}
