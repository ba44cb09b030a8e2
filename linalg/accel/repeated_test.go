//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// TestRepeatedPoints: without noise, two or three observations of one point make a
// singular matrix, whatever pivot rounding leaves of it. Every tier, and the plain
// loops, must notice that, add a jitter and say so, and predict what a fit to the
// distinct points predicts. Every other fit is grown point by point; a third
// have noise about the smallest that a factor can tell from none.
func TestRepeatedPoints(t *testing.T) {
	fits := 15_000
	if testing.Short() {
		fits = 3_000
	}
	tiers := append(accel.Tables(), accel.TierTable{Name: "plain", Table: f64.Generic})
	for _, tab := range tiers {
		t.Run(tab.Name, func(t *testing.T) {
			defer f64.Use(tab.Table)()
			rng := testutil.RNG(t)
			silent, off, worst := 0, 0, 0.0
			for f := range fits {
				dim, n, repeats := 1+rng.IntN(3), 3+rng.IntN(18), 1+rng.IntN(2)
				length, variance := 0.1+0.4*rng.Float64(), math.Exp(2*rng.NormFloat64())
				k := kernel.Scale(variance,
					[]kernel.Kernel{kernel.Matern12(length), kernel.Matern32(length), kernel.Matern52(length)}[rng.IntN(3)])
				noise := 0.0
				if f%3 == 2 {
					noise = variance * math.Pow(10, -12-6*rng.Float64())
				}
				data, y := make([]float64, 0, (n+repeats)*dim), make([]float64, 0, n+repeats)
				for i := range n {
					for j := range dim {
						v := rng.Float64()
						if j == 0 { // points apart from each other
							v = (float64(i) + 0.5*v) / float64(n)
						}
						data = append(data, v)
					}
					y = append(y, math.Sin(5*data[i*dim]))
				}
				distinct := fit(t, k, noise, linalg.NewDense(n, dim, data[:n*dim:n*dim]), y[:n:n], false)
				if distinct.c.Jitter() != 0 {
					t.Fatalf("fit %d: jitter %g for distinct points", f, distinct.c.Jitter())
				}
				first := rng.IntN(n)
				for range repeats {
					data = append(data, data[first*dim:][:dim]...)
					y = append(y, y[first])
				}
				p := fit(t, k, noise, linalg.NewDense(n+repeats, dim, data), y, f%2 == 1)
				if noise == 0 && p.c.Jitter() == 0 {
					silent++
				}
				z := linalg.NewDense(4, dim, fill(rng, 4*dim))
				want, got := distinct.means(t, z), p.means(t, z)
				d := 0.0
				for i, m := range want {
					d = max(d, math.Abs(got[i]-m))
				}
				if !(d <= 1e-3) {
					off++
				}
				worst = max(worst, d)
			}
			t.Logf("%d fits: means differ by %.2g at most", fits, worst)
			if silent > 0 || off > 0 {
				t.Errorf("of %d fits %d reported no jitter, and %d means were off by more than .001, up to %g", fits, silent, off, worst)
			}
		})
	}
}

// regression is a Gaussian process of mean zero given values at points.
type regression struct {
	k kernel.Kernel
	x *linalg.Dense
	c gaussian.Conditioner
}

// fit makes a regression at once or point by point, as long as no jitter is needed.
func fit(t *testing.T, k kernel.Kernel, noise float64, x *linalg.Dense, y []float64, grow bool) *regression {
	t.Helper()
	r := &regression{k: k, x: x}
	var gram linalg.Sym
	kernel.Gram(&gram, k, x)
	for i := 0; grow && i < len(y); i++ {
		grow = r.c.Append(gram.Row(i)[:i], gram.At(i, i), noise, y[i]) == nil
	}
	if !grow {
		if err := r.c.Factorize(&gram, []float64{noise}, y); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// means returns the posterior means at the rows of z.
func (r *regression) means(t *testing.T, z *linalg.Dense) []float64 {
	t.Helper()
	n, _ := z.Dims()
	mean := make([]float64, n)
	var v linalg.Dense
	kernel.Cross(&v, r.k, r.x, z)
	if err := r.c.Whiten(&v, &v); err != nil {
		t.Fatal(err)
	}
	if err := r.c.Update(mean, nil, &v); err != nil {
		t.Fatal(err)
	}
	return mean
}
