package multivariate

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/linalg"
)

// limits say when the iteration of a barycentre ends, and how it is accelerated.
type limits struct {
	tol     float64 // relative residual to reach; below n·ε it is out of reach of rounding
	maxIter int     // steps
	memory  int     // earlier steps that Anderson acceleration uses, 0 for none
	adapt   bool    // more of them where convergence is slow, and the better form of a step
}

var usualLimits = limits{tol: 1e-10, maxIter: 200, memory: 4, adapt: true}

// How a barycentre was found, the Method of a [BarycenterResult].
const (
	methodExact      = "exact"
	methodCommuting  = "commuting"
	methodCholesky   = "cholesky"
	methodProcrustes = "procrustes"
)

// BarycenterResult is what [Barycenter] found.
type BarycenterResult struct {
	Center     *Normal // image S⁺ of the step with the smallest residual
	Iterations int     // steps taken, 0 for a closed form
	Residual   float64 // ‖S⁺ − S‖_F/‖S‖_F of that step
	Converged  bool    // Residual reached the tolerance
	// Method of the latest step: "exact" where a member's covariance is the answer, bit for bit,
	// "commuting" where the covariances commute to rounding, so that S = (Σ w_i·S_i^½)² is,
	// "cholesky" and "procrustes" by fixed points, the latter where a covariance is singular.
	Method string
}

// Barycenter returns the 2-Wasserstein barycentre of ps, the normal that minimises Σ w_i·W₂²(p_i,
// ·). Its mean is Σ w_i·m_i, and its covariance solves S = Σ w_i·(S^½·S_i·S^½)^½; that is unique if
// one member is definite. weights are as for [Centroid].
//
// One member, or all the weight on one, returns that member itself; equal covariances are returned bit for bit,
// commuting ones to rounding. Otherwise it iterates to a relative residual of 1e-10 or for 200 steps, which is not an
// error: see [BarycenterResult].Converged. A step takes O(len(ps)·n³) time. ctx is looked at before every member of
// every step; its error comes back wrapped. Barycenter fails as Centroid does, and with
// [gaussian.ErrNotPositiveDefinite] if a covariance is indefinite beyond rounding.
//
// M. Agueh and G. Carlier, Barycenters in the Wasserstein space, SIAM J. Math. Anal. 43
// (2011) 904–924; the paper, section 2.1.
func Barycenter(ctx context.Context, ps []*Normal, weights []float64) (BarycenterResult, error) {
	return usualLimits.barycenter(ctx, ps, weights)
}

func (lim limits) barycenter(ctx context.Context, ps []*Normal, weights []float64) (BarycenterResult, error) {
	const op = "Barycenter"
	var none BarycenterResult
	if ctx == nil {
		return none, fault.Nil(op, "ctx")
	}
	ps, w, err := activeMembers(op, ps, weights)
	if err != nil {
		return none, err
	}
	if err := canceled(ctx); err != nil {
		return none, err
	}
	exact := BarycenterResult{Converged: true, Method: methodExact}
	if len(ps) == 1 {
		exact.Center = ps[0]
		return exact, nil
	}
	for _, p := range ps {
		if err := p.factor(); err != nil {
			return none, err
		}
	}
	mean := weightedMean(ps, w)
	if !slices.ContainsFunc(ps[1:], func(p *Normal) bool { return compareCovs(p, ps[0]) != 0 }) {
		exact.Center, err = finishNormal(op, mean, ps[0].cov)
		return exact, err
	}
	s := newBarySolver(ps, w, lim)
	if err := s.run(ctx); err != nil {
		return none, err
	}
	cov := new(linalg.Sym)
	cov.Copy(&s.best)
	center, err := finishNormal(op, mean, cov)
	if err != nil {
		return none, err
	}
	return BarycenterResult{Center: center, Iterations: s.iter, Residual: s.bestResidual,
		Converged: s.bestResidual <= lim.tol || s.iter == 0, Method: s.method}, nil
}
