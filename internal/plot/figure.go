package plot

import (
	"cmp"
	"slices"
	"strings"
)

// A Figure is a grid of charts with one legend below it. Its panels have margins alike.
type Figure struct {
	// Title stands above the panels. Titles are cut where there is no room.
	Title string
	// Panels fill the grid row by row.
	Panels []*Chart
	// Columns is the number of panels in a row; 0 stands for two.
	Columns int
	// Width is the figure's width in pixels before scaling, 900 if it is 0. A figure
	// whose labels leave its panels no room becomes wider.
	Width float64
	// Height is the height of a plot area, 240 if it is 0.
	Height float64
}

const (
	outer      = 10.0 // margin around everything
	panelGap   = 22.0
	titleSize  = 15.0
	panelTitle = 13.0
	minPlot    = 60.0
	plotMargin = 12.0 // right of a plot area

	legendSize = 12.0
	legendRow  = 19.0
	legendGap  = 22.0
	lineWidth  = 28.0 // of the line before a name
	nameOffset = lineWidth + 6
)

// A drawing is a figure being drawn, from the top to the bottom.
type drawing struct {
	canvas
	panels []*panel
	legend []entry
	used   [numStyles]int // how many names have a look, or series that fix it
	width  float64
	y      float64 // how far it has come
}

// An entry of a legend is the first series of a name.
type entry struct {
	*Series
	look int
}

// SVG returns the figure as a complete SVG file with its own style sheet.
func (f *Figure) SVG() string {
	return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + f.render(true)
}

// render returns the figure as an SVG element, for a file that stands alone or for a page with the style sheet of [css].
func (f *Figure) render(alone bool) string {
	d := f.draw()
	c := &canvas{}
	// On a page it is never blown up, and on a phone it is legible.
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" aria-label="%v"`, f.describe())
	c.add(`viewBox="0 0 %v %v" width="%v" height="%v"`, d.width, d.y, d.width, d.y)
	c.add(`style="max-width:%vpx;min-width:%vpx">`, d.width, 0.6*d.width)
	if alone {
		c.WriteString("<style>\n" + css() + "</style>\n")
	}
	c.WriteString(d.String() + "</svg>\n")
	return c.String()
}

// describe lists what is drawn, for screen readers.
func (f *Figure) describe() string {
	var parts []string
	if f.Title != "" {
		parts = append(parts, f.Title+".")
	}
	for _, p := range f.Panels {
		if p.Title != "" {
			parts = append(parts, p.Title+":")
		}
		parts = append(parts, p.describe())
	}
	return strings.Join(parts, " ")
}

// look returns the look of series i of a chart, and puts its name in the legend.
func (d *drawing) look(s *Series, i int) int {
	k := slices.IndexFunc(d.legend, func(e entry) bool { return e.Name == s.Name })
	look := i
	switch {
	case s.Style > 0:
		look = s.Style - 1
	case k >= 0:
		return d.legend[k].look
	case s.Name != "":
		look = slices.Index(d.used[:], slices.Min(d.used[:]))
		d.used[look]++
	}
	look %= numStyles
	if s.Name != "" && k < 0 {
		d.legend = append(d.legend, entry{s, look})
	}
	return look
}

// place finds the places of the panels, whose margins are what the labels of any of them
// need, and returns the height of their titles.
func (d *drawing) place(columns int, height float64) (top float64) {
	left, bottom, top := 0.0, 6+tickSize+4, 7.0
	for _, p := range d.panels {
		w := tickRoom(p.yScale(height))
		if p.Y.Label != "" {
			w += labelSize + 8
		}
		left = max(left, w)
		if p.X.Label != "" {
			bottom = 6 + tickSize + 4 + labelSize + 5
		}
		if p.Title != "" {
			top = 7 + panelTitle + 4
		}
	}
	n := float64(columns)
	w := max(minPlot, (d.width-2*outer-panelGap*(n-1))/n-left-plotMargin)
	step := left + w + plotMargin + panelGap
	d.width = 2*outer + n*step - panelGap
	for i, p := range d.panels {
		if i > 0 && i%columns == 0 {
			d.y += top + height + bottom + panelGap
		}
		p.at = rect{outer + float64(i%columns)*step + left, d.y + top, w, height}
	}
	d.y += top + height + bottom
	return top
}

func (f *Figure) draw() *drawing {
	d := &drawing{width: cmp.Or(f.Width, 900), y: outer}
	for _, chart := range f.Panels {
		for _, s := range chart.Series {
			if s.Style > 0 {
				d.used[(s.Style-1)%numStyles]++
			}
		}
	}
	for _, chart := range f.Panels {
		p := &panel{Chart: chart}
		for i := range chart.Series {
			p.look(&chart.Series[i], d.look(&chart.Series[i], i))
		}
		d.panels = append(d.panels, p)
	}
	d.WriteString("<rect class=\"f-bg\" width=\"100%\" height=\"100%\"/>\n")
	d.text(shorten(f.Title, titleSize*1.05, d.width-2*outer), outer, d.y+titleSize/2, titleSize, "start", "f-fg b")
	if f.Title != "" {
		d.y += titleSize + 9
	}
	if len(d.panels) > 0 {
		top := d.place(max(1, min(cmp.Or(f.Columns, 2), len(d.panels))), cmp.Or(f.Height, 240))
		for _, p := range d.panels {
			d.text(shorten(p.Title, panelTitle*1.05, p.at.w), p.at.x, p.at.y-top+panelTitle/2, panelTitle, "start", "f-fg b")
			p.draw(&d.canvas)
		}
		d.drawLegend(d.panels[0].at.x)
	}
	d.y += outer
	return d
}

// drawLegend writes the legend in rows that begin at x.
func (d *drawing) drawLegend(left float64) {
	if d.legend == nil {
		return
	}
	d.y += 14
	x := left
	for _, e := range d.legend {
		name := shorten(e.Name, legendSize, d.width-outer-left-nameOffset)
		w := nameOffset + textWidth(name, legendSize)
		if x > left && x+w > d.width-outer {
			x, d.y = left, d.y+legendRow
		}
		y := d.y + legendRow/2
		d.add("<g><title>%v</title>", e.Name)
		if e.band() > 0 {
			d.add(`<rect class="f-%v band" x="%v" y="%v" width="%v" height="10"/>`, e.look%numColors, x, y-5, lineWidth)
		}
		if !e.Points {
			var p path
			p.line(x, y, x+lineWidth, y)
			d.path(strokeClass(e.look, e.Bold), &p)
		}
		if e.marked() {
			d.marker(e.look, x+lineWidth/2, y, 3.4)
		}
		d.text(name, x+nameOffset, y, legendSize, "start", "f-fg")
		d.add("</g>")
		x += w + legendGap
	}
	d.y += legendRow
}
