package multivariate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// barySolver runs the fixed-point iteration of one barycentre from S = (Σ w_i·S_i^½)², with Anderson acceleration; a
// mix that is not positive definite gives way to the plain step. Both forms of a step compute the image T·S·T of an
// iterate S, T = Σ w_i·T_i the weighted mean of the optimal maps T_i from N(0, S) to the members:
//
//   - Cholesky: T·L = L⁻ᵀ·Σ w_i·(Lᵀ·S_i·L)^½ from S = L·Lᵀ. One symmetric root per member, but errors grow like ε·κ(S).
//   - Procrustes: T·G = Σ w_i·L_i·polar(L_iᵀ·G) from S = G·Gᵀ. Nothing is inverted:
//     errors stay at ε, at the price of a polar factor per member.
//
// P. C. Álvarez-Esteban, E. del Barrio, J. A. Cuesta-Albertos and C. Matrán, A fixed-point approach
// to barycenters in Wasserstein space, J. Math. Anal. Appl. 441 (2016) 744–762.
type barySolver struct {
	lim limits
	ps  []*Normal
	w   []float64
	n   int

	iter     int
	residual float64
	method   string

	mix     anderson
	x, y    []float64    // packed iterate and image of the Cholesky form
	s, t    linalg.Sym   // iterate and image
	acc     linalg.Sym   // mean of roots; candidate for the next iterate
	g, h    linalg.Dense // G and its image
	c, u    linalg.Dense
	chol    linalg.Cholesky
	root    spectral.RootPSD
	svd     spectral.SVD
	rejects int // mixes that were not positive definite

	best         linalg.Sym // image of smallest residual
	bestResidual float64
}

const (
	// illConditioned is the ratio of squared diagonals of a Cholesky factor, a lower bound of the condition number,
	// beyond which the rounding of the Cholesky form would show at the default tolerance.
	illConditioned = 1e8

	// Well-conditioned sets converge in about ten steps. What has not after procrustesSteps, or maxRejects indefinite
	// mixes, is nearly singular, and the Procrustes form takes over, whose mixes cannot be indefinite.
	procrustesSteps = 24
	maxRejects      = 2

	// A start whose residual is below commutingTol·n·ε is the solution, as for commuting members. In the Cholesky form
	// the rounding of ill-conditioned ones hides that: a residual below suspectTol, far less than members that do not
	// commute start with, is looked at again in the Procrustes form.
	commutingTol = 1024
	suspectTol   = 1e-7

	// longMemory is the memory of the Procrustes form, less where a history
	// of that many n×n matrices would take more than historyFloats numbers.
	longMemory    = 24
	historyFloats = 1 << 25
)

func newBarySolver(ps []*Normal, w []float64, lim limits) *barySolver {
	return &barySolver{lim: lim, ps: ps, w: w, n: ps[0].Dim(), bestResidual: math.Inf(1)}
}

func (b *barySolver) run(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	definite := true
	for _, p := range b.ps {
		definite = definite && p.regular && diagonalRatio(p.lower) <= illConditioned
	}
	if definite && b.chol.Factorize(&b.s) == nil {
		done, err := b.runCholesky(ctx)
		if done || err != nil {
			return err
		}
	}
	return b.runProcrustes(ctx)
}

func diagonalRatio(l *linalg.Dense) float64 {
	n, _ := l.Dims()
	lo, hi := l.Row(0)[0], l.Row(0)[0]
	for i := range n {
		d := l.Row(i)[i]
		lo, hi = math.Min(lo, d), math.Max(hi, d)
	}
	return (hi / lo) * (hi / lo)
}

// start sets g to Σ w_i·S_i^½ and s to its square.
func (b *barySolver) start(ctx context.Context) error {
	b.acc.Resize(b.n)
	b.acc.Zero()
	for i, p := range b.ps {
		if err := canceled(ctx); err != nil {
			return err
		}
		if err := b.root.SqrtTo(&b.t, p.cov); err != nil {
			return stepError(i, err)
		}
		b.acc.AddScaled(b.w[i], &b.t)
	}
	d := b.acc.Dense()
	b.g.Copy(&d)
	b.s.Gram(&b.g)
	return nil
}

func canceled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("gaussian: Barycenter: %w", err)
	}
	return nil
}

// finished books a step with image t of iterate s, and reports whether the run is
// over. The first image also tells whether the start was the solution.
func (b *barySolver) finished() (bool, error) {
	b.iter++
	b.residual = relativeChange(&b.t, &b.s)
	if math.IsNaN(b.residual) {
		return true, fault.Scalar("Barycenter", "residual", b.residual, gaussian.ErrNotFinite)
	}
	if b.iter == 1 && b.residual <= commutingTol*float64(b.n)*epsilon {
		b.t.Copy(&b.s)
		b.iter, b.method = 0, methodCommuting
	}
	if b.residual < b.bestResidual {
		b.best.Copy(&b.t)
		b.bestResidual = b.residual
	}
	return b.residual <= b.lim.tol || b.iter == 0 || b.iter >= b.lim.maxIter, nil
}

