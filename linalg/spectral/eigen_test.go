package spectral

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// eigenMatrices are matrices that are hard in some way, of size n, with their
// eigenvalues where these are known in closed form.
func eigenMatrices(rng *rand.Rand, n int) map[string]struct {
	a      *linalg.Sym
	values []float64
} {
	type entry = struct {
		a      *linalg.Sym
		values []float64
	}
	m := map[string]entry{}
	from := func(f func(i, j int) float64) *linalg.Sym {
		s := linalg.NewSym(n, nil)
		for i := range n {
			for j := range i + 1 {
				s.Set(i, j, f(i, j))
			}
		}
		return s
	}
	tri := func(d, e func(i int) float64) *linalg.Sym {
		return from(func(i, j int) float64 {
			switch i - j {
			case 0:
				return d(i)
			case 1:
				return e(j)
			}
			return 0
		})
	}
	sorted := func(f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f(i)
		}
		slices.Sort(v)
		return v
	}
	one := func(int) float64 { return 1 }
	m["gauss"] = entry{randSym(rng, n), nil}
	m["zero"] = entry{linalg.NewSym(n, nil), make([]float64, n)}
	m["identity"] = entry{from(func(i, j int) float64 {
		if i == j {
			return 1
		}
		return 0
	}), sorted(one)}
	m["ones"] = entry{from(func(i, j int) float64 { return 1 }), sorted(func(i int) float64 {
		if i == 0 {
			return float64(n)
		}
		return 0
	})}
	m["laplace"] = entry{tri(func(int) float64 { return 2 }, func(int) float64 { return -1 }),
		sorted(func(i int) float64 { return 2 - 2*math.Cos(math.Pi*float64(i+1)/float64(n+1)) })}
	m["kac"] = entry{tri(func(int) float64 { return 0 }, func(i int) float64 { return math.Sqrt(float64(i+1) * float64(n-1-i)) }),
		sorted(func(i int) float64 { return float64(2*i - n + 1) })}
	m["wilkinson"] = entry{tri(func(i int) float64 { return math.Abs(float64(n-1)/2 - float64(i)) }, one), nil}
	m["glued"] = entry{tri(func(i int) float64 { return math.Abs(float64(i%7) - 3) }, func(i int) float64 {
		if i%7 == 6 {
			return 1e-14
		}
		return 1
	}), nil}
	m["graded"] = entry{tri(func(i int) float64 { return math.Pow(10, -float64(i)) }, func(i int) float64 { return math.Pow(10, -float64(i)-1) }), nil}
	m["arrow"] = entry{from(func(i, j int) float64 {
		if i == j {
			return float64(i)
		} else if i == n-1 {
			return 1
		}
		return 0
	}), nil}
	diag := func(i int) float64 { return float64(i%3) - 1 }
	m["diagonal"] = entry{tri(diag, func(int) float64 { return 0 }), sorted(diag)}
	clustered := sorted(func(i int) float64 { return float64(i%3) + 1e-15*float64(i) })
	m["clustered"] = entry{linalg.NewSym(n, testutil.Spectrum(rng, clustered)), clustered}
	m["definite"] = entry{linalg.NewSym(n, testutil.SPD(rng, n, 1e12)), sorted(func(i int) float64 { return math.Pow(1e12, -float64(i)/math.Max(1, float64(n-1))) })}
	for i, s := range []float64{0x1p-1040, 0x1p-600, 0x1p1015} {
		a := randSym(rng, n)
		a.Scale(s)
		m[[]string{"tiny", "small", "huge"}[i]] = entry{a, nil}
	}
	return m
}

