package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// writeTable makes a small table of tasks that peak at two places.
func writeTable(t *testing.T) string {
	type task struct {
		X [][]float64 `json:"X"`
		Y [][]float64 `json:"y"`
	}
	space := make(map[string]task)
	for j := range 10 {
		r := rng.Stream(1, "table", uint64(j))
		var tk task
		for range 40 {
			x := []float64{r.Float64(), r.Float64()}
			d := x[0] - []float64{0.2, 0.8}[j%2]
			tk.X = append(tk.X, x)
			tk.Y = append(tk.Y, []float64{1 - d*d - 0.1*x[1]})
		}
		space["task-"+strconv.Itoa(j)] = tk
	}
	b, err := json.Marshal(map[string]any{"toy": space})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "toy.json")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

func mustParse(t *testing.T, args ...string) *options {
	t.Helper()
	o, err := parse(append(args, "-quiet"), os.Stderr)
	require.NoError(t, err)
	return o
}

func TestSingleWritesCurve(t *testing.T) {
	testutil.SkipRace(t, "TestExperiment has its goroutines")
	path := writeTable(t)
	random := 0.0 // what random search, the first, ends with
	for _, args := range [][]string{
		{"-method", "random"},
		{"-method", "gp"},
		{"-method", "JefClus_JefCMP", "-acquisition", "ucb", "-clusters", "2-3"},
		{"-method", "cm-bo"},
		{"-method", "cmbo", "-clusters", "2"},
	} {
		out := filepath.Join(t.TempDir(), "curve.csv")
		o := mustParse(t, append([]string{"-data", path, "-space", "toy", "-splits", "3", "-repeats", "5", "-budget", "6", "-out", out}, args...)...)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		require.Contains(t, console.String(), "mean normalised simple regret of 15 runs")
		f, err := os.Open(out)
		require.NoError(t, err)
		rows, err := csv.NewReader(f).ReadAll()
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Len(t, rows, 1+7)
		last := 1.0
		for _, r := range rows[1:] {
			v, err := strconv.ParseFloat(r[1], 64)
			require.NoError(t, err)
			require.True(t, v >= 0 && v <= last, "a mean regret never rises")
			last = v
		}
		switch args[1] {
		case "random":
			random = last
		case "cmbo":
			require.Less(t, last, random, "the past tasks show where to look")
		}
	}
}

// The place of the curve is looked at before there are runs, which would be lost.
func TestPlaceOfCurve(t *testing.T) {
	path, dir := writeTable(t), t.TempDir()
	try := func(out string) (string, error) {
		var console bytes.Buffer
		err := run(context.Background(), mustParse(t, "-data", path, "-method", "random", "-splits", "1", "-repeats", "1", "-budget", "2", "-out", out), &console, os.Stderr)
		return console.String(), err
	}
	deep := filepath.Join(dir, "not", "there", "curve.csv")
	_, err := try(deep)
	require.NoError(t, err)
	require.FileExists(t, deep)
	for out, want := range map[string]string{dir: dir + " is a folder", filepath.Join(deep, "curve.csv"): "not a directory"} {
		console, err := try(out)
		require.ErrorContains(t, err, want)
		require.NotContains(t, console, "regret", "there were runs")
	}
}

// TestExperiment makes a small experiment in one go, and once more with an
// interruption, and compares all of it.
func TestExperiment(t *testing.T) {
	path := writeTable(t)
	whole, broken := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "broken")
	make := func(dir, workers string) {
		o := mustParse(t, "-experiment", "quick", "-data", path, "-out", dir, "-method", "Random,GP,cmbo,cm-BO,JefClus_JefCMP",
			"-source-rows", "10", "-budget", "5", "-targets", "0", "-clusters", "2", "-workers", workers)
		var console, log bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, &log))
		require.Contains(t, console.String(), "10 of 10 runs done")
		require.NotContains(t, log.String(), "\x1b", "codes for a terminal in a log file")
	}
	make(whole, "1")
	make(broken, "2")
	runs := filepath.Join(broken, "runs.jsonl")
	info, err := os.Stat(runs)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(runs, info.Size()/3))
	require.NoError(t, os.RemoveAll(filepath.Join(broken, "csv")))
	require.NoError(t, os.Remove(filepath.Join(broken, "report.html")))
	make(broken, "2")
	files := 0
	compare := func() {
		require.NoError(t, filepath.WalkDir(whole, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			rel, err := filepath.Rel(whole, p)
			require.NoError(t, err)
			want, err := os.ReadFile(p)
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(broken, rel))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%s differs", rel)
			return nil
		}))
	}
	compare()
	require.Equal(t, 5, files, "runs, settings, report and two tables")
	page, err := os.ReadFile(filepath.Join(whole, "report.html"))
	require.NoError(t, err)
	require.NotContains(t, string(page), "00000001", "a tick that is not rounded")

	require.NoError(t, os.Remove(filepath.Join(broken, "report.html")))
	require.NoError(t, run(context.Background(), mustParse(t, "-report", broken), &bytes.Buffer{}, os.Stderr))
	compare()

	o := mustParse(t, "-experiment", "quick", "-data", path, "-out", whole, "-seed", "2")
	require.ErrorContains(t, run(context.Background(), o, &bytes.Buffer{}, os.Stderr), "use another folder")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o = mustParse(t, "-experiment", "quick", "-data", path, "-out", t.TempDir())
	require.ErrorContains(t, run(ctx, o, &bytes.Buffer{}, os.Stderr), "goes on from here")
}

