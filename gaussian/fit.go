package gaussian

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// FitOptions are the settings of a search for hyperparameters. The zero value stands for the defaults.
type FitOptions struct {
	// Priors of the hyperparameters. The zero value stands for [DefaultPriors] of the dimension of the points.
	Priors Priors

	// Params, if not nil, are the priors of the kernel's parameters one by one, in the order of their logarithms in
	// kernel.Kernel, instead of Priors by kind. A kernel that kernel.Describe does not know needs it.
	Params []LogNormal

	// Tied, if not nil, has parameters of the kernel share a value: of each the number of the value that it takes, from 0 on,
	// each number for the first time after all that are smaller. A value has the prior of the first parameter that takes it.
	Tied []int

	// Starts is the number of searches: one from the centre of the priors, the others from seeded draws. Default 3.
	Starts int

	// FixNoise keeps the noise variance as given.
	FixNoise bool

	// Seed names the draws.
	Seed uint64

	// Evidence asks for [FitResult].Evidence.
	Evidence bool
}

// FitResult is what a search for hyperparameters found.
type FitResult struct {
	Kernel       kernel.Kernel // the given one if all searches failed, as Noise is
	Noise        float64
	LogPosterior float64 // log marginal likelihood plus log prior, up to a constant; −Inf if all searches failed
	LogMarginal  float64

	// Evidence is the logarithm of the probability density of the values under the form of the kernel, parameters and
	// noise variance integrated over their priors without the bounds, by Laplace's approximation: what tells which of
	// several forms the data are for. It is LogPosterior − ½·ln det S·H·S, H the Hessian of the negative log posterior
	// at its maximum, S the diagonal matrix of the priors' deviations, eigenvalues below 1 counting as 1. −Inf if all
	// searches failed, 0 if it was not asked for.
	Evidence float64
}

// Fitter searches hyperparameters, keeping its memory from one data set to the
// next. The zero value is ready; a Fitter serves one goroutine at a time.
type Fitter struct {
	like   Likelihood
	min    optim.Minimizer
	fn     optim.Func
	ctx    context.Context
	kernel kernel.Kernel
	noise  float64
	fixed  bool      // noise
	tied   []int     // of each parameter of the kernel the number of the value searched
	params []float64 // of the kernel
	prior  []LogNormal
	lo, hi []float64
	x0     []float64
	best   []float64
	grad   []float64
	stop   func(x, grad []float64, f float64) bool
	found  []float64 // the maxima found, one after another
	values []float64 // the objective there

	// What the search under way has evaluated, in order, or the latest that ctx ended, which goes on from there when it
	// is asked for again. It is known by its priors and its first evaluation, in which the data are.
	log    []float64   // of each evaluation the parameters, the gradient and the objective
	logged []LogNormal // its priors
	next   int         // where in log the next evaluation stands
}

// Fit returns the hyperparameters θ of kernel k and the noise variance that maximise the log posterior ln p(y | θ) −
// Σ_p ½·((ln θ_p − μ_p)/s_p)² within the bounds of the priors, for values resid = y − m(X) at the rows of x. k gives
// the form of the kernel; its parameters and noise are the result if all searches fail. extra holds noise variances of
// the single observations, added to the common one, or is nil. opt may be nil.
//
// It is a bounded quasi-Newton method on the logarithms, from several starts, of some twenty evaluations each, in O(n³)
// time. Points where A is not definite or the likelihood is not finite shorten a step: numerical trouble is no error, see
// [FitResult].LogPosterior. ctx is looked at before each evaluation; its error comes back wrapped, and the same call takes
// up the search where it was. Fit fails as [Likelihood.Reset] does, and with [ErrArgument] for unusable options.
func (f *Fitter) Fit(ctx context.Context, k kernel.Kernel, noise float64, x *linalg.Dense, resid, extra []float64,
	opt *FitOptions) (FitResult, error) {
	const op = "Fitter.Fit"
	var none FitResult
	if ctx == nil {
		return none, fault.Nil(op, "ctx")
	}
	if err := fault.NonNegative(op, "noise", noise); err != nil {
		return none, err
	}
	if err := f.like.reset(op, k, x, resid, extra); err != nil {
		return none, err
	}
	var o FitOptions
	if opt != nil {
		o = *opt
	}
	_, dim := x.Dims()
	if err := f.setup(op, k, noise, dim, &o); err != nil {
		return none, err
	}
	f.ctx = ctx
	defer func() { f.ctx, f.kernel = nil, nil }()

	res := FitResult{Kernel: k, Noise: noise, LogPosterior: math.Inf(-1)}
	for s := range o.Starts {
		f.start(s, o.Seed)
		r := f.min.Minimize(f.fn, f.x0, f.lo, f.hi, optim.Options{MaxIter: maxSteps, GradTol: fitGradTol, Stop: f.stop})
		if err := ctx.Err(); err != nil {
			return none, fmt.Errorf("gaussian: %s: %w", op, err)
		}
		if v := -r.F; v > res.LogPosterior {
			res.LogPosterior = v
			f.best = append(f.best[:0], r.X...)
		}
		if r.Converged() {
			f.found, f.values = append(f.found, r.X...), append(f.values, r.F)
		}
	}
	if math.IsInf(res.LogPosterior, -1) {
		res.LogMarginal, _ = f.like.Eval(k, noise, nil)
		if o.Evidence {
			res.Evidence = math.Inf(-1)
		}
		f.log, f.next = nil, 0
		return res, nil
	}
	res.Kernel, _ = k.WithParams(f.expand(f.best)) // which the search has evaluated
	if last := len(f.prior) - 1; !f.fixed {
		p := f.prior[last]
		res.Noise = min(max(math.Exp(f.best[last]), p.Min), p.Max)
	}
	res.LogMarginal = res.LogPosterior - f.logPrior(f.best)
	if o.Evidence {
		res.Evidence = res.LogPosterior - f.halfLogDet()
	}
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("gaussian: %s: %w", op, err)
	}
	f.log, f.next = nil, 0
	return res, nil
}

