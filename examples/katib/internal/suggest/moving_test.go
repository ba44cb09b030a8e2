package suggest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

func validate(s *Service, e *api.Experiment) error {
	_, err := s.ValidateAlgorithmSettings(context.Background(), &api.ValidateAlgorithmSettingsRequest{Experiment: e})
	return err
}

// TestSettingsOfBayesianOptimization: every setting that Katib's own algorithm takes is
// taken here, or refused with a reason.
func TestSettingsOfBayesianOptimization(t *testing.T) {
	for _, tt := range []struct {
		settings []string
		like     string // the acquisition that proposes the same
		refused  string
	}{
		{settings: []string{"base_estimator", "GP", "n_initial_points", "3", "acq_func", "gp_hedge", "acq_optimizer", "auto", "random_state", "10"}, like: "EI"},
		{settings: []string{"acq_func", "EI", "acq_optimizer", "lbfgs"}, like: "EI"},
		{settings: []string{"acq_func", "PI", "acq_optimizer", "sampling"}, like: "PI"},
		{settings: []string{"acq_func", "LCB"}, like: "UCB(1.96)"},
		{settings: []string{"acquisition", "thompson"}, like: "Thompson"},
		{settings: []string{"acq_func", "EIps"}, refused: "Katib tells no service how long trials take"},
		{settings: []string{"acq_func", "PIps"}, refused: "use EI or PI"},
		{settings: []string{"acq_func", "ei"}, refused: "not gp_hedge, LCB, EI or PI"},
		{settings: []string{"base_estimator", "RF"}, refused: "the model is a Gaussian process"},
		{settings: []string{"base_estimator", "ET"}, refused: "the model is a Gaussian process"},
		{settings: []string{"base_estimator", "GBRT"}, refused: "the model is a Gaussian process"},
		{settings: []string{"base_estimator", "TPE"}, refused: "not GP"},
		{settings: []string{"acq_optimizer", "grid"}, refused: "not auto, sampling or lbfgs"},
		{settings: []string{"acq_func", "EI", "acquisition", "EI"}, refused: "both acq_func and acquisition"},
	} {
		err := validate(newService(""), newExperiment(tt.settings...))
		if tt.refused != "" {
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%q: %v", tt.settings, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.settings, err)
			continue
		}
		// Of a run with three values, the next proposal.
		rest := []string{"acquisition", tt.like}
		for i := 0; i < len(tt.settings); i += 2 {
			if n := tt.settings[i]; n == "random_state" || n == "n_initial_points" {
				rest = append(rest, tt.settings[i:i+2]...)
			}
		}
		var replies [2]string
		for k, settings := range [][]string{tt.settings, rest} {
			e := newExperiment(settings...)
			reply, err := newService("").GetSuggestions(context.Background(), &api.GetSuggestionsRequest{Experiment: e, Trials: ended(t, 8), CurrentRequestNumber: 1})
			if err != nil {
				t.Fatal(err)
			}
			replies[k] = fmt.Sprint(reply.ParameterAssignments)
		}
		if replies[0] != replies[1] {
			t.Errorf("%q proposes %s, %s %s", tt.settings, replies[0], tt.like, replies[1])
		}
	}
}

