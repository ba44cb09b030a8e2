package hierarchy

import (
	"slices"

	"github.com/gocmbo/cmbo/linalg"
)

// noTransfer is a process specific to the target alone: the lengths that the tasks have say
// little of a target that is unlike them.
type noTransfer struct {
	facts
	m                *Model
	factor, specific float64 // the latter is the process's variance
	of               int     // which of the processes of the run
}

// noTransfers gives the process the variance of what transfers with the largest process beside: of
// values that none of them follows, the hypothesis of the largest variance would have the mass.
//
// A past of which much is noise says nothing of a target that is unlike it, its noise neither: half of the
// mass is then on a process with little noise, whose variance is larger by as much. With a third to one
// half of noise pasts like the target bring as much with it, others cost less (problems as in TestFamilies).
func noTransfers(m *Model, s *Settings) []hypothesis {
	specific, noise := m.specificVariance(), m.grid.base.NoiseVariance
	factor := 1 + slices.Max(append([]float64{0}, s.Besides...))
	h := &noTransfer{facts{prior: s.NoTransferMass, tail: s.NoTransferTail}, m, factor, specific, 0}
	if s.OwnNoise == 0 || s.OwnNoise >= noise || m.NoiseShare() < 1./3 {
		return []hypothesis{h}
	}
	h.prior /= 2
	quiet := *h
	quiet.ownNoise, quiet.factor = s.OwnNoise, factor+(noise-s.OwnNoise)/specific
	return []hypothesis{h, &quiet}
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
	linalg.Axpy(dst, h.factor, c.specific[h.of])
}
