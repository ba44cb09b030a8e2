// Package scaling brings the measured values of a task to the scale on which models see
// them, and what models say back to the user's units.
package scaling

import (
	"cmp"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/stat"
)

// Policy says how values are scaled: see YPolicy of package cmbo.
type Policy uint8

// The policies, in the order of cmbo's.
const (
	ZScore Policy = iota
	MinMax
	Raw
	Copula
)

// Scale applies the policy to values and their noise variances.
func (p Policy) Scale(y, noise []float64) (scaled, variances []float64) {
	s := Fit(p, y)
	return s.Z, s.NoiseVariances(noise)
}

// Values are values brought to a scale: Z replaces them, and near the data z = (y - Shift)/Scale.
type Values struct {
	Z            []float64
	Shift, Scale float64
	equal        bool      // values without a scale, and so without a unit of noise: not of Raw
	sortedY      []float64 // Copula only: the distinct values and their scores
	sortedZ      []float64
}

// Apart reports whether two values differ by more than rounding, as the mean of the same numbers in another order does.
func Apart(a, b float64) bool { return math.Abs(a-b) > 1e-14*max(math.Abs(a), math.Abs(b)) }

// Fit fits policy p to y and applies it. Values that differ by rounding alone are equal but for Raw. Scaled values of
// at most 1e150 in size stay finite, as does the scale.
func Fit(p Policy, y []float64) Values {
	s := Values{Z: make([]float64, len(y)), Scale: 1}
	if len(y) == 0 {
		return s
	}
	lo, hi := slices.Min(y), slices.Max(y)
	if p != Raw && !Apart(lo, hi) {
		y, hi, s.equal = slices.Repeat([]float64{lo}, len(y)), lo, true
	}
	switch p {
	case Raw:
		copy(s.Z, y)
		return s
	case MinMax:
		if !(hi > lo) {
			s.Shift = lo - 0.5
			for i := range s.Z {
				s.Z[i] = 0.5 // beyond 2^53 Shift is lo itself, and the difference 0
			}
			return s
		}
		s.Shift, s.Scale = lo, hi-lo
	case Copula:
		s.copula(y)
		return s
	default:
		// Two passes around the midrange keep the sums free of overflow and of
		// cancellation when the spread is small beside the mean.
		mid := lo + (hi-lo)/2
		var sum float64
		for _, v := range y {
			sum += v - mid
		}
		n := float64(len(y))
		s.Shift = mid + sum/n
		if hi > lo {
			var ss float64
			for _, v := range y {
				d := (v - s.Shift) / (hi - lo)
				ss += d * d
			}
			s.Scale = (hi - lo) * math.Sqrt(ss/n)
			if !(s.Scale > 0) {
				s.Scale = 1 // the spread is below the rounding of the mean
			}
		}
	}
	for i, v := range y {
		s.Z[i] = (v - s.Shift) / s.Scale
	}
	return s
}

// copula fills in the normal scores and, for the way back, a line through the
// scores by least squares: a rank transform has no scale of its own.
func (s *Values) copula(y []float64) {
	n := len(y)
	order := stat.Order(n, func(a, b int) int { return cmp.Compare(y[a], y[b]) })
	clip := 0.5
	if n > 1 {
		clip = 1 / (4 * math.Pow(float64(n), 0.25) * math.Sqrt(math.Pi*math.Log(float64(n))))
	}
	for i := 0; i < n; {
		j := i
		for j < n && cmp.Compare(y[order[j]], y[order[i]]) == 0 { // NaN is equal to NaN, else this would not end
			j++
		}
		q := float64(i+j) / 2 / float64(n) // mean of the mid-ranks (k-1/2)/n
		z := special.NormQuantile(min(max(q, clip), 1-clip))
		for k := i; k < j; k++ {
			s.Z[order[k]] = z
		}
		s.sortedY = append(s.sortedY, y[order[i]])
		s.sortedZ = append(s.sortedZ, z)
		i = j
	}
	lin := Fit(ZScore, y)
	s.Shift, s.Scale = lin.Shift, lin.Scale
	var zz, zy float64
	for i := range y {
		zz += s.Z[i] * s.Z[i]
		zy += s.Z[i] * lin.Z[i]
	}
	if zz > 0 && zy > 0 {
		s.Scale *= zy / zz
	}
}

