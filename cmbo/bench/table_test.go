package bench

import (
	"cmp"
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

var bands = flag.Bool("bench.bands", false, "compare mean regrets on tst_svm with those of other implementations; takes some minutes")

// TestRealTable runs methods on tst-svm, the table of M. Wistuba, N. Schilling and
// L. Schmidt-Thieme, where it is at hand: a single short run of each, or, with the
// flag -bench.bands, enough runs to compare mean regrets with what independent
// implementations of the methods reach.
func TestRealTable(t *testing.T) {
	testutil.SkipShort(t, "TestRecordsAreTrue runs these methods")
	dir := os.Getenv("CMBO_DATA")
	if dir == "" {
		t.Skip("CMBO_DATA names no folder of tables")
	}
	table := tableOf(t, filepath.Join(dir, "tst_svm.json.gz"), "")
	p := protocolOf(t, "paper")
	p.Methods, p.Acquisitions = []string{"Random", "GP", "RGPE"}, []string{"EI"}
	if !*bands {
		p.Splits, p.Targets, p.Repeats, p.Budget = 1, 1, 1, 10
	}
	out, err := (&Experiment{Protocol: p}).Run(context.Background(), []*Table{table}, "")
	require.NoError(t, err)
	require.Empty(t, out.Failures)
	require.Len(t, out.Records, out.Total)
	// About 0.08 and 0.03 after 10 and 50 queries, 0.04 and 0.01, 0.03 and
	// 0.006; runs on 27 tasks leave a standard error of about a fifth of that.
	for method, want := range map[string][4]float64{
		"Random": {0.055, 0.105, 0.02, 0.045},
		"GP":     {0.028, 0.056, 0.005, 0.016},
		"RGPE":   {0.02, 0.045, 0.003, 0.012},
	} {
		var curves [][]float64
		for _, r := range out.Records {
			if r.Method == method {
				curves = append(curves, r.Regret)
			}
		}
		mean := MeanCurve(curves)
		t.Logf("%s: %d runs, %.4f at the start, %.4f after 10 queries, %.4f at the end", method, len(curves), mean[0], mean[10], mean[len(mean)-1])
		if *bands {
			require.Equal(t, 280, len(curves))
			require.Greater(t, mean[10], want[0])
			require.Less(t, mean[10], want[1])
			require.Greater(t, mean[50], want[2])
			require.Less(t, mean[50], want[3])
		}
	}
}

// eachTarget calls do with six targets of a table, a file under CMBO_DATA or FILE/SPACE, the space
// of each and what was learned from the other tasks, changed as past says.
func eachTarget(t *testing.T, name, past string, division int, do func(task *TableTask, space *cmbo.Space, prior *cmbo.Prior)) {
	t.Helper()
	dir := os.Getenv("CMBO_DATA")
	if dir == "" {
		t.Skip("CMBO_DATA names no folder of tables")
	}
	if testing.Short() {
		t.Skip("it takes some ten seconds")
	}
	name, of, _ := strings.Cut(name, "/")
	table := tableOf(t, filepath.Join(dir, name+".json.gz"), of)
	p := protocolOf(t, "paper")
	p.Past = past
	split := divided(t, p, table, division)
	cube, err := cmbo.UnitCube(table.Dim)
	require.NoError(t, err)
	prior, err := cmbo.Learn(context.Background(), cube, split.sources)
	require.NoError(t, err)
	for _, id := range split.targets[:min(6, len(split.targets))] {
		task := table.Task(id)
		space, err := cube.WithCandidates(task.X)
		require.NoError(t, err)
		do(task, space, prior)
	}
}

// askTable asks o for so many evaluations of a task and tells them, and returns the rows
// asked for; it ends where done, if any, says so.
func askTable(t *testing.T, o *cmbo.Optimizer, task *TableTask, n int, done func() bool) map[int]bool {
	t.Helper()
	asked := make(map[int]bool)
	for range n {
		trial, err := o.Ask(context.Background())
		require.NoError(t, err)
		require.NoError(t, o.Tell(trial.ID, task.Y[trial.Index]))
		asked[trial.Index] = true
		if done != nil && done() {
			break
		}
	}
	return asked
}

// TestMisleadingTable: where the values of all past tasks are negated, a run says
// within 15 evaluations that the past is upside down, or that it misleads.
func TestMisleadingTable(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"ecml_adaboost", "tst_svm"} {
		said := make(map[string]int)
		for _, past := range []string{"", "negated"} {
			eachTarget(t, name, past, 0, func(task *TableTask, space *cmbo.Space, prior *cmbo.Prior) {
				o := newOptimizer(t, space, cmbo.WithPrior(prior))
				var tr cmbo.Transfer
				askTable(t, o, task, 15, func() bool {
					var err error
					tr, err = o.Transfer(ctx)
					require.NoError(t, err)
					return warns(tr)
				})
				t.Logf("%s %s %q after %d: %v", name, task.ID, past, tr.Values, tr)
				if warns(tr) {
					said[past]++
				}
			})
		}
		require.GreaterOrEqual(t, said["negated"], 5, name)
		require.LessOrEqual(t, said[""], 2, name)
	}
}

