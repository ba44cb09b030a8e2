package kernel

import (
	"sync"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
)

// Distances are computed tile by tile: tileCols points, transposed into a small array so that the
// innermost loops run over consecutive numbers, tileDims coordinates at a time.
const (
	tileCols = 128
	tileDims = 8
)

// tile holds coordinates d0 to d0+dims−1 of points j0 to j0+cols−1.
type tile struct {
	x [tileDims * tileCols]float64 // coordinate-major
	w [tileDims]float64            // their weights, 1/length
}

// tiles keeps tiles between calls: what is passed through the table of internal/f64 is not kept on the stack.
var tiles = sync.Pool{New: func() any { return new(tile) }}

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

// squares sets row i of a matrix, which dst returns, to the squared weighted distances of
// point i of x and the points of y, up to the diagonal if lower; done is given each piece of a
// row once it is complete, with a few units of relative error. inv is as for load.
func squares(x, y *linalg.Dense, inv []float64, lower bool, dst func(i int) []float64, done func(row []float64)) {
	n, dim := x.Dims()
	m, _ := y.Dims()
	t := tiles.Get().(*tile)
	defer tiles.Put(t)
	for j0 := 0; j0 < m; j0 += tileCols {
		cols, first := min(tileCols, m-j0), 0
		if lower {
			first = j0
		}
		for d0 := 0; d0 == 0 || d0 < dim; d0 += tileDims {
			dims := min(tileDims, dim-d0)
			t.load(y, j0, cols, d0, dims, inv)
			for i := first; i < n; i++ {
				end := j0 + cols
				if lower {
					end = min(end, i+1)
				}
				row := dst(i)[j0:end]
				if d0 == 0 {
					clear(row)
				}
				f64.Ops.AddSquares(row, x.Row(i)[d0:d0+dims], t.w[:], t.x[:], tileCols)
				if d0+dims == dim {
					done(row)
				}
			}
		}
	}
}
