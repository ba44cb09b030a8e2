package baseline

import (
	"context"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
)

// A Model is what a method learned of past tasks: expensive, immutable, shared by
// any number of runs and goroutines.
type Model interface {
	// Surrogate returns a fresh surrogate for one run, to be passed to
	// [cmbo.New] with [cmbo.WithSurrogate]. seed names all that is random in
	// the run.
	Surrogate(seed uint64) cmbo.Surrogate
}

// A Weigher is a surrogate that weighs models. Weights returns the weights of
// the tasks, in the order learned from, and last that of the target's own
// model, as they follow from the data of the latest Fit; nil before the first.
// They add up to 1.
type Weigher interface {
	Weights() []float64
}

// Use says what a method does with the acquisition of a run.
type Use uint8

const (
	AnyAcquisition Use = iota // proposes by it
	OwnUCB                    // ignores it for a form of UCB or Thompson sampling
	OwnEI                     // ignores it for a form of expected improvement
	NoAcquisition             // has none at all
)

// Suits reports whether runs of the method belong beside those of other methods
// with acquisition f.
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
	// Learn makes a model with the method's defaults. opts may be those that
	// concern all methods.
	Learn func(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (Model, error)
}

// Methods returns all methods in their default form, the ones without transfer
// first.
func Methods() []Method {
	return []Method{
		{"Random", false, NoAcquisition, alone(NewRandom)},
		{"GP", false, AnyAcquisition, alone(NewGP)},
		{"RGPE", true, AnyAcquisition, learner(LearnRGPE)},
		{"TST-R", true, AnyAcquisition, learner(LearnTSTR)},
		{"TAF-RGPE", true, OwnEI, learner(LearnTAF)},
		{"TAF-R", true, OwnEI, learner(LearnTAF, WithTAFWeights(WeightsTSTR))},
		{"RM-GP-UCB", true, OwnUCB, learner(LearnRMGPUCB)},
		{"RM-GP-TS", true, OwnUCB, learner(LearnRMGPTS)},
		{"ScaML-GP", true, AnyAcquisition, learner(LearnScaMLGP)},
		{"HyperBO", true, AnyAcquisition, learner(LearnHyperBO)},
		{"HyperBO+", true, AnyAcquisition, learner(LearnHyperBOPlus)},
		{"MetaBO", true, AnyAcquisition, learner(LearnMetaBO)},
		{"EM-EGP", true, AnyAcquisition, learner(LearnEmpiricalGP)},
		{"StackedGP", true, AnyAcquisition, learner(LearnStackedGP)},
	}
}

// Find returns the method of that name, letter case ignored. It fails with
// [cmbo.ErrOption] and lists the names.
func Find(name string) (Method, error) {
	var known []string
	for _, m := range Methods() {
		if strings.EqualFold(m.Name, name) {
			return m, nil
		}
		known = append(known, m.Name)
	}
	return Method{}, optionErrorf("there is no method %q among %s", name, strings.Join(known, ", "))
}

type learnFunc[M Model] func(context.Context, *cmbo.Space, []cmbo.Task, ...Option) (M, error)

// learner gives a constructor the form of Method.Learn; more options come first.
func learner[M Model](learn learnFunc[M], more ...Option) func(context.Context, *cmbo.Space, []cmbo.Task, ...Option) (Model, error) {
	return func(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (Model, error) {
		m, err := learn(ctx, space, tasks, append(more[:len(more):len(more)], opts...)...)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

// alone is learner for methods without transfer.
func alone[M Model](create func(*cmbo.Space, ...Option) (M, error)) func(context.Context, *cmbo.Space, []cmbo.Task, ...Option) (Model, error) {
	return learner(func(_ context.Context, space *cmbo.Space, _ []cmbo.Task, opts ...Option) (M, error) {
		return create(space, opts...)
	})
}