// Back turns a scaled mean and standard deviation into the user's units. It is exact for the linear
// policies. For Copula the mean is interpolated in the table of scores and continued by the
// regression line beyond it, and the deviation is multiplied by the line's slope.
func (s *Values) Back(mean, sd float64) (float64, float64) {
	if len(s.sortedY) > 1 {
		z, y := s.sortedZ, s.sortedY
		last := len(z) - 1
		switch {
		case mean <= z[0]:
			return y[0] + (mean-z[0])*s.Scale, sd * s.Scale
		case !(mean < z[last]): // NaN too
			return y[last] + (mean-z[last])*s.Scale, sd * s.Scale
		}
		i, _ := slices.BinarySearch(z, mean) // z[i-1] < mean, clipped scores being the ends
		t := (mean - z[i-1]) / (z[i] - z[i-1])
		return y[i-1] + t*(y[i]-y[i-1]), sd * s.Scale
	}
	return s.Shift + mean*s.Scale, sd * s.Scale
}

// NoiseVariances converts measurement variances to the scaled units, 0 standing for unknown; nil if none is known, and
// of equal values.
func (s *Values) NoiseVariances(noise []float64) []float64 {
	var v []float64
	for i, x := range noise {
		if x > 0 && !s.equal {
			if v == nil {
				v = make([]float64, len(noise))
			}
			// Beyond that the value says nothing, and infinity would spoil what the others say.
			v[i] = min(x/s.Scale/s.Scale, points.MaxValue)
		}
	}
	return v
}

// Orient turns a user's value into one to be maximised, and back.
func Orient(y float64, minimize bool) float64 {
	if minimize {
		return -y
	}
	return y
}

// A Sense says which values are good, and whether models see them or their logarithms: with a Unit by the [Warp] of it, so
// that no value is without one; below 0 it is that of values below 0, which are seen as the others' mirror image.
type Sense struct {
	Minimize, Log bool
	Unit          float64
}

// Apply returns values to be maximised, of which with Log and no Unit all are positive, and the noise variances, 0
// standing for unknown, that they have there: to first order where they are logarithms.
func (s Sense) Apply(y, noise []float64) (oriented, variances []float64) {
	oriented, variances = make([]float64, len(y)), noise
	if s.Log {
		variances = slices.Clone(noise)
	}
	for i, v := range y {
		if s.Log && len(noise) > 0 {
			slope := s.Slope(v)
			variances[i] = min(noise[i]/slope/slope, points.MaxValue)
		}
		oriented[i] = Orient(s.See(v), s.Minimize)
	}
	return oriented, variances
}

// warp returns that of the unit, and what images have to have added.
func (s Sense) warp() (w Warp, shift float64) {
	w.Unit = math.Abs(s.Unit)
	return w, Orient(w.LogUnit(), s.Unit < 0)
}

// See returns a value, or its logarithm.
func (s Sense) See(v float64) float64 {
	switch w, shift := s.warp(); {
	case !s.Log:
		return v
	case s.Unit != 0:
		return w.Apply(v) + shift
	}
	return math.Log(v)
}

// Told returns the value that v is, or is the logarithm of: a finite one, without a Unit not 0, however far a model reaches.
func (s Sense) Told(v float64) float64 {
	switch w, shift := s.warp(); {
	case !s.Log:
		return v
	case s.Unit != 0:
		return bounded(w.Invert(v - shift))
	}
	return bounded(max(math.Exp(v), math.SmallestNonzeroFloat64))
}

func bounded(v float64) float64 { return max(-math.MaxFloat64, min(v, math.MaxFloat64)) }

// Slope returns by how much a value grows with its logarithm.
func (s Sense) Slope(v float64) float64 { return math.Hypot(v, s.Unit) }

// Moments returns mean and deviation of the value whose logarithm has those of a normal distribution.
func (s Sense) Moments(mean, sd float64) (float64, float64) {
	if !s.Log {
		return mean, sd
	}
	if s.Unit == 0 {
		value := s.Told(mean + sd*sd/2)
		return value, bounded(value * math.Sqrt(math.Expm1(sd*sd)))
	}
	half := bounded(math.Exp(sd * sd / 2)) // sinh(N(m, v)) has the mean sinh(m) exp(v/2)
	value := bounded(s.Told(mean) * half)
	return value, bounded(math.Sqrt(math.Expm1(sd*sd)) * math.Hypot(value, s.Unit*math.Hypot(half, 1)/math.Sqrt2))
}
