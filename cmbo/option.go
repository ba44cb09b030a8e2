package cmbo

import (
	"math"

	"github.com/gocmbo/cmbo/kernel"
)

// A LearnOption sets something of [Learn]. Options are applied in their order,
// later ones winning, and validated by Learn.
type LearnOption interface {
	applyLearn(*learnConfig) error
}

// An Option sets something of [New]. Options are applied in their order, later
// ones winning, and validated by New.
type Option interface {
	applyRun(*runConfig) error
}

// A SharedOption concerns both [Learn] and [New].
type SharedOption interface {
	LearnOption
	Option
}

type learnOption func(*learnConfig) error

func (f learnOption) applyLearn(c *learnConfig) error { return f(c) }

type runOption func(*runConfig) error

func (f runOption) applyRun(c *runConfig) error { return f(c) }

type sharedOption struct {
	learn func(*learnConfig) error
	run   func(*runConfig) error
}

func (o sharedOption) applyLearn(c *learnConfig) error { return o.learn(c) }
func (o sharedOption) applyRun(c *runConfig) error     { return o.run(c) }

// learnConfig is what Learn works with; newLearnConfig holds the defaults.
type learnConfig struct {
	seed        uint64
	variant     Variant
	minimize    bool
	y           YPolicy
	parallelism int
	progress    func(Progress)

	clusterKernel kernel.Kernel // templates, nil for the defaults
	priorKernel   kernel.Kernel
	ard           bool
	fixed         kernel.Kernel // hyperparameters given, not fitted
	fixedNoise    float64

	clusters       int // least and most number of clusters tried
	maxClusters    int
	labels         []int
	restarts       int
	rounds         int
	clusterPoints  int
	indexPoints    int
	indexSet       [][]float64
	fixedIndex     bool // the index set was given
	partitionScore bool
}

// runConfig is what New works with; newRunConfig holds the defaults.
type runConfig struct {
	seed        uint64
	prior       *Prior
	minimize    *bool
	y           YPolicy
	variant     *Variant
	weights     *Distance
	mixture     bool
	parallelism int

	journal     func(lines []byte) error
	mark        JournalMark // a line that the journal to restore has to hold
	acquisition Acquisition
	surrogate   Surrogate
	kernel      kernel.Kernel // template for runs without a prior
	ard         bool
	noise       float64 // given noise variance, NaN to learn it
	jitter      float64 // absolute Jeffreys jitter, NaN for the default
	initial     int     // size of the initial design, -1 for the default
	repeats     bool
	sobol       int // candidates of a parameter space
	local       int
}

// Defaults of what an option can change.
const (
	defaultSeed          = 1
	defaultClusters      = 4
	defaultRestarts      = 3
	defaultRounds        = 50
	defaultClusterPoints = 100
	defaultIndexPoints   = 300
	defaultInitial       = 5
	defaultSobol         = 1000
	defaultLocal         = 200
	defaultBeta          = 3

	maxCandidates = 1 << 20
)

func newLearnConfig(opts []LearnOption) (*learnConfig, error) {
	c := &learnConfig{
		seed: defaultSeed, variant: WssClusWssCMP, y: ZScore,
		clusters: defaultClusters, maxClusters: defaultClusters,
		restarts: defaultRestarts, rounds: defaultRounds,
		clusterPoints: defaultClusterPoints, indexPoints: defaultIndexPoints,
	}
	return c, c.apply(opts)
}

// apply applies options and checks what they make together.
func (c *learnConfig) apply(opts []LearnOption) error {
	for _, o := range opts {
		if o == nil {
			return optionErrorf("a nil LearnOption")
		}
		if err := o.applyLearn(c); err != nil {
			return err
		}
	}
	if !c.variant.valid() {
		return optionErrorf("%s is not a variant", c.variant)
	}
	if c.labels != nil && c.variant&(variantGlobal|variantIndividual) != 0 {
		return optionErrorf("labels are given, and %s has clusters of its own", c.variant)
	}
	return nil
}

// settled returns a copy without what concerned one call alone.
func (c *learnConfig) settled() *learnConfig {
	s := *c
	s.progress, s.indexSet, s.parallelism = nil, nil, 0
	return &s
}

