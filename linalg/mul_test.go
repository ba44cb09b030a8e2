package linalg

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// sizes straddles register tiles, strips and the recursion of symLower.
var sizes = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 33, 50}

func TestProducts(t *testing.T) {
	rng := testutil.RNG(t)
	for _, r := range []int{0, 1, 3, 4, 9, 18} {
		for _, c := range []int{0, 1, 2, 5, 8, 13} {
			for _, k := range []int{0, 1, 4, 7, 20} {
				a, ia := inside(randDense(rng, r, k))
				b, ib := inside(randDense(rng, k, c))
				at, _ := inside(randDense(rng, k, r))
				bt, _ := inside(randDense(rng, c, k))
				m, im := inside(NewDense(r, c, nil))
				name := fmt.Sprintf("%d×%d×%d", r, k, c)
				m.Mul(&a, &b)
				checkProduct(t, "Mul "+name, &m, r, c, k, 0, a.At, b.At)
				m.MulTrans(&a, &bt)
				checkProduct(t, "MulTrans "+name, &m, r, c, k, 0, a.At, trans(bt.At))
				m.TransMul(&at, &b)
				checkProduct(t, "TransMul "+name, &m, r, c, k, 0, trans(at.At), b.At)

				x, y := make([]float64, k), make([]float64, r)
				for i := range x {
					x[i] = rng.NormFloat64()
				}
				a.MulVecTo(y, x)
				checkProduct(t, "MulVecTo "+name, NewDense(r, 1, y), r, 1, k, 0, a.At, NewDense(k, 1, x).At)
				for _, intact := range []func(*testing.T){ia, ib, im} {
					intact(t)
				}
			}
		}
	}
}

func TestSymProducts(t *testing.T) {
	rng := testutil.RNG(t)
	for _, n := range sizes {
		for _, k := range []int{0, 1, 6, 21} {
			a, _ := inside(randDense(rng, n, k))
			at, _ := inside(randDense(rng, k, n))
			b := randSym(rng, k)
			name := fmt.Sprintf("%d×%d", n, k)
			var s Sym
			s.Gram(&a)
			symmetric(t, "Gram "+name, &s)
			d := s.Dense()
			checkProduct(t, "Gram "+name, &d, n, n, k, 0, a.At, trans(a.At))

			// s + 2·aᵀa − 3·aaᵀ, as one sum of k + k + 1 products.
			s0 := randSym(rng, n)
			s.Copy(s0)
			s.AddTransGram(2, &at)
			s.AddGram(-3, &a)
			symmetric(t, "AddGram "+name, &s)
			d = s.Dense()
			checkProduct(t, "AddGram "+name, &d, n, n, 2*k+n, 4, func(i, l int) float64 {
				switch {
				case l < k:
					return 2 * at.At(l, i)
				case l < 2*k:
					return -3 * a.At(i, l-k)
				case l-2*k == i:
					return 1
				}
				return 0
			}, func(l, j int) float64 {
				switch {
				case l < k:
					return at.At(l, j)
				case l < 2*k:
					return a.At(j, l-k)
				}
				return s0.At(l-2*k, j)
			})

			s = Sym{} // and takes its size
			s.Congruence(&a, b)
			symmetric(t, "Congruence "+name, &s)
			want, abs := naive(n, k, k, a.At, b.At)
			w2, _ := naive(n, n, k, want.At, trans(a.At))
			_, abs2 := naive(n, n, k, abs.At, func(i, j int) float64 { return math.Abs(a.At(j, i)) })
			for i := range n {
				for j := range n {
					if tol := 2 * testutil.Gamma(2*k) * abs2.At(i, j); !(math.Abs(s.At(i, j)-w2.At(i, j)) <= tol) {
						t.Fatalf("Congruence %s: (%d, %d) is %g, want %g", name, i, j, s.At(i, j), w2.At(i, j))
					}
				}
			}
		}
		a := randSym(rng, n)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		a.MulVecTo(y, x)
		checkProduct(t, "Sym.MulVecTo", NewDense(n, 1, y), n, 1, n, 0, a.At, NewDense(n, 1, x).At)
	}
}

