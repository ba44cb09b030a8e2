package hierarchy

// group is a draw of learned moments: of the population, or of a cluster.
type group struct {
	facts
	set int // see Model.Moments
}

func newGroup(s *Settings, level Level, cluster, set int, mass float64) *group {
	return &group{facts{level: level, cluster: cluster, prior: mass, tail: s.TransferTail, moments: []int{set}}, set}
}

func populations(m *Model, s *Settings, mass float64) []hypothesis {
	return withBeside(m, s, mass, func(mass float64) hypothesis { return newGroup(s, Population, -1, 0, mass) })
}

func (h *group) mean(dst []float64, at *located) { copy(dst, at.mean[h.set]) }

func (h *group) variance(dst []float64, at *view) { copy(dst, at.variance[h.set]) }

func (h *group) covariance(dst []float64, c *crossing) {
	on := c.moments[h.set]
	for j := range dst {
		dst[j] = c.rest[j] + on[j]
	}
}
