package baseline

import (
	"math"
	"runtime"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/kernel"
)

// An Option sets something of a method. Options are applied in their order,
// later ones winning, and validated by the constructor. Those that concern all
// methods are [WithSeed], [WithMinimize], [WithYPolicy] and [WithParallelism];
// another one given to a method that has no use for it is an error wrapping
// [cmbo.ErrOption].
type Option interface {
	apply(*config) error
}

// setting names what an option sets, to tell which methods take it.
type setting uint16

const (
	setKernel setting = 1 << iota
	setSamples
	setBandwidth
	setWeights
	setGaps
	setObjective
	setConfidence
	setGrid
	setShrinkage
	setIterations
)

type option struct {
	name string
	set  setting
	f    func(*config) error
}

func (o option) apply(c *config) error {
	if o.set&^c.takes != 0 {
		return optionErrorf("%s does not take %s", c.method, o.name)
	}
	return o.f(c)
}

// config is what a method works with; newConfig holds the defaults.
type config struct {
	method string
	takes  setting

	seed     uint64
	minimize bool
	y        cmbo.YPolicy
	workers  int

	shape  Shape
	ard    bool
	either bool                          // isotropic or with a length for each coordinate, by evidence
	priors func(dim int) gaussian.Priors // of hyperparameters, nil for the default

	samples    int
	bandwidth  float64
	weights    TAFWeights
	gaps       GapSettings
	objective  Objective
	confidence float64 // 0 for none
	grid       int
	shrinkage  float64
	iterations int
}

