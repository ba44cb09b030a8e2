//go:build linux && amd64 && gc && !purego && !noasm

package accel_test

import (
	"fmt"
	"os"
	"testing"
	"text/tabwriter"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// TestSmall prints, with -report, products and solves of small matrices beside the
// plain loops, where the cost of a call counts.
func TestSmall(t *testing.T) {
	if !*report {
		t.Skip("without -report")
	}
	rng := testutil.RNG(t)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "operation\tm\tn\tk\tgo ns\t")
	for _, tab := range accel.Tables() {
		fmt.Fprintf(w, "%s ns\tratio\t", tab.Name)
	}
	fmt.Fprintln(w)
	line := func(name string, m, n, k int, f func(tab f64.Table) func()) {
		fs := []func(){f(f64.Generic)}
		for _, tab := range accel.Tables() {
			fs = append(fs, f(tab.Table))
		}
		times := medians(101, fs)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.0f\t", name, m, n, k, times[0])
		for _, v := range times[1:] {
			fmt.Fprintf(w, "%.0f\t%.2f\t", v, v/times[0])
		}
		fmt.Fprintln(w)
	}
	for _, s := range [][3]int{{1, 1, 1}, {1, 2, 2}, {2, 2, 2}, {3, 3, 3}, {4, 4, 4}, {8, 8, 8}, {1, 4, 4}, {1, 8, 8}, {4, 4, 1}, {4, 4, 8}, {8, 1, 8}, {8, 4, 4}, {16, 2, 2}, {16, 4, 4}, {17, 3, 1}, {100, 2, 2}, {4, 100, 4}, {4, 100, 12}} {
		m, n, k := s[0], s[1], s[2]
		a, b, c := fill(rng, m*k), fill(rng, n*k), make([]float64, m*n)
		line("NN", m, n, k, func(tab f64.Table) func() {
			return func() { tab.Gemm(m, n, k, 1e-9, a, k, 1, b, n, 1, c, n) }
		})
		line("NT", m, n, k, func(tab f64.Table) func() {
			return func() { tab.Gemm(m, n, k, 1e-9, a, k, 1, b, 1, k, c, n) }
		})
	}
	for _, s := range [][2]int{{1, 1}, {1, 4}, {1, 8}, {4, 4}, {4, 8}, {4, 12}, {8, 8}, {8, 4}, {32, 4}, {32, 8}} {
		m, n := s[0], s[1]
		l, x := make([]float64, n*n), make([]float64, m*n)
		for i := range n {
			l[i*n+i] = 1
		}
		line("Trsm", m, n, 0, func(tab f64.Table) func() {
			return func() { tab.Trsm(m, n, x, n, l, n) }
		})
	}
	for _, n := range []int{1, 2, 4, 8, 16} {
		x, y := fill(rng, n), fill(rng, n)
		line("Dot", 0, n, 0, func(tab f64.Table) func() { return func() { tab.Dot(x, y) } })
		line("Axpy", 0, n, 0, func(tab f64.Table) func() { return func() { tab.Axpy(y, 1e-9, x) } })
	}
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		a, v, x, y := fill(rng, n*n), make([]float64, n), fill(rng, n), fill(rng, n)
		line("SymPass", 0, n, 0, func(tab f64.Table) func() { return func() { tab.SymPass(n, a, n, v, v, x, y) } })
		line("BidiagPass", n, n, 0, func(tab f64.Table) func() {
			return func() { tab.BidiagPass(n, n, a, n, v, v, v, v, x, 0, y, y, v) }
		})
	}
	w.Flush()
}
