package suggest

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// latency rises with the units and falls with the rate.
func latency(x []float64) float64 { return x[1]/16 + 1 - x[0] }

// With limits on further metrics the service proposes what the library does that is told
// them, with a past that has them as well; a metric that was not reported is missing.
func TestConstraints(t *testing.T) {
	ctx := context.Background()
	space := librarySpace(t)
	rows, err := space.Sample(20, 3)
	if err != nil {
		t.Fatal(err)
	}
	var past []cmbo.Task
	for k := range 3 {
		task := cmbo.Task{ID: fmt.Sprint("past ", k), X: rows, Outputs: map[string][]float64{"latency": nil}}
		for _, x := range rows {
			task.Y = append(task.Y, objective(x)+float64(k))
			task.Outputs["latency"] = append(task.Outputs["latency"], latency(x)*float64(1+k))
		}
		past = append(past, task)
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "past.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := (history.CSV{Space: space}).Write(f, past...); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	prior, err := cmbo.Learn(ctx, space, past, cmbo.WithMinimize())
	if err != nil {
		t.Fatal(err)
	}
	limits := []cmbo.Option{
		cmbo.WithMinimize(), cmbo.WithSeed(7), cmbo.WithOutput("latency", cmbo.AtMost(2), cmbo.Optional()), cmbo.WithOutput("parts", cmbo.AtLeast(1), cmbo.AtMost(9), cmbo.Optional()),
	}
	var said bytes.Buffer
	for _, history := range []string{"", "past.csv"} {
		opts := limits
		settings := []string{"random_state", "7", "constraints", "latency<=2, parts >= 1,parts<=9"}
		if history != "" {
			opts = append(limits[:4:4], cmbo.WithPrior(prior))
			settings = append(settings, "history", history)
		}
		opt, err := cmbo.New(space, opts...)
		if err != nil {
			t.Fatal(err)
		}
		e := newExperiment(settings...)
		own := len(e.Spec.Algorithm.AlgorithmSettings)
		var trials []*api.Trial
		for range 9 {
			reply, err := New("cmbo", dir, nil, "", log.New(&said, "", 0)).GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: e, Trials: trials, CurrentRequestNumber: 1})
			if err != nil {
				t.Fatal(err)
			}
			e.Spec.Algorithm.AlgorithmSettings = append(e.Spec.Algorithm.AlgorithmSettings[:own:own], reply.Algorithm.AlgorithmSettings...)
			want, err := opt.Ask(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got := reply.ParameterAssignments[0].Assignments
			text := fmt.Sprintf("%v %v %v %s", want.X[0], want.X[1], want.X[2], want.Choice("kind"))
			if s := fmt.Sprintf("%s %s %s %s", got[0].Value, got[1].Value, got[2].Value, got[3].Value); s != text {
				t.Fatalf("history %q: trial %d is %s, the library's %s", history, want.ID, s, text)
			}
			y, outputs := objective(want.X), cmbo.Outputs{"latency": latency(want.X)}
			metrics := []*api.Metric{{Name: "latency", Value: fmt.Sprint(outputs["latency"])}, {Name: "loss", Value: fmt.Sprint(y)}, {Name: "parts", Value: "NaN"}}
			if want.ID%3 > 0 {
				outputs["parts"] = 10 * want.X[2]
				metrics[2].Value = fmt.Sprint(outputs["parts"])
			}
			if err := opt.Tell(want.ID, y, outputs); err != nil {
				t.Fatal(err)
			}
			trials = append(trials, &api.Trial{
				Name:   fmt.Sprintf("test-%03d", want.ID),
				Spec:   &api.TrialSpec{ParameterAssignments: &api.TrialSpec_ParameterAssignments{Assignments: got}},
				Status: &api.TrialStatus{Condition: api.TrialStatus_SUCCEEDED, Observation: &api.Observation{Metrics: metrics}},
			})
		}
	}
	if !strings.Contains(said.String(), `past.csv teaches nothing of "parts": history: line 1: "parts": the header lacks`) || strings.Contains(said.String(), `nothing of "latency"`) {
		t.Errorf("the log: %s", said.String())
	}
	for value, want := range map[string]string{
		"latency":                  "not of the form",
		"latency<=x":               "not of the form",
		"<=5":                      "not of the form",
		"loss<=1":                  "which is the objective",
		"latency<=1,latency<=2":    "at most 1 and at most 2",
		"latency>=2,latency<=1":    "leave no room",
		"latency<=5;accuracy>=0.9": "not of the form",
	} {
		_, err := newService("").GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: newExperiment("constraints", value), CurrentRequestNumber: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
