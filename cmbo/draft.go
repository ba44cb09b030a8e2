package cmbo

import (
	"context"
	"errors"

	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
)

// A draft is an optimiser with its own copy of the log. An Ask adds its events to the copy, while
// other calls read and extend the log itself. Only one who holds the model makes a draft.
type draft struct {
	*Optimizer
	h    *runlog.Log
	step *Step
}

// draft copies the log as it stands.
func (o *Optimizer) draft() *draft {
	o.mu.Lock()
	defer o.mu.Unlock()
	return &draft{Optimizer: o, h: o.h.Clone(), step: o.step}
}

// made reports an Optimizer that neither New nor Restore made.
func (o *Optimizer) made() error {
	return refuseUnless(o.modelLock != nil, "a zero Optimizer; use New or Restore")
}

// lockModel waits until no other call uses the model, or until ctx, which is the caller's
// code, is done. New makes the lock: none would be waited for for good.
func (o *Optimizer) lockModel(ctx context.Context) error {
	_, err := called(ctx, o.made(), func() (struct{}, error) {
		select {
		case o.modelLock <- struct{}{}:
			return struct{}{}, nil
		case <-ctx.Done():
			return struct{}{}, ctx.Err()
		}
	})
	return err
}

func (o *Optimizer) unlockModel() { <-o.modelLock }

// withModel returns what do returns, which has the model for itself, as guarded does. After a panic nobody knows what
// the model holds: it is made anew before it is used again, unless it is the caller's.
func withModel[T any](ctx context.Context, o *Optimizer, do func() (T, error)) (out T, err error) {
	if err := o.lockModel(ctx); err != nil {
		return out, err
	}
	defer o.unlockModel()
	if out, err = guarded(do); errors.As(err, new(*PanicError)) {
		o.stale = o.config.surrogate == nil
		o.forget()
	}
	return out, err
}

// holding is withModel of what returns an error alone.
func (o *Optimizer) holding(ctx context.Context, do func() error) error {
	_, err := withModel(ctx, o, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// withFitted is withModel once the model has learned the data of the log as it stands, without the pending points.
func withFitted[T any](ctx context.Context, o *Optimizer, do func(*draft, Data, *scaling.Values) (T, error)) (T, error) {
	return withModel(ctx, o, func() (out T, err error) {
		present := o.draft()
		d, scale := present.data(false)
		if err := o.fit(ctx, d); err != nil {
			return out, err
		}
		return do(present, d, &scale)
	})
}

// forget has all models but that of the objective made anew when they are needed.
func (o *Optimizer) forget() {
	o.past, o.judged, o.curves = nil, nil, curveUnit{}
	o.requirements, o.costs = []requirement{success: new(successRequirement)}, nil
	o.outputs = o.config.newOutputModels()
	for _, m := range o.outputs {
		if m.output.Limited() {
			o.requirements = append(o.requirements, m)
		}
		if m.output.Cost {
			o.costs = &costRequirement{m}
		}
	}
	if o.config.cost != nil {
		o.costs = &costRequirement{}
	}
	if o.costs != nil {
		o.requirements = append(o.requirements, o.costs)
	}
}
