package main

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A third to a half of random settings fail, and none is better than the optimum by
// more than the search for it misses.
func TestProblems(t *testing.T) {
	for _, p := range problems {
		s, err := p.space()
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(1, 1))
		failed := 0
		for range 20 {
			j := p.draw(r)
			best, err := optimum(j, s, r)
			require.NoError(t, err)
			for range 200 {
				row, err := draw(s, r)
				require.NoError(t, err)
				if v, ok := j.cost(row); !ok {
					failed++
				} else {
					require.Greater(t, v, 0.98*best, p.name)
				}
			}
		}
		require.InDelta(t, 0.45, float64(failed)/4000, 0.15, p.name)
	}
}

func TestCompare(t *testing.T) {
	var b strings.Builder
	s := settings{problem: "reactor", log: true, repeats: 2, tasks: 2, rows: 10, budget: 4, seed: 1}
	require.NoError(t, compare(context.Background(), s, &b))
	for m := range numMethods {
		require.Contains(t, b.String(), m.String())
	}
	s.problem, s.rows = "training", 1 // of which a workload has as many as it takes to get a value
	b.Reset()
	require.NoError(t, compare(context.Background(), s, &b))
	require.Regexp(t, `of which \d\d? % failed`, b.String())
	s.problem = "none"
	require.ErrorContains(t, compare(context.Background(), s, &b), `"none" among server, training, reactor`)
}

func TestFlags(t *testing.T) {
	s, err := parse([]string{"-problem", "reactor", "-tasks", "0"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, settings{problem: "reactor", log: true, repeats: 40, rows: 30, budget: 20, seed: 1}, s)
	for says, args := range map[string][]string{
		`unexpected argument "reactor"`:   {"reactor"},
		"-tasks -1: at least 0 is needed": {"-tasks", "-1"},
		"-repeats 1: at least 2":          {"-repeats", "1"},
		"-rows 0: at least 1":             {"-rows", "0"},
		"-budget 1: at least 2":           {"-budget", "1"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, says)
	}
}
