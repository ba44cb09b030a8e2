package paper

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/paper/internal/model"
	"github.com/gocmbo/cmbo/cmbo/paper/internal/regret"
	"github.com/gocmbo/cmbo/cmbo/paper/theorem"
	"github.com/gocmbo/cmbo/linalg"
)

// A RunOption sets something of one run.
type RunOption func(*runConfig) error

// runConfig is what a run works with, by default what the prior says.
type runConfig struct {
	noise, jitter float64
}

// WithNoiseVariance gives the variance of the target's measurement errors, positive, in
// scaled units; the default is the median of the tasks' own. Variances given with single
// observations win.
func WithNoiseVariance(v float64) RunOption {
	return func(c *runConfig) error { c.noise = v; return checkVariance("noise variance", v) }
}

// WithJeffreysJitter gives the absolute amount added to the diagonal of both covariances of
// a Jeffreys divergence. The default is 1e-6 times the largest mean variance among the
// prototypes, one amount for all of them so that their divergences compare. Not negative; 0
// fails where a covariance is singular.
func WithJeffreysJitter(v float64) RunOption {
	return func(c *runConfig) error {
		if c.jitter = v; !(v >= 0) || math.IsInf(v, 0) {
			return optionErrorf("jitter %g is not a finite number >= 0", v)
		}
		return nil
	}
}

// A Surrogate is the paper's stage 3, the model of one run, for [cmbo.WithSurrogate]. It is
// all that package cmbo asks of a surrogate: see its interfaces. Transfer of the optimiser has
// the weights as shares, and no verdict, since none of them is that of no transfer.
type Surrogate struct {
	prior *Prior
	space *cmbo.Space
	m     *model.Weighted
	step  int  // the trial that the latest Fit was for
	alone bool // no other trial was pending then
}

// Surrogate returns the model of one run over a space, which must have the parameters that
// the prior was learned for; to other candidates it is brought first, as [Prior.Reindex] does
// and at its cost. It fails as Reindex does, and with [cmbo.ErrOption].
func (p *Prior) Surrogate(ctx context.Context, s *cmbo.Space, opts ...RunOption) (*Surrogate, error) {
	p, err := p.Reindex(ctx, s)
	if err != nil {
		return nil, err
	}
	c := runConfig{noise: p.m.NoiseVariance(), jitter: p.m.JeffreysJitter()}
	for _, o := range opts {
		if o == nil {
			return nil, optionErrorf("a nil RunOption")
		}
		if err := o(&c); err != nil {
			return nil, err
		}
	}
	m := model.NewWeighted(p.m, p.config.variant.WeightDistance == Jeffreys, c.jitter, c.noise, p.config.workers)
	return &Surrogate{prior: p, space: s, m: m}, nil
}

// Bind implements [cmbo.Binder].
func (r *Surrogate) Bind(ctx context.Context, x *linalg.Dense) error {
	return gp.Marked(ctx, r.m.Bind(ctx, x))
}

// Fit implements [cmbo.Surrogate].
func (r *Surrogate) Fit(ctx context.Context, d cmbo.Data) error {
	pending, _ := d.Pending.Dims()
	r.step, r.alone = d.Step, pending == 0
	return gp.Marked(ctx, r.m.Fit(ctx, &d))
}

// Predict implements [cmbo.Surrogate].
func (r *Surrogate) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	return gp.Marked(ctx, r.m.Predict(ctx, mean, sd, x))
}

// Sample implements [cmbo.Sampler]. It takes O(n³) time for n rows.
func (r *Surrogate) Sample(ctx context.Context, dst []float64, x *linalg.Dense, rnd *rand.Rand) error {
	return gp.Marked(ctx, r.m.Sample(ctx, dst, x, rnd))
}

// State implements [cmbo.StateKeeper]: the distances that weigh the prototypes later.
func (r *Surrogate) State(ctx context.Context) ([]float64, error) {
	d, err := r.m.State(ctx)
	return d, gp.Marked(ctx, err)
}

// CheckState implements [cmbo.StateKeeper].
func (r *Surrogate) CheckState(state []float64) error { return r.m.CheckState(state) }

