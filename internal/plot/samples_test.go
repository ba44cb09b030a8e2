package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// sample is a figure the tests look at.
type sample struct {
	name    string
	figure  *Figure
	caption string
}

// decay is a noisy falling curve with a band, like a mean regret.
func decay(rng *rand.Rand, n int, rate float64) (y, lo, hi []float64) {
	v := 0.4 + 0.2*rng.Float64()
	for range n {
		v *= 1 - rate*rng.Float64()
		y, lo, hi = append(y, v), append(lo, v*0.7), append(hi, v*1.35)
	}
	return y, lo, hi
}

var methodNames = []string{
	"random search", "plain GP", "RGPE", "TST-R", "TAF (RGPE weights)", "TAF (TST-R weights)", "RM-GP-UCB", "RM-GP-TS",
	"HyperBO", "HyperBO+", "MetaBO", "empirical GP", "stacked residual GP", "JefClus_JefCMP", "WssClus_WssCMP", "WssClus_WssCMP_Bary",
}

// samples covers what the callers draw.
func samples() []sample {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []sample
	add := func(name, caption string, f *Figure) { out = append(out, sample{name, f, caption}) }

	few := func(title string, log bool) *Chart {
		c := &Chart{Title: title, X: Axis{Label: "queries"}, Y: Axis{Label: "normalised regret", Log: log}}
		for i, n := range []string{"random search", "plain GP", "cm-BO"} {
			y, lo, hi := decay(rng, 50, 0.04+0.05*float64(i))
			c.Series = append(c.Series, Series{Name: n, Y: y, Lo: lo, Hi: hi, Bold: i == 2})
		}
		return c
	}
	add("two", "Three methods, bands, a linear and a logarithmic axis.",
		&Figure{Title: "Regret after each query", Panels: []*Chart{few("UCB(3), linear", false), few("EI, logarithmic", true)}})

	many := &Figure{Title: "Sixteen methods", Columns: 1, Height: 320}
	for _, a := range []string{"EI"} {
		c := &Chart{Title: a, X: Axis{Label: "queries"}, Y: Axis{Label: "normalised regret", Log: true}}
		for i, n := range methodNames {
			y, _, _ := decay(rng, 50, 0.02+0.01*float64(i))
			c.Series = append(c.Series, Series{Name: n, Y: y})
		}
		many.Panels = append(many.Panels, c)
	}
	add("many", "Sixteen looks with rows of names.", many)

	below := &Figure{Columns: 3, Height: 200}
	for _, a := range []string{"UCB(3)", "Expected improvement", "Probability of improvement over a target that is learned"} {
		c := &Chart{Title: a, X: Axis{Label: "queries"}, Y: Axis{Label: "average rank"}}
		for i, n := range methodNames[:8] {
			y := make([]float64, 50)
			for j := range y {
				y[j] = 4.5 + (float64(i)-3.5)*(1-math.Exp(-float64(j)/10)) + 0.2*rng.NormFloat64()
			}
			c.Series = append(c.Series, Series{Name: n, Y: y})
		}
		below.Panels = append(below.Panels, c)
	}
	add("panels", "Three panels and a legend in rows.", below)

	profile := &Chart{Title: "Solved fraction", X: Axis{Label: "threshold C on the regret", Log: true}, Y: Axis{Label: "fraction of runs below C", Min: 0, Max: 1}}
	for i, n := range methodNames[:6] {
		var x, y []float64
		for e := -4.0; e <= 0; e += 0.1 {
			x, y = append(x, math.Pow(10, e)), append(y, 1/(1+math.Exp(-(e+3-0.35*float64(i))*2.2)))
		}
		profile.Series = append(profile.Series, Series{Name: n, X: x, Y: y, Step: true})
	}
	clusters := &Chart{Title: "Regret against the number of clusters", X: Axis{Label: "C", Integer: true}, Y: Axis{Label: "regret after 50 queries", Zero: true}}
	for _, n := range []string{"WssClus_WssCMP", "JefClus_JefCMP"} {
		y, lo, hi := decay(rng, 5, 0.3)
		clusters.Series = append(clusters.Series, Series{Name: n, X: []float64{2, 3, 4, 5, 6}, Y: y, Lo: lo, Hi: hi})
	}
	add("profile", "Steps, whole-number ticks.", &Figure{Panels: []*Chart{profile, clusters}})

	scaling := &Chart{Title: "Time of one Ask", X: Axis{Label: "observations n", Log: true}, Y: Axis{Label: "seconds", Log: true}}
	for i, n := range []string{"full refit", "append a row"} {
		var x, y []float64
		for e := 3; e <= 11; e++ {
			v := math.Pow(2, float64(e))
			x, y = append(x, v), append(y, 1e-8*math.Pow(v, 3-float64(i))*(1+0.1*rng.NormFloat64()))
		}
		scaling.Series = append(scaling.Series, Series{Name: n, X: x, Y: y})
	}
	add("scaling", "Both axes logarithmic.", &Figure{Panels: []*Chart{scaling}, Width: 560, Height: 300})

	weights := &Chart{Title: "Prototype weights", X: Axis{Label: "queries"}, Y: Axis{Label: "weight", Min: 0, Max: 1}}
	for i := range 4 {
		var y []float64
		for range 30 {
			y = append(y, 0.25)
		}
		weights.Series = append(weights.Series, Series{Name: fmt.Sprintf("cluster %d", i+1), Y: y})
	}
	for j := range 30 {
		var sum float64
		for i := range 4 {
			weights.Series[i].Y[j] = math.Exp(math.Sin(float64(i*i) + float64(j)/9))
			sum += weights.Series[i].Y[j]
		}
		for i := range 4 {
			weights.Series[i].Y[j] /= sum
		}
	}
	study := &Chart{Title: "A study as it runs", X: Axis{Label: "trial", Integer: true}, Y: Axis{Label: "accuracy"}}
	var told, best []float64
	top := 0.0
	for j := range 40 {
		v := 0.9 - 0.3*rng.Float64()*math.Exp(-float64(j)/20)
		top = max(top, v)
		told, best = append(told, v), append(best, top)
	}
	study.Series = []Series{{Name: "told", Y: told, Points: true}, {Name: "best so far", Y: best, Step: true}}
	add("study", "Lines between 0 and 1; points with a step line.", &Figure{Panels: []*Chart{weights, study}})

	coverage := Series{Points: true, Style: 7}
	for i := range methodNames {
		coverage.X, coverage.Y = append(coverage.X, 0.5+0.5*rng.Float64()), append(coverage.Y, float64(i))
	}
	named := &Chart{Title: "Coverage", X: Axis{Label: "coverage", Min: 0, Max: 1}, Y: Axis{Names: methodNames}, Series: []Series{coverage}}
	choices := &Chart{Title: "Choices", X: Axis{Label: "kernel", Names: methodNames}, Y: Axis{Label: "value"}, Series: []Series{{Points: true, X: coverage.Y, Y: coverage.X}}}
	add("named", "Axes with names.", &Figure{Panels: []*Chart{named, choices}, Height: 320})
	ticks := &Chart{Title: "Wide labels", X: Axis{Names: []string{"a name that is wide", "and another one, wider"}}, Series: []Series{{X: []float64{0, 1}, Y: []float64{1, 2}}}}
	add("overhang", "Labels that stick out at the right.", &Figure{Panels: []*Chart{ticks}, Width: 300})
	add("narrow", "Labels that leave no room.", &Figure{Panels: []*Chart{named, choices}, Width: 200, Height: 320})
	return append(out, degenerate()...)
}

