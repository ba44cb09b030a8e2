package suggest

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// manager is Katib's DB manager.
type manager struct {
	api.UnimplementedDBManagerServer
	address string
	mu      sync.Mutex
	logs    map[string][]string // by trial
	asked   map[string]int
}

func newManager(t *testing.T) *manager {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{address: l.Addr().String(), logs: map[string][]string{}, asked: map[string]int{}}
	s := grpc.NewServer()
	api.RegisterDBManagerServer(s, m)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return m
}

func (m *manager) GetObservationLog(_ context.Context, q *api.GetObservationLogRequest) (*api.GetObservationLogReply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q.GetMetricName() != "loss" {
		return nil, status.Errorf(codes.InvalidArgument, "metric %q", q.GetMetricName())
	}
	m.asked[q.GetTrialName()]++
	out := &api.ObservationLog{}
	for _, v := range m.logs[q.GetTrialName()] {
		out.MetricLogs = append(out.MetricLogs, &api.MetricLog{Metric: &api.Metric{Name: "loss", Value: v}})
	}
	return &api.GetObservationLogReply{ObservationLog: out}, nil
}

const epochs = 30

// collector runs a trial as Katib's collector of metrics does, under a rule or none: the rule
// is tested when its metric is reported for the start_step-th time, by the best value so far.
func collector(m *manager, name string, loss func(epoch int) float64, maximize bool, rules []*api.EarlyStoppingRule) (best float64, stopped bool) {
	sign := 1.0
	if maximize {
		sign = -1
	}
	best = math.Inf(1)
	for epoch := 1; epoch <= epochs && !stopped; epoch++ {
		y := loss(epoch)
		m.mu.Lock()
		m.logs[name] = append(m.logs[name], fmt.Sprint(sign*y))
		m.mu.Unlock()
		best = min(best, y)
		for _, rule := range rules {
			v, err := strconv.ParseFloat(rule.Value, 64)
			if err != nil {
				panic(err)
			}
			worse := rule.Comparison == api.ComparisonType_GREATER && !maximize && best > v || rule.Comparison == api.ComparisonType_LESS && maximize && -best < v
			stopped = epoch == int(rule.StartStep) && worse
		}
	}
	return sign * best, stopped
}

// runStopping plays Katib's part of an experiment with early stopping: GetSuggestions, then
// GetEarlyStoppingRules with the settings from before it. It returns the best loss, the
// epochs that were run and the trials that were stopped.
func runStopping(t *testing.T, m *manager, seed uint64, maximize, stop, learn bool) (best float64, ran, early int) {
	t.Helper()
	ctx := context.Background()
	sp, err := newSpace(params())
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"random_state", fmt.Sprint(seed)}
	e := newExperiment(settings...)
	sign := 1.0
	if maximize {
		e.Spec.Objective.Type, sign = api.ObjectiveType_MAXIMIZE, -1
	}
	e.Spec.EarlyStopping = &api.EarlyStoppingSpec{AlgorithmName: "cmbo"}
	r := rand.New(rand.NewPCG(seed, 5))
	best = math.Inf(1)
	var trials []*api.Trial
	for k := range 20 {
		// A pod that is new each time, so that everything follows from the requests.
		s := newService("")
		if learn {
			s.DBManager = m.address
		}
		reply, err := s.GetSuggestions(ctx, &api.GetSuggestionsRequest{Experiment: e, Trials: trials, CurrentRequestNumber: 1, TotalRequestNumber: int32(k + 1)})
		if err != nil {
			t.Fatal(err)
		}
		var rules []*api.EarlyStoppingRule
		if stop {
			reply, err := s.GetEarlyStoppingRules(ctx, &api.GetEarlyStoppingRulesRequest{Experiment: e, Trials: trials, DbManagerAddress: m.address})
			if err != nil {
				t.Fatal(err)
			}
			rules = reply.EarlyStoppingRules
		}
		e.Spec.Algorithm.AlgorithmSettings = append(e.Spec.Algorithm.AlgorithmSettings[:1], reply.Algorithm.AlgorithmSettings...)
		a := reply.ParameterAssignments[0].Assignments
		row, err := sp.row(a)
		if err != nil {
			t.Fatal(err)
		}
		end, slow := objective(row), 0.1*r.NormFloat64()
		name := fmt.Sprintf("seed%d-%v-%v-%v-%02d", seed, maximize, stop, learn, k)
		y, stopped := collector(m, name, func(epoch int) float64 {
			left := 1 - float64(epoch)/epochs
			return end + left*(3+slow+0.2*r.NormFloat64())
		}, maximize, rules)
		ran += len(m.logs[name])
		trial := trialOf(name, a, y)
		if stopped {
			trial.Status.Condition = api.TrialStatus_EARLYSTOPPED
			early++
		} else {
			best = min(best, sign*y)
		}
		trials = append(trials, trial)
	}
	return best, ran, early
}

