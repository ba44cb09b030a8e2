package baseline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// source is the Gaussian process of one past task, conditioned on its data. It is immutable.
type source struct {
	observations
	h    gp.Hyper
	post *gp.Process

	recorded map[string]float64 // by point, the mean of the values there; nil for none
}

// record makes the values of the task stand for its process at its points.
func (s *source) record() {
	s.recorded = make(map[string]float64)
	count := make(map[string]float64)
	for i, z := range s.Z {
		k := points.Key(s.X.Row(i))
		count[k]++
		s.recorded[k] += (z - s.recorded[k]) / count[k]
	}
}

// past holds the sources of a method and what they predict at the latest candidate lists. It is safe for concurrent use.
type past struct {
	dim     int
	workers int
	sources []*source
	lists   memo[*predictions]
}

// predictions holds the means and variances of all sources at a list of points.
type predictions struct {
	mean, variance [][]float64 // by source
}

// learnPast fits a zero-mean process to each task.
func learnPast(ctx context.Context, dim int, tasks []observations, c *config) (*past, error) {
	p := &past{dim: dim, workers: c.workers, sources: make([]*source, len(tasks))}
	template := c.template(p.dim)
	fitters := make([]gp.Fitter, parallel.Workers(c.workers, len(tasks)))
	return p, parallel.For(ctx, c.workers, len(tasks), func(w, i int) (err error) {
		fitters[w].Priors = c.priors
		p.sources[i], err = newSource(ctx, &fitters[w], template, tasks[i],
			rng.Stream(c.seed, "baseline source: "+tasks[i].ID).Uint64())
		return err
	})
}

func newSource(ctx context.Context, f *gp.Fitter, template kernel.Kernel, o observations,
	seed uint64) (s *source, err error) {
	s = &source{observations: o}
	if s.h, err = f.Fit(ctx, template, o.X, o.Z, o.Noise, math.NaN(), seed); err != nil {
		return nil, sourceError(ctx, err, o.ID)
	}
	s.post, err = gp.Condition(ctx, gp.FromKernel{Kernel: s.h.Kernel}, o.X, o.Z, s.h.Noise(o.Noise))
	return s, sourceError(ctx, err, o.ID)
}

// taskMoments are the posterior moments of a source at a run's observations, which come one by
// one, so that they do not depend on when they were asked for.
type taskMoments struct {
	mean []float64
	cov  []float64   // the lower triangle, row after row
	v    [][]float64 // L⁻¹·k(X_i, x_j) by observation
}

// add takes in the next row of x.
func (t *taskMoments) add(ctx context.Context, s *source, x *linalg.Dense) error {
	j, mean := len(t.mean), []float64{0}
	at := points.Pick(x, []int{j})
	var white linalg.Dense
	err := s.post.Whiten(ctx, &white, at)
	if err == nil {
		err = s.post.MomentsFrom(ctx, mean, nil, at, &white)
	}
	if err != nil {
		return sourceError(ctx, gp.Numerical(ctx, err, "posterior at observation %d", j), s.ID)
	}
	t.mean, t.v = append(t.mean, mean[0]), append(t.v, column(&white, 0))
	for i := range j + 1 {
		// The inner product is what the task's data take off the covariance.
		t.cov = append(t.cov, s.h.Kernel.Eval(x.Row(i), x.Row(j))-linalg.Dot(t.v[i], t.v[j]))
	}
	return nil
}

func column(m *linalg.Dense, j int) []float64 {
	return each.Below(points.Len(m), func(i int) float64 { return m.At(i, j) })
}

