package suggest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

func params() []*api.ParameterSpec {
	return []*api.ParameterSpec{
		{Name: "rate", ParameterType: api.ParameterType_DOUBLE, FeasibleSpace: &api.FeasibleSpace{Min: "1e-4", Max: "1", Distribution: api.Distribution_LOG_UNIFORM}},
		{Name: "units", ParameterType: api.ParameterType_DISCRETE, FeasibleSpace: &api.FeasibleSpace{List: []string{"64", "16", "32"}}},
		{Name: "drop", ParameterType: api.ParameterType_DOUBLE, FeasibleSpace: &api.FeasibleSpace{Min: "0", Max: "0.5", Step: "0.1"}},
		{Name: "kind", ParameterType: api.ParameterType_CATEGORICAL, FeasibleSpace: &api.FeasibleSpace{List: []string{"a", "b"}}},
	}
}

// librarySpace is the same space in the library's words.
func librarySpace(t testing.TB) *cmbo.Space {
	t.Helper()
	s, err := cmbo.NewSpace(cmbo.LogFloat("rate", 1e-4, 1), cmbo.Ordinal("units", 16, 32, 64),
		cmbo.Float("drop", 0, 0.5).WithStep(0.1), cmbo.Categorical("kind", "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func objective(x []float64) float64 {
	return math.Abs(math.Log10(x[0])+2) + math.Abs(x[1]-32)/16 + x[2] + x[3]
}

func newExperiment(settings ...string) *api.Experiment {
	a := &api.AlgorithmSpec{AlgorithmName: "cmbo"}
	for i := 0; i < len(settings); i += 2 {
		a.AlgorithmSettings = append(a.AlgorithmSettings, &api.AlgorithmSetting{Name: settings[i], Value: settings[i+1]})
	}
	return &api.Experiment{Name: "test", Spec: &api.ExperimentSpec{
		ParameterSpecs: &api.ExperimentSpec_ParameterSpecs{Parameters: params()},
		Objective:      &api.ObjectiveSpec{Type: api.ObjectiveType_MINIMIZE, ObjectiveMetricName: "loss"},
		Algorithm:      a,
	}}
}

func newService(dir string, urls ...string) *Service {
	return New("cmbo", dir, urls, "", log.New(io.Discard, "", 0))
}

// The service proposes what an optimiser in the process would, asked and told
// the same: that it is made again for each request does not show.
func TestProposesWhatTheLibraryDoes(t *testing.T) {
	ctx := context.Background()
	opt, err := cmbo.New(librarySpace(t), cmbo.WithMinimize(), cmbo.WithSeed(7), cmbo.WithAcquisition(cmbo.EI()))
	if err != nil {
		t.Fatal(err)
	}
	e := newExperiment("random_state", "7", "acquisition", "EI")
	var trials []*api.Trial
	for step := range 9 {
		n := 1 + step%3
		reply, err := newService("").GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: e, Trials: trials, CurrentRequestNumber: int32(n)})
		if err != nil {
			t.Fatal(err)
		}
		e.Spec.Algorithm.AlgorithmSettings = append(e.Spec.Algorithm.AlgorithmSettings[:2], reply.Algorithm.AlgorithmSettings...)
		asked, err := opt.AskN(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range asked {
			got := reply.ParameterAssignments[i].Assignments
			text := fmt.Sprintf("%v %v %v %s", want.X[0], want.X[1], want.X[2], want.Choice("kind"))
			if s := fmt.Sprintf("%s %s %s %s", got[0].Value, got[1].Value, got[2].Value, got[3].Value); s != text {
				t.Fatalf("trial %d is %s, the library's %s", want.ID, s, text)
			}
			y := objective(want.X)
			if err := opt.Tell(want.ID, y); err != nil {
				t.Fatal(err)
			}
			trials = append(trials, &api.Trial{
				Name: fmt.Sprintf("test-%03d", want.ID),
				Spec: &api.TrialSpec{ParameterAssignments: &api.TrialSpec_ParameterAssignments{Assignments: got}},
				Status: &api.TrialStatus{Condition: api.TrialStatus_SUCCEEDED, Observation: &api.Observation{
					Metrics: []*api.Metric{{Name: "loss", Value: fmt.Sprint(y)}}}},
			})
		}
	}
}

// Steps on a logarithmic scale keep all digits of the numbers that they are made of.
func TestSmallSteps(t *testing.T) {
	for _, c := range []struct {
		min, max, step string
		want           []string
	}{
		{"1e-25", "3e-25", "1e-25", []string{"0.0000000000000000000000001", "0.0000000000000000000000002", "0.0000000000000000000000003"}},
		{"1.25e-19", "2.5e-19", "1e-19", []string{"0.000000000000000000125", "0.000000000000000000225"}},
	} {
		s, err := newSpace([]*api.ParameterSpec{{Name: "x", ParameterType: api.ParameterType_DOUBLE, FeasibleSpace: &api.FeasibleSpace{
			Min: c.min, Max: c.max, Step: c.step, Distribution: api.Distribution_LOG_UNIFORM}}})
		if err != nil {
			t.Errorf("from %s by %s: %v", c.min, c.step, err)
			continue
		}
		var got []string
		for _, v := range s.Params()[0].Values() {
			got = append(got, s.params[0].text(v))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("from %s by %s: %v, not %v", c.min, c.step, got, c.want)
		}
	}
}

func TestAssignments(t *testing.T) {
	s, err := newSpace(params())
	if err != nil {
		t.Fatal(err)
	}
	row := []float64{0.001, 32, 0.3, 1}
	list := s.assignments(row)
	if got := fmt.Sprint(list[0].Value, list[1].Value, list[2].Value, list[3].Value); got != "0.001320.3b" {
		t.Errorf("assignments %s", got)
	}
	whole := parameter{name: "seed"}
	if got := whole.text(1<<53-1) + whole.text(-1<<53); got != "9007199254740991-9007199254740992" {
		t.Errorf("whole numbers %s", got)
	}
	back, err := s.row([]*api.ParameterAssignment{list[2], list[0], list[3], list[1]})
	if err != nil || fmt.Sprint(back) != fmt.Sprint(row) {
		t.Errorf("%v was read back as %v: %v", row, back, err)
	}
	for text, list := range map[string][]*api.ParameterAssignment{
		"no value":        list[:3],
		"not in the list": {list[0], list[1], list[2], {Name: "kind", Value: "c"}},
		"not one of":      {list[0], {Name: "units", Value: "17"}, list[2], list[3]},
		"not in [":        {{Name: "rate", Value: "2"}, list[1], list[2], list[3]},
		"not a finite":    {{Name: "rate", Value: "quick"}, list[1], list[2], list[3]},
	} {
		if _, err := s.row(list); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("want an error with %q, have %v", text, err)
		}
	}
}

