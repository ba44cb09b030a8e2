package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// gc3p is GC3P: normal scores z of the target are μ(x) + σ(x)·r(x), μ and σ being what a network predicts
// of the scores of all tasks, r a Gaussian process. See METHODS.md.
type gc3p struct {
	c     *config
	dim   int
	net   network
	theta []float64 // of the layers, then of the mean and of the deviation: 50 weights and a bias each
	lists memo[*pointMoments]
}

const (
	scoreWidth   = 50
	scoreLayers  = 3
	scoreBatch   = 64
	scoreUpdates = 300 // at each rate
	scoreRate    = 0.01
	scoreDecay   = 5.0
	scoreRates   = 3
	scoreDropped = 0.1
	scoreHeld    = 10  // one value in so many judges
	scoreCheck   = 100 // updates between judgements
	minScoreSD   = 0.01
	scoreDraws   = 5 // values before which proposals are draws
)

var learnGC3P = fromTasks(config{method: "GC3P", shape: kernel.Matern52, ard: true, updates: scoreUpdates}, trainGC3P)

func trainGC3P(ctx context.Context, dim int, obs []observations, c *config) (*gc3p, error) {
	m := &gc3p{c: c, dim: dim, net: network{sizes: slices.Insert(slices.Repeat([]int{scoreWidth}, scoreLayers), 0, dim),
		relu: true}}
	var xs []*linalg.Dense
	var z []float64
	for _, o := range obs {
		xs = append(xs, o.X)
		z = append(z, cmbo.Copula.Apply(o.Z)...)
	}
	return m, m.train(ctx, centred(points.Join(xs...)), z)
}

// train fits the network to scores z at the inputs x.
func (m *gc3p) train(ctx context.Context, x *linalg.Dense, z []float64) error {
	r := rng.Stream(m.c.seed, "baseline gc3p")
	theta := m.net.start(r)
	theta = append(theta, scoreHead.start(r)...)
	order := r.Perm(len(z))
	held := len(z) / scoreHeld
	judges, rest := order[:held], order[held:]
	if held == 0 {
		judges = rest
	}
	var p pass
	grad := make([]float64, len(theta))
	first, second := make([]float64, len(theta)), make([]float64, len(theta)) // moments
	best := math.Inf(1)
	batch := min(scoreBatch, len(rest))
	p.keep = each.Below(scoreLayers, func(l int) *linalg.Dense { return linalg.NewDense(batch, m.net.sizes[l+1], nil) })
	rows, target := make([]int, batch), make([]float64, batch)
	next := len(rest)
	for step := range scoreRates * m.c.updates {
		if err := ctx.Err(); err != nil {
			return err
		}
		if step%scoreCheck == 0 || step == scoreRates*m.c.updates-1 {
			s := m.predict(theta, points.Pick(x, judges))
			var loss float64
			for i, j := range judges {
				loss += (s.mean[i] - z[j]) * (s.mean[i] - z[j])
			}
			if loss < best || m.theta == nil {
				best, m.theta = loss, append(m.theta[:0], theta...)
			}
		}
		for i := range batch {
			if next == len(rest) {
				r.Shuffle(len(rest), func(a, b int) { rest[a], rest[b] = rest[b], rest[a] })
				next = 0
			}
			rows[i], target[i] = rest[next], z[rest[next]]
			next++
		}
		for _, k := range p.keep {
			for i := range batch {
				for j := range k.Row(i) {
					k.Set(i, j, 0)
					if r.Float64() >= scoreDropped {
						k.Set(i, j, 1/(1-scoreDropped))
					}
				}
			}
		}
		m.loss(&p, theta, grad, points.Pick(x, rows), target)
		rate := scoreRate / math.Pow(scoreDecay, float64(step/m.c.updates))
		const decay1, decay2 = 0.9, 0.999
		rate *= math.Sqrt(1-math.Pow(decay2, float64(step+1))) / (1 - math.Pow(decay1, float64(step+1)))
		for i, g := range grad {
			first[i] = decay1*first[i] + (1-decay1)*g
			second[i] = decay2*second[i] + (1-decay2)*g*g
			theta[i] -= rate * first[i] / (math.Sqrt(second[i]) + 1e-8)
		}
	}
	return nil
}

// scoreHead makes mean and raw deviation of the outputs of the last layer.
var scoreHead = network{sizes: []int{scoreWidth, 2}}

