package cmbo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/space"
)

// Context describes a task by name, in numbers and choices: see [space.Context].
type Context = space.Context

// WithContext describes the new task as Task.Context does past tasks. If leaving past tasks out shows that tasks with
// similar descriptors are more alike ([Prior.Relation]), half of the population's mass starts near the tasks similar to the
// new one; otherwise the run is the same to the bit as without. Models of outputs do likewise; their offset and scale start
// from the level of values in similar tasks, if descriptors predict that level ([Transfer] says so).
//
// New fails with [ErrOption] for a value that is neither a number nor a choice, for a name that no past task has or that has
// the other kind there, and without a prior of the default. A choice that no past task has is one unlike theirs, and a number
// beyond theirs is taken for the nearest: [Transfer] says so of descriptors that are of use.
func WithContext(c Context) Option {
	return option{id: optContext, run: func(r *runConfig) (err error) {
		r.context, err = c.Normal()
		if e := new(DataError); errors.As(err, &e) { // which says ErrTask or ErrValue, and no task is at fault
			return optionErrorf("%s: %s", optContext, e.Reason)
		}
		return err
	}}
}

// A Relation says what descriptors of past tasks are worth.
type Relation struct {
	// Descriptors are the names of those that are of use, the most useful first; nil if none is.
	Descriptors []string
	// Lengths holds for each of Descriptors the difference at which the correlation of two tasks falls to 1/e. Numbers
	// differ by their ranks among the tasks', scaled to 0..1, different choices by 1.
	Lengths []float64
	// Rho is the share of the tasks' deviations from what all have in common that follows their descriptors.
	Rho float64
	// Gain is the share of a task's squared deviation that the other tasks predict by the descriptors, when it is left out:
	// of the deviation from what they predict without.
	Gain float64
}

// String says it in words, such as "height and category tell tasks apart: 31 % of a task's
// squared deviation follows from the tasks like it".
func (r Relation) String() string {
	if len(r.Descriptors) == 0 {
		return "no descriptor is shown to be of use"
	}
	verb := " tells"
	if len(r.Descriptors) > 1 {
		verb = " tell"
	}
	return fmt.Sprintf("%s%s tasks apart: %.0f %% of a task's squared deviation follows from the tasks like it",
		strings.Join(r.Descriptors, " and "), verb, 100*r.Gain)
}

// Relation returns what the descriptors of the prior's tasks are worth: zero if there are none, or if leaving tasks out
// does not show that they are of use. It is worked out once, of at most 200 tasks K and 2,000 observations n of each, on
// I points of the index set, in O(K (n³ + n I) + K³) time. It fails with [ErrNumerical] or ctx.Err().
func (p *Prior) Relation(ctx context.Context) (Relation, error) {
	return called(ctx, p.made(), func() (Relation, error) {
		l, err := p.learned.Likeness(ctx, 0)
		return relationOf(l), gp.Marked(ctx, err)
	})
}

// relationOf returns what descriptors are worth, nil standing for nothing.
func relationOf(l *hierarchy.Likeness) Relation {
	if l == nil {
		return Relation{}
	}
	return Relation{l.Names, l.Lengths, l.Rho, l.Gain}
}
