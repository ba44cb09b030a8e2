package hierarchy

// noTransfer is a draw of the base process.
type noTransfer struct {
	facts
	m *Model
}

func noTransfers(m *Model, s *Settings, mass float64) []hypothesis {
	return withBeside(m, s, mass, func(mass, noise float64) hypothesis {
		return &noTransfer{facts{level: NoTransfer, cluster: -1, prior: mass, noise: noise, tail: s.NoTransferTail}, m}
	})
}

func (h *noTransfer) mean(dst []float64, at *located) {
	for i := range dst {
		dst[i] = h.m.grid.base.Mean
	}
}

func (h *noTransfer) variance(dst []float64, at *view) { copy(dst, at.base) }

func (h *noTransfer) covariance(dst []float64, c *crossing) { copy(dst, c.base) }
