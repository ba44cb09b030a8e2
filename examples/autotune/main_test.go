package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// simulated is a product on a clock of its own: its time has its least value, 1 ms, at the
// given block sizes.
func simulated(best [3]int) *product {
	var clock time.Time
	return &product{
		now:     func() time.Time { return clock },
		longest: time.Millisecond,
		run: func() {
			var off float64
			for i, b := range ownBlocks() {
				l := math.Log(float64(b) / float64(best[i]))
				off += l * l
			}
			clock = clock.Add(time.Duration(1e6 * (1 + off)))
		},
	}
}

// A measurement is the least time, and leaves the module's own sizes as they were.
func TestMeasure(t *testing.T) {
	own := ownBlocks()
	p := simulated([3]int{64, 48, 32})
	require.Equal(t, measured{[3]int{64, 48, 32}, 1e-3}, p.measure([3]int{64, 48, 32}))
	require.InDelta(t, 1e-3*(1+math.Ln2*math.Ln2), p.measure([3]int{128, 48, 32}).seconds, 1e-8)
	require.Equal(t, own, ownBlocks())
	stopped := &product{now: func() time.Time { return time.Time{} }, run: func() {}}
	require.Equal(t, 1e-9, stopped.measure(own).seconds)
}

// Every form of product is measured in any blocks.
func TestProducts(t *testing.T) {
	seen := map[int]bool{}
	for i := 0; len(seen) < len(forms); i++ {
		s := drawShape(1, "test", i)
		require.InDelta(t, work, float64(s.m)*float64(s.n)*float64(s.k), 0.7*work, "%s", s)
		if seen[s.form] {
			continue
		}
		seen[s.form] = true
		p := newProduct(s)
		p.longest = 0
		require.Positive(t, p.measure([3]int{17, 7, 9}).seconds)
	}
}

// An optimiser that is told the times finds better sizes than random search, from the first
// ones where it has experience.
func TestTune(t *testing.T) {
	ctx := context.Background()
	space, err := newSpace()
	require.NoError(t, err)
	best := [3]int{200, 20, 300}
	var tasks []cmbo.Task
	for i := range 6 {
		p := simulated([3]int{180 + 10*i, 22 - i, 250 + 20*i})
		rows, err := searchAtRandom(p, 40, 1)
		require.NoError(t, err)
		task := cmbo.Task{ID: string(rune('a' + i))}
		for _, m := range rows {
			task.X = append(task.X, []float64{float64(m.blocks[0]), float64(m.blocks[1]), float64(m.blocks[2])})
			task.Y = append(task.Y, math.Log(m.seconds))
		}
		tasks = append(tasks, task)
	}
	prior, err := cmbo.Learn(ctx, space, tasks, cmbo.WithMinimize())
	require.NoError(t, err)
	var first [2]float64
	var last [3]float64
	for seed := range uint64(3) {
		random, err := searchAtRandom(simulated(best), 12, seed)
		require.NoError(t, err)
		plain, err := tune(ctx, nil, simulated(best), 12, seed)
		require.NoError(t, err)
		with, err := tune(ctx, prior, simulated(best), 12, seed)
		require.NoError(t, err)
		for i, run := range [][]measured{random, plain, with} {
			require.Len(t, run, 12)
			last[i] += incumbents(run)[11].seconds / 3
		}
		first[0] += random[0].seconds / 3
		first[1] += with[0].seconds / 3
	}
	require.Less(t, first[1], 0.5*first[0], "the first sizes measured")
	require.Less(t, last[1], last[0])
	require.Less(t, last[2], last[1])
}

func TestIncumbents(t *testing.T) {
	a, b, c := measured{[3]int{1, 1, 1}, 3}, measured{[3]int{2, 1, 1}, 2}, measured{[3]int{3, 1, 1}, 2}
	require.Equal(t, []measured{a, b, b, b}, incumbents([]measured{a, b, a, c}))
}

// What a run came to counts by how long it takes when it is measured again, not by the time
// it was chosen for.
func TestJudge(t *testing.T) {
	own := ownBlocks()
	good := [3]int{own[0], own[1], 2 * own[2]}
	p := simulated(good)
	c := &comparison{settings: settings{shapes: 1, repeats: 1, budget: 2}, slower: [][]float64{{0, 0}, {0, 0}}}
	far := [3]int{4 * own[0], own[1], 2 * own[2]}
	best, builtin := c.judge(p, [][][]measured{{{{far, 1e-9}, {good, 7}}}, {{{good, 1}, {good, 1}}}})
	require.Equal(t, good, best.blocks)
	require.InDelta(t, 1e-3, best.seconds, 1e-8)
	slow := 1 + 4*math.Ln2*math.Ln2
	require.InDelta(t, math.Log(slow), c.slower[0][0], 1e-5)
	require.InDelta(t, 0, c.slower[0][1]+c.slower[1][0]+c.slower[1][1], 1e-5)
	require.InDelta(t, 1e-3*(1+math.Ln2*math.Ln2), builtin, 1e-8)
	require.InDelta(t, math.Log(1+math.Ln2*math.Ln2), c.builtin, 1e-5)
}

// The program as it is run, at its smallest, with the prior that is part of it.
func TestRun(t *testing.T) {
	prior, err := cmbo.DecodePrior(bytes.NewReader(past))
	require.NoError(t, err)
	require.Len(t, prior.Tasks(), pastShapes)
	out := filepath.Join(t.TempDir(), "a.svg")
	var b strings.Builder
	s, err := parse([]string{"-shapes", "1", "-repeats", "1", "-budget", "2", "-out", out}, io.Discard)
	require.NoError(t, err)
	own := ownBlocks()
	require.NoError(t, run(context.Background(), s, &b))
	require.Equal(t, own, ownBlocks())
	for _, want := range append([]string{drawShape(1, "new", 0).String(), "sizes built in"}, methods...) {
		require.Contains(t, b.String(), want)
	}
	svg, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(svg), "with the prior")

	for _, bad := range [][]string{{"-shapes", "0"}, {"-budget", "-1"}, {"-repeats", "0"}, {"more"}} {
		_, err := parse(bad, io.Discard)
		require.Error(t, err, "%v", bad)
	}
	for range 16 { // the same one each time
		_, err := parse([]string{"-budget", "0", "-repeats", "0", "-shapes", "0"}, io.Discard)
		require.EqualError(t, err, "-shapes 0 is below 1")
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, run(done, s, io.Discard), context.Canceled)
}
