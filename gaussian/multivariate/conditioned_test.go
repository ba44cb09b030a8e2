package multivariate

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

var cases = flag.Int("cases", 0, "number of ill-conditioned matrices that TestIllConditioned tries; 0 for some hundred")

// hardCov returns a covariance of one of several kinds that are hard on
// factorisations: spectra down to 1e-16 and 0, repeated and nearly repeated points
// under a smooth kernel, far scales.
func hardCov(r *rand.Rand, n int) *linalg.Sym {
	s := linalg.NewSym(n, nil)
	switch r.IntN(4) {
	case 0:
		copyInto(s, testutil.SPD(r, n, math.Pow(10, 16*r.Float64())))
	case 1: // of lower rank
		lambda := make([]float64, n)
		for i := range 1 + r.IntN(n) {
			lambda[i] = math.Pow(10, -4*r.Float64())
		}
		copyInto(s, testutil.Spectrum(r, lambda))
	default: // squared exponential on the line
		x := make([]float64, n)
		for i := range x {
			x[i] = r.Float64()
			if i > 0 && r.IntN(3) == 0 {
				x[i] = x[r.IntN(i)] + []float64{0, 1e-15, 1e-8}[r.IntN(3)]
			}
		}
		l := math.Pow(10, 2*r.Float64()-1)
		for i := range n {
			for j := range i + 1 {
				d := (x[i] - x[j]) / l
				s.Set(i, j, math.Exp(-d*d/2))
			}
		}
	}
	if r.IntN(4) == 0 {
		s.Scale(math.Pow(10, 80*r.Float64()-40))
	}
	return s
}

func copyInto(s *linalg.Sym, a []float64) {
	n := s.Dim()
	for i := range n {
		copy(s.Row(i), a[i*n:(i+1)*n])
	}
}

// TestIllConditioned holds factors, roots, distances, barycentres and regressions
// of ill-conditioned covariances against their residuals, whose bounds do not grow
// with the condition, and some of them against 60 digits.
func TestIllConditioned(t *testing.T) {
	total := *cases
	if total == 0 {
		total = 300
		if testing.Short() {
			total = 100
		}
	}
	r := testutil.RNG(t)
	tried := map[string]int{}
	for c := range total {
		n := 2 + r.IntN(14)
		a, b := hardCov(r, n), hardCov(r, n)
		factorResidual(t, a)
		rootResidual(t, a)
		regressionResidual(t, r, a)
		p, _, errP := finiteNormal(r, a)
		q, _, errQ := finiteNormal(r, b)
		if errP != nil || errQ != nil {
			t.Fatalf("case %d: %v, %v", c, errP, errQ)
		}
		distances(t, p, q, c%10 == 0 && n <= 8, tried)
		if c%5 == 0 {
			barycentreResidual(t, p, q, tried)
		}
		if t.Failed() {
			t.Fatalf("case %d of dimension %d", c, n)
		}
	}
	t.Logf("%d cases: %v", total, tried)
	if tried["W2 against 60 digits"] == 0 || tried["barycentres"] == 0 {
		t.Error("none of a kind")
	}
}

func finiteNormal(r *rand.Rand, cov *linalg.Sym) (*Normal, float64, error) {
	mean := make([]float64, cov.Dim())
	for i := range mean {
		mean[i] = r.NormFloat64() * math.Sqrt(cov.At(i, i))
	}
	n, err := NewNormal(mean, cov)
	return n, 0, err
}

// factorResidual: |A + jI − LLᵀ| is at most γ_{n+1}·|L||Lᵀ| (Higham 2002, theorem
// 10.3), whose entries the diagonal of A bounds; twice that for the residual's own
// rounding.
func factorResidual(t *testing.T, a *linalg.Sym) {
	t.Helper()
	var chol linalg.Cholesky
	jitter, err := chol.FactorizeJitter(a, 1e-4)
	if err != nil {
		t.Errorf("factor: %v", err)
		return
	}
	l := chol.Lower()
	n := a.Dim()
	for i := range n {
		for j := range i + 1 {
			var s float64
			for k := range j + 1 {
				s += l.Row(i)[k] * l.Row(j)[k]
			}
			want := a.At(i, j)
			if i == j {
				want += jitter
			}
			top := math.Sqrt((a.At(i, i) + jitter) * (a.At(j, j) + jitter))
			if e := math.Abs(s - want); !(e <= 3*testutil.Gamma(n+2)*top) {
				t.Errorf("factor: entry %d, %d is off by %g of %g, jitter %g", i, j, e, top, jitter)
			}
		}
	}
}

// rootResidual: R² = A to the accuracy of the eigenvalues.
func rootResidual(t *testing.T, a *linalg.Sym) {
	t.Helper()
	var root spectral.RootPSD
	n := a.Dim()
	var s linalg.Sym
	if err := root.SqrtTo(&s, a); err != nil {
		t.Errorf("root: %v", err)
		return
	}
	norm, off := 0.0, 0.0
	for i := range n {
		for j := range n {
			var v float64
			for k := range n {
				v += s.At(i, k) * s.At(k, j)
			}
			d := v - a.At(i, j)
			off, norm = off+d*d, norm+a.At(i, j)*a.At(i, j)
		}
	}
	if !(math.Sqrt(off) <= 40*float64(n)*testutil.Unit*math.Sqrt(norm)+root.Clamped()*float64(n)) {
		t.Errorf("root: R² − A has norm %g of %g, clamped %g", math.Sqrt(off), math.Sqrt(norm), root.Clamped())
	}
}

