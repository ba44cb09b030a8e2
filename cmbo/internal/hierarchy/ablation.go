package hierarchy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/kernel"
)

// An Ablation is a change of the settings by which a mechanism, or a number of it, is defended
// or not.
type Ablation struct {
	Name, What string
	change     func(s *Settings)
}

// Ablations are the changes that there are.
var Ablations = []Ablation{
	{"no-hedge", "no other judge is asked", func(s *Settings) { s.Hedge = Hedge{} }},
	{"hedge-half", "another judge chooses every second point, whether the past is trusted or not",
		func(s *Settings) { s.Hedge.Trusted = s.Hedge.Doubted }},
	{"no-ties", "values equal to the best, however many, leave the past trusted", func(s *Settings) { s.Hedge.Ties = 0 }},
	{"no-own-process", "what transfers has no process of the target's own beside", func(s *Settings) { s.Besides = nil }},
	{"always-transfer", "no hypothesis of no transfer", func(s *Settings) { s.NoTransferMass = 0 }},
	{"no-first-transfer", "a first value in another unit than the past's counts without transfer, too", func(s *Settings) { s.FirstTransfers = false }},
	{"no-reversal", "large is never small", func(s *Settings) { s.Reversed = 0 }},
	{"no-compression", "low values, of past tasks and of a run, are as far apart as they were", func(s *Settings) { s.Compress = false }},
	{"free-lengths", "lengths of the base process are three times as free to differ from the template's", func(s *Settings) { s.LengthSD *= 3 }},
	{"held-lengths", "they are half as free", func(s *Settings) { s.LengthSD /= 2 }},
	{"half-shrinkage", "the population's covariance is drawn half to the base process's", func(s *Settings) { s.Shrink = 0.5 }},
	{"em-alone", "the population is what EM finds, however few the past tasks are", func(s *Settings) { s.PriorTasks = 0 }},
	{"rougher-kernel", "the processes' kernels are Matérn-1/2", func(s *Settings) { s.reshape(kernel.Matern12) }},
	{"smoother-kernel", "the processes' kernels are Matérn-5/2", func(s *Settings) { s.reshape(kernel.Matern52) }},
	{"far-offsets", "offsets unlike the past's are as likely with transfer as without",
		func(s *Settings) { s.TransferTail = s.NoTransferTail }},
}

// reshape gives the base process and that specific to a target another shape, with the lengths they have.
func (s *Settings) reshape(shape func(lengths ...float64) kernel.Stationary) {
	for _, k := range []*kernel.Kernel{&s.Kernel, &s.SpecificKernel} {
		params := (*k).AppendParams(nil)
		for i := range params {
			params[i] = math.Exp(params[i])
		}
		*k = kernel.Scale(params[0], shape(params[1:]...))
	}
}

// Ablate makes the named changes. It fails at a name that there is none of, with those that
// there are.
func (s *Settings) Ablate(names ...string) error {
	for _, name := range names {
		i := slices.IndexFunc(Ablations, func(a Ablation) bool { return a.Name == name })
		if i < 0 {
			var known []string
			for _, a := range Ablations {
				known = append(known, a.Name)
			}
			return fmt.Errorf("there is no ablation %q; there are %s", name, strings.Join(known, ", "))
		}
		Ablations[i].change(s)
	}
	return nil
}
