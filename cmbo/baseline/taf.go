package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// byRanks makes TAF the variant TAF-R of the paper, with the weights of TST-R in the place of those of RGPE.
func byRanks(c *config) error { c.byRanks = true; return nil }

// learnTAF learns TAF, a(x) = (w_t·EI(x) + Σ_i w_i·I_i(x))/(w_t + Σ_i w_i), I_i being by how much μ_i
// rises above its maximum over the points evaluated. See METHODS.md.
var learnTAF = ensemble(config{method: "TAF", shape: kernel.SquaredExp, ard: true}, newTAFRun)

// newTAFRun returns a [cmbo.Weigher] and a [cmbo.Scorer].
func newTAFRun(p *past, c *config, seed uint64) cmbo.Surrogate {
	r := &tafRun{ensembleRun: newEnsembleRun(p, c, seed)}
	weigh := func(ctx context.Context) ([]float64, error) { return tstWeights(ctx, p, r.d, c.bandwidth) }
	if !c.byRanks {
		weigh, r.least = newRanker(p, c, seed).weigher(r.target), 0.5/float64(c.samples)
	}
	r.weigh = func(ctx context.Context) ([]float64, error) {
		w, err := weigh(ctx)
		if err == nil {
			err = r.incumbents(ctx)
		}
		return w, err
	}
	return r
}

type tafRun struct {
	*ensembleRun
	best  []float64 // by source: the largest mean at points evaluated
	own   float64   // the same of the target's process
	least float64   // what that weighs at least: see METHODS.md
}

// incumbents finds the best means at the points evaluated and pending.
func (r *tafRun) incumbents(ctx context.Context) error {
	x := points.Join(r.d.X, r.d.Pending)
	n := points.Len(x)
	r.best, r.own = make([]float64, len(r.past.sources)), 0
	if n == 0 {
		return nil
	}
	means, err := r.meansAt(ctx, x)
	if err != nil {
		return err
	}
	for i, mu := range means {
		r.best[i] = r.top(mu)
	}
	own := make([]float64, n)
	if err := r.full.Moments(ctx, own, nil, x); err != nil {
		return err
	}
	r.own = r.top(own)
	return nil
}

// Score writes the logarithm of the acquisition.
func (r *tafRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, _ acq.Func, _ float64) error {
	mean, sd, gain := make([]float64, len(dst)), make([]float64, len(dst)), make([]float64, len(dst))
	if err := r.Predict(ctx, mean, sd, x); err != nil {
		return err
	}
	active := weighted(r.w[:len(r.w)-1])
	s, err := r.look(ctx, x, nil, active)
	if err != nil {
		return err
	}
	for _, i := range active {
		for j, mu := range s.mean[i] {
			gain[j] += r.w[i] * max(mu-r.best[i], 0)
		}
	}
	logOwn := math.Log(max(r.w[len(r.w)-1], r.least))
	for j := range dst {
		dst[j] = special.LogAddExp(logOwn+acq.LogExpectedImprovement(mean[j], sd[j], r.own), math.Log(gain[j]))
	}
	return nil
}
