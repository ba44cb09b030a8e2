package hierarchy

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// Bound is a run that is asked about points instead of [Candidates]. It carries them to the
// grid, and keeps what it worked out there as long as the same points are asked about again.
// In a space with a list those are the list. In one without, candidates come in parts, of
// which a proposal shares some with the one before.
type Bound struct {
	*Run
	Model   *Model
	workers int
	parts   []int

	list bool
	x    *linalg.Dense // the list, or the candidates asked about last
	at   *Candidates
}

// NewBound binds a run. The candidates of a space without a list come in parts of so many
// rows. at is what the list x, which it may be bound to, is carried to, both nil for none.
func NewBound(r *Run, parts []int, x *linalg.Dense, at *Candidates) *Bound {
	return &Bound{Run: r, Model: r.m, workers: r.workers, parts: parts, x: x, at: at}
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
	if x == r.x && r.knows(r.at) {
		return r.at, true, nil
	}
	whole := 0
	for _, n := range r.parts {
		whole += n
	}
	if r.list || points.Len(x) < whole/2 {
		c, err := r.Run.candidates(ctx, x, nil, nil)
		return c, false, err
	}
	c, err := r.Run.candidates(ctx, x, r.parts, r.at)
	if err == nil {
		r.x, r.at = x, c
	}
	return c, true, err
}

// with calls do with x carried to the grid.
func (r *Bound) with(ctx context.Context, x *linalg.Dense, do func(c *Candidates, keep bool) error) error {
	c, keep, err := r.candidates(ctx, x)
	if err != nil {
		return err
	}
	return do(c, keep)
}

// Predict is [Run.Predict] at the rows of x.
func (r *Bound) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	return r.with(ctx, x, func(c *Candidates, keep bool) error { return r.Run.Predict(ctx, mean, sd, c, keep) })
}

// LogImprovement is [Run.LogImprovement] at the rows of x.
func (r *Bound) LogImprovement(ctx context.Context, dst []float64, x *linalg.Dense, best float64) error {
	return r.with(ctx, x, func(c *Candidates, keep bool) error { return r.Run.LogImprovement(ctx, dst, c, keep, best) })
}

// LogImprovementWithoutTransfer is [Run.LogImprovementWithoutTransfer] at the rows of x.
func (r *Bound) LogImprovementWithoutTransfer(ctx context.Context, dst []float64, x *linalg.Dense, best float64) error {
	c, keep, err := r.candidates(ctx, x)
	if err != nil {
		return err
	}
	return r.Run.LogImprovementWithoutTransfer(ctx, dst, c, keep, best)
}

// Expect is [Run.Expect] at the rows of x.
func (r *Bound) Expect(ctx context.Context, dst []float64, x *linalg.Dense, f func(mean, sd float64) float64) error {
	return r.with(ctx, x, func(c *Candidates, keep bool) error { return r.Run.Expect(ctx, dst, c, keep, f) })
}

// LogWithin is [Run.LogWithin] at the rows of x.
func (r *Bound) LogWithin(ctx context.Context, dst []float64, x *linalg.Dense, lo, hi float64) error {
	return r.with(ctx, x, func(c *Candidates, keep bool) error { return r.Run.LogWithin(ctx, dst, c, keep, lo, hi) })
}

// Success is [Run.Success] at the rows of x.
func (r *Bound) Success(ctx context.Context, dst []float64, x *linalg.Dense) error {
	return r.with(ctx, x, func(c *Candidates, keep bool) error { return r.Run.Success(ctx, dst, c, keep) })
}

// Weights returns the masses of no transfer and the population.
func (r *Bound) Weights() []float64 {
	w := make([]float64, NumLevels)
	for _, m := range r.Masses() {
		w[m.Level] = m.Mass
	}
	return w
}
