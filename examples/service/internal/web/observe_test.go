package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
	"github.com/gocmbo/cmbo/examples/service/internal/web"
)

// meter returns a value of the metrics that are served, by its name and labels.
func (s *service) meter(t *testing.T, name string, labels map[string]string) float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(s.get(t, "/metrics")))
	if err != nil {
		t.Fatal(err)
	}
	if families[name] == nil {
		t.Fatalf("no metric %s", name)
	}
next:
	for _, m := range families[name].Metric {
		for _, l := range m.Label {
			if v, ok := labels[l.GetName()]; !ok || v != l.GetValue() {
				continue next
			}
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue()
		case m.Gauge != nil:
			return m.Gauge.GetValue()
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount())
		}
	}
	return 0
}

// The metrics count requests, by route and not by path, and what is kept.
func TestMetrics(t *testing.T) {
	s := newService(t)
	s.prepare(t)
	told := map[string]string{"route": "/v1/studies/{id}/trials/{trial}/tell", "method": "POST", "status": "200"}
	before, trials := s.meter(t, "cmbo_http_requests_total", told), s.meter(t, "cmbo_trials", map[string]string{"status": "told"})
	for range 2 {
		var out api.Trials
		s.reads(t, post("/v1/studies/plain/ask", `{}`), &out)
		if w := s.answer(post(fmt.Sprintf("/v1/studies/plain/trials/%d/tell", out.Trials[0].ID), `{"y":1}`)); w.Code != 200 {
			t.Fatal(w.Body)
		}
	}
	s.answer(post("/v1/studies/nobody/trials/1/tell", `{"y":1}`))
	s.answer(call{method: "BREW", path: "/v1/coffee"})
	if got := s.meter(t, "cmbo_http_requests_total", told); got != before+2 {
		t.Errorf("%v requests to tell, %v before", got, before)
	}
	if got := s.meter(t, "cmbo_trials", map[string]string{"status": "told"}); got != trials+2 {
		t.Errorf("%v trials told, %v before", got, trials)
	}
	if got := s.meter(t, "cmbo_http_requests_total", map[string]string{"route": told["route"], "method": "POST", "status": "404"}); got != 1 {
		t.Errorf("%v requests to tell a study that is not there", got)
	}
	if got := s.meter(t, "cmbo_http_requests_total", map[string]string{"route": "none", "method": "other", "status": "404"}); got != 1 {
		t.Errorf("%v requests of a method made up", got)
	}
	if got := s.meter(t, "cmbo_studies", map[string]string{"state": "ok"}); got != float64(len(s.m.Studies())) || got == 0 {
		t.Errorf("%v studies of %d", got, len(s.m.Studies()))
	}
	if got := s.meter(t, "cmbo_priors", nil); got != float64(len(s.m.Priors())) || got == 0 {
		t.Errorf("%v priors of %d", got, len(s.m.Priors()))
	}
	if got := s.meter(t, "cmbo_http_request_duration_seconds", map[string]string{"route": told["route"], "method": "POST"}); got < 3 {
		t.Errorf("%v durations", got)
	}
}

// Each request has an ID, the client's if that can stand in a log, in its answer and
// in its line; what is refused has its code there.
func TestRequestIDs(t *testing.T) {
	s := newService(t)
	var b bytes.Buffer
	s.Log = slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ids := map[string]bool{}
	for _, tt := range []struct {
		id   string
		kept bool
	}{{"run-7", true}, {"", false}, {"", false}, {"a b", false}, {strings.Repeat("x", 65), false}, {"a\"b", false}} {
		b.Reset()
		w := s.answer(call{method: "GET", path: "/v1/studies/nobody", header: http.Header{"X-Request-Id": {tt.id}}})
		id := w.Header().Get("X-Request-Id")
		if (id == tt.id) != tt.kept || id == "" || ids[id] {
			t.Errorf("%q became %q", tt.id, id)
		}
		ids[id] = true
		var line struct {
			Level, Msg, Request, Method, Path, Code string
			Status                                  int
		}
		if err := json.Unmarshal(b.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", &b, err)
		}
		if line.Request != id || line.Status != 404 || line.Code != "unknown_study" || line.Level != "INFO" || line.Path != "/v1/studies/nobody" || line.Method != "GET" {
			t.Errorf("%s", &b)
		}
	}
}

