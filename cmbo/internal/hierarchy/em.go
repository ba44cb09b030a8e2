package hierarchy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Moments are mean and covariance of a process on the grid.
type Moments struct {
	Mean []float64
	Cov  *linalg.Sym
}

// carried is a task's points, carried to the grid, and its values.
type carried struct {
	*located // without points where it was concentrated
	z        []float64
	rest     *linalg.Sym // covariance of e, with the noise variances on the diagonal
	log      float64     // of the likelihood of the values that these stand for over theirs: see concentrate
}

// carryTask carries a task to the grid.
func (g *grid) carryTask(t *Task) (*carried, error) {
	s, err := g.locate(t.X, new(linalg.Dense))
	if err != nil {
		return nil, err
	}
	n := s.len()
	c := &carried{located: s, z: t.Z, rest: linalg.NewSym(n, nil)}
	if s.cross != nil {
		var gram linalg.Sym
		kernel.Gram(&gram, g.base.Kernel, t.X)
		defect := make([]float64, g.len())
		for i := range n {
			g.defect(defect, s, i)
			for j := range i {
				c.rest.Set(i, j, restCov(s, i, defect, s, j, gram.At(i, j)))
			}
		}
		s.cross = nil // large, and not needed again
	}
	for i := range n {
		v := g.base.NoiseVariance
		if t.Noise != nil && t.Noise[i] > 0 {
			v = max(t.Noise[i], leastNoise)
		}
		c.rest.Set(i, i, s.restVar[i]+v)
	}
	return c, nil
}

// concentrate returns what says just what a task does of the process on the grid, in as many values as there are grid
// points, so that a step of EM takes O(g³) instead of O(n³) time. With mean the base process's and
//
//	r = z − mean·(1 − B·1) = B·f(Z) + e,   e ~ N(0, R),
//
// the likelihood of f(Z) depends on BᵀR⁻¹r and G = BᵀR⁻¹B = L·Lᵀ alone, as does that of
//
//	y = L⁻¹BᵀR⁻¹r = Lᵀ·f(Z) + ε,   ε ~ N(0, I),
//
// which is a constant times it: log is its logarithm. Where G is singular, y has next to no
// more information than r. It takes O(n³ + n²g) time, and of more than p = partRows values O(n·p·(p + g)): e of one
// part is taken to be independent of that of another then (the partially independent conditional of Quiñonero-Candela and
// Rasmussen, A Unifying View of Sparse Approximate Gaussian Process Regression, 2005).
func (g *grid) concentrate(t *Task) (*carried, error) {
	size, mean := g.len(), g.base.Mean
	var chol linalg.Cholesky
	var white linalg.Dense
	gram, y := linalg.NewSym(size, nil), make([]float64, size)
	var squares, log float64
	for _, part := range t.parts(partRows) {
		c, err := g.carryTask(part)
		if err != nil {
			return nil, err
		}
		if _, err := chol.FactorizeJitter(c.rest, gaussian.MaxJitter); err != nil {
			return nil, err
		}
		white.Resize(c.len(), size)
		white.Zero()
		r := make([]float64, c.len())
		for i := range r {
			for a, q := range c.idx[i] {
				white.Row(i)[q] = c.w[i][a]
			}
			r[i] = c.z[i] - mean*(1-stat.Sum(c.w[i]))
		}
		chol.SolveLowerTo(&white, &white)
		chol.SolveLowerVecTo(r, r)
		gram.AddTransGram(1, &white)
		for i, v := range r {
			linalg.Axpy(y, v, white.Row(i))
		}
		squares, log = squares+linalg.Dot(r, r), log+chol.LogDet()
	}
	gram.Mirror()
	if _, err := chol.FactorizeJitter(gram, gaussian.MaxJitter); err != nil {
		return nil, err
	}
	chol.SolveLowerVecTo(y, y)
	out := &carried{located: &located{idx: make([][]int, size), w: make([][]float64, size)}, z: y, rest: g.identity()}
	out.log = -0.5 * (squares - linalg.Dot(y, y) + log + float64(len(t.Z)-size)*math.Log(2*math.Pi))
	all := make([]int, size)
	var upper linalg.Dense
	upper.CopyTrans(chol.Lower())
	for i := range all {
		all[i] = i
		out.idx[i], out.w[i] = all[i:], upper.Row(i)[i:]
		y[i] += mean * (1 - stat.Sum(out.w[i])) // which condition takes off
	}
	return out, nil
}

