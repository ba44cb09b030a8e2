package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// emTolerance ends EM when no entry of mean and covariance changes by more than
// that, relative to the largest variance (and its root).
const emTolerance = 1e-6

// emTask is a task as EM takes it, and what the latest E-step made of it.
type emTask struct {
	y     []float64
	b     *linalg.Dense // B_i
	resid *linalg.Sym   // R_i and the noise variances on the diagonal

	mean []float64    // μ_i
	v    linalg.Dense // L_i⁻¹·B_i·C, so that S_i = C − vᵀ·v
	log  float64      // log likelihood of y
}

// expectMaximize runs EM from the current moments.
func (m *EmpiricalGP) expectMaximize(ctx context.Context, obs []observations, c *config) error {
	tasks := make([]*emTask, len(obs))
	err := parallel.For(ctx, c.workers, len(obs), func(_, i int) error {
		tasks[i] = m.newEMTask(obs[i])
		return nil
	})
	if err != nil {
		return err
	}
	for m.steps < c.iterations {
		err := parallel.For(ctx, c.workers, len(tasks), func(_, i int) error {
			return sourceError(ctx, numerical(ctx, tasks[i].expect(m), "E-step %d", m.steps+1), obs[i].id)
		})
		if err != nil {
			return err
		}
		var log float64
		for _, t := range tasks {
			log += t.log
		}
		m.logs = append(m.logs, log)
		change := m.maximize(tasks, c.shrinkage)
		m.steps++
		if change <= emTolerance {
			break
		}
	}
	return nil
}

func (m *EmpiricalGP) newEMTask(o observations) *emTask {
	t := &emTask{y: o.z, b: m.interpolate(o.x), mean: make([]float64, len(m.mean)), resid: new(linalg.Sym)}
	// R = k_b(X, X) − B·k_b(Z, Z)·Bᵀ, zero for grid points.
	var fit linalg.Sym
	fit.Congruence(t.b, m.gram)
	kernel.Gram(t.resid, m.base.h.Kernel, o.x)
	t.resid.AddScaled(-1, &fit)
	for i, v := range m.base.h.Noise(o.noise) {
		r := t.resid.Row(i)
		if _, on := m.row[points.Key(o.x.Row(i))]; on {
			// Exactly, not but for rounding: the noise may be as small.
			for j := range r {
				t.resid.Set(i, j, 0)
			}
		}
		r[i] = max(r[i], 0) + v
	}
	return t
}

// expect computes the task's posterior on the grid.
func (t *emTask) expect(m *EmpiricalGP) error {
	n := len(t.y)
	cov := m.cov.Dense()
	t.v.Mul(t.b, &cov)
	var a linalg.Sym
	a.Congruence(t.b, m.cov)
	a.AddScaled(1, t.resid)
	var chol linalg.Cholesky
	if _, err := chol.FactorizeJitter(&a, gaussian.MaxJitter); err != nil {
		return err
	}
	beta := make([]float64, n)
	for i, y := range t.y {
		beta[i] = y - m.base.mean - linalg.Dot(t.b.Row(i), m.shift)
	}
	chol.SolveLowerVecTo(beta, beta)
	t.log = -0.5 * (linalg.Dot(beta, beta) + chol.LogDet() + float64(n)*math.Log(2*math.Pi))
	chol.SolveLowerTo(&t.v, &t.v)
	t.v.TransMulVecTo(t.mean, beta)
	linalg.Axpy(t.mean, 1, m.mean)
	return nil
}

// maximize updates mean and covariance and returns the largest change of an
// entry, relative to the largest variance and its root.
func (m *EmpiricalGP) maximize(tasks []*emTask, shrinkage float64) float64 {
	g := len(m.mean)
	share := 1 / float64(len(tasks))
	mean := make([]float64, g)
	for _, t := range tasks {
		linalg.Axpy(mean, share, t.mean)
	}
	cov := linalg.NewSym(g, nil)
	cov.Copy(m.cov)
	dev := linalg.NewDense(len(tasks), g, nil)
	for i, t := range tasks {
		cov.AddTransGram(-share, &t.v)
		row := dev.Row(i)
		for j := range row {
			row[j] = t.mean[j] - mean[j]
		}
	}
	cov.AddTransGram(share, dev)
	for i := range g {
		if r := cov.Row(i); r[i] < 0 {
			r[i] = 0 // by rounding
		}
	}
	if shrinkage > 0 {
		trace, base := cov.Trace(), m.gram.Trace()
		cov.Scale(1 - shrinkage)
		cov.AddScaled(shrinkage*trace/base, m.gram)
	}
	var top, change float64
	for i := range g {
		top = max(top, cov.At(i, i))
	}
	for i := range g {
		change = max(change, math.Abs(mean[i]-m.mean[i])/math.Sqrt(max(top, math.SmallestNonzeroFloat64)))
		old := m.cov.Row(i)
		for j, v := range cov.Row(i)[:i+1] {
			change = max(change, math.Abs(v-old[j])/max(top, math.SmallestNonzeroFloat64))
		}
	}
	m.mean, m.cov = mean, cov
	m.settle()
	return change
}
