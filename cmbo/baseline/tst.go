package baseline

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// learnTSTR learns TST-R: mean = (Σ_i w_i·μ_i + ¾·μ)/(Σ_i w_i + ¾) with w_i = ¾·(1 − (d_i/ρ)²) for
// discordances d_i < ρ, else 0; the deviation is that of the target's process. See METHODS.md.
var learnTSTR = ensemble(config{method: "TST-R", shape: kernel.SquaredExp, ard: true}, func(p *past, c *config, seed uint64) cmbo.Surrogate {
	r := &tstRun{newEnsembleRun(p, c, seed)}
	r.weigh = func(ctx context.Context) ([]float64, error) { return tstWeights(ctx, p, r.d, c.bandwidth) }
	return r
})

// tstRun is a [cmbo.Weigher].
type tstRun struct{ *ensembleRun }

func (r *tstRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	_, _, err := r.sum(ctx, mean, sd, x, nil) // pending points leave means alone
	return err
}

// tstWeight is the Epanechnikov kernel at distance 0.
const tstWeight = 0.75

// tstWeights returns the weights of the sources and of the target, normalised.
func tstWeights(ctx context.Context, p *past, d cmbo.Data, rho float64) ([]float64, error) {
	w := slices.Repeat([]float64{tstWeight}, len(p.sources)+1)
	if len(d.Y) >= 2 {
		means, err := p.meansAt(ctx, d.X)
		if err != nil {
			return nil, err
		}
		for i, mu := range means {
			t := discordance(mu, d.Raw) / rho
			w[i] = max(0, tstWeight*(1-t*t))
		}
	}
	stat.Normalise(w)
	return w, nil
}

// discordance returns the fraction of ordered pairs that a and b, at least two entries each, rank differently.
func discordance(a, b []float64) float64 {
	var pairs int
	for j := range a {
		for k := range a {
			if (a[j] < a[k]) != (b[j] < b[k]) {
				pairs++
			}
		}
	}
	return float64(pairs) / float64(len(a)*(len(a)-1))
}
