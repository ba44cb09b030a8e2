package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/paper/internal/cluster"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// A RunOption sets something of one run.
type RunOption func(*runConfig) error

// runConfig is what a run works with, by default what the prior says.
type runConfig struct {
	noise  float64 // variance where none is given, scaled units
	jitter float64 // absolute, of a Jeffreys divergence
}

// WithNoiseVariance gives the variance of the target's measurement errors, positive, in scaled
// units; the default is the median of the tasks' own. Variances given with single observations win.
func WithNoiseVariance(v float64) RunOption {
	return func(c *runConfig) error { c.noise = v; return checkNoise(v) }
}

// WithJeffreysJitter gives the absolute amount added to the diagonal of both covariances of a Jeffreys divergence. The
// default is 1e-6 times the largest mean variance among the prototypes, one amount for all of them so that their divergences
// compare. Not negative; 0 fails where a covariance is singular.
func WithJeffreysJitter(v float64) RunOption {
	return gp.Setting(func(c *runConfig) { c.jitter = v },
		v >= 0 && !math.IsInf(v, 0), "jitter %g is not a finite number >= 0", v)
}

// A Surrogate is the paper's stage 3, the model of one run, for [cmbo.WithSurrogate]: the prior
//
//	μ0 = Σ w_i·μ_i,   k0 = Σ w_i²·k_i
//
// over the prototypes, conditioned on the data of the run, with weights by distance. [cmbo.Optimizer.Transfer]
// reports the weights as hypotheses, without a verdict, since none of them is no transfer.
type Surrogate struct {
	view
	runConfig
	space *cmbo.Space

	// of the latest Fit:
	step    int  // the trial that it was for
	alone   bool // no other trial was pending
	w       []float64
	obs     []int // entries of the data
	pending []int
	noises  []float64 // variances of the data
	data    gp.Conditioned
	full    *gp.Conditioned // data and the pending points, nil before Fit has come to its end

	priorMean, priorSD []float64 // at the points of the latest Predict

	distances      []float64 // of the latest State
	distanceJitter float64   // of the posterior on the index set
}

// Surrogate returns the model of one run over a space, which must have the parameters that
// the prior was learned for; to other candidates it is brought first, as [Prior.Reindex] does
// and at its cost. It fails as Reindex does, and with [cmbo.ErrOption].
func (p *Prior) Surrogate(ctx context.Context, s *cmbo.Space, opts ...RunOption) (*Surrogate, error) {
	p, err := p.Reindex(ctx, s)
	if err != nil {
		return nil, err
	}
	noises := each.Of(p.sources, func(s *source) float64 { return s.NoiseVariance })
	top := slices.Max(each.Of(p.prototypes, func(q prototype) float64 { return q.normal.Trace() }))
	c := runConfig{noise: stat.Median(noises), jitter: cluster.RelativeJitter * top / float64(points.Len(p.index))}
	if err := gp.Apply(&c, "RunOption", opts); err != nil {
		return nil, err
	}
	return &Surrogate{view: view{prior: p, entries: make(map[string]int)}, runConfig: c, space: s}, nil
}

// Bind implements [cmbo.Binder].
func (r *Surrogate) Bind(ctx context.Context, x *linalg.Dense) error {
	return gp.Marked(ctx, r.bind(ctx, x))
}

// Fit implements [cmbo.Surrogate].
func (r *Surrogate) Fit(ctx context.Context, d cmbo.Data) error {
	r.full = nil
	if err := gp.CheckData(&d, r.space.Dim()); err != nil {
		return err
	}
	r.step, r.alone = d.Step, points.Len(d.Pending) == 0
	return gp.Marked(ctx, r.condition(ctx, &d))
}

// Predict implements [cmbo.Surrogate].
func (r *Surrogate) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := gp.CheckCall(ctx, r.full != nil, r.space.Dim(), x, mean, sd); err != nil {
		return err
	}
	return gp.Marked(ctx, r.predict(ctx, mean, sd, x))
}

// Sample implements [cmbo.Sampler]. It takes O(n³) time for n rows.
func (r *Surrogate) Sample(ctx context.Context, dst []float64, x *linalg.Dense, rnd *rand.Rand) error {
	if err := gp.CheckCall(ctx, r.full != nil, r.space.Dim(), x, dst); err != nil {
		return err
	}
	return gp.Marked(ctx, r.sample(ctx, dst, x, rnd))
}

// State implements [cmbo.StateKeeper]: the distances that weigh the prototypes later.
func (r *Surrogate) State(ctx context.Context) ([]float64, error) {
	err := r.compare(ctx)
	return r.distances, gp.Marked(ctx, err)
}

// CheckState implements [cmbo.StateKeeper].
func (r *Surrogate) CheckState(state []float64) error {
	if n := len(r.prior.prototypes); len(state) != n {
		return fmt.Errorf("%d distances to %d prototypes", len(state), n)
	}
	for _, d := range state {
		if !(d >= 0) {
			return fmt.Errorf("distance %g", d)
		}
	}
	return nil
}

// NoiseVariance implements [cmbo.NoiseEstimator].
func (r *Surrogate) NoiseVariance() float64 { return r.noise }

// MaxValue implements [cmbo.MaxValueEstimator]: Σ w_i·max_x μ_i(x) over the candidates, or
// over the index set in a parameter space.
func (r *Surrogate) MaxValue() float64 {
	var s float64
	for i, w := range r.w {
		m := r.prior.prototypes[i].normal.Mean()
		if r.candidates != nil {
			m = r.candMean[i]
		}
		s += w * slices.Max(m)
	}
	return s
}

// Weights implements [cmbo.Weigher]: those of the prototypes.
func (r *Surrogate) Weights() []float64 { return r.w }

// Minimizes implements [cmbo.Scaled].
func (r *Surrogate) Minimizes() bool { return r.prior.config.minimize }

// YPolicy implements [cmbo.Scaled].
func (r *Surrogate) YPolicy() cmbo.YPolicy { return r.prior.config.y }

// Hypotheses implements [cmbo.Mixture]: the weights of the prototypes.
func (r *Surrogate) Hypotheses() []cmbo.Hypothesis {
	clusters := r.prior.Clusters()
	return each.Below(len(r.w), func(i int) cmbo.Hypothesis {
		return cmbo.Hypothesis{Level: cmbo.LevelCluster, Cluster: i, Tasks: clusters[i].Members, Mass: r.w[i]}
	})
}

// PriorMean implements [cmbo.Mixture]: no prototype is weighed against no transfer.
func (r *Surrogate) PriorMean() []float64 { return nil }

// TaskMeans implements [cmbo.Mixture]: tasks are known by their prototypes.
func (r *Surrogate) TaskMeans(context.Context, *linalg.Dense) (ids []string, means [][]float64, err error) {
	return nil, nil, nil
}

// Describe implements [cmbo.Describer].
func (r *Surrogate) Describe(s *cmbo.Step) {
	s.Weights, s.Jitter = slices.Clone(r.w), r.data.Jitter()
	s.PriorMean, s.PriorSD = slices.Clone(r.priorMean), slices.Clone(r.priorSD)
	s.Distances, s.MaxDistance, s.DistanceJitter = slices.Clone(r.distances), maxFinite(r.distances), r.distanceJitter
}
