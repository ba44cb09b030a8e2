package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/internal/plot"
)

// figureRows are the rows the figures need: those of the table that have a rate,
// and the sweeps over sizes.
func figureRows() []row {
	var out []row
	for _, r := range rows() {
		if r.flop > 0 {
			out = append(out, r)
		}
	}
	for _, s := range sweeps() {
		for _, x := range s.at {
			out = append(out, s.row(x))
		}
	}
	return out
}

// drawFigures writes rates.svg, learn-scaling.svg and online-scaling.svg to a
// folder, as far as the results reach, and the slopes to standard output.
func drawFigures(folder string, results []*result) error {
	if err := drawRates(folder, results); err != nil {
		return err
	}
	byRow := map[string]*result{}
	for _, r := range results {
		byRow[r.row.String()] = r
	}
	figures := map[string]*plot.Figure{}
	panels := map[string]*plot.Chart{}
	var order []string
	for _, s := range sweeps() {
		key := s.figure + s.panel
		c := panels[key]
		if c == nil {
			c = &plot.Chart{Title: s.panel, X: plot.Axis{Label: s.axis, Log: true}, Y: plot.Axis{Label: "seconds", Log: true}}
			panels[key] = c
			if figures[s.figure] == nil {
				figures[s.figure] = &plot.Figure{Columns: 2}
				order = append(order, s.figure)
			}
			figures[s.figure].Panels = append(figures[s.figure].Panels, c)
		}
		for _, build := range []string{def, acc} {
			// Learn has a curve for each stage, the others one.
			curves := map[string][]float64{}
			var names []string
			var xs []float64
			for _, x := range s.at {
				r := byRow[s.row(x).String()]
				if r == nil || r.ours(build) == nil {
					continue
				}
				xs = append(xs, x)
				if us := r.ours(build); s.name != "" {
					curves[s.name] = append(curves[s.name], us.median())
					names = []string{s.name}
				} else {
					names = []string{"fits", "clustering", "prototypes"}
					for _, n := range names {
						curves[n] = append(curves[n], us.extra[n])
					}
				}
			}
			for _, n := range names {
				if len(xs) == 0 {
					break
				}
				c.Series = append(c.Series, plot.Series{Name: n + ", " + build, X: xs, Y: curves[n]})
				fmt.Printf("%-50s %-26s %s\n", s.panel, n+", "+build, slopes(s.axis, xs, curves[n]))
			}
		}
	}
	titles := map[string]string{
		"learn-scaling":  "Learn and its pieces, one goroutine",
		"online-scaling": "Ask and Tell, one goroutine",
	}
	for _, name := range order {
		f := figures[name]
		f.Panels = slices.DeleteFunc(f.Panels, func(c *plot.Chart) bool { return len(c.Series) == 0 })
		if len(f.Panels) == 0 {
			continue
		}
		f.Title = titles[name]
		if err := os.WriteFile(filepath.Join(folder, name+".svg"), []byte(f.SVG()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// slopes tells the exponent of growth from one size to the next.
func slopes(axis string, x, y []float64) string {
	var b strings.Builder
	for i := range x {
		if i > 0 {
			fmt.Fprintf(&b, " -(%.1f)-> ", math.Log(y[i]/y[i-1])/math.Log(x[i]/x[i-1]))
		}
		fmt.Fprintf(&b, "%s=%g: %s", axis, x[i], seconds(y[i]))
	}
	return b.String()
}

// drawRates draws GFLOP/s by size, a panel for each kind of work.
func drawRates(folder string, results []*result) error {
	f := &plot.Figure{Title: "Rates of dense linear algebra, one thread", Columns: 2}
	charts := map[string]*plot.Chart{}
	add := func(c *plot.Chart, name string, n, rate float64) {
		for i := range c.Series {
			if c.Series[i].Name == name {
				c.Series[i].X, c.Series[i].Y = append(c.Series[i].X, n), append(c.Series[i].Y, rate)
				return
			}
		}
		c.Series = append(c.Series, plot.Series{Name: name, X: []float64{n}, Y: []float64{rate}})
	}
	for _, r := range results {
		if r.row.flop == 0 {
			continue
		}
		c := charts[r.row.kind]
		if c == nil {
			c = &plot.Chart{Title: r.row.name, X: plot.Axis{Label: "n", Log: true}, Y: plot.Axis{Label: "GFLOP/s", Log: true}}
			charts[r.row.kind] = c
			f.Panels = append(f.Panels, c)
		}
		var n float64
		if _, err := fmt.Sscanf(r.row.size, "n=%g", &n); err != nil {
			return fmt.Errorf("size of %s: %w", r.row, err)
		}
		for _, s := range []struct {
			name string
			c    *contender
		}{
			{"ours, default", r.ours(def)}, {"ours, accelerated", r.ours(acc)},
			{"gonum", r.fastest("", "gonum")}, {"numpy, fastest OpenBLAS", r.fastest("", "numpy")},
			{"peak", r.fastest("", "peak")},
		} {
			if s.c != nil {
				add(c, s.name, n, r.row.flop/s.c.median()/1e9)
			}
		}
	}
	if len(f.Panels) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(folder, "rates.svg"), []byte(f.SVG()), 0o644)
}
