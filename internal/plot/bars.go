package plot

import (
	"math"
	"strconv"
	"strings"
)

// A BarSeries is one bar in each category.
type BarSeries struct {
	// Name is the legend entry; empty for none.
	Name string
	// Y holds the values, one a category. Missing and unknown ones have no bar.
	Y []float64
	// Lo and Hi are the ends of the error bars; nil for none. Stacked bars
	// have none.
	Lo, Hi []float64
	// Style fixes the look, counted from 1; 0 lets the figure choose.
	Style int
}

// Bars is a panel of bars, several of them side by side in a category if there
// are several series.
type Bars struct {
	Title      string
	Categories []string
	Series     []BarSeries
	// Value is the axis along the bars. Bars start at 0, on a logarithmic axis
	// at its lower end.
	Value Axis
	// Label names the categories.
	Label string
	// Horizontal lets the bars lie, which suits long names and many categories.
	Horizontal bool
	// Stacked piles the series up, positive values from 0 upward, negative ones
	// downward.
	Stacked bool
	// Values prints the numbers at the bars' ends; not for stacked bars.
	Values bool
}

// barView is a bar panel being laid out.
type barView struct {
	b     *Bars
	looks []int
	n     int // categories
	e     extent
	name  float64 // longest category name
}

func (b *Bars) title() string { return b.Title }

func (b *Bars) reserve(s *styles) {
	for i := range b.Series {
		s.reserve(b.Series[i].Name, b.Series[i].Style)
	}
}

func (b *Bars) view(st *styles) view {
	v := &barView{b: b, n: len(b.Categories)}
	for i := range b.Series {
		s := &b.Series[i]
		look := st.look(s.Name, s.Style, i)
		v.looks = append(v.looks, look)
		st.list(entry{name: s.Name, glyph: boxGlyph, style: look, opacity: 0.9})
		for j := range s.count(v.n) {
			v.see(s.Y[j])
			if lo, hi, ok := s.interval(j); ok && !b.Stacked {
				v.see(lo)
				v.see(hi)
			}
		}
	}
	if b.Stacked {
		for j := range v.n {
			lo, hi := 0.0, 0.0
			for i := range b.Series {
				if s := &b.Series[i]; j < len(s.Y) && known(s.Y[j]) {
					lo, hi = lo+min(s.Y[j], 0), hi+max(s.Y[j], 0)
				}
			}
			v.see(lo)
			v.see(hi)
		}
	}
	return v
}

func (v *barView) see(y float64) {
	if !v.b.Value.Log || y > 0 {
		v.e.add(y)
	}
}

func (s *BarSeries) count(n int) int { return min(n, len(s.Y)) }

func (s *BarSeries) interval(j int) (lo, hi float64, ok bool) {
	if j >= len(s.Lo) || j >= len(s.Hi) || !known(s.Lo[j], s.Hi[j]) {
		return 0, 0, false
	}
	return s.Lo[j], s.Hi[j], true
}

func (v *barView) extents() (x, y extent) {
	if v.b.Horizontal {
		return v.e, extent{}
	}
	return extent{}, v.e
}

func (v *barView) share(x, y extent) {
	if v.b.Horizontal {
		v.e.merge(x)
	} else {
		v.e.merge(y)
	}
}

// lanes is the number of bars side by side in a category.
func (v *barView) lanes() int {
	if v.b.Stacked {
		return 1
	}
	return max(1, len(v.b.Series))
}

func (v *barView) fit(cell float64) {
	v.name = min(maxSlanted, 0.3*cell)
	if v.b.Horizontal {
		v.name = min(maxCategory, 0.4*cell)
	}
}

func (v *barView) plotHeight(standard float64) float64 {
	if !v.b.Horizontal {
		return standard
	}
	lane := 15.0
	if v.lanes() > 1 {
		lane = 10
	}
	return max(60, float64(v.n)*(float64(v.lanes())*lane+8)+8)
}

func (v *barView) printed() bool { return v.b.Values && !v.b.Stacked }