// regressionResidual: (K + D)·α = y to a backward error of some roundings, with
// nearly no noise.
func regressionResidual(t *testing.T, r *rand.Rand, a *linalg.Sym) {
	t.Helper()
	n := a.Dim()
	noise, y := make([]float64, n), make([]float64, n)
	top := 0.0
	for i := range n {
		top = max(top, a.At(i, i))
	}
	for i := range n {
		noise[i] = top * math.Pow(10, -18*r.Float64())
		y[i] = r.NormFloat64() * math.Sqrt(top)
	}
	var c gaussian.Conditioner
	if err := c.Factorize(a, noise, y); err != nil {
		t.Errorf("regression: %v", err)
		return
	}
	alpha := make([]float64, n)
	var inverse linalg.Sym
	if err := c.Precision(alpha, &inverse); err != nil {
		t.Errorf("regression: %v", err)
		return
	}
	size := 0.0
	for _, v := range alpha {
		size += v * v
	}
	for i := range n {
		s := -y[i]
		for j := range n {
			v := a.At(i, j)
			if i == j {
				v += noise[i] + c.Jitter()
			}
			s += v * alpha[j]
		}
		if bound := 20 * testutil.Gamma(n+2) * float64(n) * (top*math.Sqrt(size) + math.Abs(y[i])); !(math.Abs(s) <= bound) {
			t.Errorf("regression: row %d is off by %g, more than %g", i, s, bound)
		}
	}
}

// distances: W2 is a metric up to roundings of the traces, Jeffreys symmetric and
// not negative.
func distances(t *testing.T, p, q *Normal, oracle bool, tried map[string]int) {
	t.Helper()
	var w Workspace
	pq, err := w.W2Squared(p, q)
	qp, err2 := w.W2Squared(q, p)
	self, err3 := w.W2Squared(p, p)
	if err != nil || err2 != nil || err3 != nil {
		t.Errorf("W2: %v, %v, %v", err, err2, err3)
		return
	}
	if pq != qp || self != 0 || !(pq >= 0) {
		t.Errorf("W2² is %g and %g, to itself %g", pq, qp, self)
	}
	if oracle && definite(p.Cov()) && definite(q.Cov()) {
		tried["W2 against 60 digits"]++
		_, want := oracleBures(p.Cov(), q.Cov())
		for i, m := range p.Mean() {
			d := m - q.Mean()[i]
			want += d * d
		}
		// A rounding of the covariance moves the root of its least eigenvalue λ by
		// Unit/√λ, and the trace of the product of roots with it.
		least := min(leastPivot(p), leastPivot(q))
		bound := 200 * float64(p.Dim()) * testutil.Unit * (p.Trace() + q.Trace() + want) / math.Sqrt(least)
		if e := math.Abs(pq - want); !(e <= bound) {
			t.Errorf("W2² = %g, with 60 digits %g: off by more than %g", pq, want, bound)
		}
	}
	jitter := 1e-6 * max(p.Trace(), q.Trace()) / float64(p.Dim())
	j, err := w.Jeffreys(p, q, jitter)
	back, err2 := w.Jeffreys(q, p, jitter)
	if err != nil || err2 != nil {
		t.Errorf("Jeffreys: %v, %v", err, err2)
	} else if j != back || !(j >= 0) {
		t.Errorf("Jeffreys: %g one way, %g the other", j, back)
	}
}

// leastPivot returns the least square of the factor's diagonal over the trace.
func leastPivot(n *Normal) float64 {
	var c linalg.Cholesky
	_ = c.Factorize(n.Cov()) // which succeeded before
	least := math.Inf(1)
	for i := range n.Dim() {
		v := c.Lower().Row(i)[i]
		least = min(least, v*v/n.Trace())
	}
	return least
}

// definite reports whether a matrix is, for floats and for 60 digits: rounding may
// have left it a little indefinite, and the factor's own rounding may hide that.
func definite(s *linalg.Sym) bool {
	var c linalg.Cholesky
	return c.Factorize(s) == nil && bigSym(s).chol() != nil
}

// barycentreResidual: what calls itself converged solves the equation, by roots
// computed apart from the solver.
func barycentreResidual(t *testing.T, p, q *Normal, tried map[string]int) {
	t.Helper()
	b, err := Barycenter(context.Background(), []*Normal{p, q}, []float64{0.3, 0.7})
	if err != nil {
		t.Errorf("barycentre: %v", err)
		return
	}
	var root spectral.RootPSD
	var half, part linalg.Sym
	if err := root.SqrtTo(&half, b.Center.Cov()); err != nil {
		t.Errorf("barycentre: %v", err)
		return
	}
	n := p.Dim()
	sum := linalg.NewSym(n, nil)
	for k, m := range []*Normal{p, q} {
		inner := linalg.NewSym(n, nil)
		for i := range n {
			for j := range i + 1 {
				var s float64
				for u := range n {
					for v := range n {
						s += half.At(i, u) * m.Cov().At(u, v) * half.At(v, j)
					}
				}
				inner.Set(i, j, s)
			}
		}
		if err := root.SqrtTo(&part, inner); err != nil {
			return // roundings of the product left it too indefinite to be held against
		}
		sum.AddScaled([]float64{0.3, 0.7}[k], &part)
	}
	change := relativeChange(sum, b.Center.Cov())
	tried["barycentres"]++
	if !b.Converged {
		tried["barycentres not converged, by their report"]++
		return
	}
	if !(change <= 1e-6) {
		t.Errorf("barycentre by %s, residual %g: the equation is off by %g", b.Method, b.Residual, change)
	}
}
