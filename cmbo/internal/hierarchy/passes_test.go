package hierarchy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// passesOf makes a pass from the moments of the base process on a grid, without a sample.
func passesOf(z *linalg.Dense, neighbours int) *Pass {
	g := newGrid(fixedBase(2), z, neighbours)
	return &Pass{g, g.prior()}
}

func tallyOf(t *testing.T, p *Pass, tasks []Task) *Tally {
	t.Helper()
	sums := p.NewTally()
	for i := range tasks {
		require.NoError(t, sums.Add(&tasks[i]))
	}
	return sums
}

// TestPassesAreEM: passes give the likelihoods and the moments of EM over all tasks at
// once, which adds in floating point, on the grid and off it, and of a task in parts.
func TestPassesAreEM(t *testing.T) {
	r := rng.Stream(1, "passes")
	z := uniform(r, 30, 2)
	tasks := makeTasks(4, 40, 12, 2, 5, 3)
	for i := range tasks {
		for k := range 6 { // some points of the grid
			copy(tasks[i].X.Row(k), z.Row(r.IntN(30)))
		}
		tasks[i].Noise = make([]float64, 12)
		tasks[i].Noise[3] = 0.1
	}
	inParts(t, 20)
	tasks = append(tasks, makeTasks(6, 1, 45, 2, 5, 3)...)
	n, _ := z.Dims()
	for _, shrink := range []float64{0, 0.5} {
		moments, logs, err := EM(context.Background(), fixedBase(2), z, tasks, shrink, 5, 1)
		require.NoError(t, err)
		p := passesOf(z, n)
		for i := range 5 {
			var log float64
			p, log = p.Next(tallyOf(t, p, tasks), shrink)
			require.InEpsilon(t, logs[i], log, 1e-12, "pass %d", i)
			if i > 0 && shrink == 0 {
				require.Greater(t, log, logs[i-1], "EM climbs")
			}
		}
		scale := moments.Cov.Trace() / float64(n)
		for i := range n {
			require.InDelta(t, moments.Mean[i], p.at.Mean[i], 1e-11)
			for j := range i + 1 {
				require.InDelta(t, moments.Cov.At(i, j), p.at.Cov.At(i, j), 1e-11*scale)
			}
		}
	}
}

// TestPassLikelihood: the sum of the tasks' log likelihoods is that of the joint density
// of their values under the moments carried off the grid, worked out from the definition.
func TestPassLikelihood(t *testing.T) {
	r := rng.Stream(2, "passes")
	z := uniform(r, 25, 2)
	p := passesOf(z, 6)
	tasks := makeTasks(5, 20, 8, 2, 0, 1)
	p, _ = p.Next(tallyOf(t, p, tasks), 0.3) // moments that are not the base's
	var want float64
	b := p.grid.base
	for _, task := range tasks {
		s, err := p.grid.locate(task.X, new(linalg.Dense))
		require.NoError(t, err)
		w := linalg.NewDense(8, 25, nil)
		for i := range 8 {
			for a, g := range s.idx[i] {
				w.Row(i)[g] = s.w[i][a]
			}
		}
		var gram linalg.Sym
		var cross linalg.Dense
		kernel.Gram(&gram, b.Kernel, task.X)
		kernel.Cross(&cross, b.Kernel, task.X, z)
		cov, resid := linalg.NewSym(8, nil), make([]float64, 8)
		for i := range 8 {
			resid[i] = task.Z[i] - b.Mean
			for g := range 25 {
				resid[i] -= w.At(i, g) * (p.at.Mean[g] - b.Mean)
			}
			for j := range i + 1 {
				v := gram.At(i, j) // of f_b(x) less the weights' share, and then of the moments
				for g := range 25 {
					v -= w.At(i, g)*cross.At(j, g) + w.At(j, g)*cross.At(i, g)
					for h := range 25 {
						v += w.At(i, g) * w.At(j, h) * (p.grid.gram.At(g, h) + p.at.Cov.At(g, h))
					}
				}
				if i == j {
					v += b.NoiseVariance
				}
				cov.Set(i, j, v)
			}
		}
		alpha, logDet := solve(t, cov, resid)
		want -= 0.5 * (linalg.Dot(alpha, resid) + logDet + 8*math.Log(2*math.Pi))
	}
	_, log := p.Next(tallyOf(t, p, tasks), 0)
	require.InEpsilon(t, want, log, 1e-11)
}

// TestTallyOrder: sums are the same bytes in any order and by any tree of merges.
func TestTallyOrder(t *testing.T) {
	r := rng.Stream(3, "passes")
	p := passesOf(uniform(r, 20, 2), 6)
	tasks := makeTasks(6, 30, 7, 2, 0, 1)
	bytes := func(s *Tally) []byte {
		var e codec.Encoder
		s.Encode(&e)
		return e.Buf
	}
	want := bytes(tallyOf(t, p, tasks))
	for range 5 {
		r.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		var parts []*Tally
		for chunk := range slices.Chunk(tasks, 1+r.IntN(9)) {
			parts = append(parts, tallyOf(t, p, chunk))
		}
		for len(parts) > 1 {
			i := r.IntN(len(parts) - 1)
			require.NoError(t, parts[i].Merge(parts[i+1]))
			parts = slices.Delete(parts, i+1, i+2)
		}
		require.Equal(t, want, bytes(parts[0]))
	}
	// A task whose sums are out of range changes nothing.
	s := tallyOf(t, p, tasks)
	bad := tasks[0]
	bad.Z = slices.Clone(bad.Z)
	bad.Z[2] = 1e9
	require.ErrorIs(t, s.Add(&bad), ErrSumRange)
	require.Equal(t, want, bytes(s))
	require.EqualValues(t, 30, s.Tasks())
	d := codec.Decoder{Buf: want}
	require.Equal(t, want, bytes(p.DecodeTally(&d)))
	for _, cut := range []int{0, 1, len(want) - 1} {
		d := codec.Decoder{Buf: want[:cut]}
		require.Nil(t, p.DecodeTally(&d), cut)
		require.Error(t, d.Err, cut)
	}
}

func BenchmarkTallyAdd(b *testing.B) {
	for _, c := range []struct {
		grid, n int
		on      bool
	}{{500, 50, true}, {500, 50, false}, {500, 10, false}} {
		b.Run(fmt.Sprintf("grid=%d,n=%d,on=%t", c.grid, c.n, c.on), func(b *testing.B) {
			r := rng.Stream(1, "benchmark")
			z := uniform(r, c.grid, 2)
			p := passesOf(z, 16)
			task := makeTasks(7, 1, c.n, 2, 0, 1)[0]
			for i := range c.n {
				if c.on {
					copy(task.X.Row(i), z.Row(i*c.grid/c.n))
				}
			}
			s := p.NewTally()
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Add(&task); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
