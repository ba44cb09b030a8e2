package gaussian

import "github.com/gocmbo/cmbo/linalg"

// Workspace computes distances and holds their scratch memory. Its methods do not
// allocate once the workspace has seen the dimension and the Normals their factors.
// The zero value is ready; a Workspace serves one goroutine at a time.
type Workspace struct {
	cross, polar, resid linalg.Dense
	svd                 linalg.SVD
	eigen               linalg.EigenSym
	sym, inv            linalg.Sym
	chol                linalg.Cholesky
	vec, jitters        []float64
	sums                []jeffreysSum
}

func grow(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// compare orders Normals by their numbers: traces, then means, then covariances.
// It returns 0 only if all of them are equal. The divergences that are symmetric
// in exact arithmetic work on the ordered pair, which makes them symmetric bit
// for bit.
func compare(p, q *Normal) int {
	if p == q {
		return 0
	}
	if c := compareFloats(p.trace, q.trace); c != 0 {
		return c
	}
	for i, v := range p.mean {
		if c := compareFloats(v, q.mean[i]); c != 0 {
			return c
		}
	}
	for i := range p.mean {
		pi, qi := p.cov.Row(i), q.cov.Row(i)
		for j := range i + 1 {
			if c := compareFloats(pi[j], qi[j]); c != 0 {
				return c
			}
		}
	}
	return 0
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
