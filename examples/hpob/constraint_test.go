package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// writeOutputs makes a table of tasks whose size falls and whose seconds rise with the
// effort, each with a level and a speed of its own, which its context tells.
func writeOutputs(t *testing.T, n int) string {
	type task struct {
		X       [][]float64  `json:"X"`
		Y       [][]*float64 `json:"Y"`
		Outputs []string     `json:"outputs"`
		Context cmbo.Context `json:"context"`
	}
	space := make(map[string]task)
	for j := range n {
		r := rng.Stream(2, "outputs", uint64(j))
		level, speed := math.Exp(r.NormFloat64()), math.Exp(r.NormFloat64())
		tk := task{Outputs: []string{"size", "seconds"}, Context: cmbo.Context{"speed": speed, "name": strconv.Itoa(j)}}
		for i := range 25 {
			x := []float64{r.Float64(), r.Float64()}
			size, seconds := level*(3-2*x[0]+x[1]*x[1]), speed*math.Exp(2*x[0]+x[1])
			row := []*float64{&size, &seconds}
			if j == 0 && i == 3 {
				row[1] = nil
			}
			tk.X, tk.Y = append(tk.X, x), append(tk.Y, row)
		}
		space["task-"+strconv.Itoa(j)] = tk
	}
	b, err := json.Marshal(map[string]any{"toy": space})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "outputs.json")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// withWorkers returns what three workers print. Of one run on each of two targets one worker alone prints the same as
// three, which short runs take for granted.
func withWorkers(t *testing.T, table func(workers string, more ...string) string) string {
	t.Helper()
	if !testing.Short() {
		few := []string{"-targets", "2", "-repeats", "1"}
		require.Equal(t, table("1", few...), table("3", few...), "the number of workers changes nothing")
	}
	return table("3")
}

func TestConstraintTable(t *testing.T) {
	testutil.SkipShort(t, "it compares whole runs")
	path := writeOutputs(t, 6)
	table := func(workers string, more ...string) string {
		o := mustParse(t, append([]string{"-data", path, "-value", "size", "-minimize", "-constraint", "seconds<=40%", "-budget", "8", "-repeats", "2", "-source-rows", "15", "-workers", workers}, more...)...)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		return console.String()
	}
	got := withWorkers(t, table)
	require.Contains(t, got, "space toy: size with seconds<=40%; 6 tasks left out of 6, 8 evaluations from zero")
	area := make(map[string]float64)
	for _, line := range strings.Split(got, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			area[strings.TrimSpace(cells[1])], _ = strconv.ParseFloat(strings.TrimSpace(cells[2]), 64)
		}
	}
	require.Less(t, area["constraint, with transfer"], 0.8*area["constraint, without transfer"])
	require.Less(t, area["constraint, with transfer"], 0.6*area["random search"])
	require.Contains(t, table("2", "-targets", "2", "-constraint", "seconds>=0.01"), "2 tasks left out of 6")
}

// Under a constraint the speed says something of the seconds, and nothing where it is dealt out
// at random, as the seed has it.
func TestConstraintContextTable(t *testing.T) {
	testutil.SkipShort(t, "it compares whole runs")
	path := writeOutputs(t, 14)
	table := func(workers string, more ...string) string {
		o := mustParse(t, append([]string{"-data", path, "-value", "size", "-minimize", "-constraint", "seconds<=4", "-context", "-budget", "4", "-repeats", "1", "-source-rows", "20", "-workers", workers}, more...)...)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		return console.String()
	}
	got := withWorkers(t, table)
	require.Regexp(t, `space toy: size with seconds<=4; \d+ tasks left out of \d+, 4 evaluations`, got)
	require.Regexp(t, `first feasible +\| they said something`, got)
	require.Regexp(t, `\| without descriptors .*\| 0 % +\|`, got)
	require.Regexp(t, `\| with .*\| 100 % +\|`, got)
	require.Regexp(t, `\| dealt out at random .*\| \d % +\|`, got)
	_, err := parse([]string{"-data", path, "-value", "size", "-cost", "seconds", "-context"}, new(bytes.Buffer))
	require.ErrorContains(t, err, "-cost changes nothing")
}

