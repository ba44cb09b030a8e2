package hierarchy

import (
	"math"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// ownVariance is the variance of a process that is the target's own alone: about that of what
// the tasks share.
func (m *Model) ownVariance() float64 {
	return max(m.grid.gram.Trace()/float64(m.grid.len()), math.SmallestNonzeroFloat64)
}

// ownKernel returns the kernel of such a process, with lengths that are likely of any function.
func (m *Model) ownKernel(s *Settings) kernel.Kernel {
	return kernel.Scale(m.ownVariance(), s.OwnKernel)
}

// beside is a hypothesis with a process of the target's own beside, times a factor.
type beside struct {
	hypothesis
	factor, own float64 // own is the process's variance
}

// withBeside divides a mass evenly between a hypothesis with each of the processes beside that
// are thought of. With one, no standard deviation vanishes where nothing was asked, however
// well the past foretold what was.
func withBeside(m *Model, s *Settings, mass float64, h func(mass float64) hypothesis) []hypothesis {
	if len(s.Besides) == 0 {
		return []hypothesis{h(mass)}
	}
	var out []hypothesis
	for _, factor := range s.Besides {
		out = append(out, &beside{h(mass / float64(len(s.Besides))), factor, m.ownVariance()})
	}
	return out
}

func (h *beside) variance(dst []float64, at *located) {
	h.hypothesis.variance(dst, at)
	for j := range dst {
		dst[j] += h.factor * h.own
	}
}

func (h *beside) covariance(dst []float64, c *crossing) {
	h.hypothesis.covariance(dst, c)
	linalg.Axpy(dst, h.factor, c.own)
}
