package points

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func rows(dim int, v ...float64) *linalg.Dense { return linalg.NewDense(len(v)/dim, dim, v) }

// TestKey: zeros of either sign are the same point, the smallest difference is
// another one, and coordinates do not run into each other.
func TestKey(t *testing.T) {
	assert.Equal(t, Key([]float64{0, 1}), Key([]float64{math.Copysign(0, -1), 1}))
	assert.NotEqual(t, Key([]float64{1}), Key([]float64{math.Nextafter(1, 2)}))
	assert.NotEqual(t, Key([]float64{0, 1}), Key([]float64{1, 0}))
	assert.NotEqual(t, Key([]float64{0}), Key([]float64{0, 0}))
}

func TestAdmitted(t *testing.T) {
	for _, v := range []float64{0, -1e150, 1e150} {
		assert.True(t, Admitted(v), "%g", v)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1.1e150, -1.1e150} {
		assert.False(t, Admitted(v), "%g", v)
	}
}

func TestRows(t *testing.T) {
	x := rows(2, 0, 1, 2, 3, 0, 1, 4, 5)
	assert.Equal(t, 4, Len(x))
	assert.Zero(t, Len(nil))
	assert.True(t, Equal(rows(2, 0, 1, 2, 3), First(x, 2)))
	assert.True(t, Equal(rows(2, 4, 5, 0, 1), Pick(x, []int{3, 0})))
	assert.True(t, Equal(rows(2, 0, 1, 2, 3, 4, 5), Distinct(x)))
	assert.True(t, Equal(rows(2, 2, 3, 0, 1, 4, 5), Distinct(rows(2, 2, 3), x)))
	assert.True(t, Equal(x, Join(First(x, 2), rows(2, 0, 1, 4, 5))))
	assert.True(t, Equal(x, Join(nil, x)))
	assert.True(t, Equal(x, Join(x, linalg.NewDense(0, 2, nil))))
	assert.Equal(t, 2, Same(x, rows(2, 0, 1, 2, 3, 7, 7, 4, 5)))
	assert.Equal(t, 2, Same(x, First(x, 2)))
	assert.Zero(t, Same(nil, x))
	assert.False(t, Equal(rows(2, 0, 1), rows(1, 0)))
	assert.False(t, Equal(x, First(x, 3)))
	assert.Equal(t, []int{3, 0, 1}, Locate(rows(2, 4, 5, 0, 1, 2, 3), x), "the first of equal rows")
	assert.Nil(t, Locate(rows(2, 4, 5, 9, 9), x))
	assert.Equal(t, map[string]int{Key([]float64{0, 1}): 0, Key([]float64{2, 3}): 1, Key([]float64{4, 5}): 3}, Places(x))
	n, dim := Join(nil, nil).Dims()
	assert.Zero(t, n+dim)
	assert.True(t, Equal(rows(2, 0, 1, 0, 1, 2, 3, 2, 4, 4, 5), Sorted(rows(2, 2, 4, 4, 5, 0, 1, 2, 3, 0, 1))))
	assert.Same(t, x, Sample(x, 4, 1, "all"))
	drawn := make(map[string]bool)
	for seed := range uint64(50) {
		at := Locate(Sample(rows(1, 5, 6, 7), 2, seed, "two"), rows(1, 5, 6, 7))
		assert.Less(t, at[0], at[1])
		drawn[fmt.Sprint(at)] = true
	}
	assert.Len(t, drawn, 3)
}

