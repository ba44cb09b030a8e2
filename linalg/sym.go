package linalg

import (
	"fmt"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// Sym is a symmetric matrix. Both triangles are stored, row-major, and equal bit
// for bit. The zero value is an empty matrix, ready to be a destination.
type Sym struct {
	n    int
	data []float64
}

// NewSym returns an n×n symmetric matrix. If data is nil it is zero; otherwise data, of length n²,
// row-major, becomes its memory: the lower triangle counts and is mirrored onto the upper one.
func NewSym(n int, data []float64) *Sym {
	if n < 0 {
		panic(fmt.Sprintf("linalg: NewSym: size %d", n))
	}
	if data == nil {
		return &Sym{n: n, data: make([]float64, n*n)}
	}
	if len(data) != n*n {
		panic(fmt.Sprintf("linalg: NewSym: %d numbers for %d×%d", len(data), n, n))
	}
	s := &Sym{n: n, data: data}
	s.Mirror()
	return s
}

// Dim returns the number of rows.
func (s *Sym) Dim() int { return s.n }

// At returns entry (i, j).
func (s *Sym) At(i, j int) float64 {
	s.check("At", i, j)
	return s.data[i*s.n+j]
}

// Set sets entries (i, j) and (j, i) to v.
func (s *Sym) Set(i, j int, v float64) {
	s.check("Set", i, j)
	s.data[i*s.n+j] = v
	s.data[j*s.n+i] = v
}

func (s *Sym) check(op string, i, j int) {
	if uint(i) >= uint(s.n) || uint(j) >= uint(s.n) {
		panic(fmt.Sprintf("linalg: %s: index (%d, %d) of %d×%d", op, i, j, s.n, s.n))
	}
}

// Row returns row i, which aliases s. Who writes through it fills at least the
// lower triangle (columns 0 to i) of every row touched and then calls Mirror.
func (s *Sym) Row(i int) []float64 {
	if uint(i) >= uint(s.n) {
		panic(fmt.Sprintf("linalg: Row: %d of %d×%d", i, s.n, s.n))
	}
	return s.row(i)
}

func (s *Sym) row(i int) []float64 { return s.data[i*s.n : i*s.n+s.n : i*s.n+s.n] }

// Dense returns s as a general matrix that aliases it. It is for reading: writing through it breaks the symmetry.
func (s *Sym) Dense() Dense {
	return Dense{rows: s.n, cols: s.n, stride: s.n, view: true, data: s.data}
}

// Resize makes s an n×n matrix with unspecified contents (not even symmetric), reusing its memory where that suffices.
func (s *Sym) Resize(n int) {
	if n < 0 {
		panic(fmt.Sprintf("linalg: Resize: size %d", n))
	}
	if n == s.n {
		return
	}
	s.data = f64.Grow(s.data, n*n)
	s.n = n
}

// Zero sets every entry to 0.
func (s *Sym) Zero() { clear(s.data) }

// Copy makes s a copy of a, which may be s.
func (s *Sym) Copy(a *Sym) {
	s.Resize(a.n)
	copy(s.data, a.data)
}

// Scale multiplies every entry by alpha.
func (s *Sym) Scale(alpha float64) { f64.Ops.Scale(s.data, alpha) }

// AddScaled adds alpha·a to s. a may be s.
func (s *Sym) AddScaled(alpha float64, a *Sym) {
	if s.n != a.n {
		panicShape("AddScaled", s.n, s.n, a.n, a.n)
	}
	f64.Ops.Axpy(s.data, alpha, a.data)
}

// AddDiag adds v to every diagonal entry.
func (s *Sym) AddDiag(v float64) {
	for i := range s.n {
		s.data[i*s.n+i] += v
	}
}

// Trace returns the sum of the diagonal.
func (s *Sym) Trace() float64 {
	var t float64
	for i := range s.n {
		t += s.data[i*s.n+i]
	}
	return t
}

// Mirror copies the lower triangle onto the upper one. It is to be called after the lower triangle was filled through Row.
func (s *Sym) Mirror() { products.Mirror(s.n, s.data, s.n) }

// Dot returns the inner product Σ_ij s_ij·b_ij = tr(s·b).
func (s *Sym) Dot(b *Sym) float64 {
	if s.n != b.n {
		panicShape("Dot", s.n, s.n, b.n, b.n)
	}
	return f64.Ops.Dot(s.data, b.data)
}

// MulVecTo sets dst to s·x. dst must not alias x.
func (s *Sym) MulVecTo(dst, x []float64) {
	m := s.Dense()
	m.MulVecTo(dst, x)
}

// Subset makes s the principal submatrix a[idx, idx]. Indices may repeat. s must not be a.
func (s *Sym) Subset(a *Sym, idx []int) {
	s.Resize(len(idx))
	for i, p := range idx {
		if uint(p) >= uint(a.n) {
			panic(fmt.Sprintf("linalg: Subset: index %d of %d×%d", p, a.n, a.n))
		}
		src, dst := a.row(p), s.row(i)
		for j, q := range idx[:i+1] {
			dst[j] = src[q]
			s.data[j*s.n+i] = src[q]
		}
	}
}
