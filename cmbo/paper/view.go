package paper

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/linalg"
)

// A view holds what the prototypes of a prior are at the points of a run: the candidates, the
// index set, and each point visited so far. It depends on prototypes and points alone and is
// computed once a point; data and weights enter in the Surrogate.
type view struct {
	prior *Prior

	candidates *linalg.Dense // bound candidates, nil in a parameter space
	// inIndex[r] is the index point that candidate r is, nil unless all are.
	inIndex []int
	// ofCand[p] is the candidate that index point p is, nil unless all are.
	ofCand   []int
	candMean [][]float64 // by prototype
	candVar  [][]float64
	candRow  map[string]int

	entries map[string]int // visited points
	visited []visited
}

// visited is a point that was observed or asked, with what the prototypes are there.
type visited struct {
	x    []float64
	cand int // row among the bound candidates, or -1
	// By prototype: the mean, and covariances with the candidates, the index set, and earlier points and itself.
	mean                      []float64
	overCand, overIndex, upTo [][]float64
}

func (v *view) bind(ctx context.Context, candidates *linalg.Dense) error {
	n, _ := candidates.Dims()
	v.candidates, v.candRow = candidates, points.Places(candidates)
	v.inIndex = points.Locate(candidates, v.prior.index)
	v.ofCand = points.Locate(v.prior.index, candidates)
	for _, p := range v.prior.prototypes {
		mean, variance := make([]float64, n), make([]float64, n)
		if v.inIndex != nil {
			m, s := p.normal.Mean(), p.normal.Cov()
			for r, i := range v.inIndex {
				mean[r], variance[r] = m[i], s.At(i, i)
			}
		} else if err := p.evaluator.at(ctx, v.prior.config.workers, mean, variance, nil, nil, candidates); err != nil {
			return err
		}
		v.candMean = append(v.candMean, mean)
		v.candVar = append(v.candVar, variance)
	}
	return nil
}

// visit makes entries for the rows of x and returns their numbers.
func (v *view) visit(ctx context.Context, x *linalg.Dense) ([]int, error) {
	out := make([]int, points.Len(x))
	for r := range out {
		key := points.Key(x.Row(r))
		e, ok := v.entries[key]
		if !ok {
			p, err := v.newVisited(ctx, x.Row(r), key)
			if err != nil {
				return nil, err
			}
			e = len(v.visited)
			v.visited = append(v.visited, p)
			v.entries[key] = e
		}
		out[r] = e
	}
	return out, nil
}

// newVisited evaluates each prototype at a point.
func (v *view) newVisited(ctx context.Context, x []float64, key string) (visited, error) {
	out := visited{x: slices.Clone(x), cand: -1}
	if r, ok := v.candRow[key]; ok {
		out.cand = r
	}
	point := linalg.NewDense(1, len(x), out.x)
	// Earlier points that are candidates are read off the column over the candidates; the others are evaluated.
	others := each.Where(len(v.visited), func(f int) bool { return v.visited[f].cand < 0 })
	otherX := v.pointsOf(others)
	var cross linalg.Dense
	column := func(c evaluator, set *linalg.Dense) ([]float64, error) {
		if err := c.at(ctx, v.prior.config.workers, nil, nil, &cross, point, set); err != nil {
			return nil, err
		}
		return slices.Clone(cross.Row(0)), nil
	}
	for i, p := range v.prior.prototypes {
		var overCand, overIndex []float64
		var err error
		switch {
		case v.candidates == nil:
			overIndex, err = column(p.evaluator, v.prior.index)
		case out.cand >= 0 && v.inIndex != nil:
			overIndex = p.normal.Cov().Row(v.inIndex[out.cand])
			overCand = points.Entries(overIndex, v.inIndex)
		default:
			if overCand, err = column(p.evaluator, v.candidates); err != nil {
				return out, err
			}
			if v.ofCand != nil {
				overIndex = points.Entries(overCand, v.ofCand)
			} else {
				overIndex, err = column(p.evaluator, v.prior.index)
			}
		}
		if err != nil {
			return out, err
		}
		out.overCand = append(out.overCand, overCand)
		out.overIndex = append(out.overIndex, overIndex)

		mean, variance := []float64{0}, []float64{0}
		if out.cand >= 0 {
			mean[0], variance[0] = v.candMean[i][out.cand], v.candVar[i][out.cand]
		} else if err := p.evaluator.at(ctx, 1, mean, variance, nil, nil, point); err != nil {
			return out, err
		}
		out.mean = append(out.mean, mean[0])

		earlier := make([]float64, len(v.visited))
		for f := range v.visited {
			if r := v.visited[f].cand; r >= 0 {
				earlier[f] = overCand[r]
			}
		}
		if len(others) > 0 {
			e, err := column(p.evaluator, otherX)
			if err != nil {
				return out, err
			}
			for k, f := range others {
				earlier[f] = e[k]
			}
		}
		out.upTo = append(out.upTo, append(earlier, variance[0]))
	}
	return out, nil
}

// visitData makes entries for the points of the data. They are visited in the order of the log, so
// that what is kept of them does not depend on when Fit was called.
func (v *view) visitData(ctx context.Context, d *cmbo.Data) (obs, pending []int, err error) {
	v.forget(d.Seen)
	if _, err := v.visit(ctx, d.Seen); err != nil {
		return nil, nil, err
	}
	if obs, err = v.visit(ctx, d.X); err != nil {
		return nil, nil, err
	}
	pending, err = v.visit(ctx, d.Pending)
	return obs, pending, err
}

// forget drops visited points that do not come in the order of the log, with those after them: they
// belong to proposals that were not made in the end. Data never refer to such points.
func (v *view) forget(seen *linalg.Dense) {
	next := 0
	for r := range points.Len(seen) {
		switch e, ok := v.entries[points.Key(seen.Row(r))]; {
		case ok && e < next: // seen before
		case ok && e == next:
			next++
		default:
			for _, p := range v.visited[next:] {
				delete(v.entries, points.Key(p.x))
			}
			v.visited = v.visited[:next]
			return
		}
	}
}

func (v *view) pointsOf(entries []int) *linalg.Dense {
	_, dim := v.prior.index.Dims()
	x := linalg.NewDense(len(entries), dim, nil)
	for r, e := range entries {
		copy(x.Row(r), v.visited[e].x)
	}
	return x
}
