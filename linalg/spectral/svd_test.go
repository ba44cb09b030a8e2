package spectral

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// withValues returns Q1·diag(values)·Q2ᵀ, r×c, for random orthogonal Q1 and Q2,
// and, if square, the polar factor Q1·Q2ᵀ.
func withValues(rng *rand.Rand, r, c int, values []float64) (a, polar *linalg.Dense) {
	q1, q2 := linalg.NewDense(r, r, testutil.Orthogonal(rng, r)), linalg.NewDense(c, c, testutil.Orthogonal(rng, c))
	x := linalg.NewDense(r, c, nil)
	for i := range r {
		for j, v := range values {
			x.Set(i, j, q1.At(i, j)*v)
		}
	}
	a, polar = new(linalg.Dense), new(linalg.Dense)
	a.MulTrans(x, q2)
	if r == c {
		polar.MulTrans(q1, q2)
	}
	return a, polar
}

// spectra are lists of n singular values, descending, of all conditions.
func spectra(n int) map[string][]float64 {
	make := func(f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	t := func(i int) float64 { return float64(i) / math.Max(1, float64(n-1)) }
	m := map[string][]float64{
		"equal":  make(func(i int) float64 { return 3 }),
		"linear": make(func(i int) float64 { return 1 - 0.9*t(i) }),
		"rank 2": make(func(i int) float64 { return math.Max(0, float64(2-i)) }),
		"zero":   make(func(i int) float64 { return 0 }),
		"one small": make(func(i int) float64 {
			if i == n-1 && n > 1 {
				return 1e-9
			}
			return 1
		}),
	}
	for _, c := range []float64{1e2, 1e5, 1e8, 1e12, 1e16, 1e25} {
		m[fmt.Sprintf("cond %g", c)] = make(func(i int) float64 { return math.Pow(c, -t(i)) })
	}
	return m
}

// checkBidiag checks A = Q·L·Pᵀ, or its transpose, and the orthogonality of both
// factors, within 8·n·u·‖A‖.
func checkBidiag(t *testing.T, a *linalg.Dense) {
	t.Helper()
	var b bidiag
	if err := b.reduce(a, true); err != nil {
		t.Fatal(err)
	}
	m, n := b.m, b.n
	tol := 8 * float64(n+1) * testutil.Unit
	// Rows of Qᵀ and of Pᵀ.
	q, p, o := linalg.NewDense(m, m, nil), linalg.NewDense(n, n, nil), new(linalg.Dense)
	for i := range m {
		q.Set(i, i, 1)
	}
	for i := range n {
		p.Set(i, i, 1)
	}
	b.multiplyQ(m, data(q), m)
	b.multiplyP(n, data(p), n)
	for _, f := range []*linalg.Dense{q, p} {
		o.MulTrans(f, f)
		rows, _ := o.Dims()
		for i := range rows {
			o.Row(i)[i]--
		}
		within(t, "orthogonality", linalg.Norm2(data(o)), tol)
	}
	l := linalg.NewDense(m, n, nil)
	for i := range m {
		l.Set(i, i, math.Ldexp(b.d[i], b.exp))
		if i > 0 {
			l.Set(i, i-1, math.Ldexp(b.e[i-1], b.exp))
		}
	}
	var x, y linalg.Dense
	x.TransMul(q, l)
	y.Mul(&x, p)
	want := new(linalg.Dense)
	rows, cols := a.Dims()
	if rows > cols {
		want.CopyTrans(a)
	} else {
		want.Copy(a)
	}
	within(t, fmt.Sprintf("%d×%d: Q·L·Pᵀ − A", rows, cols), normDiff(data(&y), data(want)), tol*linalg.Norm2(data(want)))
}

func TestBidiag(t *testing.T) {
	for _, nb := range []int{1, 3, f64.Ops.Columns()} {
		restore := setDuringTest(&reflectors, func() int { return nb })
		rng := testutil.RNG(t)
		for _, s := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {9, 9}, {18, 18}, {33, 33}, {1, 5}, {5, 1}, {4, 7}, {7, 4}, {12, 30}, {0, 3}, {3, 0}} {
			// A view of a matrix of NaNs: what is read beside it shows.
			big := linalg.NewDense(s[0]+3, s[1]+4, nil)
			for i := range data(big) {
				data(big)[i] = math.NaN()
			}
			a := big.View(1, 2, s[0], s[1])
			a.Copy(randDense(rng, s[0], s[1]))
			checkBidiag(t, &a)
			if s[0] > 4 && s[1] > 4 { // zero and tiny rows and columns
				clear(a.Row(0))
				for i := range a.Row(2) {
					a.Row(2)[i] *= 0x1p-950
				}
				for i := range s[0] {
					a.Set(i, 1, 0)
				}
				checkBidiag(t, &a)
			}
		}
		checkBidiag(t, linalg.NewDense(6, 6, nil))
		restore()
	}
}

