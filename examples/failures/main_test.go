package main

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A third or so of random settings run out of memory, and none is better than the
// optimum by more than the search for it misses.
func TestJob(t *testing.T) {
	s, err := space()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	failed := 0
	for range 20 {
		j := newJob(r)
		best, err := j.optimum(s, r)
		require.NoError(t, err)
		for range 200 {
			row, err := draw(s, r)
			require.NoError(t, err)
			if ms, ok := j.latency(row); !ok {
				failed++
			} else {
				require.Greater(t, ms, 0.99*best)
			}
		}
	}
	require.InDelta(t, 0.37, float64(failed)/4000, 0.1)
}

func TestCompare(t *testing.T) {
	var b strings.Builder
	s := settings{repeats: 2, tasks: 2, rows: 10, budget: 4, seed: 1}
	require.NoError(t, compare(context.Background(), s, &b))
	for m := range numMethods {
		require.Contains(t, b.String(), m.String())
	}
	require.Error(t, compare(context.Background(), settings{}, &b))
}
