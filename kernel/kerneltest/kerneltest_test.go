package kerneltest_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/kernel/kerneltest"
	"github.com/gocmbo/cmbo/linalg"
)

// recorder takes the place of a test and keeps what is reported.
type recorder struct {
	testing.TB
	reports []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

// rational is a kernel of another package: v/(1 + r²/2) with one length. Each
// defect is the name of a line gone wrong.
type rational struct {
	v, l   float64
	defect string
	calls  *int
}

func newRational(defect string) *rational {
	return &rational{v: 1.5, l: 0.6, defect: defect, calls: new(int)}
}

func (k *rational) Eval(x, y []float64) float64 {
	var s float64
	for i, v := range x {
		d := (v - y[i]) / k.l
		if k.defect == "asymmetric" && d < 0 {
			d *= 1 + 1e-9
		}
		s += d * d
	}
	switch k.defect {
	case "negative":
		return -k.v / (1 + s/2)
	case "indefinite":
		return k.v * (1 - s/8)
	case "grows":
		return k.v * (1 + s/2)
	case "modifies":
		x[0] += 1e-3
	case "stateful":
		*k.calls++
		return k.v/(1+s/2) + 1e-9*float64(*k.calls)
	}
	return k.v / (1 + s/2)
}

func (k *rational) NumParams() int {
	if k.defect == "count" {
		return 3
	}
	return 2
}

func (k *rational) AppendParams(dst []float64) []float64 {
	switch k.defect {
	case "overwrites":
		dst = dst[:0]
	case "not logs":
		return append(dst, k.v, k.l)
	}
	return append(dst, math.Log(k.v), math.Log(k.l))
}

func (k *rational) WithParams(theta []float64) (kernel.Kernel, error) {
	if len(theta) != 2 && k.defect != "takes any count" {
		return nil, errors.New("count")
	}
	if len(theta) < 2 {
		return k, nil
	}
	for _, t := range theta {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			switch k.defect {
			case "takes NaN":
				continue
			case "panics":
				panic("rational: bad parameter")
			}
			return nil, errors.New("not finite")
		}
	}
	out := *k
	out.v, out.l = math.Exp(theta[0]), math.Exp(theta[1])
	switch k.defect {
	case "swaps":
		out.v, out.l = out.l, out.v
	case "ignores":
		out.l = k.l
	case "mutates":
		k.v = out.v
	case "loses digits":
		out.v = float64(float32(out.v))
	case "fails":
		return nil, errors.New("refused")
	}
	return &out, nil
}

func (k *rational) ParamGrad(dst, x, y []float64) float64 {
	v := k.Eval(x, y)
	s := 2 * (k.v/v - 1)
	dst[0] = v
	dst[1] = v * v / k.v * s
	switch k.defect {
	case "gradient sign":
		dst[1] = -dst[1]
	case "gradient not by logs":
		dst[1] /= k.l
	case "gradient digits":
		dst[1] *= 1 + 1e-6
	case "gradient left out":
		dst[0] = math.NaN()
	case "gradient value":
		return v * (1 + 1e-9)
	}
	return v
}

func grid() *linalg.Dense {
	x := linalg.NewDense(9, 2, nil)
	for i := range 9 {
		x.Set(i, 0, float64(i%3)*0.31)
		x.Set(i, 1, float64(i/3)*0.47)
	}
	return x
}

// TestDefects plants one defect at a time and names the check that must see it.
func TestDefects(t *testing.T) {
	tests := []struct{ defect, check string }{
		{"count", "params"},
		{"overwrites", "params"},
		{"not logs", "params"},
		{"takes any count", "params"},
		{"takes NaN", "params"},
		{"panics", "params"},
		{"swaps", "params"},
		{"ignores", "params"},
		{"mutates", "params"},
		{"loses digits", "params"},
		{"fails", "params"},
		{"asymmetric", "symmetry"},
		{"modifies", "symmetry"},
		{"negative", "semidefinite"},
		{"indefinite", "semidefinite"},
		{"grows", "semidefinite"},
		{"stateful", "symmetry"},
		{"gradient sign", "param gradient"},
		{"gradient not by logs", "param gradient"},
		{"gradient digits", "param gradient"},
		{"gradient left out", "param gradient"},
		{"gradient value", "param gradient"},
	}
	for _, tt := range tests {
		t.Run(tt.defect, func(t *testing.T) {
			var r recorder
			func() {
				defer func() {
					if p := recover(); p != nil {
						r.reports = append(r.reports, fmt.Sprint("panic: ", p))
					}
				}()
				kerneltest.TestKernel(&r, newRational(tt.defect), grid())
			}()
			found := false
			for _, s := range r.reports {
				t.Log(s)
				found = found || strings.Contains(s, ": "+tt.check+": ")
			}
			if !found {
				t.Errorf("check %q reports nothing", tt.check)
			}
		})
	}
}

// TestSound runs the suite on kernels that keep the contract, among them one that
// vanishes at a point.
func TestSound(t *testing.T) {
	kerneltest.TestKernel(t, newRational(""), grid())
	kerneltest.TestKernel(t, linear{}, grid())
	kerneltest.TestKernel(t, kernel.Sum(newRational(""), kernel.Constant(0.2)), grid())
	kerneltest.TestKernel(t, kernel.Product(linear{}, newRational("")), grid())
	kerneltest.TestKernel(t, kernel.Product(linear{}, plain{newRational("")}), grid())
	rng := testutil.RNG(t)
	x := linalg.NewDense(12, 3, nil)
	for i := range 12 {
		for d := range 3 {
			x.Set(i, d, rng.NormFloat64())
		}
	}
	kerneltest.TestKernel(t, newRational(""), x)
}

// linear is x·y, without parameters, zero at the origin, which is a grid point.
type linear struct{}

func (linear) Eval(x, y []float64) float64           { return linalg.Dot(x, y) }
func (linear) NumParams() int                        { return 0 }
func (linear) AppendParams(dst []float64) []float64  { return dst }
func (linear) ParamGrad(dst, x, y []float64) float64 { return linalg.Dot(x, y) }
func (linear) WithParams(th []float64) (kernel.Kernel, error) {
	if len(th) != 0 {
		return nil, errors.New("no parameters")
	}
	return linear{}, nil
}

// plain hides the gradients of a kernel.
type plain struct{ k kernel.Kernel }

func (p plain) Eval(x, y []float64) float64          { return p.k.Eval(x, y) }
func (p plain) NumParams() int                       { return p.k.NumParams() }
func (p plain) AppendParams(dst []float64) []float64 { return p.k.AppendParams(dst) }
func (p plain) WithParams(th []float64) (kernel.Kernel, error) {
	k, err := p.k.WithParams(th)
	if err != nil {
		return nil, err
	}
	return plain{k}, nil
}

func TestPoints(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for one point")
		}
	}()
	kerneltest.TestKernel(t, linear{}, linalg.NewDense(1, 2, nil))
}

func ExampleTestKernel() {
	t := new(recorder) // in a test, its *testing.T
	kerneltest.TestKernel(t, kernel.Scale(2, kernel.Matern32(0.5)), grid())
	fmt.Println(len(t.reports), "failures")
	// Output: 0 failures
}