// hessianStep is the step in a logarithm with which gradients are differenced: its
// square is far above their rounding, relative to what hyperparameters vary on.
const hessianStep = 1e-3

// halfLogDet returns ½·ln det S·H·S at the best point found, eigenvalues below 1
// counting as 1: the prior alone gives that much, and bounds that fix a parameter.
func (f *Fitter) halfLogDet() float64 {
	free := each.Where(len(f.hi), func(i int) bool { return f.hi[i] > f.lo[i] })
	h := linalg.NewSym(len(free), nil)
	for a, i := range free {
		// A derivative at a bound is one from inside of it.
		hi, lo := min(f.best[i]+hessianStep, f.hi[i]), max(f.best[i]-hessianStep, f.lo[i])
		up, down := f.gradient(i, hi), f.gradient(i, lo)
		for b, j := range free {
			v := (up[j] - down[j]) / (hi - lo) * f.scale(i) * f.scale(j)
			if a == b {
				h.Set(a, a, v)
			} else {
				h.Set(a, b, h.At(a, b)+v/2) // both orders
			}
		}
	}
	var e spectral.EigenSym
	if e.FactorizeValues(h) != nil {
		return math.Inf(1) // the likelihood is not finite around its maximum
	}
	var v float64
	for _, lambda := range e.Values() {
		v += 0.5 * math.Log(math.Max(lambda, 1))
	}
	return v
}

// gradient returns that of the objective at the best point found with another value of
// parameter i, of NaN where the objective has none.
func (f *Fitter) gradient(i int, v float64) []float64 {
	x, grad := slices.Clone(f.best), make([]float64, len(f.best))
	x[i] = v
	if math.IsNaN(f.objective(x, grad)) {
		return slices.Repeat([]float64{math.NaN()}, len(grad))
	}
	return grad
}

// scale returns the deviation of the prior of parameter i, 1 for a flat one.
func (f *Fitter) scale(i int) float64 {
	if s := f.prior[i].SD; !math.IsInf(s, 1) {
		return s
	}
	return 1
}

// fitGradTol ends a search. A gradient g leaves the log posterior g²/2h below its maximum, h its
// curvature, which is 1/s² ≥ ¼ at the least by the default priors: below 1e-7, far less than what
// data say about hyperparameters. maxSteps does where that takes long.
const (
	fitGradTol = 2e-4
	maxSteps   = 100
)

// A search is on its way to a maximum that was found if it is this near to it, in every logarithm and in the log
// posterior, and the slope towards it is what a parabola with that maximum would have there, but for this part.
const (
	knownNear  = 0.3
	knownGain  = 0.1
	knownSlope = 0.2
)

// known reports whether a search at x leads to a maximum that an earlier one found.
func (f *Fitter) known(x, grad []float64, v float64) bool {
	for i, to := range f.values {
		at := f.found[i*len(x) : (i+1)*len(x)]
		gain := v - to
		if !(gain >= 0 && gain < knownGain) {
			continue
		}
		var far, slope float64
		for p, m := range at {
			d := x[p] - m
			far = math.Max(far, math.Abs(d))
			slope += d * grad[p]
		}
		if far < knownNear && math.Abs(slope/2-gain) <= knownSlope*gain {
			return true
		}
	}
	return false
}

