package plot

import (
	"fmt"
	"strings"

	"github.com/gocmbo/cmbo/internal/each"
)

// A Series is one curve or one cloud of points.
type Series struct {
	// Name is the legend entry; empty for none.
	Name string
	// X and Y are the points. A nil X counts 1, 2, 3, ...; if the lengths differ, the shorter one
	// decides. A point with a NaN or an infinity interrupts the curve.
	X, Y []float64
	// Lo and Hi bound a shaded band, which Step does not concern; nil for none.
	Lo, Hi []float64
	// Step holds each value until the next point, as a best-so-far does.
	Step bool
	// Points draws markers without a line.
	Points bool
	// Plain leaves a curve of up to a dozen points without the markers that it has else.
	Plain bool
	// Bold draws a thicker line.
	Bold bool
	// Style fixes the look, counted from 1; 0 is the first that no other series of the figure has.
	Style int
}

// marked reports whether all points have markers, and not only those without neighbours.
func (s *Series) marked() bool { return s.Points || !s.Plain && s.points() <= 12 }

// points returns the common length of X and Y.
func (s *Series) points() int {
	if s.X == nil {
		return len(s.Y)
	}
	return min(len(s.X), len(s.Y))
}

func (s *Series) band() int { return min(s.points(), len(s.Lo), len(s.Hi)) }

func (s *Series) x(i int) float64 {
	if s.X == nil {
		return float64(i + 1)
	}
	return s.X[i]
}

// known reports whether there is a point i, with finite coordinates.
func (s *Series) known(i int) bool { return i >= 0 && i < s.points() && known(s.x(i), s.Y[i]) }

// A Chart is a panel of curves.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// describe says what is drawn, for screen readers.
func (c *Chart) describe() string {
	var names []string
	for _, s := range c.Series {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	text := "Chart of " + strings.Join(names, ", ") + "; x: " + c.X.Label + "; y: " + c.Y.Label
	if c.Y.Log {
		text += " (logarithmic)"
	}
	return text + "."
}

// A panel is a chart with the looks of its series, the range of its data and, once that is known, its plot area.
type panel struct {
	*Chart
	looks  []int
	ex, ey extent
	at     rect
}

// see lets a point count for the limits.
func (p *panel) see(x, y float64) {
	if known(x, y) && (x > 0 || !p.X.Log) {
		p.ex.add(x)
		if y > 0 || !p.Y.Log {
			p.ey.add(y)
		}
	}
}

// look takes in a series that has this look.
func (p *panel) look(s *Series, look int) {
	p.looks = append(p.looks, look)
	for j := range s.points() {
		p.see(s.x(j), s.Y[j])
	}
	for j := range s.band() {
		p.see(s.x(j), s.Lo[j])
		p.see(s.x(j), s.Hi[j])
	}
}

const (
	tickSize  = 11.0
	labelSize = 12.0
)

func (p *panel) yScale(h float64) *scale { return newScale(&p.Y, p.ey, true, int(h/38)) }

// xScale chooses as many ticks as their labels leave room for.
func (p *panel) xScale(w float64) *scale {
	s := newScale(&p.X, p.ex, false, int(w/45))
	for count := int(w/45) - 1; count >= 2 && !s.fits(w); count-- {
		s = newScale(&p.X, p.ex, false, count)
	}
	for len(s.ticks) > 1 && !s.fits(w) { // every second one, then every fourth ...
		s.ticks = each.Below((len(s.ticks)+1)/2, func(i int) tick { return s.ticks[2*i] })
	}
	return s
}

// tickRoom is the room that the tick labels of a vertical axis take.
func tickRoom(s *scale) float64 {
	var w float64
	for _, t := range s.ticks {
		w = max(w, textWidth(t.label, tickSize))
	}
	return w + 8
}

func (p *panel) draw(c *canvas) {
	r := p.at
	xs, ys := p.xScale(r.w), p.yScale(r.h)
	px := func(x float64) float64 { return r.x + xs.pos(x)*r.w }
	py := func(y float64) float64 { return r.bottom() - ys.pos(y)*r.h }
	p.drawFrame(c, xs, ys, px, py)
	if !p.ex.any {
		c.text("no data", r.x+r.w/2, r.y+r.h/2, labelSize, "middle", "f-mute")
		return
	}
	c.clip(r, 0)
	for i := range p.Series {
		p.Series[i].drawBand(c, p.looks[i], px, py)
	}
	c.add("</svg>")
	c.clip(r, 5) // room for strokes and markers on the border
	for i := range p.Series {
		p.Series[i].drawCurve(c, p.looks[i], px, py)
	}
	c.add("</svg>")
}

func (p *panel) drawFrame(c *canvas, xs, ys *scale, px, py func(float64) float64) {
	r := p.at
	var axes, grid path
	axes.line(r.x, r.y, r.x, r.bottom())
	axes.to(r.right(), r.bottom())
	for _, m := range ys.minor {
		axes.line(r.x, py(m), r.x+4, py(m))
	}
	for _, t := range ys.ticks {
		grid.line(r.x, py(t.at), r.right(), py(t.at))
		c.text(t.label, r.x-6, py(t.at), tickSize, "end", "f-mute")
	}
	for _, m := range xs.minor {
		axes.line(px(m), r.bottom(), px(m), r.bottom()-4)
	}
	for _, t := range xs.ticks {
		grid.line(px(t.at), r.y, px(t.at), r.bottom())
		c.text(t.label, px(t.at), r.bottom()+6+tickSize/2, tickSize, "middle", "f-mute")
	}
	c.path("thin s-grid", &grid)
	c.path("thin s-axis", &axes)
	c.text(shorten(p.X.Label, labelSize, r.w), r.x+r.w/2, r.bottom()+tickSize+11+labelSize/2, labelSize, "middle", "f-fg")
	x, y := r.x-tickRoom(ys)-labelSize/2-2, r.y+r.h/2
	c.add(`<g transform="rotate(-90 %v %v)">`, x, y)
	c.text(shorten(p.Y.Label, labelSize, r.h+20), x, y, labelSize, "middle", "f-fg")
	c.add("</g>")
}

func (s *Series) drawBand(c *canvas, look int, px, py func(float64) float64) {
	var p path
	var from int
	for i := range s.band() + 1 {
		if i < s.band() && known(s.x(i), s.Lo[i], s.Hi[i]) {
			p.to(px(s.x(i)), py(s.Hi[i]))
			continue
		}
		for j := i - 1; j >= from; j-- {
			p.to(px(s.x(j)), py(s.Lo[j]))
		}
		if p.down {
			p.close()
		}
		from = i + 1
	}
	c.path(fmt.Sprintf("f-%d band", look%numColors), &p)
}

func (s *Series) drawCurve(c *canvas, look int, px, py func(float64) float64) {
	c.add("<g><title>%v</title>", s.Name)
	var p path
	for i := range s.points() {
		switch {
		case s.Points || !s.known(i) || !s.known(i-1) && !s.known(i+1):
			p.lift()
			continue
		case s.Step && p.down:
			p.to(px(s.x(i)), py(s.Y[i-1]))
		}
		p.to(px(s.x(i)), py(s.Y[i]))
	}
	c.path(strokeClass(look, s.Bold), &p)
	size := 3.2
	if s.Bold {
		size = 4
	}
	for i := range s.points() {
		if s.known(i) && (s.marked() || !s.known(i-1) && !s.known(i+1)) {
			c.marker(look, px(s.x(i)), py(s.Y[i]), size)
		}
	}
	c.add("</g>")
}
