package scaling

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

func TestScaleZScore(t *testing.T) {
	s := Fit(ZScore, []float64{1, 2, 3, 4})
	// Mean 2.5, population variance 1.25.
	require.InDelta(t, 2.5, s.Shift, 1e-15)
	require.InDelta(t, math.Sqrt(1.25), s.Scale, 1e-15)
	require.InDeltaSlice(t, []float64{-1.5 / s.Scale, -0.5 / s.Scale, 0.5 / s.Scale, 1.5 / s.Scale}, s.Z, 1e-15)
	require.Equal(t, []float64{0, 0, 0}, Fit(ZScore, []float64{7, 7, 7}).Z)
	require.Equal(t, 1.0, Fit(ZScore, []float64{7, 7, 7}).Scale)
	require.Equal(t, []float64{0}, Fit(ZScore, []float64{-3}).Z)
	require.Empty(t, Fit(ZScore, nil).Z)

	// A spread far below the mean keeps its digits.
	s = Fit(ZScore, []float64{1e12, 1e12 + 1, 1e12 + 2})
	require.InDeltaSlice(t, []float64{-math.Sqrt(1.5), 0, math.Sqrt(1.5)}, s.Z, 1e-12)
	// So do values near the largest that are accepted.
	s = Fit(ZScore, []float64{-points.MaxValue, 0, points.MaxValue})
	require.InDeltaSlice(t, []float64{-math.Sqrt(1.5), 0, math.Sqrt(1.5)}, s.Z, 1e-12)
	// And two values one rounding apart do not divide by zero.
	s = Fit(ZScore, []float64{1, math.Nextafter(1, 2)})
	for _, z := range s.Z {
		require.LessOrEqual(t, math.Abs(z), 1.5)
	}
}

func TestScaleMinMaxAndNone(t *testing.T) {
	require.Equal(t, []float64{0, 1, 0.25}, Fit(MinMax, []float64{-1, 3, 0}).Z)
	for _, y := range []float64{4, -1e17, points.MaxValue} {
		s := Fit(MinMax, []float64{y, y})
		require.Equal(t, []float64{0.5, 0.5}, s.Z)
		back, _ := s.Back(0.5, 0)
		require.Equal(t, y, back)
	}
	require.Equal(t, []float64{-1, 3, 0}, Fit(Raw, []float64{-1, 3, 0}).Z)
}

func TestScaleCopula(t *testing.T) {
	y := []float64{10, -5, 1e6, 10, 0}
	s := Fit(Copula, y)
	require.Equal(t, s.Z[0], s.Z[3], "ties share a score")
	require.Less(t, s.Z[1], s.Z[4])
	require.Less(t, s.Z[4], s.Z[0])
	require.Less(t, s.Z[0], s.Z[2])
	// Scores follow from ranks alone.
	require.Equal(t, s.Z, Fit(Copula, []float64{3, 1, 4, 3, 2}).Z)
	// Mid-rank of the third and the fourth of five is 3/5.
	require.InDelta(t, 0.2533471031357997, s.Z[0], 1e-14)
	// A NaN, as a surrogate may expect of a point, leaves no ranks.
	require.Equal(t, []float64{0, 0, 0}, Fit(Copula, []float64{1, math.NaN(), 2}).Z)
	// Untied, the scores are antisymmetric.
	u := Fit(Copula, []float64{1, 2, 3, 4, 5, 6, 7})
	for i := range u.Z {
		require.InDelta(t, -u.Z[6-i], u.Z[i], 1e-14)
	}
	require.Equal(t, []float64{0}, Fit(Copula, []float64{3}).Z)
	// For a thousand values the extreme quantile 1/2000 is clipped at 1/(4 n^(1/4) sqrt(pi ln n)) = 0.00954...
	var many []float64
	for i := range 1000 {
		many = append(many, float64(i))
	}
	z := Fit(Copula, many).Z
	clip := 1 / (4 * math.Pow(1000, 0.25) * math.Sqrt(math.Pi*math.Log(1000)))
	require.InDelta(t, clip, 0.5*math.Erfc(-z[0]/math.Sqrt2), 1e-12)
	require.Equal(t, z[0], z[1])
}

