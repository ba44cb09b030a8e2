package web_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// A client sees what the library computes, bit by bit.
func TestRoundTrip(t *testing.T) {
	for _, k := range twin.Kinds(t) {
		t.Run(k.Name, func(t *testing.T) {
			s := newService(t)
			c := s.over(t)
			s.create(t, c, "s", k)
			w, err := twin.New(k)
			if err != nil {
				t.Fatal(err)
			}
			rng := twin.RNG(t)
			ctx := t.Context()
			for range 40 {
				op := w.Next(rng)
				var got []api.Trial
				var err error
				switch op.Kind {
				case "ask":
					got, err = c.Ask(ctx, "s", op.N)
				case "tell":
					if op.Noise > 0 {
						err = c.TellNoisy(ctx, "s", op.Trial, op.Y, op.Noise)
					} else {
						err = c.Tell(ctx, "s", op.Trial, op.Y)
					}
				case "fail":
					err = c.Fail(ctx, "s", op.Trial)
				case "cancel":
					err = c.Cancel(ctx, "s", op.Trial)
				case "observe":
					op.Noise = 0
					_, err = c.Observe(ctx, "s", op.X, op.Y)
				}
				want, wantErr := w.Apply(op)
				if client.Code(err) != twin.Code(wantErr) {
					t.Fatalf("%v: %v, the twin: %v", op, err, wantErr)
				}
				if d := twin.DiffTrials(got, want); d != "" {
					t.Fatalf("%v: %s", op, d)
				}
				for _, tr := range got {
					row, err := k.Study.Space.Row(tr.Config)
					if err != nil || !slices.Equal(row, tr.X) {
						t.Fatalf("the values by name %v are not %v: %v", tr.Config, tr.X, err)
					}
				}
			}
			compare(t, c, w)
		})
	}
}

