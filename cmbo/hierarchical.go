package cmbo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// hierarchySettings returns those of a prior over the parameters of a space, whose candidates may be a list.
func hierarchySettings(c *learnConfig, s *Space, list bool) hierarchy.Settings {
	o := hierarchy.DefaultSettings(s.Dim())
	o.Coordinates = coordinates(s)
	if list { // on a list the evidence does not foretell which kernel has less regret
		o.Kernels = o.Kernels[:1]
		o.Apart = false // its rows may lie next to each other, whoever chose them
	}
	o.Seed, o.Workers = c.seed, c.parallelism
	if err := o.Ablate(c.ablations...); err != nil {
		panic(err) // WithAblation and the decoder have checked them
	}
	if c.kernel != nil { // ablations reshape kernels with lengths, which it may not have
		o.Kernels = []kernel.Kernel{c.kernel}
	}
	if c.y == Copula { // scores by rank hold no differences of values
		o.Compress, o.Ranks = false, true
	}
	return o
}

// grid chooses the points on which moments are learned: what the tasks have observed and then, up to the number allowed,
// other candidates. What was observed off the grid would only count as far as the base process carries it there.
func (t *trainingSet) grid() *linalg.Dense {
	c := t.config
	var xs []*linalg.Dense
	for i, task := range t.tasks {
		xs = append(xs, task.X, t.failed[i])
	}
	// Sorted, so that the order of the tasks does not matter.
	seen := points.Sample(points.Sorted(points.Distinct(xs...)), c.indexPoints, c.seed, "index set")
	if !t.space.Finite() {
		return seen
	}
	others := points.Sample(points.Distinct(t.space.Encoded()), c.indexPoints, c.seed, "index set of candidates")
	all := points.Distinct(seen, others)
	return points.First(all, min(points.Len(all), c.indexPoints))
}

// fill takes the target's values as they are, whose offset and scale are inferred.
// Scores by rank take the place of values that were learned by rank.
func (p *Prior) fill(c *runConfig) error {
	y := RawValues
	if p.config.y == Copula {
		y = Copula
	}
	if c.has(optYPolicy) && c.y != y && c.y != p.config.y {
		return fmt.Errorf("%w: it was learned with the y policy %s, from which the scale of the target is inferred, not %s",
			ErrPriorMismatch, p.config.y, c.y)
	}
	c.y = y
	if err := p.learned.CheckContext(c.context); err != nil {
		return optionErrorf("%s: %v", optContext, err)
	}
	return nil
}

func (p *Prior) surrogate(c *runConfig, list bool) (Surrogate, error) {
	m, err := p.learned.At(context.Background(), c.context, c.parallelism)
	if err != nil {
		return nil, gp.Marked(context.Background(), err)
	}
	s := p.learned.Settings()
	s.List = list
	return &hierarchicalRun{Run: hierarchy.NewRun(m, s, c.noise, c.parallelism, c.parts(), p.list)}, nil
}

// hierarchicalRun makes a [Surrogate] of the hierarchical prior.
type hierarchicalRun struct {
	*hierarchy.Run
	pending   bool   // points whose value is awaited are known
	criterion string // of the latest scores, empty for the acquisition given
}

func (r *hierarchicalRun) Bind(ctx context.Context, x *linalg.Dense) error {
	return gp.Marked(ctx, r.Run.Bind(ctx, x))
}

// Fit takes the values as they are, or their scores.
func (r *hierarchicalRun) Fit(ctx context.Context, d Data) error {
	r.pending = points.Len(d.Pending) > 0
	r.Count(d.Feasible)
	return gp.Marked(ctx, r.Run.Fit(ctx, d.X, d.Y, d.NoiseVariance, d.Pending))
}

func (r *hierarchicalRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	return gp.Marked(ctx, r.Run.Predict(ctx, mean, sd, x))
}

// Score takes the expected improvement over all hypotheses, which is not that of the first two moments; other
// acquisitions see the moments. Before the first value the largest mean is asked for, and while that is pending, what
// improves on it: by the mean the point that is pending would be chosen again.
func (r *hierarchicalRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, best float64) error {
	r.criterion = ""
	e, improvement := f.(acq.EI)
	if improvement && !math.IsNaN(best) {
		best = e.Best // that of the data but for a fixed one
	} else {
		sd := make([]float64, len(dst))
		if err := r.Predict(ctx, dst, sd, x); err != nil {
			return err
		}
		if math.IsNaN(best) {
			if !r.pending {
				r.criterion = "mean"
				return nil
			}
			best = slices.Max(dst)
		}
		if !improvement {
			scoreMoments(dst, dst, sd, f)
			return nil
		}
	}
	return gp.Marked(ctx, r.LogImprovement(ctx, dst, x, best))
}

func (r *hierarchicalRun) Criterion() string { return r.criterion }

func (r *hierarchicalRun) Hypotheses() (out []Hypothesis) {
	for _, m := range r.Masses() {
		h := Hypothesis{Level: LevelPopulation, Cluster: -1, Mass: m.Mass, Reversed: m.Reversed}
		if !m.Transfers {
			h.Level = LevelNone
		}
		out = append(out, h)
	}
	return out
}

func (r *hierarchicalRun) Weights() []float64 {
	return each.Of(r.Masses(), func(m hierarchy.Mass) float64 { return m.Mass })
}

// TaskMeans returns what the values of each task that the prior keeps leave of the mean of all.
func (r *hierarchicalRun) TaskMeans(ctx context.Context, x *linalg.Dense) (ids []string, means [][]float64, err error) {
	ids = each.Of(r.Model.Tasks(), func(t hierarchy.Task) string { return t.ID })
	means, err = r.Model.TaskMeans(ctx, x, r.Workers)
	return ids, means, gp.Marked(ctx, err)
}

func (r *hierarchicalRun) Describe(s *Step) { s.Weights = r.Weights() }
