package hierarchy

// population is a draw of what all tasks have in common.
type population struct{ facts }

func populations(m *Model, s *Settings, mass float64) []hypothesis {
	return withBeside(m, s, mass, func(mass float64) hypothesis {
		return &population{facts{level: Population, prior: mass, tail: s.TransferTail}}
	})
}

func (h *population) mean(dst []float64, at *located) { copy(dst, at.mean) }

func (h *population) variance(dst []float64, at *located) { copy(dst, at.variance) }

func (h *population) covariance(dst []float64, c *crossing) {
	for j := range dst {
		dst[j] = c.rest[j] + c.pop[j]
	}
}
