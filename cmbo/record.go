package cmbo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
)

// A promise is the improvement that a model expected of an evaluation, and what came of it, in the user's units.
type promise struct{ expected, gained float64 }

// recordWindows are the numbers of evaluations, the last ones, by which a model's promises
// are judged, and the smaller judgement counts: nearer the end of a search gains shrink
// faster than what rough models expect, and few evaluations tell little.
var recordWindows = [...]int{4, 10}

// fewestExpected is, by the number of improvements seen, the least number of them that may have been expected: the mean
// of the Poisson distribution that has so many or more once in a hundred times. Once in twenty would let one run in ten
// see a forecast that is more than is left, nearly always after ten values, when few promises were made.
var fewestExpected = [...]float64{0, 0.0101, 0.1486, 0.4360, 0.8232, 1.2791, 1.7853, 2.3302, 2.9061, 3.5075, 4.1302}

// kept returns the share of what was promised that may be relied on: what was gained over
// what was expected, at the lower limit that the number of improvements leaves, and at most
// 1. NaN if nothing was promised yet.
func kept(promises []promise) float64 {
	if len(promises) == 0 {
		return math.NaN()
	}
	share := 1.0
	for _, n := range recordWindows {
		improvements := 0
		var expected, gained float64
		for _, p := range promises[max(len(promises)-n, 0):] {
			expected, gained = expected+p.expected, gained+p.gained
			if p.gained > 0 {
				improvements++
			}
		}
		if improvements == 0 {
			return 0
		}
		share = min(share, gained/expected*fewestExpected[improvements]/float64(improvements))
	}
	return share
}

// hindsight is a model that goes through the log of a run once more.
type hindsight struct {
	model consulted
	h     *runlog.Log // as far as it went

	forecasts []Forecast
	outputs   []*outputModel
	ofOutputs map[string][]Forecast

	promises []promise
}

// relive takes *past, nil before the first time, through the events that it has not seen. It calls see for each that
// told a value, with its point and the outputs of the whole evaluation, and with the log before it. The caller holds
// the model.
func (o *draft) relive(past **hindsight, see func(past *hindsight, before *draft, e runlog.Event) error) (*hindsight, error) {
	if *past == nil {
		m, err := o.config.model(o.space, o.points != nil, false)
		if err != nil {
			return nil, err
		}
		outputs := o.config.newOutputModels()
		for i := range outputs {
			outputs[i].ofRun = o.outputs[i]
		}
		*past = &hindsight{model: consulted{m}, h: runlog.NewLog(o.space, o.config.outputs...),
			outputs: outputs, ofOutputs: make(map[string][]Forecast)}
	}
	p := *past
	before := &draft{Optimizer: o.Optimizer, h: p.h}
	for _, e := range o.h.Events[len(p.h.Events):] {
		if e.Kind == runlog.EventTold || e.Kind == runlog.EventObserved {
			told := e
			if e.Kind == runlog.EventTold {
				told.X, told.Outputs = p.h.Trials[e.Trial-1].X, p.h.Whole(e.Trial, e.Outputs)
			}
			if err := see(p, before, told); err != nil {
				return nil, fmt.Errorf("forecast of value %d: %w", len(p.h.Observations)+1, err)
			}
		}
		p.h.Apply(e)
	}
	return p, nil
}

// record returns the model's promises of the last evaluations. The caller holds the model.
func (o *draft) record(ctx context.Context) ([]promise, error) {
	past, err := o.relive(&o.judged, func(past *hindsight, before *draft, e runlog.Event) error {
		at := before.h.Best(o.config.minimize)
		if at < 0 || len(o.h.Observations)-len(before.h.Observations) > recordWindows[len(recordWindows)-1] {
			return nil
		}
		d, scale := before.data(false)
		if !before.hasScale(d) {
			return nil
		}
		gain, err := before.gain(ctx, past.model, d, &scale, e.X)
		if err != nil {
			return err
		}
		chance := 1.0 // that all limits hold
		for _, m := range past.outputs {
			if !m.output.Limited() {
				continue
			}
			g, err := m.factor(ctx, before, false)(o.space.EncodeAll([][]float64{e.X}))
			if err != nil {
				return err
			}
			if g.p != nil {
				chance *= g.p[0]
			}
		}
		best := before.h.Observations[at].Y
		p := promise{expected: chance * gain}
		c := &o.config
		if runlog.Hold(c.outputs, e.Outputs) && scaling.Orient(e.Y, c.minimize) > scaling.Orient(best, c.minimize) {
			p.gained = math.Abs(e.Y - best)
		}
		past.promises = append(past.promises, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return past.promises, nil
}

// gain returns the expected improvement of the value at x, in the user's units, that Outlook expects there.
func (o *draft) gain(ctx context.Context, m consulted, d Data, scale *scaling.Values, x []float64) (float64, error) {
	if err := m.Fit(ctx, d); err != nil {
		return 0, err
	}
	at := o.space.EncodeAll([][]float64{x})
	mean, sd, err := m.believed(ctx, at)
	if err != nil {
		return 0, err
	}
	told, err := m.told(ctx, d)
	if err != nil {
		return 0, err
	}
	out := []float64{0}
	err = o.improvement(ctx, m, out, mean, sd, at, scale, slices.Max(among(told, o.feasible())))
	return out[0], err
}