// setup validates the options and fills prior, bounds and sizes.
func (f *Fitter) setup(op string, k kernel.Kernel, noise float64, dim int, o *FitOptions) error {
	if o.Starts < 0 {
		return fmt.Errorf("gaussian: %s: %d starts: %w", op, o.Starts, ErrArgument)
	}
	o.Starts, o.Priors = cmp.Or(o.Starts, 3), cmp.Or(o.Priors, DefaultPriors(dim))
	np := k.NumParams()
	f.prior = f.prior[:0]
	if o.Params != nil {
		if err := fault.Len(op, "Params", len(o.Params), np); err != nil {
			return err
		}
		f.prior = append(f.prior, o.Params...)
	} else if s, err := kernel.Describe(k); err == nil {
		f.prior = o.Priors.appendSpec(f.prior, s)
	}
	if len(f.prior) != np {
		return fmt.Errorf("gaussian: %s: the parameters of %T need priors in Params: %w", op, k, ErrArgument)
	}
	f.params, f.tied = f64.Grow(f.params, np), append(f.tied[:0], o.Tied...)
	if o.Tied == nil {
		for i := range np {
			f.tied = append(f.tied, i)
		}
	} else if err := fault.Len(op, "Tied", len(o.Tied), np); err != nil {
		return err
	}
	searched := 0
	for i, at := range f.tied {
		if at < 0 || at > searched {
			return fmt.Errorf("gaussian: %s: Tied has %d for parameter %d where 0 to %d may stand: %w", op, at, i, searched, ErrArgument)
		}
		if at == searched {
			f.prior[searched] = f.prior[i]
			searched++
		}
	}
	f.prior = f.prior[:searched]
	f.fixed = o.FixNoise
	if !f.fixed {
		f.prior = append(f.prior, o.Priors.Noise)
	}
	n := len(f.prior)
	f.lo, f.hi, f.x0, f.grad = f64.Grow(f.lo, n), f64.Grow(f.hi, n), f64.Grow(f.x0, n), f64.Grow(f.grad, np+1)
	for i, p := range f.prior {
		what := "parameter " + strconv.Itoa(i)
		if i == searched {
			what = "noise"
		}
		if err := p.check(op, what); err != nil {
			return err
		}
		f.lo[i], f.hi[i] = math.Log(p.Min), math.Log(p.Max)
	}
	f.kernel, f.noise = k, noise
	f.found, f.values, f.next = f.found[:0], f.values[:0], 0
	if f.fn == nil {
		f.fn, f.stop = f.objective, f.known
	}
	return nil
}

// start sets x0: the centre of the priors for index 0, draws beyond. The search moves it into the bounds.
func (f *Fitter) start(index int, seed uint64) {
	r := rng.Stream(seed, "gaussian.fit", uint64(index))
	for i, p := range f.prior {
		f.x0[i] = p.Mean
		if index == 0 {
			continue
		}
		z := r.NormFloat64()
		if math.IsInf(p.SD, 1) {
			// A flat prior: anywhere between the bounds.
			f.x0[i] = f.lo[i] + r.Float64()*(f.hi[i]-f.lo[i])
		} else {
			f.x0[i] += p.SD * z
		}
	}
}

// objective is the negative log posterior with its gradient, from the log as far as that goes.
func (f *Fitter) objective(x, grad []float64) float64 {
	n := len(x)
	if e := f.log[f.next:]; f.next > 0 && len(e) > 0 && slices.Equal(e[:n], x) {
		f.next += 2*n + 1
		copy(grad, e[n:2*n])
		return e[2*n]
	}
	if f.ctx.Err() != nil {
		return math.NaN()
	}
	v := f.evaluate(x, grad)
	if f.next > 0 || len(f.log) == 0 || !slices.Equal(f.logged, f.prior) ||
		!slices.Equal(f.log[:n], x) || !slices.Equal(f.log[n:2*n], grad) || f.log[2*n] != v {
		f.log = append(append(append(f.log[:f.next], x...), grad...), v)
	}
	f.logged = append(f.logged[:0], f.prior...)
	f.next += 2*n + 1
	return v
}

func (f *Fitter) evaluate(x, grad []float64) float64 {
	k, err := f.kernel.WithParams(f.expand(x))
	if err != nil {
		return math.NaN()
	}
	noise := f.noise
	if !f.fixed {
		noise = math.Exp(x[len(x)-1])
	}
	v, err := f.like.Eval(k, noise, f.grad)
	if err != nil {
		return math.NaN()
	}
	v = -v
	for i, p := range f.prior {
		z := (x[i] - p.Mean) / p.SD
		v += 0.5 * z * z
		grad[i] = z / p.SD
	}
	for i, at := range f.tied {
		grad[at] -= f.grad[i]
	}
	if !f.fixed {
		grad[len(x)-1] -= f.grad[len(f.tied)]
	}
	return v
}

// expand returns the parameters of the kernel by the values searched.
func (f *Fitter) expand(x []float64) []float64 {
	for i, at := range f.tied {
		f.params[i] = x[at]
	}
	return f.params
}

// logPrior returns the log prior up to a constant.
func (f *Fitter) logPrior(x []float64) (v float64) {
	for i, p := range f.prior {
		z := (x[i] - p.Mean) / p.SD
		v -= 0.5 * z * z
	}
	return v
}
