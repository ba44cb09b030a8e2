package plot

import (
	"html"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape returns s with the characters that are markup in XML and HTML replaced by entities, fit for text and for quoted
// attributes. Characters XML does not allow, such as control codes and broken UTF-8, become U+FFFD.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r // RuneError for broken UTF-8
	}, s))
}

// advance holds the widths of the printable ASCII characters in thousandths of the type size, for
// the Helvetica metrics which Arial, Liberation Sans and most interface fonts stay close to.
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

// fixed formats v with the given number of decimals and a true minus sign;
// what rounds to zero has no sign, and NaN is a dash.
func fixed(v float64, decimals int) string {
	if math.IsNaN(v) {
		return "–"
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return signs.Replace(s)
}

// signs replaces those of a formatted number by typographic ones.
var signs = strings.NewReplacer("-", "−", "+Inf", "∞", "Inf", "∞")

// raised writes an integer in raised digits.
var raised = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵",
	"6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "-", "⁻")

// scientific formats a finite number as mantissa×10ᵉ with up to the given decimals in
// the mantissa; a mantissa of 1 is left out.
func scientific(v float64, decimals int) string {
	if v == 0 {
		return "0"
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', decimals, 64), "e")
	if decimals > 0 {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	e, _ := strconv.Atoi(exponent)
	s := signs.Replace(mantissa) + "×10" + raised.Replace(strconv.Itoa(e))
	if mantissa == "1" || mantissa == "-1" {
		return strings.Replace(s, "1×", "", 1)
	}
	return s
}
