package hierarchy

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// Bound is a run that carries the points it is asked about to the grid itself, a list
// that comes again at each proposal once.
type Bound struct {
	*Run
	Model   *Model
	workers int

	x     *linalg.Dense // the list, nil for none
	at    *Candidates
	fresh *linalg.Dense // other points, those asked about last
	carry *Candidates
}

// NewBound returns a run with the default masses: see NewRun. at is what x is carried to,
// both nil if there is no list yet.
func NewBound(m *Model, noise float64, workers int, x *linalg.Dense, at *Candidates) *Bound {
	return &Bound{Run: NewRun(m, DefaultMasses(), noise, workers), Model: m, workers: workers, x: x, at: at}
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
	r.x = x
	return nil
}

// Fit weighs the hypotheses: see [Run.Fit].
func (r *Bound) Fit(ctx context.Context, x *linalg.Dense, y, given []float64, pending *linalg.Dense) error {
	r.fresh, r.carry = nil, nil
	return r.Run.Fit(ctx, x, y, given, pending)
}

// candidates returns x carried to the grid, and whether what the run works out there
// is worth keeping: a list comes again at each proposal, other candidates of a space
// without a list are scored after they were predicted at.
func (r *Bound) candidates(ctx context.Context, x *linalg.Dense) (*Candidates, bool, error) {
	switch {
	case x == r.x && r.at != nil:
		return r.at, true, nil
	case x != r.fresh:
		c, err := r.Model.Candidates(ctx, x, r.workers)
		if err != nil {
			return nil, false, err
		}
		r.fresh, r.carry = x, c
	}
	return r.carry, r.at == nil, nil
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
