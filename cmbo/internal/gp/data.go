package gp

import (
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// Data conditions on a list of observations, and on pending ones whose values are
// not known yet, given their prior covariances as numbers. It sees no points: the
// caller keeps the order in which the observations were given, and brings their
// covariances with other points in that order.
//
// The zero value conditions on nothing. Grow and Factorize change it; the other
// methods may run concurrently.
type Data struct {
	cond    gaussian.Conditioner
	noise   []float64 // variances, by observation
	pending int       // the last entries, which have no value
}

// A Row sets dst, of length i+1, to the prior covariances of entry i with the
// entries 0 to i.
type Row func(dst []float64, i int) error

// Len returns the number of entries, those without a value included.
func (d *Data) Len() int { return d.cond.Len() }

// Jitter returns the amount that was added to the diagonal of the covariance, 0 if
// none was needed.
func (d *Data) Jitter() float64 { return d.cond.Jitter() }

// Noise returns the variances on the diagonal that are none of the prior: the noise of
// each entry and the jitter.
func (d *Data) Noise() []float64 {
	out := slices.Clone(d.noise)
	for i := range out {
		out[i] += d.Jitter()
	}
	return out
}

// Precision sets alpha to A⁻¹·resid and inverse to A⁻¹, A the covariance of the
// observations, in O(n³) time.
func (d *Data) Precision(alpha []float64, inverse *linalg.Sym) error {
	return d.cond.Precision(alpha, inverse)
}

// LogMarginal returns the log density of the observations under the prior. It has no
// meaning where entries are pending.
func (d *Data) LogMarginal() float64 { return d.cond.LogMarginal() }

// Factorize conditions on the observations with prior covariance cov, noise
// variances noise and residuals resid = y − prior mean, in one factorisation.
func (d *Data) Factorize(cov *linalg.Sym, noise, resid []float64) error {
	d.noise = append(d.noise[:0], noise...)
	return d.factorize(cov, resid)
}

func (d *Data) factorize(cov *linalg.Sym, resid []float64) error {
	d.pending = 0
	if err := d.cond.Factorize(cov, d.noise, resid); err != nil {
		d.noise = d.noise[:0]
		return numerical(err, "conditioning on %d observations", len(resid))
	}
	return nil
}

// Grow conditions on observations with the prior covariances that row gives. Of
// those known before, the first same keep their part of the factor if they also keep
// their noise variances; the caller says of how many the covariances are as they
// were. Rows grown one at a time or all at once are the same to the bit. Where a row
// makes the covariance singular the whole matrix is factorised with what jitter it
// needs, and at the next call again.
//
// It takes O(n²) time for each new observation. After an error d conditions on
// nothing.
func (d *Data) Grow(same int, row Row, noise, resid []float64) error {
	n := len(resid)
	if len(noise) != n {
		panic(fmt.Sprintf("gp: Grow: %d noise variances for %d observations", len(noise), n))
	}
	known := d.Len()
	if d.pending > 0 || known > same || known > n || d.Jitter() != 0 || !slices.Equal(d.noise, noise[:min(known, n)]) {
		d.Reset()
		known = 0
	}
	d.noise = append(d.noise[:0], noise...)
	dst := make([]float64, n)
	for i := known; i < n; i++ {
		if err := row(dst[:i+1], i); err != nil {
			d.Reset()
			return err
		}
		if d.cond.Append(dst[:i], dst[i], noise[i], resid[i]) != nil {
			cov := linalg.NewSym(n, nil)
			for r := range n {
				if err := row(cov.Row(r)[:r+1], r); err != nil {
					d.Reset()
					return err
				}
			}
			cov.Mirror()
			return d.factorize(cov, resid)
		}
	}
	if err := d.cond.SetResid(resid); err != nil {
		d.Reset()
		return numerical(err, "conditioning on %d observations", n)
	}
	return nil
}

// Reset makes d condition on nothing, keeping its memory.
func (d *Data) Reset() {
	d.cond.Reset()
	d.noise, d.pending = d.noise[:0], 0
}

// WithPending returns d with p more entries of the given noise variance, whose
// values are what d predicts: means stay as they are, variances shrink. row is as
// for Grow, the pending entries being those from d.Len() on. An entry that the ones
// before determine to rounding gets what more noise its row needs. Without pending
// entries it returns d itself.
func (d *Data) WithPending(p int, row Row, noise float64) (*Data, error) {
	if p == 0 {
		return d, nil
	}
	n := d.Len()
	out := &Data{cond: *d.cond.Clone(), noise: slices.Grow(slices.Clone(d.noise), p), pending: d.pending + p}
	dst := make([]float64, n+p)
	for i := n; i < n+p; i++ {
		if err := row(dst[:i+1], i); err != nil {
			return nil, err
		}
		var err error
		for share := range linalg.Jitters(gaussian.MaxJitter) {
			all := noise + share*dst[i]
			if err = out.cond.AppendExpected(dst[:i], dst[i], all); err == nil {
				out.noise = append(out.noise, all)
				break
			}
		}
		if err != nil {
			return nil, numerical(err, "conditioning on %d observations and %d pending points", n, p)
		}
	}
	return out, nil
}

// Whiten makes white = L⁻¹·cross, L the factor and cross the prior covariances of
// the entries, a row each, with any points. white may be cross. All moments at the
// points follow from white and those of the prior.
func (d *Data) Whiten(white, cross *linalg.Dense) error { return d.cond.Whiten(white, cross) }

// Update turns the prior means and variances at the points behind white into those
// given the data. mean or variance may be nil.
func (d *Data) Update(mean, variance []float64, white *linalg.Dense) error {
	return d.cond.Update(mean, variance, white)
}

// UpdateGram turns the prior covariance matrix of the points behind white into that
// given the data.
func (d *Data) UpdateGram(cov *linalg.Sym, white *linalg.Dense) error {
	return d.cond.UpdateCov(cov, white)
}

// UpdateCov turns the prior covariances between the points behind v, by row, and
// those behind w into those given the data.
func (d *Data) UpdateCov(dst, v, w *linalg.Dense) error { return d.cond.UpdateCross(dst, v, w) }
