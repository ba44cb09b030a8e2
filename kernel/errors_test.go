package kernel_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func TestWithParamsErrors(t *testing.T) {
	k := kernel.Sum(kernel.Constant(1), kernel.Scale(2, kernel.Product(kernel.Matern12(1), kernel.Matern32(3, 4))))
	theta := k.AppendParams(nil)
	names := []string{"Constant", "Scale", "Matern12", "Matern32", "Matern32"}
	for i, name := range names {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 400, -400} {
			th := append([]float64(nil), theta...)
			th[i] = bad
			_, err := k.WithParams(th)
			var pe *kernel.ParamError
			if !errors.As(err, &pe) || pe.Index != i || pe.Kernel != name || !(pe.Value == bad || pe.Value != pe.Value) {
				t.Errorf("parameter %d = %v: %v", i, bad, err)
			} else if s := err.Error(); !strings.Contains(s, name) || !strings.Contains(s, fmt.Sprint(i)) {
				t.Errorf("message %q", s)
			}
		}
	}
	for _, bound := range []float64{0x1p-500, 0x1p500} { // is in order itself, there and back
		k := kernel.Scale(bound, kernel.SquaredExp(bound))
		if back, err := k.WithParams(k.AppendParams(nil)); err != nil || fmt.Sprint(back) != fmt.Sprint(k) {
			t.Errorf("%v, there and back: %v, %v", k, back, err)
		} else if spec, err := kernel.Describe(back); err != nil {
			t.Error(err)
		} else if _, err := spec.Kernel(); err != nil { // which refuses what is beyond it
			t.Errorf("%v, there and back, described: %v", k, err)
		}
	}
	for _, k := range kernels(2) {
		_, err := k.WithParams(make2(k.NumParams() + 1))
		var ce *kernel.ParamCountError
		if !errors.As(err, &ce) || ce.Got != k.NumParams()+1 || ce.Want != k.NumParams() {
			t.Errorf("%v: %v", k, err)
		} else if !strings.Contains(err.Error(), fmt.Sprint(ce.Want)) {
			t.Errorf("message %q", err)
		}
	}
}

// TestCheckDim: lengths anywhere in a kernel decide what points it takes, and no
// method of another package's kernel is called.
func TestCheckDim(t *testing.T) {
	for name, tt := range map[string]struct {
		k    kernel.Kernel
		part string
		want int
	}{
		"lengths":      {kernel.Matern32(1, 2, 3), "Matern32", 3},
		"scaled":       {kernel.Scale(1, kernel.SquaredExp(1, 2, 3)), "SquaredExp", 3},
		"sum":          {kernel.Sum(kernel.Constant(1), kernel.Matern12(1), kernel.Matern52(1, 2, 3)), "Matern52", 3},
		"product":      {kernel.Product(kernel.Matern32(1, 2), kernel.Scale(1, kernel.Matern12(1, 2, 3))), "Matern12", 3},
		"with foreign": {kernel.Sum(struct{ kernel.Kernel }{}, kernel.Matern32(1, 2, 3)), "Matern32", 3},
	} {
		var de *kernel.DimensionError
		if err := kernel.CheckDim(tt.k, 2); !errors.As(err, &de) || *de != (kernel.DimensionError{Kernel: tt.part, Got: 2, Want: tt.want}) {
			t.Errorf("%s: %v", name, err)
		} else if s := err.Error(); !strings.Contains(s, tt.part+": points of dimension 2, 3 lengths") {
			t.Errorf("message %q", s)
		}
	}
	for _, k := range append(kernels(2), kernel.Constant(1), kernel.Scale(1, struct{ kernel.Kernel }{})) {
		if err := kernel.CheckDim(k, 2); err != nil {
			t.Errorf("%T: %v", k, err)
		}
	}
}