// ended returns trials of random points that have succeeded.
func ended(t *testing.T, n int) (trials []*api.Trial) {
	t.Helper()
	s, err := newSpace(params())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Sample(n, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range rows {
		trials = append(trials, trialOf(fmt.Sprintf("trial-%d", i), s.assignments(x), objective(x)))
	}
	return trials
}

func trialOf(name string, a []*api.ParameterAssignment, y float64) *api.Trial {
	return &api.Trial{
		Name: name,
		Spec: &api.TrialSpec{ParameterAssignments: &api.TrialSpec_ParameterAssignments{Assignments: a}},
		Status: &api.TrialStatus{Condition: api.TrialStatus_SUCCEEDED, Observation: &api.Observation{
			Metrics: []*api.Metric{{Name: "loss", Value: fmt.Sprint(y)}}}},
	}
}

// TestBrokenDownload: a source that breaks off is to be asked again, and a source that
// is whole and damaged is the experiment's fault.
func TestBrokenDownload(t *testing.T) {
	encoded := writePrior(t, filepath.Join(t.TempDir(), "p"), cmbo.WithMinimize())
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := encoded
		switch n := asked.Add(1); {
		case r.URL.Path == "/damaged":
			whole = encoded[:len(encoded)-7]
		case r.URL.Path == "/chunked" && n%2 == 1:
			_, _ = w.Write(encoded[:1000])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case n%2 == 1:
			w.Header().Set("Content-Length", fmt.Sprint(len(encoded)))
			whole = encoded[:len(encoded)/2]
		}
		_, _ = w.Write(whole)
	}))
	defer web.Close()
	for _, place := range []string{"/length", "/chunked"} {
		asked.Store(0)
		s := newService("", web.URL+"/")
		e := newExperiment("prior", web.URL+place)
		if err := validate(s, e); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", place, err)
		}
		near(t, s, e) // the second time
	}
	if err := validate(newService(filepath.Join(t.TempDir(), "none")), newExperiment("prior", "p")); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "FromVolume") {
		t.Errorf("a folder that is not mounted: %v", err)
	}
	if err := validate(newService("", web.URL+"/"), newExperiment("prior", web.URL+"/damaged")); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}

// TestSlowPrior: while one prior is read, experiments with others are served, requests
// that wait for it end with their deadline, and it is read once.
func TestSlowPrior(t *testing.T) {
	dir := t.TempDir()
	encoded := writePrior(t, filepath.Join(dir, "good.prior"), cmbo.WithMinimize())
	var asked atomic.Int32
	release := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-release
		_, _ = w.Write(encoded)
	}))
	defer web.Close()
	s := newService(dir, web.URL+"/")
	slow := newExperiment("prior", web.URL+"/slow")
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := s.GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: slow, CurrentRequestNumber: 1})
		cancel()
		if status.Code(err) != codes.DeadlineExceeded {
			t.Fatal(err)
		}
	}
	near(t, s, newExperiment("prior", "good.prior"))
	close(release)
	near(t, s, slow)
	if n := asked.Load(); n != 1 {
		t.Errorf("the source was read %d times", n)
	}
}

