package spectral

import (
	"math/big"
	"testing"

	"github.com/gocmbo/cmbo/linalg"
)

// Oracles in 300-bit arithmetic, for matrices of a few dozen rows.

const oraclePrec = 300

func bigf(x float64) *big.Float { return new(big.Float).SetPrec(oraclePrec).SetFloat64(x) }

// bigMatrix is a row-major matrix of n columns.
type bigMatrix struct {
	m, n int
	x    []*big.Float
}

func bigOf(a *linalg.Dense) bigMatrix {
	rows, cols := a.Dims()
	b := bigMatrix{m: rows, n: cols}
	for i := range rows {
		for _, v := range a.Row(i) {
			b.x = append(b.x, bigf(v))
		}
	}
	return b
}

func (b bigMatrix) at(i, j int) *big.Float { return b.x[i*b.n+j] }

// transMul returns aᵀ·b.
func (b bigMatrix) transMul(c bigMatrix) bigMatrix {
	r := bigMatrix{m: b.n, n: c.n}
	var t big.Float
	for i := range b.n {
		for j := range c.n {
			s := bigf(0)
			for k := range b.m {
				s.Add(s, t.SetPrec(oraclePrec).Mul(b.at(k, i), c.at(k, j)))
			}
			r.x = append(r.x, s)
		}
	}
	return r
}

// sumSquares returns the sum of the squares of all entries.
func (b bigMatrix) sumSquares() *big.Float {
	s, t := bigf(0), bigf(0)
	for _, v := range b.x {
		s.Add(s, t.Mul(v, v))
	}
	return s
}

// singularValues returns the singular values of b, in no order, by one-sided
// Jacobi rotations of its columns, which it overwrites, until all are orthogonal
// to 200 bits.
func (b bigMatrix) singularValues(t *testing.T) []*big.Float {
	t.Helper()
	tol := new(big.Float).SetPrec(oraclePrec).SetMantExp(bigf(1), -400) // of the squared cosine
	p, q, r, u, v := bigf(0), bigf(0), bigf(0), bigf(0), bigf(0)
	for sweep := 0; ; sweep++ {
		if sweep == 60 {
			t.Fatal("oracle: no convergence")
		}
		done := true
		for j := range b.n {
			for k := j + 1; k < b.n; k++ {
				p.SetInt64(0)
				q.SetInt64(0)
				r.SetInt64(0)
				for i := range b.m {
					x, y := b.at(i, j), b.at(i, k)
					p.Add(p, u.Mul(x, x))
					q.Add(q, u.Mul(y, y))
					r.Add(r, u.Mul(x, y))
				}
				// Rotate unless r² ≤ tol·p·q.
				if u.Mul(r, r).Cmp(v.Mul(v.Mul(p, q), tol)) <= 0 {
					continue
				}
				done = false
				// ζ = (q − p)/(2r), t = sign(ζ)/(|ζ| + √(1+ζ²)).
				z := bigf(0).Sub(q, p)
				z.Quo(z, u.Add(r, r))
				tn := bigf(1)
				tn.Add(tn, u.Mul(z, z)).Sqrt(tn)
				tn.Add(tn, u.Abs(z)).Quo(bigf(1), tn)
				if z.Sign() < 0 {
					tn.Neg(tn)
				}
				c := bigf(1)
				c.Add(c, u.Mul(tn, tn)).Sqrt(c)
				c.Quo(bigf(1), c)
				s := bigf(0).Mul(c, tn)
				for i := range b.m {
					x, y := b.at(i, j), b.at(i, k)
					nx := bigf(0).Mul(c, x)
					nx.Sub(nx, u.Mul(s, y))
					ny := bigf(0).Mul(s, x)
					ny.Add(ny, u.Mul(c, y))
					x.Set(nx)
					y.Set(ny)
				}
			}
		}
		if done {
			break
		}
	}
	out := make([]*big.Float, b.n)
	for j := range b.n {
		s := bigf(0)
		for i := range b.m {
			s.Add(s, u.Mul(b.at(i, j), b.at(i, j)))
		}
		out[j] = s.Sqrt(s)
	}
	return out
}

// nuclear returns the sum of the singular values of b, which it overwrites.
func (b bigMatrix) nuclear(t *testing.T) *big.Float {
	s := bigf(0)
	for _, v := range b.singularValues(t) {
		s.Add(s, v)
	}
	return s
}
