package bench

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/internal/each"
)

// A Method is a way to tune that an [Experiment] compares with others.
type Method struct {
	// Name is short and unique.
	Name string
	// Transfers reports whether the method learns from the past tasks.
	Transfers bool
	// Use says what the method does with the acquisition of a run: its runs are compared with those that use the same.
	Use baseline.Use
	// Clusters reports whether the method groups the past tasks.
	Clusters bool
	// Learn learns from the past tasks of one split.
	Learn func(ctx context.Context, l Training) (Tuner, error)
}

// Named reports whether s is the name of m, letter case ignored, alone or before a colon and a change.
func (m *Method) Named(s string) bool { return strings.EqualFold(m.Name, strings.Split(s, ":")[0]) }

// A Training is what a [Method] learns from.
type Training struct {
	// Space is the search space: with candidates if all tasks of the table, past and new, were recorded on the same list.
	Space *cmbo.Space
	// Tasks are the past tasks. They are shared and must not be changed.
	Tasks []cmbo.Task
	// Seed is that of all that is random.
	Seed uint64
	// Clusters is the least and the largest number of clusters to try.
	Clusters [2]int
}

// A Tuner is what a [Method] learned from one split: it begins a run over a target's candidates. opts are the seed, the
// acquisition and the bound on goroutines; seed is the same one, for what takes no options.
type Tuner func(ctx context.Context, target *cmbo.Space, seed uint64, opts ...cmbo.Option) (AskTeller, error)

// Methods returns all methods known here: those of package baseline, the seven variants of cm-BO named by the paper,
// "cm-BO", what [cmbo.Learn] and [cmbo.New] do without options, and "no-past", what New does without a prior.
func Methods() []Method {
	ms := each.Of(baseline.Methods(), func(m baseline.Method) Method { return fromBaseline(m, false) })
	for _, v := range paper.Variants() {
		clusters := v.Grouping == paper.Clustered
		ms = append(ms, Method{Name: v.String(), Transfers: true, Clusters: clusters, Learn: variant(v)})
	}
	return append(ms, Method{Name: defaultMethod, Transfers: true, Learn: own()},
		Method{Name: "no-past", Learn: withoutPast})
}

// withoutPast learns nothing: runs are those of [cmbo.New] without a prior.
func withoutPast(context.Context, Training) (Tuner, error) {
	return func(_ context.Context, target *cmbo.Space, _ uint64, opts ...cmbo.Option) (AskTeller, error) {
		o, err := cmbo.New(target, opts...)
		return foreteller{o}, err
	}, nil
}

// Ablated returns the name of the default with a change of its settings, as [cmbo.WithAblation]
// takes it: a method that a [Protocol] may name beside those of [Methods].
func Ablated(change string) string { return defaultMethod + ":" + change }

// SharedValues follows the name of a method of package baseline, or of the default, whose values are standardised for all
// tasks together, as where they have one unit: "RGPE:shared", a method that a [Protocol] may name beside those of [Methods].
const SharedValues = ":shared"

// defaultMethod is the name of what Learn and New do without options.
const defaultMethod = "cm-BO"

// findMethod returns the method of that name, letter case ignored.
func findMethod(all []Method, name string) (Method, error) {
	method, change, ok := strings.Cut(name, ":")
	shared := strings.EqualFold(":"+change, SharedValues)
	if ok && strings.EqualFold(method, defaultMethod) {
		names, _ := cmbo.Ablations()
		if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, change) }); i >= 0 {
			change = names[i]
		}
		o := cmbo.WithAblation(change)
		if shared {
			change, o = SharedValues[1:], cmbo.WithYPolicy(cmbo.RawValues) // whose tasks Learn brings to one scale
		}
		if _, err := cmbo.NewLearner(nil, o); errors.Is(err, cmbo.ErrOption) { // before it misses a space
			return Method{}, err
		}
		return Method{Name: Ablated(change), Transfers: true, Learn: own(o)}, nil
	}
	if shared {
		m, err := baseline.Find(method)
		return fromBaseline(m, true), err
	}
	return gp.Find(all, func(m Method) string { return m.Name }, "method", name)
}

