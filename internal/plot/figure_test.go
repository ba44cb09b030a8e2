package plot

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// elements parses a document strictly and returns its start tags and the text
// of its title and desc elements.
func elements(tb testing.TB, doc string) (tags []xml.StartElement, text map[string][]string) {
	tb.Helper()
	text = map[string][]string{}
	d := xml.NewDecoder(strings.NewReader(doc))
	var open []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return tags, text
		}
		if err != nil {
			tb.Fatalf("not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			tags = append(tags, e.Copy())
			open = append(open, e.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				name := open[len(open)-1]
				text[name] = append(text[name], string(e))
			}
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func TestSVG(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			svg := s.figure.SVG()
			tags, _ := elements(t, svg)
			root := tags[0]
			if root.Name.Local != "svg" || root.Name.Space != "http://www.w3.org/2000/svg" {
				t.Errorf("root is %v", root.Name)
			}
			if attribute(root, "role") != "img" {
				t.Error("no role")
			}
			for _, e := range tags {
				for _, a := range e.Attr {
					if a.Name.Local != "aria-label" && (strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || a.Value == "") {
						t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
			for _, c := range s.figure.Panels {
				for _, series := range c.Series {
					if !strings.Contains(attribute(root, "aria-label"), strings.ToValidUTF8(series.Name, "\uFFFD")) {
						t.Errorf("the description does not name %q", series.Name)
					}
				}
			}
			if !strings.Contains(svg, "prefers-color-scheme:dark") {
				t.Error("no dark theme")
			}
			if again := s.figure.SVG(); again != svg {
				t.Error("a second rendering differs")
			}
		})
	}
}

func TestStandaloneAndInlineAgree(t *testing.T) {
	f := samples()[0].figure
	alone, inline := f.SVG(), f.render(false)
	if i, j := strings.Index(alone, "<style>"), strings.Index(alone, "</style>\n")+len("</style>\n"); !strings.HasSuffix(alone[:i]+alone[j:], inline) {
		t.Error("the drawings differ")
	}
	if strings.Contains(inline, "<style") {
		t.Error("an inline figure brings its own style sheet")
	}
}

func overlap(a, b rect) bool {
	const slack = 0.01
	return a.x+slack < b.right() && b.x+slack < a.right() && a.y+slack < b.bottom() && b.y+slack < a.bottom()
}

func TestLayoutKeepsPartsApart(t *testing.T) {
	for _, s := range samples() {
		d := s.figure.draw()
		whole := rect{0, 0, d.width, d.y}
		for i, p := range d.panels {
			if !(p.at.x >= 0 && p.at.y >= 0 && p.at.right() <= whole.w && p.at.bottom() <= whole.h) {
				t.Errorf("%s: panel %d at %v leaves %v", s.name, i, p.at, whole)
			}
			if !(p.at.w > 0 && p.at.h > 0) {
				t.Errorf("%s: panel %d is empty: %v", s.name, i, p.at)
			}
			for j, o := range d.panels[:i] {
				if overlap(p.at, o.at) {
					t.Errorf("%s: panels %d and %d overlap: %v, %v", s.name, j, i, o.at, p.at)
				}
			}
		}
	}
}

// A textBox is where a text stands.
type textBox struct {
	text           string
	x, y           float64 // of the anchor, on the middle line
	size           float64
	anchor         string
	width, degrees float64
}

// textBoxes reads where the texts of a drawing are.
func textBoxes(t *testing.T, svg string) (out []textBox) {
	t.Helper()
	num := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var turned bool
	var last xml.StartElement
	d := xml.NewDecoder(strings.NewReader("<svg>" + svg + "</svg>"))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			last = e.Copy()
			if e.Name.Local == "g" {
				turned = strings.HasPrefix(attribute(e, "transform"), "rotate(-90 ")
			}
		case xml.CharData:
			if last.Name.Local != "text" || strings.TrimSpace(string(e)) == "" {
				continue
			}
			b := textBox{text: string(e), x: num(attribute(last, "x")), size: num(attribute(last, "font-size")), anchor: attribute(last, "text-anchor")}
			b.y, b.width = num(attribute(last, "y"))-0.35*b.size, textWidth(b.text, b.size)
			if turned {
				b.degrees = 90
			}
			out = append(out, b)
		case xml.EndElement:
			if e.Name.Local == "g" {
				turned = false
			}
		}
	}
}

