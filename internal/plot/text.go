package plot

import (
	"html"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape returns s with the characters that are markup in XML and HTML
// replaced by entities, fit for text and for quoted attributes. Characters XML
// does not allow, such as control codes and broken UTF-8, become U+FFFD.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r // RuneError for broken UTF-8
	}, s))
}

// advance holds the widths of the printable ASCII characters in thousandths of
// the type size, for the Helvetica metrics which Arial, Liberation Sans and
// most interface fonts stay close to.
var advance = [95]int16{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// widthMargin allows for faces wider than the table's.
const widthMargin = 1.12

// textWidth estimates the width of s at a type size, on the large side.
func textWidth(s string, size float64) float64 {
	var w float64
	for _, r := range s {
		switch {
		case r >= ' ' && r <= '~':
			w += float64(advance[r-' '])
		case r >= 0x300 && r <= 0x36F: // combining accents
		case r >= 0x2070 && r <= 0x209F, r == '¹', r == '²', r == '³':
			w += 340
		case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0xFFDC, r >= 0x1F000:
			w += 1000
		default:
			w += 600
		}
	}
	return w * size / 1000 * widthMargin
}

// shorten cuts s so that it fits in width, ending it in an ellipsis.
func shorten(s string, size, width float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for n := len(runes) - 1; n > 0; n-- {
		t := strings.TrimRight(string(runes[:n]), " ") + "…"
		if textWidth(t, size) <= width {
			return t
		}
	}
	return "…"
}

// wrap breaks s into lines that fit in width. Words too long for a line are
// shortened.
func wrap(s string, size, width float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		word = shorten(word, size, width)
		switch {
		case line == "":
			line = word
		case textWidth(line+" "+word, size) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fixed formats v with the given number of decimals and a true minus sign;
// what rounds to zero has no sign.
func fixed(v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.HasPrefix(s, "-") {
		if strings.Trim(s, "-0.") == "" {
			return s[1:]
		}
		return "−" + s[1:]
	}
	return s
}

// scientific formats v as mantissa×10ᵉ with the given decimals in the
// mantissa; a mantissa of exactly 1 is left out.
func scientific(v float64, decimals int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fixed(v, 0)
	}
	s := strconv.FormatFloat(v, 'e', decimals, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	e, _ := strconv.Atoi(exponent)
	power := "10" + superscript(e)
	mantissa = strings.Replace(mantissa, "-", "−", 1)
	switch mantissa {
	case "1":
		return power
	case "−1":
		return "−" + power
	}
	return mantissa + "×" + power
}

// superscript writes an integer in raised digits.
func superscript(n int) string {
	const raised = "⁰¹²³⁴⁵⁶⁷⁸⁹"
	digits := []rune(raised)
	var b strings.Builder
	for _, c := range strconv.Itoa(n) {
		if c == '-' {
			b.WriteRune('⁻')
			continue
		}
		b.WriteRune(digits[c-'0'])
	}
	return b.String()
}

// short formats v in at most four significant digits, for values printed on
// bars and cells.
func short(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0) || v == 0:
		return fixed(v, 0)
	case a >= 1e6 || a < 1e-4:
		return scientific(v, 2)
	}
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if strings.Contains(s, "e") { // 'g' turns to exponents where rounding reaches the precision
		s = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.Replace(s, "-", "−", 1)
}
