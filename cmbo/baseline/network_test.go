package baseline

import (
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// The gradient is that of differences, with outputs left out or not.
func TestNetworkGradient(t *testing.T) {
	r := testRNG(t)
	x := randomPoints(r, 7, 3)
	for _, relu := range []bool{false, true} {
		for _, dropped := range []bool{false, true} {
			n := network{sizes: []int{3, 5, 4}, relu: relu}
			theta := n.start(r)
			require.Len(t, theta, n.size())
			for i := range theta {
				theta[i] += 0.1 * r.NormFloat64() // biases too
			}
			var p pass
			if dropped {
				for _, size := range n.sizes[1:] {
					k := linalg.NewDense(7, size, nil)
					for i := range 7 {
						for j := range size {
							k.Set(i, j, []float64{0, 1.25}[r.IntN(2)])
						}
					}
					p.keep = append(p.keep, k)
				}
			}
			outer := randomPoints(r, 7, 4)
			value := func() float64 {
				var sum float64
				out := n.forward(&p, theta, x)
				for i := range points.Len(out) {
					sum += linalg.Dot(out.Row(i), outer.Row(i))
				}
				return sum
			}
			value()
			grad := make([]float64, n.size())
			n.backward(&p, theta, grad, outer)
			for i := range theta {
				const h = 1e-6
				at := theta[i]
				theta[i] = at + h
				up := value()
				theta[i] = at - h
				down := value()
				theta[i] = at
				require.InDelta(t, (up-down)/2/h, grad[i], 1e-7, "weight %d, relu %v, dropped %v", i, relu, dropped)
			}
		}
	}
}
