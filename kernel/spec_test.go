package kernel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/kernel"
)

// TestSpec sends every kernel through JSON and back: nothing may change, not even
// the last digit.
func TestSpec(t *testing.T) {
	x := points(t, 2, 3)
	for _, k := range kernels(3) {
		spec, err := kernel.Describe(k)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var back kernel.Spec
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		got, err := back.Kernel()
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(k) || got.Eval(x.Row(0), x.Row(1)) != k.Eval(x.Row(0), x.Row(1)) {
			t.Errorf("%v became %v", k, got)
		}
		if _, ok := got.(kernel.ParamGradient); !ok {
			t.Errorf("%v has lost its gradient", got)
		}
	}
	for _, k := range []kernel.Kernel{only{kernel.Matern12(1)}, kernel.Sum(kernel.Matern12(1), only{kernel.Matern12(1)}), kernel.Stationary{}} {
		_, err := kernel.Describe(k)
		var fe *kernel.ForeignError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), fe.Type) || !strings.Contains(fe.Type, "kernel") {
			t.Errorf("Describe(%T): %v", k, err)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	m := kernel.Spec{Name: "Matern32", Params: []float64{1}}
	for _, s := range []kernel.Spec{
		{},
		{Name: "Matern42", Params: []float64{1}},
		{Name: "Matern32"},
		{Name: "Matern32", Params: []float64{1, -1}},
		{Name: "Matern32", Params: []float64{math.NaN()}},
		{Name: "Matern32", Params: []float64{1}, Kernels: []kernel.Spec{m}},
		{Name: "Constant"},
		{Name: "Constant", Params: []float64{1, 2}},
		{Name: "Constant", Params: []float64{1}, Kernels: []kernel.Spec{m}},
		{Name: "Scale", Params: []float64{1}},
		{Name: "Scale", Params: []float64{1}, Kernels: []kernel.Spec{m, m}},
		{Name: "Scale", Kernels: []kernel.Spec{m}},
		{Name: "Scale", Params: []float64{math.Inf(1)}, Kernels: []kernel.Spec{m}},
		{Name: "Sum"},
		{Name: "Sum", Params: []float64{1}, Kernels: []kernel.Spec{m}},
		{Name: "Product", Kernels: []kernel.Spec{m, {Name: "x"}}},
	} {
		k, err := s.Kernel()
		var se *kernel.SpecError
		if k != nil || !errors.As(err, &se) || !strings.Contains(err.Error(), se.Reason) {
			t.Errorf("%+v: %v, %v", s, k, err)
		}
	}
}

// FuzzSpec decodes arbitrary descriptions: no panic, and what is accepted
// describes itself as what it was.
func FuzzSpec(f *testing.F) {
	for _, k := range kernels(2) {
		s, err := kernel.Describe(k)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"name":"Sum","kernels":[{"name":"Scale","params":[1e400]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s kernel.Spec
		if json.Unmarshal(raw, &s) != nil {
			t.Skip()
		}
		k, err := s.Kernel()
		if err != nil {
			var se *kernel.SpecError
			if !errors.As(err, &se) {
				t.Errorf("error %v", err)
			}
			return
		}
		back, err := kernel.Describe(k)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(s)
		b, _ := json.Marshal(back)
		if string(a) != string(b) {
			t.Errorf("%s became %s", a, b)
		}
		if got := len(k.AppendParams(nil)); got != k.NumParams() {
			t.Errorf("%d parameters, NumParams %d", got, k.NumParams())
		}
	})
}
