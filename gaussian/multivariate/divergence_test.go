package multivariate

import (
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

func kl(t *testing.T, p, q *Normal) float64 {
	t.Helper()
	d, err := new(Workspace).KL(p, q)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func jeffreys(t *testing.T, p, q *Normal, jitter float64) float64 {
	t.Helper()
	d, err := new(Workspace).Jeffreys(p, q, jitter)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// perturbed returns p with mean and covariance changed by a relative amount.
func perturbed(p *Normal, rel float64, seed int) *Normal {
	m := append([]float64(nil), p.Mean()...)
	s := new(linalg.Sym)
	s.Copy(p.Cov())
	for i := range m {
		m[i] += rel * math.Sqrt(s.At(i, i)) * math.Sin(float64(i+seed))
		for j := range i + 1 {
			// A multiplicative change that keeps the matrix definite: D·S·D.
			s.Set(i, j, s.At(i, j)*(1+rel*math.Cos(float64(i*seed)))*(1+rel*math.Cos(float64(j*seed))))
		}
	}
	return mustNormal(m, s)
}

func TestKLOracle(t *testing.T) {
	rng := testutil.RNG(t)
	for _, n := range []int{1, 2, 10} {
		for _, cond := range []float64{1, 1e4, 1e8} {
			p := randomNormal(rng, n, cond)
			qs := []*Normal{randomNormal(rng, n, cond)}
			for _, rel := range []float64{1e-1, 1e-3, 1e-6, 1e-10} {
				qs = append(qs, perturbed(p, rel, 3))
			}
			for i, q := range qs {
				a := oracleKL(p.Mean(), p.Cov(), q.Mean(), q.Cov())
				b := oracleKL(q.Mean(), q.Cov(), p.Mean(), p.Cov())
				tol := 50 * float64(n) * epsilon * cond
				if got, want := kl(t, p, q), f64of(a); !(testutil.RelErr(got, want) <= tol) {
					t.Errorf("n=%d cond=%g pair %d: KL = %.17g, want %.17g", n, cond, i, got, want)
				}
				want := f64of(a.Add(a, b))
				if got := jeffreys(t, p, q, 0); !(testutil.RelErr(got, want) <= tol) {
					t.Errorf("n=%d cond=%g pair %d: Jeffreys = %.17g, want %.17g: %.2g, bound %.2g", n, cond, i, got, want, testutil.RelErr(got, want), tol)
				}
			}
		}
	}
}

func TestKLProperties(t *testing.T) {
	rng := testutil.RNG(t)
	// One dimension: ln(σ_q/σ_p) + (σ_p² + (m_p − m_q)²)/(2σ_q²) − ½.
	p := mustNormal([]float64{1}, linalg.NewSym(1, []float64{4}))
	q := mustNormal([]float64{3}, linalg.NewSym(1, []float64{9}))
	want := math.Log(1.5) + (4+4)/18.0 - 0.5
	if got := kl(t, p, q); !testutil.Close(got, want, 1e-15) {
		t.Errorf("KL = %.17g, want %.17g", got, want)
	}
	// Zero at equality and only there; additive over independent blocks.
	a := randomNormal(rng, 4, 1e3)
	if got := kl(t, a, mustNormal(a.Mean(), a.Cov())); got != 0 {
		t.Errorf("new(Workspace).KL(p‖p) = %g", got)
	}
	for _, rel := range []float64{1e-1, 1e-5, 1e-9, 1e-13} {
		if got := kl(t, a, perturbed(a, rel, 2)); !(got > 0) {
			t.Errorf("KL = %g at relative change %g", got, rel)
		}
	}
	// One variance of many that differs: little on average, much by itself.
	many := make([]float64, 100*100)
	for i := range 100 {
		many[i*101] = 1
	}
	unit := mustNormal(nil, linalg.NewSym(100, many))
	for _, r := range []float64{0.7, 0.9, 1.1, 1.44} {
		many[50*101] = r
		if got, want := kl(t, mustNormal(nil, linalg.NewSym(100, many)), unit), (r-1-math.Log(r))/2; !testutil.Close(got, want, 1e-14) {
			t.Errorf("KL = %.17g, want %.17g for a variance of %g", got, want, r)
		}
	}
	b, c, d := randomNormal(rng, 3, 10), randomNormal(rng, 4, 10), randomNormal(rng, 3, 10)
	if sum, joint := kl(t, a, c)+kl(t, b, d), kl(t, blockDiag(a, b), blockDiag(c, d)); !testutil.Close(joint, sum, 50*7*epsilon*1e3) {
		t.Errorf("KL of independent blocks %.15g, sum of KLs %.15g", joint, sum)
	}
	// Infinite where one covariance is singular.
	s := mustNormal(nil, lowRank(rng, 4, 2))
	for _, pair := range [][2]*Normal{{a, s}, {s, a}} {
		if v, err := new(Workspace).KL(pair[0], pair[1]); !math.IsInf(v, 1) || !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
			t.Errorf("KL with a singular covariance = %g, %v", v, err)
		}
	}
}

func blockDiag(a, b *Normal) *Normal {
	n, m := a.Dim(), b.Dim()
	s := linalg.NewSym(n+m, nil)
	for i := range n {
		for j := range i + 1 {
			s.Set(i, j, a.Cov().At(i, j))
		}
	}
	for i := range m {
		for j := range i + 1 {
			s.Set(n+i, n+j, b.Cov().At(i, j))
		}
	}
	return mustNormal(append(append([]float64(nil), a.Mean()...), b.Mean()...), s)
}

func TestXMinusLog1p(t *testing.T) {
	for _, x := range []float64{1e-300, 1e-17, 1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.1249999, 0.125, 0.13, 0.5, 1, 10, 1e6} {
		for _, v := range []float64{x, -x} {
			if v <= -1 {
				continue
			}
			// 1+v is exact enough only for the branch that uses it.
			y := bigF(1)
			y.Add(y, bigF(v))
			want := f64of(bigF(0).Sub(bigF(v), bigLog(y)))
			if math.Abs(v) < 1e-8 {
				want = v * v / 2 * (1 - 2*v/3)
			}
			tol := 8 * epsilon
			if math.Abs(v) >= 0.125 {
				tol += 8 * epsilon / math.Abs(v) // the difference cancels to v²/2
			}
			if got := xMinusLog1p(v, 1+v); !testutil.Close(got, want, tol) {
				t.Errorf("%g − ln(1 + %g) = %.17g, want %.17g", v, v, got, want)
			}
		}
	}
}

func TestJeffreysProperties(t *testing.T) {
	rng := testutil.RNG(t)
	const n = 6
	ps := []*Normal{randomNormal(rng, n, 1), randomNormal(rng, n, 1e4), randomNormal(rng, n, 1e7)}
	for _, rel := range []float64{1e-2, 1e-4, 1e-8, 1e-12, 1e-15} {
		ps = append(ps, perturbed(ps[1], rel, 5))
	}
	for i, p := range ps {
		if v := jeffreys(t, p, mustNormal(p.Mean(), p.Cov()), 0); v != 0 {
			t.Errorf("J(p, p) = %g", v)
		}
		for j, q := range ps {
			for _, jitter := range []float64{1e-6 * math.Max(p.Trace(), q.Trace()) / n, 0, 1e-6, 0.1} {
				a, err := new(Workspace).Jeffreys(p, q, jitter)
				b, err2 := new(Workspace).Jeffreys(q, p, jitter)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				if a != b {
					t.Errorf("J(%d, %d) = %.17g, J(%d, %d) = %.17g", i, j, a, j, i, b)
				}
				if (i == j) != (a == 0) || a < 0 {
					t.Errorf("J(%d, %d) = %g", i, j, a)
				}
				// The same jitter on both: the divergence of the covariances
				// with the amount added.
				sum := kl(t, jittered(p, jitter), jittered(q, jitter)) + kl(t, jittered(q, jitter), jittered(p, jitter))
				// Adding the jitter rounds the diagonals, by ε relative: what
				// that does to a distance is n·ε·cond over the distance.
				tol := 50 * n * epsilon * 1e7 * (1 + 1/math.Sqrt(sum))
				if i != j && tol < 0.1 && !(testutil.RelErr(a, sum) <= tol) {
					t.Errorf("J(%d, %d) = %.17g, KL sum %.17g with jitter %g", i, j, a, sum, jitter)
				}
			}
		}
	}
}

func jittered(p *Normal, jitter float64) *Normal {
	s := new(linalg.Sym)
	s.Copy(p.Cov())
	s.AddDiag(jitter)
	return mustNormal(p.Mean(), s)
}

func TestJeffreysSingular(t *testing.T) {
	rng := testutil.RNG(t)
	p, q := mustNormal(nil, lowRank(rng, 5, 2)), randomNormal(rng, 5, 10)
	if v, err := new(Workspace).Jeffreys(p, q, 0); !math.IsInf(v, 1) || !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
		t.Errorf("J without jitter = %g, %v", v, err)
	}
	if v, err := new(Workspace).Jeffreys(p, q, 1e-6); !(v > 0) || err != nil {
		t.Errorf("J with jitter = %g, %v", v, err)
	}
	if v, err := new(Workspace).Jeffreys(p, p, 0); v != 0 || err != nil {
		t.Errorf("J(p, p) = %g, %v", v, err)
	}
	var w Workspace
	dst := []float64{math.NaN()}
	if err := w.JeffreysTo(dst, p, []*Normal{p}, 0); dst[0] != 0 || err != nil {
		t.Errorf("J(p, p) = %g, %v", dst[0], err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := new(Workspace).Jeffreys(p, q, bad); !errors.Is(err, gaussian.ErrNotFinite) {
			t.Errorf("jitter %g: %v", bad, err)
		}
	}
	if _, err := new(Workspace).Jeffreys(p, q, -1e-6); !errors.Is(err, gaussian.ErrArgument) {
		t.Errorf("negative jitter: %v", err)
	}
}

func TestInverseKept(t *testing.T) {
	p := randomNormal(testutil.RNG(t), 4, 10)
	get := func(jitter float64) *linalg.Sym {
		q, err := p.inverse("test", jitter, new(linalg.Cholesky))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	first := get(0)
	if get(0) != first {
		t.Error("inverse computed twice")
	}
	get(99)
	if get(0) == first {
		t.Error("more than the latest inverse kept")
	}
	// S·S⁻¹ = I.
	for _, jitter := range []float64{0, 2} {
		s, q := jittered(p, jitter).Cov().Dense(), get(jitter).Dense()
		var m linalg.Dense
		m.Mul(&s, &q)
		for i := range 4 {
			for j := range 4 {
				want := 0.0
				if i == j {
					want = 1
				}
				if !(math.Abs(m.At(i, j)-want) <= 50*4*epsilon*10) {
					t.Errorf("jitter %g: (S·S⁻¹)[%d,%d] = %g", jitter, i, j, m.At(i, j))
				}
			}
		}
	}
}

// TestKLFar: far apart the factors tell what the difference of the covariances rounds away.
func TestKLFar(t *testing.T) {
	p, q := mustNormal([]float64{0}, linalg.NewSym(1, []float64{1e-40})), mustNormal([]float64{0}, linalg.NewSym(1, []float64{1}))
	want := 0.5 * (1e-40 - 1 + 40*math.Ln10)
	if got := kl(t, p, q); !testutil.Close(got, want, 1e-14) {
		t.Errorf("KL = %g, want %g", got, want)
	}
	// So far that the quotient of the deviations is subnormal.
	p, q = mustNormal([]float64{0}, linalg.NewSym(1, []float64{1e-310})), mustNormal([]float64{0}, linalg.NewSym(1, []float64{1e308}))
	if got, want := kl(t, p, q), 0.5*(618*math.Ln10-1); !testutil.Close(got, want, 1e-12) {
		t.Errorf("KL = %.17g, want %.17g", got, want)
	}
}
