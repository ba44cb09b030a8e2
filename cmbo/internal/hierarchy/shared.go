package hierarchy

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/linalg"
)

// EM finds any covariance that many tasks show. Of few it believes too much: three of them deviate from their mean in
// two directions, and less than a fourth one does. So its covariance is taken as that of another task, and the
// population is drawn to what the base process says of those tasks when a share ρ of its variance is common to all,
//
//	f_t = μ + d_t,   μ ~ GP(c, ρ·k_b),   d_t ~ GP(0, (1−ρ)·k_b),
//
// as if that had been seen in s.PriorTasks tasks more. On the grid, with H = Σ BᵀA⁻¹B and
// u = Σ Bᵀα over the tasks under a mean of c and a covariance (1−ρ)·K, and K = L·Lᵀ,
//
//	M = I + ρ·LᵀHL,   μ ~ N(c + ρ·L·M⁻¹Lᵀu, ρ·L·M⁻¹Lᵀ)
//
// given the tasks, whose likelihood is that under c times |M|^−½·exp(½·ρ·uᵀL·M⁻¹Lᵀu). The
// moments are the mean of those of each share that is thought of, weighed by that likelihood.

// drawToSharedMean draws the population, which EM has learned of tasks that are carried to the grid, or of some of them.
func (m *Model) drawToSharedMean(ctx context.Context, on []*carried, workers int) (err error) {
	s := &m.settings
	if s.PriorTasks == 0 {
		return nil
	}
	if len(on) > s.BaseTasks {
		if on, err = m.grid.carryTasks(ctx, sample(m.tasks, s.BaseTasks, s.Seed, "shared mean"), workers); err != nil {
			return err
		}
	}
	shared, common, err := m.grid.sharedMean(ctx, on, s.Shares, workers)
	if err != nil {
		return fmt.Errorf("mean of %d tasks: %w", len(on), err)
	}
	m.common = common
	_, drawn := m.SharedMean()
	m.pop.Cov.Scale(ofAnother(m.total))
	for i, v := range shared.Mean {
		m.pop.Mean[i] += drawn * (v - m.pop.Mean[i])
	}
	m.pop.Cov.Scale(1 - drawn)
	m.pop.Cov.AddScaled(drawn, shared.Cov)
	return nil
}

// ofAnother returns what the covariance that EM finds of N tasks is multiplied by for that of another task. EM takes it
// about a mean of the same tasks: N/(N−1) times it is the tasks' own, and their mean deviates by an Nth of that more, which
// makes (N+1)/(N−1). Of one task nothing is taken off for its mean, so that it is 2.
func ofAnother(tasks int64) float64 {
	n := float64(tasks)
	return (n + 1) / max(n-1, 1)
}

// sharedMean returns the moments of another task given tasks, and the mean share of the variance that is common to all.
// For each share that is thought of it takes what a step of EM takes and O(G³) or, if the tasks have n < G values, O(n·G²).
func (g *grid) sharedMean(
	ctx context.Context, tasks []*carried, shares []float64, workers int,
) (m Moments, common float64, err error) {
	size, n := g.len(), 0
	for _, t := range tasks {
		n += t.len()
	}
	at := Moments{g.prior().Mean, linalg.NewSym(size, nil)} // of a task beside the mean
	posts, logs := make([]meanPosterior, len(shares)), make([]float64, len(shares))
	given := func(share float64) (meanPosterior, float64, error) {
		return g.meanGivenValues(ctx, tasks, n, share, at)
	}
	if n >= size {
		chol, err := g.factor()
		if err != nil {
			return m, 0, err
		}
		var lt linalg.Dense
		lt.CopyTrans(chol.Lower())
		sums := g.newSums(tasks, workers, precision)
		given = func(share float64) (meanPosterior, float64, error) { return g.meanGivenSums(ctx, sums, &lt, share, at) }
	}
	for i, share := range shares {
		at.Cov.Copy(g.gram)
		at.Cov.Scale(1 - share)
		if posts[i], logs[i], err = given(share); err != nil {
			return m, 0, err
		}
	}
	m = Moments{make([]float64, size), linalg.NewSym(size, nil)}
	masses := massesOf(logs)
	for i, mass := range masses {
		common += mass * shares[i]
		linalg.Axpy(m.Mean, mass, posts[i].mean)
	}
	apart, root := linalg.NewDense(1, size, nil), new(linalg.Dense)
	for i, p := range posts {
		m.Cov.AddScaled(masses[i]*p.base, g.gram)
		if masses[i] < negligibleShare {
			continue
		}
		p.chol.SolveLowerTo(root, p.rows)
		m.Cov.AddTransGram(masses[i]*p.weight, root)
		for j, v := range p.mean {
			apart.Set(0, j, v-m.Mean[j])
		}
		m.Cov.AddTransGram(masses[i], apart)
	}
	return m, common, nil
}

