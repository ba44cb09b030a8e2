package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/baseline"
)

// A Method is a way to tune that an [Experiment] compares with others.
type Method struct {
	// Name is short and unique.
	Name string
	// Use says what the method does with the acquisition of a run, and so beside
	// which ones its runs belong.
	Use baseline.Use
	// Clusters reports whether the method groups the past tasks.
	Clusters bool
	// Learn learns from the past tasks of one split.
	Learn func(ctx context.Context, l Training) (Tuner, error)
	// LearnsAs names what Learn learns: methods with the same one share it. Empty
	// stands for the method's own name.
	LearnsAs string
	// Options are given to each run in addition.
	Options []cmbo.Option
}

// learns names what the method learns.
func (m *Method) learns() string {
	if m.LearnsAs == "" {
		return m.Name
	}
	return m.LearnsAs
}

// A Training is what a [Method] learns from.
type Training struct {
	// Space is the search space: with candidates if all tasks of the table, past
	// and new, were recorded on the same list.
	Space *cmbo.Space
	// Tasks are the past tasks. They are shared and must not be changed.
	Tasks []cmbo.Task
	// Seed is that of all that is random.
	Seed uint64
	// Clusters is the least and the largest number of clusters to try.
	Clusters [2]int
}

// A Tuner is what a [Method] learned from one split: immutable, to be used for
// any number of runs.
type Tuner interface {
	// Prepare does what all runs over a target's candidates share.
	Prepare(ctx context.Context, target *cmbo.Space) (Starter, error)
}

// A Starter begins a run. opts are the seed, the acquisition, the bound on
// goroutines and the method's own; seed is the same one, for what takes no
// options.
type Starter func(seed uint64, opts ...cmbo.Option) (AskTeller, error)

// Methods returns all methods known here: those of package baseline, the seven
// variants of cm-BO named by the paper, "cm-BO", what [cmbo.Learn] and [cmbo.New]
// do without options, and "no-past", what New does without a prior.
func Methods() []Method {
	var ms []Method
	for _, m := range baseline.Methods() {
		ms = append(ms, Method{Name: m.Name, Use: m.Use, Learn: rival(m)})
	}
	for _, v := range cmbo.Variants() {
		m := Method{Name: v.String(), Clusters: v != cmbo.GlobalCen && v != cmbo.IndiWeightJef}
		learned := v
		switch v {
		case cmbo.JefClusWssCMP:
			learned = cmbo.JefClusJefCMP
		case cmbo.WssClusJefCMP:
			learned = cmbo.WssClusWssCMP
		}
		if learned != v {
			// Only the distance that weighs differs.
			m.LearnsAs, m.Options = learned.String(), []cmbo.Option{cmbo.WithVariant(v)}
		}
		m.Learn = own(m.Clusters, cmbo.WithVariant(learned))
		ms = append(ms, m)
	}
	return append(ms, Method{Name: defaultMethod, Learn: own(false)}, Method{Name: "no-past", Learn: withoutPast})
}

// withoutPast learns nothing: runs are those of [cmbo.New] without a prior.
func withoutPast(context.Context, Training) (Tuner, error) { return plainTuner{}, nil }

type plainTuner struct{}

func (plainTuner) Prepare(_ context.Context, target *cmbo.Space) (Starter, error) {
	return func(_ uint64, opts ...cmbo.Option) (AskTeller, error) { return cmbo.New(target, opts...) }, nil
}

// Ablated returns the name of the default with a change of its settings, one of
// [cmbo.Ablations]: a method that a [Protocol] may name beside those of [Methods].
func Ablated(change string) string { return defaultMethod + ":" + change }

// defaultMethod is the name of what Learn and New do without options.
const defaultMethod = "cm-BO"

// findMethod returns the method of that name, letter case ignored.
func findMethod(all []Method, name string) (*Method, error) {
	if method, change, ok := strings.Cut(name, ":"); ok && strings.EqualFold(method, defaultMethod) {
		names, _ := cmbo.Ablations()
		for _, n := range names {
			if strings.EqualFold(n, change) {
				return &Method{Name: Ablated(n), Learn: own(false, cmbo.WithAblation(n))}, nil
			}
		}
		return nil, fmt.Errorf("%w: there is no ablation %q among %s", cmbo.ErrOption, change, strings.Join(names, ", "))
	}
	var known []string
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i], nil
		}
		known = append(known, all[i].Name)
	}
	return nil, fmt.Errorf("%w: there is no method %q among %s", cmbo.ErrOption, name, strings.Join(known, ", "))
}

// acquisitionOf returns how runs of the method with acquisition a are called in
// records, and whether there are any.
func (m *Method) acquisitionOf(a acq.Func) (string, bool) {
	if m.Use == baseline.NoAcquisition {
		return "", true
	}
	return a.String(), m.Use.Suits(a)
}

// rival learns a method of package baseline.
func rival(m baseline.Method) func(context.Context, Training) (Tuner, error) {
	return func(ctx context.Context, l Training) (Tuner, error) {
		model, err := m.Learn(ctx, l.Space, l.Tasks, baseline.WithSeed(l.Seed), baseline.WithParallelism(1))
		if err != nil {
			return nil, err
		}
		return modelTuner{model}, nil
	}
}

type modelTuner struct{ model baseline.Model }

func (t modelTuner) Prepare(_ context.Context, target *cmbo.Space) (Starter, error) {
	return func(seed uint64, opts ...cmbo.Option) (AskTeller, error) {
		return cmbo.New(target, append(opts, cmbo.WithSurrogate(t.model.Surrogate(seed)))...)
	}, nil
}

// own learns a variant of cm-BO.
func own(clustered bool, learn ...cmbo.LearnOption) func(context.Context, Training) (Tuner, error) {
	return func(ctx context.Context, l Training) (Tuner, error) {
		opts := append([]cmbo.LearnOption{cmbo.WithSeed(l.Seed), cmbo.WithParallelism(1)}, learn...)
		if clustered {
			opts = append(opts, cmbo.WithClusterRange(l.Clusters[0], l.Clusters[1]))
		}
		prior, err := cmbo.Learn(ctx, l.Space, l.Tasks, opts...)
		if err != nil {
			return nil, err
		}
		return priorTuner{prior}, nil
	}
}

type priorTuner struct{ prior *cmbo.Prior }

func (t priorTuner) Prepare(ctx context.Context, target *cmbo.Space) (Starter, error) {
	p, err := t.prior.Reindex(ctx, target)
	if err != nil {
		return nil, err
	}
	return func(_ uint64, opts ...cmbo.Option) (AskTeller, error) {
		return cmbo.New(target, append(opts, cmbo.WithPrior(p))...)
	}, nil
}
