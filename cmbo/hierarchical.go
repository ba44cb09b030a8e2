package cmbo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// hierarchicalPrior is what Learn makes of past tasks without a variant of the
// paper's method: hypotheses on a new task, from no transfer to one past task.
type hierarchicalPrior struct {
	*hierarchy.Model
	space *Space // whose candidates are carried to the grid, nil for none
	at    *hierarchy.Candidates
}

func learnHierarchy(ctx context.Context, t *trainingSet) (learned, error) {
	c := t.config
	o := hierarchyOptions(c, t.space.Dim())
	if c.progress != nil {
		o.Progress = func(stage string, done, total int) { c.progress(Progress{stage, done, total}) }
	}
	if c.priorKernel != nil {
		if err := checkKernel(c.priorKernel, t.space.Dim()); err != nil {
			return nil, err
		}
		o.Kernel = c.priorKernel
	}
	tasks := standardize(t.tasks, c.y == Copula)
	for i, x := range t.failed {
		tasks[i] = tasks[i].WithFailed(x)
	}
	var earlier *hierarchy.Model
	var grid *linalg.Dense
	if t.known != nil {
		earlier = t.known.learned.(*hierarchicalPrior).Model
		tasks = append(slices.Clone(earlier.Tasks()), tasks...)
		if c.indexSet != nil {
			return nil, optionErrorf("another index set, on which the tasks known already would have to be learned again")
		}
	} else {
		var err error
		if grid, err = t.grid(); err != nil {
			return nil, err
		}
	}
	m, err := hierarchy.Learn(ctx, tasks, grid, earlier, o)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	return &hierarchicalPrior{Model: m}, nil
}

// hierarchyOptions are the settings of a model in dim coordinates.
func hierarchyOptions(c *learnConfig, dim int) hierarchy.Options {
	o := hierarchy.DefaultOptions(dim)
	o.Seed, o.Workers = c.seed, c.parallelism
	o.Labels, o.Jeffreys, o.Clusters, o.MaxClusters = c.labels, c.variant.ClusterDistance == Jeffreys, c.clusters, c.maxClusters
	o.Rounds, o.ScorePartitions, o.ClusterPoints = c.rounds, c.partitionScore, c.clusterPoints
	return o
}

// grid chooses the points on which moments are learned: those given, or what the
// tasks have observed and then, up to the number allowed, other candidates. What was
// observed off the grid would only count as far as the base process carries it there.
func (t *trainingSet) grid() (*linalg.Dense, error) {
	c := t.config
	if c.indexSet != nil {
		return t.indexSet()
	}
	var xs []*linalg.Dense
	for i, task := range t.tasks {
		xs = append(xs, task.X)
		if t.failed[i] != nil {
			xs = append(xs, t.failed[i])
		}
	}
	seen := sampleRows(points.Distinct(xs...), c.indexPoints, c.seed, "index set")
	if !t.space.Finite() {
		return seen, nil
	}
	others := sampleRows(points.Distinct(t.space.Encoded()), c.indexPoints, c.seed, "index set of candidates")
	all := points.Distinct(seen, others)
	return points.First(all, min(points.Len(all), c.indexPoints)), nil
}

// standardize brings tasks to a common mean of 0 and a deviation of 1, which they
// have by themselves if each was. Scores by rank are the values of a run, too, and so
// have no offset and scale behind them.
func standardize(tasks []model.Task, scores bool) []hierarchy.Task {
	var mean, square, n float64
	for _, t := range tasks {
		for _, z := range t.Y {
			n++
			d := z - mean
			mean += d / n
			square += d * (z - mean)
		}
	}
	sd := math.Sqrt(square / n)
	if !(sd > 0) || math.Abs(mean) < 1e-9 && math.Abs(sd-1) < 1e-9 {
		mean, sd = 0, 1
	}
	out := make([]hierarchy.Task, len(tasks))
	for i, t := range tasks {
		if scores {
			t.Shift, t.Scale = 0, 1
		}
		h := hierarchy.Task{ID: t.ID, X: t.X, Z: slices.Clone(t.Y), Noise: slices.Clone(t.Noise), Shift: t.Shift + mean*t.Scale, Scale: sd * t.Scale}
		for j := range h.Z {
			h.Z[j] = (h.Z[j] - mean) / sd
		}
		for j := range h.Noise {
			h.Noise[j] /= sd * sd
		}
		out[i] = h
	}
	return out
}

