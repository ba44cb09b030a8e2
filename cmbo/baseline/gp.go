package baseline

import "github.com/gocmbo/cmbo/cmbo"

// learnPlainGP makes GP: a Gaussian process with zero mean on the target's observations alone,
// whose hyperparameters have the highest posterior density under [gaussian.DefaultPriors] for
// the first observations: all of them up to twenty, then at growing distances, at most 200.
//
// It is the model [cmbo.New] brings without a prior, and makes the same proposals for the same
// seed, but for those of a run with EI that does not improve (see [cmbo.Hedger]). Being a
// surrogate it has no initial design: see [cmbo.WithInitial]. A fit takes some hundred
// evaluations of O(n³), a prediction O(n² N) for N candidates.
//
// J. Snoek, H. Larochelle and R. P. Adams, Practical Bayesian optimization of machine learning
// algorithms, NeurIPS 2012.
var learnPlainGP = alone(config{method: "GP", either: true}, func(dim int, seed uint64, c *config) cmbo.Surrogate {
	return newTarget(dim, seed, c)
})
