package multivariate

import (
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// The oracle computes in 200-bit arithmetic, some 60 digits, what the package
// computes in float64: Cholesky factors, then one-sided Jacobi rotations.

const oraclePrec = 200

func bigF(x float64) *big.Float { return new(big.Float).SetPrec(oraclePrec).SetFloat64(x) }

type bigMat [][]*big.Float

func newBigMat(r, c int) bigMat {
	m := make(bigMat, r)
	for i := range m {
		m[i] = make([]*big.Float, c)
		for j := range m[i] {
			m[i][j] = bigF(0)
		}
	}
	return m
}

func bigSym(s *linalg.Sym) bigMat {
	m := newBigMat(s.Dim(), s.Dim())
	for i := range m {
		for j, v := range s.Row(i) {
			m[i][j].SetFloat64(v)
		}
	}
	return m
}

// chol returns the lower factor, nil of a matrix that is not definite.
func (a bigMat) chol() bigMat {
	n := len(a)
	l := newBigMat(n, n)
	t := bigF(0)
	for i := range n {
		for j := range i + 1 {
			s := bigF(0).Set(a[i][j])
			for k := range j {
				s.Sub(s, t.Mul(l[i][k], l[j][k]))
			}
			switch {
			case i > j:
				l[i][j].Quo(s, l[j][j])
			case s.Sign() <= 0:
				return nil
			default:
				l[i][i].Sqrt(s)
			}
		}
	}
	return l
}

// transMul returns aᵀ·b.
func (a bigMat) transMul(b bigMat) bigMat {
	m := newBigMat(len(a[0]), len(b[0]))
	t := bigF(0)
	for i := range m {
		for j := range m[i] {
			for k := range a {
				m[i][j].Add(m[i][j], t.Mul(a[k][i], b[k][j]))
			}
		}
	}
	return m
}

// solveLower overwrites b with l⁻¹·b.
func (l bigMat) solveLower(b bigMat) {
	t := bigF(0)
	for i := range l {
		for j := range b[i] {
			for k := range i {
				b[i][j].Sub(b[i][j], t.Mul(l[i][k], b[k][j]))
			}
			b[i][j].Quo(b[i][j], l[i][i])
		}
	}
}

func bigDot(x, y []*big.Float) *big.Float {
	s, t := bigF(0), bigF(0)
	for i, v := range x {
		s.Add(s, t.Mul(v, y[i]))
	}
	return s
}

// nuclear returns the sum of the singular values; a is overwritten, its rows
// being orthogonalised.
func (a bigMat) nuclear() *big.Float {
	one, two := bigF(1), bigF(2)
	u, v := bigF(0), bigF(0)
	for range 60 {
		rotated := false
		for p := range a {
			for q := p + 1; q < len(a); q++ {
				x, y := a[p], a[q]
				al, be, ga := bigDot(x, x), bigDot(y, y), bigDot(x, y)
				// |ga| ≤ 1e-40·√(al·be), by exponents.
				if ga.Sign() == 0 || 2*ga.MantExp(nil) < al.MantExp(nil)+be.MantExp(nil)-266 {
					continue
				}
				rotated = true
				z := bigF(0).Sub(be, al)
				z.Quo(z, u.Mul(two, ga))
				t := bigF(0).Mul(z, z)
				t.Sqrt(t.Add(t, one))
				t.Add(t, u.Abs(z))
				t.Quo(one, t)
				if z.Sign() < 0 {
					t.Neg(t)
				}
				c := bigF(0).Mul(t, t)
				c.Quo(one, c.Sqrt(c.Add(c, one)))
				s := bigF(0).Mul(c, t)
				for k := range x {
					u.Mul(c, x[k])
					u.Sub(u, v.Mul(s, y[k]))
					y[k].Mul(y[k], c)
					y[k].Add(y[k], v.Mul(s, x[k]))
					x[k].Set(u)
				}
			}
		}
		if !rotated {
			break
		}
	}
	sum := bigF(0)
	for _, x := range a {
		d := bigDot(x, x)
		sum.Add(sum, d.Sqrt(d))
	}
	return sum
}

func f64of(x *big.Float) float64 { v, _ := x.Float64(); return v }

// oracleBures returns the fidelity term and the squared Bures distance of two
// definite matrices.
func oracleBures(s0, s1 *linalg.Sym) (fidelity, squared float64) {
	f := bigSym(s1).chol().transMul(bigSym(s0).chol()).nuclear()
	d := bigF(0)
	for i := range s0.Dim() {
		d.Add(d, bigF(s0.At(i, i)))
		d.Add(d, bigF(s1.At(i, i)))
	}
	d.Sub(d, bigF(0).Mul(bigF(2), f))
	return f64of(f), f64of(d)
}

// oracleKL returns new(Workspace).KL(p‖q) and the quadratic form (m_q−m_p)ᵀ·S_q⁻¹·(m_q−m_p).
func oracleKL(m0 []float64, s0 *linalg.Sym, m1 []float64, s1 *linalg.Sym) *big.Float {
	n := len(m0)
	l0, l1 := bigSym(s0).chol(), bigSym(s1).chol()
	dm := newBigMat(n, 1)
	for i := range n {
		dm[i][0].Sub(bigF(m1[i]), bigF(m0[i]))
	}
	l1.solveLower(dm)
	// tr(S1⁻¹·S0) = ‖L1⁻¹·L0‖², and the log-determinants are those of its
	// diagonal.
	det := bigF(1)
	for i := range n {
		det.Mul(det, bigF(0).Quo(l0[i][i], l1[i][i]))
	}
	l1.solveLower(l0)
	s := bigF(-float64(n))
	t := bigF(0)
	for i := range n {
		s.Add(s, t.Mul(dm[i][0], dm[i][0]))
		s.Add(s, bigDot(l0[i], l0[i]))
	}
	s.Sub(s, t.Mul(bigF(2), bigLog(det)))
	return s.Quo(s, bigF(2))
}

// bigLog returns ln x by Newton's iteration on exp, from float64.
func bigLog(x *big.Float) *big.Float {
	var m big.Float
	e := x.MantExp(&m)
	// ln x = ln m + e·ln 2, each by its series.
	y := bigAtanhLog(&m)
	l2 := bigAtanhLog(bigF(2))
	return y.Add(y, l2.Mul(l2, bigF(float64(e))))
}

// bigAtanhLog returns ln m = 2·atanh((m−1)/(m+1)) for m in [½, 2].
func bigAtanhLog(m *big.Float) *big.Float {
	z := bigF(0).Sub(m, bigF(1))
	z.Quo(z, bigF(0).Add(m, bigF(1)))
	z2 := bigF(0).Mul(z, z)
	sum, pow, t := bigF(0), bigF(0).Set(z), bigF(0)
	for k := 1; k < 400; k += 2 {
		sum.Add(sum, t.Quo(pow, bigF(float64(k))))
		pow.Mul(pow, z2)
	}
	return sum.Mul(sum, bigF(2))
}

// Test families of covariances, after those of numerical practice.

type point [2]float64

func gridPoints(a, b int) []point {
	var g []point
	for i := range a {
		for j := range b {
			p := point{}
			if a > 1 {
				p[0] = float64(i) / float64(a-1)
			}
			if b > 1 {
				p[1] = float64(j) / float64(b-1)
			}
			g = append(g, p)
		}
	}
	return g
}

func matern32(x, y, l point) float64 {
	u, v := (x[0]-y[0])/l[0], (x[1]-y[1])/l[1]
	r := math.Sqrt(3 * (u*u + v*v))
	return (1 + r) * math.Exp(-r)
}

func gramOf(x []point, l point) *linalg.Sym {
	k := linalg.NewSym(len(x), nil)
	for i := range x {
		for j := range i + 1 {
			k.Set(i, j, matern32(x[i], x[j], l))
		}
	}
	return k
}

// posteriorCov is the posterior covariance on g after nobs observations at random
// places, or at random points of g, plus jitter.
func posteriorCov(seed uint64, g []point, l point, nobs int, noise, jitter float64, onGrid bool) *linalg.Sym {
	rng := rand.New(rand.NewPCG(seed, 1))
	k := gramOf(g, l)
	if nobs > 0 {
		perm := rng.Perm(len(g))
		x := make([]point, nobs)
		for i := range x {
			x[i] = point{rng.Float64(), rng.Float64()}
			if onGrid {
				x[i] = g[perm[i]]
			}
		}
		cross := linalg.NewDense(nobs, len(g), nil)
		for i := range x {
			for j := range g {
				cross.Set(i, j, matern32(x[i], g[j], l))
			}
		}
		var c gaussian.Conditioner
		err := c.Factorize(gramOf(x, l), []float64{noise}, make([]float64, nobs))
		if err == nil {
			err = c.Whiten(cross, cross)
		}
		if err == nil {
			err = c.UpdateCov(k, cross)
		}
		if err != nil {
			panic(err)
		}
	}
	k.AddDiag(jitter)
	return k
}

func mustNormal(mean []float64, cov *linalg.Sym) *Normal {
	if mean == nil {
		mean = make([]float64, cov.Dim())
	}
	p, err := NewNormal(mean, cov)
	if err != nil {
		panic(err)
	}
	return p
}

// covPairs are pairs of covariances in increasing order of trouble.
func covPairs(a, b int) []struct {
	name   string
	s0, s1 *linalg.Sym
} {
	g := gridPoints(a, b)
	n := len(g)
	line := make([]point, n)
	for i := range line {
		line[i] = point{float64(i) / float64(n-1), 0}
	}
	nobs := 11 * n / 20
	type pair = struct {
		name   string
		s0, s1 *linalg.Sym
	}
	lp := func(seed uint64, l point, jitter float64) *linalg.Sym {
		return posteriorCov(seed, line, l, 1, 1e-12, jitter, true)
	}
	return []pair{
		{"grid posterior, jitter 1e-6", posteriorCov(1, g, point{.25, .3}, nobs, 1e-4, 1e-6, false), posteriorCov(2, g, point{.5, .2}, nobs, 1e-4, 1e-6, false)},
		{"grid posterior, jitter 1e-10", posteriorCov(1, g, point{.25, .3}, nobs, 1e-4, 1e-10, false), posteriorCov(2, g, point{.5, .2}, nobs, 1e-4, 1e-10, false)},
		{"long lengthscale, jitter 1e-6", lp(1, point{2, 1}, 1e-6), lp(2, point{3, 1}, 1e-6)},
		{"long lengthscale, jitter 1e-10", lp(1, point{2, 1}, 1e-10), lp(2, point{3, 1}, 1e-10)},
		{"rank-losing, jitter 1e-6", posteriorCov(1, g, point{.5, .6}, nobs, 1e-12, 1e-6, true), posteriorCov(2, g, point{1, .4}, nobs, 1e-12, 1e-6, true)},
		{"rank-losing, jitter 1e-10", posteriorCov(1, g, point{.5, .6}, nobs, 1e-12, 1e-10, true), posteriorCov(2, g, point{1, .4}, nobs, 1e-12, 1e-10, true)},
		{"near-equal, jitter 1e-6", posteriorCov(1, g, point{.25, .3}, nobs, 1e-4, 1e-6, false), posteriorCov(1, g, point{.25 * 1.001, .3 * 1.001}, nobs, 1e-4, 1e-6, false)},
		{"near-equal, jitter 1e-10", posteriorCov(1, g, point{.25, .3}, nobs, 1e-4, 1e-10, false), posteriorCov(1, g, point{.25 * 1.001, .3 * 1.001}, nobs, 1e-4, 1e-10, false)},
		{"near-equal, rank-losing, jitter 1e-6", posteriorCov(1, g, point{.5, .6}, nobs, 1e-12, 1e-6, true), posteriorCov(1, g, point{.5005, .6006}, nobs, 1e-12, 1e-6, true)},
		{"near-equal, rank-losing, jitter 1e-10", posteriorCov(1, g, point{.5, .6}, nobs, 1e-12, 1e-10, true), posteriorCov(1, g, point{.5005, .6006}, nobs, 1e-12, 1e-10, true)},
		{"1e-6 apart, jitter 1e-6", posteriorCov(1, g, point{.25, .3}, nobs, 1e-4, 1e-6, false), posteriorCov(1, g, point{.25 * (1 + 1e-6), .3 * (1 + 1e-6)}, nobs, 1e-4, 1e-6, false)},
	}
}