func TestTriangularProducts(t *testing.T) {
	rng := testutil.RNG(t)
	for _, n := range sizes {
		// What stands above the diagonal must not be read.
		l1, l0 := randDense(rng, n, n), randDense(rng, n, n)
		for i := range n {
			for j := i + 1; j < n; j++ {
				l1.Set(i, j, math.NaN())
				l0.Set(i, j, math.Inf(1))
			}
		}
		v1, _ := inside(l1)
		v0, _ := inside(l0)
		m, intact := inside(NewDense(n, n, nil))
		TransMulLower(&m, &v1, &v0)
		checkProduct(t, "TransMulLower", &m, n, n, n, 0, trans(lowerOf(l1)), lowerOf(l0))
		intact(t)
		for _, c := range []int{0, 1, 3, 10} {
			b, _ := inside(randDense(rng, n, c))
			m, intact := inside(NewDense(n, c, nil))
			MulLower(&m, &v1, &b)
			checkProduct(t, "MulLower", &m, n, c, n, 4, lowerOf(l1), b.At)
			MulUpper(&m, &v1, &b)
			checkProduct(t, "MulUpper", &m, n, c, n, 4, trans(lowerOf(l1)), b.At)
			intact(t)
		}
	}
}

// TestProductNaN: a zero factor does not hide a NaN or an infinity.
func TestProductNaN(t *testing.T) {
	n := 7
	zero, bad := NewDense(n, n, nil), NewDense(n, n, nil)
	bad.Set(3, 4, math.NaN())
	bad.Set(5, 2, math.Inf(1))
	var m Dense
	nan := func(what string, i, j int) {
		t.Helper()
		if !math.IsNaN(m.At(i, j)) {
			t.Errorf("%s: (%d, %d) is %g", what, i, j, m.At(i, j))
		}
	}
	m.Mul(zero, bad)
	nan("0·b", 0, 4)
	nan("0·b", 6, 2)
	m.MulTrans(bad, zero)
	nan("b·0ᵀ", 3, 0)
	nan("b·0ᵀ", 5, 6)
	m.TransMul(zero, bad)
	nan("0ᵀ·b", 6, 4)
	MulLower(&m, bad, zero)
	nan("L·0", 5, 0)
	MulUpper(&m, bad, zero)
	nan("Lᵀ·0", 2, 1)
	TransMulLower(&m, zero, bad)
	nan("0ᵀ·L", 1, 2)
	s := NewSym(n, nil)
	s.AddGram(0, bad)
	if !math.IsNaN(s.At(3, 1)) || !math.IsNaN(s.At(0, 5)) {
		t.Error("AddGram(0, b) lost a NaN")
	}
	y := make([]float64, n)
	bad.MulVecTo(y, make([]float64, n))
	if !math.IsNaN(y[3]) || !math.IsNaN(y[5]) {
		t.Errorf("b·0 = %v", y)
	}
}

// TestProcessors: results do not depend on GOMAXPROCS, bit for bit. The
// threshold of two goroutines is lowered so that small matrices cross it.
func TestProcessors(t *testing.T) {
	defer setDuringTest(&products.ParallelWork, 2000.0)()
	defer setDuringTest(&cholDirect, 20)()
	defer setDuringTest(&cholBlock, 16)()
	for _, n := range []int{37, 215} {
		rng := testutil.RNG(t)
		a := NewSym(n, testutil.SPD(rng, n, 1e5))
		g, h := randDense(rng, n, n), randDense(rng, n, n+3)
		results := func() (out [][]float64) {
			keep := func(m ...*Dense) {
				for _, m := range m {
					out = append(out, append([]float64(nil), m.data...))
				}
			}
			keepSym := func(s *Sym) { out = append(out, append([]float64(nil), s.data...)) }
			var m Dense
			var s Sym
			var c Cholesky
			m.Mul(g, h)
			keep(&m)
			m.TransMul(h, h)
			keep(&m)
			m.MulTrans(h, h)
			keep(&m)
			s.Gram(h)
			keepSym(&s)
			s.Congruence(g, a)
			keepSym(&s)
			if err := c.Factorize(a); err != nil {
				t.Fatal(err)
			}
			keep(c.Lower())
			TransMulLower(&m, c.Lower(), g)
			keep(&m)
			MulLower(&m, c.Lower(), h)
			keep(&m)
			MulUpper(&m, c.Lower(), h)
			keep(&m)
			c.SolveTo(&m, h)
			keep(&m)
			c.InverseTo(&s)
			keepSym(&s)
			return out
		}
		testutil.SameOnProcessors(t, fmt.Sprint("n=", n), results)
	}
}
