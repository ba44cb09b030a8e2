package multivariate

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// exactLowRank returns an n×rank factor of small integers and its Gram matrix,
// which is exact and therefore singular to the last bit if rank < n.
func exactLowRank(t *testing.T, n, rank, salt int) (bigMat, *linalg.Sym) {
	rng := testutil.RNG(t)
	for range salt {
		rng.Uint64()
	}
	f, b := linalg.NewDense(n, rank, nil), newBigMat(n, rank)
	for i := range n {
		for j := range rank {
			v := float64(rng.IntN(9) - 4)
			f.Set(i, j, v)
			b[i][j].SetFloat64(v)
		}
	}
	s := new(linalg.Sym)
	s.Gram(f)
	return b, s
}

// TestW2SquaredExactlySingular wants full accuracy from singular covariances of
// any ranks, where factors are known to √ε only.
func TestW2SquaredExactlySingular(t *testing.T) {
	sizes := []int{2, 6, 17}
	if testing.Short() {
		sizes = sizes[:2]
	}
	cases := [][3]int{{singularMaxDim, singularMaxDim, 1}} // dimension, ranks
	for _, n := range sizes {
		for _, r0 := range []int{1, (n + 1) / 2, n - 1, n} {
			for _, r1 := range []int{1, n / 3, n} {
				cases = append(cases, [3]int{n, r0, r1})
			}
		}
	}
	for _, c := range cases {
		n, r0, r1 := c[0], c[1], c[2]
		if r1 == 0 {
			continue
		}
		t.Run(fmt.Sprintf("n=%d/ranks=%d,%d", n, r0, r1), func(t *testing.T) {
			f0, s0 := exactLowRank(t, n, r0, 0)
			f1, s1 := exactLowRank(t, n, r1, 99)
			m := f1.transMul(f0)
			if r1 < r0 {
				m = f0.transMul(f1)
			}
			fidelity := f64of(m.nuclear())
			tr := s0.Trace() + s1.Trace()
			want := tr - 2*fidelity
			got := w2sq(t, mustNormal(nil, s0), mustNormal(nil, s1))
			if !(math.Abs(got-want) <= 1e-10*want+50*float64(n)*epsilon*tr) {
				t.Errorf("W2Squared = %.17g, want %.17g: off by %.2g of the traces", got, want, math.Abs(got-want)/tr)
			}
		})
	}
}

// TestW2SquaredExtremeScales: multiplying covariances by powers of four changes no
// digit, as far as numbers reach; and where only one of the two is multiplied the
// fidelity grows with the root.
func TestW2SquaredExtremeScales(t *testing.T) {
	const n = 6
	for _, ranks := range [][2]int{{1, 3}, {2, n}, {n - 1, n}, {1, 1}, {n, n}} {
		_, s0 := exactLowRank(t, n, ranks[0], 0)
		_, s1 := exactLowRank(t, n, ranks[1], 99)
		want := w2sq(t, mustNormal(nil, s0), mustNormal(nil, s1))
		fidelity := (s0.Trace() + s1.Trace() - want) / 2
		for _, e := range []int{-900, -600, -540, 260, 500, 520, 600, 1000} {
			a, b := new(linalg.Sym), new(linalg.Sym)
			a.Copy(s0)
			b.Copy(s1)
			a.Scale(math.Ldexp(1, e))
			b.Scale(math.Ldexp(1, e))
			p, q := mustNormal(nil, a), mustNormal(nil, b)
			if got := w2sq(t, p, q); got != math.Ldexp(want, e) {
				t.Errorf("ranks %v times 2^%d: %g, want %g", ranks, e, got, math.Ldexp(want, e))
			}
			got := w2sq(t, p, mustNormal(nil, s1))
			traces := a.Trace() + s1.Trace()
			if one := traces - 2*math.Ldexp(fidelity, e/2); !(math.Abs(got-one) <= 1e-13*traces) {
				t.Errorf("ranks %v, one times 2^%d: %g, want %g", ranks, e, got, one)
			}
		}
	}
}

// TestW2SquaredTinyEigenvalue gives a singular covariance a further eigenvalue of
// rounding size. It shows as its root.
func TestW2SquaredTinyEigenvalue(t *testing.T) {
	const n = 6
	for _, e := range []int{0, -30, -46, -50, -54, -60} {
		// S_0 = F·Fᵀ of rank 2 on the first five coordinates, 2^e on the last.
		f, _ := exactLowRank(t, n-1, 2, 0)
		f0 := newBigMat(n, 3)
		s0 := linalg.NewSym(n, nil)
		for i := range n - 1 {
			f0[i][0], f0[i][1] = f[i][0], f[i][1]
			for j := range i + 1 {
				s0.Set(i, j, f64of(bigDot(f[i][:2], f[j][:2])))
			}
		}
		f0[n-1][2].SetFloat64(math.Ldexp(1, e/2))
		s0.Set(n-1, n-1, math.Ldexp(1, e))
		f1, s1 := exactLowRank(t, n, n, 7)
		var want big.Float
		want.SetFloat64(s0.Trace() + s1.Trace())
		fid := f1.transMul(f0).nuclear()
		want.Sub(&want, fid.Mul(fid, bigF(2)))
		tr := s0.Trace() + s1.Trace()
		if got := w2sq(t, mustNormal(nil, s0), mustNormal(nil, s1)); !(math.Abs(got-f64of(&want)) <= 1e-10*f64of(&want)+50*n*epsilon*tr) {
			t.Errorf("eigenvalue 2^%d: W2Squared = %.17g, want %.17g", e, got, f64of(&want))
		}
	}
}

