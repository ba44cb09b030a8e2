package cmbo

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// TestImportanceShares: the shares of Ishigami's function, which are known.
func TestImportanceShares(t *testing.T) {
	space := spaceOf(t, Float("x", -math.Pi, math.Pi), Float("y", -math.Pi, math.Pi), Float("z", -math.Pi, math.Pi))
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
	space = listOf(t, space, rows)
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

// TestImportanceOfNothing: what no parameter changes has no shares, whatever its roundings.
func TestImportanceOfNothing(t *testing.T) {
	space := spaceOf(t, Float("x", 0, 1), Bool("y"))
	rows := sample(t, space, 20, 1)
	for _, level := range []float64{3.7, -1e6, 1e-9} {
		prior := priorOf(t, space, []Task{{ID: "past", X: rows, Y: slices.Repeat([]float64{level}, len(rows))}})
		o := optimizerOf(t, space, WithPrior(prior))
		got := importance(t, o)
		require.Equal(t, []Importance{{Param: "x"}, {Param: "y"}}, got, level)
	}
}

// An ending is a surrogate during whose first prediction the context ends, at which it does not look.
type ending struct {
	Surrogate
	end         func()
	predictions *int
}

func (ending) Fit(context.Context, Data) error { return nil }
func (e ending) Predict(_ context.Context, mean, _ []float64, x *linalg.Dense) error {
	e.end()
	*e.predictions++
	for i := range mean {
		mean[i] = x.At(i, 0)
	}
	return nil
}

// TestImportanceEndsWithItsContext: with many parameters predictions take most of the time.
func TestImportanceEndsWithItsContext(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	space := unitCube(t, 30)
	var predictions int
	o := optimizerOf(t, space, WithSurrogate(ending{end: end, predictions: &predictions}))
	_, err := o.Importance(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, predictions)
}

// TestImportanceByHand: two points of a line, whose one parameter explains all and no more; the variance is that of
// both lists of rows, of which one alone may have none.
func TestImportanceByHand(t *testing.T) {
	for _, rows := range [][2][][]float64{{{{3}, {5}}, {{5}, {3}}}, {{{0}, {0}}, {{1}, {1}}}} {
		first, total, err := shares(rows[0], rows[1], func(rows [][]float64) (out []float64, err error) {
			for _, x := range rows {
				out = append(out, x[0])
			}
			return out, nil
		})
		require.NoError(t, err)
		assert.Equal(t, []float64{1}, first)
		assert.Equal(t, []float64{1}, total)
	}
}

// TestImportanceOfTable: on all pairs of cells of a table the shares are those of the analysis of variance, to
// rounding: of the variance of the means over the other parameters, and of the mean of the variances where they are kept.
func TestImportanceOfTable(t *testing.T) {
	table := [3][4]float64{{3, 1, 4, 1}, {5, 9, 2, 6}, {5, 3, 5, 8}}
	var cells, a, b [][]float64
	var all []float64
	lines := [2][][]float64{make([][]float64, 3), make([][]float64, 4)} // by parameter, the values where it is kept
	for i, row := range table {
		for j, v := range row {
			cells, all = append(cells, []float64{float64(i), float64(j)}), append(all, v)
			lines[0][i], lines[1][j] = append(lines[0][i], v), append(lines[1][j], v)
		}
	}
	for _, x := range cells {
		for _, y := range cells {
			a, b = append(a, x), append(b, y)
		}
	}
	first, total, err := shares(a, b, func(rows [][]float64) (out []float64, err error) {
		for _, x := range rows {
			out = append(out, table[int(x[0])][int(x[1])])
		}
		return out, nil
	})
	require.NoError(t, err)
	variance := func(y []float64) (mean, v float64) {
		for _, u := range y {
			mean += u / float64(len(y))
		}
		for _, u := range y {
			v += (u - mean) * (u - mean) / float64(len(y))
		}
		return mean, v
	}
	_, whole := variance(all)
	for k := range lines {
		means, within := make([]float64, len(lines[k])), 0.0
		for i, line := range lines[k] {
			m, _ := variance(line)
			means[i] = m
		}
		for _, line := range lines[1-k] {
			_, v := variance(line)
			within += v / float64(len(lines[1-k]))
		}
		_, between := variance(means)
		assert.InDelta(t, between/whole, first[k], 1e-12)
		assert.InDelta(t, within/whole, total[k], 1e-12)
	}
}

// TestImportance: what parameters are worth by themselves and together, for numbers and choices,
// in a box and in a list, with a past and without; a run that is restored says the same.
func TestImportance(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares with known shares")
	ctx := context.Background()
	space := spaceOf(t, Float("slope", 0, 1), Categorical("kind", "a", "b"), Float("u", 0, 1), Float("v", 0, 1), Float("nothing", 0, 1))
	f := func(x []float64) float64 { return 10*x[0] + 3*x[1] + 30*(x[2]-.5)*(x[3]-.5) }
	// Variances: 100/12, 9/4 and 900/144.
	v := []float64{100. / 12, 9. / 4, 0, 0, 0}
	sum := v[0] + v[1] + 900./144
	o := optimizerOf(t, space, WithMinimize())
	none := importance(t, o)
	for _, p := range none {
		assert.Zero(t, p.Total)
	}
	rows := sample(t, space, 120, 3)
	task := Task{ID: "past"}
	for _, x := range rows {
		require.NoError(t, o.Observe(x, f(x)))
		task.X, task.Y = append(task.X, x), append(task.Y, 100+2*f(x))
	}
	got := importance(t, o)
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
	restored := restored(t, o)
	again := importance(t, restored)
	require.Equal(t, got, again)

	list := listOf(t, space, rows)
	prior := priorOf(t, list, []Task{task})
	o = optimizerOf(t, list, WithPrior(prior))
	got = importance(t, o)
	assert.Greater(t, got[0].First, got[1].First)
	assert.Less(t, got[4].Total, .1)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err := o.Importance(canceled)
	require.ErrorIs(t, err, context.Canceled)
}
