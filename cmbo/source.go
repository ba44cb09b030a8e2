package cmbo

import (
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// source is the Gaussian process of one past task: zero prior mean, a kernel, a
// noise variance, conditioned on the task's scaled data. It is immutable after
// newSource and safe for concurrent use.
type source struct {
	id    string
	x     *linalg.Dense // n×d, unit cube
	y     []float64     // scaled values
	noise []float64     // noise variance of each observation
	extra []float64     // those given with the data, scaled; 0 not given, nil none
	k     kernel.Kernel
	sigma float64 // noise variance where none was given
	cond  gaussian.Conditioner

	// Hyperparameters of the process that was clustered; nil if none was.
	clusterKernel kernel.Kernel
	clusterSigma  float64
}

// newSource conditions the process on its data. extra holds the noise variances
// that came with the data, in scaled units, 0 where none did, nil for none at
// all; sigma takes the place of those.
func newSource(id string, x *linalg.Dense, y, extra []float64, k kernel.Kernel, sigma float64) (*source, error) {
	s := new(source)
	if err := s.condition(new(linalg.Sym), id, x, y, extra, k, sigma); err != nil {
		return nil, err
	}
	return s, nil
}

// condition makes s what newSource returns, on its memory and that of gram.
func (s *source) condition(gram *linalg.Sym, id string, x *linalg.Dense, y, extra []float64, k kernel.Kernel, sigma float64) error {
	*s = source{id: id, x: x, y: y, extra: extra, noise: withDefault(extra, len(y), sigma), k: k, sigma: sigma, cond: s.cond}
	kernel.Gram(gram, k, x)
	if err := s.cond.Factorize(gram, s.noise, y); err != nil {
		return numerical(err, "task %q: posterior", id)
	}
	return nil
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

// len returns the number of observations.
func (s *source) len() int { return len(s.y) }

// sourceScratch is the memory of one goroutine that works through sources.
type sourceScratch struct {
	vx    linalg.Dense
	cross linalg.Dense
}

// whiten sets v = L⁻¹·k(X, x), from which all moments at the rows of x follow.
func (s *source) whiten(v, x *linalg.Dense) error {
	kernel.Cross(v, s.k, s.x, x)
	return s.cond.Whiten(v, v)
}

// addVariance adds w times the posterior variance at the points behind v.
func (s *source) addVariance(variance []float64, w float64, v, x *linalg.Dense, tmp []float64) error {
	kernel.Diag(tmp, s.k, x)
	if err := s.cond.UpdateVariance(tmp, v); err != nil {
		return err
	}
	linalg.Axpy(variance, w, tmp)
	return nil
}

// addCross adds w times the posterior covariances of the rows of y with the
// rows of x to dst, len(y)×len(x); vy and vx are whitened.
func (s *source) addCross(dst *linalg.Dense, w float64, y, vy, x, vx *linalg.Dense, tmp *linalg.Dense) error {
	kernel.Cross(tmp, s.k, y, x)
	if err := s.cond.UpdateCross(tmp, vy, vx); err != nil {
		return err
	}
	dst.AddScaled(w, tmp)
	return nil
}

// jointTo writes the posterior mean and covariance at the rows of x.
func (s *source) jointTo(mean []float64, cov *linalg.Sym, x *linalg.Dense, sc *sourceScratch) error {
	if err := s.whiten(&sc.vx, x); err != nil {
		return err
	}
	clear(mean)
	if err := s.cond.UpdateMean(mean, &sc.vx); err != nil {
		return err
	}
	kernel.Gram(cov, s.k, x)
	return s.cond.UpdateCov(cov, &sc.vx)
}
