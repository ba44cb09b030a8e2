package plot

import "strings"

// A Figure is a grid of charts with one legend below it.
type Figure struct {
	// Title stands above the panels and names the figure for screen readers.
	Title string
	// Panels fill the grid row by row.
	Panels []*Chart
	// Columns is the number of panels in a row; 0 stands for at most two, or
	// three if there are more than four panels.
	Columns int
	// Width is the figure's width in pixels before scaling; outside of 120 to
	// 20,000 it is 900. A figure whose labels leave its panels no room becomes
	// wider.
	Width float64
	// Height is the height of a plot area; outside of 40 to 20,000 it is 240.
	Height float64
}

const (
	outer      = 10.0 // margin around everything
	panelGap   = 22.0
	titleSize  = 15.0
	panelTitle = 13.0
	minPlot    = 60.0
	plotMargin = 12.0 // right of a plot area
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
	return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + f.render("figure", true)
}

// render returns the figure as an SVG element, for a file that stands alone or for
// a page with the style sheet of [css]. The id must be unique there; it begins the
// names of the parts that describe the figure.
func (f *Figure) render(id string, alone bool) string {
	c := &canvas{}
	views, l := f.layout()
	w, h := number(l.width), number(l.height)
	attributes := []string{"class", "plot", "viewBox", "0 0 " + w + " " + h, "width", w, "height", h, "role", "img"}
	attributes = append(attributes, "aria-labelledby", id+"-title "+id+"-desc")
	if alone {
		attributes = append(attributes, "xmlns", "http://www.w3.org/2000/svg")
	} else {
		attributes = append(attributes, "style", "max-width:"+w+"px;min-width:"+number(0.6*l.width)+"px") // never blown up, and legible on a phone
	}
	c.open("svg", attributes...)
	c.raw("\n")
	c.open("title", "id", id+"-title")
	c.raw(escape(f.name()))
	c.close("title")
	c.open("desc", "id", id+"-desc")
	c.raw(escape(f.describe()))
	c.close("desc")
	if alone {
		c.raw("<style>\n" + css() + "</style>\n")
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
		if p.Title != "" {
			titles = append(titles, p.Title)
		}
	}
	if len(titles) == 0 {
		return "Chart"
	}
	return strings.Join(titles, "; ")
}

// describe lists what is drawn, for screen readers.
func (f *Figure) describe() string {
	var parts []string
	for _, p := range f.Panels {
		s := p.describe()
		if p.Title != "" && p.Title != f.name() {
			s = p.Title + ": " + s
		}
		parts = append(parts, s+".")
	}
	return strings.Join(parts, " ")
}

// views chooses looks and axis limits.
func (f *Figure) views() ([]*chartView, []entry) {
	st := &styles{byName: map[string]int{}, listed: map[string]int{}}
	for _, p := range f.Panels {
		for i := range p.Series {
			st.reserve(p.Series[i].Name, p.Series[i].Style)
		}
	}
	var views []*chartView
	for _, p := range f.Panels {
		views = append(views, p.view(st))
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

// layout places everything: column by column the widths, then row by row the
// heights, and the legend at the end.
func (f *Figure) layout() ([]*chartView, *layout) {
	views, entries := f.views()
	l := &layout{width: f.Width}
	if !(l.width >= 120 && l.width <= 20000) {
		l.width = 900
	}
	h := f.Height
	if !(h >= 40 && h <= 20000) {
		h = 240
	}
	inner := l.width - 2*outer
	l.legend = layoutLegend(entries, inner)
	y := outer
	l.titles = wrap(f.Title, titleSize*1.05, inner)
	y += float64(len(l.titles)) * (titleSize + 5)
	if len(l.titles) > 0 {
		y += 4
	}

	n := f.columns()
	cell := (inner - panelGap*float64(n-1)) / float64(n)
	rows := (len(views) + n - 1) / n
	left, right := make([]float64, n), make([]float64, n)
	for i, v := range views {
		left[i%n], right[i%n] = max(left[i%n], v.left(h)), plotMargin
	}
	for i, v := range views { // labels at the end of a horizontal axis
		a, b := overhang(v.xScale(max(minPlot, cell-left[i%n]-plotMargin)), max(minPlot, cell-left[i%n]-plotMargin))
		left[i%n] = max(left[i%n], min(a, cell/3))
		right[i%n] = max(right[i%n], min(b+2, cell/3))
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
			l.panelTitles[i] = wrap(f.Panels[i].Title, panelTitle*1.05, cell-left[i%n])
			l.tops[i] = 7 + float64(len(l.panelTitles[i]))*(panelTitle+4)
			top, bottom = max(top, l.tops[i]), max(bottom, views[i].below())
		}
		for i := row * n; i < min(len(views), row*n+n); i++ {
			k := i % n
			l.tops[i] = y + top - l.tops[i]
			l.plots[i] = rect{outer + float64(k)*(cell+panelGap) + left[k], y + top, cell - left[k] - right[k], h}
		}
		y += top + h + bottom
		if row < rows-1 {
			y += panelGap
		}
	}
	if len(entries) > 0 {
		y += legendSpace
		x := outer
		if len(l.plots) > 0 {
			if x0 := l.plots[0].x; x0+l.legend.width <= l.width-outer {
				x = x0
			}
		}
		l.legendAt = rect{x, y, l.legend.width, l.legend.height}
		y += l.legend.height
	}
	l.height = y + outer
	return views, l
}

func (f *Figure) draw(c *canvas, views []*chartView, l *layout) {
	c.rect(rect{0, 0, l.width, l.height}, "f-bg")
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
