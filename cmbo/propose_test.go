package cmbo

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// The initial design of a finite space takes of the rows that are left the nearest to each Sobol
// point, of equally near ones, as choices are, the first.
func TestDesignOfFiniteSpace(t *testing.T) {
	s := spaceOf(t, Categorical("a", "p", "q", "r", "s", "t"), Int("b", 0, 2))
	o := optimizerOf(t, s, WithInitial(15))
	ties := 0
	for i := range 15 {
		d := o.draft()
		target := s.EncodeAll([][]float64{d.designRow(i)}).Row(0)
		want, least := 0, math.Inf(1)
		for r := range d.rows {
			if !d.h.Proposable(points.Key(d.rows[r])) {
				continue
			}
			switch far := linalg.SqDist(o.points.Row(r), target); {
			case far < least:
				want, least = r, far
			case far == least:
				ties++
			}
		}
		trial := ask(t, o)
		assert.Equal(t, d.rows[want], trial.X)
	}
	assert.Positive(t, ties)
}

// Where nothing is left Ask says why.
func TestExhaustedSaysWhy(t *testing.T) {
	s := spaceOf(t, Int("a", 0, 2))
	for _, initial := range []int{0, 5} {
		o := optimizerOf(t, s, WithInitial(initial))
		for row := range 3 {
			require.NoError(t, o.Enqueue([]float64{float64(row)}))
			trial := ask(t, o)
			if row > 0 {
				require.NoError(t, o.TellFailed(trial.ID))
			}
		}
		_, err := o.Ask(context.Background())
		assert.ErrorIs(t, err, ErrNoCandidates)
		assert.ErrorContains(t, err, "all 3 rows are observed or asked, 1 trials are open")
	}
}

// Of the blocks of candidates one a proposal is drawn anew, and all around the best point when that is
// another; the others are kept.
func TestBlocksAreKept(t *testing.T) {
	s := unitCube(t, 2)
	o := optimizerOf(t, s, WithCandidateCounts(64, 32))
	require.NoError(t, o.Observe([]float64{0.5, 0.5}, 1))
	kept := func(step int) (sobol, local int) {
		before := map[*poolBlock]bool{}
		for _, b := range o.drawn {
			before[b] = true
		}
		o.draft().draw(step)
		for _, b := range o.drawn {
			assert.Less(t, b.last-step, poolSteps)
			assert.GreaterOrEqual(t, b.last, step)
			if before[b] && b.around == nil {
				sobol++
			} else if before[b] {
				local++
			}
		}
		return sobol, local
	}
	kept(1)
	for step := 2; step < 40; step++ {
		sobol, local := kept(step)
		assert.Equal(t, [2]int{poolSteps - 1, poolSteps - 1}, [2]int{sobol, local}, "step %d", step)
	}
	sobol, local := kept(39)
	assert.Equal(t, [2]int{poolSteps, poolSteps}, [2]int{sobol, local}, "the same step")
	require.NoError(t, o.Observe([]float64{0.2, 0.5}, 2))
	sobol, local = kept(40)
	assert.Equal(t, [2]int{poolSteps - 1, 0}, [2]int{sobol, local}, "another best point")
}

// After a panic the models of a run are made anew before they are used again, once, unless the model
// is the caller's; after other errors they are kept.
func TestModelsMadeAnew(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 1, 10)
	for _, foreign := range []bool{false, true} {
		opts := []Option{WithInitial(0)}
		if foreign {
			opts = append(opts, WithSurrogate(flat{}))
		}
		o := optimizerOf(t, s, opts...)
		require.NoError(t, o.Observe(tasks[0].X[0], 1))
		ask := func() {
			trial := ask(t, o)
			require.NoError(t, o.Cancel(trial.ID))
		}
		ask()
		model, requirements := o.model, o.requirements
		o.past, o.judged, o.curves.ends = new(hindsight), new(hindsight), make(map[int][2]float64)
		_, err := withModel(ctx, o, func() (int, error) { return 0, errors.New("no panic") })
		require.Error(t, err)
		assert.False(t, o.stale)
		assert.Same(t, requirements[success], o.requirements[success])
		assert.NotNil(t, o.past)
		assert.NotNil(t, o.judged)
		assert.NotNil(t, o.curves.ends)
		ask()
		assert.Equal(t, model, o.model)
		_, err = withModel(ctx, o, func() (int, error) { panic("a bug") })
		require.ErrorAs(t, err, new(*PanicError))
		assert.Equal(t, !foreign, o.stale)
		assert.NotSame(t, requirements[success], o.requirements[success])
		assert.Nil(t, o.past)
		assert.Nil(t, o.judged)
		assert.Nil(t, o.curves.ends)
		ask()
		assert.False(t, o.stale)
		if foreign {
			continue
		}
		again := o.model.Surrogate.(plainRun)
		assert.NotSame(t, model.Surrogate.(plainRun).Plain, again.Plain)
		ask()
		assert.Same(t, again.Plain, o.model.Surrogate.(plainRun).Plain)
	}
}

