package multivariate

import (
	"cmp"
	"slices"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// Workspace computes distances and holds their scratch memory. Its methods do not allocate once the workspace has seen
// the dimension and the Normals their factors. The zero value is ready; a Workspace serves one goroutine at a time.
type Workspace struct {
	cross, polar, resid linalg.Dense
	svd                 spectral.SVD
	eigen               spectral.EigenSym
	sym, inv            linalg.Sym
	chol                linalg.Cholesky
	vec                 []float64
	sums                []jeffreysSum
}

// compare orders Normals by their numbers: traces, then means, then covariances. It returns 0 only if all of them are equal.
// The divergences that are symmetric in exact arithmetic work on the ordered pair, which makes them symmetric bit for bit.
func compare(p, q *Normal) int {
	if p == q {
		return 0
	}
	if c := cmp.Or(cmp.Compare(p.trace, q.trace), slices.Compare(p.mean, q.mean)); c != 0 {
		return c
	}
	return compareCovs(p, q)
}

func compareCovs(p, q *Normal) int {
	for i := range p.mean {
		if c := slices.Compare(p.cov.Row(i)[:i+1], q.cov.Row(i)[:i+1]); c != 0 {
			return c
		}
	}
	return 0
}

// subtract sets dst to x − y.
func subtract(dst, x, y []float64) {
	for i, v := range x {
		dst[i] = v - y[i]
	}
}

func checkPair(op string, p, q *Normal) error {
	if p == nil || q == nil {
		return fault.Nil(op, "a Normal")
	}
	return fault.Len(op, "second Normal", len(q.mean), len(p.mean))
}
