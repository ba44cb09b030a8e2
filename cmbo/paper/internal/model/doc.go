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
)

// wrap says what was computed when err arose.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(slices.Clone(args), err)...)
}
