package hierarchy

// population is a draw of what all tasks have in common.
type population struct{ facts }

// populations divides a mass between the population and, where descriptors of the target say more,
// the population as they have it.
func populations(m *Model, s *Settings) []hypothesis {
	mass, moved := 1-s.NoTransferMass, 0.0
	if m.moved != nil {
		moved = mass * s.Moved
	}
	return append(withBeside(m, s, mass-moved, func(mass float64) hypothesis {
		return &population{facts{transfers: true, prior: mass, tail: s.TransferTail}}
	}), withBeside(m, s, moved, func(mass float64) hypothesis {
		return &movedPopulation{facts{transfers: true, prior: mass, tail: s.TransferTail, apart: true}, m}
	})...)
}

func (h *population) mean(dst []float64, at *located) { copy(dst, at.mean) }

func (h *population) variance(dst []float64, at *located) { copy(dst, at.variance) }

func (h *population) covariance(dst []float64, c *crossing) {
	for j := range dst {
		dst[j] = c.rest[j] + c.pop[j]
	}
}
