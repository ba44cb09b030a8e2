package plot

const (
	legendSize  = 12.0
	lineWidth   = 28.0 // of the glyph of a line
	pointWidth  = 16.0
	glyphGap    = 6.0
	legendRow   = 19.0
	legendGap   = 22.0
	legendSpace = 14.0 // between panels and legend
)

// legendLayout is where the entries go, relative to the legend's corner.
type legendLayout struct {
	entry  []entry
	x, y   []float64
	name   []string
	glyph  float64 // width of the widest glyph
	width  float64
	height float64
}

// layoutLegend arranges the entries in rows of a width.
func layoutLegend(entries []entry, width float64) legendLayout {
	var l legendLayout
	l.entry = entries
	l.glyph = pointWidth
	for _, e := range entries {
		if e.glyph == lineGlyph || e.glyph == ruleGlyph {
			l.glyph = lineWidth
		}
	}
	entryWidth := func(name string) float64 { return l.glyph + glyphGap + textWidth(name, legendSize) }
	add := func(e entry, x, y, room float64) {
		name := shorten(e.name, legendSize, room-l.glyph-glyphGap)
		l.name = append(l.name, name)
		l.x, l.y = append(l.x, x), append(l.y, y)
		l.width = max(l.width, x+entryWidth(name))
		l.height = max(l.height, y+legendRow)
	}
	widest, total := 0.0, 0.0
	for _, e := range entries {
		widest = max(widest, min(entryWidth(e.name), width))
		total += entryWidth(e.name) + legendGap
	}
	if total-legendGap <= width { // one row, each entry as wide as it is
		x := 0.0
		for _, e := range entries {
			add(e, x, 0, width)
			x += entryWidth(e.name) + legendGap
		}
		return l
	}
	columns := max(1, int((width+legendGap)/(widest+legendGap)))
	rows := (len(entries) + columns - 1) / columns
	columns = (len(entries) + rows - 1) / rows // as even as the rows allow
	for i, e := range entries {
		add(e, float64(i%columns)*(widest+legendGap), float64(i/columns)*legendRow, widest)
	}
	return l
}

// draw writes the legend with its corner at (x, y).
func (l *legendLayout) draw(c *canvas, x, y float64) {
	for i, e := range l.entry {
		ex, ey := x+l.x[i], y+l.y[i]+legendRow/2
		c.open("g")
		if l.name[i] != e.name {
			c.raw("<title>" + escape(e.name) + "</title>")
		}
		c.raw("\n")
		switch e.glyph {
		case lineGlyph:
			if e.band {
				c.rect(rect{ex, ey - 5, lineWidth, 10}, fillClass(e.style)+" band")
			}
			c.line(ex, ey, ex+lineWidth, ey, strokeClass(e.style, e.bold))
			if e.markers {
				c.marker(e.style, ex+lineWidth/2, ey, 3.2, "")
			}
		case pointGlyph:
			c.marker(e.style, ex+l.glyph/2, ey, 3.6, "")
		case ruleGlyph:
			c.line(ex, ey, ex+lineWidth, ey, "thin s-mute ref")
		}
		c.text(l.name[i], ex+l.glyph+glyphGap, ey, legendSize, start, "f-fg", 0)
		c.close("g")
	}
}
