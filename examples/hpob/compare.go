package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
)

// own are the comparisons that have methods of their own: by their flag, the file that they
// take and the flags that matter with them beside those that matter with all.
var own = map[string]struct{ file, flags string }{
	"context":                    {`whose tasks have a "context"`, "space value minimize skip context"},
	"constraint":                 {`with "Y" and "outputs"`, "space value minimize skip constraint cost"},
	"cost":                       {`with "Y" and "outputs"`, "space value minimize skip constraint cost"},
	"experiment curves":          {`with "curves"`, "space experiment method"},
	"experiment curves -context": {`with "curves" and "context"`, "space experiment context"},
}

// checkOwn refuses flags that would change nothing with a comparison of its own.
func (c *overrides) checkOwn(o *options, with string) error {
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if !slices.Contains(strings.Fields(own[with].flags+" data budget targets repeats source-rows seed workers quiet"), name) {
			return fmt.Errorf("-%s changes nothing: -%s compares methods of its own", name, with)
		}
	}
	if len(o.data) != 1 || o.past.formatOf(o.data[0]) != "hpob" {
		return fmt.Errorf("-%s takes one file in HPO-B's format %s", with, own[with].file)
	}
	if o.past.value == "" && (with == "constraint" || with == "cost") {
		return errors.New("-value is missing, the name of the output to be optimised")
	}
	return nil
}

// outputs reads the tasks of the one file, which may have several outputs.
func (o *options) outputs() (*history.HPOBResult, error) {
	f, err := os.Open(o.data[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.HPOB{Name: o.space, Value: o.past.value, Policy: o.past.policy(), Limits: history.Limits{Bytes: maxTable}}.Read(f)
}

// each plays n jobs, as many at a time as -workers says, and tells how far they are.
func (o *options) each(ctx context.Context, n int, stderr io.Writer, play func(i int) error) error {
	var done atomic.Int64
	return parallel.For(ctx, o.workers, n, func(_, i int) error {
		err := play(i)
		if k := done.Add(1); err == nil && !o.quiet && k%int64(max(n/100, 1)) == 0 {
			fmt.Fprintf(stderr, "%d of %d\n", k, n)
		}
		return err
	})
}

// area returns the mean regret of runs over all evaluations, or over the budget.
func area(rs []played) float64 {
	var sum float64
	for _, r := range rs {
		for _, v := range r.regret {
			sum += v / float64(len(r.regret)*len(rs))
		}
	}
	return sum
}

// sides returns how often a is less than b, and how often more.
func sides(a, b []float64) (less, more int) {
	for i := range a {
		if a[i] < b[i] {
			less++
		} else if a[i] > b[i] {
			more++
		}
	}
	return less, more
}

// compare returns the mean of a, and its ratio to that of b with an interval that holds nine
// tenths of the ratios over tasks drawn with replacement. Means below .0001 count as that in ratios.
func (s *study) compare(a, b []float64) (mean, ratio, lo, hi float64) {
	over := func(u, v float64) float64 {
		least := 1e-4 * float64(len(a))
		return max(u, least) / max(v, least)
	}
	var x, y float64
	for i := range a {
		x, y = x+a[i], y+b[i]
	}
	const draws = 1000
	r := rng.Stream(s.seed, "bootstrap")
	ratios := make([]float64, draws)
	for k := range ratios {
		var u, v float64
		for range a {
			i := r.IntN(len(a))
			u, v = u+a[i], v+b[i]
		}
		ratios[k] = over(u, v)
	}
	slices.Sort(ratios)
	return x / float64(len(a)), over(x, y), ratios[draws/20], ratios[draws-1-draws/20]
}