// corners are those of the box a text needs, a little less than its line high.
func (b textBox) corners() [4][2]float64 {
	from := map[string]float64{"start": 0, "middle": -b.width / 2, "end": -b.width}[b.anchor]
	sin, cos := math.Sincos(-b.degrees * math.Pi / 180)
	var out [4][2]float64
	for i, p := range [4][2]float64{{from, -0.45 * b.size}, {from + b.width, -0.45 * b.size}, {from + b.width, 0.45 * b.size}, {from, 0.45 * b.size}} {
		out[i] = [2]float64{b.x + cos*p[0] - sin*p[1], b.y + sin*p[0] + cos*p[1]}
	}
	return out
}

// collide reports whether two rectangles at any angle overlap: no side of
// either separates them.
func collide(a, b [4][2]float64) bool {
	for _, q := range [2][4][2]float64{a, b} {
		for i := range 2 {
			nx, ny := q[i+1][1]-q[i][1], q[i][0]-q[i+1][0]
			span := func(r [4][2]float64) (lo, hi float64) {
				lo, hi = math.Inf(1), math.Inf(-1)
				for _, p := range r {
					d := nx*p[0] + ny*p[1]
					lo, hi = min(lo, d), max(hi, d)
				}
				return lo, hi
			}
			alo, ahi := span(a)
			blo, bhi := span(b)
			if ahi <= blo || bhi <= alo {
				return false
			}
		}
	}
	return true
}

func TestTextsDoNotCollide(t *testing.T) {
	for _, s := range samples() {
		d := s.figure.draw()
		texts := textBoxes(t, d.String())
		if len(texts) == 0 && len(d.panels) > 0 {
			t.Errorf("%s: no text", s.name)
		}
		for i, b := range texts {
			q := b.corners()
			for _, p := range q {
				if !(p[0] >= 0 && p[0] <= d.width && p[1] >= 0 && p[1] <= d.y) {
					t.Errorf("%s: %q is clipped: (%.0f, %.0f) in %.0f×%.0f", s.name, b.text, p[0], p[1], d.width, d.y)
					break
				}
			}
			for _, o := range texts[:i] {
				if collide(q, o.corners()) {
					t.Errorf("%s: %q at (%.0f, %.0f) and %q at (%.0f, %.0f) overlap", s.name, o.text, o.x, o.y, b.text, b.x, b.y)
				}
			}
		}
	}
}