// A limit is a number or the task's own quantile; rows that lack the output do not hold it.
func TestConstraintLimits(t *testing.T) {
	for text, want := range map[string]constraint{
		"etime<=5":    {"etime<=5", "etime", false, 5, false},
		"a b >= -1e3": {"a b >= -1e3", "a b", true, -1000, false},
		"etime<=30%":  {"etime<=30%", "etime", false, 30, true},
	} {
		c, err := parseConstraint(text)
		require.NoError(t, err)
		require.Equal(t, want, c)
	}
	for _, text := range []string{"etime", "etime<5", "<=5", "etime<=", "etime<=x", "etime<=NaN", "etime<=0%", "etime>=100%"} {
		_, err := parseConstraint(text)
		require.ErrorContains(t, err, "not of the form output<=5", text)
	}
	for _, text := range []string{"etime>=90%,etime<=10%", "etime<=5,size<=3", "etime>=5,size>=3", "1<=etime<=5"} {
		_, err := parseConstraint(text)
		require.ErrorContains(t, err, "the flag takes one and may be given several times", text)
	}
	nan := math.NaN()
	task := func() *problem {
		return &problem{Task: cmbo.Task{X: [][]float64{{0}, {0.2}, {0.4}, {0.6}, {1}}, Y: []float64{5, 1, 3, 0, 4}, Outputs: map[string][]float64{"s": {1, 9, 3, nan, 2}}}}
	}
	least, most := constraint{output: "s", least: true, value: 2}, constraint{output: "s", value: 50, quantile: true}
	require.Equal(t, 3.0, most.limit(task()))
	l := task()
	require.True(t, l.restrict([]constraint{least, most}, true))
	require.Equal(t, []float64{2, 3}, l.limits)
	require.Equal(t, []bool{false, false, true, false, true}, l.feasible)
	require.Equal(t, []float64{1, 1, 0, 1, 1}, l.regret)
	l = task()
	require.True(t, l.restrict([]constraint{most}, false))
	require.Equal(t, []float64{0, 1, 1, 1, 0.5}, l.regret)
	require.False(t, task().restrict([]constraint{{output: "t", value: 1}}, true))
	require.False(t, task().restrict([]constraint{{output: "s", value: 1}}, true), "one feasible value")
}