// TestNuclearNorm: the values are known up to the rounding of the matrix made of
// them, n·u·‖A‖ each.
func TestNuclearNorm(t *testing.T) {
	rng := testutil.RNG(t)
	var d SVD
	for _, n := range []int{0, 1, 2, 3, 10, 45} {
		for name, s := range spectra(n) {
			a, _ := withValues(rng, n, n, s)
			var want float64
			for _, v := range s {
				want += v
			}
			for _, scale := range []float64{1, 0x1p-1000, 0x1p990} {
				b := new(linalg.Dense)
				b.Copy(a)
				b.Scale(scale)
				got := d.NuclearNorm(b) / scale
				if !(math.Abs(got-want) <= 4*float64(n)*eps*math.Max(want, 1e-300)) {
					t.Errorf("n=%d, %s, scale %g: %.17g, want %.17g", n, name, scale, got, want)
				}
			}
		}
	}
	for _, s := range [][2]int{{3, 9}, {9, 3}, {1, 6}, {6, 1}} {
		v := []float64{5, 2, 1e-3}[:min(s[0], s[1], 3)]
		a, _ := withValues(rng, s[0], s[1], v)
		var want float64
		for _, x := range v {
			want += x
		}
		if got := d.NuclearNorm(a); !testutil.Close(got, want, 20*eps) {
			t.Errorf("%v: %.17g, want %.17g", s, got, want)
		}
	}
	if got := d.NuclearNorm(new(linalg.Dense)); got != 0 {
		t.Errorf("empty: %g", got)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		a := randDense(rng, 5, 5)
		a.Set(3, 4, bad)
		if got := d.NuclearNorm(a); !math.IsNaN(got) {
			t.Errorf("with %g: %g", bad, got)
		}
		if err := d.SingularValues(make([]float64, 5), a); !errors.Is(err, ErrNotFinite) {
			t.Errorf("SingularValues with %g: %v", bad, err)
		}
		if err := d.PolarTo(new(linalg.Dense), a); !errors.Is(err, ErrNotFinite) {
			t.Errorf("PolarTo with %g: %v", bad, err)
		}
	}
}

// TestNormalise: the norm of a bidiagonal matrix, 1 and 0 too, is brought below 1.
func TestNormalise(t *testing.T) {
	one := bidiag{d: []float64{1, -1}, e: []float64{0}, exp: 3}
	if !one.normalise() || one.exp != 4 || !slices.Equal(one.d, []float64{0.5, -0.5}) {
		t.Errorf("norm 1: %v, exponent %d", one.d, one.exp)
	}
	zero := bidiag{d: []float64{0, 0}, e: []float64{0}}
	if zero.normalise() {
		t.Error("a zero matrix has a norm")
	}
}

// TestReflector: beside what is as good as zero, and beside the least that is not.
func TestReflector(t *testing.T) {
	for _, tt := range []struct{ x, rest, beta, tau, v float64 }{
		{3, 4, -5, 1.6, 0.5},
		{-3, 4, 5, 1.6, -0.5},
		{0, 4, 4, 1, -1},
		{1, 0x1p-900, -1, 2, 0x1p-901},
		{-1, 0x1p-900, 1, 2, -0x1p-901},
		{-1, 0x1p-901, -1, 0, 0},
		{2, 0, 2, 0, 0},
	} {
		x := []float64{tt.rest, tt.x}
		beta, tau := reflector(x, 1)
		if beta != tt.beta || math.Abs(tau-tt.tau) > eps || tau != 0 && (x[0] != tt.v || x[1] != 1) {
			t.Errorf("reflector of %g, %g: beta %g, tau %g, vector %v", tt.x, tt.rest, beta, tau, x)
		}
	}
}

