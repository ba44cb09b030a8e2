package cmbo

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/internal/names"
)

// Reason is why a point was proposed.
type Reason uint8

// The reasons.
const (
	ReasonScore    Reason = iota // its score was the largest of the candidates'
	ReasonDesign                 // it belongs to the initial design
	ReasonEnqueued               // it was enqueued
)

var reasonNames = [...]string{"largest score", "initial design", "enqueued"}

// String returns "largest score", "initial design" or "enqueued".
func (r Reason) String() string { return names.Of(reasonNames[:], int(r), "Reason") }

// MarshalText returns what String does, for JSON.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// An Explanation says how a trial came about.
type Explanation struct {
	Trial  Trial
	Reason Reason
	// Mean and SD are what the model expected of the noise-free objective at the point when it proposed it, in the
	// user's units. Trials that were open then count as evaluated, with the mean as the value, as they do for the
	// acquisition. NaN if there was no model yet, as before the first values of a run without a prior.
	Mean, SD float64
	// Quantiles are those of the noise-free objective at the point; NaN where Mean is.
	Quantiles Quantiles
	// Step is how the candidates were scored, as [Optimizer.LastStep] had it then: the point is candidate Step.Chosen.
	// It is the zero Step unless Reason is ReasonScore.
	Step Step
	// Transfer is what [Optimizer.Transfer] said then of the worth of the past.
	Transfer    Transfer
	acquisition string
	lognormal   bool
	proposable  int  // candidates that could be proposed
	larger      int  // those with a larger score than the point's, which another prior chose
	unpriced    bool // no cost was told: that of the past may be of other units
}

// String explains it in words.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: ", e.Trial)
	if e.Reason == ReasonScore && e.Step.Chosen < len(e.Step.Scores) {
		rank := "the largest"
		if e.larger > 0 {
			rank = fmt.Sprintf("chosen with another prior or build, and with this one behind %s by", names.Count(e.larger, "other"))
		}
		fmt.Fprintf(&b, "%s %s (score %s) of %s", rank, e.acquisition, number(e.Step.Scores[e.Step.Chosen], 4), names.Count(e.proposable, "candidate"))
		if p := e.Step.Success; p != nil && p[e.Step.Chosen] < 0.995 {
			fmt.Fprintf(&b, ", times a power of a probability of success of %.2f", p[e.Step.Chosen])
		}
		if c := e.Step.Cost; c != nil && e.unpriced {
			fmt.Fprintf(&b, ", over the expected cost to the power %.2f, whose unit is not known before the first is told", e.Step.CostPower)
		} else if c != nil {
			fmt.Fprintf(&b, ", over an expected cost of %s to the power %.2f", number(c[e.Step.Chosen], 4), e.Step.CostPower)
		}
		for _, name := range slices.Sorted(maps.Keys(e.Step.Holds)) {
			fmt.Fprintf(&b, ", %s within its limits with a probability of %.2f", name, e.Step.Holds[name][e.Step.Chosen])
		}
	} else {
		b.WriteString(e.Reason.String())
	}
	switch {
	case math.IsNaN(e.Mean):
	case e.Transfer.Values == 0: // whose scale the past alone tells
		b.WriteString("; expected " + number(e.Quantiles.Median, digits(e.Quantiles.Median, e.Quantiles.High-e.Quantiles.Low)))
	case e.lognormal:
		fmt.Fprintf(&b, "; expected %v", e.Quantiles)
	default:
		b.WriteString("; expected " + around(e.Mean, e.SD))
	}
	if e.Transfer.Hypotheses != nil {
		fmt.Fprintf(&b, "; %v", e.Transfer)
	}
	return b.String()
}

// Explain says how a trial came about, also after [Restore] and [RestoreJournal]: the model goes back to the log as
// it was and scores the candidates again, bit for bit as then in the same build; with another prior ([WithNewPrior])
// a candidate that was not proposed may have the largest score, and the point joins the candidates where it was none of
// them. It takes two or three times that of an Ask, and changes no proposal. It fails with [ErrUnknownTrial], with
// [ErrNumerical], or with ctx.Err().
func (o *Optimizer) Explain(ctx context.Context, trial int) (Explanation, error) {
	return withModel(ctx, o, func() (Explanation, error) {
		var x Explanation
		present := o.draft()
		past, e, err := present.beforeAsk(trial)
		if err != nil {
			return x, err
		}
		x = Explanation{Trial: o.trial(present.h, trial), Reason: past.reason(), lognormal: o.config.sense().Log}
		b := unknown
		d, scale := past.data(true)
		if x.Reason == ReasonScore {
			asked := func(r []float64) bool { return slices.Equal(r, e.X) }
			c, s, how, err := past.scored(ctx, trial, nil)
			if err == nil && !slices.ContainsFunc(c.rows, asked) { // it was drawn near the best candidate of another prior or build
				c, s, how, err = past.scored(ctx, trial, e.X)
			}
			if err != nil {
				return x, err
			}
			s.Chosen = slices.IndexFunc(c.rows, asked)
			spent, err := past.spent()
			if err != nil {
				return x, err
			}
			x.unpriced = spent == 0 && past.h.CostOutput() != nil
			x.Step, x.acquisition = s.clone(), how.name(o.config.acquisition)
			for _, r := range c.free {
				if !math.IsNaN(s.Scores[r]) {
					x.proposable++
				}
				if s.Scores[r] > s.Scores[s.Chosen] && (how.within == nil || how.within[r] >= affordable) {
					x.larger++
				}
			}
			if past.hasScale(d) {
				b = o.model.belief(&o.config, &scale, s.Mean[s.Chosen], s.SD[s.Chosen]*o.model.widening())
			}
		} else {
			if err := o.fit(ctx, d); err != nil {
				return x, err
			}
			if b, _, err = past.expect(ctx, o.model, d, scale, e.X); err != nil {
				return x, err
			}
		}
		x.Mean, x.SD = b.moments()
		x.Quantiles = b.quantiles()
		x.Transfer, err = past.transfer(ctx, d)
		return x, err
	})
}

// beforeAsk returns the log from which a trial was chosen, and the event.
func (o *draft) beforeAsk(trial int) (*draft, runlog.Event, error) {
	if err := checkTrial(o.h, trial); err != nil {
		return nil, runlog.Event{}, err
	}
	at := slices.IndexFunc(o.h.Events, func(e runlog.Event) bool { return e.Kind == runlog.EventAsked && e.Trial == trial })
	return &draft{Optimizer: o.Optimizer, h: o.h.Before(at)}, o.h.Events[at], nil
}

// reason says how the next point is chosen.
func (o *draft) reason() Reason {
	switch {
	case len(o.h.Queue) > 0:
		return ReasonEnqueued
	case o.h.Started() < o.config.initial:
		return ReasonDesign
	}
	return ReasonScore
}
