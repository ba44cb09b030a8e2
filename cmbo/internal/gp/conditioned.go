package gp

import (
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// Conditioned conditions on a list of observations, and on pending ones whose values are not known
// yet, given their prior covariances as numbers. It sees no points: the caller keeps the order in
// which the observations were given, and brings their covariances with other points in that order.
//
// The zero value conditions on nothing. Grow, Factorize and Reset change it; the other methods may run concurrently. Of
// the methods of [gaussian.Conditioner] those that add observations one by one are not for callers.
type Conditioned struct {
	gaussian.Conditioner
	noise []float64 // variances, by observation
}

// A Row sets dst, of length i+1, to the prior covariances of entry i with the entries 0 to i.
type Row func(dst []float64, i int) error

// Noise returns the variances on the diagonal that are none of the prior: the noise of each entry and the jitter.
func (d *Conditioned) Noise() []float64 {
	out := slices.Clone(d.noise)
	for i := range out {
		out[i] += d.Jitter()
	}
	return out
}

// Factorize conditions on the observations with prior covariance cov, noise
// variances noise and residuals resid = y − prior mean, in one factorisation.
func (d *Conditioned) Factorize(cov *linalg.Sym, noise, resid []float64) error {
	d.noise = append(d.noise[:0], noise...)
	if err := d.Conditioner.Factorize(cov, d.noise, resid); err != nil {
		d.noise = d.noise[:0]
		return numerical(err, "conditioning on %d observations", len(resid))
	}
	return nil
}

// Grow conditions on observations with the prior covariances that row gives. Of those known before, the first same keep
// their part of the factor if they also keep their noise variances; the caller says of how many the covariances are as
// they were. Rows grown one at a time or all at once are the same to the bit. Where a row makes the covariance singular
// the whole matrix is factorised with what jitter it needs, and at the next call again.
//
// It takes O(n²) time for each new observation. After an error d conditions on nothing.
func (d *Conditioned) Grow(same int, row Row, noise, resid []float64) error {
	n := len(resid)
	if len(noise) != n {
		panic(fmt.Sprintf("gp: Grow: %d noise variances for %d observations", len(noise), n))
	}
	known := d.Len()
	if known > same || known > n || d.Jitter() != 0 || !slices.Equal(d.noise, noise[:min(known, n)]) {
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
		if d.Append(dst[:i], dst[i], noise[i], resid[i]) != nil {
			cov := linalg.NewSym(n, nil)
			for r := range n {
				if err := row(cov.Row(r)[:r+1], r); err != nil {
					d.Reset()
					return err
				}
			}
			cov.Mirror()
			return d.Factorize(cov, noise, resid)
		}
	}
	if err := d.SetResid(resid); err != nil {
		d.Reset()
		return numerical(err, "conditioning on %d observations", n)
	}
	return nil
}

// Reset makes d condition on nothing, keeping its memory.
func (d *Conditioned) Reset() {
	d.Conditioner.Reset()
	d.noise = d.noise[:0]
}

// WithPending returns d with p more entries of the given noise variance, whose values are what d predicts: means stay
// as they are, variances shrink. row is as for Grow, the pending entries being those from d.Len() on. An entry that the
// ones before determine to rounding gets what more noise its row needs. Without pending entries it returns d itself;
// with them, what it returns only predicts: Grow would take them for observations.
func (d *Conditioned) WithPending(p int, row Row, noise float64) (*Conditioned, error) {
	if p == 0 {
		return d, nil
	}
	n := d.Len()
	out := &Conditioned{Conditioner: *d.Clone(), noise: slices.Grow(slices.Clone(d.noise), p)}
	dst := make([]float64, n+p)
	for i := n; i < n+p; i++ {
		if err := row(dst[:i+1], i); err != nil {
			return nil, err
		}
		var err error
		for share := range linalg.Jitters(gaussian.MaxJitter) {
			all := noise + share*dst[i]
			if err = out.AppendExpected(dst[:i], dst[i], all); err == nil {
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
