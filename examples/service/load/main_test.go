package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/client"
)

// Each kind of studies gets as many requests as it was to get.
func TestLoad(t *testing.T) {
	spaces := []string{"plain", "design"}
	if !testing.Short() {
		spaces = append(spaces, "list") // learns a prior, which takes seconds
	}
	for _, space := range spaces {
		var out bytes.Buffer
		l := &load{client: &client.Client{}, dir: t.TempDir(), space: space, studies: 2, workers: 2, trials: 3}
		if err := l.run(t.Context(), &out); err != nil {
			t.Fatalf("%s: %v", space, err)
		}
		for _, kind := range []string{"ask", "tell"} {
			if !regexp.MustCompile(`(?m)^` + kind + ` +6 +\d+ `).Match(out.Bytes()) {
				t.Errorf("%s: %s", space, out.String())
			}
		}
	}
	if err := (&load{client: &client.Client{}, dir: t.TempDir(), space: "none", studies: 1, workers: 1, trials: 1}).run(t.Context(), &bytes.Buffer{}); err == nil {
		t.Error("a kind of studies that there is not")
	}
}
