package plot

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPage(t *testing.T) {
	p := samplePage()
	p.Refresh(5)
	page := p.String()
	tags, text := elements(t, page)
	count := map[string]int{}
	ids := map[string]bool{}
	for _, e := range tags {
		count[e.Name.Local]++
		if id := attribute(e, "id"); id != "" {
			if ids[id] {
				t.Errorf("id %q appears twice", id)
			}
			ids[id] = true
		}
		for _, name := range []string{"src", "href"} {
			if v := attribute(e, name); v != "" && v[0] != '#' {
				t.Errorf("%s refers to %q", e.Name.Local, v)
			}
		}
	}
	for _, e := range tags {
		if v := attribute(e, "href"); v != "" && !ids[v[1:]] {
			t.Errorf("nothing has the id %q", v)
		}
	}
	if got := text["title"][0]; got != "Samples & <tests>" {
		t.Errorf("title %q", got)
	}
	if count["h1"] != 1 || count["h2"] != 3 || count["table"] != 1 || count["figure"] != len(samples())+1 || count["script"] != 0 || count["style"] != 1 {
		t.Errorf("elements %v", count)
	}
	for _, bad := range []string{"http://", "https://", "url(", "@import"} {
		body := strings.ReplaceAll(page, "http://www.w3.org/2000/svg", "")
		if strings.Contains(body, bad) {
			t.Errorf("the page refers to something by %q", bad)
		}
	}
	if !strings.Contains(page, `http-equiv="refresh" content="5"`) {
		t.Error("no refresh")
	}
}

func TestInline(t *testing.T) {
	tests := []struct{ in, want string }{
		{"no code", "no code"},
		{"`x < y` & `z`", "<code>x &lt; y</code> &amp; <code>z</code>"},
		{"a lone ` stays", "a lone ` stays"},
		{"`a` and ` stays", "<code>a</code> and ` stays"},
	}
	for _, tt := range tests {
		if got := string(inline(tt.in)); got != tt.want {
			t.Errorf("inline(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func htmlOf(t *Table) string {
	c := &canvas{}
	t.html(c, 1)
	return c.String()
}

func TestTable(t *testing.T) {
	table := sampleTable()
	wantText := `
method         1 query   10 queries   accuracy   note
─────────────  ───────   ──────────   ────────   ─────────
random search    0.410        0.120       88.2   a|b
plain GP         0.410        0.051          –
cm-BO            0.102*       0.000*     101.5*  <x> & ` + "`y`" + `
`
	if got := "\n" + table.Text(); got != wantText {
		t.Errorf("text\n%s\nwant\n%s", got, wantText)
	}
	html := htmlOf(table)
	elements(t, html)
	if n := strings.Count(html, "<strong>"); n != 3 {
		t.Errorf("%d numbers are emphasised", n)
	}
	if n := strings.Count(html, `scope="row"`); n != 3 {
		t.Errorf("%d row headings", n)
	}
}

func TestBestNumber(t *testing.T) {
	column := func(b Best, v ...float64) *Table {
		table := &Table{Columns: []Column{{}, {Best: b}}}
		for _, x := range v {
			table.Rows = append(table.Rows, []Cell{Str("row"), Num(x, 2)})
		}
		return table
	}
	tests := []struct {
		name string
		t    *Table
		want string
	}{
		{"smallest", column(BestMin, 3, 1, 2), "1.00"},
		{"largest", column(BestMax, 3, 1, 2), "3.00"},
		{"off", column(0, 3, 1, 2), ""},
		{"unknown ones do not count", column(BestMin, math.NaN(), 2, 3), "2.00"},
		{"alone", column(BestMin, 2), ""},
		{"alone among unknown ones", column(BestMin, 2, math.NaN()), ""},
		{"negative infinity", column(BestMin, math.Inf(-1), 2), "−∞"},
	}
	for _, tt := range tests {
		if _, got := tt.t.column(1); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if n := strings.Count(column(BestMin, 1, 1.001, 2).Text(), "*"); n != 2 {
		t.Errorf("%d of two numbers that look the same are emphasised", n)
	}
}

// A heading that reads like the best number is none.
func TestHeadingLikeANumber(t *testing.T) {
	table := &Table{Columns: []Column{{Title: "method"}, {Title: "5", Best: BestMin}}, Rows: [][]Cell{{Str("a"), Num(5, 0)}, {Str("b"), Num(6, 0)}}}
	if got, want := table.Text(), "method  5\n──────  ─\na       5*\nb       6\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRaggedTable(t *testing.T) {
	table := &Table{Columns: Titled("a", "", ""), Rows: [][]Cell{{Str("x"), Num(1, 0)}, {}, {Str("long name"), Num(100, 0), Str("more")}}}
	lines := strings.Split(strings.TrimSuffix(table.Text(), "\n"), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	if utf8.RuneCountInString(lines[2]) != len("long name")+2+3 {
		t.Errorf("%q", lines[2])
	}
	elements(t, htmlOf(table))
	if (&Table{}).Text() != "\n\n" {
		t.Errorf("empty table: %q", (&Table{}).Text())
	}
	elements(t, htmlOf(&Table{}))
}