// TestSVDReuse: results do not depend on what the receiver and the destination held before, and
// left vectors take memory only where they are asked for.
func TestSVDReuse(t *testing.T) {
	rng := testutil.RNG(t)
	var d SVD
	u := new(linalg.Dense)
	for _, n := range []int{30, 5, 41, 33, 1, 0, 20} {
		var fresh SVD
		a, v := randDense(rng, n, n), new(linalg.Dense)
		y, z := make([]float64, n), make([]float64, n)
		if err := errors.Join(d.SingularValues(y, a), fresh.SingularValues(z, a)); err != nil || !slices.Equal(y, z) {
			t.Fatalf("n=%d: %v and %v, %v", n, y, z, err)
		}
		if x, y := d.NuclearNorm(a), fresh.NuclearNorm(a); x != y {
			t.Fatalf("n=%d: norms %g and %g", n, x, y)
		}
		if k := len(fresh.bi.q); k > 0 {
			t.Fatalf("n=%d: %d left vectors that nobody asked for", n, k)
		}
		if err := errors.Join(d.PolarTo(u, a), fresh.PolarTo(v, a)); err != nil || !slices.Equal(data(u), data(v)) {
			t.Fatalf("n=%d: polar factors %v and %v, %v", n, data(u), data(v), err)
		}
	}
}

// TestQuadrature compares the nuclear norm of a bidiagonal matrix with 300-bit
// arithmetic, at conditions where no reduction could keep that accuracy: the sum
// itself is good to a few units.
func TestQuadrature(t *testing.T) {
	rng := testutil.RNG(t)
	for trial := range 12 {
		n := 6
		b := linalg.NewDense(n, n, nil)
		var d SVD
		d.bi = bidiag{m: n, n: n, d: make([]float64, n), e: make([]float64, n-1)}
		for i := range n {
			d.bi.d[i] = math.Pow(10, -3*float64(trial)*rng.Float64())
			b.Set(i, i, d.bi.d[i])
			if i < n-1 {
				d.bi.e[i] = math.Pow(10, -3*float64(trial)*rng.Float64())
				b.Set(i, i+1, d.bi.e[i])
			}
		}
		want, _ := bigOf(b).nuclear(t).Float64()
		p := d.prepare()
		got := math.Ldexp(poleSum(&d, p), d.bi.exp)
		if !testutil.Close(got, want, 16*eps) {
			t.Errorf("trial %d: %.17g, want %.17g: off by %.2g", trial, got, want, testutil.RelErr(got, want))
		}
	}
}

// TestPoleTables: every table approximates the root within its rounding, over
// its whole interval.
func TestPoleTables(t *testing.T) {
	points := 400
	if testing.Short() {
		points = 50
	}
	for _, table := range poleTables {
		p := table()
		if len(p.s) != len(p.w) || len(p.s)%8 != 0 {
			t.Fatalf("kappa %g: %d nodes, %d weights", p.kappa, len(p.s), len(p.w))
		}
		for i := range points {
			x := math.Pow(p.kappa, -float64(i)/float64(points-1))
			sum := bigf(0)
			for j, s := range p.s {
				r := bigf(x)
				r.Quo(r, bigf(0).Add(bigf(x), bigf(s)))
				sum.Add(sum, r.Mul(r, bigf(p.w[j])))
			}
			root := bigf(x)
			err, _ := sum.Quo(sum, root.Sqrt(root)).Sub(sum, bigf(1)).Float64()
			// 1e-16 of the formula, and the rounding of each node and weight.
			if !(math.Abs(err) <= 1e-16+2*testutil.Unit) {
				t.Fatalf("kappa %g at %g: relative error %.2g", p.kappa, x, err)
			}
		}
	}
	last := len(poleTables) - 1
	for i, table := range poleTables {
		p := table()
		if polesFor(p.kappa) != p || polesFor(p.kappa*(1+eps)) != poleTables[min(i+1, last)]() {
			t.Errorf("kappa %g: not the smallest table", p.kappa)
		}
	}
	if p := polesFor(math.NaN()); p != poleTables[last]() {
		t.Error("no poles for NaN")
	}
}