func (p *hierarchicalPrior) kind() priorKind { return kindHierarchy }

func (p *hierarchicalPrior) facts() facts {
	f := facts{labels: p.Labels(), noise: p.Base().NoiseVariance, index: p.Grid()}
	for _, t := range p.Tasks() {
		n := len(t.Z) - t.Failed
		f.tasks = append(f.tasks, model.Task{ID: t.ID, X: points.First(t.X, n), Y: t.Z[:n], Noise: t.Noise[:min(n, len(t.Noise))], Shift: t.Shift, Scale: t.Scale})
	}
	for i := range p.NumClusters() {
		m := p.Moments(1 + i)
		cov := linalg.NewSym(len(m.Mean), nil)
		cov.Copy(m.Cov)
		n, jitter, err := model.JitteredNormal(slices.Clone(m.Mean), cov)
		if err != nil {
			n = nil // of a covariance that only jitter beyond all bounds would mend
		}
		f.prototypes = append(f.prototypes, n)
		f.report.PrototypeJitter = max(f.report.PrototypeJitter, jitter)
	}
	for _, q := range p.Partitions() {
		f.partitions = append(f.partitions, Partition(q))
	}
	f.report.Distances, f.report.Rounds = p.Report()
	return f
}

// fill takes the target's values as they are, whose offset and scale are inferred.
// Scores by rank take the place of values that were learned by rank.
func (p *hierarchicalPrior) fill(prior *Prior, c *runConfig) error {
	if name := c.given.paper(); name != "" {
		return fmt.Errorf("%w: %s concerns the paper's method, and it was learned without a variant of that", ErrPriorMismatch, name)
	}
	y := RawValues
	if prior.config.y == Copula {
		y = Copula
	}
	if c.given.has("WithYPolicy") && c.y != y && c.y != prior.config.y {
		return fmt.Errorf("%w: it was learned with the y policy %s, from which the scale of the target is inferred, not %s", ErrPriorMismatch, prior.config.y, c.y)
	}
	c.y = y
	return nil
}

// reindex carries the candidates to the grid.
func (p *hierarchicalPrior) reindex(ctx context.Context, prior *Prior, space *Space, workers int) (learned, error) {
	if p.space != nil && points.Equal(p.space.Encoded(), space.Encoded()) {
		return p, nil
	}
	at, err := p.Candidates(ctx, space.Encoded(), workers)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	return &hierarchicalPrior{p.Model, space, at}, nil
}

func (p *hierarchicalPrior) surrogate(c *runConfig) (Surrogate, error) {
	r := &hierarchicalRun{model: p.Model, workers: c.parallelism, run: hierarchy.NewRun(p.Model, hierarchy.DefaultMasses(), c.noise, c.parallelism)}
	if p.space != nil {
		r.x, r.at = p.space.Encoded(), p.at
	}
	return r, nil
}

// hierarchicalRun makes a [Surrogate] of the hierarchical prior.
type hierarchicalRun struct {
	model   *hierarchy.Model
	run     *hierarchy.Run
	workers int
	x       *linalg.Dense // the candidates bound
	at      *hierarchy.Candidates

	fresh *linalg.Dense // those of the latest Predict, if they were others
	carry *hierarchy.Candidates
}

