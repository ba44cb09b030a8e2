package baseline

import "github.com/gocmbo/cmbo/cmbo"

// plainGP is a Gaussian process with zero mean on the target's observations alone, whose
// hyperparameters have the highest posterior density under [gaussian.DefaultPriors] for the
// first observations: all of them up to twenty, then at growing distances, at most 200.
//
// It is the model [cmbo.New] brings without a prior, and makes the same proposals for the same
// seed, but for those of a run with EI that does not improve (see [cmbo.Hedger]). Being a
// surrogate it has no initial design: see [cmbo.WithInitial]. A fit takes some hundred
// evaluations of O(n³), a prediction O(n² N) for N candidates.
//
// J. Snoek, H. Larochelle and R. P. Adams, Practical Bayesian optimization of machine learning
// algorithms, NeurIPS 2012.
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