func TestEqualNamesShareALook(t *testing.T) {
	f := &Figure{Panels: []*Chart{
		&Chart{Series: []Series{{Name: "a"}, {Name: "b"}, {Name: "fixed", Style: 31}}},
		&Chart{Series: []Series{{Name: "b"}, {Name: "c"}, {Name: "a"}}},
		{Series: []Series{{Name: "c"}, {}, {Name: "fixed like a free one", Style: 3}}},
	}}
	d := f.draw()
	var names []string
	for _, e := range d.legend {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "a b fixed c fixed like a free one" {
		t.Errorf("legend is %q", got)
	}
	first, second, third := d.panels[0].looks, d.panels[1].looks, d.panels[2].looks
	if first[0] != second[2] || first[1] != second[0] || second[1] != third[0] {
		t.Errorf("looks %v, %v, %v", first, second, third)
	}
	if first[2] != 30 {
		t.Errorf("the fixed look is %d, want 30", first[2])
	}
	seen := map[int]bool{}
	for _, e := range d.legend {
		if seen[e.look] {
			t.Errorf("two entries have look %d", e.look)
		}
		seen[e.look] = true
	}
}

// pathData returns the data of the first path of a class.
func pathData(t *testing.T, svg, class string) []float64 {
	t.Helper()
	tags, _ := elements(t, svg)
	for _, e := range tags {
		if e.Name.Local == "path" && strings.Contains(" "+attribute(e, "class")+" ", " "+class+" ") {
			var out []float64
			for _, f := range strings.FieldsFunc(attribute(e, "d"), func(r rune) bool { return strings.ContainsRune("MLZ ", r) }) {
				var v float64
				if _, err := fmt.Sscan(f, &v); err != nil {
					t.Fatalf("%q: %v", f, err)
				}
				out = append(out, v)
			}
			return out
		}
	}
	t.Fatalf("no path of class %q", class)
	return nil
}

func TestCurveLiesWhereTheDataAre(t *testing.T) {
	at := func(f *Figure) rect { return f.draw().panels[0].at }
	check := func(t *testing.T, got, want []float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%d coordinates %v, want %v", len(got), got, want)
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 0.005+1e-9 { // two decimals
				t.Errorf("coordinate %d is %g, want %g", i, got[i], want[i])
			}
		}
	}
	t.Run("linear", func(t *testing.T) {
		f := &Figure{Panels: []*Chart{&Chart{Y: Axis{Min: 0, Max: 4}, Series: []Series{{X: []float64{0, 1, 4}, Y: []float64{0, 2, 4}}}}}}
		r := at(f)
		check(t, pathData(t, f.SVG(), "line"), []float64{r.x, r.bottom(), r.x + r.w/4, r.y + r.h/2, r.right(), r.y})
	})
	t.Run("logarithmic", func(t *testing.T) {
		f := &Figure{Panels: []*Chart{&Chart{X: Axis{Log: true}, Y: Axis{Log: true, Min: 0.01, Max: 100}, Series: []Series{{X: []float64{1, 10, 100}, Y: []float64{0.01, 1, 100}}}}}}
		r := at(f)
		check(t, pathData(t, f.SVG(), "line"), []float64{r.x, r.bottom(), r.x + r.w/2, r.y + r.h/2, r.right(), r.y})
	})
	t.Run("zero on a logarithmic axis", func(t *testing.T) {
		f := &Figure{Panels: []*Chart{&Chart{Y: Axis{Log: true, Min: 0.1, Max: 1}, Series: []Series{{Y: []float64{1, 0, -3}}}}}}
		r := at(f)
		check(t, pathData(t, f.SVG(), "line"), []float64{r.x, r.y, r.x + r.w/2, r.bottom(), r.right(), r.bottom()})
	})
	t.Run("step", func(t *testing.T) {
		f := &Figure{Panels: []*Chart{&Chart{Y: Axis{Min: 0, Max: 1}, Series: []Series{{X: []float64{0, 1, 2}, Y: []float64{0, 1, 0.5}, Step: true}}}}}
		r := at(f)
		mid := r.x + r.w/2
		check(t, pathData(t, f.SVG(), "line"), []float64{r.x, r.bottom(), mid, r.bottom(), mid, r.y, r.right(), r.y, r.right(), r.y + r.h/2})
	})
	t.Run("band", func(t *testing.T) {
		f := &Figure{Panels: []*Chart{&Chart{Y: Axis{Min: 0, Max: 4}, Series: []Series{{X: []float64{0, 1}, Y: []float64{2, 2}, Lo: []float64{1, 0}, Hi: []float64{3, 4}}}}}}
		r := at(f)
		check(t, pathData(t, f.SVG(), "band"), []float64{r.x, r.y + r.h/4, r.right(), r.y, r.right(), r.bottom(), r.x, r.y + 3*r.h/4})
	})
	t.Run("gap", func(t *testing.T) {
		f := &Figure{Panels: []*Chart{&Chart{Y: Axis{Min: 0, Max: 1}, Series: []Series{{X: []float64{0, 1, 2, 3, 4}, Y: []float64{0, 1, math.NaN(), 1, 0}}}}}}
		r := at(f)
		x := func(k float64) float64 { return r.x + k/4*r.w }
		check(t, pathData(t, f.SVG(), "line"), []float64{x(0), r.bottom(), x(1), r.y, x(3), r.y, x(4), r.bottom()})
		tags, _ := elements(t, f.SVG())
		for _, e := range tags {
			if d := attribute(e, "d"); attribute(e, "class") == "line s-0 d0" && strings.Count(d, "M") != 2 {
				t.Errorf("%q does not start anew after the gap", d)
			}
		}
	})
}

