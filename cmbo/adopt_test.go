package cmbo

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecordedByName: a task that knows its parameters means the same whatever
// their order and that of their choices.
func TestRecordedByName(t *testing.T) {
	old := spaceOf(t, Categorical("kernel", "rbf", "poly", "linear"), LogFloat("c", 1e-2, 1e2), Bool("scale"))
	now := spaceOf(t, Bool("scale"), Categorical("kernel", "linear", "rbf", "sigmoid", "poly"), LogFloat("c", 1e-3, 1e3))
	x := [][]float64{{0, 1, 1}, {1, 0.1, 0}, {2, 10, 1}, {0, 50, 0}}
	y := []float64{3, 1, 4, 1.5}
	recorded := []Task{{ID: "a", X: x, Y: y, Params: old.Params()}, {ID: "b", X: x[:2], Y: y[:2], Params: old.Params()}}
	moved := [][]float64{{1, 1, 1}, {0, 3, 0.1}, {1, 0, 10}, {0, 1, 50}}
	plain := []Task{{ID: "a", X: moved, Y: y}, {ID: "b", X: moved[:2], Y: y[:2]}}

	digest := func(tasks []Task) string {
		p := priorOf(t, now, tasks)
		d, err := p.Digest()
		require.NoError(t, err)
		return d
	}
	require.Equal(t, digest(plain), digest(recorded))
	require.Equal(t, []float64{0, 1, 1}, recorded[0].X[0], "the tasks are not changed")

	// What Learn does not decide by itself names the parameter.
	for reason, params := range map[string][]Param{
		`parameter "extra": it was not recorded`:                                            {Bool("scale"), now.Params()[1], now.Params()[2], Bool("extra")},
		`parameter "scale": it was recorded, but is not in the space`:                       {now.Params()[1], now.Params()[2]},
		`parameter "c": it was recorded as a logfloat in [0.01, 100]; the space has a bool`: {Bool("scale"), now.Params()[1], Bool("c")},
	} {
		_, err := Learn(t.Context(), spaceOf(t, params...), recorded)
		require.ErrorIs(t, err, ErrSpace)
		require.ErrorContains(t, err, `task "a": `+reason)
	}
	narrow := spaceOf(t, Bool("scale"), Categorical("kernel", "linear", "rbf"), LogFloat("c", 1e-3, 1e3))
	_, err := Learn(t.Context(), narrow, recorded)
	require.ErrorIs(t, err, ErrOutOfSpace)
	require.ErrorContains(t, err, `task "a": row 1: parameter "kernel": "poly" is not a value of one of "linear", "rbf"`)
}

// TestPriorAdopt: a prior of the same space relearned is the same prior but for
// rounding, and one brought to a changed space still knows where the optimum is.
func TestPriorAdopt(t *testing.T) {
	old := spaceOf(t, Float("x", 0, 1), Categorical("kind", "good", "bad"))
	for _, minimize := range []bool{false, true} {
		var tasks []Task
		for k, id := range []string{"a", "b", "c"} {
			task := Task{ID: id}
			for i := range 9 {
				for kind := range 2 {
					x := float64(i) / 8
					y := float64(k+1) * (1 - (x-0.25)*(x-0.25) - float64(kind))
					if minimize {
						y = -y
					}
					task.X, task.Y = append(task.X, []float64{x, float64(kind)}), append(task.Y, y)
				}
			}
			tasks = append(tasks, task)
		}
		opts := []LearnOption{WithSeed(3)}
		if minimize {
			opts = append(opts, WithMinimize())
		}
		p := priorOf(t, old, tasks, opts...)
		require.Equal(t, old.Params(), p.Space().Params())
		for i, task := range p.Tasks() {
			require.Equal(t, tasks[i].ID, task.ID)
			require.Len(t, task.X, 18)
			require.Equal(t, slices.Index(task.Y, slices.Max(task.Y)), slices.Index(tasks[i].Y, slices.Max(tasks[i].Y)))
		}
		same, a, err := p.Adopt(t.Context(), old, Changes{})
		require.NoError(t, err)
		require.Equal(t, 3*18, a.Rows)
		require.Equal(t, minimize, same.Minimizes())
		was, err := p.learned.TaskMeans(t.Context(), p.learned.Grid(), 0)
		require.NoError(t, err)
		is, err := same.learned.TaskMeans(t.Context(), p.learned.Grid(), 0)
		require.NoError(t, err)
		for i := range was {
			require.InDeltaSlice(t, was[i], is[i], 1e-6)
		}

		now := spaceOf(t, Categorical("kind", "bad", "new", "good"), Float("x", -1, 0.75), Bool("flag"))
		_, err = New(now, WithPrior(p))
		require.ErrorIs(t, err, ErrPriorMismatch)
		q, a, err := p.Adopt(t.Context(), now, Changes{Defaults: map[string]any{"flag": true}})
		require.NoError(t, err)
		require.Len(t, a.Outside, 3*2*2)
		require.Equal(t, []string{"flag"}, a.Filled)
		o := optimizerOf(t, now, WithPrior(q))
		trial := ask(t, o)
		mean := func(kind int, x float64) float64 {
			m, _, err := o.Predict(t.Context(), []float64{float64(kind), x, 1})
			require.NoError(t, err)
			if minimize {
				return -m
			}
			return m
		}
		require.Greater(t, mean(2, 0.25), mean(0, 0.25), "%v", trial)
		require.Greater(t, mean(2, 0.25), mean(2, 0.75))
	}
}

