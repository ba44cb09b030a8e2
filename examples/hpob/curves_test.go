package main

import (
	"bytes"
	"context"
	"crypto/sha256"
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

// A trial is stopped when its best value by a step is strictly worse than the median of the
// completed trials' running means up to there.
func TestMedianRule(t *testing.T) {
	r := newMedianRule(0)
	for trial, losses := range [][]float64{{3, 2, 1}, {1, 1, 1}} {
		for k, l := range losses {
			stop := r.stop(trial, k+1, l)
			require.Equal(t, false, stop, "trial %d has nothing worse behind it at step %d", trial, k+1)
		}
		r.ended(trial)
	}
	// Running means are 3, 2.5, 2 and 1, 1, 1, their medians 2, 1.75, 1.5.
	require.False(t, r.stop(2, 1, 2), "as good as the median")
	require.False(t, r.stop(2, 2, 1.75))
	require.True(t, r.stop(2, 3, 1.6), "the best is 1.6")
	require.True(t, r.stop(3, 1, 2.1))
	require.False(t, r.stop(4, 1, 0.5))
	require.False(t, r.stop(4, 2, 100), "its best is still 0.5")
	for k, l := range []float64{5, 5, 5} {
		r.stop(5, k+1, l)
	}
	r.ended(5)
	require.False(t, r.stop(6, 1, 3), "of three the median is the middle one")
	require.True(t, r.stop(7, 1, 3.1))
}

// Of those that came to a rung the best quarter goes on, and until there are four the best.
func TestHalvingRule(t *testing.T) {
	h := newHalving(51)
	require.Equal(t, []int{1, 4, 16}, rungs(51))
	require.Equal(t, []int{1, 4}, rungs(16))
	for i, c := range []struct {
		loss float64
		stop bool
	}{{5, false}, {6, true}, {4, false}, {4.5, true}, {4, false}, {9, true}, {9, true}, {4.2, true}, {3, false}} {
		require.Equal(t, c.stop, h.stop(i, 1, c.loss), "trial %d", i)
	}
	require.False(t, h.stop(0, 2, 100), "no rung")
	require.False(t, h.stop(0, 4, 100), "the first at its rung")
}

// Optuna's SuccessiveHalvingPruner stops the same trials at the same steps;
// testdata/optuna_rules.py made the file.
func TestHalvingRuleOfOptuna(t *testing.T) {
	b, err := os.ReadFile("testdata/optuna_rules.json")
	require.NoError(t, err)
	var file struct {
		Steps  int
		Curves []struct {
			Losses  []float64
			Stopped bool
		}
	}
	require.NoError(t, json.Unmarshal(b, &file))
	h := newHalving(file.Steps)
	ends := make(map[int]int)
	for i, c := range file.Curves {
		for k, l := range c.Losses {
			require.Equal(t, c.Stopped && k == len(c.Losses)-1, h.stop(i, k+1, l), "trial %d at step %d", i, k+1)
		}
		ends[len(c.Losses)]++
	}
	require.Len(t, ends, 5, "trials end at 1, 4, 16, 64 and 70")
}

// Algorithm 2 of the paper: the best quarter of a rung is promoted, each once, the highest
// rung first; what diverged never is.
func TestASHA(t *testing.T) {
	a := newASHA(16)
	require.Equal(t, []int{1, 4, 16}, a.rungs)
	for i, loss := range []float64{4, 2, math.Inf(1), 3} {
		trial, to := a.next()
		require.Equal(t, []int{-1, 1}, []int{trial, to})
		a.came(i, 1, loss)
	}
	trial, to := a.next()
	require.Equal(t, []int{1, 4}, []int{trial, to}, "the best of four")
	a.came(1, 4, 2)
	trial, _ = a.next()
	require.Equal(t, -1, trial, "promoted once")
	for i := 4; i < 20; i++ {
		a.came(i, 1, float64(i)/10) // trials 4 to 8 are now the best quarter of twenty
	}
	for _, want := range []int{4, 5, 6} {
		trial, to = a.next()
		require.Equal(t, []int{want, 4}, []int{trial, to})
		a.came(want, 4, float64(want))
	}
	trial, to = a.next()
	require.Equal(t, []int{1, 16}, []int{trial, to}, "from the highest rung first")
	a.came(1, 16, 2)
	trial, to = a.next()
	require.Equal(t, []int{7, 4}, []int{trial, to})
	b := newASHA(16)
	for i := range 8 {
		b.came(i, 1, math.Inf(1))
	}
	trial, _ = b.next()
	require.Equal(t, -1, trial)
}

// Files with short evaluations and small budgets, tasks most of whose ends are the best one, and
// tasks all of whose ends are equal.
func TestCurvesAtTheEdge(t *testing.T) {
	type task struct {
		X      [][]float64 `json:"X"`
		Curves [][]float64 `json:"curves"`
	}
	table := func(steps int, end func(task, row int) float64, flags ...string) (string, error) {
		space := make(map[string]task)
		for j := range 3 {
			var tk task
			for i := range 9 {
				c := make([]float64, steps)
				for k := range c {
					c[k] = end(j, i) + float64(steps-1-k)
				}
				tk.X, tk.Curves = append(tk.X, []float64{float64(i) / 8}), append(tk.Curves, c)
			}
			space["task-"+strconv.Itoa(j)] = tk
		}
		b, err := json.Marshal(map[string]any{"toy": space})
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "curves.json")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		o := mustParse(t, append([]string{"-data", path, "-experiment", "curves", "-repeats", "1", "-quiet", "-method", "random,Report"}, flags...)...)
		var console bytes.Buffer
		err = run(context.Background(), o, &console, os.Stderr)
		return console.String(), err
	}
	slope := func(_, row int) float64 { return float64(row) }
	got, err := table(1, slope, "-budget", "6")
	require.NoError(t, err)
	require.Contains(t, got, "| regret at 1 | 6 ")
	got, err = table(3, slope, "-budget", "1")
	require.NoError(t, err)
	require.Contains(t, got, "| regret at 1 | 3 ")

	most := func(_, row int) float64 { return float64(max(row, 7)) }
	got, err = table(4, most, "-budget", "5")
	require.NoError(t, err)
	require.NotContains(t, got, "NaN", "eight of nine ends are the best")
	require.Contains(t, got, "| 100 %")

	some := func(task, row int) float64 { return float64(min(task, 1) * row) }
	got, err = table(4, some, "-budget", "5")
	require.NoError(t, err)
	require.Contains(t, got, "2 tasks left out of 2", "the ends of one task are all equal")
	_, err = table(4, func(int, int) float64 { return 1 }, "-budget", "5")
	require.ErrorContains(t, err, "0 tasks of space \"toy\" have curves with two different ends")
	_, err = table(0, slope, "-budget", "5")
	require.ErrorContains(t, err, "task \"task-0\": curve 0 of 9 has no step")
}

