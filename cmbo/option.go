package cmbo

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/kernel"
)

// A LearnOption sets something of [Learn]. Options are applied in their order, later ones winning,
// and validated by Learn, which refuses options that contradict each other.
type LearnOption interface {
	CheckOption
	applyLearn(*learnConfig) error
}

// An Option sets something of [New]. Options are applied in their order, later ones winning, and
// validated by New, which refuses options that contradict each other.
type Option interface {
	CheckOption
	applyRun(*runConfig) error
}

// A SharedOption concerns both [Learn] and [New].
type SharedOption interface {
	LearnOption
	Option
}

// option is every option there is and what it does to a configuration.
type option struct {
	id    optionID
	learn func(*learnConfig) error // nil if it does not concern Learn
	run   func(*runConfig) error   // nil if it does not concern New
	check func(*checkConfig) error // nil if it does not concern Check alone
	// restore says that Restore takes it, because no snapshot holds what it sets.
	restore bool
}

func (o option) applyLearn(c *learnConfig) error { return o.learn(c) }

func (o option) applyRun(c *runConfig) error {
	c.given = append(c.given, o)
	return o.run(c)
}

// optionID is the identity of an option: the name of the function that makes it. Constants are those
// that something else asks for.
type optionID string

const (
	optYPolicy       optionID = "WithYPolicy"
	optKernel        optionID = "WithKernel"
	optPrior         optionID = "WithPrior"
	optSurrogate     optionID = "WithSurrogate"
	optNoiseVariance optionID = "WithNoiseVariance"
	optInitial       optionID = "WithInitial"
	optJournal       optionID = "WithJournal"
	optJournalMark   optionID = "WithJournalMark"
	optNewPrior      optionID = "WithNewPrior"
	optOutput        optionID = "WithOutput"
	optCost          optionID = "WithCost"
	optBudget        optionID = "WithBudget"
	optContext       optionID = "WithContext"
)

// sharedConfig is what Learn and New both work with.
type sharedConfig struct {
	seed        uint64
	minimize    bool
	positive    bool // all values are said to be, and models see logarithms
	y           YPolicy
	parallelism int
	kernel      kernel.Kernel // a template, nil for the default; for runs without a prior
}

// learnConfig is what Learn works with; newLearnConfig holds the defaults.
type learnConfig struct {
	sharedConfig
	logUnit     float64 // with which models see logarithms as Learn found them likelier, 0 if not: see scaling.Warp
	indexPoints int
	ablations   []string // changes of the default's settings, none of which is stored
}

// runConfig is what New works with; newRunConfig holds the defaults. What no option gave is filled in before the run begins.
// Every field is stored in a snapshot or has to be given again: see TestSnapshotHoldsConfig.
type runConfig struct {
	sharedConfig
	given       []option // in the order in which they were applied
	prior       *Prior
	newPrior    bool // it takes the place of the run's
	journal     func(lines []byte) error
	mark        JournalMark
	acquisition acq.Func
	surrogate   Surrogate
	noise       float64 // given noise variance, NaN to learn it
	initial     int     // size of the initial design
	checkpoints bool
	outputs     []runlog.Output // in the order of their names
	cost        func(x []float64) float64
	costs       *outputPrior // what past tasks say of the output that is the cost: see checkCost
	budget      float64      // 0 for none
	context     Context      // descriptors of the new task, normal
	sobol       int          // candidates of a parameter space
	local       int
}

// Defaults of what an option can change.
const (
	defaultSeed        = 1
	defaultIndexPoints = 500
	defaultInitial     = 5
	defaultSobol       = 300
	defaultLocal       = 160

	maxCandidates = 1 << 20
)

func defaultLearnConfig() *learnConfig {
	return &learnConfig{sharedConfig: sharedConfig{seed: defaultSeed, y: ZScore}, indexPoints: defaultIndexPoints}
}

func newLearnConfig(opts []LearnOption) (*learnConfig, error) {
	c := defaultLearnConfig()
	return c, c.apply(opts)
}

func (c *learnConfig) apply(opts []LearnOption) error {
	return applyAll("LearnOption", opts, c, LearnOption.applyLearn)
}

