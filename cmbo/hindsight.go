package cmbo

import (
	"fmt"

	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
)

// hindsight is a model that goes through the log of a run once more.
type hindsight struct {
	model consulted
	h     *runlog.Log // as far as it went

	forecasts []Forecast
	outputs   []*outputModel
	ofOutputs map[string][]Forecast

	promises []promise
}

// relive takes *past, nil before the first time, through the events that it has not seen. It calls see for each that told a
// value, with its point and the outputs of the whole evaluation, and with the log before it. The caller holds the model.
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
