package multivariate

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

func w2sq(t *testing.T, p, q *Normal) float64 {
	t.Helper()
	d, err := new(Workspace).W2Squared(p, q)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestW2SquaredConditioning compares with 60-digit arithmetic on covariances of
// condition up to 1e10 and on near-equal pairs.
func TestW2SquaredConditioning(t *testing.T) {
	testutil.SkipRace(t, "one goroutine measures")
	a, b := 6, 4
	if testing.Short() {
		a, b = 4, 4
	}
	near := 0
	for _, c := range covPairs(a, b) {
		t.Run(c.name, func(t *testing.T) {
			fidelity, want := oracleBures(c.s0, c.s1)
			p, q := mustNormal(nil, c.s0), mustNormal(nil, c.s1)
			tr := p.Trace() + q.Trace()
			got := w2sq(t, p, q)
			if err := testutil.RelErr(got, want); !(err <= 1e-9) {
				t.Errorf("W2Squared = %.17g, want %.17g: relative error %.2g", got, want, err)
			}
			var w Workspace
			linalg.TransMulLower(&w.cross, p.lower, q.lower)
			f := w.svd.NuclearNorm(&w.cross)
			if err := testutil.RelErr(f, fidelity); !(err <= 1e-13) {
				t.Errorf("fidelity = %.17g, want %.17g: relative error %.2g", f, fidelity, err)
			}
			if want < nearEqual*tr {
				near++
				// In terms of differences the error is that of the factors, a
				// few ε of their norm, over the distance.
				if err := testutil.RelErr(got, want); !(err <= 8*epsilon*math.Sqrt(tr/want)) {
					t.Errorf("near-equal: relative error %.2g at relative distance %.2g", err, math.Sqrt(want/tr))
				}
			}
			m := append([]float64(nil), p.Mean()...)
			m[0] += 0.5
			if got, err := w.W2SquaredFactors(m, p.lower, q.Mean(), q.lower); err != nil || !(testutil.RelErr(got, want+0.25) <= 1e-9) {
				t.Errorf("W2SquaredFactors = %.17g, %v, want %.17g", got, err, want+0.25)
			}
			if got, err := w.W2SquaredFactors(p.Mean(), p.lower, q.Mean(), q.lower); err != nil || !(testutil.RelErr(got, want) <= 1e-9) {
				t.Errorf("W2SquaredFactors = %.17g, %v, want %.17g", got, err, want)
			}
		})
	}
	if near < 5 {
		t.Errorf("only %d near-equal pairs: the residual is not tested", near)
	}
}

// TestProcrustesDefect gives the residual a U that is not quite orthogonal.
func TestProcrustesDefect(t *testing.T) {
	rng := testutil.RNG(t)
	const n, size = 8, 1e-8
	p := randomNormal(rng, n, 100)
	q := perturbed(p, 1e-3, 3)
	var w Workspace
	linalg.TransMulLower(&w.cross, p.lower, q.lower)
	var u linalg.Dense
	if err := w.svd.PolarTo(&u, &w.cross); err != nil {
		t.Fatal(err)
	}
	w.polar.Copy(&u)
	want := w.procrustes(p.lower, q.lower)
	w.polar.Copy(&u)
	for i := range n {
		for j := range n {
			w.polar.Set(i, j, u.At(i, j)+size*rng.NormFloat64())
		}
	}
	// The defect would show as size·√tr S over the distance; what is left is the
	// square of it, from U being another orthogonal matrix.
	got := w.procrustes(p.lower, q.lower)
	if tol := 4 * n * n * size * size * p.Trace() / want; !(testutil.RelErr(got, want) <= tol) {
		t.Errorf("residual %.17g, of the polar factor %.17g: %.2g, bound %.2g", got, want, testutil.RelErr(got, want), tol)
	}
}

// TestW2SquaredCommuting compares with Σ (√a_i − √b_i)² for covariances that share
// their eigenvectors, at sizes beyond the oracle.
func TestW2SquaredCommuting(t *testing.T) {
	for _, n := range []int{1, 2, 31, 80} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			rng := testutil.RNG(t)
			q := linalg.NewDense(n, n, testutil.Orthogonal(rng, n))
			a, b := make([]float64, n), make([]float64, n)
			sa, sb := linalg.NewSym(n, nil), linalg.NewSym(n, nil)
			var want float64
			for i := range n {
				a[i], b[i] = math.Exp(3*rng.NormFloat64()), math.Exp(3*rng.NormFloat64())
				want += (math.Sqrt(a[i]) - math.Sqrt(b[i])) * (math.Sqrt(a[i]) - math.Sqrt(b[i]))
				sa.Set(i, i, a[i])
				sb.Set(i, i, b[i])
			}
			ma, mb := testutil.Normals(rng, n), testutil.Normals(rng, n)
			dm := linalg.SqDist(ma, mb)
			tr := sa.Trace() + sb.Trace()
			if got := w2sq(t, mustNormal(ma, sa), mustNormal(mb, sb)); !(math.Abs(got-want-dm) <= 4*float64(n)*epsilon*(tr+dm)) {
				t.Errorf("diagonal: %.17g, want %.17g", got, want+dm)
			}
			var ra, rb linalg.Sym
			ra.Congruence(q, sa)
			rb.Congruence(q, sb)
			if got := w2sq(t, mustNormal(ma, &ra), mustNormal(mb, &rb)); !(math.Abs(got-want-dm) <= 50*float64(n)*epsilon*(tr+dm)) {
				t.Errorf("rotated: %.17g, want %.17g", got, want+dm)
			}
		})
	}
}

