package baseline

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// learnScaMLGP learns ScaML-GP: the target's prior has the mean Σ_i w_i·μ_i and the covariance
// Σ_i w_i²·Σ_i + k_t, where weights w_i ≥ 0, k_t and the noise have the highest posterior. See METHODS.md.
var learnScaMLGP = ensemble(config{method: "ScaML-GP", ard: true}, func(p *past, c *config, seed uint64) cmbo.Surrogate {
	r := &scamlRun{target: newTarget(p.dim, seed, c), view: newView(p), found: make(map[int]scamlParams),
		tasks: make([]taskMoments, len(p.sources))}
	r.forget = func(n int) {
		for i := range r.tasks {
			t := &r.tasks[i]
			k := min(n, len(t.mean))
			t.mean, t.cov, t.v = t.mean[:k], t.cov[:k*(k+1)/2], t.v[:k]
		}
		maps.DeleteFunc(r.found, func(count int, _ scamlParams) bool { return count > n })
	}
	return r
})

// scamlParams are what is fitted to the target.
type scamlParams struct {
	w []float64 // by task
	h gp.Hyper  // residual kernel, noise variance
}

type scamlRun struct {
	*target
	view
	p     scamlParams
	found map[int]scamlParams // by number of observations
	tasks []taskMoments       // at the first observations
}

// Fit fits the weights where that is due and conditions on the data.
func (r *scamlRun) Fit(ctx context.Context, d cmbo.Data) (err error) {
	if len(r.sources) == 0 {
		return r.target.Fit(ctx, d)
	}
	if err := r.receive(d); err != nil {
		return err
	}
	if r.p, err = r.paramsAt(ctx, len(d.Y)); err != nil {
		return err
	}
	r.h = r.p.h
	prior := &scamlPrior{view: &r.view, w: r.p.w, k: r.h.Kernel}
	r.post, err = gp.Condition(ctx, prior, r.d.X, r.d.Y, r.h.Noise(r.d.NoiseVariance))
	if err == nil {
		r.full, err = r.post.WithPending(ctx, r.d.Pending, r.h.NoiseVariance)
	}
	r.has = err == nil
	return err
}

// paramsAt returns the parameters that serve the first n observations.
func (r *scamlRun) paramsAt(ctx context.Context, n int) (scamlParams, error) {
	count := gp.RefitCount(n)
	if p, ok := r.found[count]; ok {
		return p, nil
	}
	if err := r.learn(ctx, count); err != nil {
		return scamlParams{}, err
	}
	x, z, noise, err := r.first(ctx, count)
	if err != nil {
		return scamlParams{}, err
	}
	o := newScamlObjective(r.fits.Forms[0].Kernel, r.tasks, x, z, noise)
	p, err := o.fit(ctx, rng.Stream(r.seed, "baseline scaml", uint64(count)).Uint64())
	if err == nil {
		r.found[count] = p
	}
	return p, err
}

// learn takes in the observations up to n.
func (r *scamlRun) learn(ctx context.Context, n int) error {
	return parallel.For(ctx, r.workers, len(r.tasks), func(_, i int) error {
		for range n - len(r.tasks[i].mean) {
			if err := r.tasks[i].add(ctx, r.sources[i], r.d.X); err != nil {
				return err
			}
		}
		return nil
	})
}

// scamlPrior is the prior of the target: the weighted sum of the tasks' processes and a residual process of mean 0.
type scamlPrior struct {
	*view
	w []float64
	k kernel.Kernel
}

func (p *scamlPrior) Moments(ctx context.Context, mean, variance []float64, x *linalg.Dense) error {
	active := weighted(p.w)
	s, err := p.look(ctx, x, nil, active)
	if err != nil {
		return err
	}
	clear(mean)
	if variance != nil {
		kernel.Diag(variance, p.k, x)
	}
	for _, i := range active {
		if mean != nil {
			linalg.Axpy(mean, p.w[i], s.mean[i])
		}
		if variance != nil {
			linalg.Axpy(variance, p.w[i]*p.w[i], s.variance[i])
		}
	}
	return nil
}

func (p *scamlPrior) Cov(ctx context.Context, dst, x, y *linalg.Dense) error {
	kernel.Cross(dst, p.k, x, y)
	var c linalg.Dense
	for _, i := range weighted(p.w) {
		if err := p.sources[i].post.Cov(ctx, &c, x, y); err != nil {
			return sourceError(ctx, err, p.sources[i].ID)
		}
		dst.AddScaled(p.w[i]*p.w[i], &c)
	}
	return ctx.Err()
}

func (p *scamlPrior) Gram(ctx context.Context, dst *linalg.Sym, x *linalg.Dense) error {
	kernel.Gram(dst, p.k, x)
	var c linalg.Sym
	for _, i := range weighted(p.w) {
		if err := p.sources[i].post.Gram(ctx, &c, x); err != nil {
			return sourceError(ctx, err, p.sources[i].ID)
		}
		dst.AddScaled(p.w[i]*p.w[i], &c)
	}
	return ctx.Err()
}