// TestApart: rows that nothing has chosen are all apart, and of a run that has converged those are that lie next to no better
// one.
func TestApart(t *testing.T) {
	r := rng.Stream(1, t.Name())
	for dim := 1; dim <= 6; dim++ {
		x, y := linalg.NewDense(100, dim, nil), make([]float64, 100)
		for i := range y {
			for j := range dim {
				x.Row(i)[j] = r.Float64()
			}
			y[i] = r.NormFloat64()
		}
		require.Nil(t, Apart(x, y), dim)
		near := math.Pow(100, -1/float64(dim)) / 4
		for i := 40; i < 100; i++ { // less than that from the best row in each coordinate
			y[i] = 10 - float64(i)/100
			for j := range dim {
				x.Row(i)[j] = x.At(40, j) + float64(i-40)/60*near*float64(2*(j%2)-1)
			}
		}
		got := Apart(x, y)
		require.Equal(t, slices.Max(y), got[0])
		require.LessOrEqual(t, len(got), 41)
		require.Subset(t, y, got)
		for _, v := range got[1:] {
			require.Less(t, v, 9.0, "a row next to the best one")
		}
		x.Row(99)[0] += 2 // no other is there
		require.Contains(t, Apart(x, y), y[99])
	}
	for _, far := range []int{6, 7} { // and one where all others are
		x, y := linalg.NewDense(20, 1, nil), make([]float64, 20)
		for i := range far {
			x.Set(i, 0, 0.1*float64(1+i))
		}
		if got := Apart(x, y); far == 7 {
			require.Len(t, got, 8)
		} else {
			require.Nil(t, got, "seven are too few")
		}
	}
	same := linalg.NewDense(20, 2, nil)
	require.Nil(t, Apart(same, make([]float64, 20)), "too few")
	for i := range 20 { // two to a place
		same.Set(i, 0, float64(i/2))
	}
	require.Nil(t, Apart(same, make([]float64, 20)), "half of the rows")
	three, y := linalg.NewDense(24, 1, nil), make([]float64, 24) // to a place, the first one the best
	for i := range y {
		three.Set(i, 0, float64(i/3))
		y[i] = -float64(i)
	}
	require.Equal(t, []float64{0, -3, -6, -9, -12, -15, -18, -21}, Apart(three, y))
}

// TestApartAsComparedWithAll: rows of a lattice, around a few rows and of switches are apart as they are where each is compared
// with all that are kept.
func TestApartAsComparedWithAll(t *testing.T) {
	apart := 0
	for _, dim := range []int{1, 2, 3, 5, 40} {
		for _, n := range []int{30, 60, 400} {
			r := rng.Stream(uint64(n), t.Name(), uint64(dim))
			x, y := linalg.NewDense(n, dim, nil), make([]float64, n)
			for i := range y {
				y[i] = r.NormFloat64()
				for j := range dim {
					switch {
					case j%4 == 3:
						x.Set(i, j, float64(r.IntN(2)))
					case n == 60: // as far from each other as next, to rounding
						x.Set(i, j, float64(r.IntN(40))*math.Pow(float64(n), -1/float64(dim))/4)
					default:
						x.Set(i, j, 0.5*float64(r.IntN(2))+0.1*math.Pow(float64(n), -1/float64(dim))*r.NormFloat64())
					}
				}
			}
			next := math.Pow(float64(n), -1/float64(dim)) / 4
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(y[j], y[i]) })
			var kept []int
			for _, i := range order {
				if !slices.ContainsFunc(kept, func(k int) bool {
					most := 0.0
					for j, v := range x.Row(k) {
						most = max(most, math.Abs(v-x.At(i, j)))
					}
					return most < next
				}) {
					kept = append(kept, i)
				}
			}
			got := Apart(x, y)
			if len(kept) < 8 || 2*len(kept) >= n {
				require.Nil(t, got, "%d rows of %d", n, dim)
				continue
			}
			apart++
			require.Equal(t, Entries(y, kept), got, "%d rows of %d", n, dim)
		}
	}
	require.GreaterOrEqual(t, apart, 5)
}

func BenchmarkApart(b *testing.B) {
	for _, n := range []int{50, 2000, 65536} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			r := rng.Stream(1, "apart")
			x, y := linalg.NewDense(n, 6, nil), make([]float64, n)
			for i := range y {
				y[i] = r.NormFloat64()
				for j := range 6 {
					x.Set(i, j, r.Float64())
				}
			}
			for b.Loop() {
				Apart(x, y)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