func TestNamedAxis(t *testing.T) {
	f := &Figure{Panels: []*Chart{{Y: Axis{Names: []string{"a", "b", "c", "d"}}, X: Axis{Min: 0, Max: 1}, Series: []Series{{X: []float64{0, 1}, Y: []float64{0, 3}}}}}}
	p := f.draw().panels[0]
	r := p.at
	if got, want := pathData(t, f.SVG(), "line"), []float64{r.x, r.bottom() - r.h/8, r.right(), r.y + r.h/8}; len(got) != 4 || math.Abs(got[1]-want[1]) > 0.006 || math.Abs(got[3]-want[3]) > 0.006 {
		t.Errorf("the curve is %v, want %v", got, want)
	}
	for i, tick := range p.yScale(r.h).ticks {
		if tick.at != float64(i) || tick.label != string(rune('a'+i)) {
			t.Errorf("tick %d is %v", i, tick)
		}
	}
}

// TestAnyData draws charts of random numbers, many of them special.
func TestAnyData(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300, 1, -1}
	number := func() float64 {
		switch rng.IntN(3) {
		case 0:
			return special[rng.IntN(len(special))]
		case 1:
			return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20))
		}
		return rng.NormFloat64()
	}
	numbers := func() []float64 {
		y := make([]float64, rng.IntN(6))
		for i := range y {
			y[i] = number()
		}
		return y
	}
	axis := func() Axis {
		a := Axis{Label: "l", Log: rng.IntN(2) == 0, Zero: rng.IntN(4) == 0, Integer: rng.IntN(4) == 0}
		if rng.IntN(2) == 0 {
			a.Min, a.Max = number(), number()
		}
		return a
	}
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		chart := &Chart{X: axis(), Y: axis()}
		for range rng.IntN(4) {
			s := Series{Name: string(rune('a' + rng.IntN(3))), Y: numbers(), Step: rng.IntN(2) == 0, Points: rng.IntN(4) == 0}
			if rng.IntN(2) == 0 {
				s.X = numbers()
			}
			if rng.IntN(2) == 0 {
				s.Lo, s.Hi = numbers(), numbers()
			}
			chart.Series = append(chart.Series, s)
		}
		f := &Figure{Panels: []*Chart{chart}, Width: 1 + 1000*rng.Float64(), Height: 1 + 500*rng.Float64()}
		svg := f.SVG()
		tags, _ := elements(t, svg)
		for _, e := range tags {
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("%s has %s=%q in %+v", e.Name.Local, a.Name.Local, a.Value, chart)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

// TestPath: the first point of each line is gone to, the others are drawn to.
func TestPath(t *testing.T) {
	var p path
	p.line(0, 0, 1, 1)
	p.line(2, 2, 3, 3)
	p.to(4, 4)
	p.close()
	p.to(5, 5)
	p.lift()
	p.to(6, 6)
	if got, want := p.String(), "M0 0L1 1M2 2L3 3L4 4ZM5 5M6 6"; got != want {
		t.Errorf("path %q, want %q", got, want)
	}
}

// What is not positive has no say in the limits of a logarithmic axis, and of a long curve
// only points without neighbours have markers.
func TestLimitsAndMarkers(t *testing.T) {
	s := Series{X: []float64{-1, 0, 1, 10, 100}, Y: []float64{-1, 5, 0, 10, 100}}
	p := (&Figure{Panels: []*Chart{{X: Axis{Log: true}, Y: Axis{Log: true}, Series: []Series{s}}}}).draw().panels[0]
	if p.ex != (extent{1, 100, true}) || p.ey != (extent{10, 100, true}) {
		t.Errorf("limits of x %v, of y %v", p.ex, p.ey)
	}
	markers := func(s Series) int {
		return strings.Count((&Figure{Panels: []*Chart{{Series: []Series{s}}}}).SVG(), "<circle")
	}
	y := make([]float64, 14)
	y[1], y[3] = math.NaN(), math.NaN()
	for want, s := range map[int]Series{12: {Y: make([]float64, 12)}, 0: {Y: make([]float64, 13)}, 2: {Y: y}, 14: {Y: make([]float64, 14), Points: true}} {
		if got := markers(s); got != want {
			t.Errorf("%d of %d points have markers, want %d", got, len(s.Y), want)
		}
	}
	if got := markers(Series{Y: []float64{1, 2}, Plain: true}); got != 0 {
		t.Errorf("a plain curve has %d markers", got)
	}
}