// checkEigen checks ‖A·V − V·Λ‖, ‖VᵀV − I‖·‖A‖ and the eigenvalues against 8·n·u·‖A‖:
// Householder reduction, QL sweeps and divide and conquer each contribute a small
// multiple of √n·u·‖A‖ (Higham 2002, section 19.3; Gu and Eisenstat 1995).
func checkEigen(t *testing.T, a *linalg.Sym, want []float64) {
	t.Helper()
	n := a.Dim()
	// Scaled copies, for norms that neither overflow nor lose denormals.
	exp, _ := scaleExp(data(a))
	sa := linalg.NewSym(n, nil)
	copyScaled(data(sa), data(a), -exp)
	norm := linalg.Norm2(data(sa))
	tol := 8 * float64(n+1) * testutil.Unit
	var e, ev EigenSym
	if err := e.Factorize(a); err != nil {
		t.Fatal(err)
	}
	if err := ev.FactorizeValues(a); err != nil {
		t.Fatal(err)
	}
	if len(e.Values()) != n || !slices.IsSorted(e.Values()) || !slices.IsSorted(ev.Values()) {
		t.Fatalf("values %v, %v", e.Values(), ev.Values())
	}
	var v, p, o linalg.Dense
	e.VectorsTo(&v)
	sd := sa.Dense()
	p.Mul(&sd, &v)
	for i := range n {
		for j, l := range e.Values() {
			data(&p)[i*n+j] -= v.At(i, j) * math.Ldexp(l, -exp)
		}
	}
	// A denormal eigenvalue is rounded to a multiple of 2⁻¹⁰⁷⁴.
	denormal := math.Ldexp(float64(n), -1074-exp)
	within(t, "A·V − V·Λ", linalg.Norm2(data(&p)), tol*norm+denormal)
	o.TransMul(&v, &v)
	for i := range n {
		data(&o)[i*n+i]--
	}
	within(t, "VᵀV − I", linalg.Norm2(data(&o)), tol)
	for i := range n {
		l := math.Ldexp(e.Values()[i], -exp)
		within(t, "values with and without vectors", math.Abs(l-math.Ldexp(ev.Values()[i], -exp)), tol*norm+denormal)
		if want != nil {
			within(t, fmt.Sprintf("value %d", i), math.Abs(l-math.Ldexp(want[i], -exp)), tol*math.Max(norm, 1))
		}
	}
	if norm > 0 && exp > -900 {
		var f linalg.Sym
		e.FuncTo(&f, func(l float64) float64 { return math.Ldexp(l, -exp) })
		symmetric(t, "FuncTo", &f)
		within(t, "V·Λ·Vᵀ − A", normDiff(data(&f), data(sa)), 2*tol*norm)
	}
}

func TestEigenSym(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 17, 49, 64, 104} {
		rng := testutil.RNG(t)
		for name, m := range eigenMatrices(rng, n) {
			t.Run(fmt.Sprintf("n=%d/%s", n, name), func(t *testing.T) { checkEigen(t, m.a, m.values) })
		}
	}
}

func TestEigenErrors(t *testing.T) {
	var e EigenSym
	a := linalg.NewSym(5, testutil.SPD(testutil.RNG(t), 5, 10))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, at := range [][2]int{{0, 0}, {4, 4}, {3, 1}} {
			b := new(linalg.Sym)
			b.Copy(a)
			b.Set(at[0], at[1], bad)
			if err := e.Factorize(b); !errors.Is(err, ErrNotFinite) || len(e.Values()) != 0 {
				t.Errorf("Factorize: %v", err)
			}
			if err := e.FactorizeValues(b); !errors.Is(err, ErrNotFinite) || len(e.Values()) != 0 {
				t.Errorf("FactorizeValues: %v", err)
			}
		}
	}
	if err := e.Factorize(a); err != nil {
		t.Errorf("after errors: %v", err)
	}
}

