package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A rect is an axis-parallel rectangle, y pointing down.
type rect struct{ x, y, w, h float64 }

func (r rect) right() float64  { return r.x + r.w }
func (r rect) bottom() float64 { return r.y + r.h }

type canvas struct{ strings.Builder }

// markup is text that is not to be escaped.
type markup string

// add writes a line of markup by a format whose verbs are all %v: strings are escaped and numbers have at most two decimals.
func (c *canvas) add(format string, args ...any) {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = escape(v)
		case float64:
			args[i] = number(v)
		}
	}
	fmt.Fprintf(c, format+"\n", args...)
}

// number formats a coordinate with at most two decimals.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64) // -0 + 0 is 0
}

// text writes s with its middle line at y; the anchor is "start", "middle" or "end".
func (c *canvas) text(s string, x, y, size float64, anchor, class string) {
	if s != "" {
		c.add(`<text class="%v" font-size="%v" text-anchor="%v" x="%v" y="%v">%v</text>`,
			class, size, anchor, x, y+0.35*size, s)
	}
}

// clip opens a nested svg element, with the same coordinates, that shows nothing outside of r and a margin around it.
func (c *canvas) clip(r rect, margin float64) {
	x, y, w, h := r.x-margin, r.y-margin, r.w+2*margin, r.h+2*margin
	c.add(`<svg x="%v" y="%v" width="%v" height="%v" viewBox="%v %v %v %v">`, x, y, w, h, x, y, w, h)
}

// A path builds the data of a path element.
type path struct {
	strings.Builder
	down bool // whether the pen is
}

// to draws a line to a point, or begins there if the pen is up.
func (p *path) to(x, y float64) {
	command := "M"
	if p.down {
		command = "L"
	}
	p.WriteString(command + number(x) + " " + number(y))
	p.down = true
}

func (p *path) lift() { p.down = false }

func (p *path) close() {
	p.WriteString("Z")
	p.lift()
}

func (p *path) line(x1, y1, x2, y2 float64) {
	p.lift()
	p.to(x1, y1)
	p.to(x2, y2)
}

// path writes a path element unless it is empty.
func (c *canvas) path(class string, p *path) {
	if p.Len() > 0 {
		c.add(`<path class="%v" d="%v"/>`, class, p.String())
	}
}

// shapes are the markers' corners, x and y in turns, of about the same area; the first is a circle.
var shapes = [numColors][]float64{
	1: {-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9},
	2: {0, -1.25, 1.15, 0.8, -1.15, 0.8},
	3: {0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0},
	4: {0, 1.25, -1.15, -0.8, 1.15, -0.8},
	5: {-1.3, -0.85, -0.85, -1.3, 0, -0.45, 0.85, -1.3, 1.3, -0.85, 0.45, 0, 1.3, 0.85, 0.85, 1.3, 0, 0.45, -0.85, 1.3,
		-1.3, 0.85, -0.45, 0},
	6: {-0.38, -1.35, 0.38, -1.35, 0.38, -0.38, 1.35, -0.38, 1.35, 0.38, 0.38, 0.38, 0.38, 1.35, -0.38, 1.35, -0.38,
		0.38, -1.35, 0.38, -1.35, -0.38, -0.38, -0.38},
	7: {0, -1.15, 1.1, -0.36, 0.68, 0.93, -0.68, 0.93, -1.1, -0.36},
}

// marker draws the marker of a look around (x, y); looks beyond the first dash pattern are hollow.
func (c *canvas) marker(look int, x, y, r float64) {
	class, width := fmt.Sprintf("f-%d s-bg", look%numColors), 0.8
	if look >= numColors {
		class, width = fmt.Sprintf("f-bg s-%d", look%numColors), 1.5
	}
	corners := shapes[look%numColors]
	if corners == nil {
		c.add(`<circle class="%v" stroke-width="%v" cx="%v" cy="%v" r="%v"/>`, class, width, x, y, r)
		return
	}
	var p path
	for i := 0; i < len(corners); i += 2 {
		p.to(x+r*corners[i], y+r*corners[i+1])
	}
	p.close()
	c.add(`<path class="%v" stroke-width="%v" d="%v"/>`, class, width, p.String())
}

// strokeClass is the class list of a curve with a look.
func strokeClass(look int, bold bool) string {
	s := fmt.Sprintf("line s-%d d%d", look%numColors, look/numColors)
	if bold {
		s += " bold"
	}
	return s
}
