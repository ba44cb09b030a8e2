package hierarchy

import (
	"math"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// beside is a hypothesis with a small process of the target's own beside, with lengths
// that are likely of any function.
type beside struct {
	hypothesis
	kernel kernel.Kernel
}

// besideKernel returns the kernel of the process beside, nil if none is thought of.
func (m *Model) besideKernel(s *Settings) kernel.Kernel {
	if !(s.Beside > 0) {
		return nil
	}
	variance := s.BesideVariance * m.grid.gram.Trace() / float64(m.grid.len())
	return kernel.Scale(max(variance, math.SmallestNonzeroFloat64), s.BesideKernel)
}

// withBeside divides a mass between a hypothesis for each noise variance that is thought of
// and one with a process beside. That follows what the base process does not, so its noise
// is the whole.
func withBeside(m *Model, s *Settings, mass float64, h func(mass, noise float64) hypothesis) []hypothesis {
	out := noisy(s, (1-s.Beside)*mass, h)
	if s.Beside > 0 {
		out = append(out, &beside{h(s.Beside*mass, 1), m.besideKernel(s)})
	}
	return out
}

func (h *beside) variance(dst []float64, at *view) {
	h.hypothesis.variance(dst, at)
	v := h.kernel.Eval(at.x.Row(0), at.x.Row(0)) // the same everywhere
	for j := range dst {
		dst[j] += v
	}
}

func (h *beside) covariance(dst []float64, c *crossing) {
	h.hypothesis.covariance(dst, c)
	linalg.Axpy(dst, 1, c.beside)
}
