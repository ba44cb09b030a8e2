package cmbo

import (
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
)

// WithIndexPoints sets the largest size of the index set, on which the prior learns its moments and
// keeps 24 I² bytes, 4 I² encoded; the default is 500. It is chosen among what past tasks have tried,
// and a space's list of candidates serves for that alone. See [Learn] for what a prior costs.
func WithIndexPoints(n int) LearnOption {
	return option{id: "WithIndexPoints", learn: gp.Setting(
		func(c *learnConfig) { c.indexPoints = n }, n >= 1, "an index set of %d points", n)}
}

// WithAblation changes settings of the default, in Learn and in the runs that use the prior, to measure what each is
// worth: by a name that [Ablations] lists, or by a field of Settings in cmbo/internal/hierarchy and its number, as in
// "Shrink=0.2" or "Besides=0.1:1". Others fail with [ErrOption]. A prior of changed settings cannot be encoded.
func WithAblation(names ...string) LearnOption {
	return option{id: "WithAblation", learn: func(c *learnConfig) error {
		trial := hierarchy.DefaultSettings(1)
		err := trial.Ablate(names...)
		c.ablations = slices.Clone(names)
		return refuseUnless(err == nil, "%v", err)
	}}
}

// Ablations returns the names of the changes that [WithAblation] makes, with what each does.
func Ablations() (names, what []string) {
	for _, a := range hierarchy.Ablations {
		names, what = append(names, a.Name), append(what, a.What)
	}
	return names, what
}