// at computes the predictions of the sources listed (all for nil) at the rows of x; entries of the
// others are nil. With pending points each source counts them as evaluated.
func (p *past) at(ctx context.Context, x, pending *linalg.Dense, which []int) (*predictions, error) {
	k, n := len(p.sources), points.Len(x)
	s := &predictions{mean: make([][]float64, k), variance: make([][]float64, k)}
	return s, parallel.For(ctx, p.workers, k, func(_, i int) error {
		if which != nil && !slices.Contains(which, i) {
			return nil
		}
		src := p.sources[i]
		f, err := src.post.WithPending(ctx, pending, src.h.NoiseVariance)
		if err != nil {
			return sourceError(ctx, err, src.ID)
		}
		s.mean[i], s.variance[i] = make([]float64, n), make([]float64, n)
		return sourceError(ctx, f.Moments(ctx, s.mean[i], s.variance[i], x), src.ID)
	})
}

// meansAt returns the means of all sources at the rows of x, and what they have recorded there in their place.
func (p *past) meansAt(ctx context.Context, x *linalg.Dense) ([][]float64, error) {
	out := make([][]float64, len(p.sources))
	return out, parallel.For(ctx, p.workers, len(out), func(_, i int) error {
		s := p.sources[i]
		out[i] = make([]float64, points.Len(x))
		var rest []int
		for j := range out[i] {
			v, ok := s.recorded[points.Key(x.Row(j))]
			if out[i][j] = v; !ok {
				rest = append(rest, j)
			}
		}
		if rest == nil {
			return nil
		}
		mean := make([]float64, len(rest))
		err := s.post.Moments(ctx, mean, nil, points.Pick(x, rest))
		for k, j := range rest {
			out[i][j] = mean[k]
		}
		return sourceError(ctx, err, s.ID)
	})
}

// view is one run's access to past tasks.
type view struct {
	*past
	kept[*predictions]
}

func newView(p *past) view {
	return view{p, kept[*predictions]{lists: &p.lists, compute: func(ctx context.Context, x *linalg.Dense) (*predictions, error) {
		return p.at(ctx, x, nil, nil)
	}}}
}

// look returns the predictions of the sources listed at the rows of x.
func (v *view) look(ctx context.Context, x, pending *linalg.Dense, which []int) (*predictions, error) {
	if points.Len(pending) == 0 && x == v.cand && v.cand != nil {
		return v.bound, nil
	}
	return v.at(ctx, x, pending, which)
}

// ensembleRun is a run whose prediction or score is a sum over the sources and the target.
type ensembleRun struct {
	*target
	view
	weigh func(ctx context.Context) ([]float64, error)
	w     []float64 // what weigh returned, nil before
}

func newEnsembleRun(p *past, c *config, seed uint64) *ensembleRun {
	return &ensembleRun{target: newTarget(p.dim, seed, c), view: newView(p)}
}

// Fit conditions the target's process and weighs the models.
func (r *ensembleRun) Fit(ctx context.Context, d cmbo.Data) (err error) {
	r.w = nil
	if err := r.target.Fit(ctx, d); err != nil {
		return err
	}
	r.w, err = r.weigh(ctx)
	r.has = err == nil
	return err
}

// sum writes the weighted sum of the models' means at the rows of x and the target's deviations. It
// returns the predictions of the sources listed, whose weights are not 0, pending points counting.
func (r *ensembleRun) sum(ctx context.Context, mean, sd []float64, x, pending *linalg.Dense) (*predictions, []int, error) {
	if err := r.target.Predict(ctx, mean, sd, x); err != nil {
		return nil, nil, err
	}
	k := len(r.sources)
	for i := range mean {
		mean[i] *= r.w[k]
	}
	active := weighted(r.w[:k])
	s, err := r.look(ctx, x, pending, active)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range active {
		linalg.Axpy(mean, r.w[i], s.mean[i])
	}
	return s, active, nil
}

// Weights returns those of the sources and, last, of the target's model.
func (r *ensembleRun) Weights() []float64 { return append([]float64(nil), r.w...) }

// weighted lists the weights that are positive. It is empty for none, but not nil, which stands for all sources.
func weighted(w []float64) []int {
	active := make([]int, 0, len(w))
	for i, v := range w {
		if v > 0 {
			active = append(active, i)
		}
	}
	return active
}

// sourceError names the task an error belongs to.
func sourceError(ctx context.Context, err error, id string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("task %q: %w", id, err)
}
