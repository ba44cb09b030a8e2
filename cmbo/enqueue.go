package cmbo

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
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
	if _, err := o.space.Place(x); err != nil {
		return err
	}
	_ = o.lockModel(context.Background()) // which never ends
	defer o.unlockModel()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.commit(runlog.Event{Kind: runlog.EventEnqueued, X: slices.Clone(x)})
}

// Enqueued returns the points that were enqueued and not proposed yet, in their
// order.
func (o *Optimizer) Enqueued() [][]float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([][]float64, len(o.h.Queue))
	for i, x := range o.h.Queue {
		out[i] = slices.Clone(x)
	}
	return out
}

// queuedPoint proposes the first point of the queue.
func (o *draft) queuedPoint(id int) (runlog.Event, error) {
	x := o.h.Queue[0]
	r, err := o.space.Place(x)
	return runlog.Event{Kind: runlog.EventAsked, Trial: id, Index: r, X: x}, err
}
