package model

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/linalg"
)

// Sample writes the values at the rows of x of one function drawn from the posterior, pending
// points counted as in Predict. It takes O(n³) time for n rows, and the covariances of n points
// under every prototype.
func (a *Weighted) Sample(ctx context.Context, dst []float64, x *linalg.Dense, r *rand.Rand) error {
	n, _ := x.Dims()
	all := slices.Concat(a.obs, a.pending)
	cov := linalg.NewSym(n, nil)
	var cross, among linalg.Dense
	if err := a.priorAt(ctx, dst, make([]float64, n), &cross, all, x); err != nil {
		return err
	}
	for i, w := range a.w {
		if err := a.Learned.Prototypes[i].Evaluator.At(ctx, a.workers, nil, nil, &among, x, x); err != nil {
			return err
		}
		for k := range n {
			linalg.Axpy(cov.Row(k)[:k+1], w*w, among.Row(k)[:k+1])
		}
	}
	cov.Mirror()
	seen := cross.View(0, 0, len(a.obs), n)
	var white linalg.Dense
	err := a.data.Whiten(&white, &seen)
	if err == nil {
		err = a.data.Update(dst, nil, &white)
	}
	if err == nil {
		err = a.full.Whiten(&white, &cross)
	}
	if err == nil {
		err = a.full.UpdateCov(cov, &white)
	}
	if err != nil {
		return wrap(err, "joint posterior at %d points", n)
	}
	return gp.AddNoise(dst, cov, r)
}
