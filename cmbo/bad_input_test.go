package cmbo_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What does not fit a run with outputs, descriptors and curves, or its past, is an error that
// names it with its numbers, and changes nothing.
func TestBadInput(t *testing.T) {
	space, tasks := videos(t, 5, false)
	for i := range tasks {
		for _, x := range tasks[i].X {
			tasks[i].Outputs.Append(len(tasks[i].Outputs["seconds"]), cmbo.Outputs{"seconds": 1 + x[0]})
		}
	}
	prior := learn(t, space, tasks, cmbo.WithIndexPoints(64))
	o := newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithOutput("seconds", cmbo.AtMost(5)), cmbo.WithContext(cmbo.Context{"height": 720}))
	trial := ask(t, o)
	report(t, o, trial.ID, 3, 0.5)
	before := snapshot(t, o)

	begin := func(opts ...cmbo.Option) error {
		_, err := cmbo.New(space, append(opts, cmbo.WithPrior(prior))...)
		return err
	}
	tell := func(outputs ...cmbo.ObservationOption) error { return o.Tell(trial.ID, 1, outputs...) }
	restore := func(opts ...cmbo.Option) error {
		_, err := cmbo.Restore(bytes.NewReader(before), append(opts, cmbo.WithPrior(prior))...)
		return err
	}
	report := func(step int) error {
		_, err := o.Report(ctx, trial.ID, step, 0.5)
		return err
	}
	add := func(change func(*cmbo.Task)) error {
		task := tasks[0]
		task.ID = "new"
		change(&task)
		_, err := cmbo.Learn(ctx, space, append(tasks[:3:3], task))
		return err
	}
	check := func(opts ...cmbo.CheckOption) error {
		_, err := cmbo.Check(ctx, space, tasks, opts...)
		return err
	}
	curves := func(steps ...int) func(*cmbo.Task) {
		return func(task *cmbo.Task) {
			task.Curves = make([]cmbo.Curve, len(task.Y))
			task.Curves[1] = cmbo.Curve{Steps: steps, Values: make([]float64, len(steps))}
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		what     string
		err      error
		sentinel error
		text     string
	}{
		{"an unknown output", tell(cmbo.Outputs{"seconds": 1, "secs": 2}), cmbo.ErrOutput, `trial 1: cmbo: wrong output: output "secs" is none of the run's, ["seconds"]`},
		{"no output", tell(), cmbo.ErrOutput, `output "seconds" is missing, and it is not optional`},
		{"outputs twice", tell(cmbo.Outputs{"seconds": 1}, cmbo.Outputs{"seconds": 2}), cmbo.ErrOption, "Outputs given twice"},
		{"an output that is no number", tell(cmbo.Outputs{"seconds": nan}), cmbo.ErrValue, `output "seconds": value NaN is not a number`},
		{"a doubled name", begin(cmbo.WithOutput("seconds"), cmbo.WithOutput("seconds", cmbo.AtMost(1))), cmbo.ErrOption, `output "seconds" is declared twice`},
		{"another spelling", begin(cmbo.WithOutput("Sec_onds", cmbo.AtMost(1))), cmbo.ErrOption, `output "Sec_onds": past tasks have "seconds"`},
		{"limit NaN", begin(cmbo.WithOutput("seconds", cmbo.AtMost(nan))), cmbo.ErrOption, `output "seconds": limit NaN is not a number`},
		{"limit +Inf", begin(cmbo.WithOutput("seconds", cmbo.AtLeast(inf))), cmbo.ErrOption, `output "seconds": limit +Inf is not a number`},
		{"limits that cross", begin(cmbo.WithOutput("seconds", cmbo.AtLeast(2), cmbo.AtMost(1))), cmbo.ErrOption, `"seconds": at least 2 and at most 1 leave no room`},
		{"two limits", begin(cmbo.WithOutput("seconds", cmbo.AtMost(1), cmbo.AtMost(2))), cmbo.ErrOption, `"seconds": at most 1 and at most 2`},
		{"two costs", begin(cmbo.WithOutput("seconds", cmbo.AsCost()), cmbo.WithOutput("money", cmbo.AsCost())), cmbo.ErrOption, `outputs "money" and "seconds" are both the cost`},
		{"the constraint again", restore(cmbo.WithOutput("seconds", cmbo.AtMost(5))), cmbo.ErrOption, "WithOutput: the snapshot says it, and Restore does not take it"},
		{"another constraint", restore(cmbo.WithOutput("seconds", cmbo.AtMost(6))), cmbo.ErrOption, `the run has "seconds" (at most 5), and "seconds" (at most 6) is given`},
		{"another output", restore(cmbo.WithOutput("money")), cmbo.ErrOption, `the run has "seconds" (at most 5), and "money" is given`},
		{"one output more", restore(cmbo.WithOutput("seconds", cmbo.AtMost(5)), cmbo.WithOutput("money", cmbo.AsCost(), cmbo.Optional())), cmbo.ErrOption, `the run has no other output, and "money" (the cost, optional) is given`},
		{"a budget", restore(cmbo.WithBudget(12)), cmbo.ErrOption, "WithBudget: the snapshot says it, and Restore does not take it: the run has no budget, and 12 is given"},
		{"other descriptors", restore(cmbo.WithContext(cmbo.Context{"height": 1080, "live": "no"})), cmbo.ErrOption, `the run has "height": 720, and "height": 1080, "live": "no" is given`},
		{"a cost", restore(cmbo.WithCost(func([]float64) float64 { return 1 })), cmbo.ErrOption, "WithCost: the run was begun without"},
		{"an output that no task has", check(cmbo.WithOutput("second", cmbo.AtMost(5))), cmbo.ErrOutput, `output "second": no value of a task has it; their outputs are ["seconds"]`},
		{"too few values", add(func(t *cmbo.Task) { t.Outputs = map[string][]float64{"seconds": {1}} }), cmbo.ErrDimension, `task "new": 1 values of output "seconds" for 20 values`},
		{"a descriptor of another kind", begin(cmbo.WithContext(cmbo.Context{"height": "tall"})), cmbo.ErrOption, `descriptor "height" is "tall"`},
		{"an unknown descriptor", begin(cmbo.WithContext(cmbo.Context{"width": 3})), cmbo.ErrOption, `"width": the past tasks have ["height" "live"]`},
		{"an infinite descriptor", begin(cmbo.WithContext(cmbo.Context{"height": inf})), cmbo.ErrOption, `descriptor "height" is +Inf`},
		{"a task's descriptor of another kind", add(func(t *cmbo.Task) { t.Context = cmbo.Context{"height": "tall"} }), cmbo.ErrTask, `descriptor "height" is "tall", and in task "a" it is`},
		{"a step again", report(3), cmbo.ErrStep, "trial 1: cmbo: wrong step: step 3 was reported before"},
		{"a step back", report(2), cmbo.ErrStep, "step 2 comes after step 3"},
		{"a negative step", report(-1), cmbo.ErrStep, "step -1 is negative"},
		{"a task's step back", add(curves(1, 3, 2)), cmbo.ErrStep, "task \"new\": row 1: step 2 of a curve follows step 3"},
		{"a task's negative step", add(curves(1, -3, 2)), cmbo.ErrStep, "task \"new\": row 1: step -3 of a curve is negative"},
		{"a failed point outside", add(func(t *cmbo.Task) { t.Failed = [][]float64{t.X[0], {2, 0}} }), cmbo.ErrOutOfSpace, `task "new": row 1: parameter "x0": 2 is not in [0, 1], in a row of Failed`},
	} {
		assert.ErrorIs(t, c.err, c.sentinel, c.what)
		assert.ErrorContains(t, c.err, c.text, c.what)
	}
	require.Equal(t, before, snapshot(t, o))

	// An output that no past task has is possible, and what past tasks have is said.
	other := newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithOutput("second", cmbo.AtMost(5)))
	require.Contains(t, transferOf(t, other).String(), `; of second past tasks tell nothing: their outputs are ["seconds"]`)
	// Another unit is no error where it may be none: Check says it.
	for i, v := range tasks[3].Outputs["seconds"] {
		tasks[3].Outputs["seconds"][i] = 1000 * v
	}
	checked, err := cmbo.Check(ctx, space, tasks, cmbo.WithCheckTasks(1), cmbo.WithCheckEvaluations(1))
	require.NoError(t, err)
	require.Contains(t, checked.String(), "another unit, perhaps: seconds of d is ")
}
