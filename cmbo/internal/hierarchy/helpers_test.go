package hierarchy

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// uniform returns n points of the unit cube.
func uniform(r *rand.Rand, n, dim int) *linalg.Dense {
	x := linalg.NewDense(n, dim, nil)
	for i := range n {
		for j := range dim {
			x.Row(i)[j] = r.Float64()
		}
	}
	return x
}

// family is a kind of tasks: smooth functions with a common part.
func family(r *rand.Rand, x []float64, own float64) float64 {
	s := math.Sin(5*x[0]) + 0.5*math.Cos(3*x[len(x)-1])
	return s + own*math.Sin(7*x[0]+2*x[len(x)-1]+own) + 0.01*r.NormFloat64()
}

// makeTasks makes k tasks of n observations with values near shift and a spread of
// scale.
func makeTasks(seed uint64, k, n, dim int, shift, scale float64) []Task {
	var out []Task
	for i := range k {
		r := rng.Stream(seed, "tasks", uint64(i))
		x := uniform(r, n, dim)
		y := make([]float64, n)
		for j := range y {
			y[j] = shift + scale*family(r, x.Row(j), float64(i%3))
		}
		out = append(out, scaled(fmt.Sprintf("task %d", i), x, y))
	}
	return out
}

// scaled makes a task of raw values.
func scaled(id string, x *linalg.Dense, y []float64) Task {
	var mean float64
	for _, v := range y {
		mean += (v - y[0]) / float64(len(y))
	}
	mean += y[0]
	sd := deviation(y)
	if !(sd > 0) {
		sd = 1
	}
	z := make([]float64, len(y))
	for i, v := range y {
		z[i] = (v - mean) / sd
	}
	return Task{ID: id, X: x, Z: z, Shift: mean, Scale: sd}
}

// testSettings are small ones, of values as they are.
func testSettings(dim int) Settings {
	o := DefaultSettings(dim)
	o.Steps, o.Compress, o.Neighbours, o.OwnFrom = 6, false, 16, [2]int{15, 55} // fewer values are seen with the past's lengths and noise
	return o
}

// improving returns the masses of a member's parts by which an improvement counts: divided by their scales, with the sum
// that they have.
func improving(k weighted) []float64 {
	var sum, divided float64
	out := make([]float64, len(k.fit.parts))
	for j, a := range k.fit.parts {
		if !k.upright || a.s > 0 {
			out[j] = a.mass / math.Abs(a.s)
			sum, divided = sum+a.mass, divided+out[j]
		}
	}
	for j := range out {
		out[j] *= k.w * sum / divided
	}
	return out
}

func learn(t *testing.T, tasks []Task, z *linalg.Dense, o Settings) *Model {
	t.Helper()
	m, err := Learn(context.Background(), tasks, z, o)
	require.NoError(t, err)
	return m
}

// fixedBase is a base process of known parameters.
func fixedBase(dim int) Base {
	return Base{Kernel: kernel.Scale(1.3, kernel.Matern32(lengths(dim)...)), Mean: 0.2, NoiseVariance: 0.02}
}

func lengths(dim int) []float64 {
	l := make([]float64, dim)
	for i := range l {
		l[i] = 0.4 + 0.2*float64(i)
	}
	return l
}

// solve returns A⁻¹·b and ln det A.
func solve(t *testing.T, a *linalg.Sym, b []float64) ([]float64, float64) {
	t.Helper()
	var c linalg.Cholesky
	require.NoError(t, c.Factorize(a))
	x := make([]float64, len(b))
	c.SolveVecTo(x, b)
	return x, c.LogDet()
}

// nodesOf returns the nodes that a run on values without given noise has.
func nodesOf(p *affinePrior, y []float64, reversed float64) []node {
	lo, hi := p.span(deviation(y), len(y))
	return p.nodes(lo, hi, len(y), reversed)
}
