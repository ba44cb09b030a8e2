package linalg

import (
	"math"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

func TestDenseStorage(t *testing.T) {
	data := []float64{1, 2, 3, 4, 5, 6}
	m := NewDense(2, 3, data)
	if m.At(1, 0) != 4 || m.At(0, 2) != 3 {
		t.Fatalf("not row-major: %v", m)
	}
	m.Set(1, 1, 50)
	if data[4] != 50 {
		t.Error("NewDense copied its data")
	}
	m.Row(0)[1] = 20
	if m.At(0, 1) != 20 {
		t.Error("Row does not alias")
	}
	if cap(m.Row(0)) != 3 {
		t.Error("a row can be appended into the next")
	}
	v := m.View(0, 1, 2, 2)
	v.Set(1, 1, 60)
	if m.At(1, 2) != 60 {
		t.Error("View does not alias")
	}
	if raw, stride := v.Raw(); raw[stride+1] != 60 || stride != 3 {
		t.Errorf("entries of a view: %v, stride %d", raw, stride)
	}
	vv := v.View(1, 0, 1, 2)
	if vv.At(0, 0) != 50 || vv.At(0, 1) != 60 {
		t.Errorf("view of a view: %v", vv)
	}
	v.Zero()
	if m.At(0, 0) != 1 || m.At(1, 0) != 4 || m.At(1, 1) != 0 || m.At(0, 2) != 0 {
		t.Errorf("Zero of a view: %v", data)
	}
	if e := m.View(1, 3, 1, 0); e.rows != 1 || e.cols != 0 {
		t.Errorf("empty view: %v", e)
	}

	m.Resize(1, 2)
	if &m.data[0] != &data[0] {
		t.Error("Resize to less did not keep the memory")
	}
	m.Resize(3, 2)
	if &m.data[0] != &data[0] {
		t.Error("Resize back did not keep the memory")
	}
	m.Resize(4, 4)
	if r, c := m.Dims(); r != 4 || c != 4 || len(m.data) != 16 {
		t.Errorf("Resize to more: %d×%d", r, c)
	}
	var z Dense
	z.Copy(NewDense(0, 3, nil))
	if r, c := z.Dims(); r != 0 || c != 3 {
		t.Errorf("copy of an empty matrix: %d×%d", r, c)
	}
}

func TestDenseElementwise(t *testing.T) {
	rng := testutil.RNG(t)
	a := randDense(rng, 37, 9)
	v, intact := inside(randDense(rng, 37, 9))
	var c Dense
	c.Copy(&v)
	v.AddScaled(-2, a)
	v.Scale(0.5)
	for i := range 37 {
		for j := range 9 {
			if want := 0.5 * (c.At(i, j) - 2*a.At(i, j)); !testutil.Close(v.At(i, j), want, 2*eps) {
				t.Fatalf("(%d, %d): %g, want %g", i, j, v.At(i, j), want)
			}
		}
	}
	intact(t)
	v.AddScaled(-1, &v)
	if n := Norm2(v.Row(3)); n != 0 {
		t.Errorf("a − a = %g", n)
	}
}

// TestCopyTrans straddles the blocks of the transposition.
func TestCopyTrans(t *testing.T) {
	rng := testutil.RNG(t)
	for _, r := range []int{0, 1, 2, 3, 4, 5, 9, 34} {
		for _, c := range []int{0, 1, 3, 4, 31, 32, 33, 65} {
			a, _ := inside(randDense(rng, r, c))
			m, intact := inside(randDense(rng, c, r))
			m.CopyTrans(&a)
			for i := range r {
				for j := range c {
					if m.At(j, i) != a.At(i, j) {
						t.Fatalf("%d×%d: entry (%d, %d)", r, c, i, j)
					}
				}
			}
			intact(t)
		}
	}
}

func TestSymStorage(t *testing.T) {
	data := []float64{1, 9, 9, 2, 3, 9, 4, 5, 6}
	s := NewSym(3, data)
	symmetric(t, "NewSym", s)
	if s.At(0, 1) != 2 || s.At(1, 2) != 5 || &s.data[0] != &data[0] {
		t.Errorf("NewSym: %v", s.data)
	}
	s.Set(2, 0, 7)
	if s.At(0, 2) != 7 {
		t.Error("Set sets one triangle only")
	}
	s.Row(2)[1] = 8
	s.Mirror()
	if s.At(1, 2) != 8 {
		t.Error("Mirror")
	}
	if s.Trace() != 10 {
		t.Errorf("trace %g", s.Trace())
	}
	s.AddDiag(0.5)
	if s.At(0, 0) != 1.5 || s.At(2, 2) != 6.5 || s.At(1, 0) != 2 {
		t.Errorf("AddDiag: %v", s.data)
	}
	var u Sym
	u.Subset(s, []int{2, 0, 2})
	for i, p := range []int{2, 0, 2} {
		for j, q := range []int{2, 0, 2} {
			if u.At(i, j) != s.At(p, q) {
				t.Errorf("Subset (%d, %d)", i, j)
			}
		}
	}
	symmetric(t, "Subset", &u)
	d := s.Dense()
	if r, c := d.Dims(); r != 3 || c != 3 || d.At(2, 0) != 7 {
		t.Errorf("Dense: %v", d)
	}
	var c Sym
	c.Copy(s)
	c.AddScaled(2, s)
	c.Scale(1.0 / 3)
	for i := range c.data {
		if !testutil.Close(c.data[i], s.data[i], 2*eps) {
			t.Errorf("(s + 2s)/3: entry %d is %g, want %g", i, c.data[i], s.data[i])
		}
	}
	if got, want := s.Dot(NewSym(3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})), s.Trace(); got != want {
		t.Errorf("Dot with the identity %g, trace %g", got, want)
	}
	rng := testutil.RNG(t)
	for _, n := range []int{1, 15, 16, 17, 40} { // straddles the blocks of mirror
		m := NewSym(n, randDense(rng, n, n).data)
		symmetric(t, "mirror", m)
	}
}

