package bench

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

var bands = flag.Bool("bench.bands", false, "compare mean regrets on tst_svm with those of other implementations; takes some minutes")

// TestRealTable runs methods on tst-svm, the table of M. Wistuba, N. Schilling and
// L. Schmidt-Thieme, where it is at hand: a single short run of each, or, with the
// flag -bench.bands, enough runs to compare mean regrets with what independent
// implementations of the methods reach.
func TestRealTable(t *testing.T) {
	dir := os.Getenv("CMBO_DATA")
	if dir == "" {
		t.Skip("CMBO_DATA names no folder of tables")
	}
	table, err := OpenTable(filepath.Join(dir, "tst_svm.json.gz"), "")
	require.NoError(t, err)
	p, err := FindProtocol("paper")
	require.NoError(t, err)
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

// TestMisleadingTable: where the values of all past tasks are negated, a run says
// within 15 evaluations that the past misleads.
func TestMisleadingTable(t *testing.T) {
	dir := os.Getenv("CMBO_DATA")
	if dir == "" {
		t.Skip("CMBO_DATA names no folder of tables")
	}
	if testing.Short() {
		t.Skip("it takes some ten seconds")
	}
	ctx := context.Background()
	for _, name := range []string{"ecml_adaboost", "tst_svm"} {
		table, err := OpenTable(filepath.Join(dir, name+".json.gz"), "")
		require.NoError(t, err)
		said := make(map[string]int)
		for _, past := range []string{"", "negated"} {
			p, err := FindProtocol("paper")
			require.NoError(t, err)
			p.Past = past
			split, err := p.divide(table, 0)
			require.NoError(t, err)
			cube, err := cmbo.UnitCube(table.Dim)
			require.NoError(t, err)
			prior, err := cmbo.Learn(ctx, cube, split.Sources)
			require.NoError(t, err)
			for _, id := range split.Targets[:min(6, len(split.Targets))] {
				task := table.Task(id)
				space, err := cube.WithCandidates(task.X)
				require.NoError(t, err)
				o, err := cmbo.New(space, cmbo.WithPrior(prior))
				require.NoError(t, err)
				var tr cmbo.Transfer
				for range 15 {
					trial, err := o.Ask(ctx)
					require.NoError(t, err)
					require.NoError(t, o.Tell(trial.ID, task.Y[trial.Index]))
					if tr, err = o.Transfer(ctx); tr.Verdict == cmbo.TransferMisleads {
						break
					}
					require.NoError(t, err)
				}
				t.Logf("%s %s %q after %d: %v", name, id, past, tr.Values, tr)
				if tr.Verdict == cmbo.TransferMisleads {
					said[past]++
				}
			}
		}
		require.GreaterOrEqual(t, said["negated"], 5, name)
		require.LessOrEqual(t, said[""], 2, name)
	}
}