// scale is the value axis over a length of pixels.
func (v *barView) scale(length float64) *scale {
	axis := v.b.Value
	axis.Zero = true
	if v.b.Horizontal {
		return fitScale(&axis, v.e, true, length, tickSize)
	}
	return newScale(&axis, v.e, true, int(length/38))
}

const (
	maxCategory = 190.0 // widest category name of lying bars
	slant       = 40.0  // angle of names that do not fit below their bars, in degrees
	maxSlanted  = 130.0 // longest slanted name
)

func (v *barView) valueWidth() float64 {
	var w float64
	for i := range v.b.Series {
		s := &v.b.Series[i]
		for j := range s.count(v.n) {
			w = max(w, textWidth(short(s.Y[j]), tickSize-1))
		}
	}
	return w
}

func (v *barView) sides(h float64) (left, right float64) {
	right = 12
	if v.b.Horizontal {
		for _, name := range v.b.Categories {
			left = max(left, min(textWidth(name, tickSize), v.name))
		}
		left += 8
		if v.b.Label != "" {
			left += labelSize + 8
		}
		if v.printed() {
			right += v.valueWidth()
		}
		return left, right
	}
	left = leftOf(v.scale(h))
	if v.b.Value.Label != "" {
		left += labelSize + 8
	}
	return left, right
}

// slanted reports whether the category names are too wide for their places.
func (v *barView) slanted(w float64) bool {
	for _, name := range v.b.Categories {
		if textWidth(name, tickSize)+6 > w/float64(v.n) {
			return true
		}
	}
	return false
}

func (v *barView) ends(w float64) ends {
	e := ends{top: 7, bottom: 6 + tickSize + 4}
	if v.printed() && !v.b.Horizontal {
		e.top += tickSize
	}
	label := v.b.Label
	if v.b.Horizontal {
		label = v.b.Value.Label
		e.left, e.right = overhang(v.scale(w), w)
	} else if v.slanted(w) {
		e.bottom = v.slantedHeight() + 6
		for j, name := range v.b.Categories {
			x := (float64(j) + 0.5) * w / float64(v.n)
			e.left = max(e.left, min(textWidth(name, tickSize), v.name)*math.Cos(slant*math.Pi/180)+4-x)
		}
	}
	if label != "" {
		e.bottom += labelSize + 5
	}
	return e
}

func (v *barView) slantedHeight() float64 {
	var h float64
	for _, name := range v.b.Categories {
		h = max(h, min(textWidth(name, tickSize), v.name))
	}
	return h*math.Sin(slant*math.Pi/180) + tickSize
}

func (v *barView) draw(c *canvas, r rect) {
	none := &scale{hi: 1}
	if v.b.Horizontal {
		s := v.scale(r.w)
		drawFrame(c, r, s, none, &v.b.Value, &Axis{})
		left := 0.0
		for j, name := range v.b.Categories {
			y := r.y + (float64(j)+0.5)*r.h/float64(v.n)
			left = max(left, min(textWidth(name, tickSize), v.name)+8)
			c.text(shorten(name, tickSize, v.name), r.x-6, y, tickSize, end, "f-fg", 0)
		}
		axisLabels(c, r, &Axis{}, &Axis{Label: v.b.Label}, left, 0)
		v.drawBars(c, r, s)
		return
	}
	s := v.scale(r.h)
	drawFrame(c, r, none, s, &Axis{}, &v.b.Value)
	below := tickSize + 6
	slanted := v.slanted(r.w)
	for j, name := range v.b.Categories {
		x := r.x + (float64(j)+0.5)*r.w/float64(v.n)
		if slanted {
			c.text(shorten(name, tickSize, v.name), x+3, r.bottom()+4+tickSize/2, tickSize, end, "f-fg", slant)
		} else {
			c.text(name, x, r.bottom()+6+tickSize/2, tickSize, middle, "f-fg", 0)
		}
	}
	if slanted {
		below = v.slantedHeight() + 2
	}
	axisLabels(c, r, &Axis{Label: v.b.Label}, &Axis{}, 0, below)
	v.drawBars(c, r, s)
}

