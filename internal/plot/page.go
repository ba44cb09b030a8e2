package plot

import "strings"

// A Page is an HTML page in one file: headings, text, figures and tables in the order in which they are added. It needs
// nothing from the network, follows the reader's light or dark theme and prints in black on white.
//
// All text is escaped. In paragraphs, lists, captions and table cells a pair of backquotes sets code.
type Page struct {
	title    string
	refresh  int
	body     canvas
	figures  int
	tables   int
	sections []string
}

// NewPage returns an empty page.
func NewPage(title string) *Page { return &Page{title: title} }

// Refresh makes browsers load the page again after so many seconds, never if there are none.
func (p *Page) Refresh(seconds int) { p.refresh = seconds }

// Section begins a section with a heading, listed at the top of pages with at least three sections.
func (p *Page) Section(title string) {
	p.sections = append(p.sections, title)
	p.body.add(`<h2 id="s%v">%v</h2>`, len(p.sections), title)
}

// Subsection adds a smaller heading.
func (p *Page) Subsection(title string) { p.body.add("<h3>%v</h3>", title) }

// Text adds one paragraph for each argument.
func (p *Page) Text(paragraphs ...string) {
	for _, s := range paragraphs {
		p.body.add("<p>%v</p>", inline(s))
	}
}

// List adds a list of points.
func (p *Page) List(items ...string) {
	p.body.add("<ul>")
	for _, s := range items {
		p.body.add("<li>%v</li>", inline(s))
	}
	p.body.add("</ul>")
}

// Pre adds text as it is laid out, such as a command or its output; lines that are too long for the screen are broken.
func (p *Page) Pre(s string) { p.body.add("<pre>%v</pre>", s) }

// Figure adds figures under one number and caption: one over the width of the page, or several side by side, as many in a
// row as there is room for. Those should be narrow: 540 pixels or less fit a phone.
func (p *Page) Figure(caption string, fs ...*Figure) {
	p.figures++
	p.body.add("<figure>\n<div class=\"panels\">")
	for _, f := range fs {
		p.body.add(`<div class="scroll">%v</div>`, markup(f.render(false)))
	}
	p.body.add("</div>\n<figcaption><b>Figure %v.</b> %v</figcaption>\n</figure>", p.figures, inline(caption))
}

// Table adds a table; its caption is numbered.
func (p *Page) Table(t *Table) {
	p.tables++
	t.html(&p.body, p.tables)
}

// HTML adds markup as it is, which the caller vouches for.
func (p *Page) HTML(s string) { p.body.WriteString(s) }

// String returns the page.
func (p *Page) String() string {
	c := &canvas{}
	c.add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>")
	c.add(`<meta name="viewport" content="width=device-width, initial-scale=1"/>`)
	if p.refresh > 0 {
		c.add(`<meta http-equiv="refresh" content="%v"/>`, p.refresh)
	}
	c.add("<title>%v</title>\n<style>\n%v</style>\n</head>",
		p.title, markup(css()+themed(":root{--NAME:COLOR}")+"\n"+pageCSS))
	c.add("<body>\n<main>\n<h1>%v</h1>", p.title)
	if len(p.sections) > 2 {
		c.add(`<nav aria-label="Contents">`)
		for i, s := range p.sections {
			c.add(`<a href="#s%v">%v</a>`, i+1, s)
		}
		c.add("</nav>")
	}
	c.add("%v</main>\n</body>\n</html>", markup(p.body.String()))
	return c.String()
}

// inline escapes s and sets what stands between backquotes as code.
func inline(s string) markup {
	parts := strings.Split(escape(s), "`")
	for i := 1; i < len(parts)-1; i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	if n := len(parts); n%2 == 0 { // one without another
		parts[n-1] = "`" + parts[n-1]
	}
	return markup(strings.Join(parts, ""))
}

const pageCSS = `body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.25;margin:.5rem 0 1rem}
h2{font-size:1.3rem;line-height:1.3;margin:2.4rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--grid)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
p,li,figcaption{max-width:46rem}
a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;margin:0 0 1.2rem;font-size:.95rem}
code,pre{font:.9em/1.45 ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;background:var(--soft);border-radius:4px}
code{padding:.1em .3em}
pre{padding:.8rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}
figure{margin:1.2rem 0 1.8rem}
figure svg{display:block;width:100%;height:auto}
figcaption{color:var(--mute);font-size:.92rem;line-height:1.45;margin:.3rem 0 .4rem}
.scroll{overflow-x:auto;scrollbar-width:thin;scrollbar-color:var(--mute) var(--soft)}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:.6rem 1.2rem}
.panels>*{min-width:0}
table{border-collapse:collapse;font-size:.95rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .8rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--grid)}
th:first-child,td:first-child{padding-left:.2rem}
thead th{border-bottom:1px solid var(--axis);vertical-align:bottom}
tbody th{font-weight:400;overflow-wrap:anywhere}
tbody th:not(.num){min-width:6em}
tbody td:not(.num){min-width:5em}
.num{text-align:right;white-space:nowrap}
@media (max-width:30rem){table{font-size:.85rem}th,td{padding:.3rem .4rem}}
@media print{body{font-size:11pt}main{max-width:none;padding:0}nav{display:none}
figure,table,pre{break-inside:avoid}h2,h3{break-after:avoid}figure svg{min-width:0!important}.scroll{overflow:visible}}
`
