//go:build linux && amd64 && gc && !purego && !noasm

package accel_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"text/tabwriter"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// tasks are k smooth tasks of four kinds with 50 observations in 6 coordinates.
func tasks(t testing.TB, k int) []cmbo.Task {
	rng := testutil.RNG(t)
	out := make([]cmbo.Task, k)
	for j := range out {
		out[j].ID = fmt.Sprint("task-", j)
		for range 50 {
			x := make([]float64, 6)
			y := 0.02 * rng.NormFloat64()
			for i := range x {
				x[i] = rng.Float64()
				y += math.Cos(2*(x[i]-0.2-0.2*float64((j%4+i)%4))) / float64(1+i)
			}
			out[j].X, out[j].Y = append(out[j].X, x), append(out[j].Y, y)
		}
	}
	return out
}

func candidates(t testing.TB, n int) *cmbo.Space {
	rng := testutil.RNG(t)
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, 6)
		for j := range rows[i] {
			rows[i][j] = rng.Float64()
		}
	}
	s, err := cmbo.Candidates(rows)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// points are n random points in 6 coordinates, as the rows of a matrix.
func points(t testing.TB, n int) *linalg.Dense {
	return linalg.NewDense(n, 6, fill(testutil.RNG(t), 6*n))
}

// methodStages are the pieces of the method that a user waits for.
func methodStages(t testing.TB) []stage {
	ctx := context.Background()
	space := candidates(t, 300)
	ts := tasks(t, 60)
	out := []stage{}
	for _, v := range []paper.Variant{paper.WssClusWssCMP, paper.JefClusJefCMP} {
		out = append(out, stage{"Learn, 60 tasks, " + v.String(), func() error {
			_, err := paper.Learn(ctx, space, ts, paper.WithVariant(v))
			return err
		}})
		prior, err := paper.Learn(ctx, space, ts, paper.WithVariant(v))
		if err != nil {
			t.Fatal(err)
		}
		// Ten steps from 45 observations, whose values decide nothing here.
		out = append(out, stage{"10 × Ask + Tell, 300 candidates, " + v.String(), func() error {
			s, err := prior.Surrogate(ctx, space)
			if err != nil {
				return err
			}
			o, err := cmbo.New(space, cmbo.WithSurrogate(s))
			if err != nil {
				return err
			}
			for i := range 45 {
				x, err := space.Candidate(i)
				if err != nil {
					return err
				}
				if err := o.Observe(x, math.Sin(float64(i))); err != nil {
					return err
				}
			}
			for i := range 10 {
				trial, err := o.Ask(ctx)
				if err != nil {
					return err
				}
				if err := o.Tell(trial.ID, math.Cos(float64(i))); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	prior := kernel.Scale(1, kernel.Matern32(0.4))
	x, z := points(t, 55), points(t, 300)
	mean := make([]float64, 300)
	var c gaussian.Conditioner
	var gram, cov linalg.Sym
	var cross, white linalg.Dense
	kernel.Gram(&gram, prior, x)
	if err := c.Factorize(&gram, []float64{1e-4}, fill(testutil.RNG(t), 55)); err != nil {
		t.Fatal(err)
	}
	out = append(out, stage{"posterior, 55 observations, 300 points", func() error {
		clear(mean)
		kernel.Gram(&cov, prior, z)
		kernel.Cross(&cross, prior, x, z)
		return c.Condition(mean, &cov, &white, &cross)
	}})
	k := kernel.Scale(1, kernel.Matern32(0.5))
	var l gaussian.Likelihood
	if err := l.Reset(k, points(t, 50), fill(testutil.RNG(t), 50), nil); err != nil {
		t.Fatal(err)
	}
	grad := make([]float64, k.NumParams()+1)
	return append(out, stage{"marginal likelihood and gradient, 50 observations", func() error {
		_, err := l.Eval(k, 0.01, grad)
		return err
	}})
}

// TestMethod prints, with -report, what each tier makes of the method: processor
// time on one thread, plain loops and tiers in turn.
func TestMethod(t *testing.T) {
	if !*report {
		t.Skip("without -report")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "stage\tgo ms\t")
	tabs := accel.Tables()
	for _, tab := range tabs {
		fmt.Fprintf(w, "%s ms\tratio\t", tab.Name)
	}
	fmt.Fprintln(w)
	for _, s := range methodStages(t) {
		run := func(tab f64.Table) func() {
			return func() {
				defer f64.Use(tab)()
				if err := s.run(); err != nil {
					t.Fatal(err)
				}
			}
		}
		f := []func(){run(f64.Generic)}
		for _, tab := range tabs {
			f = append(f, run(tab.Table))
		}
		m := medians(9, f)
		fmt.Fprintf(w, "%s\t%.3f\t", s.name, m[0]/1e6)
		for _, v := range m[1:] {
			fmt.Fprintf(w, "%.3f\t%.2f\t", v/1e6, v/m[0])
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
