package cmbo

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func betaPrinted(norm, noise, gain, delta float64) float64 {
	return norm + math.Sqrt(noise)*math.Sqrt(2*(gain+1+math.Log(4/delta)))
}

func betaCorrected(norm, gain, delta float64) float64 {
	return norm + math.Sqrt(2*(gain+math.Log(4/delta)))
}

// shares returns ζ_i and ζ'_i of task i.
func (t *theorem) shares(i int) (zeta, zetaPrime float64) {
	c := t.a.prior.labels[i]
	size := 0.0
	for _, l := range t.a.prior.labels {
		if l == c {
			size++
		}
	}
	w := t.a.w[c]
	return w / size, w * w / size
}

// The factors of the lemma behind α: ‖k(x, X_i)‖ ≤ crossNorm, ‖(K + σ²I)⁻¹‖ ≤
// 1/σ², ‖y_i − ỹ_i‖ ≤ dataNorm with probability 1−δ/4.
func crossNorm(n int, v float64) float64 { return math.Sqrt(float64(n)) * v }

func dataNorm(n int, gap, noise, delta float64) float64 {
	return math.Sqrt(float64(n)) * (gap + 2*noiseBound(n, noise, delta))
}

// noiseBound bounds n noise values of the given variance at once.
func noiseBound(n int, variance, delta float64) float64 {
	return math.Sqrt(2 * variance * math.Log(8*float64(n)/delta))
}

// sums computes α and ω of both forms.
func (t *theorem) sums(b *RegretBound) {
	obs := float64(b.Observations)
	for i, s := range t.a.prior.sources {
		zeta, zetaPrime := t.shares(i)
		v := t.a.priorVariance(s)
		b.Printed.Alpha += zeta * crossNorm(s.len(), 1) / t.a.noise * dataNorm(s.len(), b.Gaps[i], t.a.noise, t.in.Delta)
		least := slices.Min(s.noise)
		b.Corrected.Alpha += zeta * crossNorm(s.len(), v) / least * dataNorm(s.len(), b.Gaps[i], slices.Max(s.noise), t.in.Delta)
		b.Printed.Omega += 2 * zetaPrime * math.Sqrt(float64(s.len())) / t.a.noise
		b.Corrected.Omega += 2 * zetaPrime * math.Sqrt(obs) * v / t.a.leastNoise()
	}
	b.Printed.Iota = 2 + b.Printed.Omega*math.Sqrt(obs)
	b.Corrected.Iota = 2 + b.Corrected.Omega*math.Sqrt(obs)
}

// priorVariance returns v_i, the largest prior variance of a task's process on
// the index set.
func (a *adaptive) priorVariance(s *source) float64 {
	n, _ := a.prior.index.Dims()
	v := make([]float64, n)
	kernel.Diag(v, s.k, a.prior.index)
	return slices.Max(v)
}

// leastNoise returns the smallest noise variance the target is conditioned
// with.
func (a *adaptive) leastNoise() float64 {
	least := a.noise
	for _, v := range a.noises {
		least = min(least, v)
	}
	return least
}

func printedBound(xi, beta, bracket, sd float64) (delta, bound float64) {
	delta = xi / beta * (1 - beta/xi)
	return delta, delta*bracket + xi/beta*(xi+beta)*sd
}

func correctedBound(xi, beta, bracket, sd float64) (delta, bound float64) {
	delta = math.Abs(xi/beta - 1)
	return delta, delta*bracket + 2*xi*sd
}

func (a *adaptive) mostNoise() float64 {
	most := a.noise
	for _, v := range a.noises {
		most = max(most, v)
	}
	return most
}

// eta fills in η(x) = Σ ζ_i·(μ̃_i(x) − f(x)), μ̃_i being task i's posterior mean
// had the target been observed, without noise, at the task's points; or bounds
// on its size if f is not known.
func (t *theorem) eta(b *RegretBound) error {
	a := t.a
	dim := a.prior.space.dim
	points := linalg.NewDense(2+len(a.obs), dim, nil)
	copy(points.Row(0), t.chosen)
	copy(points.Row(1), t.chosen)
	if t.optimum != nil {
		copy(points.Row(1), t.optimum)
	}
	for k, e := range a.obs {
		copy(points.Row(2+k), a.points[e].x)
	}
	eta := make([]float64, 2+len(a.obs))
	for i := range a.prior.sources {
		zeta, _ := t.shares(i)
		if err := t.addEta(eta, zeta, i, points); err != nil {
			return err
		}
	}
	if t.truth == nil {
		// The optimum is unknown: its sd is at most the largest prior sd.
		eta[1] = 0
		for i, s := range a.prior.sources {
			zeta, _ := t.shares(i)
			eta[1] += zeta * t.in.Norm * math.Sqrt(a.priorVariance(s))
		}
	} else {
		b.EtaExact = true
		for k := range eta {
			f, err := t.truth(points.Row(k))
			if err != nil {
				return err
			}
			eta[k] -= f
		}
	}
	b.EtaChosen, b.EtaOptimum = eta[0], eta[1]
	b.EtaNorm = linalg.Norm2(eta[2:])
	return nil
}

