package spectral

import (
	"math"
	"sync"
)

// poleTable holds the nodes s and weights w with
//
//	√x ≈ Σ_j w_j·x/(x + s_j),   x in [1/kappa, 1],
//
// to a relative error below 1e-16, so that rounding decides. For n poles, with
// the elliptic parameter m = 1 − 1/kappa and K = K(m),
//
//	t_j = (j − ½)·K/n,   s_j = sc²(t_j | m)/kappa,
//	w_j = 2·K/(π·n·√kappa) · dn(t_j | m)/cn²(t_j | m).
//
// N. Hale, N. J. Higham and L. N. Trefethen, Computing A^α, log(A), and related matrix functions by
// contour integrals, SIAM J. Numer. Anal. 46 (2008) 2505–2523, method 3.
type poleTable struct {
	kappa float64
	s, w  []float64
}

// poleTables makes each table, n poles for kappa = root², at its first use.
var poleTables = [...]func() *poleTable{newTable(24, 1e2), newTable(48, 1e4), newTable(80, 1e8), newTable(192, 1e20)}

func newTable(n int, root float64) func() *poleTable {
	return sync.OnceValue(func() *poleTable { return makePoles(n, root) })
}

// makePoles computes a table for an even n, correctly rounded but for chance, by theta functions of the imaginary argument
// i·t_j and the nome q of 1 − m, which is small: their series, in twice the precision, have few terms, all powers of r =
// q^(1/4n) (M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 1964, 16.20, 16.36 and 17.3).
func makePoles(n int, root float64) *poleTable {
	one, root1 := double{hi: 1}, double{hi: 1}.div(double{hi: root})
	m1 := root1.mul(root1)
	k := one.add(m1.scale(-1)).sqrt()
	h := one.add(k.sqrt())
	q := m1.div(one.add(k).mul(h).mul(h)).scale(0.5) // less 2·q⁵, which no result shows
	r := double{hi: math.Pow(q.hi, 1/float64(4*n))}
	// A step of Newton's iteration.
	r = r.add(r.mul(q.div(r.pow(4 * n)).add(one.scale(-1))).div(double{hi: float64(4 * n)}))
	powers := []double{one}
	for len(powers) < 7*4*n { // q⁷ is below the rounding of 1
		powers = append(powers, powers[len(powers)-1].mul(r))
	}
	// Σ_i sign^i·q^(i·(i+shift))·r^(−x·i)
	theta := func(shift, x int, sign float64) (sum double) {
		for i := -4; i < 4; i++ {
			if p := 4*n*i*(i+shift) - x*i; p < len(powers) {
				sum = sum.add(powers[p].scale(math.Pow(sign, float64(i))))
			}
		}
		return sum
	}
	mean, other := one, root1 // their arithmetic-geometric mean is π/(2·K)
	for range 12 {
		mean, other = mean.add(other).scale(0.5), mean.mul(other).sqrt()
	}
	factor := theta(0, 0, -1).pow(2).mul(theta(1, 0, 1)).div(theta(0, 0, 1).pow(3).mul(mean).scale(float64(n)))
	t := &poleTable{kappa: root * root, s: make([]float64, n), w: make([]float64, n)}
	for j := range n {
		x := 2 * (2*j + 1)
		d := theta(0, x, -1).pow(2)
		t.s[j] = theta(1, x, -1).pow(2).div(d).mul(root1).mul(powers[2*n].div(powers[x])).hi
		t.w[j] = theta(1, x, 1).mul(theta(0, x, 1)).div(d).mul(factor).mul(powers[2*n-x/2]).hi
	}
	return t
}

// polesFor returns the smallest table for condition number kappa, the largest one there is if kappa is beyond all, or NaN.
func polesFor(kappa float64) (t *poleTable) {
	for _, table := range poleTables {
		if t = table(); kappa <= t.kappa {
			break
		}
	}
	return t
}

// inverseTrace returns tr (BᵀB)⁻¹ = Σ 1/σ_i² for the upper bidiagonal matrix B with squared
// diagonal a2 and squared superdiagonal b2, by a recurrence of positive terms: with ρ_n = a_n², ρ_i
// = a_i²·ρ_{i+1}/(b_i² + ρ_{i+1}) it is Σ 1/ρ_i. It is +Inf if B is singular or close to it.
func inverseTrace(a2, b2 []float64) float64 {
	var sum, rho float64
	for i := len(a2) - 1; i >= 0; i-- {
		if i == len(a2)-1 {
			rho = a2[i]
		} else {
			rho = a2[i] * (rho / (b2[i] + rho))
		}
		sum += 1 / rho
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}

// double is a number of twice the precision, hi + lo with lo below the rounding of hi (T. J. Dekker, A floating-point
// technique for extending the available precision, Numer. Math. 18 (1971) 224–242).
type double struct{ hi, lo float64 }

// renormalised returns s + t for a small t.
func renormalised(s, t float64) double {
	hi := s + t
	return double{hi, t - (hi - s)}
}

func (a double) add(b double) double {
	s := a.hi + b.hi
	t := s - a.hi
	return renormalised(s, (a.hi-(s-t))+(b.hi-t)+(a.lo+b.lo))
}

func (a double) mul(b double) double {
	p := float64(a.hi * b.hi)
	return renormalised(p, math.FMA(a.hi, b.hi, -p)+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

func (a double) scale(c float64) double { return a.mul(double{hi: c}) }

func (a double) div(b double) double {
	q := a.hi / b.hi
	return renormalised(q, a.add(b.scale(-q)).hi/b.hi)
}

func (a double) sqrt() double {
	r := math.Sqrt(a.hi)
	return renormalised(r, a.add(double{hi: r}.scale(-r)).hi/(2*r))
}

func (a double) pow(n int) double {
	p := a
	for range n - 1 {
		p = p.mul(a)
	}
	return p
}
