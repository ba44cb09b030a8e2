package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// An Axis describes one axis of a panel. The zero value is a linear axis with
// limits from the data.
type Axis struct {
	// Label names the quantity and its unit.
	Label string
	// Log makes the axis logarithmic. Values that are not positive are drawn
	// at its lower end and do not count for its limits.
	Log bool
	// Min and Max fix the limits if Min < Max. A single limit is fixed by
	// making the other one NaN or infinite. Limits that are not positive are
	// ignored on a logarithmic axis.
	Min, Max float64
	// Zero makes a linear axis include 0.
	Zero bool
	// Integer keeps the ticks of a linear axis at whole numbers.
	Integer bool
	// Names label the whole numbers from 0 on, and are all there is on the axis.
	Names []string
}

// limits reports which of Min and Max are fixed.
func (a *Axis) limits() (lo, hi bool) {
	lo, hi = known(a.Min), known(a.Max)
	if lo && hi && !(a.Min < a.Max) {
		return false, false
	}
	if a.Log {
		lo, hi = lo && a.Min > 0, hi && a.Max > 0
	}
	return lo, hi
}

// A Series is one curve or one cloud of points.
type Series struct {
	// Name is the legend entry; empty for none.
	Name string
	// X and Y are the points. A nil X counts 1, 2, 3, ...; if the lengths
	// differ, the shorter one decides. A point with a NaN or an infinity
	// interrupts the curve.
	X, Y []float64
	// Lo and Hi bound a shaded band, which Step does not concern; nil for none.
	Lo, Hi []float64
	// Step holds each value until the next point, as a best-so-far does.
	Step bool
	// Points draws markers without a line.
	Points bool
	// Plain draws a line without markers, but for points that have no neighbours.
	// Else all points of a short curve are marked, and a few of a long one if the
	// chart has so many that colour alone is little help.
	Plain bool
	// Bold draws a thicker line.
	Bold bool
	// Style fixes the look, counted from 1; 0 lets the figure choose.
	Style int
}

// marks reports whether some points of the curve are marked on purpose, in a
// chart of so many series.
func (s *Series) marks(series int) bool {
	return s.Points || !s.Plain && (s.points() <= shortCurve || series > fewSeries)
}

const (
	shortCurve = 12 // points a curve may have to show them all
	fewSeries  = 4  // curves that are told apart by colour alone
)

// points returns the common length of X and Y.
func (s *Series) points() int {
	if s.X == nil {
		return len(s.Y)
	}
	return min(len(s.X), len(s.Y))
}

func (s *Series) x(i int) float64 {
	if s.X == nil {
		return float64(i + 1)
	}
	return s.X[i]
}

// band returns the length of the band.
func (s *Series) band() int { return min(s.points(), len(s.Lo), len(s.Hi)) }

// A Rule is a thin dashed horizontal line across a chart at one value.
type Rule struct {
	Name string // legend entry; empty for none
	At   float64
}

// A Chart is a panel of curves.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
	Rules  []Rule
}

// chartView is a chart being laid out.
type chartView struct {
	c      *Chart
	looks  []int
	ex, ey extent
}

func (c *Chart) view(st *styles) *chartView {
	v := &chartView{c: c}
	for i := range c.Series {
		s := &c.Series[i]
		look := st.look(s.Name, s.Style, i)
		v.looks = append(v.looks, look)
		e := entry{name: s.Name, style: look, bold: s.Bold, band: s.band() > 0, markers: s.marks(len(c.Series))}
		if s.Points {
			e.glyph = pointGlyph
		}
		st.list(e)
	}
	for _, r := range c.Rules {
		st.list(entry{name: r.Name, glyph: ruleGlyph})
	}
	for i := range c.Series {
		s := &c.Series[i]
		for j := range s.points() {
			v.see(s.x(j), s.Y[j])
		}
		for j := range s.band() {
			v.see(s.x(j), s.Lo[j])
			v.see(s.x(j), s.Hi[j])
		}
	}
	for _, r := range c.Rules {
		if !(c.Y.Log && r.At <= 0) {
			v.ey.add(r.At)
		}
	}
	return v
}

