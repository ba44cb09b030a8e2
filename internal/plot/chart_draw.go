package plot

import (
	"math"
	"slices"
)

func (v *chartView) draw(c *canvas, r rect) {
	xs, ys := v.xScale(r.w), v.yScale(r.h)
	v.drawFrame(c, r, xs, ys)
	if !v.ex.any || !v.ey.any && !v.c.Y.Log {
		c.text("no data", r.x+r.w/2, r.y+r.h/2, labelSize, middle, "f-mute", 0)
		return
	}
	px := func(x float64) float64 {
		if xs.log && x <= 0 {
			return math.NaN()
		}
		return r.x + xs.pos(x)*r.w
	}
	py := func(y float64) float64 { return r.bottom() - ys.pos(y)*r.h }

	c.clip(r, 0)
	for i := range v.c.Series {
		v.drawBand(c, &v.c.Series[i], v.looks[i], px, py)
	}
	c.close("svg")
	c.clip(r, 5) // room for strokes and markers on the border
	for _, rule := range v.c.Rules {
		if y := py(rule.At); !math.IsNaN(y) && !(ys.log && rule.At <= 0) {
			c.line(r.x, y, r.right(), y, "thin s-mute ref")
		}
	}
	for i := range v.c.Series {
		v.drawCurve(c, &v.c.Series[i], v.looks[i], r, px, py)
	}
	c.close("svg")
}

// drawFrame draws grid, axes, tick labels and axis labels of a panel.
func (v *chartView) drawFrame(c *canvas, r rect, xs, ys *scale) {
	c.open("g")
	c.raw("\n")
	var minor, major path
	for _, m := range ys.minor {
		yy := r.bottom() - ys.pos(m)*r.h
		minor.line(r.x, yy, r.x+4, yy)
	}
	for _, t := range ys.ticks {
		yy := r.bottom() - ys.pos(t.at)*r.h
		major.line(r.x, yy, r.right(), yy)
		c.text(t.label, r.x-6, yy, tickSize, end, "f-mute", 0)
	}
	for _, m := range xs.minor {
		xx := r.x + xs.pos(m)*r.w
		minor.line(xx, r.bottom(), xx, r.bottom()-4)
	}
	for _, t := range xs.ticks {
		xx := r.x + xs.pos(t.at)*r.w
		major.line(xx, r.y, xx, r.bottom())
		c.text(t.label, xx, r.bottom()+6+tickSize/2, tickSize, middle, "f-mute", 0)
	}
	if s := major.String(); s != "" {
		c.empty("path", "class", "thin s-grid", "d", s)
	}
	var axes path
	axes.line(r.x, r.y, r.x, r.bottom())
	axes.to(r.right(), r.bottom())
	c.empty("path", "class", "thin s-axis", "d", axes.String())
	if s := minor.String(); s != "" {
		c.empty("path", "class", "thin s-axis", "d", s)
	}
	c.text(shorten(v.c.X.Label, labelSize, r.w), r.x+r.w/2, r.bottom()+tickSize+11+labelSize/2, labelSize, middle, "f-fg", 0)
	c.text(shorten(v.c.Y.Label, labelSize, r.h+20), r.x-leftOf(ys)-labelSize/2-2, r.y+r.h/2, labelSize, middle, "f-fg", 90)
	c.close("g")
}

// leftOf is the room the tick labels of a vertical axis take.
func leftOf(s *scale) float64 {
	var w float64
	for _, t := range s.ticks {
		w = max(w, textWidth(t.label, tickSize))
	}
	return w + 8
}

// runs calls f for each maximal range of points whose coordinates are known.
func runs(n int, known func(i int) bool, f func(from, to int)) {
	for i := 0; i < n; {
		if !known(i) {
			i++
			continue
		}
		j := i
		for j < n && known(j) {
			j++
		}
		f(i, j)
		i = j
	}
}

func known(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func (v *chartView) drawBand(c *canvas, s *Series, look int, px, py func(float64) float64) {
	var p path
	runs(s.band(), func(i int) bool { return known(px(s.x(i)), s.Lo[i], s.Hi[i]) }, func(from, to int) {
		if to-from < 2 {
			x := px(s.x(from)) // a lone interval: a thin box
			p.to(x-3, py(s.Lo[from]))
			p.to(x+3, py(s.Lo[from]))
			p.to(x+3, py(s.Hi[from]))
			p.to(x-3, py(s.Hi[from]))
			p.close()
			return
		}
		for i := from; i < to; i++ {
			p.to(px(s.x(i)), py(s.Hi[i]))
		}
		for i := to - 1; i >= from; i-- {
			p.to(px(s.x(i)), py(s.Lo[i]))
		}
		p.close()
	})
	if d := p.String(); d != "" {
		c.titled(s.Name, "path", "class", fillClass(look)+" band", "d", d)
	}
}

func (v *chartView) drawCurve(c *canvas, s *Series, look int, r rect, px, py func(float64) float64) {
	n := s.points()
	if n == 0 {
		return
	}
	c.open("g")
	if s.Name != "" {
		c.raw("<title>" + escape(s.Name) + "</title>")
	}
	c.raw("\n")
	at := func(i int) bool { return known(px(s.x(i)), s.Y[i]) }
	var p path
	var alone []int
	runs(n, at, func(from, to int) {
		if to-from == 1 {
			alone = append(alone, from)
			return
		}
		if s.Points {
			return
		}
		p.lift()
		for i := from; i < to; i++ {
			if s.Step && i > from {
				p.to(px(s.x(i)), py(s.Y[i-1]))
			}
			p.to(px(s.x(i)), py(s.Y[i]))
		}
	})
	if d := p.String(); d != "" {
		c.empty("path", "class", strokeClass(look, s.Bold), "d", d)
	}
	marked := alone
	switch {
	case s.Points, !s.Plain && n <= shortCurve:
		marked = nil
		for i := range n {
			if at(i) {
				marked = append(marked, i)
			}
		}
	case s.marks(len(v.c.Series)):
		marked = append(slices.Clone(alone), spread(s, look, r, at, px)...)
		slices.Sort(marked)
		marked = slices.Compact(marked)
	}
	size := 3.2
	if s.Bold {
		size = 4
	}
	for _, i := range marked {
		title := ""
		if n <= maxHover {
			title = pointTitle(s.Name, s.x(i), s.Y[i])
		}
		c.marker(look, px(s.x(i)), py(s.Y[i]), size, title)
	}
	c.close("g")
}

// maxHover is the number of points up to which each has a hover text.
const maxHover = 80

// spread picks about six points a curve, at places that depend on its look so
// that the markers of neighbouring curves do not hide each other.
func spread(s *Series, look int, r rect, at func(int) bool, px func(float64) float64) []int {
	const count = 6
	phase := math.Mod(0.15+0.618034*float64(look), 1)
	var picked []int
	next := 0
	for i := range s.points() {
		if !at(i) {
			continue
		}
		t := (px(s.x(i)) - r.x) / r.w * count
		for next < count && t >= float64(next)+phase {
			if t < float64(next)+1+phase {
				picked = append(picked, i)
			}
			next++
		}
	}
	return picked
}