// TestSweeps: with Wilkinson's shift a value takes two and a half sweeps on average at most,
// whatever the signs; a budget of sweeps that runs out is an error, not a loop, and one that just lasts is not.
func TestSweeps(t *testing.T) {
	rng := testutil.RNG(t)
	none := 0
	if !qlBlock([]float64{1, 2, 3}, []float64{0x1p-108, 0x1p-108}, 0x1p-108, &none) {
		t.Error("entries that equal the bound take a sweep")
	}
	for _, n := range []int{3, 10, 30, 60, 200} {
		d, e := testutil.Normals(rng, n), testutil.Normals(rng, n-1)
		sweeps := func(sign float64, budget int) (left int, ok bool) {
			x, y := make([]float64, n), make([]float64, n-1)
			for i := range d {
				x[i] = sign * d[i]
			}
			for i := range e {
				y[i] = e[i] * e[i]
			}
			ok = qlBlock(x, y, 0x1p-108, &budget)
			return budget, ok
		}
		for _, sign := range []float64{1, -1} {
			left, ok := sweeps(sign, 5*n/2)
			if !ok || left < 0 {
				t.Fatalf("%d rows need more than %d sweeps", n, 5*n/2)
			}
			if _, ok := sweeps(sign, 5*n/2-left); !ok {
				t.Errorf("%d rows need %d sweeps, which do not suffice", n, 5*n/2-left)
			}
			if _, ok := sweeps(sign, 5*n/2-left-1); ok {
				t.Errorf("%d rows need %d sweeps, and one less sufficed", n, 5*n/2-left)
			}
		}
		for i := range d[1:] { // graded: entries of half the size, one after the other, from either end
			d[i+1] *= math.Ldexp(1, -i-1)
			e[i] *= math.Ldexp(1, -i)
		}
		d[0] = -1
		down, ok := sweeps(1, 5*n/2)
		slices.Reverse(d)
		slices.Reverse(e)
		if up, _ := sweeps(1, 5*n/2); !ok || up != down || down < 9*n/10 {
			t.Errorf("%d graded rows leave %d sweeps, the other way round %d", n, down, up)
		}
	}
}

// TestWilkinson: the shift is the eigenvalue nearer to the first entry.
func TestWilkinson(t *testing.T) {
	rng := testutil.RNG(t)
	for range 100 {
		a, b, c := rng.NormFloat64(), rng.Float64(), rng.NormFloat64()
		want, other := eigen2(a, b, c)
		if math.Abs(other-a) < math.Abs(want-a) {
			want = other
		}
		within(t, "shift", math.Abs(wilkinson(a, b, c)-want), 16*eps*(math.Abs(a)+b+math.Abs(c)))
	}
}

// TestQLSweep: a sweep leaves the characteristic polynomial as it is, with a shift that is the
// last entry too, from which it takes its first step.
func TestQLSweep(t *testing.T) {
	rng := testutil.RNG(t)
	for trial := range 40 {
		n := 2 + trial%4
		d, e := testutil.Normals(rng, n), testutil.Normals(rng, n-1)
		for i := range e {
			e[i] *= e[i]
		}
		sigma := rng.NormFloat64()
		if trial%3 == 0 {
			sigma = d[n-1]
		}
		polynomial := func(x float64) float64 {
			last, p := 1.0, d[0]-x
			for i, v := range e {
				last, p = p, (d[i+1]-x)*p-v*last
			}
			return p
		}
		points := []float64{-3, -1, 0.5, 2, 4}
		var want []float64
		for _, x := range points {
			want = append(want, polynomial(x))
		}
		qlSweep(d, e, sigma)
		for i, x := range points {
			within(t, fmt.Sprintf("trial %d: polynomial at %g", trial, x), math.Abs(polynomial(x)-want[i]), 1e-11)
		}
	}
}

// TestTridiagValues: an entry beside the diagonal counts as zero below half a rounding of the
// largest entry of the matrix, wherever that is.
func TestTridiagValues(t *testing.T) {
	const bound = 0x1p-54 * 1024
	for _, tt := range []struct{ d, e, want []float64 }{
		{[]float64{-1024, 0, 0}, []float64{0, 0.9 * bound}, []float64{-1024, 0, 0}},
		{[]float64{-1024, 0, 0}, []float64{0, 1.1 * bound}, []float64{-1024, -1.1 * bound, 1.1 * bound}},
		{[]float64{0, 0, 0, 0}, []float64{-1024, 0, 0.9 * bound}, []float64{-1024, 0, 0, 1024}},
		{[]float64{0, 0, 0, 0}, []float64{-1024, 0, 1.1 * bound}, []float64{-1024, -1.1 * bound, 1.1 * bound, 1024}},
	} {
		got := slices.Clone(tt.d)
		if err := tridiagValues(got, slices.Clone(tt.e)); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			within(t, fmt.Sprintf("%v, %v: value %d", tt.d, tt.e, i), math.Abs(v-tt.want[i]), 8*eps*bound)
		}
	}
}

