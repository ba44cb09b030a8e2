package web_test

import (
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// curveEpochs are those of a whole evaluation.
const curveEpochs = 12

// loss is that of a task of some difficulty after so many epochs.
func loss(x, difficulty float64, epoch int) float64 {
	return difficulty + 3*(x-0.5)*(x-0.5) + 2*math.Exp(-float64(epoch)/(4+x))
}

// foretold is a prospect as the service tells it.
func foretold(p cmbo.Prospect) api.Prospect {
	number := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	return api.Prospect{Stop: p.Stop, Diverged: p.Diverged, Text: strings.Replace(p.String(), "is no number", "is beyond 1e150", 1), Mean: number(p.Mean), SD: number(p.SD), Best: number(p.Best),
		Chance: number(p.Chance), Before: number(p.Before), Curves: p.Curves, Known: p.Known}
}

// A study whose prior has curves, sent as tasks, gives the verdicts of the library, stops
// what it stops, proposes what it proposes, and goes on with all of it after a restart.
func TestCurves(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	space := spaceOf(t, cmbo.Float("x", 0, 1))
	var sent []api.Task
	var past []cmbo.Task
	for i, difficulty := range []float64{0.2, 0.5, 0.9} {
		task := api.Task{ID: fmt.Sprint("task ", i)}
		for k := range 9 {
			x := float64(k) / 8
			var curve api.Curve
			for epoch := 1; epoch < curveEpochs && k != 4; epoch++ { // one showed nothing
				curve.Steps, curve.Values = append(curve.Steps, epoch), append(curve.Values, loss(x, difficulty, epoch))
			}
			task.X, task.Y, task.Curves = append(task.X, api.Row{x}), append(task.Y, loss(x, difficulty, curveEpochs)), append(task.Curves, curve)
		}
		sent, past = append(sent, task), append(past, task.Task())
	}
	if len(past[0].Curves) != 9 || !reflect.DeepEqual(past[0].Curves[1].Values, []float64(sent[0].Curves[1].Values)) {
		t.Fatalf("curves %v", past[0].Curves)
	}
	prior, err := cmbo.Learn(t.Context(), space, past, cmbo.WithMinimize())
	if err != nil {
		t.Fatal(err)
	}
	digest, err := prior.Digest()
	if err != nil {
		t.Fatal(err)
	}
	learned, err := c.LearnPrior(t.Context(), &api.NewPrior{Name: "curves", Space: space, Learn: api.Learn{Tasks: sent, Minimize: true}})
	if err != nil || learned.Digest != digest {
		t.Fatalf("learned %+v, %v; want %s", learned, err, digest)
	}
	bad := sent[0]
	bad.Curves = append([]api.Curve{{Steps: []int{2, 1}, Values: api.Row{1, 1}}}, bad.Curves[1:]...)
	if _, err = c.LearnPrior(t.Context(), &api.NewPrior{Space: space, Learn: api.Learn{Tasks: []api.Task{bad}, Minimize: true}}); client.Code(err) != "bad_step" {
		t.Errorf("%v, want the code bad_step", err)
	}
	if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: "s", Space: space, Prior: "curves", Options: api.Options{Minimize: true}}); err != nil {
		t.Fatal(err)
	}
	twin, err := cmbo.New(space, cmbo.WithPrior(prior))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []float64{0.5, 0, 1, 0.1} {
		if _, err := c.Enqueue(t.Context(), "s", []float64{x}); err != nil {
			t.Fatal(err)
		}
		if err := twin.Enqueue([]float64{x}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() (api.Trial, cmbo.Trial) {
		t.Helper()
		trials, err := c.Ask(t.Context(), "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		want, err := twin.Ask(t.Context())
		if err != nil || !reflect.DeepEqual([]float64(trials[0].X), want.X) {
			t.Fatalf("asked %v, want %v, %v", trials[0].X, want.X, err)
		}
		return trials[0], want
	}
	// report reports to both and compares.
	report := func(id, epoch int, y float64) cmbo.Prospect {
		t.Helper()
		got, err := c.Report(t.Context(), "s", id, epoch, y)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(y) > 1e150 {
			y = math.Copysign(math.Inf(1), y) // for which it stands in JSON
		}
		want, err := twin.Report(t.Context(), id, epoch, y)
		if err != nil || !reflect.DeepEqual(*got, foretold(want)) {
			t.Fatalf("step %d of trial %d: %+v, want %v, %v", epoch, id, got, want, err)
		}
		return want
	}
	statuses := map[string]int{}
	evaluate := func() {
		t.Helper()
		tr, _ := ask()
		for epoch := 1; epoch < curveEpochs; epoch++ {
			if report(tr.ID, epoch, loss(tr.X[0], 0.7, epoch)).Stop {
				if err := c.TellStopped(t.Context(), "s", tr.ID); err != nil {
					t.Fatal(err)
				}
				if err := twin.TellStopped(t.Context(), tr.ID); err != nil {
					t.Fatal(err)
				}
				statuses[api.Stopped]++
				return
			}
		}
		y := loss(tr.X[0], 0.7, curveEpochs)
		if err := c.Tell(t.Context(), "s", tr.ID, y); err != nil {
			t.Fatal(err)
		}
		if err := twin.Tell(tr.ID, y); err != nil {
			t.Fatal(err)
		}
		statuses[api.Told]++
	}
	for range 3 {
		evaluate()
	}
	if statuses[api.Told] == 0 || statuses[api.Stopped] == 0 {
		t.Fatalf("%v", statuses)
	}
	// What is refused changes nothing.
	tr, _ := ask()
	path := fmt.Sprintf("/v1/studies/s/trials/%d/", tr.ID)
	refused := func(q call, status int, code, says string) {
		t.Helper()
		w := s.answer(q)
		if e := wrong(t, q, w); w.Code != status || e.Code != code || !strings.Contains(e.Message, says) {
			t.Errorf("%v: %d %+v, want %d %s", q, w.Code, e, status, code)
		}
	}
	refused(post(path+"stop", `{}`), 400, "bad_step", "reported nothing")
	report(tr.ID, 3, 2)
	refused(post(path+"report", `{"step": 2, "y": 1}`), 400, "bad_step", "step 2 comes after step 3")
	refused(post(path+"report", `{"step": 3, "y": 1}`), 400, "bad_step", "reported before")
	refused(post(path+"report", `{"step": -1, "y": 1e200}`), 400, "bad_step", "negative")
	refused(post(path+"report", `{"y": 1}`), 400, "bad_value", "step is missing")
	refused(post(path+"report", `{"step": 4, "y": null}`), 400, "bad_value", "y is missing")
	refused(post(path+"report", `{"step": 4.5, "y": 1}`), 400, "json", "")
	refused(post("/v1/studies/s/trials/99/report", `{"step": 4, "y": 1}`), 404, "unknown_trial", "")
	refused(post("/v1/studies/s/trials/99/stop", `{}`), 404, "unknown_trial", "")
	refused(post("/v1/studies/s/trials/1/report", `{"step": 99, "y": 1}`), 409, "trial_closed", "trial 1 was told")
	refused(post("/v1/studies/s/trials/1/stop", `{}`), 409, "trial_closed", "trial 1 was told")
	// A request that is sent again is done once, and a restart forgets its verdict alone.
	again := post(path+"report", `{"step": 4, "y": 1.9}`)
	again.header.Set(api.KeyHeader, "again")
	var first, second, third api.Prospect
	s.reads(t, again, &first)
	s.reads(t, again, &second)
	if want, err := twin.Report(t.Context(), tr.ID, 4, 1.9); err != nil || !reflect.DeepEqual(first, foretold(want)) || !reflect.DeepEqual(second, first) {
		t.Errorf("%+v and %+v, want %v, %v", first, second, want, err)
	}
	check := func(s *service) {
		t.Helper()
		var trials api.Trials
		s.reads(t, call{method: "GET", path: "/v1/studies/s/trials"}, &trials)
		counts := map[string]int{}
		for _, tr := range trials.Trials {
			counts[tr.Status]++
			if tr.Curve == nil || tr.Curve.Stopped != (tr.Status == api.Stopped) || len(tr.Curve.Steps) != len(tr.Curve.Values) {
				t.Errorf("trial %d has the curve %+v", tr.ID, tr.Curve)
			}
		}
		if counts[api.Told] != statuses[api.Told] || counts[api.Stopped] != statuses[api.Stopped] || counts[api.Open] != 1 {
			t.Errorf("%v, want %v", counts, statuses)
		}
		if want := (api.Curve{Steps: []int{3, 4}, Values: api.Row{2, 1.9}}); !reflect.DeepEqual(*trials.Trials[tr.ID-1].Curve, want) {
			t.Errorf("the curve of the open trial is %v", trials.Trials[tr.ID-1].Curve)
		}
		var stopped api.Trials
		s.reads(t, call{method: "GET", path: "/v1/studies/s/trials?status=stopped"}, &stopped)
		var about api.Study
		s.reads(t, call{method: "GET", path: "/v1/studies/s"}, &about)
		if len(stopped.Trials) != statuses[api.Stopped] || about.Trials.Stopped != statuses[api.Stopped] || about.Trials.Asked() != tr.ID || about.Observations != statuses[api.Told] {
			t.Errorf("%+v, of which stopped %+v", about, stopped)
		}
		page := s.get(t, "/studies/s")
		wellFormed(t, page)
		for _, what := range []string{fmt.Sprintf("%d stopped", statuses[api.Stopped]), "stopped at step ", "open at step 4, 1.9", "Chart of told, stopped, open; x: step; y: value"} {
			if !strings.Contains(page, what) {
				t.Errorf("the page lacks %q", what)
			}
		}
		st, err := s.m.Study("s")
		if err != nil {
			t.Fatal(err)
		}
		events, _ := st.Events(0)
		last := events[len(events)-1]
		if last.Kind != api.EventReported || last.Step == nil || *last.Step != 4 || *last.Y != 1.9 || last.Trial != tr.ID {
			t.Errorf("the last event is %+v", last)
		}
		kinds := map[string]int{}
		for _, e := range events {
			kinds[e.Kind]++
		}
		if kinds[api.Stopped] != statuses[api.Stopped] || kinds[api.EventReported] < 12 {
			t.Errorf("events %v", kinds)
		}
		if metrics := s.get(t, "/metrics"); !strings.Contains(metrics, fmt.Sprintf(`cmbo_trials{status="stopped"} %d`, statuses[api.Stopped])) {
			t.Error("the metrics do not count what was stopped")
		}
	}
	check(s)
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	s = openService(t, s.dir)
	c = s.over(t)
	check(s)
	w := s.answer(again)
	if w.Code != http.StatusOK || w.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	s.reads(t, again, &third)
	if third.Stop || third.Known || third.Mean != nil || !strings.HasPrefix(third.Text, "continue: ") {
		t.Errorf("after a restart %+v", third)
	}
	// The curve goes on, diverges, and ends the trial.
	refused(post(path+"report", `{"step": 4, "y": 1}`), 400, "bad_step", "reported before")
	report(tr.ID, 5, 1.8)
	if !report(tr.ID, 6, 1e200).Diverged {
		t.Error("1e200 does not diverge")
	}
	if got, err := c.Trial(t.Context(), "s", tr.ID); err != nil || got.Status != api.Failed || len(got.Curve.Steps) != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	evaluate() // proposes what a twin that was not restarted does
	// The study teaches its curves.
	task, err := twin.Task("s")
	if err != nil {
		t.Fatal(err)
	}
	if len(task.Curves) != len(task.Y) {
		t.Errorf("%d curves of %d values", len(task.Curves), len(task.Y))
	}
	of, err := cmbo.Learn(t.Context(), space, []cmbo.Task{task}, cmbo.WithMinimize())
	if err != nil {
		t.Fatal(err)
	}
	want, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.LearnPrior(t.Context(), &api.NewPrior{Space: space, Learn: api.Learn{Studies: []string{"s"}, Minimize: true}})
	if err != nil || got.Digest != want {
		t.Errorf("learned %+v, %v; want %s", got, err, want)
	}
}

// A report whose value failed its trial has its verdict from the value, also when it is sent again after a restart.
func TestDivergedAgain(t *testing.T) {
	s := newService(t)
	s.create(t, s.over(t), "s", twin.Kinds(t)[0])
	s.reads(t, post("/v1/studies/s/ask", `{}`), new(api.Trials))
	q := post("/v1/studies/s/trials/1/report", `{"step": 3, "y": -1e151}`)
	q.header.Set(api.KeyHeader, "again")
	var first, second api.Prospect
	s.reads(t, q, &first)
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	openService(t, s.dir).reads(t, q, &second)
	if want := "stop: the value of step 3 is beyond 1e150, and trial 1 has failed"; first.Text != want {
		t.Errorf("%q, not %q", first.Text, want)
	}
	if !first.Diverged || !first.Stop || !reflect.DeepEqual(first, second) {
		t.Errorf("%+v, and after a restart %+v", first, second)
	}
}
