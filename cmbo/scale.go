package cmbo

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/internal/special"
)

// YPolicy says how measured values are brought to a common scale before a
// model sees them, task by task: tuning histories of different data sets share
// the shape of their response, not its units.
type YPolicy uint8

const (
	// ZScore subtracts the mean and divides by the population standard
	// deviation; fewer than two distinct values are only centred. The default,
	// and what the paper's zero-mean priors assume.
	ZScore YPolicy = iota
	// MinMax maps the smallest value to 0 and the largest to 1; fewer than two
	// distinct values become 0.5.
	MinMax
	// RawValues leaves values as they are: for data that is on a common scale. Its
	// name is "none".
	RawValues
	// Copula maps ranks to normal quantiles, ties averaged, with the quantile
	// clipped at 1/(4 n^(1/4) sqrt(pi ln n)) from either end (Winsorised
	// normal scores; Salinas, Shen and Perrone, A quantile-based approach for
	// hyperparameter transfer learning, ICML 2020).
	Copula
)

var yPolicyNames = [...]string{"zscore", "minmax", "none", "copula"}

// String returns the policy's name in lower case.
func (p YPolicy) String() string { return names.Of(yPolicyNames[:], int(p), "YPolicy") }

// ParseYPolicy returns the policy that prints as name, letter case ignored. It
// fails with [ErrOption].
func ParseYPolicy(name string) (YPolicy, error) {
	for p := ZScore; p.valid(); p++ {
		if strings.EqualFold(name, p.String()) {
			return p, nil
		}
	}
	return 0, optionErrorf("unknown y policy %q; there are %s", name, strings.Join(yPolicyNames[:], ", "))
}

func (p YPolicy) valid() bool { return int(p) < len(yPolicyNames) }

// Apply returns the values of one task on the policy's scale. Values of at most
// 1e150 in size give finite results; y is not changed.
func (p YPolicy) Apply(y []float64) []float64 { return scaleValues(p, y).z }

// scale applies the policy to values and their noise variances.
func (p YPolicy) scale(y, noise []float64) (scaled, variances []float64) {
	s := scaleValues(p, y)
	return s.z, s.noiseVariances(noise)
}

// scaling is a fitted policy: values y were replaced by z, and near the data
// z = (y - shift)/scale.
type scaling struct {
	z            []float64
	shift, scale float64
	sortedY      []float64 // Copula only: the distinct values and their scores
	sortedZ      []float64
}

// scaleValues fits policy p to y and applies it. Scaled values of at most 1e150
// in size stay finite, as does the scale.
func scaleValues(p YPolicy, y []float64) scaling {
	s := scaling{z: make([]float64, len(y)), scale: 1}
	if len(y) == 0 {
		return s
	}
	lo, hi := slices.Min(y), slices.Max(y)
	switch p {
	case RawValues:
		copy(s.z, y)
		return s
	case MinMax:
		if !(hi > lo) {
			s.shift = lo - 0.5
			break
		}
		s.shift, s.scale = lo, hi-lo
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
		s.shift = mid + sum/n
		if hi > lo {
			var ss float64
			for _, v := range y {
				d := (v - s.shift) / (hi - lo)
				ss += d * d
			}
			s.scale = (hi - lo) * math.Sqrt(ss/n)
			if !(s.scale > 0) {
				s.scale = 1 // the spread is below the rounding of the mean
			}
		}
	}
	for i, v := range y {
		s.z[i] = (v - s.shift) / s.scale
	}
	return s
}

// copula fills in the normal scores and, for the way back, a line through the
// scores by least squares: a rank transform has no scale of its own.
func (s *scaling) copula(y []float64) {
	n := len(y)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return y[order[a]] < y[order[b]] })
	clip := 0.5
	if n > 1 {
		clip = 1 / (4 * math.Pow(float64(n), 0.25) * math.Sqrt(math.Pi*math.Log(float64(n))))
	}
	for i := 0; i < n; {
		j := i
		for j < n && y[order[j]] == y[order[i]] {
			j++
		}
		q := float64(i+j) / 2 / float64(n) // mean of the mid-ranks (k-1/2)/n
		z := special.NormQuantile(min(max(q, clip), 1-clip))
		for k := i; k < j; k++ {
			s.z[order[k]] = z
		}
		s.sortedY = append(s.sortedY, y[order[i]])
		s.sortedZ = append(s.sortedZ, z)
		i = j
	}
	lin := scaleValues(ZScore, y)
	s.shift, s.scale = lin.shift, lin.scale
	var zz, zy float64
	for i := range y {
		zz += s.z[i] * s.z[i]
		zy += s.z[i] * lin.z[i]
	}
	if zz > 0 && zy > 0 {
		s.scale *= zy / zz
	}
}

// back turns a scaled mean and standard deviation into the user's units. It
// is exact for the linear policies. For Copula the mean is interpolated in the
// table of scores and continued by the regression line beyond it, and the
// deviation is multiplied by the line's slope.
func (s *scaling) back(mean, sd float64) (float64, float64) {
	if len(s.sortedY) > 1 {
		z, y := s.sortedZ, s.sortedY
		last := len(z) - 1
		switch {
		case mean <= z[0]:
			return y[0] + (mean-z[0])*s.scale, sd * s.scale
		case mean >= z[last]:
			return y[last] + (mean-z[last])*s.scale, sd * s.scale
		}
		i := sort.SearchFloat64s(z, mean)
		if z[i] == z[i-1] { // clipped scores share one value
			return y[i], sd * s.scale
		}
		t := (mean - z[i-1]) / (z[i] - z[i-1])
		return y[i-1] + t*(y[i]-y[i-1]), sd * s.scale
	}
	return s.shift + mean*s.scale, sd * s.scale
}

// noiseVariances converts measurement variances to the scaled units, 0 standing
// for unknown; nil if none is known.
func (s *scaling) noiseVariances(noise []float64) []float64 {
	var v []float64
	for i, x := range noise {
		if x > 0 {
			if v == nil {
				v = make([]float64, len(noise))
			}
			// Beyond that the value says nothing, and infinity would spoil
			// what the others say.
			v[i] = min(x/s.scale/s.scale, points.MaxValue)
		}
	}
	return v
}

// orient turns a user's value into one to be maximised, and back.
func orient(y float64, minimize bool) float64 {
	if minimize {
		return -y
	}
	return y
}

// orientAll does so with a list of values.
func orientAll(y []float64, minimize bool) []float64 {
	out := make([]float64, len(y))
	for i, v := range y {
		out[i] = orient(v, minimize)
	}
	return out
}