// testNormals is a mixed family of one dimension: definite, nearly singular,
// singular, a point mass, and near-equal pairs.
func testNormals(t testing.TB, n int) []*Normal {
	rng := testutil.RNG(t)
	ps := []*Normal{
		randomNormal(rng, n, 1),
		randomNormal(rng, n, 1e3),
		randomNormal(rng, n, 1e8),
		randomNormal(rng, n, 1e14),
		mustNormal(testutil.Normals(rng, n), lowRank(rng, n, 1)),
		mustNormal(testutil.Normals(rng, n), lowRank(rng, n, n-1)),
		mustNormal(testutil.Normals(rng, n), linalg.NewSym(n, nil)),
	}
	for _, rel := range []float64{1e-15, 1e-9, 1e-5, 1e-2} {
		for _, p := range []*Normal{ps[1], ps[3], ps[5]} {
			s := new(linalg.Sym)
			s.Copy(p.Cov())
			m := append([]float64(nil), p.Mean()...)
			for i := range n {
				m[i] *= 1 + rel*rng.NormFloat64()
				s.Set(i, i, s.At(i, i)*(1+rel*rng.Float64()))
			}
			ps = append(ps, mustNormal(m, s))
		}
	}
	return ps
}

func TestW2IsAMetric(t *testing.T) {
	const n = 7
	ps := testNormals(t, n)
	d := make([][]float64, len(ps))
	for i, p := range ps {
		d[i] = make([]float64, len(ps))
		for j, q := range ps {
			v, err := new(Workspace).W2(p, q)
			if err != nil {
				t.Fatal(err)
			}
			d[i][j] = v
			sq := w2sq(t, p, q)
			if math.Sqrt(sq) != v {
				t.Errorf("W2 = %g, √W2Squared = %g", v, math.Sqrt(sq))
			}
			if (i == j) != (v == 0) {
				t.Errorf("distance %g between %d and %d", v, i, j)
			}
		}
		// The same numbers in another Normal are at distance 0.
		same := mustNormal(p.Mean(), p.Cov())
		if v := w2sq(t, p, same); v != 0 {
			t.Errorf("W2Squared of equal numbers = %g", v)
		}
	}
	for i := range ps {
		for j := range ps {
			if d[i][j] != d[j][i] {
				t.Errorf("new(Workspace).W2(%d, %d) = %g, new(Workspace).W2(%d, %d) = %g", i, j, d[i][j], j, i, d[j][i])
			}
			for k := range ps {
				// A squared distance is known to 1e-9 relative, and to n·ε·tr S
				// where a covariance is so close to singular that rounding of
				// its entries decides its smallest eigenvalues.
				slack := 1e-9 * d[i][j]
				for _, p := range []*Normal{ps[i], ps[j], ps[k]} {
					if !p.regular || diagonalRatio(p.lower) > 1e12 {
						slack += 2 * math.Sqrt(n*epsilon*p.Trace())
					}
				}
				if !(d[i][j] <= d[i][k]+d[k][j]+slack) {
					t.Errorf("triangle %d, %d, %d: %.17g > %.17g + %.17g", i, j, k, d[i][j], d[i][k], d[k][j])
				}
			}
		}
	}
}

