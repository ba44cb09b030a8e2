package hierarchy

// clusters are draws of each cluster's moments, with masses as they have tasks.
func clusters(m *Model, s *Settings, mass float64) []hypothesis {
	var out []hypothesis
	for c := range m.clusters {
		out = append(out, withBeside(m, s, mass*m.shares[c], func(mass float64) hypothesis {
			return newGroup(s, Cluster, c, 1+c, mass)
		})...)
	}
	return out
}