// A token for reading reads everything and changes nothing.
func TestReadToken(t *testing.T) {
	const token, reader = "an-example-of-a-token", "an-example-of-another"
	s := newService(t)
	s.prepare(t)
	s.Token, s.ReadToken = token, reader
	with := func(c call, token string) call {
		h := c.header.Clone()
		if h == nil {
			h = http.Header{}
		}
		h.Set("Authorization", "bearer "+token)
		c.header = h
		return c
	}
	for _, tt := range []struct {
		call call
		want int
	}{
		{call{method: "GET", path: "/v1/studies"}, 200}, {call{method: "GET", path: "/"}, 200}, {call{method: "GET", path: "/metrics"}, 200},
		{call{method: "GET", path: "/studies/plain"}, 200}, {call{method: "GET", path: "/v1/studies/plain/snapshot"}, 200},
		{post("/v1/studies/plain/predict", `{"points":[]}`), 200},
		{post("/v1/studies/plain/ask", `{}`), 403}, {post("/v1/studies", `{}`), 403}, {post("/v1/priors", `{}`), 403}, {post("/v1/check", `{}`), 403},
		{call{method: "DELETE", path: "/v1/studies/plain"}, 403}, {call{method: "PUT", path: "/v1/priors/predict"}, 403}, {post("/v1/priors/x/predict", `{}`), 403},
	} {
		w := s.answer(with(tt.call, reader))
		if w.Code != tt.want {
			t.Errorf("%v: %d, want %d", tt.call, w.Code, tt.want)
		}
		if w.Code == 403 {
			if d := wrong(t, tt.call, w); d.Code != "read_only" {
				t.Errorf("%+v", d)
			}
		}
	}
	if w := s.answer(with(post("/v1/studies/plain/ask", `{}`), token)); w.Code != 200 {
		t.Errorf("with the other token: %d", w.Code)
	}
	if w := s.answer(post("/v1/studies/plain/predict", `{"points":[]}`)); w.Code != 401 {
		t.Errorf("without one: %d", w.Code)
	}
}

