package model

import (
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Source is the Gaussian process of one past task: zero prior mean, a kernel, a
// noise variance, conditioned on the task's scaled data. It is immutable after
// newSource and safe for concurrent use.
type Source struct {
	ID     string
	X      *linalg.Dense // n×d, unit cube
	Y      []float64     // scaled values
	Given  []float64     // noise variances that came with the data, scaled; 0 not given, nil none
	Kernel kernel.Kernel
	// NoiseVariance is that of values whose own was not given.
	NoiseVariance float64

	// ClusterKernel and ClusterNoiseVariance are hyperparameters of the process
	// that was clustered; nil if none was.
	ClusterKernel        kernel.Kernel
	ClusterNoiseVariance float64

	noise []float64 // noise variance of each observation
	cond  gaussian.Conditioner
}

// NewSource conditions the process on its data. given holds the noise variances
// that came with the data, in scaled units, 0 where none did, nil for none at
// all; noise takes the place of those.
func NewSource(id string, x *linalg.Dense, y, given []float64, k kernel.Kernel, noise float64) (*Source, error) {
	s := new(Source)
	if err := s.condition(new(linalg.Sym), id, x, y, given, k, noise); err != nil {
		return nil, err
	}
	return s, nil
}

// condition makes s what NewSource returns, on its memory and that of gram.
func (s *Source) condition(gram *linalg.Sym, id string, x *linalg.Dense, y, given []float64, k kernel.Kernel, noise float64) error {
	*s = Source{ID: id, X: x, Y: y, Given: given, Kernel: k, NoiseVariance: noise, noise: withDefault(given, len(y), noise), cond: s.cond}
	kernel.Gram(gram, k, x)
	return wrap(s.cond.Factorize(gram, s.noise, y), "task %q: posterior", id)
}

// withDefault replaces the entries of v that are 0, or of a nil v, by unknown.
func withDefault(v []float64, n int, unknown float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = unknown
		if v != nil && v[i] > 0 {
			out[i] = v[i]
		}
	}
	return out
}

// NoiseRange returns the smallest and the largest noise variance of its data.
func (s *Source) NoiseRange() (lo, hi float64) { return slices.Min(s.noise), slices.Max(s.noise) }

// Mean writes the posterior mean at the rows of x.
func (s *Source) Mean(mean []float64, x *linalg.Dense) error {
	var v linalg.Dense
	if err := s.Whiten(&v, x); err != nil {
		return err
	}
	clear(mean)
	return s.cond.UpdateMean(mean, &v)
}

// Len returns the number of observations.
func (s *Source) Len() int { return len(s.Y) }

// SourceScratch is the memory of one goroutine that works through sources.
type SourceScratch struct {
	vx    linalg.Dense
	cross linalg.Dense
}

// Whiten sets v = L⁻¹·k(X, x), from which all moments at the rows of x follow.
func (s *Source) Whiten(v, x *linalg.Dense) error {
	kernel.Cross(v, s.Kernel, s.X, x)
	return s.cond.Whiten(v, v)
}

// AddVariance adds w times the posterior variance at the points behind v.
func (s *Source) AddVariance(variance []float64, w float64, v, x *linalg.Dense, tmp []float64) error {
	kernel.Diag(tmp, s.Kernel, x)
	if err := s.cond.UpdateVariance(tmp, v); err != nil {
		return err
	}
	linalg.Axpy(variance, w, tmp)
	return nil
}

// addCross adds w times the posterior covariances of the rows of y with the
// rows of x to dst, len(y)×len(x); vy and vx are whitened.
func (s *Source) addCross(dst *linalg.Dense, w float64, y, vy, x, vx *linalg.Dense, tmp *linalg.Dense) error {
	kernel.Cross(tmp, s.Kernel, y, x)
	if err := s.cond.UpdateCross(tmp, vy, vx); err != nil {
		return err
	}
	dst.AddScaled(w, tmp)
	return nil
}

// Joint writes the posterior mean and covariance at the rows of x.
func (s *Source) Joint(mean []float64, cov *linalg.Sym, x *linalg.Dense, sc *SourceScratch) error {
	if err := s.Whiten(&sc.vx, x); err != nil {
		return err
	}
	clear(mean)
	if err := s.cond.UpdateMean(mean, &sc.vx); err != nil {
		return err
	}
	kernel.Gram(cov, s.Kernel, x)
	return s.cond.UpdateCov(cov, &sc.vx)
}
