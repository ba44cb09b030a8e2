package web_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
)

// Outputs and descriptors of tasks may have any names, in every request that has them, and
// after a restart; one that is misspelt is refused as the library does.
func TestNamesAreTheUsers(t *testing.T) {
	const seconds, size, cores, disk = "Seconds", "Größe (µm)", "CPUs", "Диск"
	s := newService(t)
	c := s.over(t)
	space := spaceOf(t, cmbo.Float("x", 0, 1))
	one, two := 1.0, 2.0
	mine := api.Task{
		ID: "a", Failed: []api.Row{{0.75}}, Outputs: map[string][]*float64{}, FailedOutputs: map[string][]*float64{seconds: {&two}},
		Context: api.Context{cores: 4.0, disk: "ssd"},
	}
	file := cmbo.Task{ID: "b", Outputs: map[string][]float64{}, Context: cmbo.Context{cores: 8, disk: "ssd"}}
	text := fmt.Sprintf("x,value,%s,Breite,%s,DISK\n", seconds, cores)
	for i := range 6 {
		x := float64(i) / 8
		mine.X, mine.Y = append(mine.X, api.Row{x}), append(mine.Y, x*x)
		mine.Outputs[seconds], mine.Outputs[size] = append(mine.Outputs[seconds], &one), append(mine.Outputs[size], nil)
		file.X, file.Y = append(file.X, []float64{x}), append(file.Y, 1-x)
		file.Outputs[seconds], file.Outputs[size] = append(file.Outputs[seconds], 3+x), append(file.Outputs[size], 4)
		text += fmt.Sprintf("%v,%v,%v,4,8,ssd\n", x, 1-x, 3+x)
	}
	learn := api.Learn{Tasks: []api.Task{mine}, Files: []api.File{{
		Format: api.FormatCSV, Text: text, Task: "b", Outputs: map[string]string{seconds: "", size: "Breite"}, Context: map[string]string{cores: "", disk: "DISK"},
	}}}
	prior, err := c.LearnPrior(t.Context(), &api.NewPrior{Name: "past", Space: space, Learn: learn})
	if err != nil {
		t.Fatal(err)
	}
	if want := digestOf(t, space, []cmbo.Task{mine.Task(), file}); prior.Digest != want || !reflect.DeepEqual(prior.Outputs, []string{size, seconds}) {
		t.Errorf("learned %+v, want the digest %s", prior, want)
	}
	options := api.Options{Outputs: []api.Output{{Name: seconds, Cost: true}, {Name: size, AtMost: &two, Optional: true}}, Context: api.Context{cores: 6.0, disk: "ssd"}}
	for _, q := range []api.NewStudy{{ID: "s", Prior: "past"}, {ID: "learns", Learn: &learn}, {ID: "plain"}} {
		q.Space, q.Options = space, options
		if _, err := c.CreateStudy(t.Context(), &q); err != nil {
			t.Errorf("%s: %v", q.ID, err)
		}
	}
	if _, err := c.Check(t.Context(), &api.Check{Space: space, Learn: learn, Evaluations: ptr(2)}); err != nil {
		t.Error(err)
	}

	trials, err := c.Ask(t.Context(), "s", 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Report(t.Context(), "s", trials[2].ID, 1, 1); err != nil {
		t.Error(err)
	}
	misspelt := api.Values{strings.ToLower(seconds): 1}
	for _, err := range []error{
		c.TellWith(t.Context(), "s", trials[0].ID, &api.Tell{Y: &one, Outputs: misspelt}),
		c.FailWith(t.Context(), "s", trials[0].ID, &api.Fail{Outputs: misspelt}),
		c.TellStoppedWith(t.Context(), "s", trials[2].ID, &api.Stop{Outputs: misspelt}),
	} {
		if client.Code(err) != "bad_output" || !strings.Contains(err.Error(), fmt.Sprintf("output %q is none of the run's, %q", "seconds", []string{size, seconds})) {
			t.Errorf("a misspelt output: %v", err)
		}
	}
	out := api.Values{seconds: 1, size: 0.5}
	for _, err := range []error{
		c.TellWith(t.Context(), "s", trials[0].ID, &api.Tell{Y: &one, Outputs: out}),
		c.FailWith(t.Context(), "s", trials[1].ID, &api.Fail{Outputs: out}),
		c.TellStoppedWith(t.Context(), "s", trials[2].ID, &api.Stop{Outputs: out}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	at, y := api.Point{X: api.Row{0.25}}, 3.
	if _, err := c.ObserveWith(t.Context(), "s", &api.Observe{Point: at, Y: &y, Outputs: out}); err != nil {
		t.Error(err)
	}
	if _, err := c.ObserveWith(t.Context(), "s", &api.Observe{Point: at, Y: &y, Outputs: misspelt}); client.Code(err) != "bad_output" {
		t.Errorf("a misspelt output: %v", err)
	}
	if err := s.m.Close(); err != nil {
		t.Fatal(err)
	}
	s = openService(t, s.dir)
	if best, err := s.over(t).Best(t.Context(), "s"); err != nil || best == nil || best.Y != 3 || !reflect.DeepEqual(best.Outputs, out) {
		t.Errorf("the best is %+v, %v", best, err)
	}
	wellFormed(t, s.get(t, "/studies/s"))
	// What a study brought teaches under the same names.
	again, err := s.over(t).LearnPrior(t.Context(), &api.NewPrior{Space: space, Learn: api.Learn{Studies: []string{"s"}}})
	if err != nil || !reflect.DeepEqual(again.Outputs, []string{size, seconds}) {
		t.Errorf("learned %+v, %v", again, err)
	}
}

// Wherever a request has an object whose keys its description leaves open, these are free;
// fields are refused in another case.
func TestOpenKeysAreFree(t *testing.T) {
	s := newService(t)
	doc, err := openapi3.NewLoader().LoadFromData([]byte(s.get(t, "/v1/openapi.json")))
	if err != nil {
		t.Fatal(err)
	}
	c := s.over(t)
	if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: "s", Space: spaceOf(t, cmbo.Float("x", 0, 1))}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), "s", 1); err != nil {
		t.Fatal(err)
	}
	refused := func(path, body string) bool {
		path = strings.NewReplacer("{id}", "s", "{trial}", "1", "{name}", "p").Replace(path)
		w := s.answer(post(path, body))
		return strings.Contains(w.Body.String(), "unknown field")
	}
	open := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		if item.Post == nil {
			continue
		}
		var walk func(name, before, after string, of *openapi3.Schema)
		walk = func(name, before, after string, of *openapi3.Schema) {
			if key := before + `{"Ä": 1}` + after; of.AdditionalProperties.Schema != nil {
				open[name] = true
				if refused(path, key) {
					t.Errorf("POST %s refuses %s", path, key)
				}
				walk(name, before+`{"Ä": `, `}`+after, of.AdditionalProperties.Schema.Value)
			}
			for _, all := range of.AllOf {
				walk(name, before, after, all.Value)
			}
			if of.Items != nil {
				walk(name, before+`[`, `]`+after, of.Items.Value)
			}
			for name, p := range of.Properties {
				if key := before + `{"` + strings.ToUpper(name) + `": 1}` + after; !refused(path, key) {
					t.Errorf("POST %s does not refuse %s", path, key)
				}
				walk(name, before+`{"`+name+`": `, `}`+after, p.Value)
			}
		}
		walk("", "", "", item.Post.RequestBody.Value.Content["application/json"].Schema.Value)
	}
	want := []string{"choices", "columns", "config", "context", "defaults", "failed_outputs", "outputs", "renamed"}
	if got := slices.Sorted(maps.Keys(open)); !slices.Equal(got, want) {
		t.Errorf("the open objects are %q, want %q", got, want)
	}
}
