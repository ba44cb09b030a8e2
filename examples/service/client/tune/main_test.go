package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/web"
)

// The client finds a good point, and goes on where an earlier life of it was
// interrupted.
func TestTune(t *testing.T) {
	m, err := study.Open(study.Config{Dir: t.TempDir(), Limits: study.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(web.New(web.Config{Studies: m, Body: web.DefaultBody, Timeout: web.DefaultTimeout}))
	defer h.Close()
	c := &client.Client{Base: h.URL, HTTP: h.Client()}
	var out bytes.Buffer
	first := &tuner{client: c, study: "s", trials: 10, out: &out}
	for _, workers := range []int{0, -3} {
		if err := first.run(t.Context(), workers); err == nil || !strings.Contains(err.Error(), "at least 1") {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
	if err := first.run(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), "s", 2); err != nil { // and it is killed
		t.Fatal(err)
	}
	out.Reset()
	second := &tuner{client: c, study: "s", trials: 40, out: &out}
	if err := second.run(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "going on after 12 trials, 2 of them unfinished") {
		t.Error(out.String())
	}
	open, err := c.Trials(t.Context(), "s", api.Open)
	if err != nil || len(open) != 0 {
		t.Errorf("%d trials are open (%v)", len(open), err)
	}
	all, err := c.Trials(t.Context(), "s", "")
	if err != nil || len(all) != 40 {
		t.Errorf("%d trials (%v)", len(all), err)
	}
	// Of 40 random points the best is below 0.7 in one run of five.
	best, err := c.Best(t.Context(), "s")
	if err != nil || best == nil || !(best.Y < 0.7) {
		t.Errorf("the best is %v (%v)", best, err)
	}
	t.Logf("the best is %g", best.Y)
}
