package hierarchy

import (
	"context"
	"fmt"

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
// For each share that is thought of it takes what a step of EM takes, and O(G³).
func (g *grid) sharedMean(
	ctx context.Context, tasks []*carried, shares []float64, workers int,
) (m Moments, common float64, err error) {
	size := g.len()
	chol, err := g.factor()
	if err != nil {
		return m, 0, err
	}
	var lt linalg.Dense
	lt.CopyTrans(chol.Lower())
	type posterior struct {
		mean []float64
		chol linalg.Cholesky // of M
	}
	sums, posts, logs := g.newSums(tasks, workers, precision), make([]posterior, len(shares)), make([]float64, len(shares))
	at, inner := Moments{g.prior().Mean, linalg.NewSym(size, nil)}, linalg.NewSym(size, nil)
	u, x := make([]float64, size), make([]float64, size)
	for i, share := range shares {
		p := &posts[i]
		at.Cov.Copy(g.gram)
		at.Cov.Scale(1 - share)
		all, err := sums.at(ctx, at)
		if err != nil {
			return m, 0, err
		}
		inner.Congruence(&lt, all.s)
		inner.Scale(share)
		inner.AddDiag(1)
		if err := p.chol.Factorize(inner); err != nil {
			return m, 0, err
		}
		for j := range u {
			u[j] = linalg.Dot(lt.Row(j), all.u)
		}
		p.chol.SolveVecTo(x, u)
		logs[i] = all.log + 0.5*(share*linalg.Dot(u, x)-p.chol.LogDet())
		p.mean = g.prior().Mean
		for j, v := range x {
			linalg.Axpy(p.mean, share*v, lt.Row(j))
		}
	}
	m = Moments{make([]float64, size), linalg.NewSym(size, nil)}
	masses := massesOf(logs)
	for i, mass := range masses {
		common += mass * shares[i]
		linalg.Axpy(m.Mean, mass, posts[i].mean)
	}
	m.Cov.AddScaled(1-common, g.gram)
	apart, root := linalg.NewDense(1, size, nil), new(linalg.Dense)
	for i, p := range posts {
		if masses[i] < negligibleShare {
			continue
		}
		p.chol.SolveLowerTo(root, &lt)
		m.Cov.AddTransGram(masses[i]*shares[i], root)
		for j, v := range p.mean {
			apart.Set(0, j, v-m.Mean[j])
		}
		m.Cov.AddTransGram(masses[i], apart)
	}
	return m, common, nil
}

// negligibleShare is the mass of a share below which its covariance is left out: less than
// what a covariance learned of tasks is known to.
const negligibleShare = 1e-4