func TestRank(t *testing.T) {
	for _, r := range []int{0, 1, 3, 5} {
		_, s := exactLowRank(t, 5, max(r, 1), r)
		if r == 0 {
			s.Zero()
		}
		p := mustNormal(nil, s)
		if got := p.rank(); got != r {
			t.Errorf("rank %d, want %d", got, r)
		}
	}
	if got := randomNormal(testutil.RNG(t), 6, 1e9).rank(); got != 6 {
		t.Errorf("rank %d of a definite covariance", got)
	}
	// One that has a factor all the same: the rest of the second pivot is rounding.
	if got := mustNormal(nil, linalg.NewSym(2, []float64{1, 1, 1, 1 + 16*epsilon})).rank(); got != 1 {
		t.Errorf("rank %d of a covariance singular but for rounding", got)
	}
	// Eigenvalues up to 8·n·ε of the largest are rounding, where there is no Cholesky factor.
	for k, want := range map[float64]int{23: 1, 24: 1, 25: 2} {
		if got := mustNormal(nil, linalg.NewSym(3, []float64{1, 0, 0, 0, k * epsilon, 0, 0, 0, 0})).rank(); got != want {
			t.Errorf("rank %d of eigenvalues 1, %g·ε and 0", got, k)
		}
	}
	// Units of coordinates make none of them less than the others.
	if got := mustNormal(nil, linalg.NewSym(2, []float64{1, 0, 0, 1e-20})).rank(); got != 2 {
		t.Errorf("rank %d of variances 1 and 1e-20", got)
	}
}

func TestDot2(t *testing.T) {
	// Sums that cancel to nothing in float64.
	x := []float64{1e16, 1, -1e16, 3, 0x1p-60}
	y := []float64{1e16, 1, 1e16, 0x1p-70, 1}
	want := bigF(0)
	p := bigF(0)
	for i := range x {
		want.Add(want, p.Mul(bigF(x[i]), bigF(y[i])))
	}
	if got := dot2(x, y); !testutil.Close(got, f64of(want), 2*epsilon) {
		t.Errorf("dot2 = %g, want %g", got, f64of(want))
	}
	if got := dot2([]float64{0, 1}, []float64{math.NaN(), 1}); !math.IsNaN(got) {
		t.Errorf("dot2 with a NaN = %g", got)
	}
}

// TestSingularOfTwo: one eigenvalue at the size of rounding counts as the entries say, by the roots
// of a 2×2 matrix, tr S^½ = (tr S + 2·(det S)^½)^½.
func TestSingularOfTwo(t *testing.T) {
	p := mustNormal([]float64{0, 0}, linalg.NewSym(2, []float64{1, 0, 0, 1}))
	q := mustNormal([]float64{0, 0}, linalg.NewSym(2, []float64{1, 1, 1, 1 + 0x1p-52}))
	if p.rank() != 2 || q.rank() != 1 {
		t.Errorf("ranks %d and %d, want 2 and 1", p.rank(), q.rank())
	}
	got, err := new(Workspace).W2Squared(p, q)
	if err != nil {
		t.Fatal(err)
	}
	if want := 4 + 0x1p-52 - 2*math.Sqrt(2+0x1p-52+2*0x1p-26); !(math.Abs(got-want) <= 1e-14) {
		t.Errorf("W2Squared = %.17g, want %.17g", got, want)
	}
}

// TestUnequalRanks: the correction is for matrices of unequal ranks and at most 64 rows.
func TestUnequalRanks(t *testing.T) {
	for n, want := range map[int]bool{singularMaxDim: true, singularMaxDim + 1: false} {
		eye, corner := linalg.NewSym(n, nil), linalg.NewSym(n, nil)
		eye.AddDiag(1)
		corner.Set(0, 0, 1)
		p, q := mustNormal(make([]float64, n), eye), mustNormal(make([]float64, n), corner)
		for i, pair := range [][2]*Normal{{p, q}, {q, p}} {
			a, b, ok := unequalRanks(pair[0], pair[1])
			if ok != want {
				t.Errorf("n=%d, order %d: unequal %t, want %t", n, i, ok, want)
			}
			if want && (a != p || b != q) {
				t.Errorf("n=%d, order %d: ranks %d and %d, want the larger first", n, i, a.rank(), b.rank())
			}
		}
		if _, _, ok := unequalRanks(p, p); ok {
			t.Errorf("n=%d: one matrix has unequal ranks", n)
		}
	}
}

// TestOrthogonalRanges: singular covariances whose ranges are orthogonal have nothing in common,
// be it that rounding finds something in their null spaces.
func TestOrthogonalRanges(t *testing.T) {
	outer := func(u ...float64) *Normal {
		s := linalg.NewSym(len(u), nil)
		for i, a := range u {
			for j, b := range u[:i+1] {
				s.Set(i, j, a*b)
			}
		}
		return mustNormal(make([]float64, len(u)), s)
	}
	var w Workspace
	for a := 1.0; a < 40; a++ {
		p, q := outer(a, 67, 7), outer(-67, a, 0)
		if got, err := w.W2Squared(p, q); err != nil || !testutil.Close(got, p.Trace()+q.Trace(), 1e-14) {
			t.Fatalf("%g: W2Squared = %.17g, want %.17g (%v)", a, got, p.Trace()+q.Trace(), err)
		}
	}
}
