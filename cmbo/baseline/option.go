package baseline

import (
	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
)

// An Option sets something that concerns all methods, whose own constants are those
// that their types state. Options are applied in their order, later ones winning.
type Option func(*config) error

// config is what a method works with; settle holds the defaults.
type config struct {
	method   string
	optional bool // tasks are
	varied   bool // tasks of equal values are left out if there are others

	seed     uint64
	minimize bool
	y        cmbo.YPolicy
	workers  int

	shape  func(lengths ...float64) kernel.Stationary // nil for Matern32
	ard    bool                                       // a length for each coordinate
	either bool                                       // isotropic or with a length for each coordinate, by evidence
	priors func(dim int) gaussian.Priors              // of hyperparameters, nil for the default

	samples    int     // draws of the ranking loss; of the hyperparameters of HyperBO+
	bandwidth  float64 // discordance at which TST-R ignores a source
	byRanks    bool    // TAF with the weights of TST-R
	grid       int     // points of EM-EGP
	shrinkage  float64 // of its covariance, at each step
	iterations int     // of its EM
	updates    int     // steps that train a network, of GC3P at each rate
	oas        bool    // EM-EGP with shrinkage once, after EM, by the OAS formula
	noiseFit   bool    // EM-EGP with a noise variance fitted to the target
}

// template returns the form of the kernel at the centres of the hyperparameters' priors.
func (c *config) template(dim int) kernel.Kernel {
	n, p, shape := 1, gaussian.DefaultPriors(dim), kernel.Matern32
	if c.ard {
		n = dim
	}
	if c.priors != nil {
		p = c.priors(dim)
	}
	if c.shape != nil {
		shape = c.shape
	}
	return gp.AtCentre(p, shape, n)
}

// WithSeed sets the seed of what is random offline; the default is 1. What is
// random in a run follows the seed given to Surrogate.
func WithSeed(seed uint64) Option {
	return func(c *config) error { c.seed = seed; return nil }
}

// WithMinimize says that smaller values of the tasks are better. Give [cmbo.WithMinimize] to the runs as well.
func WithMinimize() Option {
	return func(c *config) error { c.minimize = true; return nil }
}

// WithYPolicy sets how the values of each task are scaled; the default is [cmbo.ZScore]. It must be
// the policy of the runs, whose earlier states some methods scale again.
func WithYPolicy(p cmbo.YPolicy) Option {
	return gp.Setting(func(c *config) { c.y = p }, p <= cmbo.Copula, "%s is not a y policy", p)
}

// WithParallelism bounds the number of goroutines at n; the default is GOMAXPROCS. It changes the speed, never the result.
func WithParallelism(n int) Option {
	return gp.Setting(func(c *config) { c.workers = n }, n >= 1, "parallelism %d is below 1", n)
}
