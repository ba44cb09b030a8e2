package spectral

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// TestPolar: U is orthogonal to 8·n·u at any condition. H = Uᵀ·A is symmetric to
// rounding of A, and its trace is the nuclear norm: so U maximises tr Uᵀ·A.
// Against the known factor, errors are n·u/(σ_i + σ_j).
func TestPolar(t *testing.T) {
	rng := testutil.RNG(t)
	var d SVD
	for _, n := range []int{1, 2, 3, 10, 15, 16, 17, 45} {
		for name, s := range spectra(n) {
			a, want := withValues(rng, n, n, s)
			for _, sc := range []float64{1, 0x1p-1000, 0x1p990} {
				var b, u, o, h linalg.Dense
				b.Copy(a)
				b.Scale(sc)
				if err := d.PolarTo(&u, &b); err != nil {
					t.Fatalf("n=%d, %s: %v", n, name, err)
				}
				tol := 8 * float64(n+1) * testutil.Unit
				o.TransMul(&u, &u)
				for i := range n {
					data(&o)[i*n+i]--
				}
				within(t, fmt.Sprintf("n=%d, %s: UᵀU − I", n, name), linalg.Norm2(data(&o)), tol)
				h.TransMul(&u, a)
				var asym, trace, sum float64
				for i := range n {
					trace += h.At(i, i)
					sum += s[i]
					for j := range i {
						asym = math.Max(asym, math.Abs(h.At(i, j)-h.At(j, i)))
					}
				}
				within(t, fmt.Sprintf("n=%d, %s: symmetry of Uᵀ·A", n, name), asym, tol*s[0])
				within(t, fmt.Sprintf("n=%d, %s: trace of Uᵀ·A", n, name), math.Abs(trace-sum), tol*sum)
				if s[n-1] > 0 {
					within(t, fmt.Sprintf("n=%d, %s: U", n, name), normDiff(data(&u), data(want)), tol*math.Sqrt(float64(n))*s[0]/s[n-1])
				}
				d2 := new(linalg.Dense)
				d2.Copy(&b)
				if err := d.PolarTo(d2, d2); err != nil || normDiff(data(d2), data(&u)) != 0 {
					t.Errorf("n=%d, %s: in place differs, %v", n, name, err)
				}
			}
		}
	}
	// Structured singular matrices: a nilpotent shift, a zero row, one entry.
	for name, f := range map[string]func(i, j int) float64{
		"shift":    func(i, j int) float64 { return float64(boolInt(i == j+1)) },
		"one":      func(i, j int) float64 { return float64(boolInt(i == 5 && j == 2)) },
		"zero row": func(i, j int) float64 { return float64(boolInt(i > 0)) * math.Cos(float64(3*i+7*j*j)) },
		"columns":  func(i, j int) float64 { return float64(boolInt(j > 6)) * math.Sin(float64(3*i*i+7*j)) },
	} {
		n := 9
		a := linalg.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				a.Set(i, j, f(i, j))
			}
		}
		var u, o, h linalg.Dense
		if err := d.PolarTo(&u, a); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o.MulTrans(&u, &u)
		h.TransMul(&u, a)
		var trace float64
		for i := range n {
			data(&o)[i*n+i]--
			trace += h.At(i, i)
		}
		within(t, name+": U·Uᵀ − I", linalg.Norm2(data(&o)), 8*float64(n)*testutil.Unit)
		want := d.NuclearNorm(a)
		within(t, name+": trace of Uᵀ·A", math.Abs(trace-want), 16*float64(n)*testutil.Unit*want)
	}
}

// TestPolarOfZero: the identity, whatever the destination held.
func TestPolarOfZero(t *testing.T) {
	u, want := randDense(testutil.RNG(t), 3, 3), linalg.NewDense(3, 3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})
	if err := new(SVD).PolarTo(u, linalg.NewDense(3, 3, nil)); err != nil || !slices.Equal(data(u), data(want)) {
		t.Errorf("%v, %v; want the identity", data(u), err)
	}
}

