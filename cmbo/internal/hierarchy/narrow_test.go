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
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Of few tasks two models are learned, one that the deviation of lengths alone gives, and one
// whose base process has the narrow deviation's lengths, with a population that goes on from the
// first one's. Fits that agree leave one.
func TestSecondModel(t *testing.T) {
	tasks := makeTasks(1, 5, 12, 2, 3, 2)
	z := uniform(rng.Stream(1, t.Name()), 24, 2)
	s := testSettings(2)
	s.NarrowSD = 0.1
	of := func(sd float64, start *Model) *Model {
		alone := s
		alone.LengthSD, alone.NarrowSD = sd, 0
		if start == nil {
			return learn(t, tasks, z, alone)
		}
		base, err := fitBase(ctx, tasks, &alone)
		require.NoError(t, err)
		m, err := learnOn(ctx, tasks, newGrid(*base, z, s.Neighbours), start.pop, 2, &s) // of 6 steps
		require.NoError(t, err)
		return m
	}
	same := func(want, got *Model) {
		t.Helper()
		assert.Equal(t, want.Base(), got.Base())
		assert.Equal(t, want.pop, got.pop)
		assert.Equal(t, want.common, got.common)
		assert.Equal(t, want.affine.shift, got.affine.shift)
	}
	m := learn(t, tasks, z, s)
	require.NotNil(t, m.narrow)
	same(of(s.LengthSD, nil), m)
	same(of(s.NarrowSD, m), m.narrow)
	assert.Nil(t, m.narrow.narrow)

	alike := s
	alike.NarrowSD = s.LengthSD
	assert.Nil(t, learn(t, tasks, z, alike).narrow)
}

// A run of two models is the mixture of the two, with the masses that the evidence by dense
// covariances gives them; what comes of it is what the one for certain gives where the values
// leave the other next to nothing.
func TestRunOfTwoModels(t *testing.T) {
	r := rng.Stream(3, t.Name())
	s := testSettings(2)
	s.NarrowSD = 0.1
	s.Wide, s.Widest = 5, 20 // of which dense covariances keep some digits
	m := learn(t, makeTasks(1, 5, 12, 2, 3, 2), uniform(r, 24, 2), s)
	require.NotNil(t, m.narrow)
	for _, told := range []int{0, 1, 6} {
		x := uniform(r, told, 2)
		y := make([]float64, told)
		for i := range y {
			y[i] = 3.5 + 1.5*family(r, x.Row(i), 1)
		}
		cand := uniform(r, 9, 2)
		n := rows(cand)
		run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))

		var runs [2]*Run
		var log, mass [2]float64
		for i, one := range []*Model{m, m.narrow} {
			alone := *one
			alone.narrow = nil
			runs[i] = NewRun(&alone, m.Settings(), math.NaN(), 1, nil, nil)
			require.NoError(t, runs[i].Fit(ctx, x, y, nil, nil))
			log[i] = math.Inf(-1)
			nodes := runs[i].affine.nodes(runs[i].z, s.Reversed)
			for _, k := range runs[i].all {
				evidence, _, _ := bruteForce(t, &alone, runs[i].affine, k, join(x, cand), runs[i].z, one.grid.base.NoiseVariance, nodes)
				log[i] = special.LogAddExp(log[i], k.log+evidence)
			}
		}
		for i := range mass {
			mass[i] = math.Exp(log[i] - special.LogAddExp(log[0], log[1]))
			assert.InDelta(t, mass[i], run.mixtures()[i].mass, 1e-7, "%d told", told)
			mass[i] = run.mixtures()[i].mass
		}
		require.Greater(t, min(mass[0], mass[1]), 0.01, "a mixture of one")
		mixed := func(of func(i int) float64) float64 { return mass[0]*of(0) + mass[1]*of(1) }

		for l := range 2 { // no transfer, the population
			assert.InEpsilon(t, mixed(func(i int) float64 { return runs[i].Masses()[l].Mass }), run.Masses()[l].Mass, 1e-12)
			assert.InDelta(t, mixed(func(i int) float64 { return runs[i].Masses()[l].Reversed }), run.Masses()[l].Reversed, 1e-12)
		}
		assert.InDelta(t, mixed(func(i int) float64 { return runs[i].OtherUnits() }), run.OtherUnits(), 1e-12)
		assert.InEpsilon(t, mixed(func(i int) float64 { return runs[i].NoiseVariance() }), run.NoiseVariance(), 1e-12)
		assert.Equal(t, [][]float64{runs[0].PriorMeans()[0], runs[1].PriorMeans()[0]}, run.PriorMeans())

		var mean, sd, improvement, within, expected [3][]float64
		best := 4.5
		square := func(mean, sd float64) float64 { return mean*mean + sd*sd }
		for i, of := range append(runs[:], run) {
			mean[i], sd[i], improvement[i], within[i], expected[i] = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			require.NoError(t, of.Predict(ctx, mean[i], sd[i], cand))
			require.NoError(t, of.LogImprovement(ctx, improvement[i], cand, best))
			require.NoError(t, of.LogWithin(ctx, within[i], cand, 2, best))
			require.NoError(t, of.Expect(ctx, expected[i], cand, square))
		}
		for j := range n {
			mu := mixed(func(i int) float64 { return mean[i][j] })
			assert.InEpsilon(t, mu, mean[2][j], 1e-12)
			v := mixed(func(i int) float64 { return sd[i][j]*sd[i][j] + (mean[i][j]-mu)*(mean[i][j]-mu) })
			assert.InEpsilon(t, math.Sqrt(v), sd[2][j], 1e-12)
			assert.InEpsilon(t, mixed(func(i int) float64 { return math.Exp(improvement[i][j]) }), math.Exp(improvement[2][j]), 1e-11)
			assert.InEpsilon(t, mixed(func(i int) float64 { return math.Exp(within[i][j]) }), math.Exp(within[2][j]), 1e-11)
			assert.InEpsilon(t, mixed(func(i int) float64 { return expected[i][j] }), expected[2][j], 1e-12)
		}

		runs[1].noise *= 2
		run.narrow.noise *= 2
		assert.InEpsilon(t, mixed(func(i int) float64 { return runs[i].NoiseVariance() }), run.NoiseVariance(), 1e-12)

		run.narrow.log = run.log + 8 // as if values had decided
		got, want := make([]float64, n), make([]float64, n)
		require.NoError(t, run.LogImprovement(ctx, got, cand, best))
		require.NoError(t, runs[1].LogImprovement(ctx, want, cand, best))
		assert.Equal(t, want, got)
		run.narrow.log = run.log - 8
		require.NoError(t, run.Predict(ctx, got, make([]float64, n), cand))
		assert.Equal(t, mean[0], got)
	}
}

