package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// learnRandom makes random search, which draws each proposal uniformly among the candidates, without replacement where the
// run does not allow repetitions; in a parameter space among the run's pool for the step, whose local part
// [cmbo.WithCandidateCounts] turns off. It predicts mean and deviation of the values told, 0 and 1 before the first.
var learnRandom = alone(config{method: "Random"}, func(dim int, seed uint64, _ *config) cmbo.Surrogate {
	return &randomRun{run{dim: dim, seed: seed}}
})

type randomRun struct{ run }

func (r *randomRun) Fit(_ context.Context, d cmbo.Data) error {
	err := r.take(d)
	r.has = err == nil
	return err
}

func (r *randomRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.ready(ctx, x, mean, sd); err != nil {
		return err
	}
	m, v := stat.MeanVariance(r.d.Y)
	if len(r.d.Y) == 0 {
		v = 1
	}
	for i := range mean {
		mean[i], sd[i] = m, v
	}
	gp.Deviations(sd)
	return nil
}

// Score draws a number for each candidate, anew at each step.
func (r *randomRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, _ acq.Func, _ float64) error {
	if err := r.ready(ctx, x, dst); err != nil {
		return err
	}
	src := rng.Stream(r.seed, "baseline random", uint64(r.d.Step))
	for i := range dst {
		dst[i] = src.Float64()
	}
	return nil
}
