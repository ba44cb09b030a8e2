package cmbo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/curve"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A Prior is what [Learn] has learned from past tasks for use in new ones. It is immutable and safe to share between
// any number of optimisers and goroutines. Learn and its like make it: of a nil or zero Prior, calls that return an
// error fail with [ErrOption], others find nothing.
type Prior struct {
	config *learnConfig // what it was learned with
	space  *Space       // the parameters; candidates are not kept
	finite bool         // the space learned on had candidates: for its encoded form alone

	learned *hierarchy.Model      // hypotheses on a new task
	list    *hierarchy.Candidates // of the space that it serves, carried to the grid, nil for none
	told    []told                // the tasks with values
	success *hierarchy.Model      // where evaluations succeed, nil if none failed
	outputs []*outputPrior        // in the order of their names
	curves  *curve.Past           // nil if no task has curves
	lazy    *lazyDigest
}

// told is a task with values: these, their noise variances and their curves are as they were given, nil where none was.
type told struct {
	id       string
	x        *linalg.Dense // in the unit cube
	context  Context
	y, noise []float64
	curves   []space.Curve
}

// made reports a Prior that nothing made.
func (p *Prior) made() error {
	return refuseUnless(p != nil && p.space != nil, "a nil or zero Prior; use Learn")
}

// newPrior makes a prior of what was learned, without the values told.
func newPrior(c *learnConfig, space *Space, finite bool, m *hierarchy.Model) *Prior {
	tasks := each.Of(m.Tasks(), func(t hierarchy.Task) told { return told{id: t.ID, x: t.X, context: t.Context} })
	return &Prior{config: c, space: space.WithoutCandidates(), finite: finite, learned: m, told: tasks, lazy: new(lazyDigest)}
}

// derive learns from what was told what is not stored.
func (p *Prior) derive() {
	p.curves = p.learnCurves()
	s, depths := p.learned.Settings(), []float64(nil)
	for _, t := range p.told {
		y, _ := p.config.sense().Apply(t.y, nil)
		depths = append(depths, scaling.Raised(y, s.ApartOf(t.x, y)...)...)
	}
	p.learned.SetRaised(depths)
}

// lazyDigest is the digest of a prior, computed when it is first asked for.
type lazyDigest struct {
	once sync.Once
	hex  string
	err  error
}

// LearnReport says what learning found in the tasks.
type LearnReport struct {
	// Common is the share of the variance of the tasks' values that all of them have in common, by their likelihood. One
	// task alone does not show it: Common is then .54 of what is not noise. It is 0 of more tasks than a [Learner] keeps,
	// and where no task has two different values, which have no variance.
	Common float64
	// Noise is the share that no function of the parameters has: noise, what a parameter that was not recorded decided,
	// or values beside the wrong points. If it is most of the variance, the past has little to say. It is a tenth or so
	// at most where values are too few to show it: where all tasks have fewer than eight, or fewer than two a coordinate
	// and together fewer than eight a coordinate.
	Noise float64
	// Shrinkage is by how much the population's moments are shrunk from what EM found to those of a process of which
	// Common is common to all: 12/(12 + n) for n tasks, since few show little of how tasks differ; 0 where Common is.
	Shrinkage float64
	// Smooth reports whether the tasks are learned from as smooth functions, by a Matérn-5/2 kernel and not by Matérn-3/2. In
	// a space without a list of candidates, and without [WithKernel], it is the likelier one.
	Smooth bool
	// Logarithms reports whether models see logarithms without [WithPositiveValues]: with [ZScore], where values are all
	// above 0, or all below, without curves, and logarithms have the larger log-likelihood of normal distributions, one a
	// task, by more than .6 nats a value, and no tail towards good ones.
	Logarithms bool

	alone bool // of one task
}

// String says it in words.
func (r LearnReport) String() string {
	words, of := "what the tasks have in common was not estimated", " of the variance of their values"
	if r.alone {
		words = "one task does not show what tasks have in common"
	} else if r.Common > 0 {
		words, of = fmt.Sprintf("in common to all tasks: %.0f %%%s", 100*r.Common, of), ""
	}
	if r.Noise > 0.5 {
		words += fmt.Sprintf("; %.0f %%%s follow no parameter: noise, or values beside the wrong points", 100*r.Noise, of)
	}
	if r.Smooth {
		words += "; learned from as smooth functions"
	}
	if r.Logarithms {
		words += "; logarithms of the values, by their likelihood"
	}
	return words
}

// Minimizes reports whether smaller values are better.
func (p *Prior) Minimizes() bool { return p.made() == nil && p.config.minimize }

// PositiveValues reports whether the prior was learned with [WithPositiveValues].
func (p *Prior) PositiveValues() bool { return p.made() == nil && p.config.positive }

// NumTasks returns the number of tasks learned from. Of more than 1,000 the prior keeps a sample: see [Prior.Tasks].
func (p *Prior) NumTasks() int { return int(learned(p, (*hierarchy.Model).Total)) }

// NoiseVariance returns the noise variance in scaled units that all tasks share: see [WithNoiseVariance].
func (p *Prior) NoiseVariance() float64 { return learned(p, (*hierarchy.Model).Base).NoiseVariance }

