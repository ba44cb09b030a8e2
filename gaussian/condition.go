package gaussian

import (
	"math"

	"github.com/gocmbo/cmbo/linalg"
)

// Marginal returns the distribution of the coordinates idx, in that order.
// Indices may repeat, which makes the result singular. It fails with
// [ErrDimension] if idx is empty and with [ErrIndex] if an index is out of
// range. It takes O(len(idx)²) time.
func (n *Normal) Marginal(idx []int) (*Normal, error) {
	const op = "Marginal"
	if len(idx) == 0 {
		return nil, &DimensionError{Op: op, What: "idx", Got: 0, Want: 1}
	}
	if err := n.checkIndex(op, idx); err != nil {
		return nil, err
	}
	mean := make([]float64, len(idx))
	for i, p := range idx {
		mean[i] = n.mean[p]
	}
	cov := new(linalg.Sym)
	cov.Subset(n.cov, idx)
	m := newNormal(mean, cov)
	m.slack = n.slack + indefiniteTol*n.trace
	return m, nil
}

// Condition returns the distribution of the coordinates that are not in idx, in
// ascending order, given that coordinate idx[i] has the exact value values[i],
//
//	m_b + S_ba·S_aa⁻¹·(v − m_a),   S_bb − S_ba·S_aa⁻¹·S_ab,
//
// a = idx, b the rest. If S_aa is singular to rounding its pseudo-inverse takes
// the place of the inverse: the result is the limit of vanishing noise.
//
// It fails with [ErrDimension] if values does not fit idx or no coordinate is
// left, with [ErrIndex] if an index is out of range or listed twice, with
// [ErrNotFinite], and with [ErrInconsistent] if S_aa is singular and excludes
// the values. It takes O(n·len(idx)·(n + len(idx))) time, O(len(idx)³) more where
// S_aa is singular.
func (n *Normal) Condition(idx []int, values []float64) (*Normal, error) {
	const op = "Condition"
	if err := checkVec(op, "values", values, len(idx)); err != nil {
		return nil, err
	}
	if err := n.checkIndex(op, idx); err != nil {
		return nil, err
	}
	seen := make([]bool, len(n.mean))
	for i, p := range idx {
		if seen[p] {
			return nil, &ValueError{Op: op, What: "repeated index", Row: i, Col: -1, Value: float64(p), Err: ErrIndex}
		}
		seen[p] = true
	}
	var rest []int
	for i, s := range seen {
		if !s {
			rest = append(rest, i)
		}
	}
	if len(rest) == 0 {
		return nil, &DimensionError{Op: op, What: "remaining coordinates", Got: 0, Want: 1}
	}
	post, err := n.Marginal(rest)
	if err != nil {
		return nil, err
	}
	if len(idx) == 0 {
		return post, nil
	}
	var saa linalg.Sym
	saa.Subset(n.cov, idx)
	resid := make([]float64, len(idx))
	cross := linalg.NewDense(len(idx), len(rest), nil)
	for i, p := range idx {
		resid[i] = values[i] - n.mean[p]
		row, src := cross.Row(i), n.cov.Row(p)
		for j, q := range rest {
			row[j] = src[q]
		}
	}
	white, err := whitenExact(op, &saa, cross, resid)
	if err != nil {
		return nil, err
	}
	for i, b := range resid[:white] {
		linalg.Axpy(post.mean, b, cross.Row(i))
	}
	if white > 0 {
		v := cross.View(0, 0, white, len(rest))
		post.cov.AddTransGram(-1, &v)
		clampDiag(post.cov)
	}
	return finishNormal(op, post.mean, post.cov, post.slack)
}

// whitenExact overwrites the first r rows of cross with a V such that Vᵀ·V =
// crossᵀ·S⁺·cross and the first r entries of resid with the matching β, Vᵀ·β =
// crossᵀ·S⁺·resid, and returns the rank r of s.
func whitenExact(op string, s *linalg.Sym, cross *linalg.Dense, resid []float64) (rank int, err error) {
	n := s.Dim()
	var c linalg.Cholesky
	if c.Factorize(s) == nil {
		c.SolveLowerTo(cross, cross)
		c.SolveLowerVecTo(resid, resid)
		return n, nil
	}
	var e linalg.EigenSym
	if err := e.Factorize(s); err != nil {
		return 0, definiteError(op, "covariance of the given coordinates", 0, err)
	}
	var vec, old linalg.Dense
	e.VectorsTo(&vec)
	old.Copy(cross)
	values := e.Values()
	floor := float64(n) * epsilon * math.Max(values[n-1], 0)
	beta := make([]float64, n)
	vec.TransMulVecTo(beta, resid)
	_, cols := cross.Dims()
	for k, l := range values {
		if !(l > floor) {
			// The component has standard deviation √floor at most. Eight of
			// those, and the rounding of the inputs, are not a contradiction.
			if b := math.Abs(beta[k]); !(b <= 8*math.Sqrt(floor)+float64(n)*epsilon*maxAbs(resid)) {
				return 0, &ValueError{Op: op, What: "component of values outside the support", Row: k, Col: -1, Value: b, Err: ErrInconsistent}
			}
			continue
		}
		row := cross.Row(rank)
		clear(row[:cols])
		f := 1 / math.Sqrt(l)
		for i := range n {
			linalg.Axpy(row, f*vec.At(i, k), old.Row(i))
		}
		resid[rank] = f * beta[k]
		rank++
	}
	return rank, nil
}

