package f64

// Table is one set of implementations, a method for each operation of the package, which documents it.
type Table interface {
	Dot(x, y []float64) float64
	DiffDots(a, b, s, t, d []float64) (diff, sum float64)
	Axpy(dst []float64, alpha float64, x []float64)
	Axpy4(dst []float64, c0, c1, c2, c3 float64, a0, a1, a2, a3 []float64)
	Scale(x []float64, alpha float64)
	Magnitude(x []float64) float64
	Transpose(rows, cols int, dst []float64, ldd int, a []float64, lda int)

	Gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int)
	GemmSet(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int)
	Trsm(m, n int, x []float64, ldx int, l []float64, ldl int)
	TrsmBack(m, n int, x []float64, ldx int, l []float64, ldl int)
	Chol(n int, shift float64, a []float64, lda int, l []float64, ldl int) (pivot int, value float64)
	InvertRows(n, i int, u, l []float64, ldl int)
	InverseRows(n, i int, c []float64, ldc int, u []float64)
	Columns() int
	Rows() int
	CholSize() int
	InverseStep() int

	SymPass(n int, a []float64, lda int, v, w, x, y []float64)
	BidiagPass(m, n int, a []float64, lda int, u, z, s, v, p []float64, g float64, y, c, r []float64)
	PoleSum(a2, b2, s, w, work []float64) float64
	FlushMul(dst, x, y []float64) float64
	FlushChain(rows int, y, m, out []float64, ldo int)

	AddSquares(dst, x, w, c []float64, ldc int)
	RadialValues(dst, sq []float64, scale, variance float64, f *Radial)
	RadialSlopes(val, slope, sq []float64, scale float64, f *Radial)
	RadialAt(s float64, f *Radial) (val, slope float64)
}

// Generic is the table of plain Go loops: the default, and the reference for any other.
var Generic = new(generic)

type generic struct{}

func (*generic) Columns() int     { return 12 }
func (*generic) Rows() int        { return stripRows }
func (*generic) CholSize() int    { return 120 }
func (*generic) InverseStep() int { return inverseStep }

var table Table = Generic

// Use puts t in force and returns a function that puts the former table back. It is for
// initialisation and for tests: it must not run beside any other call of the package.
func Use(t Table) (restore func()) {
	old := table
	table = t
	return func() { table = old }
}