// TestKatibTrialsAsHistory: what kubectl writes of past trials is learned from.
func TestKatibTrialsAsHistory(t *testing.T) {
	dir := t.TempDir()
	s, err := newSpace(params())
	if err != nil {
		t.Fatal(err)
	}
	var items []string
	for k := range 4 {
		rows, err := s.Sample(12, uint64(k))
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range rows {
			var values []string
			for _, a := range s.assignments(x) {
				if a.Name == "drop" { // as algorithms that know no steps suggest it
					a.Value = fmt.Sprint(x[2]*0.9 + 0.02)
				}
				values = append(values, fmt.Sprintf(`{"name": %q, "value": %q}`, a.Name, a.Value))
			}
			items = append(items, fmt.Sprintf(`{"kind": "Trial", "metadata": {"name": "t%d-%d", "namespace": "ns", "labels": {"katib.kubeflow.org/experiment": "past-%d"}},
				"spec": {"objective": {"type": "minimize", "objectiveMetricName": "loss"}, "parameterAssignments": [%s]},
				"status": {"conditions": [{"type": "Succeeded", "status": "True"}], "observation": {"metrics": [{"name": "loss", "latest": "9", "max": "9", "min": "%g"}]}}}`,
				k, i, k, strings.Join(values, ", "), objective(x)+float64(k)))
		}
	}
	text := `{"kind": "List", "items": [` + strings.Join(items, ",") + `]}`
	if err := os.WriteFile(filepath.Join(dir, "trials.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	service := newService(dir)
	service.Log.SetOutput(&log)
	e := newExperiment("history", "trials.json")
	near(t, service, e)
	if !strings.Contains(log.String(), "4 tasks, 48 evaluations, 0 of them failed;") {
		t.Error(log.String())
	}
	e.Spec.Objective.ObjectiveMetricName = "accuracy"
	if err := validate(service, e); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a history of another metric: %v", err)
	}
}

// TestStateless: what the proposal for OptimizationJob of kubeflow/trainer, KEP-3562,
// asks of a service: each request brings the whole history and no state, and any
// process, on any node, may answer it. The order in which the controller finds the
// trials does not count, nor that it finds one twice, two nodes answer alike, and the history is learned from: after
// thirty trials the best is better than of three hundred random points, in most of five jobs.
func TestStateless(t *testing.T) {
	s, err := newSpace(params())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Sample(300, 9)
	if err != nil {
		t.Fatal(err)
	}
	random := math.Inf(1)
	for _, x := range rows {
		random = min(random, objective(x))
	}
	var best []float64
	for seed := range uint64(5) {
		best = append(best, statelessJob(t, s, seed))
	}
	slices.Sort(best)
	if best[2] >= random {
		t.Errorf("the best of thirty trials are %g, of 300 random points %g", best, random)
	}
}

// statelessJob asks for thirty trials and returns the best value.
func statelessJob(t *testing.T, s *space, seed uint64) float64 {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, seed))
	e := newExperiment("random_state", fmt.Sprint(seed))
	var all, running []*api.Trial
	best := 1e300
	for len(all) < 30 {
		n := 1 + len(all)%4
		q := &api.GetSuggestionsRequest{Experiment: e, Trials: slices.Clone(all), CurrentRequestNumber: int32(n), TotalRequestNumber: int32(len(all) + n)}
		var replies [2]*api.GetSuggestionsReply
		for k := range replies {
			rng.Shuffle(len(q.Trials), func(i, j int) { q.Trials[i], q.Trials[j] = q.Trials[j], q.Trials[i] })
			if k == 1 && len(q.Trials) > 0 { // a list of pages, between which something changed
				q.Trials = append(q.Trials, q.Trials[0])
			}
			// A process that has never heard of the job.
			var err error
			if replies[k], err = newService("").GetSuggestions(ctx, proto.Clone(q).(*api.GetSuggestionsRequest)); err != nil {
				t.Fatal(err)
			}
		}
		if !proto.Equal(replies[0], replies[1]) {
			t.Fatal("two nodes answer differently")
		}
		if len(replies[0].ParameterAssignments) != n {
			t.Fatalf("%d suggestions, want %d", len(replies[0].ParameterAssignments), n)
		}
		for _, a := range replies[0].ParameterAssignments {
			x, err := s.row(a.Assignments)
			if err != nil {
				t.Fatal(err)
			}
			for _, known := range all {
				y, err := s.row(known.Spec.ParameterAssignments.Assignments)
				if err != nil {
					t.Fatal(err)
				}
				if slices.Equal(x, y) {
					t.Fatalf("%v is suggested again", x)
				}
			}
			made := trialOf(fmt.Sprintf("job-%08x", rng.Uint32()), a.Assignments, objective(x))
			best = min(best, objective(x))
			made.Status.Condition = api.TrialStatus_RUNNING
			all, running = append(all, made), append(running, made)
		}
		// Some end, one in six of them as failed.
		for len(running) > 2 {
			i := rng.IntN(len(running))
			running[i].Status.Condition = api.TrialStatus_SUCCEEDED
			if rng.IntN(6) == 0 {
				running[i].Status = &api.TrialStatus{Condition: api.TrialStatus_FAILED}
			}
			running = slices.Delete(running, i, i+1)
		}
	}
	return best
}

// BenchmarkSuggestions measures a first request with a prior; Katib gives a service a
// minute.
func BenchmarkSuggestions(b *testing.B) {
	dir := b.TempDir()
	writePrior(b, filepath.Join(dir, "good.prior"), cmbo.WithMinimize())
	s := newService(dir)
	e := newExperiment("prior", "good.prior")
	for _, n := range []int32{1, 10, 50, 100} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.GetSuggestions(context.Background(), &api.GetSuggestionsRequest{Experiment: e, CurrentRequestNumber: n}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