// estep is the memory of one goroutine that conditions on tasks.
type estep struct {
	proj  linalg.Dense // B·C
	a     linalg.Sym   // B·C·Bᵀ + R, then its inverse
	chol  linalg.Cholesky
	white linalg.Dense // L⁻¹·B·C
	resid []float64
	alpha []float64
	u     []float64 // C·Bᵀ·α
}

// condition makes the factor of the task's covariance under the moments, and the
// residuals' solutions α = A⁻¹·(y − m), and returns the log likelihood.
func (e *estep) condition(c *carried, m Moments, mean float64) (float64, error) {
	n, g := c.len(), len(m.Mean)
	e.proj.Resize(n, g)
	e.a.Resize(n)
	e.resid = resize(e.resid, n)
	e.alpha = resize(e.alpha, n)
	cov := m.Cov.Dense()
	for i := range n {
		p := e.proj.Row(i)
		c.applyTo(p, &cov, i)
		row := e.a.Row(i)
		rest := c.rest.Row(i)
		for j := range i + 1 {
			row[j] = c.carry(j, p) + rest[j]
		}
		e.resid[i] = c.z[i] - mean - (c.carry(i, m.Mean) - mean*stat.Sum(c.w[i]))
	}
	e.a.Mirror()
	if _, err := e.chol.FactorizeJitter(&e.a, gaussian.MaxJitter); err != nil {
		return 0, err
	}
	e.chol.SolveVecTo(e.alpha, e.resid)
	return c.log - 0.5*(linalg.Dot(e.resid, e.alpha)+e.chol.LogDet()+float64(n)*math.Log(2*math.Pi)), nil
}

// A tally sums over tasks, in one of the forms, a matrix, of which s holds the lower triangle, and a vector u.
type tally struct {
	form form
	s    *linalg.Sym
	u    []float64
	log  float64 // sum of the log likelihoods
}

// form is what a tally sums of a task of n points with m weights each, on a grid of g points.
type form int

const (
	primal    form = iota // C·Bᵀ·(A⁻¹ − α·αᵀ)·B·C and C·Bᵀ·α, which EM needs, in O(n·g²)
	dual                  // both without the C's, in O(n³ + n·m·g), which leaves products of O(g³) to the end
	precision             // Bᵀ·A⁻¹·B, with which the task shows a mean that is not known, and Bᵀ·α
)

// dualFrom is the number of the tasks' points, in those of the grid, from which the dual form takes less.
const dualFrom = 2

// add adds the task that e was conditioned on last.
func (t *tally) add(e *estep, c *carried) {
	if t.form != primal {
		e.accumulate(c, t.form, t.s, t.u)
		return
	}
	e.u = resize(e.u, len(t.u))
	clear(e.u)
	for i, a := range e.alpha {
		linalg.Axpy(e.u, a, e.proj.Row(i))
	}
	linalg.Axpy(t.u, 1, e.u)
	e.chol.SolveLowerTo(&e.white, &e.proj)
	t.s.AddTransGram(1, &e.white)
	for i, v := range e.u {
		linalg.Axpy(t.s.Row(i)[:i+1], -v, e.u[:i+1])
	}
}

// accumulate adds to the lower triangle of s, and to u, what a tally of the form sums, dual or precision.
func (e *estep) accumulate(c *carried, f form, s *linalg.Sym, u []float64) {
	share := 1.0 // of α·αᵀ
	if f == precision {
		share = 0
	}
	n := c.len()
	e.chol.InverseTo(&e.a)
	g := len(u)
	e.proj.Resize(n, g) // B·C is not needed any more
	e.proj.Zero()
	for i := range n {
		row, h, ai := e.proj.Row(i), e.a.Row(i), e.alpha[i]
		for j := range n {
			v := h[j] - share*ai*e.alpha[j]
			wj := c.w[j]
			for b, q := range c.idx[j] {
				row[q] += v * wj[b]
			}
		}
		for a, r := range c.idx[i] {
			u[r] += ai * c.w[i][a]
			linalg.Axpy(s.Row(r)[:r+1], c.w[i][a], row[:r+1])
		}
	}
}

// longFrom is the number of a task's points, in those of the grid, beyond which it pays to concentrate them.
const longFrom = 1