func TestConstraintFlags(t *testing.T) {
	path := writeOutputs(t, 6)
	for want, args := range map[string][]string{
		"-method changes nothing": {"-data", path, "-value", "size", "-constraint", "seconds<=1", "-method", "RGPE"},
		"-value is missing":       {"-data", path, "-constraint", "seconds<=1"},
		"-workers: -1":            {"-data", path, "-value", "size", "-constraint", "seconds<=1", "-workers", "-1"},
		"takes one file":          {"-data", path, "-data", path, "-value", "size", "-constraint", "seconds<=1"},
		`invalid value "seconds" for flag -constraint: not of the form`:    {"-data", path, "-value", "size", "-constraint", "seconds"},
		`-constraint: "size<=5" is a limit on the objective itself`:        {"-data", path, "-value", "size", "-constraint", "seconds<=1", "-constraint", "size<=5"},
		`-cost: "size" is the objective itself`:                            {"-data", path, "-value", "size", "-cost", "size"},
		"flag provided but not defined: -constrain; -help lists the flags": {"-data", path, "-constrain", "seconds<=1"},
	} {
		var console bytes.Buffer
		_, err := parse(args, &console)
		require.ErrorContains(t, err, want)
		require.Empty(t, console.String(), "the error says it all")
	}
	var help bytes.Buffer
	_, err := parse([]string{"-help"}, &help)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, help.String(), "Usage: go run ./examples/hpob")
	require.Contains(t, help.String(), "may be given several times. Compares ways")
	for want, args := range map[string][]string{
		`no output "sizes"`: {"-value", "sizes", "-constraint", "seconds<=1"},
		"0 of 6 tasks have all outputs and two different values that hold":    {"-value", "size", "-constraint", "seconds<=0"},
		`no task has an output "second" beside "size"; there are ["seconds"]`: {"-value", "size", "-constraint", "second<=1"},
		`no task has an output "sizes" beside "size"`:                         {"-value", "size", "-cost", "sizes"},
	} {
		o := mustParse(t, append([]string{"-data", path}, args...)...)
		require.ErrorContains(t, run(context.Background(), o, new(bytes.Buffer), os.Stderr), want)
	}
	free := filepath.Join(t.TempDir(), "free.json")
	require.NoError(t, os.WriteFile(free, []byte(`{"s": {"a": {"X": [[0], [1]], "Y": [[1, 0], [2, 0]], "outputs": ["size", "price"]}}}`), 0o600))
	o := mustParse(t, "-data", free, "-value", "size", "-cost", "price")
	require.ErrorContains(t, run(context.Background(), o, new(bytes.Buffer), os.Stderr), `0 of 1 tasks have two different values and the output "price" in each row`)
}

func TestCostTable(t *testing.T) {
	path := writeOutputs(t, 6)
	table := func(workers string, more ...string) string {
		o := mustParse(t, append([]string{"-data", path, "-value", "size", "-minimize", "-cost", "seconds", "-budget", "5", "-repeats", "2", "-workers", workers}, more...)...)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		return console.String()
	}
	got := withWorkers(t, table)
	require.Contains(t, got, "space toy: size at the cost of seconds; 5 tasks left out of 5, a budget of 5 evaluations of the task's mean cost", "the task that lacks a cost is left out")
	area := make(map[string]float64)
	for _, line := range strings.Split(got, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 4 {
			area[strings.TrimSpace(cells[1])], _ = strconv.ParseFloat(strings.TrimSpace(cells[3]), 64)
		}
	}
	require.Less(t, area["cost told, with transfer"], area["cost ignored, with transfer"])
	require.Less(t, area["cost told, with transfer"], 0.8*area["cost told, without transfer"])
	require.Less(t, area["cost told, with transfer"], 0.6*area["random search"])

	// What ends after the budget does not count, and regret holds from when an evaluation ended.
	task := &problem{Task: cmbo.Task{X: [][]float64{{0}, {1}, {2}}, Y: []float64{2, 1, 0}, Outputs: map[string][]float64{"c": {1, 2, 3}}}, budget: 2}
	require.True(t, task.price("c", true))
	require.Equal(t, 4.0, task.budget)
	require.Equal(t, []float64{1, 0.5, 0}, task.regret)
	task.regret[0], task.regret[1] = 0.5, 0.25
	p, err := evaluate(t.Context(), &proposer{rows: []int{0, 1, 2}}, task, costSteps, nil)
	require.NoError(t, err)
	require.Equal(t, 2, p.evaluations)
	for k, v := range p.regret {
		want := 1.0
		switch at := float64(k+1) / costSteps * 4; {
		case at >= 3:
			want = 0.25
		case at >= 1:
			want = 0.5
		}
		require.Equal(t, want, v, k)
	}
	for want, args := range map[string][]string{
		"two comparisons":         {"-value", "size", "-cost", "seconds", "-constraint", "seconds<=1"},
		"-method changes nothing": {"-value", "size", "-cost", "seconds", "-method", "RGPE"},
		"-value is missing":       {"-cost", "seconds"},
	} {
		_, err := parse(append([]string{"-data", path}, args...), new(bytes.Buffer))
		require.ErrorContains(t, err, want)
	}
}
