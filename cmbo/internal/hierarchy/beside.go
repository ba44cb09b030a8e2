package hierarchy

import (
	"math"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// specificVariance is the variance of the process that is specific to a target: about that of what the tasks share.
func (m *Model) specificVariance() float64 {
	return max(m.grid.gram.Trace()/float64(m.grid.len()), math.SmallestNonzeroFloat64)
}

// specificKernel returns the kernel of such a process, with lengths that are likely of any function.
func (m *Model) specificKernel(s *Settings) kernel.Kernel {
	return kernel.Scale(m.specificVariance(), s.SpecificKernel)
}

// beside is a hypothesis with the process specific to the target beside, times a factor.
type beside struct {
	hypothesis
	factor, specific float64 // the latter is the process's variance
}

// withBeside divides a mass evenly between a hypothesis with each of the processes beside that are thought of. With
// one, no standard deviation vanishes where nothing was asked, however well the past foretold what was.
func withBeside(m *Model, s *Settings, mass float64, h func(mass float64) hypothesis) []hypothesis {
	if len(s.Besides) == 0 {
		return []hypothesis{h(mass)}
	}
	var out []hypothesis
	for _, factor := range s.Besides {
		out = append(out, &beside{h(mass / float64(len(s.Besides))), factor, m.specificVariance()})
	}
	return out
}

func (h *beside) variance(dst []float64, at *located) {
	h.hypothesis.variance(dst, at)
	for j := range dst {
		dst[j] += h.factor * h.specific
	}
}

func (h *beside) covariance(dst []float64, c *crossing) {
	h.hypothesis.covariance(dst, c)
	linalg.Axpy(dst, h.factor, c.specific[0])
}
