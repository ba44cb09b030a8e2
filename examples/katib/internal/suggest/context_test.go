package suggest

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// An experiment that is described, and whose objective is positive, is proposed for as by the
// library that is told so; what cannot be is refused.
func TestContext(t *testing.T) {
	ctx := context.Background()
	space := librarySpace(t)
	rows, err := space.Sample(12, 3)
	if err != nil {
		t.Fatal(err)
	}
	value := func(cores float64, x []float64) float64 { return math.Exp(x[0]*(cores-6)/3 + objective(x)/50) }
	var past []cmbo.Task
	for k := range 12 {
		cores := float64(1 + k)
		task := cmbo.Task{ID: fmt.Sprint("past ", k), X: rows, Context: cmbo.Context{"cores": cores, "disk": "ssd"}}
		for _, x := range rows {
			task.Y = append(task.Y, value(cores, x))
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
	shared := []cmbo.LearnOption{cmbo.WithMinimize(), cmbo.WithPositiveValues()}
	prior, err := cmbo.Learn(ctx, space, past, shared...)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]bool{}
	for _, cores := range []float64{2, 11} {
		opt, err := cmbo.New(space, cmbo.WithMinimize(), cmbo.WithPositiveValues(), cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"cores": cores, "disk": "ssd"}))
		if err != nil {
			t.Fatal(err)
		}
		e := newExperiment("context", fmt.Sprintf("cores=%g, disk = ssd", cores), "positive_values", "true", "history", "past.csv")
		reply, err := newService(dir).GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: e, CurrentRequestNumber: 1})
		if err != nil {
			t.Fatal(err)
		}
		want, err := opt.Ask(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := reply.ParameterAssignments[0].Assignments
		text := fmt.Sprintf("%v %v %v %s", want.X[0], want.X[1], want.X[2], want.Choice("kind"))
		if s := fmt.Sprintf("%s %s %s %s", got[0].Value, got[1].Value, got[2].Value, got[3].Value); s != text {
			t.Fatalf("%g cores: %s, the library's %s", cores, s, text)
		}
		first[text] = true
	}
	if len(first) != 2 {
		t.Errorf("the descriptors changed nothing: %v", first)
	}
	for _, c := range []struct{ name, value, want string }{
		{"context", "cores", "not of the form"}, {"context", "cores=1,cores=2", "twice"}, {"context", "cores=", "not of the form"},
		{"context", "cores=3, nodes=3", `lacks this column, named for descriptor "nodes"`}, {"context", "cores=many", "cores"}, {"positive_values", "yes please", "true or false"},
	} {
		_, err := newService(dir).GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: newExperiment(c.name, c.value, "history", "past.csv"), CurrentRequestNumber: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.name, c.value, err)
		}
	}
	_, err = newService(dir).GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: newExperiment("context", "cores=3"), CurrentRequestNumber: 1})
	if err == nil || !strings.Contains(err.Error(), "neither a prior nor a history") {
		t.Errorf("%v", err)
	}
}

// A metric that is not above 0, where values are positive, is a failure like one that is no number:
// the experiment goes on. Whether they are is said by the setting or by the prior.
func TestPositiveValues(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	writePrior(t, filepath.Join(dir, "positive.prior"), cmbo.WithMinimize(), cmbo.WithPositiveValues())
	writePrior(t, filepath.Join(dir, "any.prior"), cmbo.WithMinimize())
	m := newManager(t)
	for _, c := range []struct {
		settings []string
		positive bool
	}{
		{nil, false},
		{[]string{"prior", "any.prior"}, false},
		{[]string{"positive_values", "true"}, true},
		{[]string{"prior", "positive.prior"}, true},
		{[]string{"prior", "positive.prior", "positive_values", "true"}, true},
	} {
		var said bytes.Buffer
		s := New("cmbo", dir, nil, "", log.New(&said, "", 0))
		s.DBManager = m.address
		e := newExperiment(c.settings...)
		e.Spec.EarlyStopping = &api.EarlyStoppingSpec{AlgorithmName: "cmbo"}
		own := len(e.Spec.Algorithm.AlgorithmSettings)
		var trials []*api.Trial
		for range 2 {
			reply, err := s.GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: e, Trials: trials, CurrentRequestNumber: 4})
			if err != nil {
				t.Fatalf("%q: %v", c.settings, err)
			}
			e.Spec.Algorithm.AlgorithmSettings = append(e.Spec.Algorithm.AlgorithmSettings[:own:own], reply.Algorithm.AlgorithmSettings...)
			for i, y := range []float64{0.5, 0, -1, 2} {
				name := fmt.Sprintf("%q-%d", c.settings, len(trials))
				m.logs[name] = []string{"3", "0", fmt.Sprint(y)} // the 0 on the way is passed over
				trials = append(trials, trialOf(name, reply.ParameterAssignments[i].Assignments, y))
			}
		}
		if _, err := s.GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: e, Trials: trials, CurrentRequestNumber: 1}); err != nil {
			t.Errorf("%q: %v", c.settings, err)
		}
		if _, err := s.GetEarlyStoppingRules(ctx, &api.GetEarlyStoppingRulesRequest{Experiment: e, Trials: trials, DbManagerAddress: m.address}); err != nil {
			t.Errorf("%q: %v", c.settings, err)
		}
		for _, y := range []string{"0", "-1"} {
			if got := strings.Contains(said.String(), `counts as failed: metric loss is "`+y+`"`); got != c.positive {
				t.Errorf("%q: the metric %s: failed is %v; the log: %s", c.settings, y, got, said.String())
			}
		}
		for _, y := range []string{"0.5", "2"} {
			if strings.Contains(said.String(), `metric loss is "`+y+`"`) {
				t.Errorf("%q: the metric %s counts as failed", c.settings, y)
			}
		}
	}
}
