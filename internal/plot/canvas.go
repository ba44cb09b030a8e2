package plot

import (
	"strconv"
	"strings"
)

// A rect is an axis-parallel rectangle, y pointing down.
type rect struct{ x, y, w, h float64 }

func (r rect) right() float64  { return r.x + r.w }
func (r rect) bottom() float64 { return r.y + r.h }

// anchor says which end of a text lies at its x.
type anchor int

const (
	start anchor = iota
	middle
	end
)

// A textBox remembers where a text was put, for the tests of the layout.
type textBox struct {
	text        string
	x, y        float64 // of the anchor, on the middle line
	width, size float64
	anchor      anchor
	angle       float64
}

// A canvas collects SVG elements.
type canvas struct {
	b     strings.Builder
	texts []textBox
}

// number formats a coordinate with at most two decimals.
func number(v float64) string {
	if !known(v) {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

func (c *canvas) raw(s string) { c.b.WriteString(s) }

// open starts an element; attributes come in pairs of name and value, the
// values not yet escaped.
func (c *canvas) open(name string, attributes ...string) {
	c.tag(name, attributes)
	c.raw(">")
}

func (c *canvas) tag(name string, attributes []string) {
	c.raw("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			c.raw(" " + attributes[i] + `="` + escape(attributes[i+1]) + `"`)
		}
	}
}

func (c *canvas) close(name string) { c.raw("</" + name + ">\n") }

// empty writes an element without content.
func (c *canvas) empty(name string, attributes ...string) {
	c.tag(name, attributes)
	c.raw("/>\n")
}

// titled writes an element whose only content is a hover text, if any.
func (c *canvas) titled(title, name string, attributes ...string) {
	if title == "" {
		c.empty(name, attributes...)
		return
	}
	c.open(name, attributes...)
	c.raw("<title>" + escape(title) + "</title>")
	c.close(name)
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	var p path
	p.line(x1, y1, x2, y2)
	c.empty("path", "class", class, "d", p.String())
}

func (c *canvas) rect(r rect, class string) {
	c.empty("rect", "class", class, "x", number(r.x), "y", number(r.y), "width", number(max(r.w, 0)), "height", number(max(r.h, 0)))
}

// text writes s with its middle line at y. The angle is in degrees,
// counterclockwise; rotation is about the anchor.
func (c *canvas) text(s string, x, y, size float64, a anchor, class string, angle float64) {
	if s == "" {
		return
	}
	c.texts = append(c.texts, textBox{text: s, x: x, y: y, width: textWidth(s, size), size: size, anchor: a, angle: angle})
	attributes := []string{"class", class, "font-size", number(size),
		"text-anchor", [...]string{"", "middle", "end"}[a]}
	if angle != 0 {
		attributes = append(attributes, "transform",
			"translate("+number(x)+" "+number(y)+")rotate("+number(-angle)+")", "y", number(0.35*size))
	} else {
		attributes = append(attributes, "x", number(x), "y", number(y+0.35*size))
	}
	c.open("text", attributes...)
	c.raw(escape(s))
	c.close("text")
}

// clip opens a nested svg element, with the same coordinates, that shows
// nothing outside of r and a margin around it.
func (c *canvas) clip(r rect, margin float64) {
	x, y, w, h := number(r.x-margin), number(r.y-margin), number(r.w+2*margin), number(r.h+2*margin)
	c.open("svg", "x", x, "y", y, "width", w, "height", h, "viewBox", x+" "+y+" "+w+" "+h)
	c.raw("\n")
}

// A path builds the data of a path element.
type path struct {
	b    strings.Builder
	down bool // whether the pen is
}

// to draws a line to a point, or begins there if the pen is up.
func (p *path) to(x, y float64) {
	command := "M"
	if p.down {
		command = "L"
	}
	p.b.WriteString(command + number(x) + " " + number(y))
	p.down = true
}

func (p *path) lift() { p.down = false }

func (p *path) close() {
	p.b.WriteString("Z")
	p.lift()
}

func (p *path) line(x1, y1, x2, y2 float64) {
	p.lift()
	p.to(x1, y1)
	p.to(x2, y2)
}

func (p *path) String() string { return p.b.String() }

// shapes are the markers' corners, x and y in turns, of about the same area; the first is a circle.
var shapes = [numColors][]float64{
	1: {-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9},
	2: {0, -1.25, 1.15, 0.8, -1.15, 0.8},
	3: {0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0},
	4: {0, 1.25, -1.15, -0.8, 1.15, -0.8},
	5: {-1.3, -0.85, -0.85, -1.3, 0, -0.45, 0.85, -1.3, 1.3, -0.85, 0.45, 0, 1.3, 0.85, 0.85, 1.3, 0, 0.45, -0.85, 1.3, -1.3, 0.85, -0.45, 0},
	6: {-0.38, -1.35, 0.38, -1.35, 0.38, -0.38, 1.35, -0.38, 1.35, 0.38, 0.38, 0.38, 0.38, 1.35, -0.38, 1.35, -0.38, 0.38, -1.35, 0.38, -1.35, -0.38, -0.38, -0.38},
	7: {0, -1.15, 1.1, -0.36, 0.68, 0.93, -0.68, 0.93, -1.1, -0.36},
}

// marker draws the marker of a look around (x, y); looks beyond the first dash pattern are hollow.
func (c *canvas) marker(look int, x, y, r float64, title string) {
	color := strconv.Itoa(look % numColors)
	class, width := "f"+color+" s-bg", ".8"
	if look >= numColors {
		class, width = "f-bg s"+color, "1.5"
	}
	corners := shapes[look%numColors]
	if corners == nil {
		c.titled(title, "circle", "class", class, "stroke-width", width, "cx", number(x), "cy", number(y), "r", number(r))
		return
	}
	var p path
	for i := 0; i < len(corners); i += 2 {
		p.to(x+r*corners[i], y+r*corners[i+1])
	}
	p.close()
	c.titled(title, "path", "class", class, "stroke-width", width, "d", p.String())
}

// strokeClass is the class list of a curve with a look.
func strokeClass(look int, bold bool) string {
	s := "line s" + strconv.Itoa(look%numColors)
	if d := look / numColors; d > 0 {
		s += " d" + strconv.Itoa(d)
	}
	if bold {
		s += " bold"
	}
	return s
}

// fillClass is the class of an area with a look.
func fillClass(look int) string { return "f" + strconv.Itoa(look%numColors) }
