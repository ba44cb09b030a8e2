package hierarchy

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A hypothesis on what the target is like, before offset and scale: a Gaussian process, which is the sum of something of the
// past and of a factor times a process specific to the target. What a hypothesis costs is in covariance, which is called for
// each point told at each block of candidates; all else is called once.
type hypothesis struct {
	m        *Model
	past     past
	factor   float64 // of the process specific to the target, 0 without one
	process  int     // which of the run's processes that is
	prior    float64 // mass
	tail     float64 // share of offsets of a wider spread
	ownNoise float64 // variance of values that come without one, in units of the tasks' values; 0 for the run's
}

// A past is what a hypothesis takes over from past tasks.
type past uint8

const (
	nothing    past = iota // but the mean of the base process
	population             // a draw of what all tasks have in common
	shifted                // a draw of that as the descriptors of the target have it
)

func (h *hypothesis) transfers() bool { return h.past != nothing }

// hypotheses returns those of a run that have a mass, the ones without transfer first: a past that has nothing to do with the
// target must not hold it up.
func (m *Model) hypotheses(s *Settings) []*hypothesis {
	shift := 0.0
	if m.moved != nil {
		shift = (1 - s.NoTransferMass) * s.Moved
	}
	out := slices.Concat(m.apart(s), m.drawn(s, population, 1-s.NoTransferMass-shift), m.drawn(s, shifted, shift))
	return slices.DeleteFunc(out, func(h *hypothesis) bool { return h.prior == 0 })
}

// apart returns a process specific to the target alone: the lengths that the tasks have say little of a target that is unlike
// them. It has the variance of what transfers with the largest process beside: of values that none of them follows, the
// hypothesis of the largest variance would have the mass.
//
// A past of which much is noise says nothing of a target that is unlike it, its noise neither: half of the mass is then on a
// process with little noise, whose variance is larger by as much. With a third to one half of noise pasts like the target
// bring as much with it, others cost less (problems as in TestFamilies).
func (m *Model) apart(s *Settings) []*hypothesis {
	factor, noise := 1+slices.Max(append([]float64{0}, s.Besides...)), m.grid.base.NoiseVariance
	h := &hypothesis{m: m, factor: factor, prior: s.NoTransferMass, tail: s.NoTransferTail}
	if s.OwnNoise == 0 || s.OwnNoise >= noise || m.NoiseShare() < 1./3 {
		return []*hypothesis{h}
	}
	h.prior /= 2
	quiet := *h
	quiet.ownNoise, quiet.factor = s.OwnNoise, factor+(noise-s.OwnNoise)/m.specificVariance()
	return []*hypothesis{h, &quiet}
}

// drawn divides a mass evenly between draws of the past with each of the processes beside that are thought of. With one, no
// standard deviation vanishes where nothing was asked, however well the past foretold what was.
func (m *Model) drawn(s *Settings, of past, mass float64) []*hypothesis {
	besides := s.Besides
	if len(besides) == 0 {
		besides = []float64{0}
	}
	mass /= float64(len(besides))
	return each.Of(besides, func(factor float64) *hypothesis {
		return &hypothesis{m: m, past: of, factor: factor, prior: mass, tail: s.TransferTail}
	})
}

// specificVariance is the variance of the process that is specific to a target: about that of what the tasks share.
func (m *Model) specificVariance() float64 {
	return max(m.grid.gram.Trace()/float64(m.grid.len()), math.SmallestNonzeroFloat64)
}

// specificKernel returns the kernel of such a process, with lengths that are likely of any function.
func (m *Model) specificKernel(s *Settings) kernel.Kernel {
	return kernel.Scale(m.specificVariance(), s.SpecificKernel)
}

func (h *hypothesis) mean(dst []float64, at *located) {
	switch h.past {
	case nothing:
		for i := range dst {
			dst[i] = h.m.grid.base.Mean
		}
	case population:
		copy(dst, at.mean)
	case shifted:
		h.m.grid.meansTo(dst, at, h.m.moved.surface)
	}
}

func (h *hypothesis) variance(dst []float64, at *located) {
	switch h.past {
	case nothing:
		clear(dst)
	case population:
		copy(dst, at.variance)
	case shifted:
		for j, rest := range at.restVar {
			dst[j] = rest + h.m.moved.factor*(at.variance[j]-rest)
		}
	}
	specific := h.m.specificVariance()
	for j := range dst {
		dst[j] += h.factor * specific
	}
}

// covariance sets dst to the prior covariances of a crossing: from rest and pop of it their sum alone, unless it is of what
// descriptors make of the population, for which panels hold them apart.
func (h *hypothesis) covariance(dst []float64, c *crossing) {
	switch h.past {
	case nothing:
		clear(dst)
	case population:
		for j := range dst {
			dst[j] = c.rest[j] + c.pop[j]
		}
	case shifted:
		for j := range dst {
			dst[j] = c.rest[j] + h.m.moved.factor*c.pop[j]
		}
	}
	if h.factor > 0 {
		linalg.Axpy(dst, h.factor, c.specific[h.process])
	}
}
