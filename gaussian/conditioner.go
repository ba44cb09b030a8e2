package gaussian

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// Conditioner conditions a Gaussian vector or process on noisy observations, given its prior as numbers only: the
// covariance K of the t observed values, and blocks of covariances between these and the points of interest. With
//
//	A = K + diag(noise) + jitter·I = L·Lᵀ,   β = L⁻¹·(y − m),   V = L⁻¹·C,
//
// C the t×N prior covariance between observations and N points, the posterior at the points has the mean m_* + Vᵀ·β,
// the variances k_** − Σ_i v_i² and the covariance K_** − Vᵀ·V. [Conditioner.Factorize] makes L and β,
// [Conditioner.Whiten] makes V from C, and the Update methods turn prior moments into posterior ones in place. The
// posterior is latent: noise is not added to it. The zero value conditions on nothing. A Conditioner keeps no argument.
// Factorize, Append, AppendExpected, SetResid and Reset change it; the other methods may run concurrently.
type Conditioner struct {
	chol   linalg.Cholesky
	beta   []float64
	jitter float64
	quad   float64 // ‖β‖²
}

// sums keeps matrices to factorise: thousands of Conditioners may be kept, and each needs one for a moment only.
var sums = sync.Pool{New: func() any { return new(linalg.Sym) }}

// MaxJitter is the largest amount, relative to the mean of the diagonal, that is added
// to the diagonal of a covariance to factorise it.
const MaxJitter = 1e-4

// Factorize takes the prior covariance cov of the observed values, their noise variances (one each,
// or a single one for all) and resid = y − prior mean. If the matrix is singular the smallest
// jitter that helps is added to its diagonal, see [Conditioner.Jitter]; if none does, that is
// [ErrNotPositiveDefinite]. After an error the receiver conditions on nothing. It takes O(t³) time.
func (c *Conditioner) Factorize(cov *linalg.Sym, noise, resid []float64) error {
	const op = "Conditioner.Factorize"
	c.Reset()
	if cov == nil {
		return fault.Nil(op, "cov")
	}
	n := cov.Dim()
	if err := fault.Vec(op, "resid", resid, n); err != nil {
		return err
	}
	if len(noise) != 1 {
		if err := fault.Len(op, "noise", len(noise), n); err != nil {
			return err
		}
	}
	for i, v := range noise {
		if !(v >= 0) || !fault.Finite(v) {
			return fault.NonNegative(op, "noise["+strconv.Itoa(i)+"]", v)
		}
	}
	for i := range n {
		if err := fault.Row(op, "cov", i, cov.Row(i)[:i+1]); err != nil {
			return err
		}
	}
	a := sums.Get().(*linalg.Sym)
	defer sums.Put(a)
	a.Copy(cov)
	for i := range n {
		a.Row(i)[i] += noise[min(i, len(noise)-1)]
	}
	jitter, err := c.chol.FactorizeJitter(a, MaxJitter)
	if err != nil {
		return fault.Definite(op, "covariance of the observations", jitter, err)
	}
	c.jitter = jitter
	c.setResid(resid)
	return nil
}

// SetResid replaces the residuals y − prior mean of all observations, keeping the
// factor, in O(t²) time: for values that were scaled anew.
func (c *Conditioner) SetResid(resid []float64) error {
	if err := fault.Vec("Conditioner.SetResid", "resid", resid, len(c.beta)); err != nil {
		return err
	}
	c.setResid(resid)
	return nil
}

func (c *Conditioner) setResid(resid []float64) {
	c.beta = f64.Grow(c.beta, len(resid))
	c.chol.SolveLowerVecTo(c.beta, resid)
	c.quad = linalg.Dot(c.beta, c.beta)
}

// Reset makes c condition on nothing, keeping its memory.
func (c *Conditioner) Reset() {
	_ = c.chol.Factorize(new(linalg.Sym)) // the empty matrix has a factor
	c.beta, c.jitter, c.quad = c.beta[:0], 0, 0
}

