package plot

import (
	"io"
	"strconv"
	"strings"
)

// A Page is an HTML page in one file: headings, text, figures and tables in
// the order in which they are added. It needs nothing from the network, follows
// the reader's light or dark theme and prints in black on white.
//
// All text is escaped. In paragraphs, lists, captions and table cells a pair
// of backquotes sets code.
type Page struct {
	title    string
	refresh  int
	body     strings.Builder
	figures  int
	tables   int
	sections []string
}

// NewPage returns an empty page.
func NewPage(title string) *Page { return &Page{title: title} }

// Refresh makes browsers load the page again after so many seconds.
func (p *Page) Refresh(seconds int) { p.refresh = max(seconds, 0) }

// Section begins a section with a heading, listed at the top of pages with at
// least three sections.
func (p *Page) Section(title string) {
	p.sections = append(p.sections, title)
	p.body.WriteString("<h2 id=\"s" + strconv.Itoa(len(p.sections)) + "\">" + escape(title) + "</h2>\n")
}

// Subsection adds a smaller heading.
func (p *Page) Subsection(title string) {
	p.body.WriteString("<h3>" + escape(title) + "</h3>\n")
}

// Text adds one paragraph for each argument.
func (p *Page) Text(paragraphs ...string) {
	for _, s := range paragraphs {
		p.body.WriteString("<p>" + inline(s) + "</p>\n")
	}
}

// List adds a list of points.
func (p *Page) List(items ...string) {
	p.body.WriteString("<ul>\n")
	for _, s := range items {
		p.body.WriteString("<li>" + inline(s) + "</li>\n")
	}
	p.body.WriteString("</ul>\n")
}

// Pre adds text as it is laid out, such as a command or its output; lines that are too
// long for the screen are broken.
func (p *Page) Pre(s string) {
	p.body.WriteString("<pre>" + escape(s) + "</pre>\n")
}

// Figure adds figures under one number and caption, which may be empty: one over
// the width of the page, or several side by side, as many in a row as there is room
// for. Those should be narrow: 540 pixels or less fit a phone.
func (p *Page) Figure(caption string, fs ...*Figure) {
	p.figures++
	n := strconv.Itoa(p.figures)
	p.body.WriteString("<figure>\n<div class=\"panels\">\n")
	for i, f := range fs {
		p.body.WriteString("<div class=\"scroll\">" + f.render("figure"+n+"-"+strconv.Itoa(i+1), false) + "</div>\n")
	}
	p.body.WriteString("</div>\n")
	if caption != "" {
		p.body.WriteString("<figcaption><b>Figure " + n + ".</b> " + inline(caption) + "</figcaption>\n")
	}
	p.body.WriteString("</figure>\n")
}

// Table adds a table; its caption is numbered.
func (p *Page) Table(t *Table) {
	p.tables++
	s := t.html()
	if t.Caption != "" {
		s = strings.Replace(s, "<figcaption>", "<figcaption><b>Table "+strconv.Itoa(p.tables)+".</b> ", 1)
	}
	p.body.WriteString(s)
}

// HTML adds markup as it is, which the caller vouches for.
func (p *Page) HTML(markup string) { p.body.WriteString(markup) }

// String returns the page.
func (p *Page) String() string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n")
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n")
	if p.refresh > 0 {
		b.WriteString("<meta http-equiv=\"refresh\" content=\"" + strconv.Itoa(p.refresh) + "\"/>\n")
	}
	b.WriteString("<title>" + escape(p.title) + "</title>\n<style>\n" + css() + pageCSS + "</style>\n</head>\n<body>\n<main>\n")
	b.WriteString("<h1>" + escape(p.title) + "</h1>\n")
	if len(p.sections) > 2 {
		b.WriteString("<nav aria-label=\"Contents\">")
		for i, s := range p.sections {
			b.WriteString("<a href=\"#s" + strconv.Itoa(i+1) + "\">" + escape(s) + "</a> ")
		}
		b.WriteString("</nav>\n")
	}
	b.WriteString(p.body.String())
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.String()
}

// WriteTo writes the page to w.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, p.String())
	return int64(n), err
}

// inline escapes s and sets what stands between backquotes as code.
func inline(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "`")
		code, after, closed := strings.Cut(rest, "`")
		if !found || !closed {
			b.WriteString(escape(s))
			return b.String()
		}
		b.WriteString(escape(before) + "<code>" + escape(code) + "</code>")
		s = after
	}
}

const pageCSS = `body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.25;margin:.5rem 0 1rem}
h2{font-size:1.3rem;line-height:1.3;margin:2.4rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--grid)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
p,li{max-width:46rem}
a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;margin:0 0 1.2rem;font-size:.95rem}
code,pre{font:.9em/1.45 ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace}
code{background:var(--soft);padding:.1em .3em;border-radius:3px}
pre{background:var(--soft);padding:.8rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere;border-radius:4px}
figure{margin:1.2rem 0 1.8rem}
figure svg{display:block;width:100%;height:auto}
figcaption{color:var(--mute);font-size:.92rem;line-height:1.45;max-width:46rem;margin-top:.3rem}
.table figcaption{margin:0 0 .4rem}
.scroll{overflow-x:auto;scrollbar-width:thin;scrollbar-color:var(--mute) var(--soft)}
@supports not (scrollbar-width:thin){.scroll::-webkit-scrollbar{height:.5rem}.scroll::-webkit-scrollbar-thumb{background:var(--mute);border-radius:.25rem}}
.table .scroll{background:linear-gradient(to right,var(--bg) 2rem,transparent) 0 0/4rem 100% no-repeat local,linear-gradient(to left,var(--bg) 2rem,transparent) 100% 0/4rem 100% no-repeat local,linear-gradient(to right,var(--mute),transparent) 0 0/.8rem 100% no-repeat scroll,linear-gradient(to left,var(--mute),transparent) 100% 0/.8rem 100% no-repeat scroll}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:.6rem 1.2rem}
.panels>*{min-width:0}
table{border-collapse:collapse;margin:0;font-size:.95rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .8rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--grid)}
th:first-child,td:first-child{padding-left:.2rem}
thead th{border-bottom:1px solid var(--axis);vertical-align:bottom}
tbody th{font-weight:400}
tbody th:not(.num){min-width:11em;overflow-wrap:anywhere}
tbody td:not(.num){min-width:5em}
tbody td.long{min-width:13em}
.num{text-align:right;white-space:nowrap}
@media (max-width:30rem){table{font-size:.85rem}th,td{padding:.3rem .4rem}tbody th:not(.num){min-width:6em}}
@media print{body{font-size:11pt}main{max-width:none;padding:0}nav{display:none}
figure,table,pre{break-inside:avoid}h2,h3{break-after:avoid}figure svg{min-width:0!important}.scroll{overflow:visible}}
`