// Bind carries the candidates to the grid, unless the prior has done so.
func (r *hierarchicalRun) Bind(ctx context.Context, x *linalg.Dense) error {
	if r.at != nil && points.Equal(r.x, x) {
		r.x = x
		return nil
	}
	at, err := r.model.Candidates(ctx, x, r.workers)
	if err != nil {
		return modelError(ctx, err)
	}
	r.x, r.at = x, at
	return nil
}

// Fit weighs the hypotheses. It takes the values as they are, or their scores.
func (r *hierarchicalRun) Fit(ctx context.Context, d Data) error {
	r.fresh, r.carry = nil, nil
	return modelError(ctx, r.run.Fit(ctx, d.X, d.Y, d.NoiseVariance, d.Pending))
}

// candidates returns x carried to the grid, and whether what the run works out there
// is worth keeping: a list comes again at each proposal, other candidates of a space
// without a list are scored after they were predicted at.
func (r *hierarchicalRun) candidates(ctx context.Context, x *linalg.Dense) (*hierarchy.Candidates, bool, error) {
	switch {
	case x == r.x && r.at != nil:
		return r.at, true, nil
	case x != r.fresh:
		c, err := r.model.Candidates(ctx, x, r.workers)
		if err != nil {
			return nil, false, err
		}
		r.fresh, r.carry = x, c
	}
	return r.carry, r.at == nil, nil
}

func (r *hierarchicalRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	c, again, err := r.candidates(ctx, x)
	if err == nil {
		err = r.run.Predict(ctx, mean, sd, c, again)
	}
	return modelError(ctx, err)
}

// Score takes the expected improvement over all hypotheses, which is not that of the
// first two moments; other acquisitions see the moments. Before the first value the
// largest mean is asked for.
func (r *hierarchicalRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, best float64) error {
	c, again, err := r.candidates(ctx, x)
	if err != nil {
		return modelError(ctx, err)
	}
	if _, ok := f.(acq.EI); ok && !math.IsNaN(best) {
		return modelError(ctx, r.run.LogImprovement(ctx, dst, c, again, best))
	}
	sd := make([]float64, len(dst))
	if err := r.run.Predict(ctx, dst, sd, c, again); err != nil {
		return modelError(ctx, err)
	}
	if math.IsNaN(best) {
		return nil
	}
	for i, m := range dst {
		dst[i] = f.Score(m, sd[i])
	}
	return nil
}

func (r *hierarchicalRun) NoiseVariance() float64 { return r.run.NoiseVariance() }

// shares returns the masses of the hypotheses, single tasks in the order of theirs.
func (r *hierarchicalRun) shares() []Share {
	var out []Share
	for _, m := range r.run.Masses() {
		s := Share{Level: Level(m.Level), Cluster: -1, Mass: m.Mass, Reversed: m.Reversed}
		switch m.Level {
		case hierarchy.Cluster:
			s.Cluster = m.Index
		case hierarchy.SingleTask:
			s.Tasks = []string{r.model.Tasks()[m.Index].ID}
		}
		out = append(out, s)
	}
	return out
}

// Weights returns the masses of the hypotheses: no transfer, the population, each
// cluster, and all single tasks together.
func (r *hierarchicalRun) Weights() []float64 {
	w := make([]float64, 3+r.model.NumClusters())
	for _, s := range r.shares() {
		i := int(s.Level)
		switch s.Level {
		case LevelCluster:
			i += s.Cluster
		case LevelTask:
			i = len(w) - 1
		}
		w[i] += s.Mass
	}
	return w
}

func (r *hierarchicalRun) Describe(s *Step) { s.Weights = r.Weights() }

func (p *hierarchicalPrior) encode(e *codec.Encoder) error { return p.Encode(e) }

func decodeHierarchy(d *codec.Decoder, p *Prior) (learned, error) {
	m, err := hierarchy.Decode(d, p.space.Dim(), hierarchyOptions(p.config, p.space.Dim()))
	return &hierarchicalPrior{Model: m}, err
}
