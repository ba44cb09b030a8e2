package baseline

import (
	"math"

	"github.com/gocmbo/cmbo/linalg"
)

// rowKey is a map key that is equal for equal rows; -0 counts as 0.
func rowKey(row []float64) string {
	b := make([]byte, 0, 8*len(row))
	for _, v := range row {
		u := math.Float64bits(v + 0)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24), byte(u>>32), byte(u>>40), byte(u>>48), byte(u>>56))
	}
	return string(b)
}

// pickRows returns the rows of x listed.
func pickRows(x *linalg.Dense, idx []int) *linalg.Dense {
	_, d := x.Dims()
	out := linalg.NewDense(len(idx), d, nil)
	for i, k := range idx {
		copy(out.Row(i), x.Row(k))
	}
	return out
}

// distinctRows returns the distinct points of all tasks, in their order.
func distinctRows(tasks []observations, dim int) *linalg.Dense {
	seen := make(map[string]bool)
	var flat []float64
	for _, t := range tasks {
		for i := range t.z {
			r := t.x.Row(i)
			if key := rowKey(r); !seen[key] {
				seen[key] = true
				flat = append(flat, r...)
			}
		}
	}
	return linalg.NewDense(len(seen), dim, flat)
}