// writeHPOB makes a folder as HPO-B's, of one space "7" with four past tasks and
// two new ones.
func writeHPOB(t *testing.T) string {
	dir := t.TempDir()
	r := rng.Stream(5, "tables")
	type table struct {
		X [][]float64 `json:"X"`
		Y [][]float64 `json:"y"`
	}
	sets := map[string]map[string]map[string]table{}
	initial := map[string]map[string]map[string][]int{"7": {}}
	for name, tasks := range map[string]int{"train": 3, "validation": 1, "test": 2} {
		sets[name] = map[string]map[string]table{"7": {}}
		for i := range tasks {
			var tb table
			c := r.Float64()
			for range 40 {
				x := r.Float64()
				tb.X, tb.Y = append(tb.X, []float64{x}), append(tb.Y, []float64{-math.Abs(x - c)})
			}
			id := fmt.Sprint(name, i)
			sets[name]["7"][id] = tb
			if name == "test" {
				initial["7"][id] = map[string][]int{"test0": {1, 2, 3}, "test1": {4, 5, 6}}
			}
		}
	}
	write := func(name string, v any) {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	for name, set := range sets {
		write("meta-"+name+"-dataset.json", set)
	}
	write("bo-initializations.json", initial)
	return dir
}

// TestOwnProtocol takes HPO-B's own division of the tasks and its own initial configurations.
func TestOwnProtocol(t *testing.T) {
	data, out := writeHPOB(t), t.TempDir()
	args := []string{"-experiment", "hpob", "-data", data, "-out", out, "-quiet", "-repeats", "2", "-budget", "3", "-method", "Random,GP", "-acquisition", "EI"}
	require.NoError(t, run(context.Background(), mustParse(t, args...), &bytes.Buffer{}, os.Stderr))
	records, err := bench.ReadRecords(out)
	require.NoError(t, err)
	require.Len(t, records, 8)
	for _, r := range records {
		require.Equal(t, [][]int{{1, 2, 3}, {4, 5, 6}}[r.Repeat], r.Rows[:3])
	}
}

// TestAblate compares changes of the default with it.
func TestAblate(t *testing.T) {
	dir := t.TempDir()
	o := mustParse(t, "-experiment", "quick", "-data", writeTable(t), "-out", dir, "-ablate", "no-hedge,half-shrinkage", "-source-rows", "10", "-budget", "5", "-targets", "0", "-splits", "2", "-quiet")
	require.Equal(t, []string{"cm-BO", "cm-BO:no-hedge", "cm-BO:half-shrinkage"}, o.protocol.Methods)
	var console bytes.Buffer
	require.NoError(t, run(context.Background(), o, &console, &console))
	table, err := os.ReadFile(filepath.Join(dir, "ratios.md"))
	require.NoError(t, err)
	require.Contains(t, console.String(), string(table))
	require.Regexp(t, `(?m)^\| cm-BO:half-shrinkage \| [0-9.]+ \[.*\] .* \| \d+ \|$`, string(table))
	require.Regexp(t, `(?m)^\| cm-BO:no-hedge \|`, string(table))
	require.Regexp(t, `chosen on half of the divisions: [0-9.]+ there, [0-9.]+ on the other half`, string(table))

	// One task has no interval, and there is none to draw.
	o = mustParse(t, "-experiment", "quick", "-data", writeTable(t), "-out", t.TempDir(), "-ablate", "no-hedge", "-source-rows", "10", "-budget", "2", "-targets", "1", "-splits", "1", "-repeats", "1", "-quiet")
	console.Reset()
	require.NoError(t, run(context.Background(), o, &console, &console))
	require.Regexp(t, `(?m)^\| cm-BO:no-hedge \| [0-9.]+ \(a single task, no interval\) \| .* \| 1 \|$`, console.String())
	require.NotContains(t, console.String(), "NaN")
	names, _ := cmbo.Ablations()
	require.Len(t, mustParse(t, "-experiment", "quick", "-data", "x", "-ablate", "all").protocol.Methods, 1+len(names))
}

func TestParse(t *testing.T) {
	o := mustParse(t, "-data", "a", "-data", "b,c", "-experiment", "paper", "-acquisition", "ei,ucb(2)", "-repeats", "2")
	require.Equal(t, []string{"a", "b,c"}, o.data)
	require.Equal(t, "hpob-paper", o.out)
	p := o.protocol
	require.Equal(t, []any{5, 2, 50}, []any{p.Splits, p.Repeats, p.Budget})
	require.Equal(t, []string{"ei", "ucb(2)"}, p.Acquisitions)
	require.Equal(t, [2]int{2, 6}, p.Clusters)
	o = mustParse(t, "-data", "a", "-out", "", "-method", "cmbo")
	require.Equal(t, []string{"WssClus_WssCMP"}, o.protocol.Methods)
	require.Equal(t, [2]int{4, 4}, o.protocol.Clusters)
	require.Empty(t, o.out)
}

func TestParseRejects(t *testing.T) {
	for want, args := range map[string][]string{
		"-data is missing":                    {},
		"-acquisition":                        {"-data", "x", "-acquisition", "y"},
		"no method":                           {"-data", "x", "-method", "y"},
		"-clusters":                           {"-data", "x", "-clusters", "a-b"},
		"0 splits, must be at least 1":        {"-data", "x", "-splits", "0"},
		"-experiment":                         {"-data", "x", "-experiment", "y"},
		"-clusters changes nothing":           {"-data", "x", "-method", "gp", "-clusters", "3"},
		"-acquisition changes nothing":        {"-data", "x", "-method", "random", "-acquisition", "ucb"},
		"RM-GP-UCB has no run with EI":        {"-data", "x", "-experiment", "quick", "-acquisition", "EI", "-method", "GP,RM-GP-UCB"},
		"-initial changes nothing":            {"-data", "x", "-experiment", "hpob", "-initial", "3"},
		"-past changes nothing":               {"-data", "x", "-method", "gp", "-past", "negated"},
		"-sources changes nothing":            {"-data", "x", "-method", "random", "-sources", "3"},
		"-source-rows changes nothing":        {"-data", "x", "-method", "no-past", "-source-rows", "3"},
		"-ablate needs":                       {"-data", "x", "-ablate", "all"},
		"no -method":                          {"-data", "x", "-experiment", "quick", "-ablate", "all", "-method", "GP"},
		`no ablation "y"; there are no-hedge`: {"-data", "x", "-experiment", "quick", "-ablate", "y"},
		`no field Shrunk`:                     {"-data", "x", "-experiment", "quick", "-ablate", "Shrunk=1"},
		"several methods":                     {"-data", "x", "-method", "gp,random"},
		"needs a folder":                      {"-data", "x", "-experiment", "quick", "-out", ""},
		`unexpected argument "z`:              {"-data", "x", "z"},
	} {
		_, err := parse(args, &strings.Builder{})
		require.ErrorContains(t, err, want)
	}
	for _, args := range [][]string{
		{"-past", "negated"},
		{"-method", "cm-BO:no-hedge", "-past", "negated", "-acquisition", "ucb"},
		{"-method", "rgpe:Shared", "-sources", "3", "-source-rows", "20"},
		{"-experiment", "quick", "-method", "random,GP", "-acquisition", "ucb"},
	} {
		mustParse(t, append([]string{"-data", "x"}, args...)...)
	}
	for _, args := range [][]string{{"-data", "x"}, {"-out", "y"}, {"-seed", "2"}, {"-budget", "5"}, {"-experiment", "quick"}, {"-space", "s"}, {"-workers", "1"}} {
		_, err := parse(append([]string{"-report", "dir"}, args...), &strings.Builder{})
		require.ErrorContains(t, err, args[0]+" changes nothing")
	}
	for _, args := range [][]string{{"-splits", "0"}, {"-experiment", "hpob", "-splits", "2"}, {"-clusters", "4-2"}, {"-method", "y"}} {
		_, err := parse(append([]string{"-data", "x"}, args...), &strings.Builder{})
		require.Error(t, err, args)
		require.NotContains(t, err.Error(), "-method", "no flag is blamed for what another says")
	}
	o := mustParse(t, "-data", filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, run(context.Background(), o, &bytes.Buffer{}, &strings.Builder{}), os.ErrNotExist)
	require.ErrorIs(t, run(context.Background(), mustParse(t, "-report", t.TempDir()), &bytes.Buffer{}, &strings.Builder{}), os.ErrNotExist)
}

// TestRealTable runs a recorded table where one is at hand.
func TestRealTable(t *testing.T) {
	dir := os.Getenv("CMBO_DATA")
	if dir == "" {
		t.Skip("CMBO_DATA names no folder of tables")
	}
	o := mustParse(t, "-data", filepath.Join(dir, "ecml_adaboost.json.gz"), "-splits", "1", "-targets", "2", "-repeats", "2", "-budget", "20", "-out", "")
	var console bytes.Buffer
	require.NoError(t, run(context.Background(), o, &console, os.Stderr))
	t.Log(console.String())
}

// writeHistories writes tasks as people have them, in units of their own: a loss
// around a million, with choices, failures and a run that is still going.
func writeHistories(t *testing.T, dir string) (space *cmbo.Space, tasks []cmbo.Task) {
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-4, 1), cmbo.Int("depth", 1, 8), cmbo.Categorical("kernel", "rbf", "poly"))
	require.NoError(t, err)
	text, err := json.Marshal(space)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "net.json"), text, 0o600))
	for j := range 8 {
		task := cmbo.Task{ID: "task-" + strconv.Itoa(j), Failed: [][]float64{{1, 8, 1}}}
		rows, err := space.Sample(30, uint64(j))
		require.NoError(t, err)
		for _, x := range rows {
			task.X = append(task.X, x)
			task.Y = append(task.Y, 1e6+float64(j)*1e4+1e3*math.Abs(math.Log10(x[0])+2)+100*x[1]+300*x[2])
		}
		tasks = append(tasks, task)
	}
	return space, tasks
}

