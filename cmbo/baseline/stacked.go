package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// stackedGP is StackedGP: each task has a process on the residuals of the means of those before, the
// target's is on top; deviations are weighted geometric means of two levels. See METHODS.md.
type stackedGP struct {
	c      *config
	dim    int
	levels []*source
	lists  memo[*pointMoments]
}

// pointMoments are means and deviations at a list of points.
type pointMoments struct{ mean, sd []float64 }

// learnStackedGP fits the levels below the target's.
var learnStackedGP = fromTasks(config{method: "StackedGP", optional: true, shape: kernel.Matern52, ard: true},
	trainStackedGP)

func trainStackedGP(ctx context.Context, dim int, obs []observations, c *config) (*stackedGP, error) {
	m := &stackedGP{c: c, dim: dim}
	template := c.template(m.dim)
	var f gp.Fitter
	for _, o := range obs {
		if err := m.subtract(ctx, o.Z, o.X); err != nil {
			return nil, err
		}
		s, err := newSource(ctx, &f, template, o, rng.Stream(c.seed, "baseline source: "+o.ID).Uint64())
		if err != nil {
			return nil, err
		}
		m.levels = append(m.levels, s)
	}
	return m, nil
}

// subtract takes the stack's mean at the rows of x off z.
func (m *stackedGP) subtract(ctx context.Context, z []float64, x *linalg.Dense) error {
	mu := make([]float64, len(z))
	for _, s := range m.levels {
		if err := s.post.Moments(ctx, mu, nil, x); err != nil {
			return sourceError(ctx, err, s.ID)
		}
		linalg.Axpy(z, -1, mu)
	}
	return ctx.Err()
}

// at returns the moments of the stack at the rows of x.
func (m *stackedGP) at(ctx context.Context, x *linalg.Dense) (*pointMoments, error) {
	n := points.Len(x)
	out := &pointMoments{mean: make([]float64, n), sd: make([]float64, n)}
	mu, sd := make([]float64, n), make([]float64, n)
	for i, s := range m.levels {
		if err := s.post.Moments(ctx, mu, sd, x); err != nil {
			return nil, sourceError(ctx, err, s.ID)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		gp.Deviations(sd)
		linalg.Axpy(out.mean, 1, mu)
		if i == 0 {
			copy(out.sd, sd)
			continue
		}
		geometricMean(out.sd, sd, out.sd, m.share(len(s.Z), len(m.levels[i-1].Z)))
	}
	return out, nil
}

// share returns α for a level of n observations above one of base.
func (m *stackedGP) share(n, base int) float64 {
	p := float64(m.c.template(m.dim).NumParams() + 1)
	dof := func(n int) float64 { return max(float64(n)-p, float64(n)/(1+p)) }
	b := dof(n) / dof(base) * (2 + dof(base))
	return b / (1 + b)
}

// geometricMean sets dst to top^a·base^(1−a), entry by entry.
func geometricMean(dst, top, base []float64, a float64) {
	for j, t := range top {
		dst[j] = math.Pow(t, a) * math.Pow(base[j], 1-a)
	}
}

func (m *stackedGP) Surrogate(seed uint64) cmbo.Surrogate {
	r := &stackedRun{target: newTarget(m.dim, seed, m.c), m: m, kept: kept[*pointMoments]{lists: &m.lists, compute: m.at}}
	r.adjust = m.subtract
	return r
}

type stackedRun struct {
	*target
	kept[*pointMoments] // of the levels below
	m                   *stackedGP
}

func (r *stackedRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.target.Predict(ctx, mean, sd, x); err != nil || len(r.m.levels) == 0 {
		return err
	}
	base, err := r.of(ctx, x)
	if err != nil {
		return err
	}
	linalg.Axpy(mean, 1, base.mean)
	geometricMean(sd, sd, base.sd, r.m.share(len(r.d.Y), len(r.m.levels[len(r.m.levels)-1].Z)))
	return nil
}