func TestW2SquaredSingular(t *testing.T) {
	// Two lines through the origin at angle θ: rank 1 each, the fidelity is
	// √(a·b)·|cos θ|.
	for _, theta := range []float64{0, 0.3, math.Pi / 2} {
		u := []float64{1, 0, 0}
		v := []float64{math.Cos(theta), math.Sin(theta), 0}
		line := func(a float64, u []float64) *Normal {
			s := new(linalg.Sym)
			s.Gram(linalg.NewDense(3, 1, append([]float64(nil), u...)))
			s.Scale(a)
			return mustNormal(nil, s)
		}
		got := w2sq(t, line(2, u), line(5, v))
		want := 7 - 2*math.Sqrt(10)*math.Abs(math.Cos(theta))
		if !(math.Abs(got-want) <= 1e-14*7) {
			t.Errorf("θ = %g: %.17g, want %.17g", theta, got, want)
		}
	}
	// A singular covariance as the limit of a definite one: adding η·I moves it
	// by √(η·rank deficiency) at most.
	rng := testutil.RNG(t)
	p, q := mustNormal(nil, lowRank(rng, 6, 3)), mustNormal(nil, lowRank(rng, 6, 4))
	const eta = 1e-12
	pe, qe := new(linalg.Sym), new(linalg.Sym)
	pe.Copy(p.Cov())
	pe.AddDiag(eta)
	qe.Copy(q.Cov())
	qe.AddDiag(eta)
	a, b := math.Sqrt(w2sq(t, p, q)), math.Sqrt(w2sq(t, mustNormal(nil, pe), mustNormal(nil, qe)))
	if !(math.Abs(a-b) <= 2*math.Sqrt(6*eta)) {
		t.Errorf("W2 = %g, %g with %g added to the diagonals", a, b, eta)
	}
}

func TestW2SquaredMeans(t *testing.T) {
	// A shift adds exactly its squared length, also where it dwarfs the rest.
	rng := testutil.RNG(t)
	p := randomNormal(rng, 4, 10)
	shifted := append([]float64(nil), p.Mean()...)
	shifted[2] += 1e6
	q := mustNormal(shifted, p.Cov())
	want := shifted[2] - p.Mean()[2]
	if got, err := new(Workspace).W2(p, q); err != nil || !testutil.Close(got, want, 4*epsilon) {
		t.Errorf("W2 = %.17g, %v, want %.17g", got, err, want)
	}
}

// The distance of means is found where its square is no number, or 0.
func TestW2FarMeans(t *testing.T) {
	rng := testutil.RNG(t)
	w := new(Workspace)
	cov := randomNormal(rng, 2, 10).Cov()
	for _, far := range []float64{1e200, -1e300, 1e150, 3} {
		p, q := mustNormal([]float64{far, 0}, cov), mustNormal([]float64{0, far / 2}, cov)
		want := math.Abs(far) * math.Sqrt(1.25)
		if got, err := w.W2(p, q); err != nil || !testutil.Close(got, want, 4*epsilon) {
			t.Errorf("means %g apart: W2 = %.17g, %v, want %.17g", far, got, err, want)
		}
	}
	zero := linalg.NewSym(2, nil)
	p, q := mustNormal([]float64{3e-200, 4e-200}, zero), mustNormal([]float64{0, 0}, zero)
	if got, err := w.W2(p, q); err != nil || !testutil.Close(got, 5e-200, 4*epsilon) {
		t.Errorf("W2 = %g, %v, want 5e-200", got, err)
	}
	p, q = mustNormal([]float64{1.5e308, 0}, zero), mustNormal([]float64{-1.5e308, 0}, zero)
	if got, err := w.W2(p, q); !errors.Is(err, gaussian.ErrNotFinite) {
		t.Errorf("W2 = %g, %v, want gaussian.ErrNotFinite", got, err)
	}
	p, q = mustNormal([]float64{1e200, 0}, cov), mustNormal([]float64{0, 0}, cov)
	if got, err := w.W2Squared(p, q); !errors.Is(err, gaussian.ErrNotFinite) {
		t.Errorf("W2Squared = %g, %v, want gaussian.ErrNotFinite", got, err)
	}
}

func TestW2Scaling(t *testing.T) {
	// W2(c·p, c·q) = c·W2(p, q), down to where squares are close to underflow, and for
	// distributions that are nearly the same.
	rng := testutil.RNG(t)
	p := randomNormal(rng, 5, 30)
	for _, q := range []*Normal{randomNormal(rng, 5, 30), perturbed(p, 1e-8, 3)} {
		d, _ := new(Workspace).W2(p, q)
		for _, c := range []float64{0x1p-100, 0x1p100} {
			scale := func(p *Normal) *Normal {
				m := append([]float64(nil), p.Mean()...)
				for i := range m {
					m[i] *= c
				}
				s := new(linalg.Sym)
				s.Copy(p.Cov())
				s.Scale(c * c)
				return mustNormal(m, s)
			}
			if got, err := new(Workspace).W2(scale(p), scale(q)); err != nil || !testutil.Close(got, c*d, 1e-13) {
				t.Errorf("scale %g: %g, %v, want %g", c, got, err, c*d)
			}
		}
	}
}