// warns reports whether a run says that its past is not to be followed as it is.
func warns(t cmbo.Transfer) bool {
	return t.Verdict == cmbo.TransferMisleads || t.Verdict == cmbo.TransferReversed
}

var divisions = flag.Int("divisions", 0, "divisions of each table of TestPredictCoverage; 0 stands for one or three of a few tables")

// TestPredictCoverage: what 90 % intervals hold away from where a run asks, of which the
// doc comment of Optimizer.Predict gives the range, and those of a run without a prior.
func TestPredictCoverage(t *testing.T) {
	few := map[string]int{"tst_svm": 1, "ecml_adaboost": 1, "gauntlet/imagemagick": 3, "gpu_kernels/gpu-dedisp": 3, "gauntlet/nodejs": 1}
	type count struct{ rows, held, low, lowHeld int }
	for name, least := range map[string]float64{
		// These were looked at when intervals were worked on.
		"tst_svm": 0.8, "openml_rf": 0.8, "openml_adaboost": 0.8, "yahpo_lcbench": 0.8, "yahpo_rpart": 0.8, "ecml_adaboost": 0.8,
		"gauntlet/nodejs": 0.8, "gauntlet/x264-size": 0.8, "gauntlet/aryl-amination": 0.8, "gauntlet/deeparch": 0.8,
		"gpu_kernels/gpu-dedisp": 0.8, "gauntlet/imagemagick": 0.8,
		// These were not, but for the last one: a third of its values lie hundreds of times as far below the best as the
		// others.
		"gpu_kernels/gpu-gemm-old": 0.8, "gauntlet/taskset": 0.8, "dmfbs_d": 0.8, "gauntlet/storm": 0.8,
	} {
		of := cmp.Or(*divisions, few[name])
		if of == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var with, without count
			for division := range of {
				eachTarget(t, name, "", division, func(task *TableTask, space *cmbo.Space, prior *cmbo.Prior) {
					add := func(c *count, opts ...cmbo.Option) {
						o := newOptimizer(t, space, opts...)
						asked := askTable(t, o, task, 20, nil)
						step, ok := o.LastStep()
						require.True(t, ok)
						third := slices.Sorted(slices.Values(task.Y))[len(task.Y)/3]
						for i, x := range task.X {
							if asked[i] {
								continue
							}
							mean, sd, err := o.Predict(t.Context(), x)
							require.NoError(t, err)
							held := 0
							if math.Abs(task.Y[i]-mean) <= 1.645*math.Hypot(sd, step.Scale*math.Sqrt(step.NoiseVariance)) {
								held = 1
							}
							c.rows, c.held = c.rows+1, c.held+held
							if task.Y[i] < third {
								c.low, c.lowHeld = c.low+1, c.lowHeld+held
							}
						}
					}
					add(&with, cmbo.WithPrior(prior))
					add(&without)
				})
			}
			share := func(what string, c count) float64 {
				t.Logf("%s a past %.0f %% of %d rows, %.0f %% of the lowest third",
					what, 100*float64(c.held)/float64(c.rows), c.rows, 100*float64(c.lowHeld)/float64(c.low))
				return float64(c.held) / float64(c.rows)
			}
			require.Greater(t, share("with", with), least)
			require.Greater(t, share("without", without), 0.7)
		})
	}
}
