package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/stretchr/testify/require"
)

// writeFolder makes the folder of an experiment on three tasks of a space, from the regrets
// that its methods have all along.
func writeFolder(t *testing.T, space, digest string, seed uint64, regret map[string]float64) string {
	dir := t.TempDir()
	p, err := bench.FindProtocol("quick")
	require.NoError(t, err)
	p.Seed = seed
	settings, err := json.Marshal(bench.Settings{Version: 3, Protocol: p, Tables: []bench.TableInfo{{Space: space, Digest: digest}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "experiment.json"), settings, 0o600))
	var lines bytes.Buffer
	for method, v := range regret {
		for i := range 3 {
			require.NoError(t, json.NewEncoder(&lines).Encode(bench.Record{Space: space, Method: method, Acquisition: "EI", Task: fmt.Sprint(i), Regret: []float64{1, v}}))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "runs.jsonl"), lines.Bytes(), 0o600))
	return dir
}

// TestRatiosOfFolders: areas side by side and ratios over tables, by hand.
func TestRatiosOfFolders(t *testing.T) {
	one := writeFolder(t, "one", "1", 1, map[string]float64{"cm-BO": .1, "RGPE": .2, "EM-EGP": .05, "GP": .01, "TAF-R": .3})
	two := writeFolder(t, "two", "2", 1, map[string]float64{"cm-BO": .2, "RGPE": .1, "EM-EGP": .5, "GP": .00004})
	again := writeFolder(t, "one", "other rows", 1, map[string]float64{"cm-BO": .04, "RGPE": .04})
	more := writeFolder(t, "one", "other rows", 2, map[string]float64{"cm-BO": .3, "RGPE": .2})
	table := func(args ...string) string {
		var out bytes.Buffer
		require.NoError(t, run(context.Background(), mustParse(t, args...), &out, os.Stderr))
		return out.String()
	}
	want := `| method | one | two | area of cm-BO over its |
|---|---:|---:|---|
| **cm-BO** | .1000 | .2000 | |
| GP | .0100 | .0000 | 141.42 [141.42, 141.42] |
| RGPE | .2000 | .1000 | 1.00 [1.00, 1.00] |
| EM-EGP | .0500 | .5000 | .89 [.89, .89] |
| best rival of each table | .0500 | .1000 | 2.00 [2.00, 2.00] |

Areas are means over the runs that all of these methods have: 3 runs of 3 tasks of one, 3 runs of 3 tasks of two. Ratios are geometric means over tables, with 95 % of a bootstrap that draws tasks, too narrow where tasks are few. Areas below .0001 count as that in them.
Rivals learn from past tasks: RGPE, EM-EGP. The best is chosen by these runs, in the bootstrap anew for each draw.
Left out: TAF-R, which has less than half of the runs of two with EI.
`
	require.Equal(t, want, table("-ratios", one+","+two))
	require.Equal(t, table("-ratios", two+","+one), table("-ratios", one, "-ratios", two))
	require.Contains(t, table("-ratios", one+","+two, "-method", "rgpe"), "| cm-BO | .1000 | .2000 | 1.00 [1.00, 1.00] |")
	both := table("-ratios", one+","+again)
	require.Contains(t, both, fmt.Sprintf("| method | one (%s) | one (%s) |", min(one, again), max(one, again)))
	require.Contains(t, both, " .71 [.71, .71] |")

	// Other divisions of one table are more runs of its tasks, not more tasks.
	more = table("-ratios", again+","+more)
	require.Contains(t, more, "| RGPE | .1200 | 1.42 [1.42, 1.42] |")
	require.Contains(t, more, "6 runs of 3 tasks of one.")

	for want, args := range map[string][]string{
		two + ": there is no run of TAF-R; there are runs of EM-EGP, GP, RGPE, cm-BO": {"-ratios", one + "," + two, "-method", "TAF-R"},
		one + " and " + one + " have the same divisions of one":                       {"-ratios", one + "," + one},
		"no such file or directory":                                                   {"-ratios", one + "," + t.TempDir()},
	} {
		require.ErrorContains(t, run(context.Background(), mustParse(t, args...), &bytes.Buffer{}, os.Stderr), want)
	}
	other := writeFolder(t, "three", "3", 1, map[string]float64{"cm-BO": .1, "RGPE": .2})
	settings, err := os.ReadFile(filepath.Join(other, "experiment.json"))
	require.NoError(t, err)
	settings = bytes.Replace(settings, []byte(`"targets"`), []byte(`"past":"negated","targets"`), 1)
	require.NoError(t, os.WriteFile(filepath.Join(other, "experiment.json"), settings, 0o600))
	err = run(context.Background(), mustParse(t, "-ratios", one+","+other), &bytes.Buffer{}, os.Stderr)
	require.ErrorContains(t, err, other+` with -initial`)
	require.ErrorContains(t, err, `-past "negated"`)
	require.NoError(t, os.Truncate(filepath.Join(again, "runs.jsonl"), 0))
	require.ErrorContains(t, run(context.Background(), mustParse(t, "-ratios", again), &bytes.Buffer{}, os.Stderr), "there are no runs in "+again)
	for want, args := range map[string][]string{
		"-data changes nothing: -ratios": {"-data", "x"},
		"-report changes nothing":        {"-report", "x"},
		"one -method":                    {"-method", "GP,RGPE"},
	} {
		_, err := parse(append([]string{"-ratios", one}, args...), &strings.Builder{})
		require.ErrorContains(t, err, want)
	}
}

// TestPrograms: runs that another program made are kept, with a warning, and the report and the ratios say whose runs they
// are.
func TestPrograms(t *testing.T) {
	data, dir := writeTable(t), t.TempDir()
	runs := filepath.Join(dir, "runs.jsonl")
	experiment := func(methods string) (warning string) {
		var log bytes.Buffer
		o := mustParse(t, "-experiment", "quick", "-data", data, "-out", dir, "-budget", "2", "-targets", "1", "-method", methods)
		require.NoError(t, run(context.Background(), o, io.Discard, &log))
		return log.String()
	}
	ratios := func() string {
		var out bytes.Buffer
		require.NoError(t, run(context.Background(), mustParse(t, "-ratios", dir, "-method", "GP"), &out, io.Discard))
		return out.String()
	}
	page := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "report.html"))
		require.NoError(t, err)
		return string(b)
	}
	const says = "Runs are of several programs"
	own := bench.Program()
	require.Regexp(t, "^.+ [0-9a-f]{12}$", own)
	require.Empty(t, experiment("GP"))
	require.Empty(t, experiment("GP,Random"))
	require.NotContains(t, ratios()+page(), says)
	for _, other := range []string{`"program":"(devel) 0",`, ""} {
		b, err := os.ReadFile(runs)
		require.NoError(t, err)
		b = regexp.MustCompile(`("GP".*?)"program":"[^"]*",`).ReplaceAll(b, []byte("${1}"+other))
		require.NoError(t, os.WriteFile(runs, b, 0o600))
		require.Contains(t, experiment("GP,Random"), "2 runs in "+dir+" made by another program than this one are kept")
	}
	const want = "By an unknown one: GP on toy. "
	require.Contains(t, ratios(), says+", and may differ by that. "+want+"By "+own+": Random on toy.\n")
	require.Contains(t, page(), want)
}