func maxAbs(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = math.Max(m, math.Abs(v))
	}
	return m
}

// ConditionNoisy returns the distribution of all coordinates given noisy
// observations y[i] of coordinates idx[i], with variances noise[i], or noise[0]
// for all of them if noise has length 1,
//
//	m + S_·a·(S_aa + D)⁻¹·(y − m_a),   S − S_·a·(S_aa + D)⁻¹·S_a·,   D = diag(noise).
//
// A coordinate may be observed several times. The result is latent: noise is not
// added to it. If S_aa + D is singular the smallest jitter that helps is added
// to its diagonal, 1e-10 to 1e-4 times the mean of the diagonal; jitter is the
// absolute amount. [Conditioner] does the same on blocks of a covariance.
//
// It fails with [ErrDimension], [ErrIndex], [ErrNotFinite], with [ErrArgument]
// for a negative variance, and with [ErrNotPositiveDefinite] if no jitter
// helped. It takes O(n²·len(idx)) time.
func (n *Normal) ConditionNoisy(idx []int, y, noise []float64) (post *Normal, jitter float64, err error) {
	const op = "ConditionNoisy"
	if err := checkVec(op, "y", y, len(idx)); err != nil {
		return nil, 0, err
	}
	if err := n.checkIndex(op, idx); err != nil {
		return nil, 0, err
	}
	if len(idx) == 0 {
		return n, 0, nil
	}
	var saa linalg.Sym
	saa.Subset(n.cov, idx)
	resid := make([]float64, len(idx))
	cross := linalg.NewDense(len(idx), len(n.mean), nil)
	for i, p := range idx {
		resid[i] = y[i] - n.mean[p]
		copy(cross.Row(i), n.cov.Row(p))
	}
	var c Conditioner
	if err := c.Factorize(&saa, noise, resid); err != nil {
		return nil, 0, err
	}
	mean := append([]float64(nil), n.mean...)
	cov := new(linalg.Sym)
	cov.Copy(n.cov)
	if err := c.Whiten(cross, cross); err != nil {
		return nil, 0, err
	}
	if err := c.UpdateMean(mean, cross); err != nil {
		return nil, 0, err
	}
	if err := c.UpdateCov(cov, cross); err != nil {
		return nil, 0, err
	}
	post, err = finishNormal(op, mean, cov, n.slack+indefiniteTol*n.trace)
	return post, c.Jitter(), err
}

// finishNormal wraps computed moments, whose covariance is a difference with
// absolute rounding errors up to slack.
func finishNormal(op string, mean []float64, cov *linalg.Sym, slack float64) (*Normal, error) {
	for i := range mean {
		if !finite(mean[i]) {
			return nil, &ValueError{Op: op, What: "posterior mean", Row: i, Col: -1, Value: mean[i], Err: ErrNotFinite}
		}
		if j := allFinite(cov.Row(i)); j >= 0 {
			return nil, &ValueError{Op: op, What: "posterior covariance", Row: i, Col: j, Value: cov.Row(i)[j], Err: ErrNotFinite}
		}
	}
	post := newNormal(mean, cov)
	post.slack = slack
	return post, nil
}

// clampDiag sets variances that rounding made negative to 0.
func clampDiag(s *linalg.Sym) {
	for i := range s.Dim() {
		if r := s.Row(i); r[i] < 0 {
			r[i] = 0
		}
	}
}

func (n *Normal) checkIndex(op string, idx []int) error {
	for i, p := range idx {
		if p < 0 || p >= len(n.mean) {
			return &ValueError{Op: op, What: "index", Row: i, Col: -1, Value: float64(p), Err: ErrIndex}
		}
	}
	return nil
}
