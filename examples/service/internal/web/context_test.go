package web_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
)

// Descriptors of tasks, of files and of studies teach a prior, and a study that is described
// proposes what the library does, after a restart, too.
func TestContext(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	value := func(cores, x float64) float64 { return -(x - cores/20) * (x - cores/20) }
	var sent []api.Task
	var past []cmbo.Task
	text := "x,value,task,cores\n"
	for i := range 12 {
		cores := float64(1 + i)
		one := api.Task{ID: fmt.Sprint("task ", i), Context: map[string]any{"cores": cores, "disk": "ssd"}}
		for k := range 12 {
			x := math.Mod(float64(k)/12+float64(i)/100, 1)
			one.X, one.Y = append(one.X, api.Row{x}), append(one.Y, value(cores, x))
			text += fmt.Sprintf("%v,%v,file %d,%v\n", x, value(cores, x), i, cores)
		}
		sent, past = append(sent, one), append(past, one.Task())
	}
	prior, err := cmbo.Learn(t.Context(), space, past)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := prior.Digest()
	if err != nil {
		t.Fatal(err)
	}
	learned, err := c.LearnPrior(t.Context(), &api.NewPrior{Name: "machines", Space: space, Learn: api.Learn{Tasks: sent}})
	if err != nil || learned.Digest != digest {
		t.Fatalf("%v, %v, want %s", learned, err, digest)
	}
	about := map[string]any{"cores": 9.0}
	study := func(id, prior string, about map[string]any) error {
		_, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: id, Space: space, Prior: prior, Options: api.Options{Context: about}})
		return err
	}
	for _, err := range []error{study("s", "machines", about), study("plain", "", map[string]any{"cores": 3.0, "live": true})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for code, about := range map[string]map[string]any{"bad_option": {"cores": "nine"}, "bad_task": {"cores": []any{1.0}}} {
		if err := study("bad", "machines", about); client.Code(err) != code {
			t.Errorf("%v: %v, want %s", about, err, code)
		}
	}
	if err := study("bad", "machines", map[string]any{"nodes": 1.0}); client.Code(err) != "bad_option" {
		t.Errorf("a descriptor that no task has: %v", err)
	}
	twin, err := cmbo.New(space, cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"cores": 9}))
	if err != nil {
		t.Fatal(err)
	}
	other, err := cmbo.New(space, cmbo.WithPrior(prior))
	if err != nil {
		t.Fatal(err)
	}
	differ := false
	for i := range 4 {
		if i == 2 {
			if err := s.m.Close(); err != nil {
				t.Fatal(err)
			}
			s = openService(t, s.dir)
			c = s.over(t)
		}
		trials, err := c.Ask(t.Context(), "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		want, err := twin.Ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		without, err := other.Ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		differ = differ || !reflect.DeepEqual(want.X, without.X)
		if !reflect.DeepEqual([]float64(trials[0].X), want.X) {
			t.Fatalf("trial %d is %v, want %v", i, trials[0].X, want.X)
		}
		y := value(9, want.X[0])
		for _, err := range []error{c.Tell(t.Context(), "s", trials[0].ID, y), twin.Tell(want.ID, y), other.Tell(without.ID, value(9, without.X[0]))} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if !differ {
		t.Error("the descriptors changed nothing")
	}
	// The next prior knows what described the studies and the tasks of a file.
	trials, err := c.Ask(t.Context(), "plain", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Tell(t.Context(), "plain", trials[0].ID, 1); err != nil {
		t.Fatal(err)
	}
	_, err = c.LearnPrior(t.Context(), &api.NewPrior{Name: "next", Space: space, Learn: api.Learn{Studies: []string{"s", "plain"}, Files: []api.File{{
		Format: api.FormatCSV, Text: text, TaskColumn: "task", Context: map[string]string{"cores": ""},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := study("t", "next", map[string]any{"cores": 5.0, "live": false}); err != nil {
		t.Error(err)
	}
	if err := study("u", "next", map[string]any{"disk": "ssd"}); client.Code(err) != "bad_option" {
		t.Errorf("%v", err)
	}
}
