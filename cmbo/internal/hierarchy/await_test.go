package hierarchy

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A component that is conditioned on awaited points as well has the factor L of all
// covariances and noises, and L times what it keeps is the values, ones and the prior
// means.
func TestAwaitedPoints(t *testing.T) {
	r := rng.Stream(22, t.Name())
	m := learn(t, makeTasks(22, 6, 10, 2, 0, 1), uniform(r, 12, 2), testOptions(2))
	x, pending := uniform(r, 4, 2), uniform(r, 3, 2)
	y := []float64{0.3, -0.8, 1.1, 0.2}
	run := NewRun(m, DefaultMasses(), math.NaN(), 1)
	require.NoError(t, run.Fit(ctx, x, y, nil, pending))
	c, err := m.Candidates(ctx, uniform(r, 2, 2), 1)
	require.NoError(t, err)
	require.NoError(t, run.Predict(ctx, make([]float64, 2), make([]float64, 2), c, false))

	pts := slices.Concat(run.pts, run.pending)
	var values []float64
	for _, z := range run.z {
		values = append(values, z-run.centre())
	}
	values = append(values, run.values...)
	levels := make(map[Level]bool)
	for _, k := range run.comps {
		if k.ext == nil {
			continue
		}
		levels[k.level] = true
		l := k.ext.chol.Lower()
		for i, p := range pts {
			row := make([]float64, i+1)
			m.cov(row, k, pts[:i], p)
			row[i] += k.noiseAt(p)
			for j, v := range row {
				assert.InDelta(t, v, linalg.Dot(l.Row(i)[:j+1], l.Row(j)[:j+1]), 1e-12)
			}
			at := l.Row(i)[:i+1]
			assert.InDelta(t, values[i], linalg.Dot(at, k.ext.yt[:i+1]), 1e-12)
			assert.InDelta(t, 1, linalg.Dot(at, k.ext.u[:i+1]), 1e-12)
			assert.InDelta(t, m.meanOf(k, p), linalg.Dot(at, k.ext.v[:i+1]), 1e-12)
		}
	}
	require.NotEmpty(t, levels)
}

// Progress of Learn names the stages in their order and counts each up to its total,
// one by one.
func TestProgress(t *testing.T) {
	r := rng.Stream(23, t.Name())
	o := testOptions(2)
	o.MaxClusters = o.Clusters + 1
	type step struct {
		stage       string
		done, total int
	}
	var steps []step
	o.Progress = func(stage string, done, total int) { steps = append(steps, step{stage, done, total}) }
	m := learn(t, makeTasks(23, 8, 6, 2, 0, 1), uniform(r, 12, 2), o)
	totals := map[string]int{"fit": 1, "population": 1, "cluster": 2, "score": 1, "prototypes": m.NumClusters()}
	var stages []string
	last := step{}
	for _, s := range steps {
		assert.Equal(t, totals[s.stage], s.total, s)
		if s.stage == last.stage {
			assert.Equal(t, last.done+1, s.done, s)
		} else {
			stages = append(stages, s.stage)
			assert.LessOrEqual(t, s.done, 1, s)
			assert.Equal(t, last.total, last.done, last)
		}
		last = s
	}
	assert.Equal(t, last.total, last.done, last)
	assert.Equal(t, []string{"fit", "population", "cluster", "score", "prototypes"}, stages)
}

// Every task is a hypothesis of its own, of more than 256 a sample of so many.
func TestManyTasks(t *testing.T) {
	z := uniform(rng.Stream(24, t.Name()), 3, 1)
	o := DefaultOptions(1)
	base := fixedBase(1)
	o.Fixed, o.Steps, o.ClusterSteps = &base, 1, 1
	tasks := makeTasks(24, 300, 1, 1, 0, 1)
	for n, want := range map[int]int{200: 200, 256: 256, 257: 256, 300: 256} {
		o.Labels = make([]int, n)
		assert.Len(t, learn(t, tasks[:n], z, o).singles, want)
	}
}