func TestVectors(t *testing.T) {
	x, y := []float64{3, 4, 0}, []float64{1, 1, 2}
	if Dot(x, y) != 7 || SqDist(x, y) != 17 || Norm2(x) != 5 {
		t.Errorf("Dot %g, SqDist %g, Norm2 %g", Dot(x, y), SqDist(x, y), Norm2(x))
	}
	Axpy(y, 2, x)
	if y[0] != 7 || y[1] != 9 || y[2] != 2 {
		t.Errorf("Axpy: %v", y)
	}
	for _, s := range []float64{1e300, 1e-300, 5e-324, 1, 1e150, 1e-160} {
		want := 5 * s
		if s == 5e-324 {
			want = 25e-324 // 5 times the smallest number
		}
		if got := Norm2([]float64{3 * s, 4 * s}); !testutil.Close(got, want, 4*eps) {
			t.Errorf("Norm2 at scale %g: %g, want %g", s, got, want)
		}
	}
	if !math.IsNaN(Norm2([]float64{1, math.NaN()})) || !math.IsInf(Norm2([]float64{1, math.Inf(-1)}), 1) || Norm2(nil) != 0 {
		t.Error("Norm2 of special values")
	}
	if !math.IsNaN(Norm2([]float64{math.NaN(), math.Inf(1)})) || !math.IsNaN(Norm2([]float64{math.Inf(1), math.NaN()})) {
		t.Error("Norm2 lost a NaN beside an infinity")
	}
	if !math.IsNaN(Norm2([]float64{math.NaN()})) || !math.IsNaN(Norm2([]float64{math.NaN(), 1e300})) {
		t.Error("Norm2 lost a NaN before a large number")
	}
}

