package bench

import (
	"context"
	"errors"

	"github.com/gocmbo/cmbo/cmbo"
)

// An AskTeller is what a benchmark drives; *cmbo.Optimizer is one.
type AskTeller interface {
	Observe(x []float64, y float64, opts ...cmbo.ObservationOption) error
	Ask(ctx context.Context) (cmbo.Trial, error)
	Tell(id int, y float64, opts ...cmbo.ObservationOption) error
}

// Run tunes a task: it tells the initial rows, then asks and tells budget times.
// It returns the normalised simple regret after the initial rows and after each
// query, budget+1 numbers: (max − best)/(max − min) over the task's whole table.
// A method that has proposed every row keeps its last regret.
func Run(ctx context.Context, t *TableTask, o AskTeller, initial []int, budget int) ([]float64, error) {
	lo, hi := t.Range()
	best := lo
	for _, i := range initial {
		if err := o.Observe(t.X[i], t.Y[i]); err != nil {
			return nil, err
		}
		best = max(best, t.Y[i])
	}
	regret := make([]float64, 0, budget+1)
	record := func() { regret = append(regret, (hi-best)/(hi-lo)) }
	record()
	for len(regret) <= budget {
		trial, err := o.Ask(ctx)
		if errors.Is(err, cmbo.ErrNoCandidates) {
			for len(regret) <= budget {
				record()
			}
			break
		}
		if err != nil {
			return nil, err
		}
		y := t.Y[trial.Index]
		if err := o.Tell(trial.ID, y); err != nil {
			return nil, err
		}
		best = max(best, y)
		record()
	}
	return regret, nil
}

// MeanCurve returns the entrywise mean of curves of equal length, nil for none.
func MeanCurve(curves [][]float64) []float64 {
	if len(curves) == 0 {
		return nil
	}
	mean := make([]float64, len(curves[0]))
	for _, c := range curves {
		for i, v := range c {
			mean[i] += v / float64(len(curves))
		}
	}
	return mean
}
