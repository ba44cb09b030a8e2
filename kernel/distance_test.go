package kernel_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// TestDistances covers equal, close, far, infinite and undefined points.
func TestDistances(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name string
		x, y []float64
		want float64 // of every shape with unit length; −1 for 0 < k < 1
	}{
		{"equal", []float64{0.3, 7}, []float64{0.3, 7}, 1},
		{"square underflows", []float64{0, 0}, []float64{1e-170, -1e-200}, 1},
		{"close", []float64{0, 0}, []float64{1e-7, 0}, -1},
		{"apart", []float64{1, 2}, []float64{3, -1}, -1},
		{"exponential underflows", []float64{0, 0}, []float64{800, 0}, 0},
		{"far", []float64{1e100, 0}, []float64{-1e100, 3}, 0},
		{"square overflows", []float64{0, 1e200}, []float64{0, 0}, 0},
		{"difference overflows", []float64{math.MaxFloat64, 0}, []float64{-math.MaxFloat64, 0}, 0},
		{"one infinite", []float64{inf, 0}, []float64{0, 0}, 0},
		{"opposite infinities", []float64{inf, 0}, []float64{-inf, 0}, 0},
		{"equal infinities", []float64{inf, 0}, []float64{inf, 0}, nan},
		{"NaN", []float64{nan, 0}, []float64{0, 0}, nan},
		{"NaN and far", []float64{nan, 1e200}, []float64{0, 0}, nan},
	}
	for _, tt := range tests {
		for name, make := range constructors {
			for _, st := range []kernel.Stationary{make(1), make(1, 1)} {
				pair := linalg.NewDense(2, 2, append(append([]float64(nil), tt.x...), tt.y...))
				var g, p linalg.Sym
				kernel.Gram(&g, st, pair)
				ps := kernel.NewPairs(pair)
				ps.Gram(&p, st)
				param := slices.Repeat([]float64{7}, st.NumParams())
				got := []float64{st.Eval(tt.x, tt.y), st.ParamGrad(param, tt.x, tt.y), g.At(1, 0), p.At(1, 0)}
				for _, v := range got {
					switch {
					case math.IsNaN(tt.want) && math.IsNaN(v), v == tt.want:
					case tt.want == -1 && v > 0 && v < 1:
					default:
						t.Errorf("%s, %s: %v, want %v", tt.name, name, got, tt.want)
					}
				}
				// The variance of a point at infinity is undefined, and so is
				// the whole sum: it is left out.
				dot := make2(st.NumParams())
				if !math.IsInf(tt.x[0], 0) {
					ps.GradDot(dot, linalg.NewSym(2, []float64{0, 1, 1, 0}))
				}
				for _, v := range append(append([]float64(nil), param...), dot...) {
					if math.IsNaN(tt.want) != math.IsNaN(v) && !(math.IsNaN(tt.want) && v == 0) {
						t.Errorf("%s, %s: gradients %v, %v", tt.name, name, param, dot)
					} else if (tt.want == 0 || tt.want == 1) && v != 0 {
						t.Errorf("%s, %s: gradients %v, %v, want zero", tt.name, name, param, dot)
					}
				}
			}
		}
	}
}

func make2(n int) []float64 { return make([]float64, n) }

// TestNaNPointShows: a matrix with an undefined point must not look sound, not
// even on the diagonal.
func TestNaNPointShows(t *testing.T) {
	x := linalg.NewDense(1, 2, []float64{0.5, math.NaN()})
	for _, k := range kernels(2) {
		if strings.HasPrefix(fmt.Sprint(k), "Constant") {
			continue
		}
		var g, p linalg.Sym
		kernel.Gram(&g, k, x)
		kernel.NewPairs(x).Gram(&p, k)
		d := make2(1)
		kernel.Diag(d, k, x)
		if !math.IsNaN(g.At(0, 0)) || !math.IsNaN(p.At(0, 0)) || !math.IsNaN(d[0]) {
			t.Errorf("%v: Gram %v, Pairs %v, Diag %v", k, g.At(0, 0), p.At(0, 0), d[0])
		}
	}
}
