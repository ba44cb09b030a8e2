package regret

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/paper/internal/model"
	"github.com/gocmbo/cmbo/cmbo/paper/theorem"
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
func (t *evaluation) shares(i int) (zeta, zetaPrime float64) {
	c := t.p.Labels[i]
	size := 0.0
	for _, l := range t.p.Labels {
		if l == c {
			size++
		}
	}
	w := t.w[c]
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
func (t *evaluation) sums(b *theorem.Bound) {
	obs := float64(b.Observations)
	for i, s := range t.p.Sources {
		zeta, zetaPrime := t.shares(i)
		v := t.priorVariance(s)
		b.Printed.Alpha += zeta * crossNorm(s.Len(), 1) / t.noise * dataNorm(s.Len(), b.Gaps[i], t.noise, t.in.Delta)
		lo, hi := s.NoiseRange()
		b.Corrected.Alpha += zeta * crossNorm(s.Len(), v) / lo * dataNorm(s.Len(), b.Gaps[i], hi, t.in.Delta)
		b.Printed.Omega += 2 * zetaPrime * math.Sqrt(float64(s.Len())) / t.noise
		b.Corrected.Omega += 2 * zetaPrime * math.Sqrt(obs) * v / t.minNoise
	}
	b.Printed.Iota = 2 + b.Printed.Omega*math.Sqrt(obs)
	b.Corrected.Iota = 2 + b.Corrected.Omega*math.Sqrt(obs)
}

// priorVariance returns v_i, the largest prior variance of a task's process on
// the index set.
func (t *evaluation) priorVariance(s *model.Source) float64 {
	n, _ := t.p.Index.Dims()
	v := make([]float64, n)
	kernel.Diag(v, s.Kernel, t.p.Index)
	return slices.Max(v)
}

func printedBound(xi, beta, bracket, sd float64) (delta, bound float64) {
	delta = xi / beta * (1 - beta/xi)
	return delta, delta*bracket + xi/beta*(xi+beta)*sd
}

func correctedBound(xi, beta, bracket, sd float64) (delta, bound float64) {
	delta = math.Abs(xi/beta - 1)
	return delta, delta*bracket + 2*xi*sd
}

// eta fills in η(x) = Σ ζ_i·(μ̃_i(x) − f(x)), μ̃_i being task i's posterior mean
// had the target been observed, without noise, at the task's points; or bounds
// on its size if f is not known.
func (t *evaluation) eta(b *theorem.Bound) error {
	observed := t.a.Observed()
	n, dim := observed.Dims()
	points := linalg.NewDense(2+n, dim, nil)
	copy(points.Row(0), t.chosen)
	copy(points.Row(1), t.chosen)
	if t.optimum != nil {
		copy(points.Row(1), t.optimum)
	}
	for k := range n {
		copy(points.Row(2+k), observed.Row(k))
	}
	eta := make([]float64, 2+n)
	for i := range t.p.Sources {
		zeta, _ := t.shares(i)
		if err := t.addEta(eta, zeta, i, points); err != nil {
			return err
		}
	}
	if t.truth == nil {
		// The optimum is unknown: its sd is at most the largest prior sd.
		eta[1] = 0
		for i, s := range t.p.Sources {
			zeta, _ := t.shares(i)
			eta[1] += zeta * t.in.Norm * math.Sqrt(t.priorVariance(s))
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
func (t *evaluation) addEta(eta []float64, zeta float64, i int, points *linalg.Dense) error {
	s := t.p.Sources[i]
	tmp := make([]float64, len(eta))
	ctx := context.Background()
	if t.truth == nil {
		if err := s.Moments(ctx, nil, tmp, points); err != nil {
			return numerical(err)
		}
		for k := range eta {
			eta[k] += zeta * t.in.Norm * math.Sqrt(tmp[k])
		}
		return nil
	}
	y := make([]float64, s.Len())
	for j := range y {
		f, err := t.truth(s.X.Row(j))
		if err != nil {
			return err
		}
		y[j] = f
	}
	task := s.Task
	task.Y = y
	hypothetical, err := model.NewSource(ctx, task, s.Hyper)
	if err == nil {
		err = hypothetical.Moments(ctx, tmp, nil, points)
	}
	if err != nil {
		return numerical(err)
	}
	linalg.Axpy(eta, zeta, tmp)
	return nil
}

// estimateGaps bounds D_i by what the posterior leaves possible.
func (t *evaluation) estimateGaps(beta float64) ([]float64, error) {
	gaps := make([]float64, len(t.p.Sources))
	for i, s := range t.p.Sources {
		mean, sd := make([]float64, s.Len()), make([]float64, s.Len())
		if err := t.a.Predict(context.Background(), mean, sd, s.X); err != nil {
			return nil, numerical(err)
		}
		for j, y := range s.Y {
			gaps[i] = max(gaps[i], math.Abs(mean[j]-y)+beta*sd[j])
		}
	}
	return gaps, nil
}