// TestShapePanics: every mismatch panics with the operation and the sizes.
func TestShapePanics(t *testing.T) {
	a, b, sq := NewDense(2, 3, nil), NewDense(4, 5, nil), NewDense(4, 4, nil)
	s := NewSym(4, []float64{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1})
	var c Cholesky
	if err := c.Factorize(s); err != nil {
		t.Fatal(err)
	}
	var m Dense
	var u Sym
	view := sq.View(0, 0, 2, 2)
	v3, v4 := make([]float64, 3), make([]float64, 4)
	for want, f := range map[string]func(){
		"linalg: Resize: 4×4 to 5×5 (view: true)":           func() { d := s.Dense(); d.Resize(5, 5) },
		"linalg: Resize: 4×4 to 6×6 (view: true)":           func() { c.Lower().Resize(6, 6) },
		"linalg: View: 1×1 at (-1, 0) of 4×4":               func() { sq.View(-1, 0, 1, 1) },
		"linalg: View: 1×1 at (0, -1) of 4×4":               func() { sq.View(0, -1, 1, 1) },
		"linalg: View: -1×1 at (0, 0) of 4×4":               func() { sq.View(0, 0, -1, 1) },
		"linalg: View: 1×-1 at (0, 0) of 4×4":               func() { sq.View(0, 0, 1, -1) },
		"linalg: NewDense: size -1×2":                       func() { NewDense(-1, 2, nil) },
		"linalg: NewDense: 3 numbers for 2×2":               func() { NewDense(2, 2, v3) },
		"linalg: NewSym: size -1":                           func() { NewSym(-1, nil) },
		"linalg: NewSym: 3 numbers for 2×2":                 func() { NewSym(2, v3) },
		"linalg: At: index (2, 0) of 2×3":                   func() { a.At(2, 0) },
		"linalg: Set: index (0, 3) of 2×3":                  func() { a.Set(0, 3, 1) },
		"linalg: At: index (0, -1) of 4×4":                  func() { s.At(0, -1) },
		"linalg: Set: index (4, 0) of 4×4":                  func() { s.Set(4, 0, 1) },
		"linalg: Row: 2 of 2×3":                             func() { a.Row(2) },
		"linalg: Row: 4 of 4×4":                             func() { s.Row(4) },
		"linalg: View: 2×2 at (1, 0) of 2×3":                func() { a.View(1, 0, 2, 2) },
		"linalg: Resize: 2×2 to 3×2 (view: true)":           func() { view.Resize(3, 2) },
		"linalg: Resize: 2×3 to -1×2 (view: false)":         func() { a.Resize(-1, 2) },
		"linalg: Resize: size -1":                           func() { u.Resize(-1) },
		"linalg: AddScaled: 2×3 by 4×5":                     func() { a.AddScaled(1, b) },
		"linalg: AddScaled: 4×4 by 0×0":                     func() { s.AddScaled(1, new(Sym)) },
		"linalg: Dot: 4×4 by 0×0":                           func() { s.Dot(new(Sym)) },
		"linalg: Mul: 2×3 by 4×5":                           func() { m.Mul(a, b) },
		"linalg: MulTrans: 2×3 by 4×5":                      func() { m.MulTrans(a, b) },
		"linalg: TransMul: 2×3 by 4×5":                      func() { m.TransMul(a, b) },
		"linalg: MulVecTo: dst has length 3, want 2":        func() { a.MulVecTo(v3, v3) },
		"linalg: MulVecTo: x has length 4, want 3":          func() { a.MulVecTo(v3[:2], v4) },
		"linalg: MulVecTo: x has length 3, want 4":          func() { s.MulVecTo(v4, v3) },
		"linalg: AddGram: 4×4 by 2×3":                       func() { s.AddGram(1, a) },
		"linalg: AddTransGram: 4×4 by 2×3":                  func() { s.AddTransGram(1, a) },
		"linalg: Congruence: 2×3 by 4×4":                    func() { u.Congruence(a, s) },
		"linalg: Resize: 2×0 to 2×2 (view: true)":           func() { e := sq.View(0, 0, 2, 0); e.Resize(2, 2) },
		"linalg: TransMulLower: 2×3 by 2×2":                 func() { TransMulLower(&m, a, &view) },
		"linalg: TransMulLower: 4×4 by 2×3":                 func() { TransMulLower(&m, sq, a) },
		"linalg: MulLower: 4×4 by 2×3":                      func() { MulLower(&m, sq, a) },
		"linalg: MulUpper: 2×3 by 4×5":                      func() { MulUpper(&m, a, b) },
		"linalg: Subset: index 4 of 4×4":                    func() { u.Subset(s, []int{4}) },
		"linalg: Subset: index -1 of 4×4":                   func() { u.Subset(s, []int{0, -1}) },
		"linalg: SolveLowerVecTo: b has length 3, want 4":   func() { c.SolveVecTo(v4, v3) },
		"linalg: SolveUpperVecTo: dst has length 3, want 4": func() { c.SolveUpperVecTo(v3, v4) },
		"linalg: SolveTo: 4×4 by 2×3":                       func() { c.SolveTo(&m, a) },
		"linalg: SolveLowerTo: 4×4 by 2×3":                  func() { c.SolveLowerTo(&m, a) },
		"linalg: SolveUpperTo: 4×4 by 2×3":                  func() { c.SolveUpperTo(&m, a) },
		"linalg: Append: row has length 3, want 4":          func() { _ = c.Append(v3, 1) },
		"linalg: SetLower: 2×3 by 3×2":                      func() { _ = c.SetLower(a) },
		"linalg: Dot: y has length 4, want 3":               func() { Dot(v3, v4) },
		"linalg: Axpy: x has length 3, want 4":              func() { Axpy(v4, 1, v3) },
		"linalg: SqDist: y has length 4, want 3":            func() { SqDist(v3, v4) },
	} {
		if got := panics(f); got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
}

// TestAliasing: a destination that shares entries with an operand panics, in
// whole or in part; views of one matrix that share none do not.
func TestAliasing(t *testing.T) {
	n := 6
	big := NewDense(n, n, nil)
	a, right := big.View(0, 0, 3, 3), big.View(0, 3, 3, 3)
	below, part := big.View(3, 0, 3, 3), big.View(2, 2, 3, 3)
	left := big.View(3, 0, 2, 3)
	_ = left
	for name, f := range map[string]func(dst *Dense){
		"Mul":           func(dst *Dense) { dst.Mul(&a, &a) },
		"MulTrans":      func(dst *Dense) { dst.MulTrans(&a, &a) },
		"TransMul":      func(dst *Dense) { dst.TransMul(&a, &a) },
		"TransMulLower": func(dst *Dense) { TransMulLower(dst, &a, &a) },
		"MulLower":      func(dst *Dense) { MulLower(dst, &a, &a) },
		"MulUpper":      func(dst *Dense) { MulUpper(dst, &a, &a) },
		"CopyTrans":     func(dst *Dense) { dst.CopyTrans(&a) },
	} {
		for i, dst := range []*Dense{&a, &part} {
			if v, ok := panics(func() { f(dst) }).(string); !ok || !strings.HasPrefix(v, "linalg: "+name+": destination aliases") {
				t.Errorf("%s onto an operand (%d): %v", name, i, v)
			}
		}
		for i, dst := range []*Dense{&right, &below} {
			if v := panics(func() { f(dst) }); v != nil {
				t.Errorf("%s beside its operand (%d): %v", name, i, v)
			}
		}
	}
	s := NewSym(n, nil)
	d := s.Dense()
	vec := make([]float64, 3*n)
	v, half := vec[:n], vec[n/2:][:n]
	for name, f := range map[string]func(dst, x []float64){
		"MulVecTo":          big.MulVecTo,
		"MulVecTo of a Sym": s.MulVecTo,
	} {
		want := "linalg: " + strings.Fields(name)[0] + ": destination aliases an operand"
		for i, x := range [][]float64{v, half} {
			if got := panics(func() { f(v, x) }); got != want {
				t.Errorf("%s onto its operand (%d): %v", name, i, got)
			}
		}
		if got := panics(func() { f(v, vec[n:][:n]) }); got != nil {
			t.Errorf("%s beside its operand: %v", name, got)
		}
		if got := panics(func() { f(vec[n:][:n], v) }); got != nil {
			t.Errorf("%s behind its operand: %v", name, got)
		}
	}
	if got := panics(func() { big.MulVecTo(big.data[:n], v) }); got != "linalg: MulVecTo: destination aliases an operand" {
		t.Errorf("MulVecTo onto the matrix: %v", got)
	}
	four := NewDense(4, 3, nil)
	top := four.View(0, 0, 2, 3)
	if got := panics(func() { top.MulVecTo(four.Row(3)[:2], []float64{1, 2, 3}) }); got != nil {
		t.Errorf("MulVecTo onto another row of its matrix: %v", got)
	}
	for name, f := range map[string]func(){
		"AddGram":      func() { s.AddGram(1, &d) },
		"AddTransGram": func() { s.AddTransGram(1, &d) },
		"Congruence":   func() { s.Congruence(NewDense(n, n, nil), s) },
		"Congruence ":  func() { s.Congruence(&d, NewSym(n, nil)) },
	} {
		if v, ok := panics(f).(string); !ok || !strings.HasPrefix(v, "linalg: "+strings.TrimSpace(name)+": destination aliases") {
			t.Errorf("%s onto an operand: %v", name, v)
		}
	}
	// Neighbours in one array.
	data := make([]float64, 10)
	p, q := NewDense(2, 2, data[:4]), NewDense(2, 3, data[4:])
	if overlap(p, q) || overlap(q, p) {
		t.Error("neighbours reported to overlap")
	}
	q = NewDense(1, 7, data[3:])
	if !overlap(p, q) || !overlap(q, p) {
		t.Error("matrices with one entry in common reported not to overlap")
	}
	// Views from the same rows whose columns interleave only in memory.
	u, w := big.View(0, 4, 5, 2), big.View(1, 0, 5, 4)
	if overlap(&u, &w) || overlap(&w, &u) {
		t.Error("columns 4–5 and 0–3 reported to overlap")
	}
	w = big.View(1, 0, 5, 5)
	if !overlap(&u, &w) || !overlap(&w, &u) {
		t.Error("columns 4–5 and 0–4 reported not to overlap")
	}
}
