package plot

import (
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"
)

// A Cell is one entry of a [Table]. Make one with [Str], [Link], [Num], [Sig] or
// [Exact].
type Cell struct {
	text    string
	link    string
	value   float64
	numeric bool
}

// String returns the text that is shown.
func (c Cell) String() string { return c.text }

// Str is a cell of text.
func Str(s string) Cell { return Cell{text: s} }

// Link is a cell of text that leads to a path.
func Link(s, path string) Cell { return Cell{text: s, link: path} }

// Num is a number shown with the given decimals; NaN shows as a dash.
func Num(v float64, decimals int) Cell {
	return Cell{text: fixed(v, max(decimals, 0)), value: v, numeric: true}
}

// Sig is a number shown in at most four significant digits; NaN shows as a
// dash.
func Sig(v float64) Cell { return Cell{text: short(v), value: v, numeric: true} }

// Exact is a number with all the digits that tell it from others, as JSON has it;
// what JSON has no form of shows as a dash.
func Exact(v float64) Cell {
	b, err := json.Marshal(v)
	if err != nil {
		return Cell{text: fixed(math.NaN(), 0), value: math.NaN(), numeric: true}
	}
	return Cell{text: string(b), value: v, numeric: true}
}

// Best says which number of a column a table emphasises.
type Best int

const (
	// BestNone emphasises nothing.
	BestNone Best = iota
	// BestMin emphasises the smallest number, and all that look the same.
	BestMin
	// BestMax emphasises the largest number, and all that look the same.
	BestMax
)

// A Column describes one column of a [Table].
type Column struct {
	Title string
	Best  Best
}

// Titled describes columns by their titles alone.
func Titled(titles ...string) []Column {
	var cs []Column
	for _, t := range titles {
		cs = append(cs, Column{Title: t})
	}
	return cs
}

// A Table is a table of text and numbers. Columns whose cells are numbers are
// aligned at the right; a fixed number of decimals aligns their points. The
// first column names the rows.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
}

// width is the number of columns, of which the longest row may have more than
// are described.
func (t *Table) width() int {
	n := len(t.Columns)
	for _, r := range t.Rows {
		n = max(n, len(r))
	}
	return n
}

func (t *Table) cell(i, j int) Cell {
	if j < len(t.Rows[i]) {
		return t.Rows[i][j]
	}
	return Cell{}
}

func (t *Table) heading(j int) string {
	if j < len(t.Columns) {
		return t.Columns[j].Title
	}
	return ""
}

// looks tells of each column whether it is numeric, and its best text.
func (t *Table) looks() (numeric []bool, best []string) {
	for j := range t.width() {
		numeric, best = append(numeric, t.numeric(j)), append(best, t.best(j))
	}
	return numeric, best
}

// numeric reports whether column j holds numbers and nothing else.
func (t *Table) numeric(j int) bool {
	found := false
	for i := range t.Rows {
		c := t.cell(i, j)
		if !c.numeric && c.text != "" {
			return false
		}
		found = found || c.numeric
	}
	return found
}

// best returns the text to emphasise in column j, empty for none.
func (t *Table) best(j int) string {
	if j >= len(t.Columns) || t.Columns[j].Best == BestNone {
		return ""
	}
	text, best, count := "", math.NaN(), 0
	for i := range t.Rows {
		c := t.cell(i, j)
		if !c.numeric || math.IsNaN(c.value) {
			continue
		}
		count++
		v := c.value
		if t.Columns[j].Best == BestMax {
			v = -v
		}
		if math.IsNaN(best) || v < best {
			text, best = c.text, v
		}
	}
	if count < 2 { // nothing to be better than
		return ""
	}
	return text
}

// html returns the table as an HTML element, captioned like a figure: a caption
// proper would be squeezed to the width of the table.
func (t *Table) html() string {
	c := &canvas{}
	c.raw("<figure class=\"table\">\n")
	if t.Caption != "" {
		c.raw("<figcaption>" + inline(t.Caption) + "</figcaption>\n")
	}
	c.raw("<div class=\"scroll\"><table>\n")
	numeric, best := t.looks()
	c.raw("<thead><tr>")
	for j := range numeric {
		c.open("th", "scope", "col", "class", class(numeric[j], "num"))
		c.raw(inline(t.heading(j)) + "</th>")
	}
	c.raw("</tr></thead>\n<tbody>\n")
	for i := range t.Rows {
		c.raw("<tr>")
		for j := range numeric {
			cell := t.cell(i, j)
			name := "td"
			if j == 0 {
				name = "th"
				c.open(name, "scope", "row", "class", class(numeric[j], "num"))
			} else {
				c.open(name, "class", class(numeric[j], "num")+class(utf8.RuneCountInString(cell.text) > longCell && !numeric[j], "long"))
			}
			switch {
			case cell.link != "":
				c.raw("<a href=\"" + escape(cell.link) + "\">" + escape(cell.text) + "</a>")
			case cell.numeric && cell.text == best[j]:
				c.raw("<strong>" + escape(cell.text) + "</strong>")
			default:
				c.raw(inline(cell.text))
			}
			c.raw("</" + name + ">")
		}
		c.raw("</tr>\n")
	}
	c.raw("</tbody></table></div>\n</figure>\n")
	return c.b.String()
}

// longCell is the number of characters beyond which the text of a cell asks for a
// column that is not narrow.
const longCell = 16

func class(on bool, name string) string {
	if on {
		return name
	}
	return ""
}

// Text returns the table as lines of plain text, columns two spaces apart and
// a star after emphasised numbers. The caption is left out.
func (t *Table) Text() string {
	numeric, best := t.looks()
	width := make([]int, len(best))
	for j := range width {
		width[j] = utf8.RuneCountInString(t.heading(j))
		for i := range t.Rows {
			width[j] = max(width[j], utf8.RuneCountInString(t.cell(i, j).text))
		}
	}
	var b strings.Builder
	line := func(text func(j int) (string, bool)) {
		var row strings.Builder
		for j := range width {
			if j > 0 {
				row.WriteString("  ")
			}
			s, star := text(j)
			pad := strings.Repeat(" ", width[j]-utf8.RuneCountInString(s))
			if numeric[j] {
				row.WriteString(pad + s)
			} else {
				row.WriteString(s + pad)
			}
			if best[j] != "" {
				row.WriteString(map[bool]string{true: "*", false: " "}[star])
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	line(func(j int) (string, bool) { return t.heading(j), false })
	line(func(j int) (string, bool) { return strings.Repeat("─", width[j]), false })
	for i := range t.Rows {
		line(func(j int) (string, bool) {
			cell := t.cell(i, j)
			return cell.text, cell.numeric && cell.text == best[j]
		})
	}
	return b.String()
}