// refitted is a model that fits a number to the values told, and keeps what it was given.
type refitted struct {
	flat
	params []float64
	known  map[int][]float64
}

func (m *refitted) Fit(_ context.Context, d Data) error {
	m.known = d.Fitted
	m.params = []float64{float64(len(d.Y))}
	return nil
}
func (m *refitted) Fitted() (count int, params []float64) { return int(m.params[0]), m.params }
func (m *refitted) CheckFitted(params []float64) error {
	if params[0] > 2 {
		return errKeeper
	}
	return nil
}

// What a model fits is logged with the first proposal that it is for, as it was, and given back.
func TestFittedIsLogged(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 1, 10)
	m := &refitted{}
	o := optimizerOf(t, s, WithInitial(0), WithSurrogate(m))
	want := map[int][]float64{}
	for i := range 3 {
		ask(t, o)
		want[i] = []float64{float64(i)}
		assert.Equal(t, want, o.h.Fitted)
		m.params[0] = -7 // the log has its own
		events := len(o.h.Events)
		ask(t, o)
		assert.Len(t, o.h.Events, events+1, "nothing is fitted twice")
		assert.Equal(t, want, m.known)
		require.NoError(t, o.Observe(tasks[0].X[9-i], 1))
	}
	_, err := o.Ask(ctx)
	assert.ErrorIs(t, err, ErrNumerical)
	assert.ErrorIs(t, err, errKeeper)
}

// A score that is NaN is never chosen, of equal ones the first is, and all NaN is an error.
func TestScoresThatAreNaN(t *testing.T) {
	s := spaceOf(t, Int("a", 0, 4))
	nan := math.NaN()
	for _, c := range []struct {
		scores []float64
		want   int
	}{
		{[]float64{nan, 1, 2, 2, nan}, 2}, {[]float64{-1, nan, -1, -2, nan}, 0}, {[]float64{nan, nan, math.Inf(-1), nan, nan}, 2}, {[]float64{nan, nan, nan, nan, nan}, -1},
	} {
		o := optimizerOf(t, s, WithInitial(0), WithSurrogate(listed(c.scores)))
		trial, err := o.Ask(context.Background())
		if c.want < 0 {
			assert.ErrorIs(t, err, ErrNumerical)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []float64{float64(c.want)}, trial.X)
	}
}

// listed is a model that scores a list.
type listed []float64

func (listed) Fit(context.Context, Data) error { return nil }
func (listed) Predict(_ context.Context, mean, sd []float64, _ *linalg.Dense) error {
	for i := range mean {
		mean[i], sd[i] = 0, 1
	}
	return nil
}
func (m listed) Score(_ context.Context, dst []float64, _ *linalg.Dense, _ acq.Func, _ float64) error {
	copy(dst, m)
	return nil
}

// TestTied: values that equal the best count as ties by the order in which they were told, that of the first trial too; one
// that was observed counts for none.
func TestTied(t *testing.T) {
	o := optimizerOf(t, unitCube(t, 1), WithInitial(9))
	trials := askN(t, o, 7)
	tell := func(k int, y float64) { require.NoError(t, o.Tell(trials[k].ID, y)) }
	tell(6, 0)
	for k := 5; k > 0; k-- {
		tell(k, 1)
	}
	require.NoError(t, o.Observe([]float64{0.123}, 1))
	require.False(t, o.draft().tied(), "four beside the best")
	tell(0, 1)
	require.True(t, o.draft().tied())
}
