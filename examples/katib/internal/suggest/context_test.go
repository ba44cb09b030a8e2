package suggest

import (
	"context"
	"fmt"
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
		{"context", "nodes=3", "nodes"}, {"context", "cores=many", "cores"}, {"positive_values", "yes please", "true or false"},
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