// drawBars draws the bars with the category axis along one side of r and the
// value scale s along the other.
func (v *barView) drawBars(c *canvas, r rect, s *scale) {
	if v.n == 0 || !v.e.any {
		c.text("no data", r.x+r.w/2, r.y+r.h/2, labelSize, middle, "f-mute", 0)
		return
	}
	across := r.w
	if v.b.Horizontal {
		across = r.h
	}
	place := across / float64(v.n)
	gap := min(0.2*place, 14)
	lane := min((place-gap)/float64(v.lanes()), 46)
	clamp := func(y float64) float64 { return min(max(s.pos(y), 0), 1) }
	// box spans from value a to value b in lane k of category j.
	box := func(j, k int, a, b float64) rect {
		from, to := clamp(a), clamp(b)
		at := (float64(j)+0.5)*place + (float64(k)-float64(v.lanes())/2)*lane
		if v.b.Horizontal {
			return rect{r.x + min(from, to)*r.w, r.y + at + 0.5, math.Abs(to-from) * r.w, lane - 1}
		}
		return rect{r.x + at + 0.5, r.bottom() - max(from, to)*r.h, lane - 1, math.Abs(to-from) * r.h}
	}
	base := 0.0
	if s.log {
		base = s.lo
	}
	for j := range v.n {
		up, down := base, base
		for i := range v.b.Series {
			series := &v.b.Series[i]
			if j >= len(series.Y) || !known(series.Y[j]) {
				continue
			}
			y := series.Y[j]
			title := series.Name
			if title != "" {
				title += ", "
			}
			title += v.b.Categories[j] + ": " + strconv.FormatFloat(y, 'g', 5, 64)
			class := fillClass(v.looks[i])
			if !v.b.Stacked {
				q := box(j, i, base, y)
				c.rect(q, class, title, "fill-opacity", ".9")
				v.drawEnd(c, series, i, j, q, r, clamp)
				continue
			}
			if y >= 0 {
				c.rect(box(j, 0, up, up+y), class, title, "fill-opacity", ".9")
				up += y
			} else {
				c.rect(box(j, 0, down+y, down), class, title, "fill-opacity", ".9")
				down += y
			}
		}
	}
	if zero := clamp(base); zero > 0 && zero < 1 { // bars go both ways: show where they start
		if v.b.Horizontal {
			c.line(r.x+zero*r.w, r.y, r.x+zero*r.w, r.bottom(), "thin s-axis")
		} else {
			c.line(r.x, r.bottom()-zero*r.h, r.right(), r.bottom()-zero*r.h, "thin s-axis")
		}
	}
}

// drawEnd draws the error bar of bar q and prints its value beyond both.
func (v *barView) drawEnd(c *canvas, s *BarSeries, i, j int, q, r rect, clamp func(float64) float64) {
	lo, hi, ok := s.interval(j)
	reach := clamp(s.Y[j])
	if ok {
		a, b := clamp(lo), clamp(hi)
		reach = max(reach, b)
		var p path
		if v.b.Horizontal {
			y := q.y + q.h/2
			p.move(r.x+a*r.w, y)
			p.to(r.x+b*r.w, y)
		} else {
			x := q.x + q.w/2
			p.move(x, r.bottom()-a*r.h)
			p.to(x, r.bottom()-b*r.h)
		}
		c.empty("path", "class", "thin s-fg", "d", p.String())
	}
	if !v.printed() {
		return
	}
	const size = tickSize - 1
	text := short(s.Y[j])
	if v.b.Horizontal {
		if q.h >= size-1 {
			c.text(text, r.x+reach*r.w+4, q.y+q.h/2, size, start, "f-mute", 0)
		}
	} else if textWidth(text, size) <= q.w+4 {
		c.text(text, q.x+q.w/2, r.bottom()-reach*r.h-size/2-3, size, middle, "f-mute", 0)
	}
}

func (v *barView) describe() string {
	s := "Bar chart"
	if v.b.Value.Label != "" {
		s += " of " + v.b.Value.Label
	}
	if v.n > 0 {
		s += " for " + strings.Join(v.b.Categories, ", ")
	}
	return s
}
