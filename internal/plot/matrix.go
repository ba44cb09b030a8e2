package plot

import (
	"math"
	"strings"
)

// A Matrix is a panel of coloured cells: a small heat map, or a table of
// classes such as which task belongs to which cluster.
type Matrix struct {
	Title      string
	Rows, Cols []string
	// Values holds a row of cells for each of Rows. Missing and unknown cells
	// stay empty.
	Values [][]float64
	// Format writes the text in a cell; nil for none, and then a colour bar
	// explains a heat map.
	Format func(v float64) string
	// Classes makes the values indices of these names, each with a colour and
	// a legend entry, instead of a heat map.
	Classes []string
	// Min and Max are the values of the faintest and the strongest colour if
	// Min < Max; else the data's own.
	Min, Max float64
	// XLabel and YLabel name columns and rows.
	XLabel, YLabel string
}

// matrixView is a matrix being laid out.
type matrixView struct {
	m     *Matrix
	looks []int
	e     extent
	row   float64 // longest row name
	col   float64 // longest column name, if slanted
}

const (
	cellHeight  = 20.0
	maxCell     = 90.0
	barWidth    = 10.0
	maxHeat     = 0.85 // opacity of the strongest colour; text stays readable on it
	maxRowName  = 220.0
	maxColName  = 110.0
	matrixSpace = 8.0
)

func (m *Matrix) title() string     { return m.Title }
func (m *Matrix) reserve(s *styles) {}

func (m *Matrix) view(st *styles) view {
	v := &matrixView{m: m}
	for i, name := range m.Classes {
		look := st.look(name, 0, i)
		v.looks = append(v.looks, look)
		st.list(entry{name: name, glyph: boxGlyph, style: look, opacity: 0.6})
	}
	for i := range m.Rows {
		for j := range m.Cols {
			if x, ok := m.cell(i, j); ok {
				v.e.add(x)
			}
		}
	}
	if m.Min < m.Max {
		v.e = extent{m.Min, m.Max, true}
	}
	return v
}

// cell returns a value and whether it is there.
func (m *Matrix) cell(i, j int) (float64, bool) {
	if i >= len(m.Values) || j >= len(m.Values[i]) || !known(m.Values[i][j]) {
		return 0, false
	}
	return m.Values[i][j], true
}

func (v *matrixView) extents() (x, y extent) { return extent{}, extent{} }
func (v *matrixView) share(x, y extent)      {}

func (v *matrixView) fit(cell float64) {
	v.row, v.col = min(maxRowName, 0.4*cell), min(maxColName, 0.3*cell)
}

func (v *matrixView) plotHeight(float64) float64 {
	return max(1, float64(len(v.m.Rows))) * cellHeight
}

// bar reports whether the panel needs a colour bar.
func (v *matrixView) bar() bool {
	return v.m.Format == nil && len(v.m.Classes) == 0 && v.e.any
}

func (v *matrixView) sides(float64) (left, right float64) {
	for _, name := range v.m.Rows {
		left = max(left, min(textWidth(name, tickSize), v.row))
	}
	left += matrixSpace
	if v.m.YLabel != "" {
		left += labelSize + 8
	}
	right = 12
	if v.bar() {
		right += barWidth + 12 + max(textWidth(short(v.e.lo), tickSize-1), textWidth(short(v.e.hi), tickSize-1))
	}
	return left, right
}

func (v *matrixView) cellWidth(w float64) float64 {
	return min(maxCell, w/max(1, float64(len(v.m.Cols))))
}

func (v *matrixView) slanted(w float64) bool {
	for _, name := range v.m.Cols {
		if textWidth(name, tickSize)+4 > v.cellWidth(w) {
			return true
		}
	}
	return false
}

func (v *matrixView) ends(w float64) ends {
	e := ends{top: tickSize + 8, bottom: 6}
	if v.bar() {
		e.bottom = max(e.bottom, v.barHeight()-v.plotHeight(0)+6)
	}
	if v.slanted(w) {
		longest := 0.0
		for _, name := range v.m.Cols {
			longest = max(longest, min(textWidth(name, tickSize), v.col))
		}
		angle := slant * math.Pi / 180
		e.top = longest*math.Sin(angle) + tickSize + 4
		cell := v.cellWidth(w)
		for j, name := range v.m.Cols {
			x := (float64(j) + 0.5) * cell
			e.right = max(e.right, x+min(textWidth(name, tickSize), v.col)*math.Cos(angle)+tickSize-w)
		}
	}
	if v.m.XLabel != "" {
		e.top += labelSize + 4
	}
	return e
}