// Report says what learning found.
func (p *Prior) Report() LearnReport {
	return learned(p, func(m *hierarchy.Model) LearnReport {
		common, shrinkage := m.SharedMean()
		noise := m.NoiseShare()
		k, _ := kernel.Describe(m.Base().Kernel) // a foreign one is not smooth
		smooth := len(k.Kernels) == 1 && k.Kernels[0].Name == "Matern52"
		return LearnReport{Common: common * (1 - noise), Noise: noise, Shrinkage: shrinkage, Smooth: smooth,
			Logarithms: p.config.logUnit != 0, alone: m.Total() == 1}
	})
}

// learned returns what of says of what p has learned, and zero for a nil or zero Prior.
func learned[T any](p *Prior, of func(*hierarchy.Model) T) (zero T) {
	if p.made() != nil {
		return zero
	}
	return of(p.learned)
}

// Reindex returns the prior for optimisers over a finite space, with the space's candidates carried to the index set.
// New does so by itself; a program that starts many optimisers over one space does it once. The result shares what it
// can with p, and is p for a parameter space. It fails with [ErrPriorMismatch] if the parameters differ, with
// [ErrNumerical], or with ctx.Err(), and takes O(N I) time, and 8NI bytes, for N candidates and I index points.
func (p *Prior) Reindex(ctx context.Context, space *Space) (*Prior, error) {
	return called(ctx, p.made(), func() (*Prior, error) { return p.reindex(ctx, space, 0) })
}

// reindex is Reindex on a bounded number of goroutines.
func (p *Prior) reindex(ctx context.Context, space *Space, workers int) (*Prior, error) {
	if err := space.Defined(); err != nil {
		return nil, err
	}
	if err := otherParams(ErrPriorMismatch, p.space, space, "; Prior.Adopt brings a prior to another space"); err != nil {
		return nil, err
	}
	if !space.Finite() || p.list.Hold(space.Encoded()) {
		return p, nil
	}
	list, err := p.learned.Candidates(ctx, space.Encoded(), workers)
	if err != nil {
		return nil, gp.Marked(ctx, err)
	}
	q := *p
	q.list = list
	return &q, nil
}

// otherParams is the error of a space with other parameters than those that something was learned for, nil for the same.
func otherParams(kind error, learned, is *Space, advice string) error {
	name, why := learned.Difference(is)
	if why == "" {
		return nil
	}
	e := space.Errorf(kind, "%s%s", why, advice)
	e.Name = name
	return e
}

// Tasks returns the tasks that the prior keeps: their points, with the parameters, and outputs to rounding, and their values
// as they were told. Tasks of failures alone come last, without their descriptors ([Task.Context]), of which a prior makes no
// use. Tasks hold no options: a Learn of them needs [WithMinimize] and others again. A [Learner] adds a task without that,
// and has them as they were added.
func (p *Prior) Tasks() []Task {
	if p.made() != nil {
		return nil
	}
	tasks := make([]Task, len(p.told))
	byID := make(map[string]int, len(tasks))
	for i, s := range p.told {
		t := Task{ID: s.id, Params: p.space.Params(), Y: slices.Clone(s.y), NoiseVariance: slices.Clone(s.noise),
			Curves: space.CloneCurves(s.curves), Context: maps.Clone(s.context)}
		for k := range points.Len(s.x) {
			row, _ := p.space.Decode(s.x.Row(k)) // points of the unit cube decode
			t.X = append(t.X, row)
		}
		tasks[i] = t
		byID[s.id] = i
	}
	if p.success != nil {
		for _, s := range p.success.Tasks() {
			i, ok := byID[s.ID]
			if !ok {
				i = len(tasks)
				tasks = append(tasks, Task{ID: s.ID, Params: p.space.Params()})
				byID[s.ID] = i
			}
			for k, z := range s.Z {
				if z == hierarchy.Failed {
					row, _ := p.space.Decode(s.X.Row(k))
					tasks[i].Failed = append(tasks[i].Failed, row)
				}
			}
		}
	}
	p.columns(tasks, byID)
	return tasks
}

// Space returns the parameters the prior was learned for, without candidates.
func (p *Prior) Space() *Space {
	if p == nil {
		return nil
	}
	return p.space
}

// Adopt returns a prior for a space whose parameters have changed: it brings [Prior.Tasks] to the space as
// [space.Space.Adopt] does and learns anew. The options are those p was learned with; those given here win. For some points
// of the same parameters start an optimiser over [space.Space.WithCandidates]. Adopt fails as Space.Adopt and Learn do.
func (p *Prior) Adopt(ctx context.Context, space *Space, changes Changes, opts ...LearnOption) (q *Prior, a *Adoption, err error) {
	q, err = called(ctx, p.made(), func() (*Prior, error) {
		tasks, report, err := space.Adopt(p.Tasks(), changes)
		if err != nil {
			return nil, err
		}
		a = report
		c := p.config.settled()
		if err := c.apply(opts); err != nil {
			return nil, err
		}
		return c.learn(ctx, space, tasks)
	})
	if err != nil {
		a = nil
	}
	return q, a, err
}