// compare holds everything that can be asked about a study against its twin.
func compare(t *testing.T, c *client.Client, w *twin.Twin) {
	t.Helper()
	ctx := t.Context()
	study, err := c.Study(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	trials, err := c.Trials(ctx, "s", "")
	if err != nil {
		t.Fatal(err)
	}
	best, err := c.Best(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if d := w.Diff(trials, best, study.Observations); d != "" {
		t.Error(d)
	}
	open, err := c.Trials(ctx, "s", api.Open)
	if err != nil {
		t.Fatal(err)
	}
	if len(open) != len(w.Opt.Open()) || len(open) != study.Trials.Open {
		t.Errorf("%d open trials, the twin has %d", len(open), len(w.Opt.Open()))
	}
	var points []api.Point
	for _, tr := range trials {
		points = append(points, api.Point{X: tr.X}, api.Point{Config: tr.Config})
	}
	predictions, err := c.Predict(ctx, "s", points)
	if err != nil {
		t.Fatal(err)
	}
	for i, tr := range trials {
		mean, sd, err := w.Opt.Predict(ctx, tr.X)
		if err != nil {
			t.Fatal(err)
		}
		q, err := w.Opt.Quantiles(ctx, tr.X)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range predictions[2*i : 2*i+2] {
			if *p.Mean != mean || *p.SD != sd || (cmbo.Quantiles{Low: *p.Low, Median: *p.Median, High: *p.High}) != q {
				t.Fatalf("predicted %g and %g, the twin %g and %g", *p.Mean, *p.SD, mean, sd)
			}
		}
	}
	d, err := c.Diagnostics(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	weights, err := w.Opt.Weights(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Weights, weights) {
		t.Errorf("weights %v, the twin's %v", d.Weights, weights)
	}
	transfer, err := w.Opt.Transfer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d.Transfer.Text != transfer.String() || len(d.Transfer.Shares) != len(transfer.Hypotheses) {
		t.Errorf("transfer %+v, the twin's %v", d.Transfer, transfer)
	}
	for i, s := range d.Transfer.Shares {
		if want := transfer.Hypotheses[i]; s.Mass != want.Mass || s.Level != want.Level.String() || !slices.Equal(s.Tasks, want.Tasks) {
			t.Errorf("share %d is %+v, the twin's %+v", i, s, want)
		}
	}
	calibration, err := w.Opt.Calibration(ctx)
	if err != nil {
		t.Fatal(err)
	}
	outlook, err := w.Opt.Outlook(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d.Calibration.Text != calibration.String() || d.Calibration.Values != len(calibration.Forecasts) || *d.Calibration.Coverage != calibration.Coverage || *d.Calibration.LogScore != calibration.LogScore {
		t.Errorf("calibration %+v, the twin's %v", d.Calibration, calibration)
	}
	if d.Outlook.Text != outlook.String() || *d.Outlook.Next != outlook.Next || *d.Outlook.Most != outlook.Most || *d.Outlook.Gained != outlook.Gained {
		t.Errorf("outlook %+v, the twin's %v", d.Outlook, outlook)
	}
	step, ok := w.Opt.LastStep()
	if ok != (d.LastStep != nil) {
		t.Fatalf("a last step: %v, the twin: %v", d.LastStep != nil, ok)
	}
	if ok && (d.LastStep.Trial != step.Trial || *d.LastStep.Mean != step.Mean[step.Chosen] || *d.LastStep.SD != step.SD[step.Chosen]) {
		t.Errorf("the last step is %+v, the twin's chose %d", d.LastStep, step.Chosen)
	}
	if w.Kind.Prior != nil && len(d.History) != len(trials) {
		t.Errorf("%d steps of history for %d trials", len(d.History), len(trials))
	}
	// The snapshot is the library's, and goes on as the service does.
	snapshot, err := c.Snapshot(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	var opts []cmbo.Option
	if study.Prior != "" {
		b, err := c.EncodedPrior(ctx, study.Prior)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cmbo.DecodePrior(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		opts = append(opts, cmbo.WithPrior(p))
	}
	o, err := cmbo.Restore(bytes.NewReader(snapshot), opts...)
	if err != nil {
		t.Fatal(err)
	}
	mine, mineErr := o.Ask(ctx)
	theirs, err := c.Ask(ctx, "s", 1)
	if client.Code(err) != twin.Code(mineErr) || err == nil && (theirs[0].ID != mine.ID || !slices.Equal(theirs[0].X, mine.X)) {
		t.Errorf("the service proposes %v (%v), the snapshot %v (%v)", theirs, err, mine, mineErr)
	}
}

// What is refused says why: status, code and place.
func TestRefusals(t *testing.T) {
	s := newService(t)
	s.prepare(t)
	const params = `"space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]}`
	for _, tt := range []struct {
		name   string
		call   call
		status int
		code   string
		where  func(w *api.Where) bool
	}{
		{"unknown trial", post("/v1/studies/plain/trials/99/tell", `{"y":1}`), 404, "unknown_trial", nil},
		{"closed trial", post("/v1/studies/plain/trials/3/tell", `{"y":1}`), 409, "trial_closed", func(w *api.Where) bool { return w.Trial == 3 && w.Status == api.Cancelled }},
		{"value missing", post("/v1/studies/plain/trials/4/tell", `{}`), 400, "bad_value", func(w *api.Where) bool { return w.Field == "y" }},
		{"value null", post("/v1/studies/plain/trials/4/tell", `{"y":null}`), 400, "bad_value", func(w *api.Where) bool { return w.Field == "y" }},
		{"value of another type", post("/v1/studies/plain/trials/4/tell", `{"y":"1"}`), 400, "json", func(w *api.Where) bool { return w.Field == "y" && w.Offset > 0 }},
		{"value too large", post("/v1/studies/plain/trials/4/tell", `{"y":1e200}`), 400, "bad_value", func(w *api.Where) bool { return *w.Value == 1e200 }},
		{"syntax", post("/v1/studies/plain/ask", `{"n":}`), 400, "json", func(w *api.Where) bool { return w.Offset == 6 }},
		{"point outside", post("/v1/studies/plain/observe", `{"x":[0.5,7,1,0],"y":1}`), 400, "bad_value", func(w *api.Where) bool { return *w.Column == 1 && w.Name == "rate" && *w.Value == 7 }},
		{"second point outside", post("/v1/studies/plain/predict", `{"points":[{"x":[0.5,0.1,1,0]},{"x":[0.5,7,1,0]}]}`), 400, "bad_value", func(w *api.Where) bool { return *w.Row == 1 && *w.Column == 1 }},
		{"bad task", post("/v1/priors", `{`+params+`,"tasks":[{"id":"a","x":[[0.5],[3]],"y":[1,2]}]}`), 400, "bad_value", func(w *api.Where) bool { return w.Task == "a" && *w.Row == 1 && w.Name == "x" }},
		{"no tasks", post("/v1/priors", `{`+params+`}`), 400, "bad_task", nil},
		{"too many at once", post("/v1/studies/plain/ask", `{"n":33}`), 400, "limit", func(w *api.Where) bool { return w.Limit == 32 }},
		{"exhausted", post("/v1/studies/few/ask", `{"n":30}`), 200, "", nil},
		{"nothing left", post("/v1/studies/few/ask", `{}`), 409, "no_candidates", nil},
		{"another study", post("/v1/studies", `{"id":"plain",`+params+`}`), 409, "study_exists", nil},
		{"another space", post("/v1/studies", `{"id":"new",`+params+`,"prior":"past"}`), 422, "prior_mismatch", nil},
		{"another direction", post("/v1/studies", `{"id":"new","space":{"params":[{"name":"x","kind":"float","lo":-1,"hi":2},{"name":"rate","kind":"logfloat","lo":1e-4,"hi":1}]},"prior":"past","options":{"minimize":true}}`), 422, "prior_mismatch", nil},
		{"another sign of values", post("/v1/studies", `{"id":"new","space":{"params":[{"name":"x","kind":"float","lo":-1,"hi":2},{"name":"rate","kind":"logfloat","lo":1e-4,"hi":1}]},"prior":"past","options":{"positive_values":true}}`), 422, "prior_mismatch", nil},
		{"draws that the prior does not make", post("/v1/studies", `{"id":"new","space":{"params":[{"name":"x","kind":"float","lo":-1,"hi":2},{"name":"rate","kind":"logfloat","lo":1e-4,"hi":1}]},"prior":"past","options":{"acquisition":"Thompson"}}`), 400, "bad_option", nil},
		{"a descriptor that the prior lacks", post("/v1/studies", `{"id":"new","space":{"params":[{"name":"x","kind":"float","lo":-1,"hi":2},{"name":"rate","kind":"logfloat","lo":1e-4,"hi":1}]},"prior":"past","options":{"context":{"size":1}}}`), 400, "bad_option", nil},
		{"a descriptor that is a list", post("/v1/studies", `{"id":"new","space":{"params":[{"name":"x","kind":"float","lo":-1,"hi":2},{"name":"rate","kind":"logfloat","lo":1e-4,"hi":1}]},"prior":"past","options":{"context":{"size":[1]}}}`), 400, "bad_task", nil},
		{"a field of a space that is not known", post("/v1/studies", `{"id":"new","space":{"params":[{"name":"x","kind":"float","lo":1e-5,"hi":1,"log":true}]}}`), 400, "bad_space", nil},
		{"no such path", call{method: "GET", path: "/v1/nothing"}, 404, "not_served", nil},
		{"another method", call{method: "PATCH", path: "/v1/studies"}, 405, "method", nil},
		{"no type of body", call{method: "POST", path: "/v1/studies/plain/ask", body: []byte("{}")}, 415, "content_type", nil},
	} {
		w := s.answer(tt.call)
		if w.Code != tt.status {
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
			continue
		}
		if tt.status == http.StatusMethodNotAllowed && w.Header().Get("Allow") != "GET, POST" {
			t.Errorf("%s: allowed are %q", tt.name, w.Header().Get("Allow"))
		}
		if tt.status == http.StatusOK {
			continue
		}
		if d := wrong(t, tt.call, w); d.Code != tt.code || tt.where != nil && (d.Where == nil || !tt.where(d.Where)) {
			t.Errorf("%s: %+v, where %+v", tt.name, d, d.Where)
		}
	}
	if complaints := s.log.String(); complaints != "" {
		t.Error(complaints)
	}
}

// The largest values that are taken do not break an answer.
func TestExtremeValues(t *testing.T) {
	s := newService(t)
	for _, q := range []call{
		post("/v1/studies", `{"id":"s","space":{"params":[{"name":"x","kind":"float","lo":-1e307,"hi":1e307},{"name":"e","kind":"logfloat","lo":5e-324,"hi":1.7e308},{"name":"n","kind":"int","lo":-9007199254740992,"hi":9007199254740992}]},"options":{"seed":18446744073709551615},"optimum":-1e300}`),
		post("/v1/studies/s/ask", `{"n":8}`),
		post("/v1/studies/s/trials/1/tell", `{"y":1e150}`), post("/v1/studies/s/trials/2/tell", `{"y":-1e150,"noise_variance":1e150}`), post("/v1/studies/s/trials/3/tell", `{"y":5e-324,"noise_variance":5e-324}`),
		post("/v1/studies/s/observe", `{"x":[1e307,1e-320,1],"y":1e150}`), post("/v1/studies/s/observe", `{"x":[1e307,1e-320,1],"y":-1e150}`),
		post("/v1/studies/s/ask", `{"n":3}`), post("/v1/studies/s/predict", `{"points":[{"x":[0,1,0]},{"x":[1e307,5e-324,9007199254740992]}]}`),
	} {
		if w := s.answer(q); w.Code >= 300 {
			t.Errorf("%v: %d %s", q, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/v1/studies", "/v1/studies/s", "/v1/studies/s/trials", "/v1/studies/s/diagnostics", "/v1/studies/s/snapshot", "/studies/s", "/"} {
		s.get(t, path)
	}
	if complaints := s.log.String(); complaints != "" {
		t.Error(complaints)
	}
}

// The client's errors carry what the service said.
func TestClientErrors(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	_, err := c.Study(t.Context(), "nobody")
	var e *client.Error
	if !errors.As(err, &e) || e.Status != http.StatusNotFound || client.Code(err) != "unknown_study" {
		t.Error(err)
	}
	if _, err := c.Observe(t.Context(), "nobody", []float64{math.NaN()}, 1); err == nil || client.Code(err) != "" {
		t.Error(err)
	}
	if err := c.DeleteStudy(t.Context(), "nobody"); client.Code(err) != "unknown_study" {
		t.Error(err)
	}
	s.create(t, c, "s", twin.Kinds(t)[1])
	if err := c.DeleteStudy(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	if _, err := c.Ask(t.Context(), "s", 1); client.Code(err) != "unknown_study" {
		t.Error(err)
	}
}

// A deletion whose answer is lost has been done when the client sends it again.
func TestDeletedBefore(t *testing.T) {
	s := newService(t)
	s.prepare(t)
	lost := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost++; lost%2 == 0 {
			s.ServeHTTP(w, r)
			return
		}
		s.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	defer h.Close()
	c := &client.Client{Base: h.URL, HTTP: h.Client(), Attempts: 2}
	for _, id := range []string{"prior", "list"} {
		if err := c.DeleteStudy(t.Context(), id); err != nil {
			t.Errorf("study %s: %v", id, err)
		}
	}
	if err := c.DeletePrior(t.Context(), "past"); err != nil {
		t.Error(err)
	}
	if n := len(s.m.Priors()); n != 0 || lost != 6 {
		t.Errorf("%d priors are left after %d requests", n, lost)
	}
}

// Every acquisition that api.Options lists is taken, and proposes points.
func TestAcquisitions(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	space := spaceOf(t, cmbo.Float("x", 0, 1))
	for i, name := range []string{"EI", "UCB(2)", "PI", "MaxValuePI", "Thompson"} {
		id := fmt.Sprint("s", i)
		options := api.Options{Acquisition: name, Initial: ptr(2), Sobol: ptr(50), Local: ptr(10)}
		if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: id, Space: space, Options: options}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for k := range 4 {
			trials, err := c.Ask(t.Context(), id, 1)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := c.Tell(t.Context(), id, trials[0].ID, float64(k%3)); err != nil {
				t.Fatal(err)
			}
		}
		d, err := c.Diagnostics(t.Context(), id)
		if err != nil || d.LastStep == nil {
			t.Errorf("%s: no model proposed a point: %v", name, err)
		}
	}
	q := post("/v1/studies", `{"id":"none","space":`+marshal(t, space)+`,"options":{"acquisition":"Guess"}}`)
	if d := wrong(t, q, s.answer(q)); d.Code != "bad_option" {
		t.Errorf("%+v", d)
	}
}