// newConfig applies options to the defaults: what base sets, and for the rest
// the common ones.
func newConfig(base config, opts []Option) (*config, error) {
	c := &base
	c.seed, c.workers = 1, runtime.GOMAXPROCS(0)
	if c.samples == 0 {
		c.samples = 256
	}
	c.bandwidth, c.gaps = 0.1, DefaultGapSettings()
	c.grid, c.shrinkage, c.iterations = 500, 0.5, 16
	for _, o := range opts {
		if o == nil {
			return nil, optionErrorf("a nil Option")
		}
		if err := o.apply(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// forms returns the template and, unless a kernel was asked for, a second form.
func (c *config) forms(dim int) (template, other kernel.Kernel) {
	template = c.template(dim)
	if c.either && dim > 1 {
		d := *c
		d.ard = !c.ard
		other = d.template(dim)
	}
	return template, other
}

// template returns the form of the kernel at the centres of the
// hyperparameters' priors.
func (c *config) template(dim int) kernel.Kernel {
	n := 1
	if c.ard {
		n = dim
	}
	p := gaussian.DefaultPriors(dim)
	if c.priors != nil {
		p = c.priors(dim)
	}
	lengths := make([]float64, n)
	for i := range lengths {
		lengths[i] = math.Exp(p.LengthScale.Mean)
	}
	return kernel.Scale(math.Exp(p.Variance.Mean), c.shape.kernel(lengths))
}

// A Shape is the radial form of a kernel.
type Shape uint8

const (
	Matern32   Shape = iota // once differentiable sample paths
	Matern52                // twice differentiable sample paths
	SquaredExp              // analytic sample paths
)

// String returns the name of the kernel's constructor in package kernel.
func (s Shape) String() string {
	return names.Of([]string{"Matern32", "Matern52", "SquaredExp"}, int(s), "Shape")
}

func (s Shape) kernel(lengths []float64) kernel.Kernel {
	switch s {
	case Matern52:
		return kernel.Matern52(lengths...)
	case SquaredExp:
		return kernel.SquaredExp(lengths...)
	}
	return kernel.Matern32(lengths...)
}

// WithSeed sets the seed of what is random offline; the default is 1. What is
// random in a run follows the seed given to Surrogate.
func WithSeed(seed uint64) Option {
	return option{"WithSeed", 0, func(c *config) error { c.seed = seed; return nil }}
}

// WithMinimize says that smaller values of the tasks are better. Give
// [cmbo.WithMinimize] to the runs as well.
func WithMinimize() Option {
	return option{"WithMinimize", 0, func(c *config) error { c.minimize = true; return nil }}
}

// WithYPolicy sets how the values of each task are scaled; the default is
// [cmbo.ZScore]. It must be the policy of the runs, whose earlier states some
// methods scale again.
func WithYPolicy(p cmbo.YPolicy) Option {
	return option{"WithYPolicy", 0, func(c *config) error {
		if p > cmbo.Copula {
			return optionErrorf("%s is not a y policy", p)
		}
		c.y = p
		return nil
	}}
}

// WithParallelism bounds the number of goroutines at n; the default is
// GOMAXPROCS. It changes the speed, never the result.
func WithParallelism(n int) Option {
	return option{"WithParallelism", 0, func(c *config) error {
		if n < 1 {
			return optionErrorf("parallelism %d is below 1", n)
		}
		c.workers = n
		return nil
	}}
}

// WithKernel sets the shape of the kernel of sources and target and whether it
// has one length for each coordinate (ard) or one for all. Each method has a
// default of its own. Random takes none.
func WithKernel(s Shape, ard bool) Option {
	return option{"WithKernel", setKernel, func(c *config) error {
		if s > SquaredExp {
			return optionErrorf("%s is not a kernel", s)
		}
		c.shape, c.ard, c.either = s, ard, false
		return nil
	}}
}

// WithSamples sets the number of draws: of the ranking loss of RGPE and of
// TAF with its weights, 256 by default, and of hyperparameters of
// HyperBO+, 100 by default.
func WithSamples(n int) Option {
	return option{"WithSamples", setSamples, func(c *config) error {
		if n < 1 {
			return optionErrorf("%d samples", n)
		}
		c.samples = n
		return nil
	}}
}

// WithBandwidth sets the discordance at which TST-R ignores a source, ρ,
// positive; the default is 0.1.
func WithBandwidth(rho float64) Option {
	return option{"WithBandwidth", setBandwidth, func(c *config) error {
		if !(rho > 0) || math.IsInf(rho, 0) {
			return optionErrorf("bandwidth %g is not a finite number > 0", rho)
		}
		c.bandwidth = rho
		return nil
	}}
}

// WithTAFWeights sets which weights TAF uses; the default is [WeightsRGPE].
func WithTAFWeights(w TAFWeights) Option {
	return option{"WithTAFWeights", setWeights, func(c *config) error {
		if w > WeightsTSTR {
			return optionErrorf("TAFWeights(%d)", w)
		}
		c.weights = w
		return nil
	}}
}

// WithGapSettings sets the constants of RM-GP-UCB and RM-GP-TS; the default is
// [DefaultGapSettings].
func WithGapSettings(g GapSettings) Option {
	return option{"WithGapSettings", setGaps, func(c *config) error {
		for _, v := range []float64{g.Eta, g.Exponent, g.Tau, g.BetaScale} {
			if !(v >= 0) || math.IsInf(v, 0) {
				return optionErrorf("gap settings %+v: %g is not a finite number >= 0", g, v)
			}
		}
		if !(g.Decay >= 0 && g.Decay <= 1) {
			return optionErrorf("gap settings %+v: a decay outside [0, 1]", g)
		}
		c.gaps = g
		return nil
	}}
}

// WithObjective sets what HyperBO minimises; the default is [NLL].
func WithObjective(o Objective) Option {
	return option{"WithObjective", setObjective, func(c *config) error {
		if o > EKL {
			return optionErrorf("Objective(%d)", o)
		}
		c.objective = o
		return nil
	}}
}

// WithConfidence makes MetaBO replace the multiplier of an upper confidence
// bound by that of its theorem for probability 1-delta, as long as there are
// tasks enough for it. delta is in (0, 1); the authors use 0.01. By default the
// run's multiplier stands.
func WithConfidence(delta float64) Option {
	return option{"WithConfidence", setConfidence, func(c *config) error {
		if !(delta > 0 && delta < 1) {
			return optionErrorf("delta %g is outside (0, 1)", delta)
		}
		c.confidence = delta
		return nil
	}}
}

// WithGrid sets the largest number of points on which EM-EGP learns a
// mean vector and a covariance matrix; the default is 500.
func WithGrid(n int) Option {
	return option{"WithGrid", setGrid, func(c *config) error {
		if n < 1 {
			return optionErrorf("a grid of %d points", n)
		}
		c.grid = n
		return nil
	}}
}

// WithShrinkage sets how far EM-EGP draws its covariance towards the
// base kernel at each step, from 0 (not at all) to 1; the default is 0.5.
func WithShrinkage(rho float64) Option {
	return option{"WithShrinkage", setShrinkage, func(c *config) error {
		if !(rho >= 0 && rho <= 1) {
			return optionErrorf("shrinkage %g is outside [0, 1]", rho)
		}
		c.shrinkage = rho
		return nil
	}}
}

// WithIterations sets the number of steps of the EM algorithm of EM-EGP; the
// default is 16.
func WithIterations(n int) Option {
	return option{"WithIterations", setIterations, func(c *config) error {
		if n < 1 {
			return optionErrorf("%d EM steps", n)
		}
		c.iterations = n
		return nil
	}}
}
