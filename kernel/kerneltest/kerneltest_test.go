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
	case "asymmetric at the edge":
		return k.v/(1+s/2) + 12*eps*one(x, y, 0.31, 0.62)
	case "asymmetric beyond the edge":
		return k.v/(1+s/2) + 13*eps*one(x, y, 0.31, 0.62)
	case "asymmetric at the last point":
		if x[0] > 0.6 && x[1] > 0.9 && y[1] == 0 {
			return k.v/(1+s/2) + 1e-9
		}
	case "modifies one":
		x[0] += 1e-3 * one(x, y, 0.31, 0.62)
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
	case "gradient value low":
		return v * (1 - 1e-9)
	case "gradient value at the edge":
		return v + 12*eps
	case "gradient value beyond the edge":
		return v + 13*eps
	case "gradient ninth digit":
		dst[0] *= 1 + 4e-9
	case "gradient tenth digit":
		dst[0] *= 1 + 5e-10
	}
	return v
}

const eps = 0x1p-52

// one is 1 for two points on the first axis, one at from and one at to, in this order, and else 0.
func one(x, y []float64, from, to float64) float64 {
	if x[1] == 0 && y[1] == 0 && math.Abs(x[0]-from) < 1e-9 && math.Abs(y[0]-to) < 1e-9 {
		return 1
	}
	return 0
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
		{"gradient value low", "param gradient"},
		{"gradient value beyond the edge", "param gradient"},
		{"gradient ninth digit", "param gradient"},
		{"asymmetric beyond the edge", "symmetry"},
		{"asymmetric at the last point", "symmetry"},
		{"modifies one", "symmetry"},
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
	for _, sound := range []string{"asymmetric at the edge", "gradient value at the edge", "gradient tenth digit"} {
		kerneltest.TestKernel(t, newRational(sound), grid())
	}
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

// table is a kernel of two points with variances of 8 and the covariance that it is given, whose parameters do not
// change it. Their numbers, and its value when they have been set twice, are off by multiples of eps.
type table struct {
	cov, paramOff, backOff float64
	theta                  []float64
	set                    *int
	defect                 string
}

func newTable() *table { return &table{cov: 1, theta: []float64{0.25, -2.5}, set: new(int)} }

func (k *table) Eval(x, y []float64) float64 {
	if x[0] == y[0] {
		return 8
	}
	return k.cov
}

func (k *table) NumParams() int { return len(k.theta) }

func (k *table) AppendParams(dst []float64) []float64 {
	first := k.theta[0]
	if len(dst) > 0 {
		switch k.defect {
		case "changes what it appends to":
			dst[0] = 0
		case "appends other numbers":
			first++
		}
	}
	return append(append(dst, first), k.theta[1:]...)
}

func (k *table) WithParams(theta []float64) (kernel.Kernel, error) {
	if n := len(theta) - len(k.theta); n != 0 && !(n == 1 && k.defect == "takes one more") && !(n == -1 && k.defect == "takes one fewer") {
		return nil, errors.New("count")
	}
	for _, t := range theta {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return nil, errors.New("not finite")
		}
	}
	out := *k
	out.theta = append([]float64{}, theta...)
	if len(theta) > 1 {
		out.theta[0] += k.paramOff
		out.theta[1] += 2 * k.paramOff // its size is above 2
	}
	if k.defect == "changes its parameters" {
		k.theta = []float64{k.theta[0] + 1, k.theta[1]}
	}
	if *k.set++; *k.set == 2 {
		out.cov += k.backOff
	}
	return &out, nil
}

// TestEdges: what differs by rounding is not reported, and what differs by a little more is.
func TestEdges(t *testing.T) {
	two := linalg.NewDense(2, 1, []float64{0, 1})
	for name, tt := range map[string]struct {
		change func(k *table)
		check  string
	}{
		"two points":          {func(*table) {}, ""},
		"covariance":          {func(k *table) { k.cov = 8 + 128*eps }, ""},
		"less covariance":     {func(k *table) { k.cov = -8 - 128*eps }, ""},
		"more covariance":     {func(k *table) { k.cov = 8 + 136*eps }, "semidefinite"},
		"much less":           {func(k *table) { k.cov = -8 - 136*eps }, "semidefinite"},
		"parameters":          {func(k *table) { k.paramOff = 8 * eps }, ""},
		"parameters below":    {func(k *table) { k.paramOff = -8 * eps }, ""},
		"parameters beyond":   {func(k *table) { k.paramOff = 8.5 * eps }, "params"},
		"value":               {func(k *table) { k.backOff = 5120 * eps }, ""},
		"value below":         {func(k *table) { k.backOff = -5120 * eps }, ""},
		"value beyond":        {func(k *table) { k.backOff = 5130 * eps }, "params"},
		"value far below":     {func(k *table) { k.backOff = -5130 * eps }, "params"},
		"π is lost":           {func(k *table) { k.defect = "changes what it appends to" }, "params"},
		"others after π":      {func(k *table) { k.defect = "appends other numbers" }, "params"},
		"other parameters":    {func(k *table) { k.defect = "changes its parameters" }, "params"},
		"one more":            {func(k *table) { k.defect = "takes one more" }, "params"},
		"one fewer":           {func(k *table) { k.defect = "takes one fewer" }, "params"},
		"none in place of it": {func(k *table) { k.theta, k.defect = k.theta[:1], "takes one fewer" }, "params"},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			k := newTable()
			tt.change(k)
			kerneltest.TestKernel(&r, k, two)
			if reports := strings.Join(r.reports, "\n"); tt.check == "" && reports != "" || !strings.Contains(reports, tt.check) {
				t.Errorf("check %q: reports %q", tt.check, reports)
			}
		})
	}
}

// TestName: reports name a kernel by what it prints as.
func TestName(t *testing.T) {
	var r recorder
	kerneltest.TestKernel(&r, named{newRational("count")}, grid())
	if len(r.reports) == 0 || !strings.HasPrefix(r.reports[0], "rational quadratic: params: ") {
		t.Errorf("reports %q", r.reports)
	}
}

type named struct{ *rational }

func (named) String() string { return "rational quadratic" }

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
