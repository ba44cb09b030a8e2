package hierarchy

// table lists the hypotheses of a run. A share is that of the level's mass, among those of
// the level.
var table = []struct {
	level Level
	share float64
	make  func(m *Model, s *Settings, mass float64) []hypothesis
}{
	{NoTransfer, 1, noTransfers}, // a past that has nothing to do with the target must not hold it up
	{Population, 1, populations}, // what all tasks share is worth most before the first values
}

// hypotheses returns those of the table, with the prior masses of the settings.
func (m *Model) hypotheses(s *Settings) []hypothesis {
	var total [NumLevels]float64
	for _, t := range table {
		total[t.level] += t.share
	}
	var out []hypothesis
	for _, t := range table {
		for _, h := range t.make(m, s, s.Mass[t.level]*t.share/total[t.level]) {
			if h.about().prior > 0 {
				out = append(out, h)
			}
		}
	}
	return out
}
