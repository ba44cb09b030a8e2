package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/internal/plot"
)

// index serves the page that lists everything.
func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	p := plot.NewPage("Studies")
	p.Refresh(s.Refresh)
	var rows [][]entry
	for _, t := range s.Studies.Studies() {
		m := summary(t)
		row := []entry{{text: m.ID, link: "/studies/" + m.ID}}
		if m.State == api.StateDamaged {
			rows = append(rows, append(row, entry{text: "damaged"}))
			continue
		}
		best, goal := entry{number: true}, "larger"
		if m.Best != nil {
			best.text = strconv.FormatFloat(m.Best.Y, 'g', 5, 64)
		}
		if m.Minimize {
			goal = "smaller"
		}
		rows = append(rows, append(row, best, entry{text: goal}, count(m.Trials.Open), count(m.Trials.Told), count(m.Trials.Failed), count(m.Observations), entry{text: priorLabel(m)}))
	}
	if rows == nil {
		p.Text("There are none yet. Create one with `POST /v1/studies`.")
	} else {
		p.HTML(table("", []string{"study", "best", "better", "open", "told", "failed", "observations", "prior"}, rows))
	}
	rows = nil
	priors := s.Studies.Priors()
	slices.SortStableFunc(priors, func(a, b study.PriorFile) int { // those with a name first
		return cmp.Compare(min(len(b.Names), 1), min(len(a.Names), 1))
	})
	for _, f := range priors {
		names := strings.Join(f.Names, ", ")
		rows = append(rows, []entry{{text: names}, {text: shortDigest(f.Digest)}, {text: fmt.Sprintf("%.1f", float64(f.Bytes)/1024), number: true}})
	}
	if rows != nil {
		p.Section("Priors")
		p.HTML(table("What was learned from past tasks. Those without a name were made for one study or for one list of candidates.", []string{"name", "digest", "KiB"}, rows))
	}
	s.html(w, http.StatusOK, p)
}

// priorLabel names the prior of a study.
func priorLabel(m api.Study) string {
	switch {
	case m.PriorName != "":
		return m.PriorName
	case m.PriorBase != "":
		return shortDigest(m.PriorBase)
	case m.Prior != "":
		return shortDigest(m.Prior)
	}
	return "none"
}

func shortDigest(d string) string { return d[:min(12, len(d))] + "…" }

// entry is a cell of a table with links.
type entry struct {
	text   string
	link   string // a path; empty for none
	number bool
}

func count(n int) entry { return entry{text: strconv.Itoa(n), number: true} }

// table writes a table as package plot does, with links.
func table(caption string, columns []string, rows [][]entry) string {
	var b strings.Builder
	class := func(number bool) string {
		if number {
			return ` class="num"`
		}
		return ""
	}
	b.WriteString("<figure class=\"table\">\n")
	if caption != "" {
		b.WriteString("<figcaption>" + plot.Escape(caption) + "</figcaption>\n")
	}
	b.WriteString("<div class=\"scroll\"><table>\n<thead><tr>")
	for j, c := range columns {
		number := slices.ContainsFunc(rows, func(r []entry) bool { return j < len(r) && r[j].number })
		b.WriteString("<th scope=\"col\"" + class(number) + ">" + plot.Escape(c) + "</th>")
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, r := range rows {
		b.WriteString("<tr>")
		for j := range columns {
			var e entry
			if j < len(r) {
				e = r[j]
			}
			text := plot.Escape(e.text)
			if e.link != "" {
				text = "<a href=\"" + plot.Escape(e.link) + "\">" + text + "</a>"
			}
			b.WriteString("<td" + class(e.number) + ">" + text + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n</figure>\n")
	return b.String()
}
