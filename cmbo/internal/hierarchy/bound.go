package hierarchy

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// Bound is a run that carries the points it is asked about to the grid itself, and keeps
// what it worked out there for those that come again: a list, or, in a space without one,
// the parts that the candidates of one proposal share with those of the one before.
type Bound struct {
	*Run
	Model   *Model
	workers int
	parts   []int

	list bool
	x    *linalg.Dense // the list, or the candidates asked about last
	at   *Candidates
}

// NewBound returns a run with the default masses: see [NewRun]. The candidates of a space
// without a list come in parts of so many rows. at is what the list x, which the run may
// be bound to, is carried to, both nil for none.
func NewBound(m *Model, noise float64, workers int, parts []int, x *linalg.Dense, at *Candidates) *Bound {
	return &Bound{Run: NewRun(m, DefaultMasses(), noise, workers), Model: m, workers: workers, parts: parts, x: x, at: at}
}

// NewBoundSuccess returns a run on labels with the default masses: see [NewSuccessRun]
// and [NewBound].
func NewBoundSuccess(m *Model, workers int, parts []int) *Bound {
	return &Bound{Run: NewSuccessRun(m, DefaultMasses(), workers), Model: m, workers: workers, parts: parts}
}

// Bind makes x the list, which is carried unless its points are those of the list
// already.
func (r *Bound) Bind(ctx context.Context, x *linalg.Dense) error {
	if r.at == nil || !points.Equal(r.x, x) {
		at, err := r.Model.Candidates(ctx, x, r.workers)
		if err != nil {
			return err
		}
		r.at = at
	}
	r.list, r.x = true, x
	return nil
}

// candidates returns x carried to the grid, and whether what the run works out there is
// worth keeping: fewer points than half of a proposal's are asked about in passing, such
// as those told.
func (r *Bound) candidates(ctx context.Context, x *linalg.Dense) (*Candidates, bool, error) {
	if x == r.x {
		return r.at, true, nil
	}
	whole := 0
	for _, n := range r.parts {
		whole += n
	}
	if r.list || points.Len(x) < whole/2 {
		c, err := r.Model.Candidates(ctx, x, r.workers)
		return c, false, err
	}
	c, err := r.Model.candidates(ctx, x, r.workers, r.parts, r.at)
	if err == nil {
		r.x, r.at = x, c
	}
	return c, true, err
}

// Predict is [Run.Predict] at the rows of x.
func (r *Bound) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	c, again, err := r.candidates(ctx, x)
	if err != nil {
		return err
	}
	return r.Run.Predict(ctx, mean, sd, c, again)
}

// LogImprovement is [Run.LogImprovement] at the rows of x.
func (r *Bound) LogImprovement(ctx context.Context, dst []float64, x *linalg.Dense, best float64) error {
	c, again, err := r.candidates(ctx, x)
	if err != nil {
		return err
	}
	return r.Run.LogImprovement(ctx, dst, c, again, best)
}

// Success is [Run.Success] at the rows of x.
func (r *Bound) Success(ctx context.Context, dst []float64, x *linalg.Dense) error {
	c, again, err := r.candidates(ctx, x)
	if err != nil {
		return err
	}
	return r.Run.Success(ctx, dst, c, again)
}

// Weights returns the masses of no transfer, the population, each cluster, and all
// single tasks together.
func (r *Bound) Weights() []float64 {
	w := make([]float64, 3+r.Model.NumClusters())
	for _, m := range r.Masses() {
		i := int(m.Level)
		switch m.Level {
		case Cluster:
			i += m.Index
		case SingleTask:
			i = len(w) - 1
		}
		w[i] += m.Mass
	}
	return w
}
