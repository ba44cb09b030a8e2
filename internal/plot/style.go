package plot

import "strings"

// numColors is the number of hues. They were chosen so that any two stay apart for normal vision
// and under simulated protanopia, deuteranopia and tritanopia, and all stand out from the
// background by 3:1 or more (WCAG 2.1, 1.4.11); the tests recompute both.
const numColors = 8

// numStyles is the number of different looks of a series: the colours in four dash patterns.
const numStyles = 4 * numColors

// A color is one of the style sheet in the light and in the dark theme.
type color struct{ name, light, dark string }

// colors are those of the series, and of what is around them.
var colors = []color{
	{"0", "#1742af", "#a8afff"},
	{"1", "#b14b05", "#f68942"},
	{"2", "#057d6d", "#4bc0a2"},
	{"3", "#fa35b7", "#e13561"},
	{"4", "#b39006", "#fccb0a"},
	{"5", "#8309fc", "#a052f9"},
	{"6", "#0299f0", "#3c88a8"},
	{"7", "#464646", "#dedede"},
	{"bg", "#ffffff", "#12161c"},
	{"fg", "#1b2027", "#e4e8ee"},
	{"mute", "#586370", "#9ca7b5"},
	{"axis", "#8b95a1", "#66707d"},
	{"grid", "#e4e7eb", "#29303a"},
	{"soft", "#f4f6f8", "#1a2029"},
	{"link", "#1742af", "#a8afff"},
}

// themed writes a rule with NAME and COLOR in it for each colour, light ones and, where
// the reader's screen asks for them, dark ones.
func themed(rule string) string {
	var light, dark strings.Builder
	for _, c := range colors {
		light.WriteString(strings.NewReplacer("NAME", c.name, "COLOR", c.light).Replace(rule))
		dark.WriteString(strings.NewReplacer("NAME", c.name, "COLOR", c.dark).Replace(rule))
	}
	return light.String() + "\n@media screen and (prefers-color-scheme:dark){" + dark.String() + "}"
}

// css returns the style sheet of figures, all of it below the class "plot".
func css() string {
	return ":root{color-scheme:light dark}\n" + themed(".plot .f-NAME{fill:COLOR}.plot .s-NAME{stroke:COLOR}") + `
.plot text{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif}
.plot .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.plot .bold{stroke-width:3.2}
.plot .thin{fill:none;stroke-width:1}
.plot .band{fill-opacity:.16}
.plot .d1{stroke-dasharray:7 3}
.plot .d2{stroke-dasharray:2 2.5}
.plot .d3{stroke-dasharray:9 3 2 3}
.plot .b{font-weight:600}
`
}
