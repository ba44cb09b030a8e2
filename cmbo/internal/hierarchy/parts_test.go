package hierarchy

import (
	"flag"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var partsOf = flag.Int("parts-of", 240, "values of each task of TestPartsForetell")

// inParts has tasks of more than so many values taken in parts.
func inParts(t *testing.T, rows int) {
	old := partRows
	partRows = rows
	t.Cleanup(func() { partRows = old })
}

// TestTaskParts: parts of a task hold each of its values once, as many to one, and lie apart.
func TestTaskParts(t *testing.T) {
	r := rng.Stream(1, t.Name())
	task := Task{ID: "long", X: uniform(r, 100, 3), Z: testutil.Normals(r, 100), Noise: testutil.Normals(r, 100)}
	for i := range 100 {
		task.X.Row(i)[1] *= 3
	}
	require.Len(t, task.parts(100), 1)
	parts := task.parts(30)
	require.Len(t, parts, 4)
	at := make(map[float64]int)
	for i, z := range task.Z {
		at[z] = i
	}
	for k, p := range parts {
		require.Len(t, p.Z, 25)
		for i, z := range p.Z {
			row, once := at[z]
			require.True(t, once)
			delete(at, z)
			require.Equal(t, task.X.Row(row), p.X.Row(i))
			require.Equal(t, task.Noise[row], p.Noise[i])
			for _, q := range parts[k+1:] {
				for j := range q.Z {
					require.LessOrEqual(t, p.X.At(i, 1), q.X.At(j, 1))
				}
			}
		}
	}
}

// TestPartsForetell: a task in halves foretells its function on a grid off its points about as well as the whole does, and is
// about as sure.
func TestPartsForetell(t *testing.T) {
	testutil.SkipShort(t, "it compares errors")
	for _, dim := range []int{2, 4, 6} {
		for _, noise := range []float64{0.02, 0.3} {
			r := rng.Stream(uint64(dim), t.Name())
			waves := each.Below(40, func(int) []float64 { return testutil.Normals(r, dim+2) })
			f := func(x []float64) (y float64) {
				for _, w := range waves {
					angle := 2 * math.Pi * w[dim]
					for j, v := range x {
						angle += 3 * w[j] * v
					}
					y += w[dim+1] * math.Cos(angle) / math.Sqrt(20)
				}
				return y
			}
			x, z := uniform(r, *partsOf, dim), uniform(r, *partsOf/8, dim)
			values := each.Below(*partsOf, func(i int) float64 { return f(x.Row(i)) + noise*r.NormFloat64() })
			task := Task{ID: "long", X: x, Z: values}
			settings := testSettings(dim)
			base, _, err := fitBase(ctx, []Task{task}, &settings)
			require.NoError(t, err)
			g := newGrid(*base, z, 64)
			var whole []float64
			var wholeError, wholeShare float64
			for parts := 1; parts <= 4; parts *= 2 {
				inParts(t, *partsOf/parts)
				c, err := g.concentrate(&task)
				require.NoError(t, err)
				var e estep
				m := g.start()
				mean, err := e.posteriorMean(c, m, base.Mean)
				require.NoError(t, err)
				e.chol.SolveLowerTo(&e.white, &e.proj)
				if parts == 1 {
					whole = mean
				}
				var squares, share, moved float64
				for i, v := range mean {
					variance := m.Cov.At(i, i)
					for k := range c.len() {
						variance -= e.white.At(k, i) * e.white.At(k, i)
					}
					d := v - f(z.Row(i))
					squares += d * d
					share += d * d / variance / float64(len(mean))
					moved += (v - whole[i]) * (v - whole[i]) / variance / float64(len(mean))
				}
				rmse := math.Sqrt(squares / float64(len(mean)))
				t.Logf("%d coordinates, noise %g, %d parts: error %.4f, squared over the variance %.2f, %.2f deviations from the whole",
					dim, noise, parts, rmse, share, math.Sqrt(moved))
				if parts == 1 {
					wholeError, wholeShare = rmse, share
				}
				if parts == 2 {
					require.Less(t, rmse, 1.3*wholeError)
					require.Less(t, share, max(1.2, 1.5*wholeShare))
				}
			}
		}
	}
}
