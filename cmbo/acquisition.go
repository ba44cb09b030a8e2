package cmbo

import "github.com/gocmbo/cmbo/cmbo/acq"

// UCB is the upper confidence bound mean + beta·sd. beta multiplies the standard deviation itself,
// not its square root; the paper uses 3. beta must be finite and not negative.
func UCB(beta float64) acq.Func { return acq.UCB{Beta: beta} }

// EI is the expected improvement over the best value told so far, compared through its logarithm. Before the first value it
// is that over the scaled value 0, where the hierarchical prior asks for the largest mean: see [WithAcquisition].
func EI() acq.Func { return acq.AdaptiveEI }

// PI is the probability that a point beats the best value told by a tenth of the range of the values told, or by 0.1 in
// scaled units while fewer than two distinct values are known. Before the first value it has to beat the scaled value 0.
func PI() acq.Func { return acq.AdaptivePI }

// MaxValuePI is the probability of improvement over the model's estimate of the maximum ([MaxValueEstimator]), never
// below the best value told, and [PI] if it has none. The paper's prior estimates it by the weighted sum of the
// prototypes' largest means on the candidates, or on the index set for a parameter space.
func MaxValuePI() acq.Func { return acq.MaxValuePI }

// Thompson is Thompson sampling. The model has to be a [Sampler], as that of a run without a prior and those of
// package paper are; with another, such as the hierarchical prior, New fails with [ErrOption].
func Thompson() acq.Func { return acq.Thompson }

// ParseAcquisition returns the acquisition of a name, letter case ignored, as [acq.Parse] does: "UCB" (with beta 3),
// "UCB(beta)", "EI", "PI", "MaxValuePI", "Thompson", or a name given to [acq.Register]. It fails with [ErrOption].
func ParseAcquisition(name string) (acq.Func, error) {
	f, err := acq.Parse(name)
	return f, refuseUnless(err == nil, "%v", err)
}

// scoreMoments scores points of these means and deviations; dst may be mean.
func scoreMoments(dst, mean, sd []float64, f acq.Func) {
	for i, m := range mean {
		dst[i] = f.Score(m, sd[i])
	}
}
