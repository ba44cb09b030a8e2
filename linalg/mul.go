package linalg

import (
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// Mul makes m the r×c product a·b of an r×k and a k×c matrix. 2·r·k·c operations; from about
// r = k = c = 200 the rows of m are shared between goroutines.
//
// Each entry is within γ_k·Σ|a_il·b_lj| of its exact value (Higham, Accuracy and Stability
// of Numerical Algorithms, 2002, section 3.5); the same holds for the other products.
func (m *Dense) Mul(a, b *Dense) {
	if a.cols != b.rows {
		panicShape("Mul", a.rows, a.cols, b.rows, b.cols)
	}
	m.destination("Mul", a.rows, b.cols, a, b)
	products.GemmSet(m.rows, m.cols, a.cols, 1, a.data, a.stride, 1, b.data, b.stride, 1, m.data, m.stride)
}

// MulTrans makes m the r×c product a·bᵀ of an r×k and a c×k matrix. a may be b.
func (m *Dense) MulTrans(a, b *Dense) {
	if a.cols != b.cols {
		panicShape("MulTrans", a.rows, a.cols, b.rows, b.cols)
	}
	m.destination("MulTrans", a.rows, b.rows, a, b)
	products.GemmSet(m.rows, m.cols, a.cols, 1, a.data, a.stride, 1, b.data, 1, b.stride, m.data, m.stride)
}

// TransMul makes m the r×c product aᵀ·b of a k×r and a k×c matrix. a may be b.
func (m *Dense) TransMul(a, b *Dense) {
	if a.rows != b.rows {
		panicShape("TransMul", a.rows, a.cols, b.rows, b.cols)
	}
	m.destination("TransMul", a.cols, b.cols, a, b)
	products.GemmSet(m.rows, m.cols, a.rows, 1, a.data, 1, a.stride, b.data, b.stride, 1, m.data, m.stride)
}

// destination makes m an r×c matrix, contents unspecified, after checking that its memory is not that of an operand.
func (m *Dense) destination(op string, r, c int, operands ...*Dense) {
	m.Resize(r, c)
	m.separate(op, operands...)
}

// separate panics if an operand of op has an entry in common with m, its destination.
func (m *Dense) separate(op string, operands ...*Dense) {
	for _, a := range operands {
		if overlap(m, a) {
			panic("linalg: " + op + ": destination aliases an operand")
		}
	}
}

func asRow(x []float64) Dense {
	return Dense{rows: 1, cols: len(x), stride: len(x), data: x}
}

// overlap reports whether a and b have an entry in common, as far as that can be seen: slices of
// one array whose capacities reach to the same end show by these where they begin.
func overlap(a, b *Dense) bool {
	if a.rows == 0 || a.cols == 0 || b.rows == 0 || b.cols == 0 {
		return false
	}
	x, y := a.data[:cap(a.data)], b.data[:cap(b.data)]
	if &x[len(x)-1] != &y[len(y)-1] {
		return false
	}
	// Offsets of the first entries, counted from the one that comes first.
	p, q := max(0, len(y)-len(x)), max(0, len(x)-len(y))
	pe, qe := p+(a.rows-1)*a.stride+a.cols, q+(b.rows-1)*b.stride+b.cols
	if pe <= q || qe <= p {
		return false
	}
	if a.stride != b.stride || a.stride == 0 {
		return true
	}
	// Blocks of one matrix: they meet if their rows and their columns do.
	ac, bc := p%a.stride, q%a.stride
	if ac+a.cols > a.stride || bc+b.cols > b.stride {
		return true
	}
	ar, br := p/a.stride, q/a.stride
	return ar < br+b.rows && br < ar+a.rows && ac < bc+b.cols && bc < ac+a.cols
}

// MulVecTo sets dst, of length rows, to m·x. dst must not alias x.
func (m *Dense) MulVecTo(dst, x []float64) {
	if len(dst) != m.rows {
		panicLen("MulVecTo", "dst", len(dst), m.rows)
	}
	if len(x) != m.cols {
		panicLen("MulVecTo", "x", len(x), m.cols)
	}
	d, v := asRow(dst), asRow(x)
	d.separate("MulVecTo", &v, m)
	f64.Ops.GemmSet(len(dst), 1, len(x), 1, m.data, m.stride, 1, x, 1, len(x), dst, 1)
}

// addRows adds Σ_i x_i·A_i to dst, A_i being row i of a.
func addRows(dst, x, a []float64, lda int) {
	n, i := len(dst), 0
	for ; i+4 <= len(x); i += 4 {
		f64.Ops.Axpy4(dst, x[i], x[i+1], x[i+2], x[i+3],
			a[i*lda:][:n], a[(i+1)*lda:][:n], a[(i+2)*lda:][:n], a[(i+3)*lda:][:n])
	}
	for ; i < len(x); i++ {
		f64.Ops.Axpy(dst, x[i], a[i*lda:][:n])
	}
}

// Gram makes s = a·aᵀ. One triangle is computed and mirrored: n²·k operations for an n×k matrix a.
func (s *Sym) Gram(a *Dense) {
	s.Resize(a.rows)
	s.Zero()
	s.AddGram(1, a)
}

// AddGram adds alpha·a·aᵀ to s.
func (s *Sym) AddGram(alpha float64, a *Dense) {
	if s.n != a.rows {
		panicShape("AddGram", s.n, s.n, a.rows, a.cols)
	}
	d := s.Dense()
	d.separate("AddGram", a)
	products.SymLower(s.n, a.cols, alpha, a.data, a.stride, 1, a.data, 1, a.stride, s.data, s.n)
	s.Mirror()
}

// AddTransGram adds alpha·aᵀ·a to s.
func (s *Sym) AddTransGram(alpha float64, a *Dense) {
	if s.n != a.cols {
		panicShape("AddTransGram", s.n, s.n, a.rows, a.cols)
	}
	d := s.Dense()
	d.separate("AddTransGram", a)
	products.SymLower(s.n, a.rows, alpha, a.data, 1, a.stride, a.data, a.stride, 1, s.data, s.n)
	s.Mirror()
}

// Congruence makes s = a·b·aᵀ, in 2·r·n² + r²·n operations for an r×n matrix a.
func (s *Sym) Congruence(a *Dense, b *Sym) {
	if a.cols != b.n {
		panicShape("Congruence", a.rows, a.cols, b.n, b.n)
	}
	s.Resize(a.rows)
	d, bd := s.Dense(), b.Dense()
	d.separate("Congruence", a, &bd)
	r, n := a.rows, a.cols
	buf := products.Scratch(r * n)
	t := *buf
	// b is its own transpose: read along rows on both sides.
	products.GemmSet(r, n, n, 1, a.data, a.stride, 1, b.data, 1, n, t, n)
	s.Zero()
	products.SymLower(r, n, 1, t, n, 1, a.data, 1, a.stride, s.data, s.n)
	products.Release(buf)
	s.Mirror()
}