// scamlObjective is the negative log posterior of the parameters: the weights, the logarithms of
// the residual kernel's parameters, the logarithm of the noise variance.
type scamlObjective struct {
	template kernel.Kernel
	tasks    []taskMoments
	z, noise []float64
	prior    []gaussian.LogNormal // of the kernel's parameters and the noise

	pairs *kernel.Pairs
	sum   []float64 // packed as taskMoments.cov
	gp.Marginal
}

// maxWeight bounds the weights, far out in the tail of their prior.
const maxWeight = 20

func newScamlObjective(template kernel.Kernel, tasks []taskMoments, x *linalg.Dense,
	z, noise []float64) *scamlObjective {
	_, dim := x.Dims()
	n, p := len(z), gaussian.DefaultPriors(dim)
	// The tasks may leave next to nothing: small variances are likelier than for a process on its own.
	variance := []gaussian.LogNormal{{Mean: -2, SD: 3, Min: 1e-4, Max: 20}}
	lengths := slices.Repeat([]gaussian.LogNormal{p.LengthScale}, template.NumParams()-1)
	o := &scamlObjective{
		template: template, tasks: tasks, z: z, noise: noise,
		prior: append(append(variance, lengths...), p.Noise),
		sum:   make([]float64, n*(n+1)/2),
	}
	if n > 0 {
		o.pairs = kernel.NewPairs(x)
	}
	return o
}

// params turns a point of the search into parameters.
func (o *scamlObjective) params(theta []float64) (scamlParams, error) {
	k, last := len(o.tasks), len(theta)-1
	kt, err := o.template.WithParams(theta[k:last])
	return scamlParams{w: slices.Clone(theta[:k]),
		h: gp.Hyper{Kernel: kt, NoiseVariance: math.Exp(theta[last]), Fitted: true}}, err
}

// eval returns the objective and its gradient; the value is NaN where the covariance is not definite.
func (o *scamlObjective) eval(theta, grad []float64) float64 {
	n, k, last := len(o.z), len(o.tasks), len(theta)-1
	p, err := o.params(theta)
	if err != nil {
		return math.NaN()
	}
	o.Resid = append(o.Resid[:0], o.z...)
	clear(o.sum)
	for i, w := range p.w {
		linalg.Axpy(o.Resid, -w, o.tasks[i].mean[:n])
		linalg.Axpy(o.sum, w*w, o.tasks[i].cov[:len(o.sum)])
	}
	o.pairs.Gram(&o.Gram, p.h.Kernel)
	for i, noise := range p.h.Noise(o.noise) {
		row := o.Gram.Row(i)
		for j, v := range o.sum[i*(i+1)/2 : (i+1)*(i+2)/2] {
			row[j] += v
		}
		row[i] += noise
	}
	v := o.Eval()
	if math.IsNaN(v) {
		return v
	}
	grad[last] = 0
	// The derivative by the covariance, packed, has the entries below the diagonal counted twice.
	for i := range n {
		row, at := o.Gram.Row(i), o.sum[i*(i+1)/2:]
		for j, b := range row[:i] {
			at[j] = 2 * b
		}
		at[i] = row[i]
		if !(o.noise[i] > 0) {
			grad[last] += p.h.NoiseVariance * row[i]
		}
	}
	for i, w := range p.w {
		t := &o.tasks[i]
		grad[i] = 2*w*linalg.Dot(o.sum, t.cov[:len(o.sum)]) - linalg.Dot(o.Alpha, t.mean[:n]) + 1
		v += w
	}
	o.pairs.GradDot(grad[k:last], &o.Gram)
	for i, p := range o.prior {
		u := (theta[k+i] - p.Mean) / p.SD
		v += 0.5 * u * u
		grad[k+i] += u / p.SD
	}
	return v
}

// fit minimises the objective. It fails only if ctx is done.
func (o *scamlObjective) fit(ctx context.Context, seed uint64) (scamlParams, error) {
	k := len(o.tasks)
	size := k + len(o.prior)
	lo, hi, start := make([]float64, size), make([]float64, size), make([]float64, size)
	for i := range k {
		hi[i], start[i] = maxWeight, 1/float64(k)
	}
	for i, p := range o.prior {
		lo[k+i], hi[k+i], start[k+i] = math.Log(p.Min), math.Log(p.Max), p.Mean
	}
	theta := start
	if len(o.z) > 1 {
		starts := [][]float64{start}
		for s := range 2 {
			r := rng.Stream(seed, "baseline scaml", uint64(s))
			x := slices.Clone(start)
			for i := range x {
				if i < k {
					x[i] = r.ExpFloat64() / float64(k)
				} else {
					x[i] += o.prior[i-k].SD * r.NormFloat64()
				}
			}
			starts = append(starts, x)
		}
		var err error
		theta, err = minimize(ctx, o.eval, starts, lo, hi, optim.Options{FuncTol: 1e-6, GradTol: 1e-3, MaxIter: 100})
		if err != nil {
			return scamlParams{}, err
		}
	}
	p, err := o.params(theta)
	return p, gp.Numerical(ctx, err, "fitting weights to %d observations", len(o.z))
}