// fromBaseline returns a method of package baseline. If values are shared, those of all tasks are standardised together,
// by the mean and the deviation of the past's, else each task's by its own.
func fromBaseline(m baseline.Method, shared bool) Method {
	name, policy := m.Name, cmbo.ZScore
	if shared {
		name, policy = name+SharedValues, cmbo.RawValues
	}
	return Method{Name: name, Transfers: m.Transfers, Use: m.Use, Learn: func(ctx context.Context, l Training) (Tuner, error) {
		in := inUnit{scale: 1}
		tasks := slices.Clone(l.Tasks)
		if shared {
			all := each.Of(tasks, func(t cmbo.Task) []float64 { return t.Y })
			of := scaling.Fit(scaling.ZScore, slices.Concat(all...))
			in = inUnit{shift: of.Shift, scale: of.Scale}
		}
		for i := range tasks {
			tasks[i].Y = each.Of(tasks[i].Y, in.of)
		}
		model, err := m.Learn(ctx, l.Space, tasks, baseline.WithSeed(l.Seed), baseline.WithParallelism(1), baseline.WithYPolicy(policy))
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, target *cmbo.Space, seed uint64, opts ...cmbo.Option) (AskTeller, error) {
			o, err := cmbo.New(target, append(opts, cmbo.WithSurrogate(model.Surrogate(seed)), cmbo.WithYPolicy(policy))...)
			return inUnit{o, in.shift, in.scale}, err
		}, nil
	}}
}

// An inUnit is an optimiser whose values are in another unit than those that it is told.
type inUnit struct {
	*cmbo.Optimizer
	shift, scale float64
}

func (o inUnit) of(y float64) float64 { return (y - o.shift) / o.scale }

// Observe, Tell and LastStep are those of the optimiser, in the unit of what is told.
func (o inUnit) Observe(x []float64, y float64, opts ...cmbo.ObservationOption) error {
	return o.Optimizer.Observe(x, o.of(y), opts...)
}

func (o inUnit) Tell(id int, y float64, opts ...cmbo.ObservationOption) error {
	return o.Optimizer.Tell(id, o.of(y), opts...)
}

func (o inUnit) LastStep() (cmbo.Step, bool) {
	s, ok := o.Optimizer.LastStep()
	s.Shift, s.Scale = o.shift+o.scale*s.Shift, o.scale*s.Scale
	return s, ok
}

// variant learns a variant of the paper's method.
func variant(v paper.Variant) func(context.Context, Training) (Tuner, error) {
	return func(ctx context.Context, l Training) (Tuner, error) {
		opts := []paper.Option{paper.WithVariant(v), paper.WithSeed(l.Seed), paper.WithParallelism(1)}
		if v.Grouping == paper.Clustered {
			opts = append(opts, paper.WithClusterRange(l.Clusters[0], l.Clusters[1]))
		}
		prior, err := paper.Learn(ctx, l.Space, l.Tasks, opts...)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, target *cmbo.Space, _ uint64, opts ...cmbo.Option) (AskTeller, error) {
			s, err := prior.Surrogate(ctx, target)
			if err != nil {
				return nil, err
			}
			return cmbo.New(target, append(opts, cmbo.WithSurrogate(s))...)
		}, nil
	}
}

// own learns by the default, or a change of it.
func own(learn ...cmbo.LearnOption) func(context.Context, Training) (Tuner, error) {
	return func(ctx context.Context, l Training) (Tuner, error) {
		opts := append([]cmbo.LearnOption{cmbo.WithSeed(l.Seed), cmbo.WithParallelism(1)}, learn...)
		prior, err := cmbo.Learn(ctx, l.Space, l.Tasks, opts...)
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, target *cmbo.Space, _ uint64, opts ...cmbo.Option) (AskTeller, error) {
			o, err := cmbo.New(target, append(opts, cmbo.WithPrior(prior))...)
			return foreteller{o}, err
		}, nil
	}
}

// A foreteller is an optimiser whose model may see low values as closer together than they are, and its steps with it:
// what it foretells is what Predict says.
type foreteller struct{ *cmbo.Optimizer }
