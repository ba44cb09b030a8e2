package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// metaBO is MetaBO: mean and covariance of the target's prior are those of the past functions F_i, as a
// sample, and are conditioned without bias. See METHODS.md.
type metaBO struct {
	past          *past
	shared        *sharedInputs // nil where tasks have points of their own
	noiseVariance float64       // added to the diagonal of k(A, A)
	lists         memo[*features]
}

// noiseFloor keeps a covariance of observations definite where nothing varies.
const noiseFloor = 1e-10

// learnMetaBO prepares the past functions. It fails with [cmbo.ErrNoTasks] and as
// learnRGPE does.
func learnMetaBO(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (*metaBO, error) {
	c, obs, err := begin(config{method: "MetaBO", shape: kernel.Matern52, ard: true}, space, tasks, opts)
	if err != nil {
		return nil, err
	}
	m := new(metaBO)
	if m.past, err = learnPast(ctx, space, obs, c); err != nil {
		return nil, err
	}
	if len(obs) > 1 {
		m.shared = shareInputs(obs)
	}
	m.noiseVariance = noiseFloor
	if m.shared == nil {
		var noise []float64
		for _, s := range m.past.sources {
			noise = append(noise, s.h.NoiseVariance)
		}
		m.noiseVariance = max(stat.Median(noise), noiseFloor)
	}
	return m, nil
}

// Surrogate returns the surrogate of one run; nothing in it is random.
func (m *metaBO) Surrogate(seed uint64) cmbo.Surrogate {
	r := &metaRun{m: m, featurePrior: featurePrior{scale: 1}}
	r.kept = kept[*features]{lists: &m.lists, compute: m.featuresAt}
	prior := gp.Function(&r.featurePrior)
	if s := m.past.sources[0]; len(m.past.sources) == 1 {
		prior = soleTask{gp.FromKernel{Kernel: s.h.Kernel}, s.post}
	}
	r.priorRun = *newPriorRun(m.past.dim, seed, prior, m.noiseVariance)
	return r
}

// soleTask is the prior of a single task, whose kernel stands in for the covariance.
type soleTask struct {
	gp.FromKernel
	mean *gp.Process
}

// Moments implements [gp.Function].
func (s soleTask) Moments(ctx context.Context, mean, variance []float64, x *linalg.Dense) error {
	if err := s.FromKernel.Moments(ctx, nil, variance, x); err != nil {
		return err
	}
	return s.mean.Moments(ctx, mean, nil, x)
}

// featuresAt returns the mean of the past functions and, as features, their deviations from it
// over √(N−1).
func (m *metaBO) featuresAt(ctx context.Context, x *linalg.Dense) (*features, error) {
	f, err := m.functionsAt(ctx, x)
	if err != nil {
		return nil, err
	}
	k, n := f.Dims()
	out := &features{mean: make([]float64, n), phi: linalg.NewDense(n, k, nil)}
	for i := range k {
		linalg.Axpy(out.mean, 1/float64(k), f.Row(i))
	}
	scale := 1 / math.Sqrt(float64(max(k-1, 1)))
	for i := range k {
		for j, v := range f.Row(i) {
			out.phi.Set(j, i, scale*(v-out.mean[j]))
		}
	}
	return out, nil
}

// functionsAt returns the K×n matrix of the past functions at the rows of x.
func (m *metaBO) functionsAt(ctx context.Context, x *linalg.Dense) (*linalg.Dense, error) {
	n := points.Len(x)
	dst := linalg.NewDense(len(m.past.sources), n, nil)
	row := make([]int, n)
	if m.shared != nil {
		for j := range row {
			var ok bool
			if row[j], ok = m.shared.row[points.Key(x.Row(j))]; !ok {
				row[j] = -1
			}
		}
	}
	return dst, parallel.For(ctx, m.past.workers, len(m.past.sources), func(_, i int) error {
		s := m.past.sources[i]
		if m.shared == nil {
			return sourceError(ctx, s.post.Moments(ctx, dst.Row(i), nil, x), s.id)
		}
		for j, r := range row {
			if r >= 0 {
				dst.Row(i)[j] = m.shared.values[i][r]
				continue
			}
			v := x.View(j, 0, 1, m.past.dim)
			if err := s.post.Moments(ctx, dst.Row(i)[j:j+1], nil, &v); err != nil {
				return sourceError(ctx, err, s.id)
			}
		}
		return nil
	})
}

type metaRun struct {
	priorRun
	featurePrior
	m *metaBO
}

// Predict writes the posterior with the factor that makes its covariance
// unbiased.
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

// sharedInputs holds the values of tasks that were all observed at the same points.
type sharedInputs struct {
	values [][]float64 // by task and point: the mean of the values there
	row    map[string]int
}

// shareInputs brings tasks to that form, nil if it is not theirs.
func shareInputs(tasks []observations) *sharedInputs {
	s := &sharedInputs{row: make(map[string]int)}
	for i := range tasks[0].z {
		key := points.Key(tasks[0].x.Row(i))
		if _, dup := s.row[key]; !dup {
			s.row[key] = len(s.row)
		}
	}
	for _, t := range tasks {
		v, count := make([]float64, len(s.row)), make([]float64, len(s.row))
		for i, z := range t.z {
			r, ok := s.row[points.Key(t.x.Row(i))]
			if !ok {
				return nil
			}
			v[r] += z
			count[r]++
		}
		if slices.Contains(count, 0) {
			return nil
		}
		for r := range v {
			v[r] /= count[r]
		}
		s.values = append(s.values, v)
	}
	return s
}
