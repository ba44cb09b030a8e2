package hierarchy

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/internal/exactsum"
	"github.com/gocmbo/cmbo/internal/rng"
)

// Runs of a stored model are the same to the bit, and it has as many tasks as it was learned from,
// which are no fewer than it knows.
func TestEncode(t *testing.T) {
	r := rng.Stream(5, t.Name())
	s := testSettings(2)
	m := learn(t, makeTasks(1, 5, 12, 2, 3, 2), uniform(r, 24, 2), s)
	decode := func(m *Model) (*Model, error) {
		var e codec.Encoder
		m.Encode(&e)
		d := codec.Decoder{Buf: e.Buf, Limits: codec.Limits{Tasks: 99, TaskRows: 99, TotalRows: 9999, Points: 999}}
		got, err := Decode(&d, 2, s)
		if err = errors.Join(err, d.Err); err == nil {
			require.Empty(t, d.Buf)
		}
		return got, err
	}
	got, err := decode(m)
	require.NoError(t, err)
	for want, change := range map[string]func(m *Model){
		"5 tasks of 4": func(m *Model) { m.total = 4 },
		fmt.Sprint("5 tasks of ", exactsum.MaxTerms+1):      func(m *Model) { m.total = exactsum.MaxTerms + 1 },
		"-0.1 of the variance common":                       func(m *Model) { m.common = -0.1 },
		"1.1 of the variance common":                        func(m *Model) { m.common = 1.1 },
		"intervals 0.9 times as wide":                       func(m *Model) { m.inflation = 0.9 },
		"intervals 10.1 times as wide":                      func(m *Model) { m.inflation = 10.1 },
		"intervals 1 times as wide, of values 0.9 times as": func(m *Model) { m.depth = 0.9 },
		"intervals 1 times as wide, of values 11 times as":  func(m *Model) { m.depth = 11 },
	} {
		other := *m
		change(&other)
		_, err := decode(&other)
		require.ErrorContains(t, err, want)
	}
	assert.Equal(t, m.pop, got.pop)
	assert.Equal(t, m.common, got.common)
	assert.Equal(t, m.affine, got.affine)
	x, y := uniform(r, 4, 2), []float64{3, 4, 2, 3.5}
	var masses [2][]Mass
	for i, of := range []*Model{m, got} {
		run := NewRun(of, s, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))
		masses[i] = run.Masses()
	}
	assert.Equal(t, masses[0], masses[1])
}
