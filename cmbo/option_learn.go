package cmbo

import (
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
)

// WithIndexPoints sets the largest size of the index set, on which the prior learns its moments and
// keeps 24 I² bytes, 4 I² encoded; the default is 500. It is chosen among what past tasks have tried,
// and a space's list of candidates serves for that alone. See [Learn] for what a prior costs.
func WithIndexPoints(n int) LearnOption {
	return option{id: "WithIndexPoints", learn: func(c *learnConfig) error {
		c.indexPoints = n
		return refuseUnless(n >= 1, "an index set of %d points", n)
	}}
}

// WithAblation has the default learn, and its runs go on, with settings changed, to measure what
// each of them is worth: by a name that [Ablations] lists, or by a number, as in "Shrink=0.2" or
// "Besides=0.1:1", where the fields of Settings in internal/hierarchy say what there is. A prior of
// changed settings cannot be encoded.
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
