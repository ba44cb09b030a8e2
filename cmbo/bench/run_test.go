package bench

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/stretchr/testify/require"
)

// elsewhere proposes a row that no table has.
type elsewhere struct {
	inOrder
	index int
}

func (o *elsewhere) Ask(context.Context) (cmbo.Trial, error) {
	return cmbo.Trial{ID: 7, Index: o.index}, nil
}

func TestRunRefuses(t *testing.T) {
	x := [][]float64{{0}, {0.5}, {1}}
	good := &TableTask{ID: "good", X: x, Y: []float64{1, 2, 3}}
	cube, err := cmbo.UnitCube(1)
	require.NoError(t, err)
	free := newOptimizer(t, cube)
	for _, tt := range []struct {
		name    string
		task    *TableTask
		o       AskTeller
		initial []int
		budget  int
		is      error
		want    string
	}{
		{"initial row", good, &inOrder{rows: x}, []int{0, 3}, 1, cmbo.ErrOption, `initial row 3 of task "good", which has 3`},
		{"negative initial row", good, &inOrder{rows: x}, []int{-1}, 1, cmbo.ErrOption, "initial row -1"},
		{"row beyond the table", good, &elsewhere{index: 3}, nil, 1, cmbo.ErrOption, `trial 7 proposes candidate 3, but task "good" has 3 rows`},
		{"parameter space", good, free, nil, 1, cmbo.ErrOption, "proposes candidate -1"},
		{"constant", &TableTask{ID: "flat", X: x, Y: []float64{2, 2, 2}}, &inOrder{rows: x}, nil, 1, cmbo.ErrTask, `task "flat" has 3 values from 2 to 2`},
		{"range beyond numbers", &TableTask{ID: "far", X: x, Y: []float64{-1e308, 0, 1e308}}, &inOrder{rows: x}, nil, 1, cmbo.ErrTask, `task "far" has 3 values from -1e+308 to 1e+308`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := trace(context.Background(), tt.task, tt.o, tt.initial, tt.budget)
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, got)
			if o, ok := tt.o.(*inOrder); ok {
				require.Empty(t, o.told, "refused before anything is told")
			}
		})
	}
	got, err := trace(context.Background(), good, &inOrder{rows: x}, []int{1}, 0)
	require.NoError(t, err)
	require.Equal(t, []float64{0.5}, got.Regret)
}

// seer proposes rows in their order and predicts by hand.
type seer struct {
	inOrder
	steps []cmbo.Step
}

func (o *seer) LastStep() (cmbo.Step, bool) { return o.steps[o.next-1], true }

// TestPredictions holds what a record keeps against hand-computed values.
func TestPredictions(t *testing.T) {
	task := &TableTask{ID: "hand", X: [][]float64{{0}, {0.25}, {0.5}, {0.75}, {1}}, Y: []float64{3, 7, 2, 10, 5}}
	o := &seer{inOrder: inOrder{rows: task.X}, steps: []cmbo.Step{
		// Mean 1 + 2·0.5 = 2, deviation 2·√(0.36 + 0.64) = 2: z = (3 − 2)/2.
		{Trial: 1, Chosen: 0, Mean: []float64{0.5}, SD: []float64{0.6}, NoiseVariance: 0.64, Shift: 1, Scale: 2},
		// Noise unknown: deviation 4·0.5, mean −1 + 4·1 = 3, z = (7 − 3)/2.
		{Trial: 2, Chosen: 1, Mean: []float64{9, 1}, SD: []float64{9, 0.5}, NoiseVariance: math.NaN(), Shift: -1, Scale: 4},
		// No deviation: left out.
		{Trial: 3, Chosen: 2, Mean: []float64{0, 0, 0}, SD: []float64{1, 1, 0}, NoiseVariance: math.NaN(), Scale: 1},
		// Of another trial: the model did not choose this point.
		{Trial: 3, Chosen: 3, Mean: []float64{0, 0, 0, 0}, SD: []float64{1, 1, 1, 1}, Scale: 1},
		// z = (5 − 0)/3 = 1.6667.
		{Trial: 5, Chosen: 4, Mean: []float64{1, 1, 1, 1, 0}, SD: []float64{1, 1, 1, 1, 3}, NoiseVariance: math.NaN(), Scale: 1},
	}}
	r, err := trace(context.Background(), task, o, nil, 7)
	require.NoError(t, err)
	require.Equal(t, []float64{0.5, 2, 1.6667}, r.Z)
	// The range is 8: ln(2/8), ln(2/8), ln(3/8).
	require.Equal(t, []float64{-1.3863, -1.3863, -0.98083}, r.LogSD)
	require.Equal(t, []int{0, 1, 2, 3, 4}, r.Rows)
	require.Len(t, r.Regret, 8, "the last regret stays when nothing is left")
	require.Len(t, o.told, 5)
}