// TestPanics lists the programming errors, and what the message must contain.
func TestPanics(t *testing.T) {
	m3 := kernel.Matern32(1, 2, 3)
	iso := kernel.Scale(2, kernel.Matern12(1))
	p2, p3 := []float64{1, 2}, []float64{1, 2, 3}
	x2, x3 := linalg.NewDense(4, 2, nil), linalg.NewDense(4, 3, nil)
	composite := iso.(kernel.ParamGradient)
	c := kernel.Constant(1).(kernel.ParamGradient)
	tests := []struct {
		name string
		f    func()
		want string
	}{
		{"no length", func() { kernel.Matern12() }, "Matern12"},
		{"negative length", func() { kernel.SquaredExp(1, -2) }, "-2"},
		{"zero length", func() { kernel.SquaredExp(0) }, "0"},
		{"NaN length", func() { kernel.Matern52(math.NaN()) }, "NaN"},
		{"infinite length", func() { kernel.Matern52(math.Inf(1)) }, "Inf"},
		{"variance", func() { kernel.Scale(-1, m3) }, "-1"},
		{"constant", func() { kernel.Constant(0) }, "Constant"},
		{"nil in Scale", func() { kernel.Scale(1, nil) }, "nil"},
		{"empty Sum", func() { kernel.Sum() }, "Sum"},
		{"nil in Product", func() { kernel.Product(m3, nil) }, "kernel 1"},
		{"unequal points", func() { m3.Eval(p3, p2) }, "3 and 2"},
		{"unequal points, constant", func() { c.Eval(p3, p2) }, "3 and 2"},
		{"other dimension", func() { m3.Eval(p2, p2) }, "dimension 2, 3 lengths"},
		{"ParamGrad", func() { m3.ParamGrad(p2, p3, p3) }, "length 2, want 3"},
		{"composite ParamGrad", func() { composite.ParamGrad(p3, p2, p2) }, "length 3, want 2"},
		{"constant ParamGrad", func() { c.ParamGrad(p2, p2, p2) }, "length 2, want 1"},
		{"Gram", func() { kernel.Gram(new(linalg.Sym), m3, x2) }, "dimension 2, 3 lengths"},
		{"Gram, composite", func() { kernel.Gram(new(linalg.Sym), kernel.Sum(m3), x2) }, "dimension 2, 3 lengths"},
		{"Cross", func() { kernel.Cross(new(linalg.Dense), m3, x2, x2) }, "dimension 2, 3 lengths"},
		{"Cross, two dimensions", func() { kernel.Cross(new(linalg.Dense), iso, x2, x3) }, "2 and 3"},
		{"Diag", func() { kernel.Diag(p3, iso, x3) }, "length 3, 4 points"},
		{"Pairs.Gram", func() { kernel.NewPairs(x2).Gram(new(linalg.Sym), m3) }, "dimension 2, 3 lengths"},
		{"GradDot first", func() { kernel.NewPairs(x2).GradDot(p2, linalg.NewSym(4, nil)) }, "no Gram"},
		{"GradDot length", func() {
			p := kernel.NewPairs(x2)
			p.Gram(new(linalg.Sym), iso)
			p.GradDot(p3, linalg.NewSym(4, nil))
		}, "length 3, want 2"},
		{"GradDot weights", func() {
			p := kernel.NewPairs(x2)
			p.Gram(new(linalg.Sym), iso)
			p.GradDot(p2, linalg.NewSym(3, nil))
		}, "3×3"},
		{"GradDot after Reset", func() {
			p := kernel.NewPairs(x2)
			p.Gram(new(linalg.Sym), iso)
			p.Reset(x2)
			p.GradDot(p2, linalg.NewSym(4, nil))
		}, "no Gram"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				s, ok := recover().(string)
				if !ok || !strings.HasPrefix(s, "kernel: ") || !strings.Contains(s, tt.want) {
					t.Errorf("panic %q, want kernel: … %q", s, tt.want)
				}
			}()
			tt.f()
		})
	}
}
