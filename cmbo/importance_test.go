package cmbo

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
)

// TestImportanceShares: the shares of Ishigami's function, which are known.
func TestImportanceShares(t *testing.T) {
	space, err := NewSpace(Float("x", -math.Pi, math.Pi), Float("y", -math.Pi, math.Pi), Float("z", -math.Pi, math.Pi))
	require.NoError(t, err)
	for seed := range uint64(4) {
		a, b := space.Pairs(importancePoints, rng.Stream(seed, "importance"))
		first, total, err := shares(a, b, func(rows [][]float64) (out []float64, err error) {
			for _, x := range rows {
				out = append(out, 100+math.Sin(x[0])+7*math.Pow(math.Sin(x[1]), 2)+.1*math.Pow(x[2], 4)*math.Sin(x[0]))
			}
			return out, nil
		})
		require.NoError(t, err)
		for i, want := range [][2]float64{{.3139, .5576}, {.4424, .4424}, {0, .2437}} {
			assert.InDelta(t, want[0], first[i], .02, "%d %d", seed, i)
			assert.InDelta(t, want[1], total[i], .02, "%d %d", seed, i)
		}
	}
}

// TestImportanceOfMixtures: parameters vary independently of each other where the candidates' sum to one, too.
func TestImportanceOfMixtures(t *testing.T) {
	space, err := NewSpace(Float("water", 0, 1), Float("oil", 0, 1))
	require.NoError(t, err)
	var rows [][]float64
	for i := range 101 {
		rows = append(rows, []float64{float64(i) / 100, 1 - float64(i)/100})
	}
	space, err = space.WithCandidates(rows)
	require.NoError(t, err)
	a, b := space.Pairs(importancePoints, rng.Stream(1, "importance"))
	first, total, err := shares(a, b, func(rows [][]float64) (out []float64, err error) {
		for _, x := range rows {
			out = append(out, x[0]+2*x[1])
		}
		return out, nil
	})
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{.2, .8}, first, .02)
	assert.InDeltaSlice(t, []float64{.2, .8}, total, .02)
}

// TestImportanceByHand: two points of a line, whose one parameter explains all and no more.
func TestImportanceByHand(t *testing.T) {
	first, total, err := shares([][]float64{{3}, {5}}, [][]float64{{5}, {3}}, func(rows [][]float64) (out []float64, err error) {
		for _, x := range rows {
			out = append(out, x[0])
		}
		return out, nil
	})
	require.NoError(t, err)
	assert.Equal(t, []float64{1}, first)
	assert.Equal(t, []float64{1}, total)
}

// TestImportanceOfNothing: what no parameter changes has no shares, whatever its roundings.
func TestImportanceOfNothing(t *testing.T) {
	ctx := context.Background()
	space, err := NewSpace(Float("x", 0, 1), Bool("y"))
	require.NoError(t, err)
	rows, err := space.Sample(20, 1)
	require.NoError(t, err)
	for _, level := range []float64{3.7, -1e6, 1e-9} {
		prior, err := Learn(ctx, space, []Task{{ID: "past", X: rows, Y: slices.Repeat([]float64{level}, len(rows))}})
		require.NoError(t, err)
		o, err := New(space, WithPrior(prior))
		require.NoError(t, err)
		got, err := o.Importance(ctx)
		require.NoError(t, err)
		require.Equal(t, []Importance{{Param: "x"}, {Param: "y"}}, got, level)
	}
}

// TestImportanceOfFew: the formulas on rows whose values differ in the mean.
func TestImportanceOfFew(t *testing.T) {
	a, b := [][]float64{{1, 0}, {2, 4}}, [][]float64{{4, 3}, {9, 5}}
	f := func(x []float64) float64 { return x[0] + 0.5*x[1]*x[1] }
	first, total, err := shares(a, b, func(rows [][]float64) (out []float64, err error) {
		for _, x := range rows {
			out = append(out, f(x))
		}
		return out, nil
	})
	require.NoError(t, err)
	values := []float64{f(a[0]), f(a[1]), f(b[0]), f(b[1])}
	mean := (values[0] + values[1] + values[2] + values[3]) / 4
	variance := 0.0
	for _, v := range values {
		variance += math.Pow(v-mean, 2) / 4
	}
	// Rows of a with the first, and the second, column of b.
	with := (math.Pow(values[2]-f([]float64{4, 0}), 2) + math.Pow(values[3]-f([]float64{9, 4}), 2)) / 4
	without := (math.Pow(values[0]-f([]float64{4, 0}), 2) + math.Pow(values[1]-f([]float64{9, 4}), 2)) / 4
	assert.InDelta(t, 1-with/variance, first[0], 1e-12)
	assert.InDelta(t, max(without/variance, first[0]), total[0], 1e-12)
	with = (math.Pow(values[2]-f([]float64{1, 3}), 2) + math.Pow(values[3]-f([]float64{2, 5}), 2)) / 4
	assert.InDelta(t, 1-with/variance, first[1], 1e-12)
}