// degenerate covers data that has nothing, too little or too much in it.
func degenerate() []sample {
	nan, inf := math.NaN(), math.Inf(1)
	chart := func(a Axis, s ...Series) *Chart { return &Chart{Title: "t", X: Axis{Label: "x"}, Y: a, Series: s} }
	var panels []*Chart
	for _, a := range []Axis{{Label: "y"}, {Label: "y", Log: true}} {
		panels = append(panels,
			chart(a),
			chart(a, Series{Name: "empty"}),
			chart(a, Series{Name: "one", Y: []float64{3}}),
			chart(a, Series{Name: "constant", Y: []float64{0.25, 0.25, 0.25}}),
			chart(a, Series{Name: "zero", Y: []float64{0, 0}}),
			chart(a, Series{Name: "unknown", Y: []float64{nan, inf, -inf}}),
			chart(a, Series{Name: "gaps", Y: []float64{1, nan, 2, 3, inf, 4}, Lo: []float64{0.5, nan, 1, 2, 3}, Hi: []float64{2, 2, nan, 4, 5}}),
			chart(a, Series{Name: "huge", Y: []float64{-1e308, 1e308, 1e-320}}),
			chart(a, Series{Name: "close", Y: []float64{1, 1 + 1e-15, 1 - 1e-15}}),
			chart(a, Series{Name: "tiny", Y: []float64{1e-310, 3e-312}}),
			chart(a, Series{Name: "mixed", Y: []float64{-1, 0, 1e-9, 5}}),
			chart(a, Series{Name: "ragged", X: []float64{1, 2, 3}, Y: []float64{1, 2}, Lo: []float64{0}, Hi: []float64{3, 3, 3}}),
		)
	}
	long := "a name that is very long indeed, longer than any panel of this width could ever show on one line of its legend"
	return []sample{
		{"degenerate", &Figure{Panels: panels, Columns: 4, Width: 1200, Height: 120}, "Awkward data."},
		{"nothing", &Figure{}, "No panels."},
		{"odd", &Figure{Width: 500, Panels: []*Chart{
			{}, {X: Axis{Names: []string{}}, Y: Axis{Names: []string{"a"}}},
			{Series: []Series{{Y: []float64{1}}, {Name: "s", Y: []float64{1, nan, 3}}}},
		}}, "Panels with nothing in them."},
		{"escaping", &Figure{Title: `<&"'> ]]> --> ` + "\x00\xff\ufffe", Width: 400, Panels: []*Chart{
			&Chart{Title: "<b>" + long, X: Axis{Label: "<x>"}, Y: Axis{Label: "&y"}, Series: []Series{{Name: `"<script>"`, Y: []float64{1, 2}}, {Name: long, Y: []float64{2, 1}}}},
			{X: Axis{Names: []string{"&c", long}}, Y: Axis{Names: []string{"<r>", "s"}}, Series: []Series{{Name: "&", Y: []float64{0, 1}}}},
		}}, "Markup `<in>` every text & <caption>."},
	}
}