// partRows is the number of values, at most, of which the covariance of what the grid does not say is taken whole: see
// concentrate. In two to six coordinates halves and quarters of 3,000 values foretell their functions with errors up to 10
// and 17 % larger than the whole does, and are as sure (TestPartsForetell -parts-of 3000 -v). Tests change it.
var partRows = 2000

// chunks bounds the number of parts of a sum over tasks: a fixed number, so that
// the order of its additions does not depend on the number of cores.
const chunks = 8

// EM learns the moments of tasks on the points z: it makes steps of EM from the base process, each drawn to the base
// kernel's matrix of the same trace by the share shrink. Points off z have weights on all of it. It returns the log
// likelihood before each step. Where rounding leaves no factor it learns of noise variances of leastNoise.
func EM(
	ctx context.Context, base Base, z *linalg.Dense, tasks []Task, shrink float64, steps, workers int,
) (Moments, []float64, error) {
	n, _ := z.Dims()
	g := newGrid(base, z, n)
	on, err := g.carryTasks(ctx, tasks, workers)
	if err != nil {
		return Moments{}, nil, err
	}
	m, logs, err := g.expectMaximize(ctx, on, g.prior(), shrink, steps, workers)
	if errors.As(err, new(*linalg.NotPositiveDefiniteError)) && base.NoiseVariance < leastNoise {
		base.NoiseVariance = leastNoise
		return EM(ctx, base, z, tasks, shrink, steps, workers)
	}
	return m, logs, err
}

// carry carries a task to the grid, and concentrates it if it has more than so many points.
func (g *grid) carry(t *Task, most int) (*carried, error) {
	if len(t.Z) > most {
		return g.concentrate(t)
	}
	return g.carryTask(t)
}

// carryTasks carries tasks to the grid, and concentrates those with more points than it has: one by one, as
// the covariances of a long one take far more memory than what comes of them.
func (g *grid) carryTasks(ctx context.Context, tasks []Task, workers int) ([]*carried, error) {
	on := make([]*carried, len(tasks))
	return on, parallel.For(ctx, workers, len(tasks), func(_, i int) (err error) {
		if on[i], err = g.carry(&tasks[i], longFrom*g.len()); err != nil {
			return fmt.Errorf("task %q: %w", tasks[i].ID, err)
		}
		return nil
	})
}

// expectMaximize makes steps of EM for the moments of tasks from a start, each drawn, by the share shrink, to the base
// kernel's matrix of the same trace. It returns the log likelihood before each step.
func (g *grid) expectMaximize(
	ctx context.Context, tasks []*carried, start Moments, shrink float64, steps, workers int,
) (Moments, []float64, error) {
	points := 0 // of tasks that are not concentrated, whose dual form would take more
	for _, t := range tasks {
		if t.x != nil {
			points += t.len()
		}
	}
	if points > dualFrom*g.len() {
		m, logs, err := g.maximized(ctx, g.newSums(tasks, workers, dual), start, shrink, steps)
		// The sums of the dual form have terms of one over the noise variance. Where tasks are one smooth function, what
		// rounding leaves of its small variances is below 0 and grows from step to step. Less noise is for EM.
		if g.base.NoiseVariance < leastNoise || !errors.As(err, new(*linalg.NotPositiveDefiniteError)) {
			return m, logs, err
		}
	}
	return g.maximized(ctx, g.newSums(tasks, workers, primal), start, shrink, steps)
}

// maximized makes steps of EM with sums of tasks.
func (g *grid) maximized(ctx context.Context, sums *sums, start Moments, shrink float64, steps int) (Moments, []float64, error) {
	m := Moments{Mean: slices.Clone(start.Mean), Cov: linalg.NewSym(g.len(), nil)}
	m.Cov.Copy(start.Cov)
	maximize := g.maximize
	if sums.parts[0].form == dual {
		maximize = g.maximizeDual
	}
	var logs []float64
	for range steps {
		all, err := sums.at(ctx, m)
		if err != nil {
			return m, logs, err
		}
		logs = append(logs, all.log)
		maximize(&m, all.s, all.u, float64(len(sums.tasks)), shrink)
	}
	return m, logs, nil
}

// sums are tallies of parts of the tasks, and the memory to make them.
type sums struct {
	g       *grid
	tasks   []*carried
	workers int
	parts   []tally
	memory  []estep
}