// applyAll applies options, which kind names, in their order.
func applyAll[O, C any](kind string, opts []O, c C, apply func(O, C) error) error {
	for _, o := range opts {
		if any(o) == nil {
			return optionErrorf("a nil %s", kind)
		}
		if err := apply(o, c); err != nil {
			return err
		}
	}
	return nil
}

// settled returns a copy without what concerned one call alone.
func (c *learnConfig) settled() *learnConfig {
	s := *c
	s.parallelism = 0
	return &s
}

func newRunConfig(opts []Option) (*runConfig, error) {
	c := &runConfig{
		sharedConfig: sharedConfig{seed: defaultSeed, y: ZScore}, acquisition: EI(),
		noise: math.NaN(), sobol: defaultSobol, local: defaultLocal,
	}
	if err := c.apply(opts); err != nil {
		return nil, err
	}
	for _, p := range [][2]optionID{
		{optSurrogate, optPrior}, {optSurrogate, optKernel}, {optSurrogate, optNoiseVariance}, {optPrior, optKernel},
	} {
		if c.has(p[0]) && c.has(p[1]) {
			return nil, optionErrorf("%s contradicts %s", p[1], p[0])
		}
	}
	if c.newPrior {
		return nil, optionErrorf("%s: only Restore and RestoreJournal take it", optNewPrior)
	}
	return c, nil
}

func (c *runConfig) has(id optionID) bool {
	return slices.ContainsFunc(c.given, func(o option) bool { return o.id == id })
}

func (c *runConfig) apply(opts []Option) error {
	return applyAll("Option", opts, c, Option.applyRun)
}

// shared is an option that sets the same for Learn and for New.
func shared(id optionID, set func(c *sharedConfig) error) option {
	return option{
		id:    id,
		learn: func(c *learnConfig) error { return set(&c.sharedConfig) },
		run:   func(c *runConfig) error { return set(&c.sharedConfig) },
	}
}

// WithSeed sets the seed of everything random; the default is 1. The same
// seed, data and options give the same result, whatever the number of cores.
func WithSeed(seed uint64) SharedOption {
	return shared("WithSeed", func(c *sharedConfig) error { c.seed = seed; return nil })
}

// WithMinimize says that smaller values are better, of the past tasks and of
// the new one. New takes the direction of its prior by itself.
func WithMinimize() SharedOption {
	return shared("WithMinimize", func(c *sharedConfig) error { c.minimize = true; return nil })
}

// WithYPolicy sets how values are scaled, task by task; the default is [ZScore]. A run with a prior infers the
// target's offset and scale from values as they are, or takes values by rank if the prior was learned with [Copula].
// New then accepts [RawValues] or Copula, whichever that is, and the policy of the prior, to the same effect.
// Without a prior and limits of outputs, [ZScore] first raises penalties: as [Learn] tells them from few others, and either
// several that differ by a thousandth of how far below they are, or farther below than a thousand times the others' range.
func WithYPolicy(p YPolicy) SharedOption {
	return shared(optYPolicy, gp.Setting(func(c *sharedConfig) { c.y = p }, p.valid(), "%s is not a y policy", p))
}

// WithParallelism bounds the number of goroutines at n; the default is GOMAXPROCS. It changes the speed, never the result.
func WithParallelism(n int) SharedOption {
	o := shared("WithParallelism", gp.Setting(
		func(c *sharedConfig) { c.parallelism = n }, n >= 1, "parallelism %d is below 1", n))
	o.restore = true
	return o
}

// WithKernel sets the kernel of the process that all tasks share, or, given to New, of a run without a prior. Its
// hyperparameters are a template: they are fitted, to all tasks together or to the run. The default for tasks is a
// scaled Matérn-3/2 with a lengthscale per coordinate, or -5/2 where that is likelier and there is no list of
// candidates; for a run it has one lengthscale for numbers and one for choices or one for each parameter, as the evidence has
// it at each fit, and without a list of candidates, where little noise is found, may be Matérn-5/2.
func WithKernel(k kernel.Kernel) SharedOption {
	o := shared(optKernel, gp.Setting(func(c *sharedConfig) { c.kernel = k }, k != nil, "a nil kernel"))
	o.restore = true
	return o
}