// TestPolesRounded: nodes and weights are those computed from the same formulas with 60
// digits and rounded: the first, the middle and the last, and the bits of all by their hash.
func TestPolesRounded(t *testing.T) {
	for i, want := range []struct {
		s, w [3]float64
		hash uint64
	}{
		{[3]float64{1.5662326554695808e-06, 0.012868177719576263, 63.84747479934164},
			[3]float64{0.0016017175444748588, 0.018214902916935317, 10.226562055652192}, 0xc283365759731e95},
		{[3]float64{1.2233664839022694e-10, 0.00012470558836943617, 81.74165412887726},
			[3]float64{1.4139929349814784e-05, 0.0015696191865443925, 11.558212143193204}, 0x6cab1ba5e668a2ad},
		{[3]float64{1.540329786642199e-18, 1.2809310435764986e-08, 64.92116225187877},
			[3]float64{1.5882818626047074e-09, 1.7839027363621975e-05, 10.311310450387642}, 0xa63bc361bf8d6594},
		{[3]float64{1.533904754560681e-42, 1.2802724373765563e-20, 65.19309605285143},
			[3]float64{1.5849325134423992e-21, 1.7797394546388283e-11, 10.332665758613757}, 0x3026d5b1cc18f50b},
	} {
		p := poleTables[i]()
		n := len(p.s)
		s, w := [3]float64{p.s[0], p.s[n/2], p.s[n-1]}, [3]float64{p.w[0], p.w[n/2], p.w[n-1]}
		hash := fnv.New64a()
		for j := range n {
			fmt.Fprintf(hash, "%x %x ", p.s[j], p.w[j])
		}
		if s != want.s || w != want.w || hash.Sum64() != want.hash {
			t.Errorf("kappa %g: s %v, w %v, hash %#x, want %+v", p.kappa, s, w, hash.Sum64(), want)
		}
	}
}

func TestSingularValues(t *testing.T) {
	rng := testutil.RNG(t)
	var d SVD
	for _, s := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {10, 10}, {45, 45}, {5, 9}, {9, 5}, {1, 4}} {
		n := min(s[0], s[1])
		for name, v := range spectra(n) {
			a, _ := withValues(rng, s[0], s[1], v)
			for _, scale := range []float64{1, 0x1p-1000, 0x1p990} {
				b := new(linalg.Dense)
				b.Copy(a)
				b.Scale(scale)
				got := make([]float64, n)
				if err := d.SingularValues(got, b); err != nil {
					t.Fatalf("%v, %s: %v", s, name, err)
				}
				if !slices.IsSortedFunc(got, func(x, y float64) int { return int(math.Copysign(1, y-x)) * boolInt(x != y) }) {
					t.Errorf("%v, %s: not descending: %v", s, name, got)
				}
				for i := range got {
					if !(math.Abs(got[i]/scale-v[i]) <= 4*float64(s[0]+s[1])*eps*v[0]) {
						t.Errorf("%v, %s: value %d is %g, want %g", s, name, i, got[i]/scale, v[i])
					}
				}
			}
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestInverseTrace(t *testing.T) {
	// B = [1 1; 0 1/2]: BᵀB = [1 1; 1 5/4], det 1/4, trace of the inverse 9.
	if got := inverseTrace([]float64{1, 0.25}, []float64{1}); !testutil.Close(got, 9, 4*eps) {
		t.Errorf("inverseTrace = %g, want 9", got)
	}
	for _, a2 := range [][]float64{{1, 0, 1}, {0, 1, 1}, {1, 1, 0}, {0, 0, 0}} {
		if got := inverseTrace(a2, []float64{1, 1}); !math.IsInf(got, 1) {
			t.Errorf("singular %v: %g", a2, got)
		}
	}
}

// TestShapePanics: a shape that does not fit, and vectors that were not computed, panic
// with the operation.
func TestShapePanics(t *testing.T) {
	a := linalg.NewDense(2, 3, nil)
	var m linalg.Dense
	var u linalg.Sym
	var e EigenSym
	var d SVD
	if err := e.FactorizeValues(linalg.NewSym(2, []float64{1, 0, 0, 1})); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func(){
		"spectral: SingularValues: dst has length 3, want 2":  func() { _ = d.SingularValues(make([]float64, 3), a) },
		"spectral: PolarTo: 2×3 is not square":                func() { _ = d.PolarTo(&m, a) },
		"spectral: VectorsTo: eigenvectors were not computed": func() { e.VectorsTo(&m) },
		"spectral: FuncTo: eigenvectors were not computed":    func() { e.FuncTo(&u, math.Abs) },
	} {
		func() {
			defer func() {
				if v := recover(); v != want {
					t.Errorf("panic %v, want %s", v, want)
				}
			}()
			f()
		}()
	}
}