// Points awaited count, in both models, as evaluated with the mean of the mixture that those
// before them leave.
func TestTwoModelsAwait(t *testing.T) {
	r := rng.Stream(4, t.Name())
	s := testSettings(2)
	s.NarrowSD = 0.1
	m := learn(t, makeTasks(1, 5, 12, 2, 3, 2), uniform(r, 24, 2), s)
	x, pending := uniform(r, 4, 2), uniform(r, 2, 2)
	y := []float64{3, 4, 2, 3.5}
	run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	mean, sd, less := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	one := pending.View(0, 0, 1, 2)
	for i, awaited := range []*linalg.Dense{nil, &one, pending} {
		require.NoError(t, run.Fit(ctx, x, y, nil, awaited))
		if i > 0 {
			want := mean[i-1]/run.u - run.centre()
			assert.InDelta(t, want, run.values[i-1], 1e-12)
			assert.InDelta(t, want, run.narrow.values[i-1], 1e-12)
		}
		require.NoError(t, run.Predict(ctx, mean, less, pending))
		for j := range i {
			assert.Less(t, less[j], sd[j], "point %d of %d awaited", j, i)
		}
		copy(sd, less)
	}
}

// A stored model has both populations, and runs of it are the same to the bit.
func TestEncodeTwoModels(t *testing.T) {
	r := rng.Stream(5, t.Name())
	s := testSettings(2)
	s.NarrowSD = 0.1
	m := learn(t, makeTasks(1, 5, 12, 2, 3, 2), uniform(r, 24, 2), s)
	var e codec.Encoder
	require.NoError(t, m.Encode(&e))
	d := codec.Decoder{Buf: e.Buf, Ctx: ctx, Limits: codec.Limits{Tasks: 99, TaskRows: 99, TotalRows: 9999, Points: 999, Entries: 1 << 20}}
	got, err := Decode(&d, 2, s)
	require.NoError(t, err)
	require.NoError(t, d.Err)
	require.Empty(t, d.Buf)
	for _, total := range []int64{4, exactsum.MaxTerms + 1} { // of the five
		other := *m
		other.total = total
		var e codec.Encoder
		require.NoError(t, other.Encode(&e))
		d := codec.Decoder{Buf: e.Buf, Ctx: ctx, Limits: d.Limits}
		_, err := Decode(&d, 2, s)
		require.ErrorContains(t, errors.Join(err, d.Err), fmt.Sprintf("5 tasks of %d", total))
	}
	assert.Equal(t, m.narrow.pop, got.narrow.pop)
	assert.Equal(t, m.narrow.common, got.narrow.common)
	assert.Equal(t, m.narrow.affine, got.narrow.affine)
	x, y := uniform(r, 4, 2), []float64{3, 4, 2, 3.5}
	var masses [2][]Mass
	for i, of := range []*Model{m, got} {
		run := NewRun(of, s, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))
		masses[i] = run.Masses()
	}
	assert.Equal(t, masses[0], masses[1])
}