// writeCurves makes a table of tasks whose losses come down to their ends, each from a level
// of its own; some diverge.
func writeCurves(t *testing.T) string {
	type task struct {
		X      [][]float64  `json:"X"`
		Curves [][]*float64 `json:"curves"`
	}
	space := make(map[string]task)
	for j := range 5 {
		r := rng.Stream(2, "curves", uint64(j))
		level := math.Exp(r.NormFloat64())
		var tk task
		for i := range 30 {
			x := []float64{r.Float64(), r.Float64()}
			end := level * (1 + 3*(x[0]-0.3)*(x[0]-0.3) + x[1]*x[1])
			var c []*float64
			for k := range 8 {
				v := end + level*2*float64(7-k)/7*(1+0.1*r.NormFloat64())
				if c = append(c, &v); i%10 == 9 && k > 4 {
					c[k] = nil
				}
			}
			tk.X, tk.Curves = append(tk.X, x), append(tk.Curves, c)
		}
		space["task-"+strconv.Itoa(j)] = tk
	}
	b, err := json.Marshal(map[string]any{"toy": space})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "curves.json")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestCurvesTable(t *testing.T) {
	testutil.SkipShort(t, "it compares whole runs")
	path := writeCurves(t)
	table := func(workers string, more ...string) string {
		o := mustParse(t, append([]string{"-data", path, "-experiment", "curves", "-budget", "8", "-repeats", "2", "-source-rows", "8", "-quiet", "-workers", workers}, more...)...)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		return console.String()
	}
	got := withWorkers(t, table)
	require.Contains(t, got, "space toy: 5 tasks left out of 5, 10 runs of 64 epochs a way, evaluations of 8 epochs, from zero")
	to := make(map[string]string)
	for _, line := range strings.Split(got, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			to[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[3])
		}
	}
	require.Len(t, to, len(spenders)+2, "with the header and the line below")
	full, err := strconv.Atoi(to["full evaluations with transfer"])
	require.NoError(t, err)
	report, err := strconv.Atoi(to["Report with transfer"])
	require.NoError(t, err)
	require.LessOrEqual(t, report, full)
	// The same proposals, of which each that is no better takes an epoch.
	require.Regexp(t, `every end known at epoch 1 with transfer .* 100 %`, got)
	require.NotRegexp(t, `full evaluations with transfer .* 100 %`, got)
	got = table("2", "-targets", "2", "-method", "random")
	require.Contains(t, got, "2 tasks left out of 5")
	require.NotContains(t, got, "Report")
}

