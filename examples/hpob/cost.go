package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/gocmbo/cmbo/cmbo"
)

// costSteps is the number of equal steps of the budget after which regret is taken.
const costSteps = 200

// price gives a task its costs and its budget, so many times the mean of them; false if it
// lacks the output in some row.
func (s *study) price(t *limited) bool {
	t.cost = t.Outputs[s.cost]
	var sum float64
	for _, c := range t.cost {
		sum += c // NaN where it is missing
	}
	if !(sum > 0) {
		return false
	}
	t.budget = float64(s.budget) * sum / float64(len(t.cost))
	t.options = []cmbo.Option{cmbo.WithOutput(s.cost, cmbo.AsCost()), cmbo.WithBudget(t.budget)}
	return true
}

// playBudget evaluates as long as the budget lasts. What ends later does not count.
func (s *study) playBudget(o *cmbo.Optimizer, ask func(*cmbo.Optimizer) (id, row int, err error), w way, t *limited) (played, error) {
	p := played{regret: slices.Repeat([]float64{1}, costSteps)}
	spent, best := 0.0, 1.0
	for range t.X {
		id, row, err := ask(o)
		if errors.Is(err, cmbo.ErrBudget) {
			break
		}
		if err == nil && w.tell != nil {
			err = w.tell(o, id, row, t)
		}
		if err != nil {
			return p, err
		}
		if spent += t.cost[row]; spent > t.budget {
			break
		}
		p.evaluations++
		best = min(best, t.regret[row])
		for k := range p.regret {
			if float64(k+1)/costSteps*t.budget >= spent {
				p.regret[k] = best
			}
		}
	}
	return p, nil
}

// costWays returns the methods that are compared: the cost told, or ignored.
func (s *study) costWays() []way {
	whole := func(t, _ *limited) cmbo.Task { return *t.Task }
	told := func(o *cmbo.Optimizer, id, row int, t *limited) error {
		return o.Tell(id, t.Y[row], cmbo.Outputs{s.cost: t.cost[row]})
	}
	ignored := func(o *cmbo.Optimizer, id, row int, t *limited) error { return o.Tell(id, t.Y[row]) }
	return []way{
		{"cost told, with transfer", whole, told, true},
		{"cost ignored, with transfer", whole, ignored, false},
		{"cost told, without transfer", nil, told, true},
		{"cost ignored, without transfer", nil, ignored, false},
		{"random search", nil, nil, false},
	}
}

// atCost compares methods on the tasks of a file by what they reach within a budget, each
// task left out once.
func atCost(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	s, name, err := newStudy(o)
	if err != nil {
		return err
	}
	ways := s.costWays()
	runs, err := s.compareWays(ctx, o, ways, stderr)
	if err != nil {
		return err
	}
	n := len(runs[0])
	fmt.Fprintf(stdout, "space %s: %s at the cost of %s; %d tasks left out of %d, a budget of %d evaluations of the task's mean cost\n\n", name, o.past.value, s.cost, n, len(s.tasks), s.budget)
	w := tabwriter.NewWriter(stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| method\t| runs\t| area\t| of the first's\t| better, worse\t| regret at 2 %%\t| 5 %%\t| 10 %%\t| 30 %%\t| 100 %%\t| evaluations\t|\n|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n")
	for k, m := range ways {
		shares := []float64{0.02, 0.05, 0.1, 0.3, 1}
		at := make([]float64, len(shares))
		var areas, firsts []float64
		var evaluations float64
		count := 0
		for i, rs := range runs[k] {
			areas, firsts = append(areas, area(rs)), append(firsts, area(runs[0][i]))
			count += len(rs)
			share := 1 / float64(n*len(rs))
			for _, r := range rs {
				evaluations += share * float64(r.evaluations)
				for j, v := range shares {
					at[j] += share * r.regret[int(v*costSteps)-1]
				}
			}
		}
		mean, ratio, lo, hi := s.compare(areas, firsts)
		better, worse := sides(areas, firsts)
		fmt.Fprintf(w, "| %s\t| %d\t| %.4f\t| %.2f [%.2f, %.2f]\t| %d, %d\t", m.name, count, mean, ratio, lo, hi, better, worse)
		for _, v := range at {
			fmt.Fprintf(w, "| %.3f\t", v)
		}
		fmt.Fprintf(w, "| %.0f\t|\n", evaluations)
	}
	return w.Flush()
}
