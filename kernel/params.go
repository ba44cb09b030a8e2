package kernel

import (
	"errors"
	"math"
)

// appendLogs appends the logarithms of v to dst.
func appendLogs(dst, v []float64) []float64 {
	for _, p := range v {
		dst = append(dst, math.Log(p))
	}
	return dst
}

func numParams(ks []Kernel) int {
	n := 0
	for _, k := range ks {
		n += k.NumParams()
	}
	return n
}

func appendParams(dst []float64, ks []Kernel) []float64 {
	for _, k := range ks {
		dst = k.AppendParams(dst)
	}
	return dst
}

// withParams gives k its part of theta, which begins at index off. An error that
// names an index is restated for the whole of theta.
func withParams(k Kernel, theta []float64, off int) (Kernel, error) {
	n := k.NumParams()
	out, err := k.WithParams(theta[off : off+n : off+n])
	if err == nil {
		return out, nil
	}
	var p *ParamError
	if errors.As(err, &p) {
		return nil, &ParamError{Kernel: p.Kernel, Index: p.Index + off, Value: p.Value}
	}
	return nil, err
}

func withAllParams(name string, ks []Kernel, theta []float64) ([]Kernel, error) {
	if n := numParams(ks); len(theta) != n {
		return nil, &ParamCountError{Kernel: name, Got: len(theta), Want: n}
	}
	out := make([]Kernel, len(ks))
	off := 0
	for i, k := range ks {
		c, err := withParams(k, theta, off)
		if err != nil {
			return nil, err
		}
		out[i] = c
		off += k.NumParams()
	}
	return out, nil
}