// TestPerturb: what is added to a matrix of size 1 is uniform within half a rounding of 1 on
// either side, another for each try.
func TestPerturb(t *testing.T) {
	a := linalg.NewDense(20, 20, nil)
	a.Set(0, 0, 8)
	var p, q linalg.Dense
	perturb(&p, a, 0)
	perturb(&q, a, 1)
	x := data(&p)[1:]
	if lo, hi := slices.Min(x), slices.Max(x); !(lo >= -testutil.Unit && lo < -0.95*testutil.Unit && hi <= testutil.Unit && hi > 0.95*testutil.Unit) {
		t.Errorf("perturbations from %g to %g", lo, hi)
	}
	if math.Abs(p.At(0, 0)-0.5) > testutil.Unit || slices.Equal(x, data(&q)[1:]) {
		t.Errorf("first entry %g, or two tries are equal", p.At(0, 0))
	}
}

// TestAnchor: rows that are negligible are left out, whatever the scratch held.
func TestAnchor(t *testing.T) {
	n := 40
	a, b := make([]float64, n), make([]float64, n-1)
	for i := range a {
		a[i] = 0.9
	}
	for i := range b {
		b[i] = 1e-3
	}
	b[10] = 0x1p-1000
	var r resolvents
	r.set(a, b, poleTables[0]())
	for range 2 {
		if got := r.anchor(20, 36, r.w); got != 11 {
			t.Errorf("rows from %d on are not negligible, want 11", got)
		}
		for i := range r.y {
			r.y[i] = math.MaxFloat64
		}
	}
}

// TestResolvents: the polar factor U of a bidiagonal matrix B is orthogonal, and
// tr Uᵀ·B the sum of the singular values, for which 300-bit arithmetic is the
// truth, at conditions up to 1e20 and with anchors at every distance.
func TestResolvents(t *testing.T) {
	rng := testutil.RNG(t)
	skipped := 0
	for _, nb := range []int{1, 2, 5, 16} {
		restore := setDuringTest(&resolventBlock, nb)
		for trial := range 7 {
			n := 9
			a, b := make([]float64, n), make([]float64, n-1)
			m := linalg.NewDense(n, n, nil)
			for i := range n {
				a[i] = 0.5 * math.Pow(10, -2*float64(trial)*rng.Float64()) * float64(1-2*rng.IntN(2))
				m.Set(i, i, a[i])
				if i < n-1 {
					b[i] = 0.5 * math.Pow(10, -2*float64(trial)*rng.Float64()) * float64(1-2*rng.IntN(2))
					m.Set(i, i+1, b[i])
				}
			}
			if trial < 2 { // entries of one side of it have nothing to do with those of the other
				b[2], b[6] = 0, 0
				m.Set(2, 3, 0)
				m.Set(6, 7, 0)
			}
			t40 := poleTables[len(poleTables)-1]()
			a2, b2 := make([]float64, n), make([]float64, n-1)
			for i := range a {
				a2[i] = a[i] * a[i]
				if i < n-1 {
					b2[i] = b[i] * b[i]
				}
			}
			if inverseTrace(a2, b2) > t40.kappa {
				skipped++
				continue
			}
			var r resolvents
			r.set(a, b, t40)
			u := linalg.NewDense(n, n, nil)
			r.polar(data(u))
			var o linalg.Dense
			o.MulTrans(u, u)
			for i := range n {
				data(&o)[i*n+i]--
			}
			// Entries, and so products, are good to a few units for each row.
			within(t, "orthogonality", linalg.Norm2(data(&o)), 8*float64(n)*eps)
			want := bigOf(m).nuclear(t)
			p := bigOf(u).transMul(bigOf(m))
			got := bigf(0)
			for i := range n {
				got.Add(got, p.at(i, i))
			}
			rel, _ := got.Quo(got.Sub(got, want), want).Float64()
			within(t, "trace of Uᵀ·B", math.Abs(rel), 8*float64(n)*eps)
		}
		restore()
	}
	if skipped > 8 {
		t.Errorf("%d of 28 matrices were too close to singular", skipped)
	}
}

