package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// ablr is ABLR: for each task a Bayesian linear regression, y_t ~ N(Φ_t·w_t, I/β_t), w_t ~ N(0, I/α_t),
// on features Φ of a network that all tasks share. See METHODS.md.
type ablr struct {
	dim   int
	net   network
	theta []float64
	alpha [2]float64 // mean and variance of the tasks' ln α
	beta  [2]float64
	lists memo[*features]
}

const (
	ablrWidth    = 50
	ablrLayers   = 3
	ablrSteps    = 100
	minLogAlpha  = -7.0
	maxLogAlpha  = 14.0
	minLogBeta   = 0.0
	maxLogBeta   = 14.0
	startAlpha   = ablrWidth // features of size about 1 then give values of variance 1
	startBeta    = 100
	minPrecision = 0.25 // variance of ln α and ln β between tasks, at least
)

var learnABLR = fromTasks(config{method: "ABLR", updates: ablrSteps}, trainABLR)

func trainABLR(ctx context.Context, dim int, obs []observations, c *config) (*ablr, error) {
	for i := range obs {
		obs[i] = distinct(obs[i])
	}
	m := &ablr{dim: dim, net: network{sizes: slices.Insert(slices.Repeat([]int{ablrWidth}, ablrLayers), 0, dim)}}
	o := newABLRObjective(&m.net, obs, c.workers)
	start := m.net.start(rng.Stream(c.seed, "baseline ablr"))
	k := len(start)
	lo, hi := slices.Repeat([]float64{math.Inf(-1)}, k), slices.Repeat([]float64{math.Inf(1)}, k)
	for range obs {
		start = append(start, math.Log(startAlpha), math.Log(startBeta))
		lo, hi = append(lo, minLogAlpha, minLogBeta), append(hi, maxLogAlpha, maxLogBeta)
	}
	f := func(theta, grad []float64) float64 { return o.eval(ctx, theta, grad) }
	theta, err := minimize(ctx, f, [][]float64{start}, lo, hi,
		optim.Options{MaxIter: c.updates, FuncTol: 1e-7, Memory: 20})
	if err != nil {
		return nil, err
	}
	m.theta = theta[:k]
	for i, to := range []*[2]float64{&m.alpha, &m.beta} {
		to[0], to[1] = stat.MeanVariance(each.Below(len(obs), func(j int) float64 { return theta[k+2*j+i] }))
		to[1] = max(to[1], minPrecision)
	}
	return m, nil
}

// distinct returns observations without repetitions, which would be evidence that there is no noise.
func distinct(o observations) observations {
	n, d := o.X.Dims()
	all := linalg.NewDense(n, d+2, nil)
	for i := range n {
		copy(all.Row(i), append(slices.Clone(o.X.Row(i)), o.Z[i], o.Noise[i]))
	}
	all = points.Distinct(all)
	x := all.View(0, 0, points.Len(all), d)
	o.X, o.Z, o.Noise = &x, column(all, d), column(all, d+1)
	return o
}

// ablrObjective is the negative log marginal likelihood of all tasks, per value.
type ablrObjective struct {
	net     *network
	tasks   []observations
	rows    []int // of the first point of each task, and their number
	x       *linalg.Dense
	workers int

	pass pass
	grad linalg.Dense // by the features
	loss []float64
}

func newABLRObjective(net *network, tasks []observations, workers int) *ablrObjective {
	o := &ablrObjective{net: net, tasks: tasks, workers: workers, rows: []int{0}, loss: make([]float64, len(tasks))}
	var xs []*linalg.Dense
	for _, t := range tasks {
		xs = append(xs, t.X)
		o.rows = append(o.rows, o.rows[len(o.rows)-1]+len(t.Z))
	}
	o.x = centred(points.Join(xs...))
	return o
}

// eval returns the objective at the network's weights and, task by task, ln α and ln β, and
// sets grad to its gradient. It is NaN where the numbers are too large.
func (o *ablrObjective) eval(ctx context.Context, theta, grad []float64) float64 {
	k, n := o.net.size(), points.Len(o.x)
	clear(grad)
	phi := o.net.forward(&o.pass, theta, o.x)
	o.grad.Resize(n, ablrWidth)
	share := 1 / float64(n)
	err := parallel.For(ctx, o.workers, len(o.tasks), func(_, t int) error {
		a, b := o.rows[t], o.rows[t+1]
		own := phi.View(a, 0, b-a, ablrWidth)
		g := o.grad.View(a, 0, b-a, ablrWidth)
		precisions := theta[k+2*t : k+2*t+2]
		o.loss[t] = share * linearEvidence(&g, grad[k+2*t:k+2*t+2], &own, o.tasks[t].Z, o.tasks[t].Noise, precisions[0],
			precisions[1])
		g.Scale(share)
		grad[k+2*t] *= share
		grad[k+2*t+1] *= share
		return nil
	})
	if err != nil {
		return math.NaN()
	}
	o.net.backward(&o.pass, theta, grad[:k], &o.grad)
	return stat.Sum(o.loss)
}

