package web_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

// encode is what an encoder makes of a video: a size and the seconds it takes.
func encode(pixels float64, x []float64) (size, seconds float64) {
	return pixels * (8 - 4*x[0] + 3*x[1]*x[1]), pixels * math.Exp(2*x[0]+0.5*x[1])
}

// A study with outputs, limits, a cost and a budget proposes what the library does, says
// what is best of the values that hold the limits, and goes on with all of it after a
// restart; past tasks with outputs, sent as tasks, as a file or as a study, teach it.
func TestOutputs(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	space, err := cmbo.NewSpace(cmbo.Float("effort", 0, 1), cmbo.Float("quality", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := space.Sample(15, 1)
	if err != nil {
		t.Fatal(err)
	}
	var sent []api.Task
	var past []cmbo.Task
	text := "effort,quality,size,seconds,task\n"
	for i, pixels := range []float64{0.5, 1, 2, 4} {
		one := api.Task{ID: fmt.Sprint("video ", i), Outputs: map[string][]*float64{"seconds": nil}}
		for k, x := range rows {
			size, seconds := encode(pixels, x)
			column := &seconds
			if k == 3 {
				column = nil
			}
			one.X, one.Y, one.Outputs["seconds"] = append(one.X, x), append(one.Y, size), append(one.Outputs["seconds"], column)
			if k != 3 {
				text += fmt.Sprintf("%v,%v,%v,%v,file %d\n", x[0], x[1], size, seconds, i)
			}
		}
		sent, past = append(sent, one), append(past, one.Task())
	}
	prior, err := cmbo.Learn(t.Context(), space, past, cmbo.WithMinimize())
	if err != nil {
		t.Fatal(err)
	}
	digest, err := prior.Digest()
	if err != nil {
		t.Fatal(err)
	}
	learned, err := c.LearnPrior(t.Context(), &api.NewPrior{Name: "videos", Space: space, Learn: api.Learn{Tasks: sent, Minimize: true}})
	if err != nil {
		t.Fatal(err)
	}
	if learned.Digest != digest || !reflect.DeepEqual(learned.Outputs, []string{"seconds"}) {
		t.Errorf("learned %s with outputs %v, want %s", learned.Digest, learned.Outputs, digest)
	}
	limit, budget, minus := 3.0, 12.0, -1.0
	options := api.Options{Minimize: true, Outputs: []api.Output{{Name: "seconds", AtMost: &limit, Cost: true}, {Name: "parts", AtLeast: &minus, Optional: true}}, Budget: &budget}
	if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: "s", Space: space, Prior: "videos", Options: options}); err != nil {
		t.Fatal(err)
	}
	twin, err := cmbo.New(space, cmbo.WithPrior(prior), cmbo.WithOutput("seconds", cmbo.AtMost(3), cmbo.AsCost()), cmbo.WithOutput("parts", cmbo.AtLeast(-1), cmbo.Optional()), cmbo.WithBudget(budget))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(code string, err error) {
		t.Helper()
		if client.Code(err) != code {
			t.Errorf("%v, want the code %s", err, code)
		}
	}
	end, spent := 0, 0.0
	for {
		trials, err := c.Ask(t.Context(), "s", 1)
		want, wantErr := twin.Ask(context.Background())
		if wantErr != nil {
			refused("budget", err)
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tr := trials[0]
		if !reflect.DeepEqual([]float64(tr.X), want.X) {
			t.Fatalf("trial %d is %v, want %v", tr.ID, tr.X, want.X)
		}
		size, seconds := encode(1.5, tr.X)
		if end++; end == 1 {
			seconds = 3.5 // does not hold its limit
			for _, out := range []api.Values{nil, {"parts": 1}, {"seconds": 1, "second": 2}, {"seconds": 0}} {
				refused("bad_output", c.TellWith(t.Context(), "s", tr.ID, &api.Tell{Y: &size, Outputs: out}))
				refused("bad_output", c.FailWith(t.Context(), "s", tr.ID, &api.Fail{Outputs: out}))
			}
			w := s.answer(post(fmt.Sprintf("/v1/studies/s/trials/%d/tell", tr.ID), `{"y": 1, "outputs": {"seconds": null}}`))
			if w.Code != 400 || !strings.Contains(w.Body.String(), `null where a number belongs: \"seconds\"`) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		spent += seconds
		out := api.Values{"seconds": seconds, "parts": 2}
		switch end {
		case 2:
			if _, err := c.Report(t.Context(), "s", tr.ID, 1, size); err != nil {
				t.Fatal(err)
			}
			if _, err := twin.Report(t.Context(), want.ID, 1, size); err != nil {
				t.Fatal(err)
			}
			refused("bad_output", c.TellStoppedWith(t.Context(), "s", tr.ID, &api.Stop{Outputs: api.Values{"parts": 1}}))
			if err := c.TellStoppedWith(t.Context(), "s", tr.ID, &api.Stop{Outputs: out}); err != nil {
				t.Fatal(err)
			}
			err = twin.TellStopped(t.Context(), want.ID, cmbo.Outputs(out))
		case 3:
			delete(out, "parts")
			if err := c.FailWith(t.Context(), "s", tr.ID, &api.Fail{Outputs: out}); err != nil {
				t.Fatal(err)
			}
			err = twin.TellFailed(want.ID, cmbo.Outputs(out))
		default:
			if err := c.TellWith(t.Context(), "s", tr.ID, &api.Tell{Y: &size, Outputs: out}); err != nil {
				t.Fatal(err)
			}
			err = twin.Tell(want.ID, size, cmbo.Outputs(out))
		}
		if err != nil {
			t.Fatal(err)
		}
		if best, err := c.Best(t.Context(), "s"); err != nil || end == 1 && best != nil {
			t.Errorf("%v is best, %v", best, err)
		}
		if end == 1 && !strings.Contains(s.get(t, "/studies/s"), "None of 1 value holds the limits") {
			t.Error("the page does not say that nothing holds the limits")
		}
		if end == 2 {
			if w := s.answer(post("/v1/studies/s/observe", `{"x": [0.1, 0.1], "y": 99, "outputs": {"seconds": 1, "parts": 0}}`)); w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if err := twin.Observe([]float64{0.1, 0.1}, 99, cmbo.Outputs{"seconds": 1, "parts": 0}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if end < 4 {
		t.Fatalf("%d trials", end)
	}
	want, ok := twin.Best()
	check := func(s *service) {
		t.Helper()
		var best api.BestReply
		s.reads(t, call{method: "GET", path: "/v1/studies/s/best"}, &best)
		if !ok || best.Best == nil || best.Best.Y != want.Y || !reflect.DeepEqual(map[string]float64(best.Best.Outputs), map[string]float64(want.Outputs)) {
			t.Errorf("the best is %+v, want %+v", best.Best, want)
		}
		var d api.Diagnostics
		s.reads(t, call{method: "GET", path: "/v1/studies/s/diagnostics"}, &d)
		if d.Outlook == nil || math.Abs(*d.Outlook.Spent-spent) > 1e-9 || *d.Outlook.Left != budget-*d.Outlook.Spent || d.Recommendation == nil {
			t.Errorf("outlook %+v, recommendation %+v, %v spent", d.Outlook, d.Recommendation, spent)
		}
		var trials api.Trials
		s.reads(t, call{method: "GET", path: "/v1/studies/s/trials"}, &trials)
		if got := trials.Trials[2]; got.Status != api.Failed || got.Outputs["seconds"] == 0 || trials.Trials[0].Outputs["parts"] != 2 || trials.Trials[1].Status != api.Stopped || trials.Trials[1].Outputs["seconds"] == 0 {
			t.Errorf("trials %+v", trials.Trials)
		}
		page := s.get(t, "/studies/s")
		for end := time.Now().Add(20 * time.Second); !strings.Contains(page, "the budget") && time.Now().Before(end); { // it shows what the model has said so far
			time.Sleep(20 * time.Millisecond)
			page = s.get(t, "/studies/s")
		}
		wellFormed(t, page)
		for _, what := range []string{"seconds ≤ 3 (cost)", "-1 ≤ parts", "&#34;at_most&#34;: 3", "of seconds", "the budget"} {
			if !strings.Contains(strings.ReplaceAll(page, "&quot;", "&#34;"), what) {
				t.Errorf("the page lacks %q", what)
			}
		}
	}
	check(s)
	// What the study and a file teach.
	again, err := c.LearnPrior(t.Context(), &api.NewPrior{Space: space, Learn: api.Learn{Minimize: true, Studies: []string{"s"}, Files: []api.File{{
		Format: api.FormatCSV, Text: text, Value: "size", TaskColumn: "task", Outputs: map[string]string{"seconds": ""},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if again.Tasks != 5 || !reflect.DeepEqual(again.Outputs, []string{"parts", "seconds"}) {
		t.Errorf("learned %+v", again)
	}
	journal := `{"op_code":0,"study_name":"o","directions":[1]}` + "\n"
	for i := range 3 {
		journal += fmt.Sprintf(`{"op_code":4,"study_id":0,"datetime_start":"2026-03-01T10:00:00","state":1,"values":[%d],"datetime_complete":"2026-03-01T10:00:0%d","params":{"x":0.%d},`+
			`"distributions":{"x":"{\"name\":\"FloatDistribution\",\"attributes\":{\"low\":0.0,\"high\":1.0,\"log\":false,\"step\":null}}"}}`+"\n", i, i+1, 2*i+1)
	}
	timed, err := c.LearnPrior(t.Context(), &api.NewPrior{Learn: api.Learn{Minimize: true, Files: []api.File{{Format: api.FormatOptuna, Text: journal, Seconds: "seconds"}}}})
	if err != nil || !reflect.DeepEqual(timed.Outputs, []string{"seconds"}) {
		t.Errorf("learned %+v, %v", timed, err)
	}
	bad := 0.0
	for _, o := range []api.Options{{Outputs: []api.Output{{Name: "a"}, {Name: "a"}}}, {Budget: &bad}} {
		_, err = c.CreateStudy(t.Context(), &api.NewStudy{ID: "bad", Space: space, Options: o})
		refused("bad_option", err)
	}
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	check(openService(t, s.dir))
}

// The best that a page draws, tells the regret of and marks is that of the values that hold the limits, however good
// the others are.
func TestPageOfLimits(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	page := func(id string, good float64) string {
		t.Helper()
		q := `{"id":"` + id + `","space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]},"optimum":0.5,` +
			`"options":{"minimize":true,"initial":8,"outputs":[{"name":"seconds","at_most":10}]}}`
		if w := s.answer(post("/v1/studies", q)); w.Code != 201 {
			t.Fatal(w.Body)
		}
		for i, v := range []struct{ y, seconds float64 }{{1, 11}, {5, 9}, {good, 30}, {3, 10}, {4, 1}} {
			if _, err := c.Ask(t.Context(), id, 1); err != nil {
				t.Fatal(err)
			}
			if err := c.TellWith(t.Context(), id, i+1, &api.Tell{Y: &v.y, Outputs: api.Values{"seconds": v.seconds}}); err != nil {
				t.Fatal(err)
			}
			page := s.get(t, "/studies/"+id)
			wellFormed(t, page)
			none := strings.Contains(page, "of which none holds the limits")
			if none != (i == 0) || none == strings.Contains(page, "best so far") {
				t.Errorf("after %d values the page says that none holds the limits: %v", i+1, none)
			}
		}
		return s.get(t, "/studies/"+id)
	}
	regret := func(page string) string {
		t.Helper()
		_, svg, found := strings.Cut(page, "Chart of regret;")
		if !found {
			t.Fatal("no chart of the regret")
		}
		svg, _, _ = strings.Cut(svg, "</svg>")
		return svg
	}
	one := page("one", 0.75)
	if other := page("other", 2.5); regret(one) != regret(other) {
		t.Error("the regret follows a value that does not hold its limit")
	}
	if strings.Count(one, "told, misses a limit<") != 2 || strings.Count(one, "measured, misses a limit, ") != 2 {
		t.Error("the page does not tell the two values that miss the limit")
	}
	if strings.Count(one, "told, the best<") != 1 || strings.Contains(one, "<strong>0.75<") {
		t.Error("the table marks another row than that of the best")
	}
	_, row, _ := strings.Cut(one, "told, the best<")
	if row, _, _ = strings.Cut(row, "</tr>"); !strings.Contains(row, ">3<") {
		t.Errorf("the best is in the row of %s", row)
	}
}

// A prior of another format has a code of its own, and a study that runs with it goes on with one of this format.
func TestPriorOfAnotherVersion(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	box, err := cmbo.UnitCube(1)
	if err != nil {
		t.Fatal(err)
	}
	prior, err := cmbo.Learn(t.Context(), box, []cmbo.Task{{ID: "a", X: [][]float64{{0}, {1}, {0.5}}, Y: []float64{1, 2, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := prior.Encode(&b); err != nil {
		t.Fatal(err)
	}
	other := b.Bytes()
	if _, err := c.PutPrior(t.Context(), "past", other); err != nil {
		t.Fatal(err)
	}
	for id, study := range map[string]string{"prior": `"prior":"past",`, "fields": ""} {
		if w := s.answer(post("/v1/studies", `{"id":"`+id+`",`+study+`"space":`+marshal(t, box)+`}`)); w.Code != 201 {
			t.Fatal(w.Body)
		}
		if _, err := c.Observe(t.Context(), id, []float64{0.25}, 3); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Ask(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
	}
	old := hex.EncodeToString(other[len(other)-sha256.Size:])
	other[9]++ // the version
	if _, err := c.PutPrior(t.Context(), "other", other); client.Code(err) != "bad_version" {
		t.Errorf("%v, want the code bad_version", err)
	}
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	// As the service of that version would have stored it, with a study's log that has fields of its own.
	other = other[:len(other)-sha256.Size]
	sum := sha256.Sum256(other)
	digest := hex.EncodeToString(sum[:])
	files := map[string][]byte{"priors/" + digest + ".prior": append(other, sum[:]...), "names/past.name": []byte(digest)}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(t, filepath.Join(s.dir, "studies", "prior.log"), old+`","prior_name"`, digest+`","prior_name"`) // the journal is sealed
	rewrite(t, filepath.Join(s.dir, "studies", "prior.log"), `","weights":[`, `","weights":[0,`)            // another number of hypotheses
	rewrite(t, filepath.Join(s.dir, "studies", "fields.log"), `"options":{}`, `"options":{"ard":true}`)
	after := openService(t, s.dir)
	const state = `"state":"other_version"`
	if list := after.get(t, "/v1/studies"); strings.Count(list, state) != 2 {
		t.Error(list)
	}
	for _, what := range []call{
		post("/v1/studies/prior/ask", "{}"), post("/v1/studies/fields/ask", "{}"), {method: "GET", path: "/v1/priors/past"},
		post("/v1/studies", `{"id":"next","prior":"past","space":`+marshal(t, box)+`}`),
		post("/v1/studies", `{"id":"prior","prior":"past","space":`+marshal(t, box)+`}`), // the request that made it
	} {
		w := after.answer(what)
		if w.Code != 503 || !strings.Contains(w.Body.String(), `"other_version"`) || w.Header().Get("Retry-After") != "" {
			t.Errorf("%v: %d %s %v", what, w.Code, w.Body, w.Header())
		}
	}
	if page := after.get(t, "/studies/prior"); !strings.Contains(page, "another version") || strings.Contains(page, "damaged") {
		t.Error(page)
	}
	if page := after.get(t, "/"); strings.Count(page, "other version") != 2 {
		t.Error(page)
	}
	if n := after.meter(t, "cmbo_studies", map[string]string{"state": api.StateOtherVersion}); n != 2 {
		t.Errorf("%v studies of another version are metered", n)
	}
	c = after.over(t)
	if _, err := c.LearnPrior(t.Context(), &api.NewPrior{Name: "again", Space: box, Learn: api.Learn{Tasks: []api.Task{{ID: "a", X: []api.Row{{0}, {1}}, Y: api.Row{1, 2}}}}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ id, prior, code string }{
		{"prior", "nowhere", "unknown_prior"}, {"prior", "past", "other_version"}, {"fields", "again", "other_version"},
		{"nobody", "again", "unknown_study"}, {"prior", "", "bad_request"}, {"prior", "again", ""}, {"prior", "again", ""},
	} {
		if _, err := c.SetPrior(t.Context(), tt.id, tt.prior); client.Code(err) != tt.code || err != nil && tt.code == "" {
			t.Errorf("%s with %q: %v, want the code %q", tt.id, tt.prior, err, tt.code)
		}
	}
	got, err := c.Study(t.Context(), "prior")
	if err != nil || got.State != api.StateOK || got.PriorName != "again" || got.Best == nil || got.Best.Y != 3 || got.Trials.Open != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := c.Tell(t.Context(), "prior", 1, 5); err != nil {
		t.Error(err)
	}
	if _, err := c.Ask(t.Context(), "prior", 1); err != nil {
		t.Error(err)
	}
	page := after.get(t, "/studies/prior")
	for _, what := range []string{"prior <code>again</code> of 1 past task", " After 1 trial another prior took the place "} {
		if !strings.Contains(page, what) {
			t.Errorf("the page lacks %q", what)
		}
	}
	if err := after.m.Close(); err != nil {
		t.Fatal(err)
	}
	if trials, err := openService(t, s.dir).over(t).Ask(t.Context(), "prior", 1); err != nil || trials[0].ID != 3 {
		t.Errorf("after a restart %v, %v", trials, err)
	}
}

// rewrite replaces a text in the transactions of a log.
func rewrite(t *testing.T, path, from, to string) {
	t.Helper()
	log, txs, err := disk.OpenLog(disk.OS, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmp.Or(log.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	for i, tx := range txs {
		tx = bytes.ReplaceAll(tx, []byte(from), []byte(to))
		if i == 0 {
			if log, err = disk.CreateLog(disk.OS, path, tx); err != nil {
				t.Fatal(err)
			}
		} else if err := log.Append(tx); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
