package baseline

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// portfolio is Portfolio: points are asked in the order in which they lower the past tasks' regret most,
// x_n = argmax over x of Σ_i max(b_i, f_i(x)), b_i = max over k < n of f_i(x_k). See METHODS.md.
type portfolio struct {
	*past
	grid  *linalg.Dense
	lists memo[*outcomes]
}

// outcomes are what the tasks would have brought at a list of points.
type outcomes struct {
	f      [][]float64 // by task and point, scaled
	lo, hi []float64   // ranges that scaled them
}

// learnPortfolio fits a process to each task.
var learnPortfolio = fromTasks(config{method: "Portfolio", ard: true}, trainPortfolio)

func trainPortfolio(ctx context.Context, dim int, obs []observations, c *config) (*portfolio, error) {
	past, err := learnPast(ctx, dim, obs, c)
	if err != nil {
		return nil, err
	}
	m := &portfolio{past: past, grid: gridOf(obs, c)}
	for _, s := range m.sources {
		s.record()
	}
	return m, nil
}

// outcomesAt returns the scaled values at x and the ranges over x.
func (m *portfolio) outcomesAt(ctx context.Context, x *linalg.Dense) (*outcomes, error) {
	f, err := m.meansAt(ctx, x)
	if err != nil {
		return nil, err
	}
	o := &outcomes{f: f}
	for _, v := range f {
		o.lo, o.hi = append(o.lo, slices.Min(v)), append(o.hi, slices.Max(v))
	}
	o.scale(f)
	return o, nil
}

// scale scales values by the ranges, in place.
func (o *outcomes) scale(f [][]float64) {
	for i, v := range f {
		for j := range v {
			if u := o.hi[i] - o.lo[i]; u > 0 {
				v[j] = (v[j] - o.lo[i]) / u
			} else {
				v[j] = 0
			}
		}
	}
}

// Surrogate returns the surrogate of one run, a [cmbo.Scorer]; nothing in it is random. It predicts what random search does.
func (m *portfolio) Surrogate(seed uint64) cmbo.Surrogate {
	return &portfolioRun{randomRun: randomRun{run{dim: m.dim, seed: seed}}, m: m,
		kept: kept[*outcomes]{lists: &m.lists, compute: m.outcomesAt}}
}

type portfolioRun struct {
	randomRun
	kept[*outcomes] // of the grid in a parameter space
	m               *portfolio
	best            [][]float64 // by task: f at the points asked, the largest first
}

// Fit notes which points were asked.
func (r *portfolioRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	if r.bound == nil {
		if err := r.Bind(ctx, r.m.grid); err != nil {
			return err
		}
	}
	f, err := r.at(ctx, points.Distinct(r.d.X, r.d.Pending, r.d.Seen))
	if err != nil {
		return err
	}
	for _, v := range f {
		slices.Sort(v)
		slices.Reverse(v)
	}
	r.best, r.has = f, true
	return nil
}

// at returns the scaled values at the rows of x, which may be kept and changed.
func (r *portfolioRun) at(ctx context.Context, x *linalg.Dense) ([][]float64, error) {
	f, err := r.m.meansAt(ctx, x)
	if err == nil {
		r.bound.scale(f)
	}
	return f, err
}

// Score writes by how much a point raises the mean of the best, and, where it raises
// none, by how much that of the second best, less 1, of the third, less 2.
func (r *portfolioRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, _ acq.Func, _ float64) error {
	if err := r.ready(ctx, x, dst); err != nil {
		return err
	}
	f := r.bound.f
	if x != r.cand {
		var err error
		if f, err = r.at(ctx, x); err != nil {
			return err
		}
	}
	n := len(r.best[0])
	for j := range dst {
		depth := 0
		for dst[j] = 0; dst[j] == 0 && depth <= n; depth++ {
			for i := range f {
				b := 0.0
				if depth < n {
					b = r.best[i][depth]
				}
				dst[j] += max(f[i][j]-b, 0) / float64(len(f))
			}
		}
		dst[j] -= float64(depth - 1)
	}
	return nil
}