// addEta adds task i's part: ζ_i·μ̃_i where f is known, else ζ_i·B·sd_i, which
// bounds |μ̃_i − f| for exact observations of f.
func (t *theorem) addEta(eta []float64, zeta float64, i int, points *linalg.Dense) error {
	s := t.a.prior.sources[i]
	tmp := make([]float64, len(eta))
	var v linalg.Dense
	if t.truth == nil {
		if err := s.whiten(&v, points); err != nil {
			return err
		}
		variance := make([]float64, len(eta))
		if err := s.addVariance(variance, 1, &v, points, tmp); err != nil {
			return err
		}
		for k := range eta {
			eta[k] += zeta * t.in.Norm * math.Sqrt(variance[k])
		}
		return nil
	}
	y := make([]float64, s.len())
	for j := range y {
		f, err := t.truth(s.x.Row(j))
		if err != nil {
			return err
		}
		y[j] = f
	}
	hypothetical, err := newSource(s.id, s.x, y, s.extra, s.k, s.sigma)
	if err != nil {
		return err
	}
	if err := hypothetical.whiten(&v, points); err != nil {
		return err
	}
	if err := hypothetical.cond.UpdateMean(tmp, &v); err != nil {
		return numerical(err, "task %q: posterior mean", s.id)
	}
	linalg.Axpy(eta, zeta, tmp)
	return nil
}

// estimateGaps bounds D_i by what the posterior leaves possible.
func (t *theorem) estimateGaps(beta float64) ([]float64, error) {
	gaps := make([]float64, len(t.a.prior.sources))
	for i, s := range t.a.prior.sources {
		mean, sd := make([]float64, s.len()), make([]float64, s.len())
		if err := t.a.Predict(context.Background(), mean, sd, s.x); err != nil {
			return nil, err
		}
		for j, y := range s.y {
			gaps[i] = max(gaps[i], math.Abs(mean[j]-y)+beta*sd[j])
		}
	}
	return gaps, nil
}

// informationGain returns ½·ln det(I + D⁻½·K0·D⁻½), D the noise variances.
func (a *adaptive) informationGain() (float64, error) {
	n := len(a.obs)
	if n == 0 {
		return 0, nil
	}
	k := linalg.NewSym(n, nil)
	for i, e := range a.obs {
		for j, f := range a.obs[:i+1] {
			v := a.cov(e, f) / math.Sqrt(a.noises[i]) / math.Sqrt(a.noises[j])
			if i == j {
				v++
			}
			k.Set(i, j, v)
		}
	}
	var c linalg.Cholesky
	if err := c.Factorize(k); err != nil {
		return 0, numerical(err, "information gain of %d observations", n)
	}
	return c.LogDet() / 2, nil
}

// greedyGain bounds the largest information gain of n points by the greedy one
// over 1−1/e (A. Krause, A. Singh and C. Guestrin, Near-optimal sensor
// placements in Gaussian processes, JMLR 9 (2008) 235-284), over the candidates
// or, in a parameter space, the index set.
func (a *adaptive) greedyGain(n int) (float64, error) {
	x := a.cand
	if x == nil {
		x = a.prior.index
	}
	rows, dim := x.Dims()
	variance := make([]float64, rows)
	whitened := make([][]float64, 0, n) // rows of L⁻¹·k0(chosen, x)
	for i, w := range a.w {
		v := make([]float64, rows)
		if err := a.prior.prototypes[i].carrier.at(context.Background(), a.workers, nil, v, nil, nil, x); err != nil {
			return 0, err
		}
		linalg.Axpy(variance, w*w, v)
	}
	var gain float64
	for range n {
		best := 0
		for r, v := range variance {
			if v > variance[best] {
				best = r
			}
		}
		gain += math.Log1p(variance[best]/a.noise) / 2
		point := x.View(best, 0, 1, dim)
		col := make([]float64, rows)
		var cross linalg.Dense
		for i, w := range a.w {
			if err := a.prior.prototypes[i].carrier.at(context.Background(), a.workers, nil, nil, &cross, &point, x); err != nil {
				return 0, err
			}
			linalg.Axpy(col, w*w, cross.Row(0))
		}
		for _, u := range whitened {
			linalg.Axpy(col, -u[best], u)
		}
		pivot := math.Sqrt(variance[best] + a.noise)
		for r := range col {
			col[r] /= pivot
			variance[r] = max(variance[r]-col[r]*col[r], 0)
		}
		whitened = append(whitened, col)
	}
	return gain / (1 - 1/math.E), nil
}
