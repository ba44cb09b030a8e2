//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
)

// Studies that can resume what was stopped, over a list and over a parameter, resume what
// the library does, over kills of the service too, and say so in lists and on their pages.
func TestCheckpoints(t *testing.T) {
	const epochs = 20
	loss := func(x, best float64, epoch int) float64 {
		return 4*(x-best)*(x-best) + (3+2*math.Sin(1e4*x))*math.Exp(-float64(epoch)/4)
	}
	line, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]float64
	for k := range 25 {
		rows = append(rows, []float64{float64(k) / 24})
	}
	list, err := line.WithCandidates(rows)
	if err != nil {
		t.Fatal(err)
	}
	var sent []api.Task
	var past []cmbo.Task
	for i, best := range []float64{0.3, 0.4, 0.6, 0.7} {
		task := api.Task{ID: fmt.Sprint("task ", i)}
		for _, x := range rows {
			var c api.Curve
			for epoch := 1; epoch < epochs; epoch++ {
				c.Steps, c.Values = append(c.Steps, epoch), append(c.Values, loss(x[0], best, epoch))
			}
			task.X, task.Y, task.Curves = append(task.X, x), append(task.Y, loss(x[0], best, epochs)), append(task.Curves, c)
		}
		sent, past = append(sent, task), append(past, task.Task())
	}
	dir := t.TempDir()
	p := start(t, dir)
	c := p.client(nil)
	if _, err := c.LearnPrior(t.Context(), &api.NewPrior{Name: "past", Space: line, Learn: api.Learn{Tasks: sent, Minimize: true}}); err != nil {
		t.Fatal(err)
	}
	type run struct {
		id      string
		space   *cmbo.Space
		twin    *cmbo.Optimizer
		resumes []int     // of each trial
		at      []int     // the last epoch of each
		paused  []float64 // the point that was stopped last
	}
	runs := []*run{{id: "list", space: list}, {id: "line", space: line}}
	for _, r := range runs {
		prior, err := cmbo.Learn(t.Context(), line, past, cmbo.WithMinimize())
		if err != nil {
			t.Fatal(err)
		}
		if r.twin, err = cmbo.New(r.space, cmbo.WithPrior(prior), cmbo.WithCheckpoints()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: r.id, Space: r.space, Prior: "past", Options: api.Options{Minimize: true, Checkpoints: true}}); err != nil {
			t.Fatal(err)
		}
	}
	both := func(a, b error) {
		t.Helper()
		if a != nil || b != nil {
			t.Fatal(a, b)
		}
	}
	// evaluate asks for a trial, and evaluates it until it is stopped; some are taken back first,
	// and one that goes on fails.
	evaluate := func(r *run, k int) {
		t.Helper()
		ask := func() api.Trial {
			got, err := c.Ask(t.Context(), r.id, 1)
			if err != nil {
				t.Fatal(err)
			}
			want, err := r.twin.Ask(t.Context())
			if err != nil || got[0].Resumes != want.Resumes || !reflect.DeepEqual([]float64(got[0].X), want.X) {
				t.Fatalf("%s: asked %+v, want %+v, %v", r.id, got, want, err)
			}
			r.resumes, r.at = append(r.resumes, want.Resumes), append(r.at, 0)
			return got[0]
		}
		tr := ask()
		if k%5 == 4 {
			both(c.Cancel(t.Context(), r.id, tr.ID), r.twin.Cancel(tr.ID))
			tr = ask()
		}
		epoch := 0
		if tr.Resumes > 0 {
			epoch = r.at[tr.Resumes-1]
			if k == 8 {
				both(c.Fail(t.Context(), r.id, tr.ID), r.twin.TellFailed(tr.ID))
				_, err := c.Enqueue(t.Context(), r.id, tr.X) // of which no checkpoint is left
				both(err, r.twin.Enqueue(tr.X))
				return
			}
		}
		for epoch < epochs-1 {
			epoch++
			y := loss(tr.X[0], 0.45, epoch)
			got, err := c.Report(t.Context(), r.id, tr.ID, epoch, y)
			want, err2 := r.twin.Report(t.Context(), tr.ID, epoch, y)
			both(err, err2)
			if got.Text != want.String() {
				t.Fatalf("%s, trial %d: %s, want %v", r.id, tr.ID, got.Text, want)
			}
			if want.Stop {
				r.at[tr.ID-1], r.paused = epoch, tr.X
				both(c.TellStopped(t.Context(), r.id, tr.ID), r.twin.TellStopped(t.Context(), tr.ID))
				return
			}
		}
		y := loss(tr.X[0], 0.45, epochs)
		both(c.Tell(t.Context(), r.id, tr.ID, y), r.twin.Tell(tr.ID, y))
	}
	const rounds, evaluations = 4, 4
	for round := range rounds {
		for _, r := range runs {
			before := len(r.resumes)
			if round > 0 { // of its own accord a study need not come back
				_, err := c.Enqueue(t.Context(), r.id, r.paused)
				both(err, r.twin.Enqueue(r.paused))
			}
			for k := range evaluations {
				evaluate(r, round*evaluations+k)
			}
			trials, err := c.Trials(t.Context(), r.id, "")
			if err != nil {
				t.Fatal(err)
			}
			resumed := 0
			page := get(t.Context(), t, p.addr+"/studies/"+r.id)
			for i, tr := range trials {
				if tr.Resumes != r.resumes[i] {
					t.Errorf("%s, trial %d resumes %d, want %d", r.id, tr.ID, tr.Resumes, r.resumes[i])
				}
				if r.resumes[i] == 0 {
					continue
				}
				if i >= before {
					resumed++
				}
				if want := fmt.Sprintf(", resumes %d", r.resumes[i]); !strings.Contains(page, want) {
					t.Errorf("the page of %s lacks %q", r.id, want)
				}
			}
			if round > 0 && resumed == 0 {
				t.Errorf("%s, round %d: nothing was resumed of %v", r.id, round, r.resumes)
			}
		}
		t.Logf("resumed: %v and %v", runs[0].resumes, runs[1].resumes)
		p.kill()
		p = start(t, dir)
		c = p.client(nil)
	}
}

// get returns what is answered under an address.
func get(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, w.Status, err)
	}
	return string(b)
}
