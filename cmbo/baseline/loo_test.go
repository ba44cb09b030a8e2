package baseline

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// The posterior without an observation, had by a rank-one change, is that of a
// process which was never given it: mean and covariance at all points.
func TestLeaveOneOut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		noise float64
		twin  bool // two observations at one point
	}{
		{"noisy", 0.3, false},
		{"nearly exact", 1e-4, false},
		{"repeated point", 1e-2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testRNG(t)
			const n = 8
			k := kernel.Scale(1.4, kernel.Matern52(0.5, 0.8))
			x := randomPoints(r, n, 2)
			if tt.twin {
				copy(x.Row(3), x.Row(0))
			}
			y, noise := make([]float64, n), make([]float64, n)
			for i := range y {
				y[i], noise[i] = r.NormFloat64(), tt.noise*(0.5+r.Float64())
			}
			full, err := gp.Condition(ctx, gp.FromKernel{Kernel: k}, x, y, noise)
			require.NoError(t, err)
			l, err := newLeaveOneOut(ctx, full, y)
			require.NoError(t, err)
			for j := range n {
				var idx []int
				var yj, dj []float64
				for i := range n {
					if i != j {
						idx, yj, dj = append(idx, i), append(yj, y[i]), append(dj, noise[i])
					}
				}
				p, err := gp.Condition(ctx, gp.FromKernel{Kernel: k}, points.Pick(x, idx), yj, dj)
				require.NoError(t, err)
				mean := make([]float64, n)
				var cov linalg.Sym
				require.NoError(t, p.Moments(ctx, mean, nil, x))
				require.NoError(t, p.Gram(ctx, &cov, x))
				u := l.u.Row(j)
				for i := range n {
					// A factor 1e-16·cond(A), cond(A) up to 1e5 here, for each side.
					require.InDelta(t, mean[i], l.mean[i]-u[i]*l.shift[j], 1e-9)
					for p := range n {
						s := linalg.Dot(l.factor.Row(i), l.factor.Row(p)) + u[i]*u[p]*l.spread[j]*l.spread[j]
						require.InDelta(t, cov.At(i, p), s, 1e-9)
					}
				}
			}
		})
	}
}

// The losses are those of the draws that the factors describe, counted pair by
// pair; their mean is the probability of ranking a pair wrongly.
func TestLeaveOneOutLosses(t *testing.T) {
	r := testRNG(t)
	const n, draws = 5, 4096
	k := kernel.Scale(1, kernel.Matern32(0.6))
	x := randomPoints(r, n, 2)
	y := []float64{0.3, -1, 0.8, 0.3, 1.5}
	noise := []float64{0.05, 0.05, 0.05, 0.05, 0.05}
	full, err := gp.Condition(ctx, gp.FromKernel{Kernel: k}, x, y, noise)
	require.NoError(t, err)
	l, err := newLeaveOneOut(ctx, full, y)
	require.NoError(t, err)
	z := &normals{seed: 1, label: "z", draws: draws}
	e := &normals{seed: 1, label: "e", draws: draws}
	loss := make([]float64, draws)
	l.losses(loss, y, z.get(n), e.get(n))
	var mean float64
	for s := range draws {
		var want float64
		for j := range n {
			f := make([]float64, n) // the draw without j
			for i := range f {
				f[i] = l.mean[i] - l.u.Row(j)[i]*l.shift[j] + l.u.Row(j)[i]*l.spread[j]*e.rows[j][s]
				for p := range n {
					f[i] += l.factor.At(i, p) * z.rows[p][s]
				}
			}
			for k := range n {
				if k != j && (f[j] < f[k]) != (y[j] < y[k]) {
					want++
				}
			}
		}
		require.Equal(t, want, loss[s], "draw %d", s)
		mean += loss[s] / draws
	}
	var want float64
	for j := range n {
		for k := range n {
			if k == j {
				continue
			}
			u := l.u.Row(j)
			m := l.mean[j] - l.mean[k] - (u[j]-u[k])*l.shift[j]
			v := (u[j] - u[k]) * (u[j] - u[k]) * l.spread[j] * l.spread[j]
			for p := range n {
				d := l.factor.At(j, p) - l.factor.At(k, p)
				v += d * d
			}
			below := 0.5 * math.Erfc(m/math.Sqrt(2*v))
			if y[j] < y[k] {
				below = 1 - below
			}
			want += below
		}
	}
	// The loss lies in [0, 20]; quasi-random draws do better than the standard
	// error 10/√4096 of independent ones, of which this is half.
	require.InDelta(t, want, mean, 0.08)
}

// Coordinates are standard normal, unrelated, and stay as they are when more of
// them are asked for.
func TestNormals(t *testing.T) {
	z := normals{seed: 3, label: "x", draws: 1024}
	first := z.get(2)[1][17]
	rows := z.get(130)
	require.Equal(t, first, rows[1][17])
	for i := range 130 {
		m, v := stat.MeanVariance(rows[i])
		// One point in each 1/1024 of the unit interval.
		require.InDelta(t, 0, m, 0.01)
		require.InDelta(t, 1, v, 0.02)
	}
	other := normals{seed: 3, label: "y", draws: 1024}
	unrelated := func(a, b []float64, what string) {
		// Signs and products: a sequence that goes in step with another one under
		// another scrambling agrees in its leading digits.
		var c, sign float64
		for s := range a {
			c += a[s] * b[s] / 1024
			sign += math.Copysign(1, a[s]*b[s]) / 1024
		}
		require.InDelta(t, 0, c, 5.0/32, what) // five standard errors of independent draws
		require.InDelta(t, 0, sign, 5.0/32, what)
	}
	for i := range 64 {
		unrelated(rows[i], rows[(i+1)%64], "neighbours")
		unrelated(rows[i], rows[64+i], "blocks")
		unrelated(rows[i], other.get(64)[i], "sequences")
	}
}
