package history_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// deepcaveRun is the run of testdata/deepcave: choices that look like something
// else, parameters of one value, values at the bounds, repeated points.
func deepcaveRun(tb testing.TB) (history.DeepCAVE, []cmbo.Observation) {
	tb.Helper()
	s, err := cmbo.NewSpace(
		cmbo.LogFloat("lr", 1e-5, 0.1),
		cmbo.Float("momentum", 0, 1),
		cmbo.Int("depth", -2, 12),
		cmbo.LogInt("batch", 4, 1<<30),
		cmbo.Categorical("kernel", "rbf", "poly, 3", `say "hi"`, "1", "1.0", "'1'", "NA", "true", "", "1e999"),
		cmbo.Bool("bias"),
		cmbo.Int("seven", 7, 7),
		cmbo.Categorical("only", "this"),
	)
	if err != nil {
		tb.Fatal(err)
	}
	var run []cmbo.Observation
	lr := []float64{1e-5, 3e-5, 7.742636826811271e-05, 0.00021544346900318845, 0.0006, 0.0016681005372000586, 0.005, 0.012, 0.036, 0.1}
	for i := range 10 {
		run = append(run, cmbo.Observation{
			X: []float64{lr[i], float64(i) / 9, float64(i) - 2, float64(int(4) << (28 * i / 9)), float64(i), float64(i % 2), 7, 0},
			Y: float64(i*37%11-5) / 1000, Trial: i + 1,
		})
	}
	run = append(run,
		cmbo.Observation{X: run[3].X, Y: 0.30000000000000004},                                                // measured again, not asked
		cmbo.Observation{X: append([]float64{run[3].X[0] * (1 + 1e-15)}, run[3].X[1:]...), Y: -2, Trial: 11}, // the same for ConfigSpace
	)
	return history.DeepCAVE{Space: s, Objective: "error_rate", Minimize: true}, run
}

// TestDeepCAVEGolden holds the writer to the files that check.py has read with
// DeepCAVE.
func TestDeepCAVEGolden(t *testing.T) {
	d, run := deepcaveRun(t)
	var trials, configspace bytes.Buffer
	if err := d.Write(&trials, &configspace, run); err != nil {
		t.Fatal(err)
	}
	if want := fixture(t, "deepcave/trials.csv"); !bytes.Equal(trials.Bytes(), want) {
		t.Errorf("trials.csv is\n%s\nwant\n%s", trials.Bytes(), want)
	}
	if want := fixture(t, "deepcave/configspace.csv"); !bytes.Equal(configspace.Bytes(), want) {
		t.Errorf("configspace.csv is\n%s\nwant\n%s", configspace.Bytes(), want)
	}
}

// TestDeepCAVERows reads the files back with another reader.
func TestDeepCAVERows(t *testing.T) {
	d, run := deepcaveRun(t)
	d.Objective, d.Minimize = "", false
	var trials, configspace bytes.Buffer
	if err := d.Write(&trials, &configspace, run); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&trials).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	if _, ok := column["metric:value [-2; 0.30000000000000004] (maximize)"]; !ok {
		t.Errorf("header %q", rows[0])
	}
	choices := make(map[string]bool)
	for i, r := range rows[1:] {
		if start, end := fmt.Sprint(i), fmt.Sprint(i+1); r[column["start_time"]] != start || r[column["end_time"]] != end {
			t.Errorf("row %d runs from %s to %s", i, r[column["start_time"]], r[column["end_time"]])
		}
		choices[r[column["kernel"]]] = true
		seed, id := "0", fmt.Sprint(i)
		if i >= 10 {
			seed, id = fmt.Sprint(i-9), "3"
		}
		if r[column["seed"]] != seed || r[column["config_id"]] != id || r[column["trial"]] != fmt.Sprint(run[i].Trial) || r[column["status"]] != "success" {
			t.Errorf("row %d: %q", i, r)
		}
	}
	for _, c := range []string{"rbf", "poly, 3", `say "hi"`, "'1'", "'1.0'", "''1''", "'NA'", "'true'", "''", "'1e999'"} {
		if !choices[c] {
			t.Errorf("choice %q is not among %v", c, choices)
		}
	}
}

// TestDeepCAVEBounds shows that the bounds as ConfigSpace rounds them hold the
// values, also where its rounding changes the last bit.
func TestDeepCAVEBounds(t *testing.T) {
	rng := testutil.RNG(t)
	moved := 0
	for range 300 {
		lo := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(12)-3))
		hi := lo + math.Abs(lo)*rng.Float64() + 1e-6
		s, err := cmbo.NewSpace(cmbo.Float("x", lo, hi))
		if err != nil {
			t.Fatal(err)
		}
		var trials, configspace bytes.Buffer
		run := []cmbo.Observation{{X: []float64{lo}}, {X: []float64{hi}}, {X: []float64{math.Nextafter(lo, hi)}}, {X: []float64{math.Nextafter(hi, lo)}}}
		if err := (history.DeepCAVE{Space: s}).Write(&trials, &configspace, run); err != nil {
			t.Fatal(err)
		}
		cell := func(file *bytes.Buffer, name string) []float64 {
			rows, err := csv.NewReader(bytes.NewReader(file.Bytes())).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			var out []float64
			for _, r := range rows[1:] {
				v, err := strconv.ParseFloat(r[slices.Index(rows[0], name)], 64)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, v)
			}
			return out
		}
		round := func(v float64) float64 { return math.RoundToEven(v*1e13) / 1e13 }
		lower, upper := cell(&configspace, "lower")[0], cell(&configspace, "upper")[0]
		for i, v := range cell(&trials, "x") {
			if !(round(lower) <= v && v <= round(upper)) {
				t.Errorf("%s in [%g, %g] is outside [%s, %s]", formatExact(v), lo, hi, formatExact(round(lower)), formatExact(round(upper)))
			}
			if d := math.Abs(v - run[i].X[0]); !(d <= 1e-13+1e-14*math.Abs(v)) {
				t.Errorf("%g was written as %g", run[i].X[0], v)
			}
		}
		if lower != cell(&trials, "x")[0] || upper != cell(&trials, "x")[1] {
			moved++
		}
	}
	if moved == 0 || moved > 150 {
		t.Errorf("bounds were moved in %d of 300 cases; the test means some", moved)
	}
}