// TestPredictionsInTheUsersUnits holds them against Predict, which works in the
// user's units by itself.
func TestPredictionsInTheUsersUnits(t *testing.T) {
	task := &gridTable(1, 12).Tasks[0]
	for i := range task.Y {
		task.Y[i] = 1000 + 50*task.Y[i]
	}
	space, err := cmbo.Candidates(task.X)
	require.NoError(t, err)
	gp, err := baseline.Find("GP")
	require.NoError(t, err)
	model, err := gp.Learn(context.Background(), space, nil)
	require.NoError(t, err)
	o := newOptimizer(t, space, cmbo.WithInitial(0), cmbo.WithSurrogate(model.Surrogate(0)))
	r, err := trace(context.Background(), task, o, []int{0, 1, 2}, 1)
	require.NoError(t, err)
	s, ok := o.LastStep()
	require.True(t, ok)
	before := newOptimizer(t, space, cmbo.WithInitial(0), cmbo.WithSurrogate(model.Surrogate(0)))
	for _, i := range []int{0, 1, 2} {
		require.NoError(t, before.Observe(task.X[i], task.Y[i]))
	}
	mean, sd, err := before.Predict(t.Context(), task.X[r.Rows[3]])
	require.NoError(t, err)
	sd = math.Sqrt(sd*sd + s.NoiseVariance*s.Scale*s.Scale)
	lo, hi := task.Range()
	require.InEpsilon(t, (task.Y[r.Rows[3]]-mean)/sd, r.Z[0], 1e-4)
	require.InEpsilon(t, math.Log(sd/(hi-lo)), r.LogSD[0], 1e-4)
}

// TestForetoldAsPredicted: of the library's own model, which sees low values as closer together, what is kept is of what
// Predict says before each value.
func TestForetoldAsPredicted(t *testing.T) {
	ctx := context.Background()
	table := gridTable(5, 12)
	task := &table.Tasks[0]
	space, err := cmbo.Candidates(task.X)
	require.NoError(t, err)
	method, err := findMethod(Methods(), defaultMethod)
	require.NoError(t, err)
	var past []cmbo.Task
	for _, other := range table.Tasks[1:] {
		past = append(past, cmbo.Task{ID: other.ID, X: other.X, Y: other.Y})
	}
	tuner, err := method.Learn(ctx, Training{Space: space, Tasks: past})
	require.NoError(t, err)
	o, err := tuner(ctx, space, 0)
	require.NoError(t, err)
	r, err := trace(ctx, task, o, nil, 8)
	require.NoError(t, err)
	require.Len(t, r.Z, 8)
	lo, hi := task.Range()
	for k := 1; k < 8; k++ {
		before, err := tuner(ctx, space, 0)
		require.NoError(t, err)
		for _, i := range r.Rows[:k] {
			require.NoError(t, before.Observe(task.X[i], task.Y[i]))
		}
		mean, _, err := before.(foreteller).Predict(ctx, task.X[r.Rows[k]])
		require.NoError(t, err)
		// Times its deviation the number of deviations is the error.
		require.InDelta(t, task.Y[r.Rows[k]]-mean, r.Z[k]*math.Exp(r.LogSD[k])*(hi-lo), 1e-3*(hi-lo), "query %d", k)
	}
}

// TestSharedValues: standardised together, values in another unit that all tasks have change no proposal, and a task's
// own offset does; predictions are in the unit told.
func TestSharedValues(t *testing.T) {
	for _, name := range []string{"RGPE", "EM-EGP"} {
		runs := func(name string, y func(task int, y float64) float64) (rows [][]int, z [][]float64) {
			table := gridTable(9, 16)
			for k := range table.Tasks {
				table.Tasks[k].Y = slices.Clone(table.Tasks[k].Y)
				for i, v := range table.Tasks[k].Y {
					table.Tasks[k].Y[i] = y(k, v)
				}
			}
			p := smallProtocol()
			p.Methods, p.Acquisitions, p.Budget = []string{name}, []string{"EI"}, 8
			out, err := (&Experiment{Protocol: p}).Run(context.Background(), []*Table{table}, t.TempDir())
			require.NoError(t, err)
			for _, r := range out.Records {
				rows, z = append(rows, r.Rows), append(z, r.Z)
			}
			return rows, z
		}
		same := func(_ int, y float64) float64 { return y }
		together := func(_ int, y float64) float64 { return 8 * y } // to the bit
		apart := func(task int, y float64) float64 { return y + float64(task) }
		rows, z := runs(name+SharedValues, same)
		again, foretold := runs(name+SharedValues, together)
		require.Equal(t, rows, again)
		require.Equal(t, z, foretold)
		other, _ := runs(name+SharedValues, apart)
		require.NotEqual(t, rows, other)
		rows, _ = runs(name, same)
		other, _ = runs(name, apart)
		require.Equal(t, rows, other)

		// A past of equal values has no deviation.
		m, err := findMethod(Methods(), name+SharedValues)
		require.NoError(t, err)
		space, err := cmbo.UnitCube(1)
		require.NoError(t, err)
		tasks := []cmbo.Task{{ID: "a", X: [][]float64{{.1}, {.2}, {.7}}, Y: []float64{.1, .1, .1}}}
		_, err = m.Learn(context.Background(), Training{Space: space, Tasks: tasks})
		require.NoError(t, err)
	}
	for name, want := range map[string]string{"cm-bo:Shared": "cm-BO:shared", "rgpe:SHARED": "RGPE:shared"} {
		m, err := findMethod(Methods(), name)
		require.NoError(t, err)
		require.Equal(t, want, m.Name)
	}
	_, err := findMethod(Methods(), "no-past"+SharedValues)
	require.ErrorIs(t, err, cmbo.ErrOption)
}
