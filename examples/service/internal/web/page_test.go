package web_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// wellFormed checks that a page is XML but for its first line, and counts
// elements.
func wellFormed(t *testing.T, page string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!DOCTYPE html>")))
	d.Entity = xml.HTMLEntity
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return counts
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			counts[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") {
					t.Errorf("an event handler in <%s>", e.Name.Local)
				}
			}
		}
	}
}

func TestPages(t *testing.T) {
	s := newService(t)
	if page := s.get(t, "/"); !strings.Contains(page, "There are none yet") {
		t.Error("the index does not say that there is nothing")
	}
	s.prepare(t)
	index := s.get(t, "/")
	counts := wellFormed(t, index)
	if counts["a"] < 4 || !strings.Contains(index, `href="/studies/plain"`) || !strings.Contains(index, "past") {
		t.Errorf("the index lacks studies: %v", counts)
	}
	for _, k := range twin.Kinds(t) {
		page := s.get(t, "/studies/"+k.Name)
		for range 200 { // on a machine that is busy the model takes longer than a page waits
			if !strings.Contains(page, "are being computed") {
				break
			}
			page = s.get(t, "/studies/"+k.Name)
		}
		counts := wellFormed(t, page)
		figures := 1 + len(k.Study.Space.Params())
		if k.Prior != nil {
			figures += 2 // forecasts and importance
		}
		if counts["tr"] != 8+len(k.Study.Space.Params()) || strings.Count(page, `role="img"`) != figures || counts["script"] > 0 {
			t.Errorf("%s: %v, %d figures", k.Name, counts, strings.Count(page, `role="img"`))
		}
		shown := []string{"best so far", "cancelled", "0.25", `http-equiv="refresh" content="5"`, "The model: Gaussian process without a prior.", "What more evaluations would bring is not known yet"}
		if k.Past != "" {
			shown = append(shown[:4:4], "The model: hierarchical prior.", "no transfer", "all past tasks", "Too early to tell whether the past helps: ", "found to bear on this task, after ")
		}
		for _, what := range shown {
			if !strings.Contains(page, what) {
				t.Errorf("%s: the page lacks %q", k.Name, what)
			}
		}
	}
	w := s.answer(call{method: "GET", path: "/studies/nobody"})
	if w.Code != 404 || !strings.Contains(w.Body.String(), "No such study") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The weights of the prior's hypotheses are drawn, with names.
func TestWeightsAreDrawn(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	points := 12
	learn := &api.Learn{IndexPoints: &points}
	for i := range 9 {
		task := api.Task{ID: fmt.Sprintf("task %d", i)}
		for j := range points {
			x := float64(j) / 11
			task.X, task.Y = append(task.X, api.Row{x}), append(task.Y, math.Sin(float64(i+1)*x))
		}
		learn.Tasks = append(learn.Tasks, task)
	}
	if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: "s", Space: space, Learn: learn}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		trials, err := c.Ask(t.Context(), "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Tell(t.Context(), "s", trials[0].ID, trials[0].X[0]); err != nil {
			t.Fatal(err)
		}
	}
	page := s.get(t, "/studies/s")
	wellFormed(t, page)
	if !strings.Contains(page, "Chart of no transfer, all past tasks;") {
		t.Error("the page does not name the hypotheses")
	}
}

// The regret is drawn where the optimum is known, and long studies are cut to
// what a page can show.
func TestLongPage(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	best := 1.0
	if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: "s", Space: space, Optimum: &best, Options: api.Options{Initial: new(int)}}); err != nil {
		t.Fatal(err)
	}
	if page := s.get(t, "/studies/s"); !strings.Contains(page, "Nothing has been told yet") {
		t.Error("the page of an empty study")
	}
	design := post("/v1/studies", `{"id":"long","space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]},"options":{"initial":1000},"optimum":1}`)
	if w := s.answer(design); w.Code != 201 {
		t.Fatal(w.Body)
	}
	for i := range 5 {
		if w := s.answer(post("/v1/studies/long/ask", `{"n":30}`)); w.Code != 200 {
			t.Fatal(w.Body)
		}
		for j := 1; j <= 30; j++ {
			if w := s.answer(post(fmt.Sprintf("/v1/studies/long/trials/%d/tell", 30*i+j), fmt.Sprintf(`{"y":%g}`, float64(30*i+j)/200))); w.Code != 200 {
				t.Fatal(w.Body)
			}
		}
	}
	page := s.get(t, "/studies/long")
	counts := wellFormed(t, page)
	if counts["tr"] != 1+1+1+100 || !strings.Contains(page, "100 of 150 trials") || !strings.Contains(page, "Regret") {
		t.Errorf("%v", counts)
	}
}

// Nothing that clients send becomes markup.
func TestPagesEscape(t *testing.T) {
	const evil = `<script>alert("1")</script><img src=x onerror='a'>` + "`&amp;\x01"
	s := newService(t)
	c := s.over(t)
	space, err := cmbo.NewSpace(cmbo.Categorical(evil, evil, "b"+evil), cmbo.Float(evil+"2", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	points := 5
	q := &api.NewStudy{ID: "s", Space: space, Learn: &api.Learn{IndexPoints: &points, Tasks: []api.Task{{ID: evil, X: []api.Row{{0, 0.5}}, Y: api.Row{1}}, {ID: evil + "2", X: []api.Row{{1, 0.5}}, Y: api.Row{1}}}}}
	if _, err := c.CreateStudy(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		trials, err := c.Ask(t.Context(), "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Tell(t.Context(), "s", trials[0].ID, float64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/", "/studies/s"} {
		page := s.get(t, path)
		if counts := wellFormed(t, page); counts["script"] > 0 || counts["img"] > 0 || strings.Contains(page, "<script") {
			t.Errorf("%s: %v", path, counts)
		}
	}
	if page := s.get(t, "/studies/s"); !strings.Contains(page, "&lt;script&gt;") {
		t.Error("the names are not on the page at all")
	}
	w := s.answer(call{method: "GET", path: "/studies/" + evil})
	if w.Code != 404 || strings.Contains(w.Body.String(), "<script") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h := s.answer(call{method: "GET", path: "/studies/s"}).Header()
	if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", h)
	}
}

// A damaged study has a page that says so and no more.
func TestDamagedPage(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	s.create(t, c, "s", twin.Kinds(t)[1])
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "studies", "s.log"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s2 := openService(t, s.dir)
	if page := s2.get(t, "/studies/s"); !strings.Contains(page, "could not be opened") {
		t.Error("the page does not say that the study is damaged")
	}
	if page := s2.get(t, "/"); !strings.Contains(page, "damaged") {
		t.Error("the index does not say that the study is damaged")
	}
	if list := s2.get(t, "/v1/studies"); !strings.Contains(list, `"state":"damaged"`) {
		t.Error(list)
	}
	w := s2.answer(post("/v1/studies/s/ask", "{}"))
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"damaged"`) || strings.Contains(w.Body.String(), s.dir) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