func TestPriorMismatchSaysWhere(t *testing.T) {
	old := []Param{Float("lr", 0, 1), Categorical("kernel", "rbf", "poly"), Int("depth", 1, 9).WithStep(2)}
	task := Task{ID: "a", X: [][]float64{{0.5, 0, 1}, {0.25, 1, 3}}, Y: []float64{1, 2}}
	p := priorOf(t, spaceOf(t, old...), []Task{task})
	for want, params := range map[string][]Param{
		`parameter "lr": a float in [0, 1] there, but a logfloat in [0.1, 1] in the space`:            {LogFloat("lr", 0.1, 1), old[1], old[2]},
		`parameter "kernel": choice 0 is "rbf" there; the space has one of "poly", "rbf"`:             {old[0], Categorical("kernel", "poly", "rbf"), old[2]},
		`parameter "depth": an int in [1, 9] with step 2 there, but an int in [1, 9] in the space`:    {old[0], old[1], Int("depth", 1, 9)},
		`parameter "depth": the space lacks it`:                                                       old[:2],
		`parameter "more": the space has it besides`:                                                  append(slices.Clone(old), Bool("more")),
		`parameter "kernel": it is parameter 1 there, but 2 of the space`:                             {old[0], old[2], old[1]},
		`parameter "kernel": one of "rbf", "poly" there, but an ordinal of [1 2] in the space; Prior`: {old[0], Ordinal("kernel", 1, 2), old[2]},
	} {
		s := spaceOf(t, params...)
		_, err := New(s, WithPrior(p))
		require.ErrorIs(t, err, ErrPriorMismatch)
		require.ErrorContains(t, err, want)
		var de *DataError
		require.True(t, errors.As(err, &de))
		require.Contains(t, want, `"`+de.Name+`"`)
		_, err = p.Reindex(t.Context(), s)
		require.ErrorContains(t, err, want)
	}
}

// TestTaskOfCurve: a curve stands beside the value that it led to, from the first trial on.
func TestTaskOfCurve(t *testing.T) {
	o := optimizerOf(t, spaceOf(t, Float("x", 0, 1)))
	require.NoError(t, o.Observe([]float64{0.5}, 1))
	trial := ask(t, o)
	for step := range 3 {
		_, err := o.Report(t.Context(), trial.ID, 1+step, float64(step))
		require.NoError(t, err)
	}
	require.NoError(t, o.Tell(trial.ID, 2))
	task := taskOf(t, o, "run")
	require.Equal(t, []Curve{{}, {Steps: []int{1, 2, 3}, Values: []float64{0, 1, 2}}}, task.Curves)
}

// TestTaskFailed: failures travel with the task and through a prior.
func TestTaskFailed(t *testing.T) {
	s := spaceOf(t, Float("x", 0, 1), Bool("b"))
	o := optimizerOf(t, s)
	_, err := o.Task("empty")
	require.ErrorIs(t, err, ErrTask)
	var failed [][]float64
	for i := range 6 {
		trial := ask(t, o)
		if i%2 == 0 {
			require.NoError(t, o.TellFailed(trial.ID))
			failed = append(failed, trial.X)
			only := taskOf(t, o, "run")
			require.Equal(t, failed, only.Failed)
			continue
		}
		require.NoError(t, o.Tell(trial.ID, trial.Float("x")))
	}
	task := taskOf(t, o, "run")
	require.Len(t, task.X, 3)
	require.Nil(t, task.Curves)
	require.Nil(t, task.NoiseVariance)
	blob, err := json.Marshal(task)
	require.NoError(t, err)
	var back Task
	require.NoError(t, json.Unmarshal(blob, &back))
	require.Equal(t, task, back)

	without := Task{ID: "run", X: task.X, Y: task.Y}
	p := priorOf(t, s, []Task{task, {ID: "all failed", Failed: failed}})
	kept := p.Tasks()
	require.Len(t, kept, 2)
	for i := range failed {
		require.InDeltaSlice(t, failed[i], kept[0].Failed[i], 1e-12)
		require.InDeltaSlice(t, failed[i], kept[1].Failed[i], 1e-12)
	}
	require.Equal(t, 1, p.NumTasks())
	_, err = Learn(t.Context(), s, []Task{{ID: "all failed", Failed: failed}})
	require.ErrorIs(t, err, ErrNoTasks)
	_, err = Learn(t.Context(), s, []Task{without, {ID: "bad", Failed: [][]float64{{0.5, 0}, {2, 0}}}})
	require.ErrorIs(t, err, ErrOutOfSpace)
	require.ErrorContains(t, err, `task "bad": row 1: parameter "x"`)
}