// Append adds one observation in O(t²) time: cross holds its prior covariances with the earlier ones, variance its own,
// noise its noise variance and resid its y − prior mean. The jitter in use is added to its diagonal too. If the
// enlarged matrix is singular, where only a new Factorize helps, that is [ErrNotPositiveDefinite].
func (c *Conditioner) Append(cross []float64, variance, noise, resid float64) error {
	const op = "Conditioner.Append"
	if !fault.Finite(resid) {
		return fault.Scalar(op, "resid", resid, ErrNotFinite)
	}
	if err := c.appendRow(op, cross, variance, noise); err != nil {
		return err
	}
	n := len(c.beta)
	row := c.chol.Lower().Row(n)
	b := (resid - linalg.Dot(row[:n], c.beta)) / row[n]
	c.beta = append(c.beta, b)
	c.quad += b * b
	return nil
}

// AppendExpected is [Conditioner.Append] of an observation whose value is the mean that the earlier ones predict: means stay
// as they are, variances shrink. It stands for a measurement under way. [Conditioner.SetResid] would replace its value too.
func (c *Conditioner) AppendExpected(cross []float64, variance, noise float64) error {
	if err := c.appendRow("Conditioner.AppendExpected", cross, variance, noise); err != nil {
		return err
	}
	c.beta = append(c.beta, 0)
	return nil
}

func (c *Conditioner) appendRow(op string, cross []float64, variance, noise float64) error {
	n := len(c.beta)
	if err := fault.Vec(op, "cross", cross, n); err != nil {
		return err
	}
	if !fault.Finite(variance) {
		return fault.Scalar(op, "variance", variance, ErrNotFinite)
	}
	if err := fault.NonNegative(op, "noise", noise); err != nil {
		return err
	}
	if err := c.chol.Append(cross, variance+noise+c.jitter); err != nil {
		return fault.Definite(op, "covariance of the observations", c.jitter, err)
	}
	return nil
}

// Clone returns an independent copy of c.
func (c *Conditioner) Clone() *Conditioner {
	return &Conditioner{chol: *c.chol.Clone(), beta: slices.Clone(c.beta), jitter: c.jitter, quad: c.quad}
}

// Precision sets alpha, of length t, to A⁻¹·(y − m) and inverse, which is resized, to A⁻¹, in O(t³) time. Without
// observation i the others predict it with error alpha_i/q and variance 1/q, noise included, q = A⁻¹_ii.
func (c *Conditioner) Precision(alpha []float64, inverse *linalg.Sym) error {
	const op = "Conditioner.Precision"
	if inverse == nil {
		return fault.Nil(op, "inverse")
	}
	if err := fault.Len(op, "alpha", len(alpha), len(c.beta)); err != nil {
		return err
	}
	c.chol.SolveUpperVecTo(alpha, c.beta)
	c.chol.InverseTo(inverse)
	return nil
}

// Len returns t, the number of observations.
func (c *Conditioner) Len() int { return len(c.beta) }

// Jitter returns the absolute amount added to the diagonal, 0 if none was needed.
func (c *Conditioner) Jitter() float64 { return c.jitter }

// LogMarginal returns the log density of the observations under the prior,
// −½·(β·β + ln det A + t·ln 2π), 0 without observations.
func (c *Conditioner) LogMarginal() float64 {
	if len(c.beta) == 0 {
		return 0
	}
	return -0.5 * (c.quad + c.chol.LogDet() + float64(len(c.beta))*special.Ln2Pi)
}

// Whiten makes dst = L⁻¹·cross for a t×N matrix cross. dst may be cross. It takes O(t²·N) time.
func (c *Conditioner) Whiten(dst, cross *linalg.Dense) error {
	const op = "Conditioner.Whiten"
	if dst == nil || cross == nil {
		return fault.Nil(op, "a matrix")
	}
	rows, _ := cross.Dims()
	if err := fault.Len(op, "rows of cross", rows, len(c.beta)); err != nil {
		return err
	}
	c.chol.SolveLowerTo(dst, cross)
	return nil
}

