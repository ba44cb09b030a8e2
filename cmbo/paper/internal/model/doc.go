// Package model holds the paper's model of a run, the adaptive prior over the
// prototypes of clusters. It sees points of the unit cube and scaled values only.
//
// [Learned] is what the first two stages of the paper's algorithm make of past
// tasks. A [View] is how its prototypes look from the points of one run, and
// [Weighted] weighs and combines them.
//
// Errors of the packages below come back wrapped with what was computed; the
// caller adds the sentinel.
package model

import (
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/space"
)

// newestState returns the state that came back with the newest proposal told that
// has one, in the order of asking, nil before the first. Points of the initial
// design and enqueued ones have none.
func newestState(d *space.Data) []float64 {
	newest, state := 0, []float64(nil)
	for i, t := range d.Trials {
		if t > newest && d.States[i] != nil {
			newest, state = t, d.States[i]
		}
	}
	return state
}

// Moments are means and standard deviations at some points.
type Moments struct{ Mean, SD []float64 }

// set takes means and variances.
func (m *Moments) set(mean, variance []float64) {
	m.Mean = append(m.Mean[:0], mean...)
	m.SD = append(m.SD[:0], variance...)
	gp.Deviations(m.SD)
}

// wrap says what was computed when err arose.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(slices.Clone(args), err)...)
}
