package hierarchy

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// A run that keeps what it worked out for candidates that come again has the bits of one
// that is asked for the first time, whatever was told and awaited in between: values,
// noise variances, a new unit, hypotheses that come and go. It keeps the blocks that come
// again and no others, and points asked about in passing leave them.
func TestRunKeeps(t *testing.T) {
	r := rng.Stream(1, t.Name())
	m := learn(t, makeTasks(11, 9, 10, 2, 0, 1), uniform(r, 30, 2), testSettings(2))
	parts := []int{block + 22, 40, 40, 1}
	const steps = panel + 6 // more than go side by side
	rolled := func() []*linalg.Dense {
		out := make([]*linalg.Dense, len(parts))
		for i, n := range parts {
			out[i] = uniform(r, n, 2)
		}
		return out
	}
	pool := rolled()
	copy(pool[1].Row(3), m.grid.z.Row(5))
	copy(pool[3].Row(0), pool[2].Row(0))
	x := uniform(r, steps, 2)
	y, given := make([]float64, steps), make([]float64, steps)
	for i := range y {
		y[i] = 30 * family(r, x.Row(i), 0) // more widely spread than the tasks' values
	}
	settings := m.Settings()
	settings.MinMass = 0.05 // which no transfer has at some steps
	kept := NewRun(m, settings, math.NaN(), 1, parts, nil)
	times := make(map[*member]int)
	for i := range steps {
		switch i {
		case 4:
			given[3] = 0.1
		case 8:
			y[7] = 1e70 // beyond all proportion
		case 9:
			y[7] = 1
			given[3] = 0 // and from here on without variances
		}
		if i > 0 {
			s := i % len(parts)
			pool[s] = uniform(r, parts[s], 2)
		}
		if i == 13 {
			pool[1] = pool[2] // two equal parts
		}
		told, pending := points.First(x, i), linalg.NewDense(0, 2, nil)
		if i%3 == 2 {
			pending = uniform(r, 2, 2)
		}
		at := points.Join(pool...)
		n := rows(at)
		mean, sd, ei := make([]float64, n), make([]float64, n), make([]float64, n)
		before := kept.kept
		require.NoError(t, kept.Fit(ctx, told, y[:i], given[:i], pending))
		passing := make([]float64, 2)
		require.NoError(t, kept.Predict(ctx, passing, make([]float64, 2), uniform(r, 2, 2)))
		require.Same(t, before, kept.kept)
		held := slices.Clone(kept.asked.blocks)
		if before != nil {
			held = append(held, before.blocks...)
		}
		for b := range kept.bound {
			require.Contains(t, held, b)
		}
		require.NoError(t, kept.Predict(ctx, mean, sd, at))
		require.NoError(t, kept.LogImprovement(ctx, ei, at, 0.5))
		require.Len(t, kept.bound, len(kept.kept.blocks)+len(kept.asked.blocks))
		if i > 0 {
			same := 0
			for _, b := range kept.kept.blocks {
				coordinates, _ := b.x.Raw()
				require.Equal(t, 2*b.len(), len(coordinates), "numbers that a block keeps of the points it was cut from")
				for _, old := range before.blocks {
					if b == old {
						same++
					}
				}
			}
			fresh := 1 + (parts[i%len(parts)]-1)/block
			require.Equal(t, len(kept.kept.blocks)-fresh, same, "blocks kept at step %d", i)
		}
		for _, k := range kept.predicting() {
			times[k.member]++
		}

		other := NewRun(m, settings, math.NaN(), 4, parts, nil)
		wantMean, wantSD, wantEI := make([]float64, n), make([]float64, n), make([]float64, n)
		require.NoError(t, other.Fit(ctx, told, y[:i], given[:i], pending))
		require.NoError(t, other.Predict(ctx, wantMean, wantSD, at))
		require.NoError(t, other.LogImprovement(ctx, wantEI, at, 0.5))
		require.Equal(t, wantMean, mean, "means at step %d", i)
		require.Equal(t, wantSD, sd, "deviations at step %d", i)
		require.Equal(t, wantEI, ei, "improvements at step %d", i)
	}
	some := 0
	for _, n := range times {
		if n > 0 && n < steps {
			some++
		}
	}
	require.NotZero(t, some, "every hypothesis was predicted with throughout")
}

