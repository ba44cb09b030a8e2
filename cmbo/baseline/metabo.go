package baseline

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// metaBO is MetaBO: mean and covariance of the target's prior are those of the past functions F_i, as a
// sample, and are conditioned without bias. See METHODS.md.
type metaBO struct {
	past          *past
	noiseVariance float64 // added to the diagonal of k(A, A)
	lists         memo[*features]
}

// noiseFloor keeps a covariance of observations definite where nothing varies.
const noiseFloor = 1e-10

// learnMetaBO prepares the past functions.
var learnMetaBO = fromTasks(config{method: "MetaBO", shape: kernel.Matern52, ard: true}, trainMetaBO)

func trainMetaBO(ctx context.Context, dim int, obs []observations, c *config) (*metaBO, error) {
	past, err := learnPast(ctx, dim, obs, c)
	if err != nil {
		return nil, err
	}
	m := &metaBO{past: past, noiseVariance: noiseFloor}
	for _, s := range m.past.sources {
		s.record()
	}
	if !sameInputs(m.past.sources) {
		var noise []float64
		for _, s := range m.past.sources {
			s.recorded = nil
			noise = append(noise, s.h.NoiseVariance)
		}
		m.noiseVariance = max(stat.Median(noise), noiseFloor)
	}
	return m, nil
}

// Surrogate returns the surrogate of one run; nothing in it is random.
func (m *metaBO) Surrogate(seed uint64) cmbo.Surrogate {
	f := &featurePrior{kept: kept[*features]{lists: &m.lists, compute: m.featuresAt}, scale: 1}
	prior := gp.Function(f)
	if s := m.past.sources[0]; len(m.past.sources) == 1 {
		prior = soleTask{gp.FromKernel{Kernel: s.h.Kernel}, s.post}
	}
	return &metaRun{newPriorRun(m.past.dim, seed, prior, m.noiseVariance), f, m}
}

// soleTask is the prior of a single task, whose kernel stands in for the covariance.
type soleTask struct {
	gp.FromKernel
	mean *gp.Process
}

func (s soleTask) Moments(ctx context.Context, mean, variance []float64, x *linalg.Dense) error {
	if err := s.FromKernel.Moments(ctx, nil, variance, x); err != nil {
		return err
	}
	return s.mean.Moments(ctx, mean, nil, x)
}

// featuresAt returns the mean of the past functions and, as features, their deviations from it over √(N−1).
func (m *metaBO) featuresAt(ctx context.Context, x *linalg.Dense) (*features, error) {
	f, err := m.past.meansAt(ctx, x)
	if err != nil {
		return nil, err
	}
	k, n := len(f), points.Len(x)
	out := &features{mean: make([]float64, n), phi: linalg.NewDense(n, k, nil)}
	for _, row := range f {
		linalg.Axpy(out.mean, 1/float64(k), row)
	}
	scale := 1 / math.Sqrt(float64(max(k-1, 1)))
	for i, row := range f {
		for j, v := range row {
			out.phi.Set(j, i, scale*(v-out.mean[j]))
		}
	}
	return out, nil
}

type metaRun struct {
	*priorRun
	*featurePrior
	m *metaBO
}

// Predict writes the posterior with the factor that makes its covariance unbiased.
func (r *metaRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.priorRun.Predict(ctx, mean, sd, x); err != nil {
		return err
	}
	n, t := len(r.m.past.sources), len(r.d.Y)
	factor := math.Sqrt(float64(max(n-1, 1)) / float64(max(n-t-1, 1))) // 1 for a single task
	for j := range sd {
		sd[j] *= factor
	}
	return nil
}

// sameInputs reports whether there are several sources, all recorded at the same points.
func sameInputs(sources []*source) bool {
	return len(sources) > 1 && !slices.ContainsFunc(sources, func(s *source) bool {
		return !maps.EqualFunc(s.recorded, sources[0].recorded, func(_, _ float64) bool { return true })
	})
}
