package web_test

import (
	"fmt"
	"html"
	"math"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/api"
)

// A page shows settings to the last digit and in the form that a request takes,
// names what is optimised, marks trials that failed, keeps the bulk of the values
// legible beside one that is far off, and shows what the model says.
func TestStudyPage(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	create := post("/v1/studies", `{"id":"s","objective":"error","unit":"%","options":{"minimize":true,"initial":4,"sobol_candidates":50},"space":{"params":[
		{"name":"rate","kind":"logfloat","lo":1e-5,"hi":1},{"name":"rows","kind":"int","lo":1,"hi":2000000},{"name":"kind","kind":"categorical","choices":["a","b","q\",:{}\\"]},{"name":"flag","kind":"bool"},
		{"name":"units","kind":"ordinal","values":[16,32,1048576]},{"name":"zero","kind":"float","lo":0,"hi":1}]}}`)
	if w := s.answer(create); w.Code != 201 {
		t.Fatal(w.Body)
	}
	var queued api.Enqueued
	known := post("/v1/studies/s/enqueue", `{"config":{"rate":0.012345678901234567,"rows":1030507,"kind":"b","flag":true,"units":32,"zero":0}}`)
	known.header.Set(api.KeyHeader, "once")
	for range 2 {
		if s.reads(t, known, &queued); queued.Enqueued != 1 {
			t.Errorf("%+v", queued)
		}
	}
	if n, err := c.Enqueue(t.Context(), "s", []float64{0.5, 17, 0, 0, 16, 1}); err != nil || n != 2 {
		t.Error(n, err)
	}
	out := post("/v1/studies/s/enqueue", `{"config":{"rate":2,"rows":1,"kind":"b","flag":true,"units":32,"zero":0}}`)
	if d := wrong(t, out, s.answer(out)); d.Code != "bad_value" {
		t.Errorf("%+v", d)
	}
	for i := 1; i <= 16; i++ {
		trials, err := c.Ask(t.Context(), "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		tr := trials[0]
		switch {
		case i <= 2 && (!tr.Enqueued || tr.X[1] != []float64{1030507, 17}[i-1]):
			t.Errorf("trial %d is not what was enqueued: %+v", i, tr)
		case i > 2 && tr.Enqueued:
			t.Errorf("trial %d was not enqueued", i)
		}
		y := 0.125 + float64(i%7)
		if i == 5 {
			y = 1e12
		}
		if i == 6 || i == 9 {
			if err := c.Fail(t.Context(), "s", tr.ID); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if i == 1 {
			y = 0.0625
		}
		if err := c.Tell(t.Context(), "s", tr.ID, y); err != nil {
			t.Fatal(err)
		}
	}
	s.get(t, "/studies/s") // has the curves made
	check := func(s *service) {
		t.Helper()
		page := ""
		for range 100 {
			if page = s.get(t, "/studies/s"); !strings.Contains(page, "being computed") {
				break
			}
		}
		wellFormed(t, page)
		for _, what := range []string{
			`{&#34;flag&#34;: true, &#34;kind&#34;: &#34;b&#34;, &#34;rate&#34;: 0.012345678901234567, &#34;rows&#34;: 1030507, &#34;units&#34;: 32, &#34;zero&#34;: 0}`,
			">0.012345678901234567<", ">1030507<", "error (%)", "<code>error</code>", "1 value lies too far", "2 trials failed", "level with the worst value", "told, enqueued",
			">1048576</text>", "lies beyond the axis", "lies beyond an axis", ">1000000000000<", "What the model expected when it chose", "values lay inside their 90 % interval",
		} {
			if !strings.Contains(strings.ReplaceAll(page, "&quot;", "&#34;"), what) {
				t.Errorf("the page lacks %q", what)
			}
		}
		if n := strings.Count(page, "model, 90 %"); n < 4 {
			t.Errorf("curves of %d parameters", n)
		}
		// No axis reaches the value that is far off.
		if strings.Contains(page, "10¹²") || strings.Contains(page, "×10¹¹") {
			t.Error("an axis follows the outlier")
		}
	}
	check(s)
	// The settings are the request that makes a study like it.
	page := s.get(t, "/studies/s")
	_, text, _ := strings.Cut(page[strings.Index(page, "Settings</h2>"):], "<pre")
	_, text, _ = strings.Cut(text, ">")
	text, _, _ = strings.Cut(text, "</pre>")
	again := html.UnescapeString(text)
	if w := s.answer(post("/v1/studies", strings.Replace(again, `"id": "s"`, `"id": "again"`, 1))); w.Code != 201 {
		t.Fatalf("%s\n%s", w.Body, again)
	}
	var one, other api.Study
	s.reads(t, call{method: "GET", path: "/v1/studies/s"}, &one)
	s.reads(t, call{method: "GET", path: "/v1/studies/again"}, &other)
	if a, b := fmt.Sprint(one.Space.Params(), *one.Options.Sobol, one.Options.Minimize, one.Objective, one.Unit), fmt.Sprint(other.Space.Params(), *other.Options.Sobol, other.Options.Minimize, other.Objective, other.Unit); a != b {
		t.Errorf("%s is not %s", b, a)
	}
	// What the model expected is kept with the values.
	told := func(s *service) string {
		var list api.Trials
		s.reads(t, call{method: "GET", path: "/v1/studies/s/trials?status=told"}, &list)
		text := ""
		for _, tr := range list.Trials {
			if tr.Expected != nil {
				text += fmt.Sprintln(tr.ID, *tr.Expected.Mean, *tr.Expected.SD)
			}
		}
		return text
	}
	before := told(s)
	if n := strings.Count(before, "\n"); n < 8 {
		t.Errorf("%d forecasts:\n%s", n, before)
	}
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	reopened := openService(t, s.dir)
	if after := told(reopened); after != before {
		t.Errorf("after a restart: %s\nbefore: %s", after, before)
	}
	check(reopened)
}

// Positive values that differ by factors are drawn on logarithmic axes, with and without a
// prior, and what is expected of them is told by quantiles, of which none is below 0; after
// a restart too.
func TestPageOfPositiveValues(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	const space = `"space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]}`
	var p api.Prior
	s.reads(t, post("/v1/priors", `{"name":"p","minimize":true,"positive_values":true,`+space+`,"tasks":[{"id":"past","x":[[0.1],[0.4],[0.5],[0.9]],"y":[30,2,3,400]}]}`), &p)
	if !p.Positive {
		t.Error("the prior does not say that values are positive")
	}
	for id, body := range map[string]string{"alone": `"options":{"minimize":true,"positive_values":true,"initial":3}`, "after": `"prior":"p","options":{"minimize":true}`} {
		if w := s.answer(post("/v1/studies", `{"id":"`+id+`",`+space+`,`+body+`}`)); w.Code != 201 {
			t.Fatal(w.Body)
		}
		f := func(x float64) float64 { return 2 * math.Exp(20*(x-0.4)*(x-0.4)) }
		if _, err := c.Observe(t.Context(), id, []float64{1}, f(1)); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			trials, err := c.Ask(t.Context(), id, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Tell(t.Context(), id, trials[0].ID, f(trials[0].X[0])); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(s *service) {
		t.Helper()
		for _, id := range []string{"alone", "after"} {
			page := ""
			for range 100 {
				if page = s.get(t, "/studies/"+id); !strings.Contains(page, "being computed") {
					break
				}
			}
			wellFormed(t, page)
			// The axis of the run and that of its parameter, which has no 100 as long as it is linear, and
			// 10² where it reaches far; those of the forecasts have no 0.
			one, two, three := strings.Index(page, "<b>Figure 1."), strings.Index(page, "<b>Figure 2."), strings.Index(page, "<b>Figure 3.")
			forecasts := page[two:three]
			for i, figure := range []string{page[:one], page[one:two]} {
				if !strings.Contains(figure, ">100</text>") && !strings.Contains(figure, ">10²</text>") {
					t.Errorf("%s: no logarithmic axis in figure %d", id, i+1)
				}
			}
			if !strings.Contains(forecasts, ">10</text>") || strings.Contains(forecasts, ">0</text>") {
				t.Errorf("%s: no logarithmic axes of forecasts", id)
			}
			var list api.Trials
			s.reads(t, call{method: "GET", path: "/v1/studies/" + id + "/trials"}, &list)
			n := 0
			for _, tr := range list.Trials {
				if e := tr.Expected; e != nil {
					n++
					if !(0 < *e.Low && *e.Low < *e.Median && *e.Median < *e.High && *e.Median < *e.Mean) {
						t.Errorf("%s: trial %d: %g %g %g, mean %g", id, tr.ID, *e.Low, *e.Median, *e.High, *e.Mean)
					}
				}
			}
			if n < 8 {
				t.Errorf("%s: %d forecasts", id, n)
			}
		}
	}
	check(s)
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	check(openService(t, s.dir))
}

// What the page says of a run's best: under noise the value that was luckiest is the best, and another point the one
// that the model recommends; several penalties do not hide the other values; an optimum that the first value reached; and
// the names of parameters leave their charts room.
func TestPageOfTheBest(t *testing.T) {
	s := newService(t)
	observe := func(id, create string, ys, noise []float64) string {
		t.Helper()
		if w := s.answer(post("/v1/studies", `{"id":"`+id+`",`+create+`"space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]}}`)); w.Code != 201 {
			t.Fatal(w.Body)
		}
		for i, y := range ys {
			q := api.Observe{Point: api.Point{X: []float64{float64(i) / float64(len(ys))}}, Y: &y}
			if noise != nil {
				q.NoiseVariance = &noise[i]
			}
			s.reads(t, post("/v1/studies/"+id+"/observe", marshal(t, q)), new(api.Observed))
		}
		page := ""
		for range 100 {
			if page = s.get(t, "/studies/"+id); !strings.Contains(page, "being computed") {
				break
			}
		}
		wellFormed(t, page)
		return page
	}
	noisy := observe("noisy", "", []float64{1, 1.1, 9, 1.2, 1.1, 1}, []float64{0.01, 0.01, 100, 0.01, 0.01, 0.01})
	if !strings.Contains(noisy, "The model recommends another point, below.") || strings.Contains(noisy, "Recommended: the best") ||
		strings.Count(noisy, "&#34;x&#34;: ")+strings.Count(noisy, "&quot;x&quot;: ") != 2 {
		t.Error("the page does not tell the best value from the point recommended")
	}
	clear := observe("clear", "", []float64{1, 2, 3, 2.5, 2}, nil)
	if strings.Contains(clear, "another point") {
		t.Error("the page recommends another point than the best")
	}
	penalties := []float64{0.1, -1e9, 0.2, -1e9, 0.3, -1e9, 0.25, 0.2, 0.15, 0.3, 0.4, -3e9, 0.35, 0.3}
	if page := observe("penalties", "", penalties, nil); !strings.Contains(page, "4 values lie too far") || strings.Contains(page, "10⁸") || strings.Contains(page, "10⁹") {
		t.Error("the axis follows the penalties")
	}
	reached := observe("reached", `"optimum":3,`, []float64{3, 2, 1}, nil)
	if !strings.Contains(reached, "The first of them reached the optimum") || strings.Contains(reached, ">regret</text>") {
		t.Error("the page draws a regret of none")
	}
	const long = "the name of a parameter that leaves a chart no room"
	if w := s.answer(post("/v1/studies", `{"id":"long","space":{"params":[{"name":"`+long+`","kind":"float","lo":0,"hi":1},{"name":"y","kind":"float","lo":0,"hi":1}]}}`)); w.Code != 201 {
		t.Fatal(w.Body)
	}
	for i, y := range []float64{1, 2, 4, 3, 2.5, 1.5} {
		s.reads(t, post("/v1/studies/long/observe", fmt.Sprintf(`{"x":[%g,%g],"y":%g}`, float64(i)/6, float64(i*i%6)/6, y)), new(api.Observed))
	}
	page := ""
	for range 100 {
		if page = s.get(t, "/studies/long"); strings.Contains(page, "share of the variance") {
			break
		}
	}
	if !strings.Contains(page, ">"+long[:19]+"…</text>") || strings.Count(page, ">"+long+"</text>") != 1 {
		t.Error("the chart of what parameters are worth has long names, or none")
	}
}
