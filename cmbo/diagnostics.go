package cmbo

import (
	"maps"
	"slices"

	"github.com/gocmbo/cmbo/internal/each"
)

// A Step says how the model chose a point. Values are in the scaled units of the run's y policy: see [WithYPolicy].
type Step struct {
	// Trial is the ID of the trial that was proposed.
	Trial int
	// Chosen is the row of Candidates, or of the space's list, that was proposed.
	Chosen int
	// Candidates are the points that were scored; nil for a finite space, where they are its list.
	Candidates [][]float64
	// Weights are those of [Optimizer.Weights] with a prior, with a surrogate those that a [Describer] fills in; nil
	// elsewhere.
	Weights []float64
	// Distances, MaxDistance, PriorMean, PriorSD and DistanceJitter are package cmbo/paper's, and zero with other
	// models. Distances are those of each prototype to the posterior of this step, which set the weights once this trial
	// is told; nil for a single prototype.
	Distances []float64
	// MaxDistance is the largest finite distance.
	MaxDistance float64
	// PriorMean and PriorSD describe the adaptive prior at the candidates.
	PriorMean, PriorSD []float64
	// Mean and SD describe the posterior at the candidates; open trials count as evaluated with the mean as the value.
	Mean, SD []float64
	// Success holds the probability that an evaluation succeeds, at the
	// candidates; nil as long as no failure is known, of the run or of past tasks.
	Success []float64
	// Holds has, for each output with a limit, the probability that the output holds its limits, at the candidates; an
	// output of which nothing is known yet is missing.
	Holds map[string][]float64
	// Cost is the expected cost of an evaluation at the candidates, and CostPower the power of it that scores are divided
	// by: see [AsCost]. Nil and 0 without a cost, or while nothing is known of it.
	Cost      []float64
	CostPower float64
	// Scores are what the acquisition ranks candidates by, those included that may not be proposed: logarithms for EI,
	// (mean − target)/sd for PI, means for the hierarchical prior before the first value. They include the probability
	// of success, the probabilities of the limits, each relative to its largest, and the power of the cost. They compare
	// within the step only.
	Scores []float64
	// Jitter is the amount added to the diagonal of the covariance of the observations, and DistanceJitter to that of the
	// posterior on the index set; 0 for none, and for the hierarchical prior, which does not count them.
	Jitter, DistanceJitter float64
	// Parameters are those of the plain Gaussian process, nil with a prior: its log-parameters, the logarithm of its
	// noise variance and, unless it is 0, the share of the way from the best value to the median down to which values
	// count in full, lower ones less, to which 2 is added where the kernel is Matérn-5/2.
	Parameters []float64
	// NoiseVariance is the one the model assumes of measurements, in scaled units; NaN if a surrogate does not say.
	NoiseVariance float64
	// Shift and Scale tie scaled values z to the user's values y: y = Shift + Scale·z, −y when minimising, and log y in
	// place of y where the model sees logarithms. For [Copula] they are a regression line.
	Shift, Scale float64
}

// LastStep returns a copy of how the newest proposal that was chosen by its score came about; Step.Trial is its
// trial. ok is false while there is none, as when only points of the initial design or enqueued ones were proposed.
func (o *Optimizer) LastStep() (s Step, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.step == nil {
		return Step{}, false
	}
	return o.step.clone(), true
}

// clone returns a copy that shares no memory with s.
func (s *Step) clone() Step {
	c := *s
	c.Candidates = cloneRows(s.Candidates)
	for _, p := range []*[]float64{&c.Weights, &c.Distances, &c.PriorMean, &c.PriorSD, &c.Mean, &c.SD, &c.Success,
		&c.Cost, &c.Scores, &c.Parameters} {
		*p = slices.Clone(*p)
	}
	c.Holds = maps.Clone(s.Holds)
	for name, p := range c.Holds {
		c.Holds[name] = slices.Clone(p)
	}
	return c
}

func cloneRows(rows [][]float64) [][]float64 { return each.Of(rows, slices.Clone[[]float64]) }