// A meanPosterior has the moments of another task given tasks that share μ: a mean, and the covariance base·K +
// weight·XᵀF⁻¹X, where F is what chol is the factor of, and X are the rows.
type meanPosterior struct {
	mean         []float64
	base, weight float64
	chol         linalg.Cholesky
	rows         *linalg.Dense
}

// meanGivenSums takes the tasks by their sums H and u: F is M, and X is Lᵀ. It returns the tasks' log likelihood, too.
func (g *grid) meanGivenSums(
	ctx context.Context, sums *sums, lt *linalg.Dense, share float64, at Moments,
) (p meanPosterior, log float64, err error) {
	all, err := sums.at(ctx, at)
	if err != nil {
		return p, 0, err
	}
	p = meanPosterior{mean: g.prior().Mean, base: 1 - share, weight: share, rows: lt}
	inner := linalg.NewSym(g.len(), nil)
	inner.Congruence(lt, all.s)
	inner.Scale(share)
	inner.AddDiag(1)
	if err := p.chol.Factorize(inner); err != nil {
		return p, 0, err
	}
	u, x := each.Below(g.len(), func(j int) float64 { return linalg.Dot(lt.Row(j), all.u) }), make([]float64, g.len())
	p.chol.SolveVecTo(x, u)
	for j, v := range x {
		linalg.Axpy(p.mean, share*v, lt.Row(j))
	}
	return p, all.log + 0.5*(share*linalg.Dot(u, x)-p.chol.LogDet()), nil
}

// meanGivenValues takes the tasks by their n values, whitened by the factors A = W·Wᵀ of their covariances: X is W⁻¹BK, and
//
//	F = I + ρ·W⁻¹BKBᵀW⁻ᵀ,   μ ~ N(c + ρ·XᵀF⁻¹W⁻¹r, ρ·K − ρ²·XᵀF⁻¹X),   r = y − c,
//
// which is what the sums say, by another identity. It returns their log likelihood, too.
func (g *grid) meanGivenValues(
	ctx context.Context, tasks []*carried, n int, share float64, at Moments,
) (p meanPosterior, log float64, err error) {
	p = meanPosterior{mean: g.prior().Mean, base: 1, weight: -share * share, rows: linalg.NewDense(n, g.len(), nil)}
	var e estep
	var across linalg.Dense
	inner, white, k := linalg.NewSym(n, nil), make([]float64, 0, n), g.gram.Dense()
	for _, t := range tasks {
		l, err := e.condition(t, at, g.base.Mean)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return p, 0, err
		}
		log += l
		from, to := len(white), len(white)+t.len()
		own := p.rows.View(from, 0, t.len(), g.len())
		for i := range t.len() {
			t.applyTo(own.Row(i), &k, i)
		}
		e.chol.SolveLowerTo(&own, &own)
		e.chol.SolveLowerVecTo(e.resid, e.resid)
		white = append(white, e.resid...)
		across.Resize(t.len(), to)
		for i := range t.len() {
			for j := range to {
				across.Set(i, j, t.carry(i, p.rows.Row(j)))
			}
		}
		e.chol.SolveLowerTo(&across, &across)
		for i := range t.len() {
			for j := range from + i + 1 {
				inner.Set(from+i, j, share*across.At(i, j))
			}
		}
	}
	inner.AddDiag(1)
	if err := p.chol.Factorize(inner); err != nil {
		return p, 0, err
	}
	x := make([]float64, n)
	p.chol.SolveVecTo(x, white)
	for j, v := range x {
		linalg.Axpy(p.mean, share*v, p.rows.Row(j))
	}
	return p, log + 0.5*(linalg.Dot(white, white)-linalg.Dot(white, x)-p.chol.LogDet()), nil
}

// negligibleShare is the mass of a share below which its covariance is left out: less than
// what a covariance learned of tasks is known to.
const negligibleShare = 1e-4
