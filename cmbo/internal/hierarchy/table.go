package hierarchy

import "slices"

// table lists what makes the hypotheses of a run, with the prior masses of the settings.
var table = []func(m *Model, s *Settings) []hypothesis{
	noTransfers, // a past that has nothing to do with the target must not hold it up
	populations, // what all tasks share is worth most before the first values
}

// hypotheses returns those of the table that have a mass.
func (m *Model) hypotheses(s *Settings) (out []hypothesis) {
	for _, of := range table {
		out = append(out, of(m, s)...)
	}
	return slices.DeleteFunc(out, func(h hypothesis) bool { return h.about().prior == 0 })
}
