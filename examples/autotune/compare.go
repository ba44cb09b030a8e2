package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/plot"
)

var methods = []string{"random search", "without a prior", "with the prior"}

// comparison holds how much slower than the best known of a shape sizes are, as the mean
// logarithm over shapes and runs.
type comparison struct {
	settings
	slower  [][]float64 // by method and number of evaluations less 1
	builtin float64     // of the sizes in the module
	spent   time.Duration
}

// compare tunes new shapes with each method. The runs of a repeat take turns, so that a
// machine that is busy for a while is so for all methods.
func compare(ctx context.Context, s settings, w io.Writer) (*comparison, error) {
	began := time.Now()
	prior, err := cmbo.DecodePrior(bytes.NewReader(past))
	if err != nil {
		return nil, fmt.Errorf("past.prior: %w", err)
	}
	c := &comparison{settings: s, slower: make([][]float64, len(methods))}
	for i := range c.slower {
		c.slower[i] = make([]float64, s.budget)
	}
	fmt.Fprintf(w, "%d past shapes, %d new ones, %d evaluations a run\n\n", len(prior.Tasks()), s.shapes, s.budget)
	fmt.Fprintf(w, "%-22s %12s %12s  %s\n", "new shape", "built in, ms", "best, ms",
		"best block sizes: inner, rows, columns")
	for i := range s.shapes {
		p := newProduct(drawShape(s.seed, "new", i))
		runs := make([][][]measured, len(methods)) // by method and repeat
		for r := range s.repeats {
			seed := s.seed + uint64(1000*i+r)
			for m := range methods {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				var run []measured
				var err error
				switch m {
				case 0:
					run, err = searchAtRandom(p, s.budget, seed)
				case 1:
					run, err = tune(ctx, nil, p, s.budget, seed)
				default:
					run, err = tune(ctx, prior, p, s.budget, seed)
				}
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", p.shape, methods[m], err)
				}
				runs[m] = append(runs[m], incumbents(run))
			}
		}
		best, builtin := c.judge(p, runs)
		fmt.Fprintf(w, "%-22s %12.2f %12.2f  %d, %d, %d\n",
			p.shape, 1e3*builtin, 1e3*best.seconds, best.blocks[0], best.blocks[1], best.blocks[2])
	}
	c.spent = time.Since(began)
	return c, nil
}

// incumbents returns, for each number of evaluations, what was the fastest of them when it
// was measured.
func incumbents(run []measured) []measured {
	out := make([]measured, len(run))
	for i, m := range run {
		if out[i] = m; i > 0 && out[i-1].seconds <= m.seconds {
			out[i] = out[i-1]
		}
	}
	return out
}

// rounds is the number of times each of the sizes found is measured again.
const rounds = 5

// judge measures what the runs came to again, all in turn, and adds how much slower than
// the best of all it is. It returns the best sizes and the time of the module's own.
func (c *comparison) judge(p *product, runs [][][]measured) (best measured, builtin float64) {
	own := ownBlocks()
	again := map[[3]int]float64{}
	all := [][3]int{own}
	for _, method := range runs {
		for _, run := range method {
			for _, m := range run {
				if _, known := again[m.blocks]; !known && m.blocks != own {
					all = append(all, m.blocks)
				}
				again[m.blocks] = math.Inf(1)
			}
		}
	}
	again[own] = math.Inf(1)
	for range rounds {
		for _, b := range all {
			again[b] = min(again[b], p.measure(b).seconds)
		}
	}
	best = measured{own, again[own]}
	for _, b := range all {
		if again[b] < best.seconds {
			best = measured{b, again[b]}
		}
	}
	for m, method := range runs {
		for _, run := range method {
			for n, found := range run {
				c.slower[m][n] += math.Log(again[found.blocks]/best.seconds) / float64(c.shapes*c.repeats)
			}
		}
	}
	c.builtin += math.Log(again[own]/best.seconds) / float64(c.shapes)
	return best, again[own]
}

// columns are the numbers of evaluations in the table.
func (c *comparison) columns() []int {
	var out []int
	for n := 1; n < c.budget; n *= 2 {
		out = append(out, n)
	}
	return append(out, c.budget)
}

func (c *comparison) print(w io.Writer) {
	fmt.Fprintf(w, "\ntime over the best known, after evaluations (geometric mean of %d runs)\n\n%-22s",
		c.shapes*c.repeats, "")
	for _, n := range c.columns() {
		fmt.Fprintf(w, " %6d", n)
	}
	fmt.Fprintln(w)
	for m, name := range methods {
		fmt.Fprintf(w, "%-22s", name)
		for _, n := range c.columns() {
			fmt.Fprintf(w, " %6.2f", math.Exp(c.slower[m][n-1]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%-22s %6.2f\n\n%.0f s\n", "sizes built in", math.Exp(c.builtin), c.spent.Seconds())
}

// figure draws the comparison.
func (c *comparison) figure() *plot.Figure {
	chart := &plot.Chart{
		X: plot.Axis{Label: "block sizes measured", Integer: true},
		Y: plot.Axis{Label: "time over the best known"},
	}
	var x, builtin []float64
	for n := range c.budget {
		x, builtin = append(x, float64(n+1)), append(builtin, math.Exp(c.builtin))
	}
	for m, name := range methods {
		y := make([]float64, c.budget)
		for n, l := range c.slower[m] {
			y[n] = math.Exp(l)
		}
		chart.Series = append(chart.Series, plot.Series{Name: name, X: x, Y: y})
	}
	chart.Series = append(chart.Series, plot.Series{Name: "sizes built in", X: x, Y: builtin})
	return &plot.Figure{Title: "Block sizes of a matrix product, new shapes",
		Panels: []*plot.Chart{chart}, Columns: 1, Width: 640}
}
