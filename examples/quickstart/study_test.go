package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// smallStudy is two small targets with made-up runs.
func smallStudy() *study {
	a := &target{best: 0.9, worst: 0.4}
	b := &target{best: 1, worst: 0.5}
	s := &study{targets: []*target{a, b}, repeats: 1, budget: 3, runs: make([][numMethods][]run, 2)}
	for m := range numMethods {
		s.runs[0][m], s.runs[1][m] = []run{{0.4, 0.65, 0.5}}, []run{{1, 0.5, 0.75}}
	}
	return s
}

func TestRegret(t *testing.T) {
	s := smallStudy()
	if got, want := s.regrets(cmBO).mean, []float64{0.5, 0.25, 0.25}; !slices.Equal(got, want) {
		t.Errorf("mean regret %v, want %v", got, want)
	}
	if got, want := s.regrets(cmBO).low, []float64{0.25, 0.125, 0.125}; !slices.Equal(got, want) {
		t.Errorf("lower quartile %v, want %v", got, want)
	}
	if got, want := s.percents(noPast).mean, []float64{70, 82.5, 82.5}; !slices.Equal(got, want) {
		t.Errorf("accuracy %v, want %v", got, want)
	}
	if got := (&target{best: 0.7, worst: 0.7}).regret(0.7); got != 0 {
		t.Errorf("regret %g where all settings are equally good", got)
	}
}

func TestQuantile(t *testing.T) {
	for _, tt := range []struct {
		sorted  []float64
		p, want float64
	}{
		{[]float64{3}, 0.25, 3},
		{[]float64{1, 2}, 0.5, 1.5},
		{[]float64{0, 1, 2, 3, 4}, 0.25, 1},
		{[]float64{0, 1, 2, 3, 4}, 1, 4},
		{[]float64{0, 1, 2, 3, 4}, 0, 0},
		{[]float64{0, 4}, 0.75, 3},
	} {
		if got := quantile(tt.sorted, tt.p); got != tt.want {
			t.Errorf("quantile(%v, %g) = %g, want %g", tt.sorted, tt.p, got, tt.want)
		}
	}
}

func TestSeedsOfRunsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for task := range 6 {
		for repeat := range 10 {
			seen[runSeed(1, task, repeat)] = true
		}
	}
	if len(seen) != 60 {
		t.Errorf("%d different seeds for 60 runs", len(seen))
	}
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{"-seed", "7", "-quiet", "-out", ""}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := (options{seed: 7, tasks: len(newRecipes), repeats: 5, budget: 20, quiet: true, recorded: 40, pool: 500}); *o != want {
		t.Errorf("options %+v, want %+v", *o, want)
	}
	for _, bad := range []string{"-seed x", "stray", "-unknown", "-out nowhere/report.html"} {
		if _, err := parse(strings.Fields(bad), io.Discard); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"-help"}, &help); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-help: %v", err)
	}
	for _, name := range []string{"-seed", "-out", "-quiet"} {
		if !strings.Contains(help.String(), name) {
			t.Errorf("the help does not mention %s", name)
		}
	}
}

// TestQuickstart runs the program twice, on one core and on several, with
// little to do.
func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	defer func(all []recipe) { pastRecipes = all }(pastRecipes)
	pastRecipes = pastRecipes[:6] // the paper's method takes nearly all of the time, to group them
	do := func(procs int) (console, html string) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		out := filepath.Join(t.TempDir(), "report.html")
		o := &options{seed: 3, out: out, tasks: 2, repeats: 2, budget: 6, quiet: true, recorded: 6, pool: 20}
		var w bytes.Buffer
		if err := quickstart(context.Background(), o, &w); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(w.String(), out, "FILE"), string(page)
	}
	console, html := do(1)
	again, htmlAgain := do(4)
	if console != again || html != htmlAgain {
		t.Error("the number of cores changes the result")
	}
	for _, want := range []string{"random search", "no past", "cm-BO", "Normalised regret", "FILE"} {
		if !strings.Contains(console, want) {
			t.Errorf("%q is not printed", want)
		}
	}
	for _, line := range strings.Split(console, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("a line of %d columns: %q", len([]rune(line)), line)
		}
	}
	d := xml.NewDecoder(strings.NewReader(html))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the report is not well-formed: %v", err)
		}
	}
}

func TestQuickstartStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := quickstart(ctx, &options{seed: 1, tasks: 1, repeats: 1, budget: 1, recorded: 1, pool: 1}, io.Discard)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