// NoiseVariance implements [cmbo.NoiseEstimator].
func (r *Surrogate) NoiseVariance() float64 { return r.m.NoiseVariance() }

// MaxValue implements [cmbo.MaxValueEstimator].
func (r *Surrogate) MaxValue() float64 { return r.m.MaxValue() }

// Weights implements [cmbo.Weigher]: those of the prototypes.
func (r *Surrogate) Weights() []float64 { return r.m.Weights() }

// Minimizes implements [cmbo.Scaled].
func (r *Surrogate) Minimizes() bool { return r.prior.config.minimize }

// YPolicy implements [cmbo.Scaled].
func (r *Surrogate) YPolicy() cmbo.YPolicy { return r.prior.config.y }

// Shares implements [cmbo.Mixture]: the weights of the prototypes.
func (r *Surrogate) Shares() []cmbo.Share {
	var out []cmbo.Share
	clusters := r.prior.Clusters()
	for i, w := range r.m.Weights() {
		out = append(out, cmbo.Share{Level: cmbo.LevelCluster, Cluster: i, Tasks: clusters[i].Members, Mass: w})
	}
	return out
}

// PriorMeans implements [cmbo.Mixture]: no prototype is weighed against no transfer.
func (r *Surrogate) PriorMeans() [][]float64 { return nil }

// TaskMeans implements [cmbo.Mixture]: tasks are known by their prototypes.
func (r *Surrogate) TaskMeans(context.Context, *linalg.Dense) (ids []string, means [][]float64, err error) {
	return nil, nil, nil
}

// Describe implements [cmbo.Describer].
func (r *Surrogate) Describe(s *cmbo.Step) {
	mean, sd := r.m.Prior()
	distances, jitter := r.m.Distances()
	s.Weights, s.Jitter = slices.Clone(r.m.Weights()), r.m.Jitter()
	s.PriorMean, s.PriorSD = slices.Clone(mean), slices.Clone(sd)
	s.Distances, s.MaxDistance, s.DistanceJitter = slices.Clone(distances), model.MaxFinite(distances), jitter
}

// RegretBound evaluates the paper's Theorem 1 for a trial of o, which r proposed by UCB of
// multiplier xi. The bound exceeds actual regrets by orders of magnitude; its terms show what
// learning from past tasks adds to it. No other call of o may be under way.
//
// It fails as Explain of the optimiser does; with [cmbo.ErrOption] if an input is outside its
// range, the prototypes are not geometric centres, other trials were pending, or r did not
// choose the point; and with [cmbo.ErrOutOfSpace] or [cmbo.ErrDimension] for an unusable
// Optimum. It takes twice the time of an Ask, O(K n²) per observation, and O(K n³) with Truth.
func (r *Surrogate) RegretBound(ctx context.Context, o *cmbo.Optimizer, trial int, xi float64, in theorem.Inputs) (*theorem.Bound, error) {
	if r.prior.config.variant.Prototype != GeometricCenter {
		return nil, optionErrorf("Theorem 1 is about weighted sums of geometric centres")
	}
	if !(xi > 0) || math.IsInf(xi, 0) {
		return nil, optionErrorf("Theorem 1 is about UCB with a positive multiplier, not %g", xi)
	}
	// To explain a trial the optimiser has its surrogate go back to what was known then.
	r.step = 0
	x, err := o.Explain(ctx, trial)
	switch {
	case err != nil:
		return nil, err
	case x.Reason != cmbo.ReasonScore:
		return nil, optionErrorf("trial %d was not chosen by its score: %s", trial, x.Reason)
	case r.step != trial:
		return nil, optionErrorf("trial %d was proposed by another surrogate", trial)
	case !r.alone:
		return nil, optionErrorf("trial %d was proposed while others were pending", trial)
	}
	chosen, err := r.space.Encode(x.Trial.X)
	if err != nil {
		return nil, err
	}
	b, err := regret.Bound(r.m, r.space, chosen, xi, in)
	if err != nil {
		return nil, err
	}
	b.Trial = trial
	return b, nil
}