func TestCurvesFlags(t *testing.T) {
	path := writeCurves(t)
	for want, args := range map[string][]string{
		"-acquisition changes nothing": {"-data", path, "-experiment", "curves", "-acquisition", "PI"},
		"takes one file":               {"-data", path, "-data", path, "-experiment", "curves"},
		"paper, hpob, quick, curves":   {"-data", path, "-experiment", "curve"},
	} {
		_, err := parse(args, new(bytes.Buffer))
		require.ErrorContains(t, err, want)
	}
	o := mustParse(t, "-data", path, "-experiment", "curves", "-method", "nobody")
	require.ErrorContains(t, run(context.Background(), o, new(bytes.Buffer), os.Stderr), "no way is named")
	o = mustParse(t, "-data", writeOutputs(t, 6), "-experiment", "curves")
	require.ErrorContains(t, run(context.Background(), o, new(bytes.Buffer), os.Stderr), "curve")
}

var reportRepeats = flag.Uint64("report-repeats", 1, "runs of each task of TestReportCoverage")

// TestReportCoverage tells how many ends of learning curves, reports of all steps together, the 90 % intervals
// of Report hold, on a table where one is at hand:
//
//	CMBO_DATA=DIR go test ./examples/hpob -run TestReportCoverage -report-repeats 5 -v
func TestReportCoverage(t *testing.T) {
	dir := os.Getenv("CMBO_DATA")
	if dir == "" {
		t.Skip("CMBO_DATA names no folder of tables")
	}
	testutil.SkipShort(t, "it counts over whole runs")
	ctx := t.Context()
	s := &study{options: mustParse(t, "-data", filepath.Join(dir, "curves.json.gz"), "-experiment", "curves")}
	s.priors = make(map[[sha256.Size]byte]*cmbo.Prior)
	steps, err := s.readCurves()
	require.NoError(t, err)
	const trials = 20
	var held, reports float64
	for target, p := range s.tasks {
		p.space, err = cmbo.Candidates(p.X)
		require.NoError(t, err)
		var ofTask, n float64
		for repeat := range *reportRepeats {
			o, err := s.propose(ctx, way{transfer: true}, "", target, repeat, func(i int) cmbo.Task { return s.trained(s.tasks[i], steps, repeat) })
			require.NoError(t, err)
			for range trials {
				trial, more, err := o.next(ctx)
				require.NoError(t, err)
				require.True(t, more)
				curve, stopped := p.losses[trial.Index], false
				for k := 0; k < min(len(curve), steps-1) && !stopped; k++ {
					r, err := o.Report(ctx, trial.ID, k+1, curve[k])
					require.NoError(t, err)
					if stopped = r.Stop; len(curve) == steps && r.Known {
						n++
						if math.Abs(curve[steps-1]-r.Mean) <= 1.6449*r.SD {
							ofTask++
						}
					}
				}
				switch {
				case stopped:
					err = o.TellStopped(ctx, trial.ID)
				case len(curve) == steps:
					err = o.Tell(trial.ID, curve[steps-1])
				default:
					err = o.TellFailed(trial.ID)
				}
				require.NoError(t, err)
			}
		}
		t.Logf("%s: %.3f of %.0f", p.ID, ofTask/n, n)
		held, reports = held+ofTask, reports+n
	}
	t.Logf("all: %.3f of %.0f", held/reports, reports)
	require.InDelta(t, 0.9, held/reports, 0.03)
}