func (v *matrixView) draw(c *canvas, r rect) {
	m := v.m
	cell := v.cellWidth(r.w)
	slanted := v.slanted(r.w)
	left := 0.0
	for i, name := range m.Rows {
		left = max(left, min(textWidth(name, tickSize), v.row)+matrixSpace)
		c.text(shorten(name, tickSize, v.row), r.x-6, r.y+(float64(i)+0.5)*cellHeight, tickSize, end, "f-fg", 0)
	}
	for j, name := range m.Cols {
		x := r.x + (float64(j)+0.5)*cell
		if slanted {
			c.text(shorten(name, tickSize, v.col), x-3, r.y-4-tickSize/2, tickSize, start, "f-fg", slant)
		} else {
			c.text(name, x, r.y-4-tickSize/2, tickSize, middle, "f-fg", 0)
		}
	}
	if m.XLabel != "" {
		c.text(shorten(m.XLabel, labelSize, r.w), r.x+cell*float64(len(m.Cols))/2, r.y-v.ends(r.w).top+labelSize/2, labelSize, middle, "f-fg", 0)
	}
	if m.YLabel != "" {
		axisLabels(c, r, &Axis{}, &Axis{Label: m.YLabel}, left, 0)
	}
	if len(m.Rows) == 0 || len(m.Cols) == 0 {
		c.text("no data", r.x+r.w/2, r.y+r.h/2, labelSize, middle, "f-mute", 0)
		return
	}
	for i, row := range m.Rows {
		for j, col := range m.Cols {
			x, ok := m.cell(i, j)
			q := rect{r.x + float64(j)*cell, r.y + float64(i)*cellHeight, cell, cellHeight}
			if !ok {
				c.rect(q, "f-soft s-bg", "")
				continue
			}
			class, opacity, text := v.paint(x)
			title := row + ", " + col + ": " + short(x)
			if len(m.Classes) > 0 {
				title = row + ", " + col
				if k := int(x); float64(k) == x && k >= 0 && k < len(m.Classes) {
					title += ": " + m.Classes[k]
				}
			}
			c.rect(q, class+" s-bg", title, "fill-opacity", number(opacity))
			if m.Format != nil {
				text = m.Format(x)
			}
			c.text(shorten(text, tickSize, cell-2), q.x+q.w/2, q.y+q.h/2, tickSize, middle, "f-fg", 0)
		}
	}
	if v.bar() {
		v.drawBar(c, r.x+cell*float64(len(m.Cols))+12, r)
	}
}

// paint returns the colour of a value.
func (v *matrixView) paint(x float64) (class string, opacity float64, text string) {
	if n := len(v.m.Classes); n > 0 {
		k := int(x)
		if float64(k) != x || k < 0 || k >= n {
			return "f-soft", 1, ""
		}
		return fillClass(v.looks[k]), 0.6, ""
	}
	return fillClass(heatLook), v.heat(x), ""
}

// heatLook is the look whose colour heat maps shade.
const heatLook = 6

func (v *matrixView) heat(x float64) float64 {
	t := 1.0
	if v.e.hi > v.e.lo {
		t = min(max((x-v.e.lo)/(v.e.hi-v.e.lo), 0), 1)
	}
	return 0.04 + (maxHeat-0.04)*t
}

func (v *matrixView) barHeight() float64 {
	return min(max(v.plotHeight(0), 3*cellHeight), 6*cellHeight)
}

// drawBar draws the colour bar at x, in steps so that no gradient has to be
// named.
func (v *matrixView) drawBar(c *canvas, x float64, r rect) {
	h := v.barHeight()
	const steps = 24
	for i := range steps {
		t := (float64(i) + 0.5) / steps
		c.rect(rect{x, r.y + h*(1-float64(i+1)/steps), barWidth, h/steps + 0.3}, fillClass(heatLook), "",
			"fill-opacity", number(v.heat(v.e.lo+t*(v.e.hi-v.e.lo))))
	}
	c.text(short(v.e.hi), x+barWidth+4, r.y+tickSize/2, tickSize-1, start, "f-mute", 0)
	c.text(short(v.e.lo), x+barWidth+4, r.y+h-tickSize/2, tickSize-1, start, "f-mute", 0)
}

func (v *matrixView) describe() string {
	s := "Table of cells"
	if len(v.m.Rows) > 0 {
		s += "; rows: " + strings.Join(v.m.Rows, ", ")
	}
	if len(v.m.Cols) > 0 {
		s += "; columns: " + strings.Join(v.m.Cols, ", ")
	}
	return s
}