// TestEarlyStopping: trials that cannot become the best are stopped, which saves a part of the
// epochs and loses nothing of note, in either direction.
func TestEarlyStopping(t *testing.T) {
	const seeds = 16 // of fewer a single run whose best trial was stopped decides
	m := newManager(t)
	type result struct {
		best       float64
		ran, early int
	}
	run := func(seed uint64, maximize, stop bool) (r result) {
		r.best, r.ran, r.early = runStopping(t, m, seed+1, maximize, stop, stop)
		return r
	}
	var whole, stopped float64
	saved, early := 0, 0
	for seed := range uint64(seeds) {
		all, some := run(seed, false, false), run(seed, false, true)
		if all.ran != 20*epochs || all.early != 0 {
			t.Fatalf("%d epochs without rules", all.ran)
		}
		if seed < 2 {
			if mirrored := run(seed, true, true); mirrored != some {
				t.Errorf("run %d: %v, %v where large values are good", seed, some, mirrored)
			}
		}
		whole, stopped = whole+all.best, stopped+some.best
		saved, early = saved+20*epochs-some.ran, early+some.early
	}
	t.Logf("best %.3f of whole trials, %.3f with rules, %d of %d trials stopped, %.0f %% of the epochs saved",
		whole/seeds, stopped/seeds, early, 20*seeds, float64(saved)/(20*seeds*epochs)*100)
	if saved < 2*seeds*epochs {
		t.Errorf("%d of %d epochs saved", saved, 20*seeds*epochs)
	}
	if stopped/seeds > whole/seeds+0.1 {
		t.Errorf("the best loss is %.3f, without stopping %.3f", stopped/seeds, whole/seeds)
	}
	for trial, n := range m.asked {
		if n > 2*20 {
			t.Errorf("the log of %s was asked for %d times", trial, n)
		}
	}
}

