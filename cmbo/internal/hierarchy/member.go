package hierarchy

import (
	"cmp"
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// A member of a run's mixture is a hypothesis, conditioned on the points told.
type member struct {
	*hypothesis
	log   float64 // log prior mass
	noise float64 // its own or the run's

	whitened
	in      inner
	fit     affinePosterior
	mass    float64   // posterior
	awaited *whitened // with the points awaited, nil for none
}

// whitened is the factor of a member's covariances at points, with noise, and what it
// whitens there: values, ones and prior means.
type whitened struct {
	chol     linalg.Cholesky
	yt, u, v []float64
}

// add conditions on a point more, whose covariances with the others and itself are row.
func (w *whitened) add(row []float64, noise, y, mean float64) error {
	if err := appendRow(&w.chol, row, noise); err != nil {
		return err
	}
	n := len(row) - 1
	l := w.chol.Lower().Row(n)
	next := func(v []float64, x float64) []float64 { return append(v, (x-linalg.Dot(l[:n], v))/l[n]) }
	w.yt, w.u, w.v = next(w.yt, y), next(w.u, 1), next(w.v, mean)
	return nil
}

// addTo conditions what a member whitens, its own or with points awaited, on a point whose value is y.
func (k *member) addTo(w *whitened, p *point, y float64) error {
	row := make([]float64, len(p.with.rest))
	k.mean(row[:1], p.located)
	mean := row[0]
	k.covariance(row, &p.with)
	return w.add(row, cmp.Or(p.given, k.noise), y, mean)
}

// grow conditions a member on points; values are taken from centre.
func (k *member) grow(pts []*point, y []float64, centre float64) error {
	for i := len(k.yt); i < len(pts); i++ {
		if err := k.addTo(&k.whitened, pts[i], y[i]-centre); err != nil {
			return err
		}
		k.in.add(k.yt[i], k.u[i], k.v[i], k.chol.Lower().Row(i)[i])
	}
	return nil
}

// appendRow grows a factor by a point whose covariances with the others and itself
// are row. Noise that leaves the matrix singular is enlarged until it does not.
func appendRow(c *linalg.Cholesky, row []float64, noise float64) error {
	n := len(row) - 1
	scale := math.Max(row[n], math.SmallestNonzeroFloat64)
	var err error
	for extra := range linalg.Jitters(gaussian.MaxJitter) {
		if err = c.Append(row[:n], row[n]+noise+extra*scale); err == nil {
			return nil
		}
	}
	return err
}
