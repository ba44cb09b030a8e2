package kernel

import "github.com/gocmbo/cmbo/linalg"

// Distances are computed tile by tile: tileCols points, transposed into a small
// array so that the innermost loops run over consecutive numbers, tileDims
// coordinates at a time.
const (
	tileCols = 64
	tileDims = 8
)

// tile holds coordinates d0 to d0+dims−1 of points j0 to j0+cols−1.
type tile struct {
	x [tileDims * tileCols]float64 // coordinate-major
	w [tileDims]float64            // their weights, 1/length
}

// load fills t. inv holds one weight for all coordinates or one for each.
func (t *tile) load(x *linalg.Dense, j0, cols, d0, dims int, inv []float64) {
	for j := range cols {
		for d, v := range x.Row(j0 + j)[d0 : d0+dims] {
			t.x[d*tileCols+j] = v
		}
	}
	for d := range dims {
		t.w[d] = inv[min(d0+d, len(inv)-1)]
	}
}

// add adds to dst_j the squared weighted differences of x, coordinates d0 on of a
// point, and the points of t. Differences are formed before they are weighted and
// squared, so nothing cancels: each result has a few units of relative error.
func (t *tile) add(dst, x []float64) {
	for d := 0; d < len(x); d++ {
		if d+4 <= len(x) {
			t.add4(dst, x, d)
			d += 3
			continue
		}
		xd, w := x[d], t.w[d]
		col := t.x[d*tileCols:][:len(dst)]
		for j, c := range col {
			v := (xd - c) * w
			dst[j] += v * v
		}
	}
}

// add4 adds coordinates d to d+3.
func (t *tile) add4(dst, x []float64, d int) {
	x = x[d : d+4 : d+4]
	w := t.w[d : d+4 : d+4]
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
	n := len(dst)
	c0 := t.x[d*tileCols:][:n]
	c1 := t.x[(d+1)*tileCols:][:n]
	c2 := t.x[(d+2)*tileCols:][:n]
	c3 := t.x[(d+3)*tileCols:][:n]
	for j, s := range dst {
		v0 := (x0 - c0[j]) * w0
		v1 := (x1 - c1[j]) * w1
		v2 := (x2 - c2[j]) * w2
		v3 := (x3 - c3[j]) * w3
		dst[j] = s + v0*v0 + v1*v1 + v2*v2 + v3*v3
	}
}
