package plot

import (
	"encoding/xml"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain text-1.5", "plain text-1.5"},
		{`<a href="x">&'</a>`, "&lt;a href=&#34;x&#34;&gt;&amp;&#39;&lt;/a&gt;"},
		{"a\x00b\x1fc", "a\uFFFDb\uFFFDc"},
		{"tab\tline\n", "tab\tline\n"},
		{"\xff\xfe", "\uFFFD\uFFFD"},
		{"\ufffe\uffff", "\uFFFD\uFFFD"},
		{"β ≥ 0 – 日本", "β ≥ 0 – 日本"},
	}
	for _, tt := range tests {
		if got := escape(tt.in); got != tt.want {
			t.Errorf("escape(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "<&>", "a\x00", "\xff", "]]>", "'\"", "\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := escape(s)
		var got struct {
			A string `xml:"a,attr"`
			S string `xml:",chardata"`
		}
		if err := xml.Unmarshal([]byte(`<r a="`+e+`">`+e+`</r>`), &got); err != nil {
			t.Fatalf("escape(%q) = %q: %v", s, e, err)
		}
		if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0xFFFE || r == 0xFFFF }) && (got.A != s || got.S != s) {
			t.Fatalf("%q came back as %q and %q", s, got.A, got.S)
		}
	})
}

func TestNumbersAsText(t *testing.T) {
	tests := []struct{ got, want string }{
		{fixed(1.005, 1), "1.0"},
		{fixed(-0.04, 1), "0.0"},
		{fixed(-0.06, 1), "−0.1"},
		{fixed(math.NaN(), 2), "–"},
		{fixed(math.Inf(-1), 2), "−∞"},
		{scientific(2e-7, 2), "2×10⁻⁷"},
		{scientific(-1e12, 2), "−10¹²"},
		{scientific(1.25e100, 3), "1.25×10¹⁰⁰"},
		{scientific(0, 3), "0"},
		{number(1.005), "1"},
		{number(-0.001), "0"},
		{number(12.346), "12.35"},
	}
	for i, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%d: %q, want %q", i, tt.got, tt.want)
		}
	}
}

func TestFittingText(t *testing.T) {
	long := "several words that do not fit on one line, and averyveryverylongwordwithoutanyspaceinit"
	for _, w := range []float64{10, 40, 100, 300, 1000} {
		if s := shorten(long, 12, w); textWidth(s, 12) > w && s != "…" {
			t.Errorf("%q is %g wide, not %g", s, textWidth(s, 12), w)
		}
	}
	if s := shorten("fits", 12, 100); s != "fits" {
		t.Errorf("%q", s)
	}
	if textWidth("iiii", 10) >= textWidth("mmmm", 10) || textWidth("ab", 20) != 2*textWidth("ab", 10) {
		t.Error("widths do not follow the letters and the size")
	}
}