// Update turns the prior means and variances at N points into those given the observations, v as made by
// [Conditioner.Whiten]. Either may be nil. A variance that rounding pushed below zero becomes 0. It takes O(t·N) time.
func (c *Conditioner) Update(mean, variance []float64, v *linalg.Dense) error {
	const op = "Conditioner.Update"
	for _, moments := range [...][]float64{mean, variance} {
		if moments == nil {
			continue
		}
		if err := c.checkWhite(op, v, len(moments)); err != nil {
			return err
		}
	}
	for i, b := range c.beta {
		if mean != nil {
			linalg.Axpy(mean, b, v.Row(i))
		}
		if variance != nil {
			r := v.Row(i)[:len(variance)]
			for j, x := range r {
				variance[j] -= x * x
			}
		}
	}
	for j, x := range variance {
		variance[j] = max(x, 0)
	}
	return nil
}

// UpdateCov subtracts Vᵀ·V from the N×N matrix cov. Variances that rounding
// pushed below zero become 0. It takes O(t·N²) time.
func (c *Conditioner) UpdateCov(cov *linalg.Sym, v *linalg.Dense) error {
	const op = "Conditioner.UpdateCov"
	if cov == nil {
		return fault.Nil(op, "cov")
	}
	if err := c.checkWhite(op, v, cov.Dim()); err != nil {
		return err
	}
	cov.AddTransGram(-1, v)
	clampDiag(cov)
	return nil
}

// Condition turns the prior mean and covariance at N points, of which it reads the lower triangle, into those given the
// observations: what Whiten, Update and UpdateCov do, faster, in O(t·N·(t + N)) time. cross is as for Whiten. mean may
// be nil; white is scratch, must not be cross and is resized.
func (c *Conditioner) Condition(mean []float64, cov *linalg.Sym, white, cross *linalg.Dense) error {
	const op = "Conditioner.Condition"
	if cov == nil || white == nil {
		return fault.Nil(op, "cov or white")
	}
	if err := c.checkWhite(op, cross, cov.Dim()); err != nil {
		return err
	}
	if mean != nil {
		if err := fault.Len(op, "mean", len(mean), cov.Dim()); err != nil {
			return err
		}
	}
	// white holds Vᵀ: one transposition, and products along contiguous rows.
	c.chol.SolveLowerTransTo(white, cross)
	for j := range mean {
		mean[j] += linalg.Dot(white.Row(j), c.beta)
	}
	cov.AddGram(-1, white)
	clampDiag(cov)
	return nil
}

// UpdateCross subtracts Vᵀ·W from the N×M covariance dst between two sets of
// points, v and w as made by [Conditioner.Whiten] for each, in O(t·N·M) time.
func (c *Conditioner) UpdateCross(dst, v, w *linalg.Dense) error {
	const op = "Conditioner.UpdateCross"
	if dst == nil {
		return fault.Nil(op, "dst")
	}
	rows, cols := dst.Dims()
	if err := cmp.Or(c.checkWhite(op, v, rows), c.checkWhite(op, w, cols)); err != nil {
		return err
	}
	// Four observations at a time: a row of dst is read and written once for all of them.
	k := 0
	for ; k+4 <= len(c.beta); k += 4 {
		v0, v1, v2, v3 := v.Row(k), v.Row(k+1), v.Row(k+2), v.Row(k+3)
		for i := range rows {
			f64.Ops.Axpy4(dst.Row(i), -v0[i], -v1[i], -v2[i], -v3[i], w.Row(k), w.Row(k+1), w.Row(k+2), w.Row(k+3))
		}
	}
	for ; k < len(c.beta); k++ {
		for i, x := range v.Row(k) {
			linalg.Axpy(dst.Row(i), -x, w.Row(k))
		}
	}
	return nil
}

func (c *Conditioner) checkWhite(op string, v *linalg.Dense, cols int) error {
	if v == nil {
		return fault.Nil(op, "v")
	}
	r, k := v.Dims()
	return cmp.Or(fault.Len(op, "rows of v", r, len(c.beta)), fault.Len(op, "columns of v", k, cols))
}

// clampDiag sets variances that rounding made negative to 0.
func clampDiag(s *linalg.Sym) {
	for i := range s.Dim() {
		r := s.Row(i)
		r[i] = max(r[i], 0)
	}
}
