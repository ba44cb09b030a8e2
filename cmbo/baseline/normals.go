package baseline

import (
	"github.com/gocmbo/cmbo/internal/qmc"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
)

// normals holds standard normal numbers for a fixed number of joint draws: row i
// holds those of coordinate i, one a draw. Coordinates come in blocks, each the
// scrambled Sobol points of its own stream in an order of its own, and never
// change as more are asked for. Without the order two blocks, or two sequences,
// would go through the same points in step, which no scrambling undoes.
type normals struct {
	seed  uint64
	label string
	draws int
	rows  [][]float64
}

// get returns at least the first n rows.
func (z *normals) get(n int) [][]float64 {
	for len(z.rows) < n {
		src := rng.Stream(z.seed, z.label, uint64(len(z.rows)/qmc.MaxDim))
		q := qmc.New(qmc.MaxDim, src)
		order := src.Perm(z.draws)
		block := make([][]float64, qmc.MaxDim)
		for i := range block {
			block[i] = make([]float64, z.draws)
		}
		u := make([]float64, qmc.MaxDim)
		for _, s := range order {
			q.Next(u)
			for i, v := range u {
				// A coordinate may be 0, of which there is no quantile.
				block[i][s] = special.NormQuantile(max(v, 0x1p-54))
			}
		}
		z.rows = append(z.rows, block...)
	}
	return z.rows
}
