package baseline

import (
	"math"
	"math/rand/v2"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// network is a fully connected network: layers of tanh or of max(·, 0), all of them of that form.
// Its weights lie in one vector, by layer a row for each input and then the biases.
type network struct {
	sizes []int // inputs, then the outputs of each layer
	relu  bool
}

func (n *network) size() int {
	var total int
	for l := range n.sizes[1:] {
		total += (n.sizes[l] + 1) * n.sizes[l+1]
	}
	return total
}

// start draws weights from a uniform distribution of variance 2/(inputs + outputs) and
// biases of 0 (X. Glorot and Y. Bengio, AISTATS 2010).
func (n *network) start(r *rand.Rand) []float64 {
	theta := make([]float64, 0, n.size())
	for l, in := range n.sizes[:len(n.sizes)-1] {
		out := n.sizes[l+1]
		bound := math.Sqrt(6 / float64(in+out))
		for range in * out {
			theta = append(theta, bound*(2*r.Float64()-1))
		}
		theta = append(theta, make([]float64, out)...)
	}
	return theta
}

// layer returns views of the weights and biases of a layer, and what comes after it.
func (n *network) layer(theta []float64, l int) (w *linalg.Dense, bias, rest []float64) {
	in, out := n.sizes[l], n.sizes[l+1]
	return linalg.NewDense(in, out, theta[:in*out]), theta[in*out : (in+1)*out], theta[(in+1)*out:]
}

// pass is the memory of one pass through a network.
type pass struct {
	act  []*linalg.Dense // by layer, a row a point; the first holds the points
	keep []*linalg.Dense // by layer what outputs are multiplied by, nil for 1
	grad linalg.Dense
	down linalg.Dense
}

// centred returns points of the unit cube as inputs, between -1 and 1.
func centred(x *linalg.Dense) *linalg.Dense {
	out := new(linalg.Dense)
	out.Copy(x)
	for i := range points.Len(out) {
		row := out.Row(i)
		for j := range row {
			row[j] = 2*row[j] - 1
		}
	}
	return out
}

// forward returns the outputs of the last layer at the inputs x, which p keeps until the next pass.
func (n *network) forward(p *pass, theta []float64, x *linalg.Dense) *linalg.Dense {
	layers := len(n.sizes) - 1
	for len(p.act) <= layers {
		p.act = append(p.act, new(linalg.Dense))
	}
	p.act[0] = x
	for l := range layers {
		w, bias, rest := n.layer(theta, l)
		theta = rest
		out := p.act[l+1]
		out.Mul(p.act[l], w)
		for i := range points.Len(out) {
			row := out.Row(i)
			for j, b := range bias {
				if v := row[j] + b; n.relu {
					row[j] = max(v, 0)
				} else {
					row[j] = math.Tanh(v)
				}
			}
			if p.keep != nil {
				for j, k := range p.keep[l].Row(i) {
					row[j] *= k
				}
			}
		}
	}
	return p.act[layers]
}

// backward adds to grad, laid out as the weights, the derivatives of a function of the
// outputs of the last forward pass, given its derivatives by these.
func (n *network) backward(p *pass, theta, grad []float64, outputs *linalg.Dense) {
	layers := len(n.sizes) - 1
	offset := n.size()
	p.grad.Copy(outputs)
	var dw linalg.Dense
	for l := layers - 1; l >= 0; l-- {
		offset -= (n.sizes[l] + 1) * n.sizes[l+1]
		w, _, _ := n.layer(theta[offset:], l)
		gw, gb, _ := n.layer(grad[offset:], l)
		act := p.act[l+1]
		for i := range points.Len(act) {
			row, g := act.Row(i), p.grad.Row(i)
			for j, a := range row {
				k := 1.0
				if p.keep != nil {
					if k = p.keep[l].At(i, j); k > 0 {
						a /= k
					}
				}
				switch {
				case !n.relu:
					g[j] *= k * (1 - a*a)
				case a > 0:
					g[j] *= k
				default:
					g[j] = 0
				}
				gb[j] += g[j]
			}
		}
		dw.TransMul(p.act[l], &p.grad)
		gw.AddScaled(1, &dw)
		if l > 0 {
			p.down.MulTrans(&p.grad, w)
			p.grad, p.down = p.down, p.grad
		}
	}
}
