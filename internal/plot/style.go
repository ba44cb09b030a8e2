package plot

import (
	"strconv"
	"strings"
)

// numColors is the number of hues. They were chosen so that any two stay apart
// for normal vision and under simulated protanopia, deuteranopia and
// tritanopia, and all stand out from the background by 3:1 or more (WCAG 2.1,
// 1.4.11); the tests recompute both.
const numColors = 8

// NumStyles is the number of different looks of a series: [numColors] colours,
// each with its own marker, in four dash patterns.
const NumStyles = 4 * numColors

var lightColors = [numColors]string{
	"#1742af", "#b14b05", "#057d6d", "#fa35b7", "#b39006", "#8309fc", "#0299f0", "#464646",
}

var darkColors = [numColors]string{
	"#a8afff", "#f68942", "#4bc0a2", "#e13561", "#fccb0a", "#a052f9", "#3c88a8", "#dedede",
}

// dashes are the stroke patterns of the groups of styles.
var dashes = [NumStyles / numColors]string{"", "7 3", "2 2.5", "9 3 2 3"}

// A role is a colour of the style sheet that is not a series'.
type role struct{ name, light, dark string }

var roles = []role{
	{"bg", "#ffffff", "#12161c"},
	{"fg", "#1b2027", "#e4e8ee"},
	{"mute", "#586370", "#9ca7b5"},
	{"axis", "#8b95a1", "#66707d"},
	{"grid", "#e4e7eb", "#29303a"},
	{"soft", "#f4f6f8", "#1a2029"},
	{"link", "#1742af", "#a8afff"},
}

// css returns the style sheet of the figures: colours as custom properties on the
// root element, dark where the reader's screen asks for it, and the rules that use
// them below the class "plot".
func css() string {
	var b strings.Builder
	var light, dark string
	variables := func(r role) {
		light += "--" + r.name + ":" + r.light + ";"
		dark += "--" + r.name + ":" + r.dark + ";"
	}
	for _, r := range roles {
		variables(r)
	}
	for i := range numColors {
		variables(role{"c" + strconv.Itoa(i), lightColors[i], darkColors[i]})
	}
	b.WriteString(":root{color-scheme:light dark;" + light + "}\n")
	b.WriteString("@media screen and (prefers-color-scheme:dark){:root{" + dark + "}}\n")
	b.WriteString(".plot text{font-family:\"Helvetica Neue\",Helvetica,Arial,\"Liberation Sans\",sans-serif}\n")
	// Viewers without custom properties drop the second declaration of a pair
	// and show the light theme.
	rule := func(selector, property, name, light string) {
		b.WriteString(".plot " + selector + "{" + property + ":" + light + ";" + property + ":var(--" + name + ")}\n")
	}
	for _, r := range roles {
		switch r.name {
		case "bg", "fg", "mute":
			rule(".f-"+r.name, "fill", r.name, r.light)
		}
		switch r.name {
		case "bg", "mute", "axis", "grid":
			rule(".s-"+r.name, "stroke", r.name, r.light)
		}
	}
	for i, c := range lightColors {
		n := "c" + strconv.Itoa(i)
		rule(".f"+strconv.Itoa(i), "fill", n, c)
		rule(".s"+strconv.Itoa(i), "stroke", n, c)
	}
	b.WriteString(".plot .line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:butt}\n")
	b.WriteString(".plot .bold{stroke-width:3.2}\n.plot .thin{fill:none;stroke-width:1}\n")
	b.WriteString(".plot .band{fill-opacity:.16}\n")
	for i, d := range dashes {
		if d != "" {
			b.WriteString(".plot .d" + strconv.Itoa(i) + "{stroke-dasharray:" + d + "}\n")
		}
	}
	b.WriteString(".plot .ref{stroke-dasharray:5 4}\n.plot .b{font-weight:600}\n")
	return b.String()
}

// styles hands out looks to the series of a figure and collects its legend.
type styles struct {
	byName  map[string]int
	used    [NumStyles]bool
	entries []entry
	listed  map[string]int // index in entries
}

// glyph is what a legend shows before the name.
type glyph int

const (
	lineGlyph glyph = iota
	pointGlyph
	ruleGlyph
)

// An entry is one line of a legend.
type entry struct {
	name    string
	glyph   glyph
	style   int
	bold    bool
	markers bool
	band    bool
}

// reserve binds a name to a look the caller fixed; 0 leaves the choice open.
func (s *styles) reserve(name string, style int) {
	if style <= 0 {
		return
	}
	i := (style - 1) % NumStyles
	s.used[i] = true
	if name != "" {
		if _, ok := s.byName[name]; !ok {
			s.byName[name] = i
		}
	}
}

// look returns the look of a series: the fixed one, the one its name has, or
// the first that is free; position decides for series without a name.
func (s *styles) look(name string, style, position int) int {
	if style > 0 {
		return (style - 1) % NumStyles
	}
	if name == "" {
		return position % NumStyles
	}
	if i, ok := s.byName[name]; ok {
		return i
	}
	i := len(s.byName) % NumStyles
	for j, used := range s.used {
		if !used {
			i = j
			break
		}
	}
	s.used[i] = true
	s.byName[name] = i
	return i
}

// list puts an entry in the legend unless its name is empty or there already.
func (s *styles) list(e entry) {
	if e.name == "" {
		return
	}
	if i, ok := s.listed[e.name]; ok {
		s.entries[i].markers = s.entries[i].markers || e.markers
		s.entries[i].band = s.entries[i].band || e.band
		return
	}
	s.listed[e.name] = len(s.entries)
	s.entries = append(s.entries, e)
}
