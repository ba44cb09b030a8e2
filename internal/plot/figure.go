package plot

import (
	"strings"
)

// A Figure is a grid of panels with one legend.
type Figure struct {
	// Title stands above the panels and names the figure for screen readers.
	Title string
	// Desc describes it for screen readers; empty for a list of what is drawn.
	Desc string
	// Panels fill the grid row by row.
	Panels []Panel
	// Columns is the number of panels in a row; 0 stands for at most two, or
	// three if there are more than four panels.
	Columns int
	// Width is the figure's width in pixels before scaling; outside of 120 to
	// 20,000 it is 900. A figure whose labels leave its panels no room becomes
	// wider.
	Width float64
	// Height is the height of a chart's plot area; outside of 40 to 20,000 it
	// is 240. Lying bars and matrices are as high as they need.
	Height float64
	// Legend places the legend.
	Legend LegendPlace
	// ShareX and ShareY give all panels the same free axis limits.
	ShareX, ShareY bool
}

// A Panel is one cell of a figure's grid: a [*Chart], [*Bars] or [*Matrix].
type Panel interface {
	title() string
	// reserve takes the looks that are fixed, before others are chosen.
	reserve(s *styles)
	// view prepares the layout and lists legend entries.
	view(s *styles) view
}

// A view is a panel with its looks chosen, ready to be measured and drawn.
type view interface {
	extents() (x, y extent)
	share(x, y extent)
	// fit tells the panel how wide its cell is, before it is measured.
	fit(cell float64)
	plotHeight(standard float64) float64
	// sides is the room needed beside a plot area of height h.
	sides(h float64) (left, right float64)
	// ends is the room needed around one of width w.
	ends(w float64) ends
	draw(c *canvas, plot rect)
	describe() string
}

// ends is the room a panel needs above and below its plot area, and the least
// it needs beside it for labels of the horizontal axis that stick out.
type ends struct{ top, bottom, left, right float64 }

const (
	outer      = 10.0 // margin around everything
	panelGap   = 22.0
	titleSize  = 15.0
	panelTitle = 13.0
	minPlot    = 60.0
)

// A layout is where the parts of a figure lie.
type layout struct {
	width, height float64
	titles        []string  // lines of the figure's title
	plots         []rect    // plot areas
	tops          []float64 // upper ends of the panels' titles
	panelTitles   [][]string
	legend        legendLayout
	legendAt      rect
}

// SVG returns the figure as a complete SVG file with its own style sheet.
func (f *Figure) SVG() string {
	return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + f.render("", true)
}

// Inline returns the figure as an SVG element for an HTML page that has the
// style sheet [CSS]. The id must be unique in the page; it begins the names of
// the parts that describe the figure.
func (f *Figure) Inline(id string) string { return f.render(id, false) }

func (f *Figure) render(id string, alone bool) string {
	c := &canvas{}
	views, l := f.layout()
	w, h := number(l.width), number(l.height)
	attributes := []string{"class", "plot", "viewBox", "0 0 " + w + " " + h, "width", w, "height", h, "role", "img"}
	if id == "" {
		id = "figure"
	}
	attributes = append(attributes, "aria-labelledby", id+"-title "+id+"-desc")
	if alone {
		attributes = append(attributes, "xmlns", "http://www.w3.org/2000/svg")
	} else {
		attributes = append(attributes, "style", "max-width:"+w+"px;min-width:"+number(0.6*l.width)+"px") // never blown up, and legible on a phone
	}
	c.open("svg", attributes...)
	c.raw("\n")
	c.open("title", "id", id+"-title")
	c.raw(Escape(f.name()))
	c.close("title")
	c.open("desc", "id", id+"-desc")
	c.raw(Escape(f.describe(views)))
	c.close("desc")
	if alone {
		c.raw("<style>\n" + CSS() + "</style>\n")
	}
	f.draw(c, views, l)
	c.close("svg")
	return c.b.String()
}

// name is the accessible name.
func (f *Figure) name() string {
	if f.Title != "" {
		return f.Title
	}
	var titles []string
	for _, p := range f.Panels {
		if t := p.title(); t != "" {
			titles = append(titles, t)
		}
	}
	if len(titles) == 0 {
		return "Chart"
	}
	return strings.Join(titles, "; ")
}

func (f *Figure) describe(views []view) string {
	if f.Desc != "" {
		return f.Desc
	}
	var parts []string
	for i, v := range views {
		s := v.describe()
		if t := f.Panels[i].title(); t != "" && t != f.name() {
			s = t + ": " + s
		}
		parts = append(parts, s+".")
	}
	return strings.Join(parts, " ")
}

// views chooses looks and axis limits.
func (f *Figure) views() ([]view, []entry) {
	st := newStyles()
	for _, p := range f.Panels {
		p.reserve(st)
	}
	var views []view
	for _, p := range f.Panels {
		views = append(views, p.view(st))
	}
	var x, y extent
	for _, v := range views {
		ex, ey := v.extents()
		x.merge(ex)
		y.merge(ey)
	}
	if !f.ShareX {
		x = extent{}
	}
	if !f.ShareY {
		y = extent{}
	}
	for _, v := range views {
		v.share(x, y)
	}
	return views, st.entries
}

