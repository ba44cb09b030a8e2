package cmbo

import (
	"math"
	"slices"

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

// WithClusters fixes the number of clusters; the default is 4. With fewer
// tasks than that, each task is a cluster. Variants that do not cluster ignore
// it.
func WithClusters(c int) LearnOption { return WithClusterRange(c, c) }

// WithClusterRange tries every number of clusters from lo to hi and keeps the
// one with the largest interCS/intraCE, the smaller of equals (paper, section
// 4.1). [Prior.Partitions] tells the scores. A partition into singletons alone
// is not eligible. Scoring takes a W2 distance per pair of tasks: all pairs up
// to 500 tasks, 50,000 seeded ones beyond.
func WithClusterRange(lo, hi int) LearnOption {
	return learnOption(func(c *learnConfig) error {
		if lo < 1 || hi < lo {
			return optionErrorf("number of clusters from %d to %d", lo, hi)
		}
		c.clusters, c.maxClusters = lo, hi
		return nil
	})
}

// WithPartitionScores makes [Prior.Partitions] known also where the number of
// clusters is fixed.
func WithPartitionScores() LearnOption {
	return learnOption(func(c *learnConfig) error { c.partitionScore = true; return nil })
}

// WithClusterDistance sets the distance that clusters tasks, apart from the
// variant.
func WithClusterDistance(d Distance) LearnOption {
	return learnOption(func(c *learnConfig) error {
		switch d {
		case Wasserstein:
			c.variant &^= variantJeffreysClusters
		case Jeffreys:
			c.variant |= variantJeffreysClusters
		default:
			return optionErrorf("%s is not a distance", d)
		}
		return nil
	})
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

// WithPrototype sets the kind of prototype, apart from the variant.
func WithPrototype(k PrototypeKind) LearnOption {
	return learnOption(func(c *learnConfig) error {
		c.variant &^= variantBarycenter | variantTotal
		switch k {
		case GeometricCenter:
		case Barycenter:
			c.variant |= variantBarycenter
		case TotalCenter:
			c.variant |= variantTotal
		default:
			return optionErrorf("%s is not a kind of prototype", k)
		}
		return nil
	})
}

// WithLabels gives the clusters instead of finding them: labels[i] in 0..C-1
// is the cluster of task i, and none of the C clusters is empty.
func WithLabels(labels []int) LearnOption {
	labels = slices.Clone(labels)
	return learnOption(func(c *learnConfig) error {
		if len(labels) == 0 {
			return optionErrorf("no labels")
		}
		n := 0
		for i, l := range labels {
			if l < 0 || l >= len(labels) {
				return optionErrorf("label %d of task %d is outside 0..%d", l, i, len(labels)-1)
			}
			n = max(n, l+1)
		}
		seen := make([]bool, n)
		for _, l := range labels {
			seen[l] = true
		}
		if empty := slices.Index(seen, false); empty >= 0 {
			return optionErrorf("labels go up to %d but cluster %d is empty", n-1, empty)
		}
		c.labels = labels
		return nil
	})
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

// WithClusterKernel sets the kernel of the tasks' Gaussian processes that are
// clustered, a template as for [WithPriorKernel]. The default is the product
// of the Matérn-3/2 and Matérn-1/2 shapes with one variance and a shared
// lengthscale (paper, section 4.1).
func WithClusterKernel(k kernel.Kernel) LearnOption {
	return learnOption(func(c *learnConfig) error {
		if k == nil {
			return optionErrorf("a nil kernel")
		}
		c.clusterKernel = k
		return nil
	})
}

// WithARD gives the default kernels one lengthscale per coordinate. For New it
// concerns a run without a prior.
func WithARD() SharedOption {
	return sharedOption{
		func(c *learnConfig) error { c.ard = true; return nil },
		func(c *runConfig) error { c.ard = true; return nil },
	}
}

// WithHyperparameters gives the kernel, with its parameters, and the noise
// variance of every task's Gaussian process in scaled units instead of fitting
// them. Both the clustering and the prototypes use them. noiseVariance must be
// positive.
func WithHyperparameters(k kernel.Kernel, noiseVariance float64) LearnOption {
	return learnOption(func(c *learnConfig) error {
		if k == nil {
			return optionErrorf("a nil kernel")
		}
		if !(noiseVariance > 0) || math.IsInf(noiseVariance, 0) {
			return optionErrorf("noise variance %g is not positive and finite", noiseVariance)
		}
		c.fixed, c.fixedNoise = k, noiseVariance
		return nil
	})
}

// WithClusterPoints sets on how many points posteriors are compared for
// clustering; the default is 100.
func WithClusterPoints(n int) LearnOption {
	return learnOption(func(c *learnConfig) error {
		if n < 1 {
			return optionErrorf("%d cluster points", n)
		}
		c.clusterPoints = n
		return nil
	})
}

// WithIndexPoints sets the largest size of the index set, the points on which
// prototypes are compared with the target's posterior, and on which
// barycentres live; the default is 300. Learning a prior costs O(K n³) and a
// distance O(n³) in it.
func WithIndexPoints(n int) LearnOption {
	return learnOption(func(c *learnConfig) error {
		if n < 1 {
			return optionErrorf("an index set of %d points", n)
		}
		c.indexPoints = n
		return nil
	})
}

// WithIndexSet gives the index set itself, rows of the space.
func WithIndexSet(rows [][]float64) LearnOption {
	return learnOption(func(c *learnConfig) error {
		if len(rows) == 0 {
			return optionErrorf("an empty index set")
		}
		c.indexSet, c.fixedIndex = rows, true
		return nil
	})
}

// WithProgress calls f as Learn proceeds, from the goroutine that called
// Learn.
func WithProgress(f func(Progress)) LearnOption {
	return learnOption(func(c *learnConfig) error { c.progress = f; return nil })
}

// WithPrior gives the optimiser what was learned from past tasks.
func WithPrior(p *Prior) Option {
	return runOption(func(c *runConfig) error {
		if p == nil {
			return optionErrorf("a nil Prior")
		}
		c.prior = p
		return nil
	})
}

// WithSurrogate replaces the model the optimiser consults.
func WithSurrogate(s Surrogate) Option {
	return runOption(func(c *runConfig) error {
		if s == nil {
			return optionErrorf("a nil Surrogate")
		}
		c.surrogate = s
		return nil
	})
}

// WithAcquisition sets how the next point is chosen; the default is UCB(3).
func WithAcquisition(a Acquisition) Option {
	return runOption(func(c *runConfig) error { c.acquisition = a; return a.validate() })
}

// WithNoiseVariance gives the variance of the target's measurement errors, in
// scaled units (of values after the y policy); positive. By default it is the
// median of the tasks' fitted noise variances with a prior, and fitted without
// one. Variances given with single observations win over it.
func WithNoiseVariance(v float64) Option {
	return runOption(func(c *runConfig) error {
		if !(v > 0) || math.IsInf(v, 0) {
			return optionErrorf("noise variance %g is not positive and finite", v)
		}
		c.noise = v
		return nil
	})
}

// WithMixture makes the new task's prior a mixture of the prototypes instead of
// their weighted sum: a priori the task is a draw from one of the clusters, with
// a probability proportional to the number of its tasks, and the data decide
// which, by their marginal likelihood under each. The predictive variance then
// holds the disagreement between clusters, and a cluster that does not fit fades
// away, which the weights of the paper never do. It goes beyond the paper, and
// well with [TotalCenter]. It cannot be combined with a distance that weighs
// prototypes.
func WithMixture() Option {
	return runOption(func(c *runConfig) error { c.mixture = true; return nil })
}

// WithJeffreysJitter gives the absolute amount added to the diagonal of both
// covariances of a Jeffreys divergence online. The default is 1e-6 times the
// largest mean variance among the prototypes, one amount for all of them so
// that their divergences compare. Not negative; 0 fails where a covariance is
// singular.
func WithJeffreysJitter(v float64) Option {
	return runOption(func(c *runConfig) error {
		if !(v >= 0) || math.IsInf(v, 0) {
			return optionErrorf("jitter %g is not a finite number >= 0", v)
		}
		c.jitter = v
		return nil
	})
}

// WithInitial sets the size of the initial design: the first proposals come
// from a scrambled Sobol sequence until n points have been observed or asked
// and not cancelled. The default is 0 with a prior or a surrogate and 5
// without.
func WithInitial(n int) Option {
	return runOption(func(c *runConfig) error {
		if n < 0 {
			return optionErrorf("an initial design of %d points", n)
		}
		c.initial = n
		return nil
	})
}

// WithRepeats lets a point be proposed again after it was asked or observed.
func WithRepeats() Option {
	return runOption(func(c *runConfig) error { c.repeats = true; return nil })
}

// WithCandidateCounts sets how many candidates of a parameter space are scored
// at each Ask: sobol points spread over the space and local ones around the
// best point told. The default is 1,000 and 200. Finite spaces score all their
// candidates.
func WithCandidateCounts(sobol, local int) Option {
	return runOption(func(c *runConfig) error {
		if sobol < 1 || local < 0 || sobol > maxCandidates || local > maxCandidates {
			return optionErrorf("%d Sobol and %d local candidates; at most %d each", sobol, local, maxCandidates)
		}
		c.sobol, c.local = sobol, local
		return nil
	})
}