func newRunConfig(opts []Option) (*runConfig, error) {
	c := &runConfig{
		seed: defaultSeed, y: ZScore, acquisition: UCB(defaultBeta),
		noise: math.NaN(), jitter: math.NaN(), initial: -1, sobol: defaultSobol, local: defaultLocal,
	}
	for _, o := range opts {
		if o == nil {
			return nil, optionErrorf("a nil Option")
		}
		if err := o.applyRun(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// WithSeed sets the seed of everything random; the default is 1. The same
// seed, data and options give the same result, whatever the number of cores.
func WithSeed(seed uint64) SharedOption {
	return sharedOption{
		func(c *learnConfig) error { c.seed = seed; return nil },
		func(c *runConfig) error { c.seed = seed; return nil },
	}
}

// WithVariant chooses the variant of the method; the default is
// [WssClusWssCMP], for New that of the prior. New accepts another variant than
// the prior's as long as the prior's clusters and prototypes are the same, so
// that only the distance that weighs them differs.
func WithVariant(v Variant) SharedOption {
	return sharedOption{
		func(c *learnConfig) error { c.variant = v; return nil },
		func(c *runConfig) error {
			if !v.valid() {
				return optionErrorf("%s is not a variant", v)
			}
			c.variant = &v
			return nil
		},
	}
}

// WithMinimize says that smaller values are better, of the past tasks and of
// the new one. New takes the direction of its prior by itself.
func WithMinimize() SharedOption {
	yes := true
	return sharedOption{
		func(c *learnConfig) error { c.minimize = true; return nil },
		func(c *runConfig) error { c.minimize = &yes; return nil },
	}
}

// WithYPolicy sets how values are scaled, task by task; the default is
// [ZScore]. For New it concerns the target's values and follows them as they
// come in.
func WithYPolicy(p YPolicy) SharedOption {
	check := func() error {
		if !p.valid() {
			return optionErrorf("%s is not a y policy", p)
		}
		return nil
	}
	return sharedOption{
		func(c *learnConfig) error { c.y = p; return check() },
		func(c *runConfig) error { c.y = p; return check() },
	}
}

// WithParallelism bounds the number of goroutines at n; the default is
// GOMAXPROCS. It changes the speed, never the result.
func WithParallelism(n int) SharedOption {
	check := func() error {
		if n < 1 {
			return optionErrorf("parallelism %d is below 1", n)
		}
		return nil
	}
	return sharedOption{
		func(c *learnConfig) error { c.parallelism = n; return check() },
		func(c *runConfig) error { c.parallelism = n; return check() },
	}
}

// WithWeightDistance sets the distance that weighs prototypes, apart from the
// variant. Given to Learn it is the default of every New with that prior.
func WithWeightDistance(d Distance) SharedOption {
	return sharedOption{
		func(c *learnConfig) error {
			switch d {
			case Wasserstein:
				c.variant &^= variantJeffreysWeights
			case Jeffreys:
				c.variant |= variantJeffreysWeights
			default:
				return optionErrorf("%s is not a distance", d)
			}
			return nil
		},
		func(c *runConfig) error {
			if d != Wasserstein && d != Jeffreys {
				return optionErrorf("%s is not a distance", d)
			}
			c.weights = &d
			return nil
		},
	}
}

// WithPriorKernel sets the kernel of the tasks' Gaussian processes that make
// up the prototypes. Its parameters are a template: they are fitted to each
// task. The default is a scaled Matérn-3/2 with one lengthscale. Given to New,
// it is the kernel of a run without a prior.
func WithPriorKernel(k kernel.Kernel) SharedOption {
	check := func() error {
		if k == nil {
			return optionErrorf("a nil kernel")
		}
		return nil
	}
	return sharedOption{
		func(c *learnConfig) error { c.priorKernel = k; return check() },
		func(c *runConfig) error { c.kernel = k; return check() },
	}
}

// WithARD gives the default kernels one lengthscale per coordinate. For New it
// concerns a run without a prior.
func WithARD() SharedOption {
	return sharedOption{
		func(c *learnConfig) error { c.ard = true; return nil },
		func(c *runConfig) error { c.ard = true; return nil },
	}
}