// relativeChange returns ‖t − s‖_F/‖s‖_F, and 0 if both are zero.
func relativeChange(t, s *linalg.Sym) float64 {
	var scale float64
	for i := range s.Dim() {
		scale = math.Max(scale, s.Row(i)[i])
	}
	if scale == 0 {
		scale = 1
	}
	var d, norm float64
	for i := range s.Dim() {
		x, y := t.Row(i), s.Row(i)
		for j, v := range y {
			e := (x[j] - v) / scale
			d += e * e
			norm += (v / scale) * (v / scale)
		}
	}
	if d == 0 {
		return 0
	}
	return math.Sqrt(d) / math.Sqrt(norm)
}

// runCholesky iterates the Cholesky form from s, factored in chol. It returns
// false where the Procrustes form should go on from g.
func (b *barySolver) runCholesky(ctx context.Context) (done bool, err error) {
	b.method = methodCholesky
	b.mix.memory = b.lim.memory
	b.x, b.y = f64.Grow(b.x, b.n*(b.n+1)/2), f64.Grow(b.y, b.n*(b.n+1)/2)
	for {
		if err := b.stepCholesky(ctx); err != nil {
			return true, err
		}
		done, err := b.finished()
		if err != nil {
			return true, err
		}
		if b.iter == 1 && b.residual <= suspectTol {
			b.iter, b.bestResidual = 0, math.Inf(1)
			return false, nil
		}
		if done {
			return true, nil
		}
		if b.lim.adapt && (b.iter == procrustesSteps || b.rejects == maxRejects) {
			return false, nil
		}
		packLower(b.x, &b.s)
		packLower(b.y, &b.t)
		b.mix.push(b.x, b.y)
		b.mix.mix(b.x)
		unpackLower(&b.acc, b.x)
		if b.chol.Factorize(&b.acc) == nil {
			b.s.Copy(&b.acc)
			continue
		}
		b.mix.reset()
		b.rejects++
		if b.chol.Factorize(&b.t) != nil {
			return false, nil // the image is singular to rounding, its iterate is not
		}
		b.s.Copy(&b.t)
	}
}

// stepCholesky sets g to L and t to the image of s = L·Lᵀ.
func (b *barySolver) stepCholesky(ctx context.Context) error {
	b.g.Copy(b.chol.Lower())
	b.acc.Zero()
	for i, p := range b.ps {
		if err := canceled(ctx); err != nil {
			return err
		}
		// Lᵀ·S_i·L as the Gram matrix of L_iᵀ·L is semi-definite by construction.
		linalg.TransMulLower(&b.c, p.lower, &b.g)
		b.t.Zero()
		b.t.AddTransGram(1, &b.c)
		if err := b.root.SqrtTo(&b.t, &b.t); err != nil {
			return stepError(i, err)
		}
		b.acc.AddScaled(b.w[i], &b.t)
	}
	d := b.acc.Dense()
	b.chol.SolveUpperTo(&b.h, &d)
	b.t.Gram(&b.h)
	return nil
}

// runProcrustes iterates the Procrustes form from g. The images of g and g·Q, Q orthogonal, differ
// by Q on the right, so iterates stay aligned and may be mixed as they are.
func (b *barySolver) runProcrustes(ctx context.Context) error {
	b.method = methodProcrustes
	b.mix.reset()
	b.mix.memory = b.lim.memory
	if b.lim.adapt {
		b.mix.memory = procrustesMemory(b.lim.memory, b.n)
	}
	for {
		if err := b.stepProcrustes(ctx); err != nil {
			return err
		}
		b.t.Gram(&b.h)
		if done, err := b.finished(); done || err != nil {
			return err
		}
		g, _ := b.g.Raw()
		h, _ := b.h.Raw()
		b.mix.push(g, h)
		b.mix.mix(g)
		b.s.Gram(&b.g)
	}
}

// procrustesMemory returns the memory of the Procrustes form in n dimensions, at least least.
func procrustesMemory(least, n int) int {
	return max(least, min(longMemory, historyFloats/(3*n*n)))
}

// stepError reports the member at which a step failed: by overflow, if its product with
// the iterate is not finite, as its covariance is.
func stepError(member int, err error) error {
	if errors.Is(err, spectral.ErrNotFinite) {
		return fault.Scalar("Barycenter", "a product with "+memberName(member), math.NaN(), gaussian.ErrNotFinite)
	}
	return fault.Definite("Barycenter", memberName(member), 0, err)
}

// stepProcrustes sets h to the image of g.
func (b *barySolver) stepProcrustes(ctx context.Context) error {
	b.h.Resize(b.n, b.n)
	b.h.Zero()
	for i, p := range b.ps {
		if err := canceled(ctx); err != nil {
			return err
		}
		linalg.MulUpper(&b.c, p.lower, &b.g)
		if err := b.svd.PolarTo(&b.u, &b.c); err != nil {
			return stepError(i, err)
		}
		linalg.MulLower(&b.c, p.lower, &b.u)
		b.h.AddScaled(b.w[i], &b.c)
	}
	return nil
}

func packLower(dst []float64, s *linalg.Sym) {
	k := 0
	for i := range s.Dim() {
		k += copy(dst[k:], s.Row(i)[:i+1])
	}
}

func unpackLower(s *linalg.Sym, src []float64) {
	k := 0
	for i := range s.Dim() {
		k += copy(s.Row(i)[:i+1], src[k:])
	}
	s.Mirror()
}