// TestGridRestored: a space with steps and ordinals comes back from JSON, from
// a snapshot and from a prior, and a run over it asks the same.
func TestGridRestored(t *testing.T) {
	s := spaceOf(t,
		Float("dropout", 0.1, 0.75).WithStep(0.1), Int("width", 16, 256).WithStep(48), Ordinal("units", 16, 32, 64, 512),
		Ordinal("rate", -0.5, 0.25, 1e10), Float("one", 2, 2.5).WithStep(1), Float("binary", 0, 1).WithStep(0x1p-20),
	)
	blob, err := json.Marshal(s)
	require.NoError(t, err)
	var again Space
	require.NoError(t, json.Unmarshal(blob, &again))
	require.Equal(t, s.Params(), again.Params())

	o := optimizerOf(t, s, WithSeed(3))
	tasks := []Task{{ID: "a"}, {ID: "b"}}
	for i := range 12 {
		trial := ask(t, o)
		require.NoError(t, s.Check(trial.X))
		y := trial.Float("dropout") - math.Log2(trial.Float("units")) + 0.1*float64(i)
		require.NoError(t, o.Tell(trial.ID, y))
		for k := range tasks {
			tasks[k].X, tasks[k].Y = append(tasks[k].X, trial.X), append(tasks[k].Y, y*float64(k+1))
		}
	}
	restored := restored(t, o)
	a := ask(t, o)
	b := ask(t, restored)
	require.Equal(t, a.X, b.X)

	p := priorOf(t, s, tasks)
	var buf bytes.Buffer
	require.NoError(t, p.Encode(&buf))
	q := decodePrior(t, &buf)
	require.Equal(t, s.Params(), q.Space().Params())
	optimizerOf(t, s, WithPrior(q))
	other := spaceOf(t, append([]Param{Float("dropout", 0.1, 0.7)}, s.Params()[1:]...)...)
	_, err = New(other, WithPrior(q))
	require.ErrorIs(t, err, ErrPriorMismatch, "the same but for a step")
}

type trialOptimizerTags struct {
	LR       float64 `cmbo:"lr,log,1e-5,1"`
	Momentum float32 `cmbo:"momentum, 0, 0.99"`
}

type trialTags struct {
	trialOptimizerTags
	Dropout float64 `cmbo:"dropout,0,0.5,step=0.1"`
	Depth   uint8   `cmbo:",1,12"`
	Batch   int     `cmbo:"batch,log,8,512"`
	Width   int32   `cmbo:"width,16,256,step=16"`
	Units   int     `cmbo:"units,ordinal,16,32,64"`
	Gamma   float64 `cmbo:"gamma,ordinal,0.5,1"`
	Kernel  string  `cmbo:"kernel,rbf,poly"`
	Bias    bool    `cmbo:"bias"`
	Note    string
	Skipped float64 `cmbo:"-"`
}

// TestInto: a trial and what was told are read into a struct in the same way.
func TestInto(t *testing.T) {
	s, err := SpaceOf(trialTags{})
	require.NoError(t, err)
	o := optimizerOf(t, s)
	trial := ask(t, o)
	cfg := trialTags{Note: "stays", Skipped: 7}
	require.NoError(t, trial.Into(&cfg))
	require.Equal(t, trialTags{
		trialOptimizerTags: trialOptimizerTags{LR: trial.Float("lr"), Momentum: float32(trial.Float("momentum"))},
		Dropout:            trial.Float("dropout"), Depth: uint8(trial.Int("Depth")), Batch: trial.Int("batch"), Width: int32(trial.Int("width")),
		Units: trial.Int("units"), Gamma: trial.Float("gamma"), Kernel: trial.Choice("kernel"), Bias: trial.Bool("bias"), Note: "stays", Skipped: 7,
	}, cfg)
	require.NotZero(t, cfg.Batch)
	require.NotEmpty(t, cfg.Kernel)

	// What was told is read in the same way, after a restore too.
	require.NoError(t, o.Tell(trial.ID, 1))
	require.NoError(t, o.Observe(trial.X, 0.5))
	best, ok := o.Best()
	require.True(t, ok)
	for _, ob := range append(o.Observations(), best) {
		var again trialTags
		require.NoError(t, ob.Into(&again))
		require.Equal(t, cfg.trialOptimizerTags, again.trialOptimizerTags)
		require.Equal(t, trial.Config(), ob.Config())
		require.Equal(t, cfg.LR, ob.Float("lr"))
		require.Equal(t, cfg.Batch, ob.Int("batch"))
		require.Equal(t, cfg.Kernel, ob.Choice("kernel"))
		require.Equal(t, cfg.Bias, ob.Bool("bias"))
	}
	require.ErrorIs(t, Trial{X: []float64{1}}.Into(&cfg), ErrSpace)
}