// TestRules: what a rule needs, and who is told what is missing.
func TestRules(t *testing.T) {
	ctx := context.Background()
	m := newManager(t)
	trials := ended(t, 12)
	r := rand.New(rand.NewPCG(1, 2))
	for _, tr := range trials {
		end, err := strconv.ParseFloat(tr.Status.Observation.Metrics[0].Value, 64)
		if err != nil {
			t.Fatal(err)
		}
		collector(m, tr.Name, func(epoch int) float64 {
			return end + (1-float64(epoch)/epochs)*(3+0.2*r.NormFloat64())
		}, false, nil)
	}
	m.logs[trials[3].Name][2] = "NaN" // passed over
	m.logs[trials[4].Name][0] = "unavailable"
	m.logs[trials[5].Name] = nil
	s := newService("")
	ask := func(change func(q *api.GetEarlyStoppingRulesRequest)) ([]*api.EarlyStoppingRule, error) {
		e := newExperiment()
		e.Spec.EarlyStopping = &api.EarlyStoppingSpec{AlgorithmName: "cmbo"}
		q := &api.GetEarlyStoppingRulesRequest{Experiment: e, Trials: trials, DbManagerAddress: m.address}
		change(q)
		reply, err := s.GetEarlyStoppingRules(ctx, q)
		return reply.GetEarlyStoppingRules(), err
	}
	with := func(settings ...string) func(q *api.GetEarlyStoppingRulesRequest) {
		return func(q *api.GetEarlyStoppingRulesRequest) {
			for i := 0; i < len(settings); i += 2 {
				q.Experiment.Spec.EarlyStopping.AlgorithmSettings = append(q.Experiment.Spec.EarlyStopping.AlgorithmSettings, &api.EarlyStoppingSetting{Name: settings[i], Value: settings[i+1]})
			}
		}
	}
	plain, err := ask(with())
	if err != nil || len(plain) != 1 || plain[0].Name != "loss" || plain[0].Comparison != api.ComparisonType_GREATER || plain[0].StartStep < 1 || plain[0].StartStep >= epochs {
		t.Fatalf("%v %v", plain, err)
	}
	for trial, n := range m.asked {
		if n != 1 {
			t.Errorf("the log of %s was asked for %d times", trial, n)
		}
	}
	late, err := ask(with("start_step", "25", "min_trials_required", "11"))
	if err != nil || len(late) != 1 || late[0].StartStep < 25 {
		t.Errorf("%v %v", late, err)
	}
	for name, change := range map[string]func(q *api.GetEarlyStoppingRulesRequest){
		"another algorithm suggests": func(q *api.GetEarlyStoppingRulesRequest) {
			q.Experiment.Spec.Algorithm = &api.AlgorithmSpec{AlgorithmName: "tpe", AlgorithmSettings: []*api.AlgorithmSetting{{Name: "n_EI_candidates", Value: "25"}}}
		},
		"in another order": func(q *api.GetEarlyStoppingRulesRequest) {
			q.Trials = append(trials[6:len(trials):len(trials)], trials[:6]...)
		},
	} {
		if got, err := ask(change); err != nil || fmt.Sprint(got) != fmt.Sprint(plain) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for name, change := range map[string]func(q *api.GetEarlyStoppingRulesRequest){
		"no trial":            func(q *api.GetEarlyStoppingRulesRequest) { q.Trials = nil },
		"too few trials":      with("min_trials_required", "13"),
		"no curve is so long": with("start_step", "30"),
	} {
		if got, err := ask(change); err != nil || len(got) != 0 {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for want, change := range map[string]func(q *api.GetEarlyStoppingRulesRequest){
		"names no DB manager": func(q *api.GetEarlyStoppingRulesRequest) { q.DbManagerAddress = "" },
		`by "medianstop" is not served here`: func(q *api.GetEarlyStoppingRulesRequest) {
			q.Experiment.Spec.EarlyStopping.AlgorithmName = "medianstop"
		},
		`setting "stop" of early stopping is not known`: with("stop", "1"),
		`start_step of early stopping is "0"`:           with("start_step", "0"),
		"it has no parameters":                          func(q *api.GetEarlyStoppingRulesRequest) { q.Experiment.Spec.ParameterSpecs = nil },
		`setting "n_EI_candidates" is not known`: func(q *api.GetEarlyStoppingRulesRequest) {
			q.Experiment = newExperiment("n_EI_candidates", "25")
			q.Experiment.Spec.EarlyStopping = &api.EarlyStoppingSpec{AlgorithmName: "cmbo"}
		},
	} {
		if _, err := ask(change); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
	s = newService("")
	short, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	e := newExperiment()
	e.Spec.EarlyStopping = &api.EarlyStoppingSpec{AlgorithmName: "cmbo"}
	_, err = s.GetEarlyStoppingRules(short, &api.GetEarlyStoppingRulesRequest{Experiment: e, Trials: trials, DbManagerAddress: "127.0.0.1:1"})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `what trial "trial-0" reported, of the DB manager 127.0.0.1:1`) {
		t.Error(err)
	}
	_, err = s.ValidateEarlyStoppingSettings(ctx, &api.ValidateEarlyStoppingSettingsRequest{EarlyStopping: &api.EarlyStoppingSpec{AlgorithmName: "other"}})
	if status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}

// TestForwarder: calls go to the service, errors come back as they are.
func TestForwarder(t *testing.T) {
	ctx := context.Background()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	api.RegisterEarlyStoppingServer(server, newService(""))
	go server.Serve(l)
	defer server.Stop()
	c, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f := NewForwarder(c)
	if _, err := f.ValidateEarlyStoppingSettings(ctx, &api.ValidateEarlyStoppingSettingsRequest{EarlyStopping: &api.EarlyStoppingSpec{AlgorithmName: "cmbo"}}); err != nil {
		t.Error(err)
	}
	if _, err := f.GetEarlyStoppingRules(ctx, &api.GetEarlyStoppingRulesRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := f.SetTrialStatus(ctx, &api.SetTrialStatusRequest{TrialName: "a"}); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "does not run in a cluster") {
		t.Error(err)
	}
}

// TestSetTrialStatus: the condition is added to those that the trial has, by the version
// that was read, and once.
func TestSetTrialStatus(t *testing.T) {
	type object = map[string]any
	version, conflicting := 7, 2
	conditions := []any{object{"type": "Created", "status": "True"}, object{"type": "Running", "status": "True", "message": "it runs"}}
	var said string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const path = "/apis/kubeflow.org/v1beta1/namespaces/team/trials/trial-a"
		fail := func(code int, message string) {
			w.WriteHeader(code)
			json.NewEncoder(w).Encode(object{"kind": "Status", "message": message})
		}
		b, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			fail(http.StatusUnauthorized, "Unauthorized")
		case said != "":
			fail(http.StatusForbidden, said)
		case r.Method == http.MethodGet && r.URL.Path == path:
			json.NewEncoder(w).Encode(object{
				"metadata": object{"name": "trial-a", "resourceVersion": fmt.Sprint(version)},
				"spec":     object{"objective": object{"type": "minimize"}},
				"status":   object{"conditions": conditions, "startTime": "2026-01-01T00:00:00Z"},
			})
		case r.Method == http.MethodPatch && r.URL.Path == path+"/status" && r.Header.Get("Content-Type") == "application/merge-patch+json":
			if conflicting > 0 {
				conflicting--
				version++
			}
			var patch struct {
				Metadata map[string]string
				Status   struct{ Conditions []any }
			}
			if err := json.Unmarshal(b, &patch); err != nil {
				fail(http.StatusBadRequest, err.Error())
			} else if patch.Metadata["resourceVersion"] != fmt.Sprint(version) {
				fail(http.StatusConflict, "the object has been modified")
			} else {
				conditions = patch.Status.Conditions
				version++
				json.NewEncoder(w).Encode(object{})
			}
		default:
			fail(http.StatusNotFound, r.Method+" "+r.URL.Path)
		}
	}))
	defer server.Close()
	c := &cluster{server.URL, t.TempDir()}
	for name, content := range map[string]string{
		"token": "secret\n", "namespace": "team",
		"ca.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	} {
		if err := os.WriteFile(filepath.Join(c.folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("", 3600))
	for range 2 { // the second call finds the condition
		if err := c.stopped(context.Background(), "trial-a", now); err != nil {
			t.Fatal(err)
		}
		want := `[{"status":"True","type":"Created"},{"message":"it runs","status":"True","type":"Running"},` +
			`{"lastTransitionTime":"2026-03-04T04:06:07Z","lastUpdateTime":"2026-03-04T04:06:07Z","message":"Trial is early stopped","reason":"TrialEarlyStopped","status":"True","type":"EarlyStopped"}]`
		if b, err := json.Marshal(conditions); err != nil || string(b) != want {
			t.Fatalf("%s, not %s", b, want)
		}
	}
	if version != 10 {
		t.Errorf("version %d", version)
	}
	conditions, conflicting = conditions[:2], 1000
	if err := c.stopped(context.Background(), "trial-a", now); err == nil || !strings.Contains(err.Error(), "was changed by others 10 times") {
		t.Error(err)
	}
	if err := c.stopped(context.Background(), "trial-b", now); err == nil || !strings.Contains(err.Error(), "404 Not Found: GET /apis/kubeflow.org/v1beta1/namespaces/team/trials/trial-b") {
		t.Error(err)
	}
	said = `trials is forbidden: user "x" cannot get`
	if err := c.stopped(context.Background(), "trial-a", now); err == nil || !strings.Contains(err.Error(), said) {
		t.Error(err)
	}
}