func formatExact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func TestDeepCAVEErrors(t *testing.T) {
	good := []cmbo.Param{cmbo.Float("x", 0, 1), cmbo.Int("n", 1, 1)}
	obs := []cmbo.Observation{{X: []float64{0.5, 1}, Y: 1}}
	first := func(p cmbo.Param) []cmbo.Param { return []cmbo.Param{p, good[1]} }
	tests := []struct {
		name   string
		d      history.DeepCAVE
		params []cmbo.Param
		run    []cmbo.Observation
		want   error
	}{
		{"good", history.DeepCAVE{}, good, obs, nil},
		{"none", history.DeepCAVE{}, good, nil, cmbo.ErrNoTasks},
		{"outside", history.DeepCAVE{}, good, []cmbo.Observation{{X: []float64{2, 1}, Y: 1}}, cmbo.ErrOutOfSpace},
		{"NaN", history.DeepCAVE{}, good, []cmbo.Observation{{X: []float64{0, 1}, Y: math.NaN()}}, cmbo.ErrNotFinite},
		{"objective", history.DeepCAVE{Objective: "my loss"}, good, obs, cmbo.ErrOption},
		{"objective of DeepCAVE", history.DeepCAVE{Objective: "time"}, good, obs, cmbo.ErrOption},
		{"nothing varies", history.DeepCAVE{}, first(cmbo.Categorical("c", "a")), []cmbo.Observation{{X: []float64{0, 1}}}, cmbo.ErrSpace},
		{"name of a column", history.DeepCAVE{}, first(cmbo.Float("seed", 0, 1)), obs, cmbo.ErrSpace},
		{"name of a metric", history.DeepCAVE{}, first(cmbo.Float("metrics", 0, 1)), obs, cmbo.ErrSpace},
		{"name of a number", history.DeepCAVE{}, first(cmbo.Float("01", 0, 1)), obs, cmbo.ErrSpace},
		{"missing name", history.DeepCAVE{}, first(cmbo.Float("null", 0, 1)), obs, cmbo.ErrSpace},
		{"small range", history.DeepCAVE{}, first(cmbo.Float("x", 0, 4e-14)), []cmbo.Observation{{X: []float64{0, 1}}}, cmbo.ErrSpace},
		{"small logarithm", history.DeepCAVE{}, first(cmbo.LogFloat("x", 1e-15, 1)), obs, cmbo.ErrSpace},
		{"large range", history.DeepCAVE{}, first(cmbo.Float("x", 0, 1e300)), obs, cmbo.ErrSpace},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			if tt.d.Space, err = cmbo.NewSpace(tt.params...); err != nil {
				t.Fatal(err)
			}
			var trials, configspace bytes.Buffer
			err = tt.d.Write(&trials, &configspace, tt.run)
			if !errors.Is(err, tt.want) || tt.want != nil && trials.Len()+configspace.Len() > 0 {
				t.Errorf("%v, want %v; %d bytes written", err, tt.want, trials.Len()+configspace.Len())
			}
		})
	}
	if err := (history.DeepCAVE{}).Write(nil, nil, obs); !errors.Is(err, cmbo.ErrSpace) {
		t.Error(err)
	}
	d, run := deepcaveRun(t)
	full := errors.New("disk full")
	if err := d.Write(&bytes.Buffer{}, &failing{err: full}, run); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := d.Write(&failing{err: full}, &bytes.Buffer{}, run); !errors.Is(err, full) {
		t.Error(err)
	}
}

// TestDeepCAVEOptimizer writes what an optimiser observed.
func TestDeepCAVEOptimizer(t *testing.T) {
	s, err := cmbo.NewSpace(cmbo.Float("x", -1, 1), cmbo.Bool("b"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := cmbo.New(s, cmbo.WithSeed(1))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		trial, err := o.Ask(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Tell(trial.ID, trial.Float("x")); err != nil {
			t.Fatal(err)
		}
	}
	var trials, configspace bytes.Buffer
	if err := (history.DeepCAVE{Space: s}).Write(&trials, &configspace, o.Observations()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(trials.String(), "\n"); n != 5 {
		t.Errorf("%d lines:\n%s", n, trials.String())
	}
	// The same run as a task, in both other formats and back.
	task, err := o.Task("run")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (history.CSV{Space: s}).Write(&b, task); err != nil {
		t.Fatal(err)
	}
	if got, err := (history.CSV{Space: s}).Read(&b); err != nil || !sameBits(got.Tasks, []cmbo.Task{task}) {
		t.Errorf("%v, %v; want %v", got, err, task)
	}
}
