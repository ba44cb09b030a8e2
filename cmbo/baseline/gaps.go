package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// GapSettings holds the constants of RM-GP-UCB and RM-GP-TS.
type GapSettings struct {
	// Eta is the rate η at which weights follow the gaps.
	Eta float64
	// Decay is r, the largest factor by which the share of the past tasks
	// changes in a step, from 0 to 1.
	Decay float64
	// Exponent is ε, with which the share follows the gaps.
	Exponent float64
	// Tau multiplies the deviation of the tasks' processes; the square root of
	// the authors' τ.
	Tau float64
	// BetaScale is κ in β_t = √(κ·d·ln 2t), d the number of coordinates.
	BetaScale float64
	// MaxGap takes the largest bound over a task's observations for its gap, as
	// the theory has it, in place of the mean.
	MaxGap bool
}

// DefaultGapSettings returns the constants of the authors' experiments: η = 1, r
// = 0.7, ε = 0.7, τ = 1, κ = 0.2, mean gaps.
func DefaultGapSettings() GapSettings {
	return GapSettings{Eta: 1, Decay: 0.7, Exponent: 0.7, Tau: 1, BetaScale: 0.2}
}

// beta returns β_t.
func (g GapSettings) beta(dim, t int) float64 {
	return math.Sqrt(g.BetaScale * float64(dim) * math.Log(2*float64(t)))
}

// gapFloor is the smallest variance of the target's process in a gap.
const gapFloor = 1e-6

// gapRun is what RM-GP-UCB and RM-GP-TS share: the target's process and the
// weights that follow from the gaps between it and the tasks, after each query.
//
// The upper bound of the gap between the target and observation j of task i is
//
//	g_ij = max(|μ(x_ij) + β·s(x_ij) − y_ij|, |μ(x_ij) − β·s(x_ij) − y_ij|)
//	     = |μ(x_ij) − y_ij| + β·s(x_ij),
//
// its mean over j the gap d_i. The process is the one of that time: gaps of
// earlier queries are kept, and computed again where they are not known.
type gapRun struct {
	*target
	view
	set  GapSettings
	gaps map[int]gapEntry // by number of observations
	// of the latest Fit:
	w     []float64 // of the tasks
	nu    float64   // share of the tasks
	query int       // number t of the query to come
}

type gapEntry struct {
	beta float64
	d    []float64
}

func newGapRun(b *past, c *config, seed uint64) *gapRun {
	r := &gapRun{target: newTarget(b.dim, seed, c), view: view{past: b}, set: c.gaps, gaps: make(map[int]gapEntry)}
	r.forget = func(n int) {
		for m := range r.gaps {
			if m > n {
				delete(r.gaps, m)
			}
		}
	}
	return r
}

// Fit conditions the target's process and updates weights and share.
func (r *gapRun) Fit(ctx context.Context, d cmbo.Data) error {
	r.w = nil
	if err := r.target.Fit(ctx, d); err != nil {
		return err
	}
	err := r.weigh(ctx)
	r.has = err == nil
	return err
}

// weigh goes through the queries so far. Observations in excess of the queries
// are those the run began with: the number of queries is that of the trials asked
// before, less the ones without a value.
func (r *gapRun) weigh(ctx context.Context) error {
	n, k := len(r.d.Y), len(r.sources)
	queries := min(max(r.d.Step-1-points.Len(r.d.Pending), 0), n)
	first := n - queries
	r.query = queries + 1
	r.nu = 1
	r.w = make([]float64, k)
	if k == 0 {
		r.nu = 0
		return nil
	}
	sum := make([]float64, k)
	expWeights(r.w, sum, r.set.Eta)
	for m := max(first, 1); m <= n; m++ {
		d, err := r.gapsAt(ctx, m, max(m-first, 1))
		if err != nil {
			return err
		}
		var mean float64
		linalg.Axpy(sum, 1, d)
		expWeights(r.w, sum, r.set.Eta)
		for i, v := range d {
			mean += r.w[i] * v
		}
		r.nu *= min(r.set.Decay, math.Pow(mean, -r.set.Exponent))
	}
	return nil
}

// gapsAt returns the gaps of the tasks after n observations, with the β of
// query t.
func (r *gapRun) gapsAt(ctx context.Context, n, t int) ([]float64, error) {
	beta := r.set.beta(r.target.dim, t)
	if e, ok := r.gaps[n]; ok && e.beta == beta {
		return e.d, nil
	}
	p, err := r.posteriorAt(ctx, n)
	if err != nil {
		return nil, err
	}
	d := make([]float64, len(r.sources))
	for i, s := range r.sources {
		rows := len(s.z)
		mean, sd := make([]float64, rows), make([]float64, rows)
		if err := p.Moments(ctx, mean, sd, s.x); err != nil {
			return nil, err
		}
		for j, y := range s.z {
			g := math.Abs(mean[j]-y) + beta*math.Sqrt(max(sd[j], gapFloor))
			if r.set.MaxGap {
				d[i] = max(d[i], g)
			} else {
				d[i] += g / float64(rows)
			}
		}
	}
	r.gaps[n] = gapEntry{beta: beta, d: d}
	return d, nil
}

// expWeights sets w_i to exp(−eta·sum_i), normalised.
func expWeights(w, sum []float64, eta float64) {
	smallest := math.Inf(1)
	for _, v := range sum {
		smallest = min(smallest, v)
	}
	var total float64
	for i, v := range sum {
		w[i] = math.Exp(-eta * (v - smallest))
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
}

// Weights returns the shares of the tasks and the target in the acquisition.
func (r *gapRun) Weights() []float64 {
	if r.w == nil {
		return nil
	}
	w := make([]float64, len(r.w)+1)
	for i, v := range r.w {
		w[i] = r.nu * v
	}
	w[len(r.w)] = 1 - r.nu
	return w
}
