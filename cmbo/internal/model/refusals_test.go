package model

import (
	"context"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// known is a process of a known kernel and a constant mean.
type known struct {
	k    kernel.Kernel
	mean float64
}

func (p known) At(_ context.Context, _ int, mean, variance []float64, cross, y, x *linalg.Dense) error {
	for i := range mean {
		mean[i] = p.mean
	}
	if variance != nil {
		kernel.Diag(variance, p.k, x)
	}
	if cross != nil {
		kernel.Cross(cross, p.k, y, x)
	}
	return nil
}

// TestEvidenceAfterError: data that were refused by one component and never reached
// the next leave no trace in the weights of those that follow.
func TestEvidenceAfterError(t *testing.T) {
	p := &Prior{
		Index: linalg.NewDense(1, 1, nil), Labels: []int{0, 1, 1},
		Prototypes: []Prototype{{Evaluator: known{kernel.Matern32(0.3), 0.5}}, {Evaluator: known{kernel.Matern52(1), -0.2}}},
	}
	v := NewView(p, 1)
	_, err := v.visit(context.Background(), linalg.NewDense(4, 1, []float64{0.1, 0.2, 0.5, 0.9}))
	require.NoError(t, err)
	noises := []float64{0.1, 0.1}
	weights := func(b *ByEvidence, obs []int, y ...float64) ([]float64, error) {
		return b.Weigh(&v, &Data{Y: y}, obs, noises)
	}
	b := NewByEvidence(p)
	_, err = weights(b, []int{0, 1}, 1, 2)
	require.NoError(t, err)
	_, err = weights(b, []int{2, 3}, math.NaN(), 1)
	require.Error(t, err)
	got, err := weights(b, []int{2, 3}, -0.4, 0.3)
	require.NoError(t, err)
	want, err := weights(NewByEvidence(p), []int{2, 3}, -0.4, 0.3)
	require.NoError(t, err)
	require.Equal(t, want, got)

	// Two observations against the density of a normal of two coordinates.
	var density [2]float64
	for i, proto := range p.Prototypes {
		k := proto.Evaluator.(known)
		a, c := 1+noises[0], k.k.Eval([]float64{0.5}, []float64{0.9})
		r, s := -0.4-k.mean, 0.3-k.mean
		det := a*a - c*c
		density[i] = float64(1+i) / 3 * math.Exp(-(a*r*r-2*c*r*s+a*s*s)/(2*det)) / math.Sqrt(det)
	}
	require.InDelta(t, density[0]/(density[0]+density[1]), got[0], 1e-14)
	require.Error(t, b.CheckState([]float64{1}))
}

// TestCheckFitted: parameters are those of one of the forms that a fit chooses from,
// and of a noise variance.
func TestCheckFitted(t *testing.T) {
	g := NewPlain(3, false, nil, math.NaN(), nil, nil, 1)
	for n := range 8 {
		err := g.CheckFitted(make([]float64, n))
		if n == 3 || n == 5 { // the variance, one lengthscale or three, and the noise
			require.NoError(t, err)
		} else {
			require.Error(t, err, "%d parameters", n)
		}
	}
	require.NoError(t, g.CheckFitted([]float64{1, -1, -740}))
	for _, params := range [][]float64{{0, 0, -1e3}, {0, 0, 1e3}, {0, 0, math.NaN()}, {math.NaN(), 0, 0}, {0, math.Inf(1), 0}} {
		require.Error(t, g.CheckFitted(params), "%v", params)
	}
}
