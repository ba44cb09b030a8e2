package baseline

import "github.com/gocmbo/cmbo/cmbo"

// learnPlainGP makes GP, the model that [cmbo.New] brings without a prior. See METHODS.md.
var learnPlainGP = alone(config{method: "GP", either: true}, func(dim int, seed uint64, c *config) cmbo.Surrogate {
	return newTarget(dim, seed, c)
})