// TestGallery writes all samples as one page and as files to the folder named
// by PLOT_GALLERY, to look at in a browser.
func TestGallery(t *testing.T) {
	dir := os.Getenv("PLOT_GALLERY")
	if dir == "" {
		t.Skip("PLOT_GALLERY is not set")
	}
	if err := os.WriteFile(filepath.Join(dir, "gallery.html"), []byte(samplePage().String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples() {
		if err := os.WriteFile(filepath.Join(dir, s.name+".svg"), []byte(s.figure.SVG()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func samplePage() *Page {
	p := NewPage("Samples & <tests>")
	p.Text("Every kind of figure, with `code`, a lone ` quote and <markup>.")
	p.Section("Figures")
	for _, s := range samples() {
		p.Figure(s.caption, s.figure)
	}
	p.Section("Tables")
	p.Table(sampleTable())
	p.Section("Other")
	p.Subsection("A list")
	p.List("one", "two `three`")
	p.Pre("go run ./examples/quickstart -seed 1 < in > out\n")
	return p
}

func sampleTable() *Table {
	return &Table{
		Caption: "Mean regret; the smallest is bold.",
		Columns: []Column{{Title: "method"}, {"1 query", BestMin}, {"10 queries", BestMin}, {"accuracy", BestMax}, {"note", BestMax}},
		Rows: [][]Cell{
			{Str("random search"), Num(0.41, 3), Num(0.12, 3), Num(88.25, 1), Str("a|b")},
			{Str("plain GP"), Num(0.4101, 3), Num(0.0512, 3), Num(math.NaN(), 1), Str("")},
			{Str("cm-BO"), Num(0.102, 3), Num(-0.0001, 3), Num(101.5, 1), Str("<x> & `y`")},
		},
	}
}
