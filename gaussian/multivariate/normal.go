package multivariate

import (
	"cmp"
	"math"
	"sync"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// Normal is a finite-dimensional Gaussian distribution N(m, S). S may be singular. A Normal is immutable and safe for
// concurrent use: what derives from S (its factor, its inverse) is computed at the first use, once, and kept.
type Normal struct {
	mean  []float64
	cov   *linalg.Sym
	trace float64

	factorOnce sync.Once
	regular    bool          // lower is a Cholesky factor
	lower      *linalg.Dense // lower triangular L, S = L·Lᵀ
	clamped    float64
	factorErr  error

	cholOnce sync.Once
	chol     *linalg.Cholesky // of a regular factor, once it was asked for

	rankOnce  sync.Once
	rankValue int

	inverseMu sync.Mutex
	latest    *inverse
}

// indefiniteTol bounds the rounding that a covariance may carry: its most negative eigenvalue may
// reach −indefiniteTol·tr S. It is √ε: a matrix assembled as a difference, as posterior covariances
// are, keeps half of the digits if the difference lost no more than the other half.
const indefiniteTol = 1.5e-8

// NewNormal returns the distribution N(mean, cov). Both are copied. cov may be singular; eigenvalues that rounding may
// have made of zero count as zero in the factor, which is computed in O(n³) time and kept.
//
// It fails with [ErrNotSymmetric] if the triangles differ by more than rounding, and with
// [gaussian.ErrNotPositiveDefinite] if an eigenvalue is negative by more (1.5e-8·tr S). An
// empty mean is [gaussian.ErrDimension], a trace that overflows [gaussian.ErrNotFinite].
func NewNormal(mean []float64, cov *linalg.Sym) (*Normal, error) {
	if err := checkMoments("NewNormal", mean, cov); err != nil {
		return nil, err
	}
	s := new(linalg.Sym)
	s.Copy(cov)
	s.Mirror()
	n := newNormal(append([]float64(nil), mean...), s)
	if err := n.factor(); err != nil {
		return nil, err
	}
	return n, nil
}

// AdoptNormal returns the distribution N(mean, cov) without copying: mean, cov and lower belong to the Normal from then
// on and must not be written again. It is for callers that build covariances in a loop.
//
// lower is a lower triangular factor of cov with zeros above its diagonal and no negative entry on
// it, or nil to have it computed at its first use. The arguments are checked in O(n²) time: finite entries, symmetry,
// |s_ij|² ≤ s_ii·s_jj, and the diagonal of lower·lowerᵀ. A covariance that passes and is indefinite
// all the same fails with [gaussian.ErrNotPositiveDefinite] where its factor is first used.
func AdoptNormal(mean []float64, cov *linalg.Sym, lower *linalg.Dense) (*Normal, error) {
	const op = "AdoptNormal"
	if err := checkMoments(op, mean, cov); err != nil {
		return nil, err
	}
	n := newNormal(mean, cov)
	if lower != nil {
		if err := n.adopt(op, lower); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func newNormal(mean []float64, cov *linalg.Sym) *Normal {
	return &Normal{mean: mean, cov: cov, trace: cov.Trace()}
}

// adopt installs a given factor after comparing the diagonal of L·Lᵀ with that of S. Rounding explains differences up
// to (n+2)·ε·s_ii of the rows of a Cholesky factor and up to n·ε·max s_ii of those of a clamped one; the larger
// indefiniteTol leaves room for a factor that came another way.
func (n *Normal) adopt(op string, lower *linalg.Dense) error {
	rows, cols := lower.Dims()
	if err := cmp.Or(fault.Len(op, "rows of lower", rows, len(n.mean)), fault.Len(op, "columns of lower", cols, len(n.mean))); err != nil {
		return err
	}
	definite := true
	for i := range rows {
		r := lower.Row(i)
		if err := fault.Row(op, "lower", i, r); err != nil {
			return err
		}
		for j := i; j < cols; j++ {
			if r[j] < 0 || j > i && r[j] != 0 {
				return &gaussian.ValueError{Op: op, What: "lower", Row: i, Col: j, Value: r[j], Err: gaussian.ErrArgument}
			}
		}
		if d := linalg.Dot(r, r) - n.cov.Row(i)[i]; !(math.Abs(d) <= indefiniteTol*n.trace) {
			return &gaussian.ValueError{Op: op, What: "diagonal error of lower·lowerᵀ",
				Row: i, Col: -1, Value: d, Err: gaussian.ErrArgument}
		}
		if !(r[i] > 0) {
			definite = false
		} else if math.IsInf(1/r[i], 1) {
			return fault.Definite(op, "lower", 0, &linalg.NotPositiveDefiniteError{Pivot: i, Value: r[i]})
		}
	}
	n.factorOnce.Do(func() { n.lower, n.regular = lower, definite })
	return nil
}

// checkMoments makes the O(n²) checks of a constructor.
func checkMoments(op string, mean []float64, cov *linalg.Sym) error {
	if cov == nil {
		return fault.Nil(op, "cov")
	}
	n := cov.Dim()
	if n == 0 {
		return &gaussian.DimensionError{Op: op, What: "cov", Got: 0, Want: 1}
	}
	if err := fault.Vec(op, "mean", mean, n); err != nil {
		return err
	}
	var scale float64
	for i := range n {
		if err := fault.Row(op, "cov", i, cov.Row(i)); err != nil {
			return err
		}
		scale = math.Max(scale, cov.Row(i)[i])
	}
	if t := cov.Trace(); math.IsInf(t, 1) {
		return fault.Scalar(op, "trace of cov", t, gaussian.ErrNotFinite)
	}
	// A negative eigenvalue λ allows s_ii ≥ λ and |s_ij| ≤ √(s_ii·s_jj) − λ.
	slack := indefiniteTol * scale
	roots := make([]float64, n)
	for i := range n {
		v := cov.Row(i)[i]
		if !(v >= -slack) {
			return &gaussian.DefiniteError{Op: op, What: "cov", Pivot: i, Value: v}
		}
		roots[i] = math.Sqrt(math.Max(v, 0))
	}
	for i := range n {
		for j, v := range cov.Row(i)[:i] {
			bound := roots[i]*roots[j] + 2*slack
			if !(math.Abs(v) <= bound) {
				return &gaussian.DefiniteError{Op: op, What: "cov", Pivot: i, Value: cov.Row(j)[j]*cov.Row(i)[i] - v*v}
			}
			if d := v - cov.Row(j)[i]; !(math.Abs(d) <= symmetryTol*bound) {
				return &gaussian.ValueError{Op: op, What: "difference of the triangles of cov",
					Row: i, Col: j, Value: d, Err: ErrNotSymmetric}
			}
		}
	}
	return nil
}

const (
	epsilon = 0x1p-52

	// symmetryTol is what two summation orders of one inner product of unit
	// vectors may differ by, up to length 2¹⁰ and beyond in practice.
	symmetryTol = 1024 * epsilon
)

// Dim returns the dimension, at least 1.
func (n *Normal) Dim() int { return len(n.mean) }

// Mean returns m. The slice is shared and for reading only.
func (n *Normal) Mean() []float64 { return n.mean }

// Cov returns S. The matrix is shared and for reading only.
func (n *Normal) Cov() *linalg.Sym { return n.cov }

// Trace returns tr S, the expected squared distance of a draw from the mean.
func (n *Normal) Trace() float64 { return n.trace }

// Factor returns a lower triangular L with S = L·Lᵀ and non-negative diagonal, shared and for reading only: the
// Cholesky factor if S is definite, else one made from its eigenvalues by [spectral.FactorPSD]. clamped is the most
// negative of those that count as 0, or 0. The first call after [AdoptNormal] takes O(n³) time, and fails with
// [gaussian.ErrNotPositiveDefinite] if S is indefinite beyond rounding.
func (n *Normal) Factor() (lower *linalg.Dense, clamped float64, err error) {
	if err := n.factor(); err != nil {
		return nil, 0, err
	}
	return n.lower, n.clamped, nil
}

func (n *Normal) factor() error {
	n.factorOnce.Do(func() {
		var c linalg.Cholesky
		if err := c.Factorize(n.cov); err == nil {
			n.lower, n.regular = c.Lower(), true
			n.cholOnce.Do(func() { n.chol = &c })
			return
		}
		l := new(linalg.Dense)
		clamped, err := spectral.FactorPSD(l, n.cov)
		if err != nil {
			n.factorErr = fault.Definite("Factor", "cov", 0, err)
			return
		}
		if !(clamped >= -indefiniteTol*n.trace) {
			n.factorErr = &gaussian.DefiniteError{Op: "Factor", What: "cov", Pivot: -1, Value: clamped}
			return
		}
		n.lower, n.clamped = l, clamped
	})
	return n.factorErr
}

// definite returns the Cholesky factor, or an error if S is singular.
func (n *Normal) definite(op, what string) (*linalg.Cholesky, error) {
	if err := n.factor(); err != nil {
		return nil, err
	}
	if !n.regular {
		return nil, &gaussian.DefiniteError{Op: op, What: what, Pivot: -1, Value: n.clamped}
	}
	n.cholOnce.Do(func() {
		n.chol = new(linalg.Cholesky)
		if err := n.chol.SetLower(n.lower); err != nil {
			panic(err) // adopt has checked it
		}
	})
	return n.chol, nil
}

func finishNormal(op string, mean []float64, cov *linalg.Sym) (*Normal, error) {
	if err := fault.Vec(op, "mean", mean, len(mean)); err != nil {
		return nil, err
	}
	for i := range mean {
		if err := fault.Row(op, "cov", i, cov.Row(i)); err != nil {
			return nil, err
		}
	}
	return newNormal(mean, cov), nil
}