func writePrior(t testing.TB, path string, opts ...cmbo.LearnOption) []byte {
	t.Helper()
	var tasks []cmbo.Task
	for k := range 4 {
		task := cmbo.Task{ID: fmt.Sprint("task ", k)}
		for i := range 12 {
			x := []float64{math.Pow(10, -4+float64(i)/3), []float64{16, 32, 64}[(i+k)%3], float64(i%6) / 10, float64(i % 2)}
			task.X = append(task.X, x)
			task.Y = append(task.Y, objective(x)+float64(k))
		}
		tasks = append(tasks, task)
	}
	prior, err := cmbo.Learn(context.Background(), librarySpace(t), tasks, opts...)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := prior.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPriors(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "served")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	encoded := writePrior(t, filepath.Join(dir, "good.prior"), cmbo.WithMinimize())
	writePrior(t, filepath.Join(dir, "maximises.prior"))
	writePrior(t, filepath.Join(parent, "outside.prior"), cmbo.WithMinimize())
	if err := os.WriteFile(filepath.Join(dir, "damaged.prior"), encoded[:len(encoded)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/priors/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(encoded) })
	mux.HandleFunc("/priors/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/secret", http.StatusFound) })
	mux.HandleFunc("/priors/near", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/priors/good", http.StatusFound) })
	secret := 0
	mux.HandleFunc("/secret", func(w http.ResponseWriter, _ *http.Request) { secret++; _, _ = w.Write(encoded) })
	web := httptest.NewServer(mux)
	defer web.Close()
	s := newService(dir, web.URL+"/priors/")
	for place, want := range map[string]codes.Code{
		"good.prior":                  codes.OK,
		"maximises.prior":             codes.InvalidArgument,
		"damaged.prior":               codes.InvalidArgument,
		"../outside.prior":            codes.InvalidArgument,
		parent + "/outside.prior":     codes.InvalidArgument,
		"none.prior":                  codes.InvalidArgument,
		web.URL + "/priors/good":      codes.OK,
		web.URL + "/priors/near":      codes.OK,
		web.URL + "/priors/none":      codes.Unavailable,
		web.URL + "/secret":           codes.InvalidArgument,
		web.URL + "/priors/../secret": codes.InvalidArgument,
		web.URL + "/priors/away":      codes.Unavailable,
		"file:///etc/passwd":          codes.InvalidArgument,

		web.URL + "/priors/%2e%2e/secret": codes.InvalidArgument,
	} {
		_, err := s.ValidateAlgorithmSettings(context.Background(), &api.ValidateAlgorithmSettingsRequest{Experiment: newExperiment("prior", place)})
		if status.Code(err) != want {
			t.Errorf("%s: %v, want %v", place, err, want)
		}
	}
	if secret > 0 {
		t.Error("a URL was asked for that is not allowed")
	}
	// A prior for other parameters is adopted: another order, a wider range.
	drifted := newExperiment("prior", "good.prior")
	list := params()
	list[0], list[3] = list[3], list[0]
	list[3].FeasibleSpace.Max = "10"
	list[0].FeasibleSpace.List = []string{"c", "b", "a"}
	drifted.Spec.ParameterSpecs.Parameters = list
	near(t, s, drifted)
	drifted.Spec.ParameterSpecs.Parameters = append(list, &api.ParameterSpec{Name: "new", ParameterType: api.ParameterType_INT, FeasibleSpace: &api.FeasibleSpace{Min: "1", Max: "3"}})
	_, err := s.ValidateAlgorithmSettings(context.Background(), &api.ValidateAlgorithmSettingsRequest{Experiment: drifted})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), `"new"`) {
		t.Errorf("a parameter that the prior does not know: %v", err)
	}
	near(t, s, newExperiment("prior", "good.prior"))
}

// near checks that the first proposal is near the best of the past tasks.
func near(t *testing.T, s *Service, e *api.Experiment) {
	t.Helper()
	reply, err := s.GetSuggestions(context.Background(), &api.GetSuggestionsRequest{Experiment: e, CurrentRequestNumber: 1})
	if err != nil {
		t.Fatal(err)
	}
	x, err := newSpace(params())
	if err != nil {
		t.Fatal(err)
	}
	row, err := x.row(reply.ParameterAssignments[0].Assignments)
	if err != nil || objective(row) > 2 {
		t.Errorf("first proposal %v: %v", row, err)
	}
}