// see lets a point count for the limits.
func (v *chartView) see(x, y float64) {
	if !known(x, y) || v.c.X.Log && x <= 0 {
		return
	}
	v.ex.add(x)
	if !v.c.Y.Log || y > 0 {
		v.ey.add(y)
	}
}

const (
	tickSize  = 11.0
	labelSize = 12.0
)

func (v *chartView) yScale(h float64) *scale { return newScale(&v.c.Y, v.ey, true, int(h/38)) }

// xScale chooses as many ticks as their labels leave room for.
func (v *chartView) xScale(w float64) *scale {
	e := v.ex
	if v.c.onlyPoints() && e.any { // markers need room at the sides
		if v.c.X.Log {
			if f := math.Pow(e.hi/e.lo, 0.03); f < 1e10 {
				e.lo, e.hi = e.lo/f, e.hi*f
			}
		} else {
			pad := 0.03 * (e.hi - e.lo)
			e.lo, e.hi = e.lo-pad, e.hi+pad
		}
	}
	var s *scale
	for count := int(max(w/45, 2)); count >= 2; count-- {
		s = newScale(&v.c.X, e, false, count)
		if labelsFit(s, w) {
			return s
		}
	}
	for len(s.ticks) > 1 && !labelsFit(s, w) { // every second one, then every fourth ...
		var kept []tick
		for i := 0; i < len(s.ticks); i += 2 {
			kept = append(kept, s.ticks[i])
		}
		s.ticks = kept
	}
	return s
}

func labelsFit(s *scale, w float64) bool {
	for i := 1; i < len(s.ticks); i++ {
		a, b := s.ticks[i-1], s.ticks[i]
		gap := (s.pos(b.at) - s.pos(a.at)) * w
		if gap < (textWidth(a.label, tickSize)+textWidth(b.label, tickSize))/2+8 {
			return false
		}
	}
	return true
}

func (c *Chart) onlyPoints() bool {
	return !slices.ContainsFunc(c.Series, func(s Series) bool { return !s.Points })
}

// left is the room that tick labels and name of the vertical axis take beside a
// plot area of height h.
func (v *chartView) left(h float64) float64 {
	w := leftOf(v.yScale(h))
	if v.c.Y.Label != "" {
		w += labelSize + 8
	}
	return w
}

// below is the room that those of the horizontal axis take.
func (v *chartView) below() float64 {
	h := 6 + tickSize + 4
	if v.c.X.Label != "" {
		h += labelSize + 5
	}
	return h
}

// overhang is how far the first and the last label of a horizontal axis of
// width w stick out.
func overhang(s *scale, w float64) (left, right float64) {
	if len(s.ticks) == 0 {
		return 0, 0
	}
	first, last := s.ticks[0], s.ticks[len(s.ticks)-1]
	return textWidth(first.label, tickSize)/2 - s.pos(first.at)*w, textWidth(last.label, tickSize)/2 - (1-s.pos(last.at))*w
}

func (c *Chart) describe() string {
	s := "Line chart"
	if c.onlyPoints() && len(c.Series) > 0 {
		s = "Points"
	}
	var names []string
	for i := range c.Series {
		if n := c.Series[i].Name; n != "" {
			names = append(names, n)
		}
	}
	if len(names) > 0 {
		s += " of " + strings.Join(names, ", ")
	}
	axis := func(letter string, a *Axis) {
		if a.Label == "" {
			return
		}
		s += "; " + letter + ": " + a.Label
		if a.Log {
			s += " (logarithmic)"
		}
	}
	axis("x", &c.X)
	axis("y", &c.Y)
	return s
}

// pointTitle is the hover text of a point.
func pointTitle(name string, x, y float64) string {
	t := "(" + strconv.FormatFloat(x, 'g', 5, 64) + ", " + strconv.FormatFloat(y, 'g', 5, 64) + ")"
	if name != "" {
		t = name + " " + t
	}
	return t
}
