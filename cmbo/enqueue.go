package cmbo

import (
	"context"
	"fmt"
	"slices"
)

// Enqueue has a point evaluated before the model's own proposals, such as a
// configuration known to be good: the next Asks propose what is enqueued, in that
// order, whether or not it was proposed before, and count it towards the initial
// design. In a finite space the point must be a candidate. If the trial that comes
// of it is cancelled, it is not enqueued again.
//
// It fails, changing nothing, with [ErrDimension], [ErrNotFinite] or
// [ErrOutOfSpace], and waits for an Ask under way.
func (o *Optimizer) Enqueue(x []float64) error {
	if _, err := o.candidate(x); err != nil {
		return err
	}
	_ = o.lockModel(context.Background()) // which never ends
	defer o.unlockModel()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.commit(event{kind: eventEnqueued, x: slices.Clone(x)})
}

// Enqueued returns the points that were enqueued and not proposed yet, in their
// order.
func (o *Optimizer) Enqueued() [][]float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([][]float64, len(o.h.queue))
	for i, x := range o.h.queue {
		out[i] = slices.Clone(x)
	}
	return out
}

// candidate returns the row of a finite space that x is, or -1 in a parameter
// space.
func (o *Optimizer) candidate(x []float64) (int, error) {
	if err := o.space.Check(x); err != nil {
		return -1, err
	}
	if !o.space.Finite() {
		return -1, nil
	}
	r := slices.IndexFunc(o.space.Rows(), func(row []float64) bool { return slices.Equal(row, x) })
	if r < 0 {
		return -1, fmt.Errorf("%w: the point is none of the %d candidates", ErrOutOfSpace, len(o.space.Rows()))
	}
	return r, nil
}

// queuedPoint proposes the first point of the queue.
func (o *draft) queuedPoint(id int) (event, error) {
	x := o.h.queue[0]
	r, err := o.candidate(x)
	return event{kind: eventAsked, trial: id, index: r, x: x}, err
}
