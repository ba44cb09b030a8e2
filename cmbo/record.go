package cmbo

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
)

// A promise is the improvement that a model expected of an evaluation, and what came of it,
// in the user's units.
type promise struct{ expected, gained float64 }

// recordWindows are the numbers of evaluations, the last ones, by which a model's promises
// are judged, and the smaller judgement counts: nearer the end of a search gains shrink
// faster than what rough models expect, and few evaluations tell little.
var recordWindows = [...]int{4, 10}

// fewestExpected is, by the number of improvements seen, the least number of them that may
// have been expected: the mean of the Poisson distribution that has so many or more once in
// a hundred times. Once in twenty would let one run in ten see a forecast that is more than is
// left, nearly always after ten values, when few promises were made.
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

func (o *Optimizer) newHindsight() (*hindsight, error) {
	m := o.config.surrogate
	if m == nil {
		var err error
		if m, err = o.config.unbound(o.space); err != nil {
			return nil, err
		}
	}
	return &hindsight{model: consulted{m}, h: runlog.NewLog(o.space, o.config.outputs...), outputs: o.config.newOutputModels(), ofOutputs: make(map[string][]Forecast)}, nil
}

// record returns the model's promises of the last evaluations. The caller holds the model.
func (o *draft) record(ctx context.Context) ([]promise, error) {
	if o.judged == nil {
		var err error
		if o.judged, err = o.newHindsight(); err != nil {
			return nil, err
		}
	}
	past := o.judged
	left := len(o.h.Observations) - len(past.h.Observations)
	d := &draft{Optimizer: o.Optimizer, h: past.h}
	for _, e := range o.h.Events[len(past.h.Events):] {
		before := past.h.Best(o.config.minimize)
		told := e.Kind == runlog.EventTold || e.Kind == runlog.EventObserved
		if told {
			left--
		}
		if !told || before < 0 || left >= recordWindows[len(recordWindows)-1] {
			past.h.Apply(e)
			continue
		}
		data, scale := d.data(false)
		err := past.model.Fit(ctx, data)
		var b belief
		var ok bool
		if err == nil {
			b, ok, err = d.expect(ctx, past.model, data, scale, past.point(e))
		}
		if err != nil {
			return nil, fmt.Errorf("what was expected of value %d: %w", len(past.h.Observations)+1, err)
		}
		chance := 1.0 // that all limits hold
		for _, m := range past.outputs {
			if !m.output.Limited() {
				continue
			}
			g, err := m.factor(ctx, d, o.space.EncodeAll([][]float64{past.point(e)}), false)
			if err != nil {
				return nil, err
			}
			if g.p != nil {
				chance *= g.p[0]
			}
		}
		best := past.h.Observations[before].Y
		past.h.Apply(e)
		if ok {
			p := promise{expected: chance * o.config.expectedGain(b, best)}
			if past.h.Best(o.config.minimize) != before {
				p.gained = math.Abs(e.Y - best)
			}
			past.promises = append(past.promises, p)
		}
	}
	return past.promises, nil
}

// point returns the point of a value.
func (past *hindsight) point(e runlog.Event) []float64 {
	if e.Kind == runlog.EventTold {
		return past.h.Trials[e.Trial-1].X
	}
	return e.X
}

// expectedGain returns the expected improvement of a value over best, in the user's units.
func (c *runConfig) expectedGain(b belief, best float64) float64 {
	if !b.log {
		return acq.ExpectedImprovement(scaling.Orient(b.mean, c.minimize), b.sd, scaling.Orient(best, c.minimize))
	}
	return best * c.meanWorth(scaling.Orient(b.mean-math.Log(best), c.minimize), b.sd)
}
