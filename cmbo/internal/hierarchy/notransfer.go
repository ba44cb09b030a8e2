package hierarchy

import (
	"slices"

	"github.com/gocmbo/cmbo/linalg"
)

// noTransfer is a process of the target's own alone: the lengths that the tasks have say
// little of a target that is unlike them.
type noTransfer struct {
	facts
	m           *Model
	factor, own float64 // own is the process's variance
}

// noTransfers gives the process the variance of what transfers with the largest process
// beside: of values that none of them follows, the hypothesis of the largest variance would
// have the mass.
func noTransfers(m *Model, s *Settings) []hypothesis {
	factor := 1 + slices.Max(append([]float64{0}, s.Besides...))
	return []hypothesis{&noTransfer{facts{prior: s.NoTransferMass, tail: s.NoTransferTail}, m, factor, m.ownVariance()}}
}

func (h *noTransfer) mean(dst []float64, at *located) {
	for i := range dst {
		dst[i] = h.m.grid.base.Mean
	}
}

func (h *noTransfer) variance(dst []float64, at *located) {
	for i := range dst {
		dst[i] = h.factor * h.own
	}
}

func (h *noTransfer) covariance(dst []float64, c *crossing) {
	clear(dst)
	linalg.Axpy(dst, h.factor, c.own)
}
