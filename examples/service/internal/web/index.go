package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/internal/plot"
)

// index serves the page that lists everything.
func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	p := plot.NewPage("Studies")
	p.Refresh(s.Refresh)
	studies := &plot.Table{Columns: plot.Titled("study", "best", "better", "open", "told", "failed", "observations",
		"prior")}
	run := map[string]int{} // studies by the digest of their prior
	for _, t := range s.Studies.Studies() {
		m := summary(t)
		run[m.Prior]++
		row := []plot.Cell{plot.Link(m.ID, "/studies/"+m.ID)}
		if m.State != api.StateOK {
			studies.Rows = append(studies.Rows, append(row, plot.Str(strings.ReplaceAll(m.State, "_", " "))))
			continue
		}
		best, goal := plot.Str(""), "larger"
		if m.Best != nil {
			best = plot.Exact(m.Best.Y)
		}
		if m.Minimize {
			goal = "smaller"
		}
		studies.Rows = append(studies.Rows, append(row, best, plot.Str(goal), count(m.Trials.Open), count(m.Trials.Told),
			count(m.Trials.Failed), count(m.Observations), plot.Str(priorLabel(m))))
	}
	if studies.Rows == nil {
		p.Text("There are none yet. Create one with `POST /v1/studies`.")
	} else {
		p.Table(studies)
	}
	files := s.Studies.Priors()
	slices.SortStableFunc(files, func(a, b study.PriorFile) int { // those with a name first
		return cmp.Compare(min(len(b.Names), 1), min(len(a.Names), 1))
	})
	priors := &plot.Table{
		Caption: "What was learned from past tasks. Those without a name are called by their digest.",
		Columns: plot.Titled("name", "digest", "KiB", "studies"),
	}
	for _, f := range files {
		name := cmp.Or(strings.Join(f.Names, ", "), f.Digest) // whole, as requests take it
		priors.Rows = append(priors.Rows, []plot.Cell{plot.Str(name),
			plot.Str(shortDigest(f.Digest)), plot.Num(float64(f.Bytes)/1024, 1), count(run[f.Digest])})
	}
	if priors.Rows != nil {
		p.Section("Priors")
		p.Table(priors)
	}
	s.html(w, http.StatusOK, p)
}

func count(n int) plot.Cell { return plot.Num(float64(n), 0) }

// priorLabel names the prior of a study.
func priorLabel(m api.Study) string {
	switch {
	case m.PriorName != "":
		return m.PriorName
	case m.Prior != "":
		return shortDigest(m.Prior)
	}
	return "none"
}

func shortDigest(d string) string { return d[:min(12, len(d))] + "…" }
