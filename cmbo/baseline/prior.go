package baseline

import (
	"context"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// conditioned is a run with a process that is given its data.
type conditioned struct {
	run
	post *gp.Process // given the data
	full *gp.Process // given the pending points as well
}

// extend conditions the process on the values z at the points of the run, and on its pending
// points with the noise variance that a measurement has.
func (r *conditioned) extend(ctx context.Context, z, noise []float64, measurement float64) error {
	err := r.post.Extend(ctx, r.d.X, z, noise)
	if err == nil {
		r.full, err = r.post.WithPending(ctx, r.d.Pending, measurement)
	}
	r.has = err == nil
	return err
}

// Predict writes the posterior at the rows of x.
func (r *conditioned) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.ready(ctx, x, mean, sd); err != nil {
		return err
	}
	if err := r.full.Moments(ctx, mean, sd, x); err != nil {
		return err
	}
	gp.Deviations(sd)
	return nil
}

// priorRun is a run under a prior that was learned offline and stays as it is: it is conditioned on the data, nothing more.
type priorRun struct {
	conditioned   // post is nil until the prior is conditioned for the first time
	prior         gp.Function
	noiseVariance float64 // where none is given
}

func newPriorRun(dim int, seed uint64, prior gp.Function, noiseVariance float64) *priorRun {
	return &priorRun{conditioned{run: run{dim: dim, seed: seed}}, prior, noiseVariance}
}

func (r *priorRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	return r.condition(ctx, r.d.Y, r.d.NoiseVariance)
}

// condition conditions the prior on values with noise variances of their own, 0 for none.
func (r *priorRun) condition(ctx context.Context, y, noise []float64) error {
	if r.post == nil {
		r.post = gp.New(r.prior)
	}
	return r.extend(ctx, y, gp.Noise(noise, len(y), r.noiseVariance), r.noiseVariance)
}

// NoiseVariance returns the noise variance learned.
func (r *priorRun) NoiseVariance() float64 { return r.noiseVariance }

// featurePrior is the [gp.Function] of mean m(x) and covariance k(x, x′) + s·φ(x)·W·φ(x′)ᵀ.
type featurePrior struct {
	kept[*features]
	kernel kernel.Kernel // k, nil for 0
	weight *linalg.Sym   // W, nil for the identity
	scale  float64       // s
}

// features are m and φ at a list of points. They are shared.
type features struct {
	mean []float64
	phi  *linalg.Dense // a row a point

	once     sync.Once
	variance []float64 // φ·W·φᵀ, once it was asked for
}

// weigh returns φ·W.
func (p *featurePrior) weigh(phi *linalg.Dense) *linalg.Dense {
	if p.weight == nil {
		return phi
	}
	out, w := new(linalg.Dense), p.weight.Dense()
	out.Mul(phi, &w)
	return out
}

func (p *featurePrior) Moments(ctx context.Context, mean, variance []float64, x *linalg.Dense) error {
	f, err := p.of(ctx, x)
	if err != nil {
		return err
	}
	copy(mean, f.mean)
	if variance == nil {
		return nil
	}
	f.once.Do(func() {
		f.variance = make([]float64, points.Len(x))
		left := p.weigh(f.phi)
		for i := range f.variance {
			f.variance[i] = linalg.Dot(left.Row(i), f.phi.Row(i))
		}
	})
	clear(variance)
	if p.kernel != nil {
		kernel.Diag(variance, p.kernel, x)
	}
	for i, v := range f.variance {
		variance[i] = max(variance[i]+p.scale*v, 0)
	}
	return nil
}

func (p *featurePrior) Cov(ctx context.Context, dst, x, y *linalg.Dense) error {
	a, err := p.of(ctx, x)
	if err != nil {
		return err
	}
	b, err := p.of(ctx, y)
	if err != nil {
		return err
	}
	dst.MulTrans(p.weigh(a.phi), b.phi)
	dst.Scale(p.scale)
	if p.kernel != nil {
		var k linalg.Dense
		kernel.Cross(&k, p.kernel, x, y)
		dst.AddScaled(1, &k)
	}
	return nil
}

func (p *featurePrior) Gram(ctx context.Context, dst *linalg.Sym, x *linalg.Dense) error {
	f, err := p.of(ctx, x)
	if err != nil {
		return err
	}
	if p.weight == nil {
		dst.Gram(f.phi)
	} else {
		dst.Congruence(f.phi, p.weight)
	}
	dst.Scale(p.scale)
	if p.kernel != nil {
		var k linalg.Sym
		kernel.Gram(&k, p.kernel, x)
		dst.AddScaled(1, &k)
	}
	return nil
}