// loss returns the mean of −ln N(z; μ, σ²) and sets grad to its gradient.
func (m *gc3p) loss(p *pass, theta, grad []float64, x *linalg.Dense, z []float64) float64 {
	clear(grad)
	k := m.net.size()
	s, slopes, hidden := m.forward(p, theta, x)
	n := len(z)
	outer := linalg.NewDense(n, scoreWidth, nil)
	w, _, _ := scoreHead.layer(theta[k:], 0)
	gw, gb, _ := scoreHead.layer(grad[k:], 0)
	var loss float64
	for i, sd := range s.sd {
		u := (z[i] - s.mean[i]) / sd
		loss += (u*u/2 + math.Log(sd) + 0.5*math.Log(2*math.Pi)) / float64(n)
		dMean, dRaw := -u/sd/float64(n), (1-u*u)/sd*slopes[i]/float64(n)
		gb[0] += dMean
		gb[1] += dRaw
		h, o := hidden.Row(i), outer.Row(i)
		for j := range h {
			gw.Row(j)[0] += dMean * h[j]
			gw.Row(j)[1] += dRaw * h[j]
			o[j] = dMean*w.At(j, 0) + dRaw*w.At(j, 1)
		}
	}
	m.net.backward(p, theta[:k], grad[:k], outer)
	return loss
}

// softplus returns ln(1 + eˣ) and its derivative.
func softplus(x float64) (v, slope float64) {
	return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))), 1 / (1 + math.Exp(-x))
}

// forward returns what weights predict at inputs, the derivatives of the deviations by what the head
// makes of the outputs of the last layer, and these.
func (m *gc3p) forward(p *pass, theta []float64, x *linalg.Dense) (*pointMoments, []float64, *linalg.Dense) {
	n, k := points.Len(x), m.net.size()
	s, slopes := &pointMoments{mean: make([]float64, n), sd: make([]float64, n)}, make([]float64, n)
	hidden := m.net.forward(p, theta[:k], x)
	w, bias, _ := scoreHead.layer(theta[k:], 0)
	var out linalg.Dense
	out.Mul(hidden, w)
	for i := range n {
		s.mean[i] = out.At(i, 0) + bias[0]
		s.sd[i], slopes[i] = softplus(out.At(i, 1) + bias[1])
		s.sd[i] += minScoreSD
	}
	return s, slopes, hidden
}

func (m *gc3p) predict(theta []float64, x *linalg.Dense) *pointMoments {
	s, _, _ := m.forward(new(pass), theta, x)
	return s
}

// Surrogate returns the surrogate of one run, a [cmbo.Scorer].
func (m *gc3p) Surrogate(seed uint64) cmbo.Surrogate {
	r := &gc3pRun{target: newTarget(m.dim, seed, m.c)}
	r.kept = kept[*pointMoments]{lists: &m.lists, compute: func(_ context.Context, x *linalg.Dense) (*pointMoments, error) {
		return m.predict(m.theta, centred(x)), nil
	}}
	r.target.adjust = func(ctx context.Context, z []float64, x *linalg.Dense) error {
		copy(z, cmbo.Copula.Apply(z))
		s, err := r.of(ctx, x)
		if err != nil {
			return err
		}
		for i := range z {
			z[i] = (z[i] - s.mean[i]) / s.sd[i]
		}
		return nil
	}
	return r
}

type gc3pRun struct {
	*target
	kept[*pointMoments]

	best         float64 // the largest score told
	shift, scale float64 // scores in the run's scaled units: shift + scale·score
}

// Fit conditions on the scores of the data.
func (r *gc3pRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	d.NoiseVariance, d.RawNoiseVariance = nil, nil
	if err := r.target.Fit(ctx, d); err != nil {
		return err
	}
	z := cmbo.Copula.Apply(d.Y)
	y, _ := stat.MeanVariance(d.Y)
	at, _ := stat.MeanVariance(z)
	r.best, r.scale = r.top(z), unit(d.Y, z)
	r.shift = y - r.scale*at
	return nil
}

// moments returns mean and deviation of the score at the rows of x.
func (r *gc3pRun) moments(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.target.Predict(ctx, mean, sd, x); err != nil {
		return err
	}
	s, err := r.of(ctx, x)
	if err != nil {
		return err
	}
	for i := range mean {
		mean[i] = s.mean[i] + s.sd[i]*mean[i]
		sd[i] *= s.sd[i]
	}
	return nil
}

func (r *gc3pRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.moments(ctx, mean, sd, x); err != nil {
		return err
	}
	for i := range mean {
		mean[i] = r.shift + r.scale*mean[i]
		sd[i] *= r.scale
	}
	return nil
}

// Score draws before the fifth value; then expected improvement is that of the score, other acquisitions see predictions.
func (r *gc3pRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, _ float64) error {
	if f != nil && len(r.d.Y) < scoreDraws {
		if err := r.ready(ctx, x, dst); err != nil {
			return err
		}
		s, err := r.of(ctx, x)
		if err != nil {
			return err
		}
		src := rng.Stream(r.seed, "baseline gc3p draw", uint64(r.d.Step))
		for i := range dst {
			dst[i] = s.mean[i] + s.sd[i]*src.NormFloat64()
		}
		return nil
	}
	if _, ok := f.(acq.EI); ok {
		return scorePredicted(ctx, r.moments, dst, x, acq.EI{Best: r.best})
	}
	return scorePredicted(ctx, r.Predict, dst, x, f)
}

// NoiseVariance returns that of the residual at a deviation of 1, in the run's scaled units.
func (r *gc3pRun) NoiseVariance() float64 { return r.h.NoiseVariance * r.scale * r.scale }