// TestResolve runs both factorisations of BᵀB + s·I for a bidiagonal B of three
// rows and compares the inverse they give with cofactors.
func TestResolve(t *testing.T) {
	rng := testutil.RNG(t)
	for range 100 {
		var a [3]float64
		var b [3]float64 // the last is 0
		for i := range a {
			a[i] = 0.1 + rng.Float64()
			if i < 2 {
				b[i] = rng.Float64()
			}
		}
		s := []float64{1e-3 + rng.Float64(), 0.5, 7, 1e-2, 3}[:1+rng.IntN(5)]
		n := len(s)
		w := testutil.Normals(rng, n)
		row := func() []float64 { return make([]float64, n) }
		h := row()
		that, up, tq := [3][]float64{}, [3][]float64{}, [3][]float64{}
		for i := range 3 {
			that[i], up[i], tq[i] = row(), row(), row()
			resolveForward(a[i]*a[i], b[i]*b[i], -a[i]*b[i], s, h, that[i], up[i], tq[i])
		}
		for p := range h {
			h[p] = a[2] * a[2]
		}
		across, rp, root := [3][]float64{}, [3][]float64{}, [3]float64{}
		for i := 2; ; i-- {
			root[i] = resolveDiagonal(that[i], h, s, w)
			if i == 0 {
				break
			}
			across[i-1], rp[i-1] = row(), row()
			resolveBackward(a[i-1]*a[i-1], b[i-1]*b[i-1], -a[i-1]*b[i-1], s, h, across[i-1], rp[i-1])
		}
		var wantRoot [3]float64
		for p, sp := range s {
			// T = BᵀB + s·I, tridiagonal; X its inverse by cofactors.
			d0, d1, d2 := a[0]*a[0]+sp, a[1]*a[1]+b[0]*b[0]+sp, a[2]*a[2]+b[1]*b[1]+sp
			e0, e1 := a[0]*b[0], a[1]*b[1]
			det := d0*(d1*d2-e1*e1) - e0*e0*d2
			x := [3]float64{(d1*d2 - e1*e1) / det, d0 * d2 / det, (d0*d1 - e0*e0) / det}
			x01, x12 := -e0*d2/det, -d0*e1/det
			for i := range 3 {
				wantRoot[i] += w[p] * (1 - sp*x[i])
				if !testutil.Close(that[i][p], x[i], 1e-9) {
					t.Fatalf("X_%d%d = %g, want %g", i, i, that[i][p], x[i])
				}
			}
			if got := up[0][p] * that[1][p]; !testutil.Close(got, x01, 1e-9) {
				t.Fatalf("λ·X_11 = %g, want %g", got, x01)
			}
			if got := across[1][p] * that[1][p]; !testutil.Close(got, x12, 1e-9) {
				t.Fatalf("μ·X_11 = %g, want %g", got, x12)
			}
			if q := a[1]*a[1] + sp + b[0]*b[0]*tq[0][p]; !testutil.Close(up[1][p], -e1/q, 1e-12) {
				t.Fatalf("λ_1 = %g, want %g", up[1][p], -e1/q)
			}
			if rho := sp + a[2]*a[2]; !testutil.Close(rp[1][p], rho/(rho+b[1]*b[1]), 1e-14) {
				t.Fatalf("ρ/p = %g, want %g", rp[1][p], rho/(rho+b[1]*b[1]))
			}
		}
		for i, v := range wantRoot {
			if !(math.Abs(root[i]-v) <= 1e-9*float64(n)*4) {
				t.Fatalf("diagonal %d is %g, want %g", i, root[i], v)
			}
		}
	}
}
