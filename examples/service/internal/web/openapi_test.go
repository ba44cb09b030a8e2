package web_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// described holds requests and answers to the service's description of itself.
type described struct {
	t      *testing.T
	next   http.Handler
	router routers.Router
	seen   map[string]bool // operations answered with success
}

func (d *described) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, params, err := d.router.FindRoute(r)
	if err != nil {
		d.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		d.next.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	wrong := openapi3filter.ValidateRequest(r.Context(), in)
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	d.next.ServeHTTP(rec, r)
	if rec.Code < 300 {
		d.seen[route.Operation.OperationID] = true
		if wrong != nil {
			d.t.Errorf("%s %s is answered with %d, and is not as described: %v", r.Method, r.URL, rec.Code, wrong)
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: rec.Code, Header: rec.Header(), Options: in.Options}
	out.SetBodyBytes(rec.Body.Bytes())
	if kind := rec.Header().Get("Content-Type"); kind == "application/json" {
		if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
			d.t.Errorf("%s %s: the answer is not as described: %v\n%.500s", r.Method, r.URL, err, rec.Body)
		}
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// The description is one of OpenAPI, and every request is answered as it says.
func TestOpenAPI(t *testing.T) {
	s := newService(t)
	doc, err := openapi3.NewLoader().LoadFromData([]byte(s.get(t, "/v1/openapi.json")))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	doc.Servers = nil
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	d := &described{t: t, next: s, router: router, seen: map[string]bool{}}
	h := httptest.NewServer(d)
	defer h.Close()
	c := &client.Client{Base: h.URL, HTTP: h.Client(), Attempts: 1}
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	for i, k := range twin.Kinds(t) {
		id := string(rune('a' + i))
		s.create(t, c, id, k)
		trials, err := c.AskWith(ctx, id, &api.Ask{N: ptr(4), DeadlineSeconds: ptr(60.), OnDeadline: "fail"})
		ok(err)
		if len(trials) < 4 {
			continue
		}
		_, err = c.Report(ctx, id, trials[0].ID, 3, 1.2)
		ok(err)
		ok(c.Tell(ctx, id, trials[0].ID, 1.5))
		ok(c.TellNoisy(ctx, id, trials[1].ID, 1, 0.1))
		ok(c.Fail(ctx, id, trials[2].ID))
		ok(c.Cancel(ctx, id, trials[3].ID))
		_, err = c.Observe(ctx, id, trials[3].X, 2)
		ok(err)
		_, err = c.Enqueue(ctx, id, trials[2].X)
		if client.Code(err) != "no_candidates" && client.Code(err) != "bad_value" {
			ok(err)
		}
		more, err := c.Ask(ctx, id, 2)
		ok(err)
		if len(more) > 0 {
			_, err = c.Report(ctx, id, more[0].ID, 3, 1e200)
			ok(err)
		}
		if len(more) > 1 {
			_, err = c.Report(ctx, id, more[1].ID, 3, 1)
			ok(err)
			ok(c.TellStopped(ctx, id, more[1].ID))
		}
		_, err = c.Predict(ctx, id, []api.Point{{X: trials[0].X}, {Config: trials[1].Config}})
		ok(err)
		_, err = c.Diagnostics(ctx, id)
		ok(err)
		_, err = c.Best(ctx, id)
		ok(err)
		_, err = c.Study(ctx, id)
		ok(err)
		_, err = c.Trials(ctx, id, api.Told)
		ok(err)
		_, err = c.Trial(ctx, id, trials[0].ID)
		ok(err)
		_, err = c.Snapshot(ctx, id)
		ok(err)
	}
	space := spaceOf(t, cmbo.Float("x", 0, 1))
	var tasks []api.Task
	for _, id := range []string{"p", "q", "r"} {
		tasks = append(tasks, api.Task{ID: id, X: []api.Row{{0}, {0.2}, {0.5}, {0.7}, {1}, {0.9}}, Y: api.Row{1, 2, 4, 2, 1, 0}, Failed: []api.Row{{0.4}}, Curves: []api.Curve{{Steps: []int{1}, Values: api.Row{0}}, {Steps: []int{}, Values: api.Row{}}, {Steps: []int{}, Values: api.Row{}}, {Steps: []int{}, Values: api.Row{}}, {Steps: []int{}, Values: api.Row{}}, {Steps: []int{}, Values: api.Row{}}}})
	}
	learn := api.Learn{Tasks: tasks, Files: []api.File{{Format: api.FormatCSV, Text: "x,value\n0.5,1\n0.6,2\n"}}}
	_, err = c.LearnPrior(ctx, &api.NewPrior{Name: "new", Space: space, Learn: learn})
	ok(err)
	_, err = c.CreateStudy(ctx, &api.NewStudy{ID: "with", Space: space, Prior: "new"})
	ok(err)
	_, err = c.SetPrior(ctx, "with", "new")
	ok(err)
	_, err = c.SetPrior(ctx, "a", "new")
	if client.Code(err) != "prior_mismatch" {
		t.Error(err)
	}
	_, err = c.Check(ctx, &api.Check{Space: space, Learn: learn, Evaluations: ptr(3)})
	ok(err)
	_, err = c.Adopt(ctx, "new", &api.Adopt{Space: spaceOf(t, cmbo.Float("z", 0, 1), cmbo.Int("n", 1, 2)), Changes: cmbo.Changes{Defaults: map[string]any{"n": 1}, Renamed: map[string]string{"x": "z"}}})
	ok(err)
	_, err = c.Prior(ctx, "new")
	ok(err)
	_, err = c.EncodedPrior(ctx, "new")
	ok(err)
	var used *client.Error
	if err := c.DeletePrior(ctx, "new"); !errors.As(err, &used) || used.Code != "prior_in_use" || used.Where == nil || !slices.Equal(used.Where.Studies, []string{"with"}) {
		t.Errorf("a prior in use: %v", err)
	}
	ok(c.DeleteStudy(ctx, "with"))
	ok(c.DeletePrior(ctx, "new"))
	if _, err = c.Prior(ctx, "new"); client.Code(err) != "unknown_prior" {
		t.Errorf("a prior that was deleted: %v", err)
	}
	if priors, err := c.Priors(ctx); err != nil || len(priors) != len(s.m.Priors()) || len(priors) == 0 {
		t.Errorf("%d priors: %v", len(priors), err)
	}
	for _, path := range []string{"/v1/studies", "/v1/health", "/v1/openapi.json", "/v1/studies/a/trials?status=told&after=1&limit=2"} {
		resp, err := h.Client().Get(h.URL + path)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %v %v", path, resp, err)
		}
		resp.Body.Close()
	}
	ok(c.DeleteStudy(ctx, "a"))
	_, err = c.Study(ctx, "a")
	if client.Code(err) != "unknown_study" {
		t.Error(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if !d.seen[op.OperationID] && !strings.HasSuffix(path, "/events") { // a stream; TestEvents
				t.Errorf("%s %s was not tried", method, path)
			}
		}
	}
	if page := s.get(t, "/requests"); !strings.Contains(page, "POST /v1/priors/{name}/adopt") || !strings.Contains(page, "deadline_seconds") {
		t.Error("the page of requests lacks some")
	}
}

func ptr[T any](v T) *T { return &v }
