package qmc

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

func TestPermute(t *testing.T) {
	rng := testutil.RNG(t)
	for m := 0; m <= 14; m++ {
		l := newLatin(rng)
		seen := make([]bool, 1<<m)
		for i := range seen {
			j := l.permute(uint64(i), m)
			if seen[j] {
				t.Fatalf("m = %d: %d is hit twice", m, j)
			}
			seen[j] = true
		}
	}
}

// TestLatinPairs lays a grid over pairs of coordinates beyond MaxDim. The counts
// of a Latin hypercube sample in a c×c grid have chi-square statistic with mean
// about (c−1)², because the margins are exact, and standard deviation
// √2·(c−1); the mean over pairs is tested, 6 standard errors. The order being
// pseudo-random, a regular pattern would show up as a value far off.
func TestLatinPairs(t *testing.T) {
	const extra, n, c = 12, 1024, 8
	rng := testutil.RNG(t)
	s := New(MaxDim+extra, rng)
	pts := make([]float64, n*s.dim)
	fill(s, pts)
	var sum float64
	pairs := 0
	for a := MaxDim; a < s.dim; a++ {
		for b := MaxDim; b < a; b++ {
			var count [c * c]float64
			for i := range n {
				count[int(pts[i*s.dim+a]*c)*c+int(pts[i*s.dim+b]*c)]++
			}
			var chi float64
			const want = float64(n) / (c * c)
			for _, v := range count {
				chi += (v - want) * (v - want) / want
			}
			if sd := math.Sqrt2 * (c - 1); math.Abs(chi-(c-1)*(c-1)) > 6*sd {
				t.Errorf("coordinates %d and %d: chi-square %.1f, want about %d", a, b, chi, (c-1)*(c-1))
			}
			sum += chi
			pairs++
		}
	}
	mean, se := sum/float64(pairs), math.Sqrt2*(c-1)/math.Sqrt(float64(pairs))
	t.Logf("mean chi-square of %d pairs: %.2f", pairs, mean)
	if math.Abs(mean-(c-1)*(c-1)) > 6*se {
		t.Errorf("mean chi-square %.2f, want %d ± %.2f", mean, (c-1)*(c-1), se)
	}
}

// TestLatinMoments: every point of a coordinate is uniform over scramblings, the
// first one included. 6 standard errors.
func TestLatinMoments(t *testing.T) {
	const n, reps = 8, 4000
	rng := testutil.RNG(t)
	var sum, sq [n]float64
	for range reps {
		l := newLatin(rng)
		for i := range sum {
			v := unit(l.at(uint64(i)))
			sum[i] += v
			sq[i] += v * v
		}
	}
	for i := range sum {
		mean, second := sum[i]/reps, sq[i]/reps
		if se := math.Sqrt(1.0 / 12 / reps); math.Abs(mean-0.5) > 6*se {
			t.Errorf("mean of point %d is %.4f", i, mean)
		}
		if se := math.Sqrt(4.0 / 45 / reps); math.Abs(second-1.0/3) > 6*se {
			t.Errorf("second moment of point %d is %.4f", i, second)
		}
	}
}