// TestAgainByHand: the point of which one value more is worth most, by the formula: a point
// behind the best may pass it, and the best may fall behind the next.
func TestAgainByHand(t *testing.T) {
	gain := func(v, noise, behind float64) float64 {
		s := v / math.Sqrt(v+noise)
		u := -behind / s
		return s * (u*math.Erfc(-u/math.Sqrt2)/2 + math.Exp(-u*u/2)/math.Sqrt(2*math.Pi))
	}
	for _, c := range []struct {
		mean, sd []float64
		at       int
		want     float64
	}{
		{[]float64{5, 4, 1}, []float64{1, 0.5, 0}, 0, gain(1, 2, 1)},
		{[]float64{5, 4, 1}, []float64{0.1, 2, 0}, 1, gain(4, 2, 1)},
		{[]float64{5, 4, 3}, []float64{0, 0, 3}, 2, gain(9, 2, 2)},
		{[]float64{5, 4, 3}, []float64{0, 0, 0}, 0, 0},
	} {
		at, got := again(c.mean, c.sd, 0, 2)
		assert.Equal(t, c.at, at)
		assert.InDelta(t, c.want, got, 1e-12)
	}
	at, got := again([]float64{5}, []float64{1}, 0, 2)
	assert.Equal(t, -1, at)
	assert.Zero(t, got)
}

// TestImportance: what parameters are worth by themselves and together, for numbers and choices,
// in a box and in a list, with a past and without; a run that is restored says the same.
func TestImportance(t *testing.T) {
	ctx := context.Background()
	space, err := NewSpace(Float("slope", 0, 1), Categorical("kind", "a", "b"), Float("u", 0, 1), Float("v", 0, 1), Float("nothing", 0, 1))
	require.NoError(t, err)
	f := func(x []float64) float64 { return 10*x[0] + 3*x[1] + 30*(x[2]-.5)*(x[3]-.5) }
	// Variances: 100/12, 9/4 and 900/144.
	v := []float64{100. / 12, 9. / 4, 0, 0, 0}
	sum := v[0] + v[1] + 900./144
	o, err := New(space, WithMinimize())
	require.NoError(t, err)
	none, err := o.Importance(ctx)
	require.NoError(t, err)
	for _, p := range none {
		assert.Zero(t, p.Total)
	}
	rows, err := space.Sample(120, 3)
	require.NoError(t, err)
	task := Task{ID: "past"}
	for _, x := range rows {
		require.NoError(t, o.Observe(x, f(x)))
		task.X, task.Y = append(task.X, x), append(task.Y, 100+2*f(x))
	}
	got, err := o.Importance(ctx)
	require.NoError(t, err)
	require.Len(t, got, 5)
	for i, p := range got {
		together := 0.
		if i == 2 || i == 3 {
			together = 900. / 144
		}
		assert.Equal(t, space.Params()[i].Name(), p.Param)
		assert.InDelta(t, v[i]/sum, p.First, .08, p.Param)
		assert.InDelta(t, (v[i]+together)/sum, p.Total, .08, p.Param)
	}
	var b bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	restored, err := Restore(&b)
	require.NoError(t, err)
	again, err := restored.Importance(ctx)
	require.NoError(t, err)
	require.Equal(t, got, again)

	list, err := space.WithCandidates(rows)
	require.NoError(t, err)
	prior, err := Learn(ctx, list, []Task{task})
	require.NoError(t, err)
	o, err = New(list, WithPrior(prior))
	require.NoError(t, err)
	got, err = o.Importance(ctx)
	require.NoError(t, err)
	assert.Greater(t, got[0].First, got[1].First)
	assert.Less(t, got[4].Total, .1)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = o.Importance(canceled)
	require.ErrorIs(t, err, context.Canceled)
}
