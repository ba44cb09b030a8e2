package plot

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type rgb [3]float64

// linear parses #rrggbb to linear light (IEC 61966-2-1).
func linear(t *testing.T, hex string) rgb {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("colour %q", hex)
	}
	var out rgb
	for i := range out {
		c := float64(v>>(16-8*i)&255) / 255
		if c <= 0.04045 {
			out[i] = c / 12.92
		} else {
			out[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return out
}

// contrast is the ratio of WCAG 2.1.
func contrast(a, b rgb) float64 {
	l := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	return max(l(a), l(b)) / min(l(a), l(b))
}

func apply(m [3]rgb, c rgb) (out rgb) {
	for i := range m {
		for j := range c {
			out[i] += m[i][j] * c[j]
		}
	}
	return out
}

// oklab converts to B. Ottosson's perceptual space (2020), in which a distance
// of 0.02 is about just noticeable.
func oklab(c rgb) rgb {
	lms := apply([3]rgb{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005}}, c)
	for i := range lms {
		lms[i] = math.Cbrt(lms[i])
	}
	return apply([3]rgb{{0.2104542553, 0.7936177850, -0.0040720468}, {1.9779984951, -2.4285922050, 0.4505937099}, {0.0259040371, 0.7827717662, -0.8086757660}}, lms)
}

func TestColorsAreToldApart(t *testing.T) {
	// G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, A
	// physiologically-based model for simulation of color vision deficiency,
	// IEEE TVCG 15 (2009), severity 1.
	visions := []struct {
		name string
		m    [3]rgb
	}{
		{"normal", [3]rgb{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
		{"protanopia", [3]rgb{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
		{"deuteranopia", [3]rgb{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
		{"tritanopia", [3]rgb{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
	}
	paper := slices.IndexFunc(colors, func(c color) bool { return c.name == "bg" })
	for _, dark := range []bool{false, true} {
		shown := func(i int) string {
			if dark {
				return colors[i].dark
			}
			return colors[i].light
		}
		for i, c := range colors {
			got := contrast(linear(t, shown(i)), linear(t, shown(paper)))
			if i < numColors && got < 3 || slices.Contains([]string{"fg", "mute", "link"}, c.name) && got < 4.5 {
				t.Errorf("dark %v: colour %s has contrast %.2f", dark, c.name, got)
			}
		}
		for _, v := range visions {
			for i := range numColors {
				for j := range i {
					see := func(hex string) rgb {
						c := apply(v.m, linear(t, hex))
						for k := range c {
							c[k] = min(max(c[k], 0), 1)
						}
						return oklab(c)
					}
					a, b := see(shown(i)), see(shown(j))
					d := math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
					if d < 0.09 {
						t.Errorf("dark %v: colours %d and %d are %.3f apart with %s", dark, j, i, d, v.name)
					}
				}
			}
		}
	}
}

func TestLooksDiffer(t *testing.T) {
	seen := map[string]int{}
	for i := range numStyles {
		c := &canvas{}
		c.marker(i, 0, 0, 3)
		look := strokeClass(i, false) + " " + c.String()
		if j, dup := seen[look]; dup {
			t.Errorf("looks %d and %d are the same", j, i)
		}
		seen[look] = i
	}
	// Without colour at all, marker and dash pattern still tell the series of a
	// figure apart.
	shapes := map[string]bool{}
	for i := range numStyles {
		c := &canvas{}
		c.marker(i, 0, 0, 3)
		s := regexp.MustCompile(`[fs]-[0-9]`).ReplaceAllString(c.String(), "") + fmt.Sprint(i/numColors)
		if shapes[s] {
			t.Errorf("look %d differs by colour only", i)
		}
		shapes[s] = true
	}
}

// TestEveryClassHasARule finds classes that the style sheet does not know.
func TestEveryClassHasARule(t *testing.T) {
	sheet := css() + ".plot .d0{"
	for _, s := range samples() {
		tags, _ := elements(t, s.figure.render(false))
		for _, e := range tags {
			for _, class := range strings.Fields(attribute(e, "class")) {
				if class != "plot" && !strings.Contains(sheet, ".plot ."+class+"{") {
					t.Fatalf("%s: nothing is said about class %q", s.name, class)
				}
			}
		}
	}
	variables := themed("--NAME:")
	for _, m := range regexp.MustCompile(`var\(--([a-z0-9]+)\)`).FindAllStringSubmatch(pageCSS, -1) {
		if strings.Count(variables, "--"+m[1]+":") != 2 {
			t.Errorf("--%s is not defined for both themes", m[1])
		}
	}
}