// TestDeflate: rows whose entry of z is negligible, and one of two whose diagonal entries are
// as good as equal, leave the secular equation; what is negligible is a multiple of the largest
// entry of d or z. The matrix stays what it was but for what was neglected.
func TestDeflate(t *testing.T) {
	const tol = 8 * testutil.Unit // of a norm of 1
	for name, tt := range map[string]struct {
		rho  float64
		d, z []float64
		src  []int
		defl []int
		both bool // the second row has entries of both halves afterwards
	}{
		"largest in z":        {0.5, []float64{-1.2, 0, 1.2}, []float64{-2, 4 * tol, 1}, []int{0, 2}, []int{1}, false},
		"more than that":      {0.5, []float64{-1.2, 0, 1.2}, []float64{-2, -4.1 * tol, 1}, []int{0, 1, 2}, nil, false},
		"largest in d":        {2, []float64{-4, 0, 3}, []float64{1, -2 * tol, 1}, []int{0, 2}, []int{1}, false},
		"more than that in d": {2, []float64{-4, 0, 4}, []float64{1, 2.1 * tol, 1}, []int{0, 1, 2}, nil, false},
		"the last":            {1, []float64{0.1, 0.2, 1}, []float64{0.8, 0.6, 0}, []int{0, 1}, []int{2}, false},
		"none is left":        {1, []float64{0.1, 0.2, 1}, []float64{0, 0, 0}, nil, []int{0, 1, 2}, false},
		// Two entries are |cs·sn| = 0.48 of their difference from equal ones.
		"nearly equal":      {1, []float64{1, 1 + 1000*tol*2, 1000}, []float64{0.6, 0.8, 1}, []int{1, 2}, []int{0}, true},
		"less so":           {1, []float64{1, 1 + 1000*tol*2.2, 1000}, []float64{0.6, 0.8, 1}, []int{0, 1, 2}, nil, false},
		"with another sign": {1, []float64{1, 1 + 1000*tol*2, 1000}, []float64{-0.6, 0.8, 1}, []int{1, 2}, []int{0}, true},
		"at the bound":      {1, []float64{0, 0x1p-20, 0}, []float64{0x1p-30, 1, 0}, []int{1}, []int{2, 0}, true},
		"of one half":       {1, []float64{1, 1000, 1 + 1000*tol*2}, []float64{0.6, 0.8, 1}, []int{2, 1}, []int{0}, false},
		"three of them":     {1, []float64{1, 1 + 1000*tol, 1 + 1000*tol*1.5, 1000}, []float64{0.6, 0.8, 0.5, 1}, []int{2, 3}, []int{0, 1}, true},
	} {
		n := len(tt.d)
		c := conquer{n: n + 2, d: append([]float64{9}, tt.d...), z: slices.Clone(tt.z), w: make([]float64, (n+2)*(n+2)), src: make([]int, n), defl: make([]int, n)}
		ord := make([]int, n)
		for i := range n {
			c.w[(i+1)*c.n+i+1] = 1
			c.kind = append(c.kind, []int8{leftRow, rightRow, leftRow, leftRow}[i])
			ord[i] = i
		}
		slices.SortFunc(ord, func(i, j int) int { return cmp.Compare(tt.d[i], tt.d[j]) })
		k, nd := c.deflate(1, n+1, tt.rho, ord)
		if !slices.Equal(c.src[:k], tt.src) || !slices.Equal(c.defl[:nd], tt.defl) || (c.kind[1] == bothRow) != tt.both {
			t.Errorf("%s: %v are kept, %v are not, kinds %v", name, c.src[:k], c.defl[:nd], c.kind)
		}
		// W·(diag(d) + rho·z·zᵀ)·Wᵀ before and after, rows of W the vectors.
		norm := slices.MaxFunc(slices.Concat(tt.d, tt.z), func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
		for i := range n {
			for j := range n {
				want := tt.rho * tt.z[i] * tt.z[j]
				if i == j {
					want += tt.d[i]
				}
				var got, zi, zj float64
				for r := range n {
					wi, wj := c.w[(r+1)*c.n+i+1], c.w[(r+1)*c.n+j+1]
					got += wi * wj * c.d[r+1]
					zi, zj = zi+wi*c.z[r], zj+wj*c.z[r]
				}
				within(t, fmt.Sprintf("%s: entry %d, %d", name, i, j), math.Abs(got+tt.rho*zi*zj-want), float64(max(nd, 1))*2*tol*math.Abs(norm))
			}
		}
	}
}

// TestEigenReuse: results do not depend on what the receiver did before.
func TestEigenReuse(t *testing.T) {
	rng := testutil.RNG(t)
	var e EigenSym
	for _, n := range []int{60, 5, 90, 33, 0, 41} {
		a := randSym(rng, n)
		var fresh EigenSym
		if err := errors.Join(e.Factorize(a), fresh.Factorize(a)); err != nil {
			t.Fatal(err)
		}
		var v, w linalg.Dense
		e.VectorsTo(&v)
		fresh.VectorsTo(&w)
		if !slices.Equal(e.Values(), fresh.Values()) || !slices.Equal(data(&v), data(&w)) {
			t.Fatalf("n=%d: a used receiver gives another result", n)
		}
	}
}

// TestTridiag: A = Q·T·Qᵀ, with blocks of reflectors cut at every length.
func TestTridiag(t *testing.T) {
	for _, nb := range []int{1, 3, 8, f64.Ops.Columns()} {
		restore := setDuringTest(&reflectors, func() int { return nb })
		for _, n := range []int{0, 1, 2, 3, 4, 7, 8, 9, 25, 34} {
			a := randSym(testutil.RNG(t), n)
			if n > 4 { // a row that is zero beside the diagonal, and one that is small
				for j := range n - 1 {
					a.Set(n-1, j, 0)
					a.Set(n-2, j, a.At(n-2, j)*0x1p-950)
				}
			}
			var td tridiag
			if err := td.reduce(a); err != nil {
				t.Fatal(err)
			}
			s := linalg.NewSym(n, nil)
			for i := range n {
				s.Set(i, i, math.Ldexp(td.d[i], td.exp))
				if i > 0 {
					s.Set(i, i-1, math.Ldexp(td.e[i-1], td.exp))
				}
			}
			tol := 8 * float64(n+1) * testutil.Unit
			// Rows of Qᵀ.
			q, qq := linalg.NewDense(n, n, nil), new(linalg.Dense)
			for i := range n {
				q.Set(i, i, 1)
			}
			td.multiplyRight(n, data(q), n)
			qq.MulTrans(q, q)
			for i := range n {
				data(qq)[i*n+i]--
			}
			within(t, "QᵀQ − I", linalg.Norm2(data(qq)), tol)
			var c linalg.Sym
			qt := new(linalg.Dense)
			qt.CopyTrans(q)
			c.Congruence(qt, s)
			within(t, fmt.Sprintf("n=%d: Q·T·Qᵀ − A", n), normDiff(data(&c), data(a)), tol*linalg.Norm2(data(a)))
			// congruence does the same from the lower triangle.
			for i := range n {
				for j := i + 1; j < n; j++ {
					data(s)[i*n+j] = math.NaN()
				}
			}
			td.congruence(data(s), n)
			symmetric(t, "congruence", s)
			within(t, fmt.Sprintf("n=%d: congruence", n), normDiff(data(s), data(a)), tol*linalg.Norm2(data(a)))
		}
		restore()
	}
}

// TestSecularRoot compares the distances of the roots from the poles with those
// found by bisection in 300-bit arithmetic: each has a small relative error.
func TestSecularRoot(t *testing.T) {
	rng := testutil.RNG(t)
	// One pole, of any weight: d + ρ·z².
	for _, zz := range []float64{0.25, 1, 4} {
		delta := []float64{0}
		lambda, _ := secularRoot(0, 3, []float64{1}, []float64{zz}, delta)
		within(t, "root beside one pole", math.Abs(lambda-(1+3*zz)), 16*eps*(1+3*zz))
		within(t, "distance from one pole", math.Abs(delta[0]+3*zz), 16*eps*(1+3*zz))
	}
	for _, k := range []int{1, 2, 3, 9} {
		for trial := range 12 {
			if testing.Short() && trial > 3 {
				break
			}
			d, zz, delta := make([]float64, k), make([]float64, k), make([]float64, k)
			var x, sum float64
			for i := range d {
				x += math.Pow(10, -12*rng.Float64()*float64(trial%3)/2)
				d[i] = x - 1
				zz[i] = math.Pow(10, -24*rng.Float64()*float64(trial%4)/3)
				sum += zz[i]
			}
			for i := range zz {
				zz[i] /= sum
			}
			rho := math.Pow(10, 4*rng.Float64()-2)
			for j := range k {
				lambda, _ := secularRoot(j, rho, d, zz, delta)
				lo, hi := bigf(d[j]), bigf(d[j])
				if j < k-1 {
					hi = bigf(d[j+1])
				} else {
					hi.Add(hi, bigf(2*rho))
				}
				for range 280 {
					mid := bigf(0).Add(lo, hi)
					mid.Quo(mid, bigf(2))
					f := bigf(1)
					f.Quo(f, bigf(rho))
					for i := range d {
						u := bigf(0).Sub(bigf(d[i]), mid)
						if u.Sign() == 0 {
							continue
						}
						f.Add(f, u.Quo(bigf(zz[i]), u))
					}
					if f.Sign() < 0 {
						lo = mid
					} else {
						hi = mid
					}
				}
				for i := range d {
					want, _ := bigf(0).Sub(bigf(d[i]), lo).Float64()
					if !testutil.Close(delta[i], want, 1e-13) {
						t.Fatalf("k=%d: d_%d − λ_%d = %.17g, want %.17g", k, i, j, delta[i], want)
					}
				}
				want, _ := lo.Float64()
				// The iteration ends when f is below 8 + k/8 roundings of its terms,
				// which are as large as 1/ρ.
				if !(math.Abs(lambda-want) <= 20*eps*(math.Abs(want)+math.Abs(want-d[j]))) {
					t.Fatalf("k=%d: λ_%d = %g, want %g", k, j, lambda, want)
				}
			}
		}
	}
}

// TestSecularRootEnds: what is no number ends the search.
func TestSecularRootEnds(t *testing.T) {
	if root, _ := secularRoot(0, 1, []float64{0, 1}, []float64{math.NaN(), 1}, make([]float64, 2)); root < 0 || root > 1 {
		t.Errorf("a weight that is no number: root %g", root)
	}
}

// TestSecularSteps: the interpolation takes nine steps at most, and not four on average, where
// gaps and weights differ by three orders of magnitude, on either side of the middle.
func TestSecularSteps(t *testing.T) {
	rng := testutil.RNG(t)
	for _, k := range []int{1, 2, 9, 50, 200} {
		for _, spread := range []float64{0, 3} {
			d, zz, delta := make([]float64, k), make([]float64, k), make([]float64, k)
			sum, roots := 0, 0
			for roots < 200 {
				x := 0.0
				for i := range d {
					x += math.Pow(10, -spread*rng.Float64())
					d[i], zz[i] = x, math.Pow(10, -spread*rng.Float64())
				}
				rho := math.Pow(10, 4*rng.Float64()-2)
				for j := range k {
					_, steps := secularRoot(j, rho, d, zz, delta)
					if steps > 9 {
						t.Errorf("k=%d: root %d takes %d steps", k, j, steps)
					}
					sum += steps
					roots++
				}
			}
			if mean := float64(sum) / float64(roots); mean > 4 {
				t.Errorf("k=%d: %g steps on average", k, mean)
			}
		}
	}
}

// TestSecular: the sums of both sides and their derivatives by the distance.
func TestSecular(t *testing.T) {
	zz, delta := []float64{1, 2, 0.5, 4}, []float64{-3, 0, 2, 8}
	for j, want := range [][4]float64{
		{-1.0 / 4, 1.0 / 16, -2.0/1 + 0.5/1 + 4.0/7, 2.0/1 + 0.5/1 + 4.0/49},
		{-1.0/4 - 2.0/1, 1.0/16 + 2.0/1, 0.5/1 + 4.0/7, 0.5/1 + 4.0/49},
		{-1.0/4 - 2.0/1 + 0.5/1, 1.0/16 + 2.0/1 + 0.5/1, 4.0 / 7, 4.0 / 49},
		{-1.0/4 - 2.0/1 + 0.5/1 + 4.0/7, 1.0/16 + 2.0/1 + 0.5/1 + 4.0/49, 0, 0},
	} {
		psi, dpsi, phi, dphi := secular(j, 1, zz, delta)
		for i, got := range []float64{psi, dpsi, phi, dphi} {
			within(t, fmt.Sprintf("%d, %d", j, i), math.Abs(got-want[i]), 8*eps)
		}
	}
}

// TestMiddleWay: the step of a function that has the form of the interpolant leads to its
// root, within what cancels there, however near that is.
func TestMiddleWay(t *testing.T) {
	rng := testutil.RNG(t)
	for trial := range 2000 {
		d0, d1 := -rng.Float64(), rng.Float64() // at η = 0 the poles are there
		s, u := rng.Float64(), rng.Float64()
		if trial%3 == 0 {
			s *= 1e-3
		} else if trial%3 == 1 {
			u *= 1e-3
		}
		// The root, from next to η = 0 to next to a pole.
		want := d1 * (1 - 2*rng.Float64())
		if trial%2 == 0 {
			want *= math.Pow(10, -6*rng.Float64())
		}
		if want < 0 {
			want *= d0 / -d1
		}
		// f(η) − f(root), each term by its own difference.
		w := -want*s/(d0*(d0-want)) - want*u/(d1*(d1-want))
		got := middleWay(w, s/(d0*d0), u/(d1*d1), d0, d1)
		within(t, fmt.Sprintf("step of %g between %g and %g", want, d0, d1), math.Abs(got-want), 1024*eps*math.Abs(want))
	}
}

// TestEigen2 compares with the roots of the characteristic polynomial in
// 300-bit arithmetic.
func TestEigen2(t *testing.T) {
	rng := testutil.RNG(t)
	for range 300 {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		if rng.IntN(3) == 0 {
			b *= 1e-9
		}
		if rng.IntN(3) == 0 {
			c = a
		}
		lo, hi := eigen2(a, b, c)
		h := bigf(0).Sub(bigf(a), bigf(c))
		h.Mul(h, h).Quo(h, bigf(4))
		h.Add(h, bigf(0).Mul(bigf(b), bigf(b))).Sqrt(h)
		m := bigf(0).Add(bigf(a), bigf(c))
		m.Quo(m, bigf(2))
		wantLo, _ := new(big.Float).Sub(m, h).Float64()
		wantHi, _ := new(big.Float).Add(m, h).Float64()
		norm := math.Abs(a) + math.Abs(b) + math.Abs(c)
		if !(math.Abs(lo-wantLo) <= 4*eps*norm && math.Abs(hi-wantHi) <= 4*eps*norm) {
			t.Errorf("[%g %g; · %g]: %g, %g, want %g, %g", a, b, c, lo, hi, wantLo, wantHi)
		}
	}
	if lo, hi := eigen2(0, 0, 0); lo != 0 || hi != 0 {
		t.Errorf("zero matrix: %g, %g", lo, hi)
	}
}