func (f *Figure) columns() int {
	n := f.Columns
	if n <= 0 {
		n = 2
		if len(f.Panels) > 4 {
			n = 3
		}
	}
	return max(1, min(n, len(f.Panels)))
}

// layout places everything: the legend first, since a column at the right
// narrows the grid; then, column by column, the widths; then, row by row, the
// heights.
func (f *Figure) layout() ([]view, *layout) {
	views, entries := f.views()
	l := &layout{width: f.Width}
	if !(l.width >= 120 && l.width <= 20000) {
		l.width = 900
	}
	standard := f.Height
	if !(standard >= 40 && standard <= 20000) {
		standard = 240
	}
	inner := l.width - 2*outer
	l.legend = layoutLegend(entries, f.Legend, inner)
	grid := inner
	if l.legend.place == LegendRight {
		grid -= l.legend.width + legendSpace
	}
	y := outer
	l.titles = wrap(f.Title, titleSize*1.05, inner)
	y += float64(len(l.titles)) * (titleSize + 5)
	if len(l.titles) > 0 {
		y += 4
	}

	n := f.columns()
	cell := (grid - panelGap*float64(n-1)) / float64(n)
	rows := (len(views) + n - 1) / n
	rowHeight := func(row int) float64 {
		var h float64
		for i := row * n; i < min(len(views), row*n+n); i++ {
			h = max(h, views[i].plotHeight(standard))
		}
		return h
	}
	left, right := make([]float64, n), make([]float64, n)
	for i, v := range views {
		v.fit(cell)
		a, b := v.sides(v.plotHeight(rowHeight(i / n)))
		left[i%n], right[i%n] = max(left[i%n], a), max(right[i%n], b)
	}
	for i, v := range views { // labels at the end of a horizontal axis
		e := v.ends(max(minPlot, cell-left[i%n]-right[i%n]))
		left[i%n] = max(left[i%n], min(e.left, cell/3))
		right[i%n] = max(right[i%n], min(e.right+2, cell/3))
	}
	for k := range n {
		if lack := left[k] + right[k] + minPlot - cell; lack > 0 {
			cell += lack
			l.width += lack * float64(n)
		}
	}
	l.plots = make([]rect, len(views))
	l.panelTitles = make([][]string, len(views))
	l.tops = make([]float64, len(views))
	for row := range rows {
		var top, bottom float64
		for i := row * n; i < min(len(views), row*n+n); i++ {
			k := i % n
			l.panelTitles[i] = wrap(f.Panels[i].title(), panelTitle*1.05, cell-left[k])
			w := cell - left[k] - right[k]
			e := views[i].ends(w)
			t := e.top + float64(len(l.panelTitles[i]))*(panelTitle+4)
			l.tops[i] = t
			top, bottom = max(top, t), max(bottom, e.bottom)
		}
		h := rowHeight(row)
		for i := row * n; i < min(len(views), row*n+n); i++ {
			k := i % n
			x := outer + float64(k)*(cell+panelGap)
			l.tops[i] = y + top - l.tops[i]
			l.plots[i] = rect{x + left[k], y + top, cell - left[k] - right[k], views[i].plotHeight(h)}
		}
		y += top + h + bottom
		if row < rows-1 {
			y += panelGap
		}
	}
	switch l.legend.place {
	case LegendBelow:
		y += legendSpace
		x := outer
		if len(l.plots) > 0 {
			if x0 := l.plots[0].x; x0+l.legend.width <= l.width-outer {
				x = x0
			}
		}
		l.legendAt = rect{x, y, l.legend.width, l.legend.height}
		y += l.legend.height
	case LegendRight:
		top := y
		if len(l.plots) > 0 {
			top = l.plots[0].y
		}
		l.legendAt = rect{l.width - outer - l.legend.width, top, l.legend.width, l.legend.height}
		y = max(y, l.legendAt.bottom())
	}
	l.height = y + outer
	return views, l
}

func (f *Figure) draw(c *canvas, views []view, l *layout) {
	c.rect(rect{0, 0, l.width, l.height}, "f-bg", "")
	y := outer
	for _, line := range l.titles {
		c.text(line, outer, y+titleSize/2, titleSize, start, "f-fg b", 0)
		y += titleSize + 5
	}
	for i, v := range views {
		c.open("g")
		c.raw("\n")
		ty := l.tops[i]
		for _, line := range l.panelTitles[i] {
			c.text(line, l.plots[i].x, ty+panelTitle/2, panelTitle, start, "f-fg b", 0)
			ty += panelTitle + 4
		}
		v.draw(c, l.plots[i])
		c.close("g")
	}
	l.legend.draw(c, l.legendAt.x, l.legendAt.y)
}