// TestScaleBack: the way back inverts the way in.
func TestScaleBack(t *testing.T) {
	r := rng.Stream(1, "scale back")
	y := make([]float64, 30)
	for i := range y {
		y[i] = 50 + 10*r.NormFloat64()
	}
	for p := ZScore; p <= Copula; p++ {
		s := Fit(p, y)
		for i := range y {
			got, _ := s.Back(s.Z[i], 1)
			if p == Copula && (s.Z[i] == s.sortedZ[0] || s.Z[i] == s.sortedZ[len(s.sortedZ)-1]) {
				continue // clipped
			}
			require.InDelta(t, y[i], got, 1e-10, "%s", p)
		}
		a, sa := s.Back(-9, 2)
		b, sb := s.Back(9, 4)
		require.Less(t, a, b)
		require.InDelta(t, 2*sa, sb, 1e-12*sb)
		require.Greater(t, sa, 0.0)
		c, _ := s.Back(math.NaN(), 1)
		require.True(t, math.IsNaN(c), "%s", p)
		if p == Copula { // beyond the scores by the regression line
			var zz, zy float64
			for i, z := range s.Z {
				zz, zy = zz+z*z, zy+z*(y[i]-s.Shift)
			}
			require.InEpsilon(t, zy/zz, s.Scale, 1e-12)
			last := len(s.sortedZ) - 1
			low, _ := s.Back(s.sortedZ[0]-2, 1)
			high, _ := s.Back(s.sortedZ[last]+3, 1)
			require.InDelta(t, s.sortedY[0]-2*s.Scale, low, 1e-10)
			require.InDelta(t, s.sortedY[last]+3*s.Scale, high, 1e-10)
		}
	}
}

// TestSense: values are oriented, and their logarithms have variances to first order.
func TestSense(t *testing.T) {
	y, noise := []float64{2, 0.25, 1e-140}, []float64{0.5, 0, 1}
	for _, s := range []Sense{{}, {Minimize: true}, {Log: true}, {Minimize: true, Log: true}} {
		got, variances := s.Apply(y, noise)
		for i, v := range y {
			want, variance := v, noise[i]
			if s.Log {
				want, variance = math.Log(v), min(noise[i]/v/v, points.MaxValue)
			}
			require.Equal(t, Orient(want, s.Minimize), got[i])
			require.Equal(t, variance, variances[i])
		}
		_, variances = s.Apply(y[:1], noise[:1])
		require.Equal(t, map[bool]float64{false: 0.5, true: 0.125}[s.Log], variances[0])
		_, variances = s.Apply(y, nil)
		require.Empty(t, variances)
	}
	require.Equal(t, []float64{0.5, 0, 1}, noise)
}

// TestSenseOfLogarithms: with a unit every value has an image, the logarithm where it is far above; the way back, the slope
// and the moments are of the same map.
func TestSenseOfLogarithms(t *testing.T) {
	for _, s := range []Sense{{Log: true}, {Log: true, Unit: 1e-3}, {Log: true, Unit: 4}, {Log: true, Unit: -1e-3}} {
		before := math.Inf(-1)
		for _, v := range []float64{-1e300, -7, -1e-3, 0, 1e-3, 0.5, 3, 5000, 1e300} {
			if s.Unit == 0 && v <= 0 {
				continue
			}
			z := s.See(v)
			require.Greater(t, z, before)
			before = z
			require.InDelta(t, v, s.Told(z), 1e-9*math.Hypot(v, s.Unit), "%+v %g", s, v)
			if v > 1000*s.Unit && s.Unit >= 0 {
				require.InDelta(t, math.Log(v), z, 3e-7)
			}
			if s.Unit != 0 {
				require.Equal(t, -z, Sense{Log: true, Unit: -s.Unit}.See(-v))
			}
			if math.Abs(v) < 1e299 {
				const h = 1e-5
				require.InEpsilon(t, s.Slope(v), (s.Told(z+h)-s.Told(z-h))/(2*h), 1e-6, "%+v %g", s, v)
			}
			for _, sd := range []float64{0, 0.1, 1.3} {
				var sum, mean, square float64
				for k := -2000; k <= 2000; k++ {
					e := float64(k) / 250
					w, x := math.Exp(-e*e/2), s.Told(z+sd*e)/math.Hypot(v, s.Unit)
					sum, mean, square = sum+w, mean+w*x, square+w*x*x
				}
				gotMean, gotSD := s.Moments(z, sd)
				require.InDelta(t, mean/sum, gotMean/math.Hypot(v, s.Unit), 1e-9)
				require.InDelta(t, math.Sqrt(max(square/sum-mean/sum*mean/sum, 0)), gotSD/math.Hypot(v, s.Unit), 2e-7)
			}
		}
		for _, z := range []float64{-1e4, 1e4} {
			require.False(t, math.IsInf(s.Told(z), 0))
			mean, sd := s.Moments(z, 60)
			require.False(t, math.IsInf(mean, 0) || math.IsInf(sd, 0) || math.IsNaN(mean) || math.IsNaN(sd), "%+v", s)
		}
	}
}

func TestScaleNoiseVariances(t *testing.T) {
	s := Fit(ZScore, []float64{0, 20}) // scale 10
	require.Equal(t, []float64{0.04, 0}, s.NoiseVariances([]float64{4, 0}))
	require.Nil(t, s.NoiseVariances([]float64{0, 0}))
	require.Nil(t, s.NoiseVariances(nil))
	for _, p := range []Policy{ZScore, MinMax, Raw, Copula} {
		want := map[Policy][]float64{Raw: {4, 0}}[p]
		s := Fit(p, []float64{7, 7})
		require.Equal(t, want, s.NoiseVariances([]float64{4, 0}), "%d: equal values have no unit", p)
	}
}