// linearEvidence returns −ln N(y; 0, K), K = Φ·Φᵀ/α + Λ⁻¹, Λ holding β or the inverse of a value's own noise variance, and
// its derivatives by Φ and by ln α and ln β. With B = (I + Φᵀ·Λ·Φ/α)⁻¹ and a = K⁻¹·y,
//
//	K⁻¹ = Λ − Λ·Φ·B·Φᵀ·Λ/α,   ln det K = −ln det Λ − ln det B,
//	∂/∂Φ = (Λ·Φ·B − a·aᵀ·Φ)/α,
//
// in O(n D² + D³). It is NaN where B cannot be factorised.
func linearEvidence(dPhi *linalg.Dense, dLog []float64, phi *linalg.Dense, y, noise []float64,
	logAlpha, logBeta float64) float64 {
	n, d := phi.Dims()
	alpha, beta := math.Exp(logAlpha), math.Exp(logBeta)
	lambda := make([]float64, n)
	white := linalg.NewDense(n, d, nil) // Λ½·Φ
	right := make([]float64, d)         // Φᵀ·Λ·y
	loss := float64(n) * math.Log(2*math.Pi)
	var yy float64
	for i := range n {
		lambda[i] = beta
		if noise[i] > 0 {
			lambda[i] = 1 / noise[i]
		}
		root := math.Sqrt(lambda[i])
		linalg.Axpy(white.Row(i), root, phi.Row(i))
		linalg.Axpy(right, root*y[i], white.Row(i))
		loss -= math.Log(lambda[i])
		yy += lambda[i] * y[i] * y[i]
	}
	b := linalg.NewSym(d, nil)
	b.AddTransGram(1/alpha, white)
	b.AddDiag(1)
	var chol linalg.Cholesky
	if chol.Factorize(b) != nil {
		return math.NaN()
	}
	loss += chol.LogDet()
	weights := make([]float64, d) // B·Φᵀ·Λ·y/α
	chol.SolveVecTo(weights, right)
	for j := range weights {
		weights[j] /= alpha
	}
	loss += yy - linalg.Dot(right, weights)
	chol.InverseTo(b)
	full := b.Dense()
	dPhi.Mul(phi, &full) // Φ·B
	a := make([]float64, n)
	projected := make([]float64, d) // Φᵀ·a
	var trace float64               // of K⁻¹ where the noise is 1/β
	var square float64
	for i := range n {
		a[i] = lambda[i] * (y[i] - linalg.Dot(phi.Row(i), weights))
		if !(noise[i] > 0) {
			trace += lambda[i] - lambda[i]*lambda[i]*linalg.Dot(dPhi.Row(i), phi.Row(i))/alpha
			square += a[i] * a[i]
		}
		linalg.Axpy(projected, a[i], phi.Row(i))
	}
	for i := range n {
		row := dPhi.Row(i)
		for j := range row {
			row[j] = (lambda[i]*row[j] - a[i]*projected[j]) / alpha
		}
	}
	// tr(K⁻¹·Φ·Φᵀ)/α = D − tr B.
	dLog[0] = -0.5 * (float64(d) - b.Trace() - linalg.Dot(projected, projected)/alpha)
	dLog[1] = -0.5 * (trace - square) / beta
	return 0.5 * loss
}

// Surrogate returns the surrogate of one run; nothing in it is random.
func (m *ablr) Surrogate(seed uint64) cmbo.Surrogate {
	f := new(featurePrior)
	f.kept = kept[*features]{lists: &m.lists, compute: func(_ context.Context, x *linalg.Dense) (*features, error) {
		return &features{mean: make([]float64, points.Len(x)), phi: m.net.forward(new(pass), m.theta, centred(x))}, nil
	}}
	return &ablrRun{newPriorRun(m.dim, seed, f, 0), f, m}
}

// ablrRun is a run under the prior of the features and α, which it refits.
type ablrRun struct {
	*priorRun
	*featurePrior
	m *ablr
}

// Fit refits α and β and conditions on the data.
func (r *ablrRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	logs := []float64{r.m.alpha[0], r.m.beta[0]}
	if n := min(len(r.d.Y), fittedNoise); n > 1 {
		at, err := r.of(ctx, points.First(r.d.X, n))
		if err != nil {
			return err
		}
		var unused linalg.Dense
		f := func(x, grad []float64) float64 {
			loss := linearEvidence(&unused, grad, at.phi, r.d.Y[:n], r.d.NoiseVariance[:n], x[0], x[1])
			for i, p := range [][2]float64{r.m.alpha, r.m.beta} {
				u := x[i] - p[0]
				loss += u * u / p[1] / 2
				grad[i] += u / p[1]
			}
			return loss
		}
		lo, hi := []float64{minLogAlpha, minLogBeta}, []float64{maxLogAlpha, maxLogBeta}
		logs, err = minimize(ctx, f, [][]float64{logs}, lo, hi, optim.Options{FuncTol: 1e-9, MaxIter: 50})
		if err != nil {
			return err
		}
	}
	// Another α is another prior.
	r.scale, r.noiseVariance, r.post = math.Exp(-logs[0]), math.Exp(-logs[1]), nil
	return r.priorRun.Fit(ctx, r.d)
}