// What a run keeps for the candidates of proposals stays where more points than one of
// their parts has are asked about in passing, and where its model knows a list that it
// is not bound to.
func TestRunKeepsProposals(t *testing.T) {
	r := rng.Stream(1, t.Name())
	m := learn(t, makeTasks(11, 9, 10, 2, 0, 1), uniform(r, 30, 2), testSettings(2))
	list := uniform(r, 7, 2)
	at, err := m.Candidates(ctx, list, 1)
	require.NoError(t, err)
	b := NewRun(m, m.Settings(), math.NaN(), 1, []int{5, 5, 5, 5}, at)
	require.NoError(t, b.Fit(ctx, uniform(r, 1, 2), []float64{1}, nil, nil))
	predict := func(n int) {
		require.NoError(t, b.Predict(ctx, make([]float64, n), make([]float64, n), uniform(r, n, 2)))
	}
	predict(20)
	kept := b.kept
	require.NotSame(t, at, kept)
	require.Len(t, b.bound, 4)
	predict(6)
	require.Same(t, kept, b.kept)
	require.Len(t, b.bound, 5, "and the few asked about in passing")
	predict(6)
	require.Len(t, b.bound, 5, "the latest")

	b = NewRun(m, m.Settings(), math.NaN(), 1, []int{5, 5, 5, 5}, at)
	require.NoError(t, b.Bind(ctx, points.Pick(list, []int{0, 1, 2, 3, 4, 5, 6})))
	require.Same(t, at, b.kept, "the list is carried already")
	part := points.Pick(list, []int{5, 3})
	require.NoError(t, b.Bind(ctx, part))
	require.True(t, b.kept.Hold(part))
}

// Points are laid out once, in the same panels whether all at once or not.
func TestPanelsLaidOutBefore(t *testing.T) {
	r := rng.Stream(1, t.Name())
	m := learn(t, makeTasks(11, 9, 10, 2, 0, 1), uniform(r, 30, 2), testSettings(2))
	const n = 2*panel + 3
	x, other := uniform(r, n, 2), linalg.NewDense(n, 2, nil)
	y := make([]float64, n)
	for i := range y {
		y[i] = family(r, x.Row(i), 0)
		for j, u := range x.Row(i) {
			other.Row(i)[j] = 0.99 * u // with about the same masses
		}
	}
	run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	require.NoError(t, run.Fit(ctx, x, y, nil, nil))
	var want, b panels
	run.layOut(&want, run.pts)
	for _, k := range []int{1, panel - 1, panel, panel + 1, n} {
		run.layOut(&b, run.pts[:k])
	}
	laid := b.x
	run.layOut(&b, run.pts)
	require.Same(t, laid, b.x)
	require.Equal(t, want, b)

	// Nothing of the points of another run is left.
	cand := uniform(r, 5, 2)
	predict := func(run *Run) (mean, sd []float64) {
		mean, sd = make([]float64, 5), make([]float64, 5)
		require.NoError(t, run.Predict(ctx, mean, sd, cand))
		return mean, sd
	}
	predict(run)
	fresh := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	require.NoError(t, run.Fit(ctx, other, y, nil, nil))
	require.NoError(t, fresh.Fit(ctx, other, y, nil, nil))
	mean, sd := predict(run)
	wantMean, wantSD := predict(fresh)
	require.Equal(t, wantMean, mean)
	require.Equal(t, wantSD, sd)

	// Nor of other points that were awaited.
	for _, pending := range []*linalg.Dense{uniform(r, 3, 2), uniform(r, 2, 2)} {
		require.NoError(t, run.Fit(ctx, other, y, nil, pending))
		predict(run)
	}
	var ahead panels
	run.layOut(&ahead, run.pending)
	require.Equal(t, ahead, run.ahead)
}