func (g *grid) newSums(tasks []*carried, workers int, f form) *sums {
	s := &sums{g: g, tasks: tasks, workers: workers}
	s.parts = each.Below(min(chunks, len(tasks)), func(int) tally {
		return tally{form: f, s: linalg.NewSym(g.len(), nil), u: make([]float64, g.len())}
	})
	s.memory = make([]estep, parallel.Workers(workers, len(s.parts)))
	return s
}

// at returns the sums under moments, which the next call overwrites.
func (s *sums) at(ctx context.Context, m Moments) (*tally, error) {
	n, parts := len(s.tasks), len(s.parts)
	err := parallel.For(ctx, s.workers, parts, func(w, c int) error {
		a := &s.parts[c]
		a.s.Zero()
		clear(a.u)
		a.log = 0
		for _, t := range s.tasks[c*n/parts : (c+1)*n/parts] {
			if err := ctx.Err(); err != nil {
				return err
			}
			log, err := s.memory[w].condition(t, m, s.g.base.Mean)
			if err != nil {
				return err
			}
			a.log += log
			a.add(&s.memory[w], t)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := &s.parts[0]
	for _, p := range s.parts[1:] {
		all.log += p.log
		all.s.AddScaled(1, p.s)
		linalg.Axpy(all.u, 1, p.u)
	}
	all.s.Mirror()
	return all, nil
}

// maximizeDual is maximize of sums in the dual form, without the C's.
func (g *grid) maximizeDual(m *Moments, s *linalg.Sym, u []float64, n, shrink float64) {
	var csc linalg.Sym
	c := m.Cov.Dense()
	csc.Congruence(&c, s)
	cu := make([]float64, len(u))
	m.Cov.MulVecTo(cu, u)
	g.maximize(m, &csc, cu, n, shrink)
}

// maximize replaces m by the moments that the sums over n tasks give, S' = Σ C·Bᵀ·(A⁻¹ − α·αᵀ)·B·C and u' = Σ C·Bᵀ·α,
//
//	δ = u'/n,   m̄ = m + δ,   C̄ = C − S'/n − δ·δᵀ,
//
// drawn to the base kernel.
func (g *grid) maximize(m *Moments, s *linalg.Sym, u []float64, n, shrink float64) {
	delta := each.Of(u, func(v float64) float64 { return v / n })
	m.Cov.AddScaled(-1/n, s)
	for i, d := range delta {
		m.Mean[i] += d
		row := m.Cov.Row(i)
		for j, e := range delta[:i+1] {
			row[j] -= d * e
		}
		row[i] = max(row[i], 0)
	}
	m.Cov.Mirror()
	if shrink > 0 {
		trace := m.Cov.Trace()
		m.Cov.Scale(1 - shrink)
		m.Cov.AddScaled(shrink*trace/g.gram.Trace(), g.gram)
	}
}

// posteriorMean returns the mean on the grid that a task leaves of the moments.
func (e *estep) posteriorMean(c *carried, m Moments, mean float64) ([]float64, error) {
	if _, err := e.condition(c, m, mean); err != nil {
		return nil, err
	}
	out := slices.Clone(m.Mean)
	for i, a := range e.alpha {
		linalg.Axpy(out, a, e.proj.Row(i))
	}
	return out, nil
}

// meanRows bounds the values of a task, a seeded sample, that its posterior mean is of. They take memory quadratic and
// time cubic in their number, in runs with a context too, whose prior may be another's, of a few bytes a value.
const meanRows = 2000

// posteriorMeans returns the means on the grid that tasks leave of the population's, by task.
func (m *Model) posteriorMeans(ctx context.Context, tasks []Task, workers int) ([][]float64, error) {
	means, memory := make([][]float64, len(tasks)), make([]estep, parallel.Workers(workers, len(tasks)))
	return means, parallel.For(ctx, workers, len(tasks), func(w, i int) error {
		on, err := m.grid.carryTask(tasks[i].some(meanRows, m.settings.Seed))
		if err == nil {
			means[i], err = memory[w].posteriorMean(on, m.pop, m.grid.base.Mean)
		}
		if err != nil {
			return fmt.Errorf("task %q: %w", tasks[i].ID, err)
		}
		return nil
	})
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// leastNoise is the least noise variance that is learned and that EM conditions on, in units of the
// base process: of smooth tasks C keeps variances of 1e-8 beside those of 1, and what rounding leaves
// of them, below 0 at times, grows from step to step where the noise is no larger.
const leastNoise = 1e-4