// What descriptors say of shapes is each model's own, what they say of offset and scale is the
// same in both.
func TestTwoModelsOfDescriptors(t *testing.T) {
	s := outputSettings()
	s.NarrowSD, s.Kernel = 0.01, kernel.Scale(1, kernel.Matern32(0.1, 0.1)) // far from what the tasks show
	m := learn(t, leveled(20, 1), uniform(rng.Stream(7, t.Name()), 25, 2), s)
	require.NotNil(t, m.narrow)
	at, err := m.At(ctx, map[string]any{"h": 80.0})
	require.NoError(t, err)
	require.NotEqual(t, m.affine, at.affine)
	require.Equal(t, at.affine, at.narrow.affine)
	silent := *m.narrow
	silent.related = nil
	one := *m
	one.narrow = &silent
	at, err = one.At(ctx, map[string]any{"h": 80.0})
	require.NoError(t, err)
	require.Equal(t, at.affine, at.narrow.affine)
	require.Equal(t, m.affine, silent.affine)
	at, err = m.At(ctx, map[string]any{"h": 80.0})
	require.NoError(t, err)
	alone, err := m.narrow.At(ctx, map[string]any{"h": 80.0})
	require.NoError(t, err)
	require.Equal(t, alone.moved, at.narrow.moved)
}

// Grids are alike up to a tenth of their covariances, as one.
func TestAlike(t *testing.T) {
	z := uniform(rng.Stream(8, t.Name()), 9, 2)
	of := func(variance float64) *grid {
		return newGrid(Base{Kernel: kernel.Scale(variance, kernel.Matern32(0.4, 0.7)), NoiseVariance: 0.1}, z, 4)
	}
	for variance, want := range map[float64]bool{10: true, 10.99: true, 9.01: true, 11.01: false, 8.99: false} {
		assert.Equal(t, want, of(variance).like(of(10)), variance)
	}
}

// Blocks of candidates that come again are carried to neither grid again.
func TestCandidatesOfTwoModels(t *testing.T) {
	r := rng.Stream(9, t.Name())
	s := testSettings(2)
	s.NarrowSD = 0.1
	m := learn(t, makeTasks(1, 5, 12, 2, 3, 2), uniform(r, 24, 2), s)
	first, err := m.Candidates(ctx, uniform(r, 9, 2), 1)
	require.NoError(t, err)
	run := NewRun(m, m.Settings(), math.NaN(), 1, []int{9, 3}, first)
	require.NoError(t, run.Fit(ctx, linalg.NewDense(0, 2, nil), nil, nil, nil))
	require.NoError(t, run.Predict(ctx, make([]float64, 12), make([]float64, 12), join(first.x, uniform(r, 3, 2))))
	require.Len(t, run.kept.blocks, 2)
	require.Same(t, first.blocks[0], run.kept.blocks[0])
	require.Same(t, first.narrow.blocks[0], run.narrow.kept.blocks[0])
}

// A run carries candidates to the grids that it predicts with alone, and to the other one
// when the values speak for it again.
func TestRunOfTwoGrids(t *testing.T) {
	r := rng.Stream(10, t.Name())
	s := testSettings(2)
	s.NarrowSD = 0.1
	m := learn(t, makeTasks(1, 5, 12, 2, 3, 2), uniform(r, 24, 2), s)
	told := uniform(r, 3, 2)
	b := NewRun(m, m.Settings(), math.NaN(), 1, []int{9}, nil)
	require.NoError(t, b.Fit(ctx, told, []float64{3, 4, 2}, nil, nil))
	log := b.log
	x, other := uniform(r, 9, 2), uniform(r, 9, 2)
	for _, ahead := range []float64{8, 0, -8, 8} {
		b.narrow.log = log - ahead
		run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, told, []float64{3, 4, 2}, nil, nil))
		run.narrow.log = log - ahead
		for _, x := range []*linalg.Dense{x, other, x} {
			var got, want [3][]float64
			for i := range got {
				got[i], want[i] = make([]float64, 9), make([]float64, 9)
			}
			require.NoError(t, b.Predict(ctx, got[0], got[1], x))
			require.NoError(t, run.Predict(ctx, want[0], want[1], x))
			require.NoError(t, b.LogImprovementWithoutTransfer(ctx, got[2], x, 3))
			require.NoError(t, run.LogImprovementWithoutTransfer(ctx, want[2], x, 3))
			assert.Equal(t, want, got)
			if x == other { // which were carried just now
				assert.Equal(t, ahead >= 0, b.kept.Hold(x))
				assert.Equal(t, ahead <= 0, b.narrow.kept.Hold(x))
			}
		}
	}
}
