package hierarchy

import (
	"slices"

	"github.com/gocmbo/cmbo/linalg"
)

// noTransfer is the process specific to the target alone: the lengths that the tasks have say
// little of a target that is unlike them.
type noTransfer struct {
	facts
	m                *Model
	factor, specific float64 // the latter is the process's variance
}

// noTransfers gives the process the variance of what transfers with the largest process beside: of
// values that none of them follows, the hypothesis of the largest variance would have the mass.
func noTransfers(m *Model, s *Settings) []hypothesis {
	factor := 1 + slices.Max(append([]float64{0}, s.Besides...))
	return []hypothesis{&noTransfer{facts{prior: s.NoTransferMass, tail: s.NoTransferTail}, m, factor, m.specificVariance()}}
}

func (h *noTransfer) mean(dst []float64, at *located) {
	for i := range dst {
		dst[i] = h.m.grid.base.Mean
	}
}

func (h *noTransfer) variance(dst []float64, at *located) {
	for i := range dst {
		dst[i] = h.factor * h.specific
	}
}

func (h *noTransfer) covariance(dst []float64, c *crossing) {
	clear(dst)
	linalg.Axpy(dst, h.factor, c.specific)
}