// TestHistories: the same tasks give the same curve whatever file they came from.
func TestHistories(t *testing.T) {
	dir := t.TempDir()
	space, tasks := writeHistories(t, dir)
	write := func(name string, write func(io.Writer) error) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, write(f))
		require.NoError(t, f.Close())
		return path
	}
	csvFile := write("history.csv", func(w io.Writer) error { return history.CSV{Space: space}.Write(w, tasks...) })
	linesFile := write("history.jsonl", func(w io.Writer) error { return history.JSONLines{Space: space}.Write(w, tasks...) })
	flow := history.MLflow(space, "loss")
	mlflowFile := write("runs.csv", func(w io.Writer) error { return flow.Write(w, tasks...) })
	var single []string
	for _, task := range tasks {
		path := write(task.ID+".csv", func(w io.Writer) error { return history.CSV{Space: space, Task: "-", Value: "loss"}.Write(w, task) })
		single = append(single, "-data", path)
	}
	flipped := make([]cmbo.Task, len(tasks))
	for i, task := range tasks {
		flipped[i] = task
		flipped[i].Y = make([]float64, len(task.Y))
		for k, y := range task.Y {
			flipped[i].Y[k] = -y
		}
	}
	upFile := write("up.csv", func(w io.Writer) error { return history.CSV{Space: space}.Write(w, flipped...) })
	curve := func(args ...string) string {
		out := filepath.Join(dir, "curve.csv")
		o := mustParse(t, append([]string{"-space", filepath.Join(dir, "net.json"), "-splits", "1", "-repeats", "2", "-budget", "5", "-method", "gp", "-out", out}, args...)...)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		require.Contains(t, console.String(), "space net: 8 tasks, 4 coordinates, 0 repeated rows dropped")
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		return string(b)
	}
	want := curve("-data", csvFile, "-minimize")
	require.Equal(t, want, curve("-data", linesFile, "-minimize"))
	require.Equal(t, want, curve("-data", mlflowFile, "-format", "mlflow", "-value", "loss", "-minimize"))
	require.Equal(t, want, curve(append(single, "-value", "loss", "-minimize")...))
	require.Equal(t, want, curve("-data", upFile))
	require.NotEqual(t, want, curve("-data", csvFile))

	for reason, args := range map[string][]string{
		"-space FILE is missing":       {"-data", csvFile},
		"do not go together":           {"-data", csvFile, "-data", writeTable(t)},
		"-task is for histories":       {"-data", writeTable(t), "-task", "set"},
		"not for HPO-B's directory":    {"-data", dir, "-space", "4796", "-skip"},
		"the file that describes the":  {"-data", csvFile, "-space", "toy"},
		"the header lacks \"lr\"":      {"-data", mlflowFile, "-space", filepath.Join(dir, "net.json")},
		"-value is missing":            {"-data", mlflowFile, "-format", "mlflow", "-space", filepath.Join(dir, "net.json")},
		"a journal of Optuna says all": {"-data", csvFile, "-format", "optuna", "-minimize"},
	} {
		err := run(context.Background(), mustParse(t, args...), io.Discard, os.Stderr)
		require.ErrorContains(t, err, reason)
	}
	_, err := parse([]string{"-data", csvFile, "-format", "xls"}, io.Discard)
	require.ErrorContains(t, err, "-format")
}

