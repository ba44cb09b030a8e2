package baseline

import "github.com/gocmbo/cmbo/cmbo"

// plainGP is Bayesian optimisation without transfer: a Gaussian process with zero
// mean on the target's observations alone, whose hyperparameters have the
// highest posterior density under [gaussian.DefaultPriors] for the first
// observations: all of them up to twenty, from there at growing distances, and to at
// most 200 of them.
//
// It is the model [cmbo.New] brings without a prior, and makes the same proposals for the same
// seed, but for those of a run with EI that does not improve (see [cmbo.Hedger]), with a Matérn-3/2 kernel of one length for
// all coordinates or of one for each, whichever has the larger evidence at each fit
// (Laplace's approximation). Being a surrogate it has no initial design of its own: see
// [cmbo.WithInitial].
//
// A fit takes some hundred evaluations of O(n³) for n observations, a prediction
// O(n² N) for N candidates.
//
// J. Snoek, H. Larochelle and R. P. Adams, Practical Bayesian optimization of
// machine learning algorithms, NeurIPS 2012.
type plainGP struct {
	c   *config
	dim int
}

// newPlainGP returns the method for a space. It fails with [cmbo.ErrSpace] or
// [cmbo.ErrOption].
func newPlainGP(space *cmbo.Space, opts ...Option) (*plainGP, error) {
	c, err := newConfig(config{method: "GP", either: true}, opts)
	if err != nil {
		return nil, err
	}
	if _, err := prepare(space, nil, c); err != nil {
		return nil, err
	}
	return &plainGP{c: c, dim: space.Dim()}, nil
}

// Surrogate returns the surrogate of one run.
func (m *plainGP) Surrogate(seed uint64) cmbo.Surrogate { return newTarget(m.dim, seed, m.c) }
