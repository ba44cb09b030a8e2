package baseline

import (
	"context"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
)

// A Model is what a method learned of past tasks: expensive, immutable, shared by any number of runs and goroutines.
type Model interface {
	// Surrogate returns a fresh surrogate for one run, to be passed to [cmbo.New] with
	// [cmbo.WithSurrogate]. seed names all that is random in the run.
	Surrogate(seed uint64) cmbo.Surrogate
}

// Use says what a method does with the acquisition of a run.
type Use uint8

const (
	AnyAcquisition Use = iota // proposes by it
	OwnUCB                    // ignores it for a form of UCB or Thompson sampling
	OwnEI                     // ignores it for a form of expected improvement
	NoAcquisition             // has none at all
)

// Suits reports whether runs of the method belong beside those of other methods with acquisition f.
func (u Use) Suits(f acq.Func) bool {
	switch u {
	case OwnUCB:
		_, ok := f.(acq.UCB)
		return ok
	case OwnEI:
		return f == cmbo.EI()
	}
	return true
}

// A Method is an entry of the list of methods.
type Method struct {
	// Name is short and unique.
	Name string
	// Transfers reports whether the method learns from past tasks.
	Transfers bool
	// Use says what it does with a run's acquisition.
	Use Use
	// Learn makes a model. It fails as [cmbo.Learn] does for tasks, with [cmbo.ErrNoTasks] only where the method needs
	// values, with [cmbo.ErrSpace], [cmbo.ErrOption], [cmbo.ErrNumerical], or ctx.Err(). The surrogate of a model that
	// weighs the tasks is a [cmbo.Weigher], whose last weight is that of the target's own process.
	Learn func(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (Model, error)
}

// Methods returns all methods, the ones without transfer first.
func Methods() []Method {
	return []Method{
		{"Random", false, NoAcquisition, learner(learnRandom)},
		{"GP", false, AnyAcquisition, learner(learnPlainGP)},
		{"RGPE", true, AnyAcquisition, learner(learnRGPE)},
		{"TST-R", true, AnyAcquisition, learner(learnTSTR)},
		{"TAF-RGPE", true, OwnEI, learner(learnTAF)},
		{"TAF-R", true, OwnEI, learner(learnTAF, byRanks)},
		{"RM-GP-UCB", true, OwnUCB, learner(learnRMGPUCB)},
		{"RM-GP-TS", true, OwnUCB, learner(learnRMGPTS)},
		{"ScaML-GP", true, AnyAcquisition, learner(learnScaMLGP)},
		{"HyperBO", true, AnyAcquisition, learner(learnHyperBO)},
		{"HyperBO+", true, AnyAcquisition, learner(learnHyperBOPlus)},
		{"MetaBO", true, AnyAcquisition, learner(learnMetaBO)},
		{"EM-EGP", true, AnyAcquisition, learner(learnEmpiricalGP)},
		{"EM-EGP-affine", true, AnyAcquisition, learner(learnAffineGP)},
		{"EM-EGP-noisefit", true, AnyAcquisition, learner(learnEmpiricalGP, fitsNoise)},
		{"EM-EGP-OAS", true, AnyAcquisition, learner(learnEmpiricalGP, shrinksByOAS)},
		{"ABLR", true, AnyAcquisition, learner(learnABLR)},
		{"GC3P", true, AnyAcquisition, learner(learnGC3P)},
		{"StackedGP", true, AnyAcquisition, learner(learnStackedGP)},
		{"Portfolio", true, NoAcquisition, learner(learnPortfolio)},
	}
}

// Find returns the method of that name, letter case ignored. It fails with [cmbo.ErrOption] and lists the names.
func Find(name string) (Method, error) {
	return gp.Find(Methods(), func(m Method) string { return m.Name }, "method", name)
}

// A learnFunc makes a model, and fails, as Method.Learn does.
type learnFunc[M Model] func(context.Context, *cmbo.Space, []cmbo.Task, ...Option) (M, error)

// learner gives a constructor the form of Method.Learn; more options come first.
func learner[M Model](learn learnFunc[M],
	more ...Option) func(context.Context, *cmbo.Space, []cmbo.Task, ...Option) (Model, error) {
	return func(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (Model, error) {
		if err := gp.CheckContext(ctx); err != nil {
			return nil, err
		}
		m, err := learn(ctx, space, tasks, append(more[:len(more):len(more)], opts...)...)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

// runs is the model of a method that is nothing but how its runs begin.
type runs func(seed uint64) cmbo.Surrogate

func (start runs) Surrogate(seed uint64) cmbo.Surrogate { return start(seed) }

// fromTasks returns the constructor of a method that trains on tasks with values, and fails with
// [cmbo.ErrNoTasks] without, unless it works without tasks.
func fromTasks[M Model](base config,
	train func(ctx context.Context, dim int, tasks []observations, c *config) (M, error)) learnFunc[M] {
	return func(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (m M, err error) {
		c, obs, err := settle(base, space, tasks, opts)
		if err == nil && len(obs) == 0 && !c.optional {
			const format = "%w: %s learns from the values of past tasks alone, and none of %d tasks has one"
			err = fmt.Errorf(format, cmbo.ErrNoTasks, c.method, len(tasks))
		}
		if err != nil {
			return m, err
		}
		if c.varied && slices.ContainsFunc(obs, varies) {
			obs = slices.DeleteFunc(obs, func(o observations) bool { return !varies(o) })
		}
		return train(ctx, space.Dim(), obs, c)
	}
}

func varies(o observations) bool { return slices.Min(o.Z) < slices.Max(o.Z) }

// ensemble returns the constructor of a method that fits a process to each task, all else
// being in its runs, and works without tasks.
func ensemble(base config, start func(p *past, c *config, seed uint64) cmbo.Surrogate) learnFunc[runs] {
	base.optional = true
	return fromTasks(base, func(ctx context.Context, dim int, tasks []observations, c *config) (runs, error) {
		p, err := learnPast(ctx, dim, tasks, c)
		return func(seed uint64) cmbo.Surrogate { return start(p, c, seed) }, err
	})
}

// alone returns the constructor of a method without transfer.
func alone(base config, start func(dim int, seed uint64, c *config) cmbo.Surrogate) learnFunc[runs] {
	return func(_ context.Context, space *cmbo.Space, _ []cmbo.Task, opts ...Option) (runs, error) {
		c, _, err := settle(base, space, nil, opts)
		return func(seed uint64) cmbo.Surrogate { return start(space.Dim(), seed, c) }, err
	}
}