// TestOwnTable: a table that somebody made, with bad rows and values to be minimised.
func TestOwnTable(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, sign float64, bad string) string {
		tasks := make(map[string]any)
		for k := range 4 {
			var x [][]float64
			var y []float64
			for i := range 20 {
				u := float64(i) / 19
				x, y = append(x, []float64{u, 0.5}), append(y, sign*math.Pow(u-0.2*float64(k), 2))
			}
			tasks[fmt.Sprint("task ", k)] = map[string]any{"X": x, "y": y}
		}
		b, err := json.Marshal(map[string]any{"own": tasks})
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(b), "}}", "}"+bad+"}", 1)), 0o600))
		return path
	}
	curve := func(args ...string) (console, curve string) {
		out := filepath.Join(dir, "curve.csv")
		o := mustParse(t, append([]string{"-splits", "1", "-repeats", "1", "-budget", "4", "-initial", "0", "-method", "gp", "-out", out, "-quiet"}, args...)...)
		var b bytes.Buffer
		require.NoError(t, run(context.Background(), o, &b, os.Stderr))
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		return b.String(), string(text)
	}
	up, down := write("up.json", -1, ""), write("down.json", 1, "")
	_, want := curve("-data", up)
	_, got := curve("-data", down, "-minimize")
	require.Equal(t, want, got)
	_, got = curve("-data", down)
	require.NotEqual(t, want, got)

	text, err := os.ReadFile(up)
	require.NoError(t, err)
	several := regexp.MustCompile(`"y":\[(.*?)\]`).ReplaceAllStringFunc(string(text), func(y string) string {
		values := strings.Split(strings.TrimSuffix(strings.TrimPrefix(y, `"y":[`), "]"), ",")
		return `"outputs":["seconds","y"],"Y":[[1,` + strings.Join(values, "],[1,") + "]]"
	})
	path := filepath.Join(dir, "several.json")
	require.NoError(t, os.WriteFile(path, []byte(several), 0o600))
	_, got = curve("-data", path, "-value", "y")
	require.Equal(t, want, got)
	err = run(context.Background(), mustParse(t, "-data", path), io.Discard, io.Discard)
	require.ErrorContains(t, err, `Value says which of the outputs`)

	bad := write("bad.json", -1, `, "crashed": {"X": [[0.5, 0.5]], "y": [NaN]}`)
	err = run(context.Background(), mustParse(t, "-data", bad), io.Discard, io.Discard)
	require.ErrorContains(t, err, bad)
	require.ErrorContains(t, err, `task "crashed": row 0: y is null, NaN`)
	require.ErrorContains(t, err, "the flag -skip")
	console, got := curve("-data", bad, "-skip")
	require.Equal(t, want, got)
	require.Contains(t, console, `task "crashed"`)
}

// TestOptunaJournal: a journal needs no other file.
func TestOptunaJournal(t *testing.T) {
	o := mustParse(t, "-data", "../../cmbo/history/testdata/optuna/optuna-5.0.0-basic.log", "-splits", "1", "-repeats", "1", "-budget", "3", "-initial", "1", "-method", "gp", "-out", "")
	var console bytes.Buffer
	require.NoError(t, run(context.Background(), o, &console, os.Stderr))
	require.Contains(t, console.String(), "2 tasks, 12 rows, 4 of them failures")
	require.Contains(t, console.String(), "mean normalised simple regret of 1 runs")
}

// Tasks that cannot be tuned are counted where the table is announced.
func TestAnnounce(t *testing.T) {
	task := func(id string, y ...float64) bench.TableTask {
		return bench.TableTask{ID: id, X: [][]float64{{0}, {1}}[:len(y)], Y: y}
	}
	var out bytes.Buffer
	announce(&bench.Table{Space: "net", Dim: 1, Tasks: []bench.TableTask{task("a", 1, 2), task("b", 3, 3), task("c", 1)}}, &out)
	require.Equal(t, "space net: 3 tasks, 2 of them left out, whose values are all equal, 1 coordinates, 0 repeated rows dropped\n", out.String())
}