// Clients that announce as much as a body may have and send nothing hold nobody up,
// and are sent away soon.
func TestSilentBodies(t *testing.T) {
	s := newService(t)
	s.Server = web.New(web.Config{Studies: s.m, Body: web.DefaultBody, Bodies: web.DefaultBodies, Timeout: web.DefaultTimeout, Log: complaints(s.log)})
	h := httptest.NewServer(s)
	t.Cleanup(h.Close) // after the connections
	for range 8 {
		in, _ := dial(t, h.URL)
		in(fmt.Sprintf("POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", web.DefaultBody))
	}
	time.Sleep(100 * time.Millisecond) // until they are in
	begin := time.Now()
	body := bytes.Repeat([]byte("x"), web.DefaultBody)
	r, err := http.NewRequest("PUT", h.URL+"/v1/priors/a", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	resp, err := h.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if took := time.Since(begin); resp.StatusCode != 400 || took > 5*time.Second {
		t.Errorf("a body of %d bytes: %d after %v", len(body), resp.StatusCode, took)
	}
	if got := s.meter(t, "cmbo_http_bodies_bytes", nil); got != 0 {
		t.Errorf("silent bodies hold %v bytes", got)
	}
	if testing.Short() {
		return // the rest waits
	}
	in, read := talk(t, h.URL)
	in("POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{" + strings.Repeat(" ", 200000))
	deadline := time.Now().Add(20 * time.Second)
	for held := false; ; time.Sleep(50 * time.Millisecond) {
		got := s.meter(t, "cmbo_http_bodies_bytes", nil)
		if got > 0 {
			held = true
			if got > 2*200001 {
				t.Fatalf("200,001 bytes hold %v", got)
			}
		} else if held {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("held: %v; %v bytes are", held, got)
		}
	}
	// The client is there, and is told that it was too slow.
	if answer := read(); !strings.HasPrefix(answer, "HTTP/1.1 408 ") || !strings.Contains(answer, `"slow"`) {
		t.Errorf("answered %s", answer)
	}
}

// A stream of events tells what happened, goes on as it does, and begins where a client
// left it.
func TestEvents(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	s.create(t, c, "s", twin.Kinds(t)[0])
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	t.Cleanup(s.End) // before, as streams are under way
	follow := func(path string, header http.Header) *bufio.Scanner {
		r, err := http.NewRequestWithContext(t.Context(), "GET", h.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		resp, err := h.Client().Do(r)
		if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(resp, err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return bufio.NewScanner(resp.Body)
	}
	next := func(lines *bufio.Scanner) (e api.Event) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Fatal(err)
				}
				return e
			}
		}
		t.Fatal("the stream ended")
		return e
	}
	stream := follow("/v1/studies/s/events", http.Header{})
	trials, err := c.Ask(t.Context(), "s", 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Tell(t.Context(), "s", trials[1].ID, 2.5); err != nil {
		t.Fatal(err)
	}
	if err := c.Fail(t.Context(), "s", trials[0].ID); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"number":1,"kind":"asked","trial":1,"best":null,"observations":0,"open":1}`,
		`{"number":2,"kind":"asked","trial":2,"best":null,"observations":0,"open":2}`,
		`{"number":3,"kind":"told","trial":2,"y":2.5,"best":2.5,"observations":1,"open":1}`,
		`{"number":4,"kind":"failed","trial":1,"best":2.5,"observations":1,"open":0}`,
	}
	for _, w := range want {
		if got := marshal(t, next(stream)); got != w {
			t.Errorf("%s, want %s", got, w)
		}
	}
	for _, again := range []*bufio.Scanner{follow("/v1/studies/s/events?after=2", http.Header{}), follow("/v1/studies/s/events", http.Header{"Last-Event-Id": {"2"}})} {
		if got := marshal(t, next(again)); got != want[2] {
			t.Errorf("%s after event 2", got)
		}
	}
	// A stream ends when its study is deleted.
	s.create(t, c, "short", twin.Kinds(t)[0])
	stream = follow("/v1/studies/short/events", http.Header{})
	if err := c.DeleteStudy(t.Context(), "short"); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); stream.Scan(); {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("the stream of a deleted study goes on")
		}
	}
	// The same after a restart, which makes the study from its log.
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	b := openService(t, s.dir)
	study, err := b.m.Study("s")
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := study.Events(0)
	for i, e := range kept {
		if got := marshal(t, e); i >= len(want) || got != want[i] {
			t.Errorf("after a restart: %s", got)
		}
	}
	if len(kept) != len(want) {
		t.Errorf("%d events after a restart", len(kept))
	}
	q := call{method: "GET", path: "/v1/studies/s/events", header: http.Header{"Last-Event-Id": {"x"}}}
	if d := wrong(t, q, b.answer(q)); d.Code != "bad_request" {
		t.Errorf("%+v", d)
	}
}

// A check is the library's, as JSON.
func TestCheck(t *testing.T) {
	s := newService(t)
	space := spaceOf(t, cmbo.Float("x", 0, 1))
	var q api.Check
	var tasks []cmbo.Task
	q.Space, q.Evaluations = space, ptr(4)
	for i := range 5 {
		task := api.Task{ID: fmt.Sprint(i)}
		for k := range 8 {
			x := float64(k) / 7
			task.X, task.Y = append(task.X, api.Row{x}), append(task.Y, -(x-0.6)*(x-0.6)+float64(i)*x/50)
		}
		q.Tasks, tasks = append(q.Tasks, task), append(tasks, task.Task())
	}
	want, err := cmbo.Check(t.Context(), space, tasks, cmbo.WithCheckEvaluations(4))
	if err != nil {
		t.Fatal(err)
	}
	var got api.CheckReport
	s.reads(t, post("/v1/check", marshal(t, q)), &got)
	if got.Verdict != want.Verdict.String() || got.Text != want.String() || *got.Difference != want.Difference || *got.StandardError != want.StandardError || len(got.Tasks) != len(want.Tasks) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for i, task := range got.Tasks {
		w := want.Tasks[i]
		if task.ID != w.ID || task.With.Regret != w.With.Regret || task.Without.Evaluations != w.Without.Evaluations || task.Transfer.Text != w.Transfer.String() || len(task.Transfer.Shares) != len(w.Transfer.Hypotheses) {
			t.Errorf("%+v, want %+v", task, w)
		}
	}
	for _, bad := range []string{`"evaluations":0`, `"leave_out":-1`, `"evaluations":100000`} {
		c := post("/v1/check", strings.TrimSuffix(marshal(t, api.Check{Space: space, Learn: api.Learn{Tasks: q.Tasks}}), "}")+","+bad+"}")
		if d := wrong(t, c, s.answer(c)); d.Code != "bad_option" && d.Code != "limit" {
			t.Errorf("%s: %+v", bad, d)
		}
	}
}
