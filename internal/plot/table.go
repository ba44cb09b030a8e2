package plot

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/internal/each"
)

// A Cell is one entry of a [Table]. Make one with [Str], [Link], [Num] or [Exact].
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

// Exact is a number with all the digits that tell it from others, as JSON has it; what JSON has no form of shows as a dash.
func Exact(v float64) Cell {
	b, err := json.Marshal(v)
	if err != nil {
		return Num(math.NaN(), 0)
	}
	return Cell{text: string(b), value: v, numeric: true}
}

// Best says which number of a column a table emphasises, and all that look the same: none, the smallest or the largest.
type Best int

// The numbers that a table may emphasise.
const (
	BestMin Best = 1
	BestMax Best = -1
)

// A Column describes one column of a [Table].
type Column struct {
	Title string
	Best  Best
}

// Titled describes columns by their titles alone.
func Titled(titles ...string) []Column {
	return each.Of(titles, func(t string) Column { return Column{Title: t} })
}

// A Table is a table of text and numbers. Columns whose cells are numbers are aligned at the right; a fixed number of
// decimals aligns their points. The first column names the rows, which may end before the last column.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
}

// cell returns an entry, empty where the row is too short.
func (t *Table) cell(i, j int) Cell {
	if j < len(t.Rows[i]) {
		return t.Rows[i][j]
	}
	return Cell{}
}

// column reports whether column j holds numbers and nothing else, and returns the text to
// emphasise in it: none if there is no other number to be better than.
func (t *Table) column(j int) (numeric bool, best string) {
	text, numbers := false, 0
	var least float64
	for i := range t.Rows {
		c := t.cell(i, j)
		numeric, text = numeric || c.numeric, text || !c.numeric && c.text != ""
		v := c.value * float64(t.Columns[j].Best)
		if !c.numeric || math.IsNaN(v) {
			continue
		}
		if numbers++; numbers == 1 || v < least {
			best, least = c.text, v
		}
	}
	if numbers < 2 || t.Columns[j].Best == 0 {
		best = ""
	}
	return numeric && !text, best
}

// html writes the table as an HTML element, captioned like a figure: a caption
// proper would be squeezed to the width of the table.
func (t *Table) html(c *canvas, number int) {
	c.add(`<figure class="table">`)
	if t.Caption != "" {
		c.add("<figcaption><b>Table %v.</b> %v</figcaption>", number, inline(t.Caption))
	}
	c.add(`<div class="scroll"><table>`)
	class, best := make([]markup, len(t.Columns)), make([]string, len(t.Columns))
	c.add("<thead><tr>")
	for j, column := range t.Columns {
		numeric, b := t.column(j)
		if best[j] = b; numeric {
			class[j] = ` class="num"`
		}
		c.add(`<th scope="col"%v>%v</th>`, class[j], inline(column.Title))
	}
	c.add("</tr></thead>\n<tbody>")
	for i := range t.Rows {
		c.add("<tr>")
		for j := range t.Columns {
			cell := t.cell(i, j)
			content := inline(cell.text)
			if cell.link != "" {
				content = markup(`<a href="` + escape(cell.link) + `">` + escape(cell.text) + "</a>")
			} else if cell.numeric && cell.text == best[j] {
				content = markup("<strong>" + escape(cell.text) + "</strong>")
			}
			if j == 0 {
				c.add(`<th scope="row"%v>%v</th>`, class[j], content)
			} else {
				c.add(`<td%v>%v</td>`, class[j], content)
			}
		}
		c.add("</tr>")
	}
	c.add("</tbody></table></div>\n</figure>")
}

// Text returns the table as lines of plain text, columns two spaces apart and
// a star after emphasised numbers. The caption is left out.
func (t *Table) Text() string {
	lines := make([]string, 2+len(t.Rows))
	for j, column := range t.Columns {
		numeric, best := t.column(j)
		cells := each.Below(len(t.Rows), func(i int) string { return t.cell(i, j).text })
		texts := append([]string{column.Title, ""}, cells...)
		width := slices.Max(each.Of(texts, utf8.RuneCountInString))
		texts[1] = strings.Repeat("─", width)
		for i, s := range texts {
			if j > 0 {
				lines[i] += "  "
			}
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(s))
			if numeric {
				lines[i] += pad + s
			} else {
				lines[i] += s + pad
			}
			if best != "" && s == best && i > 1 && t.cell(i-2, j).numeric {
				lines[i] += "*"
			} else if best != "" {
				lines[i] += " "
			}
		}
	}
	for i, s := range lines {
		lines[i] = strings.TrimRight(s, " ") + "\n"
	}
	return strings.Join(lines, "")
}
