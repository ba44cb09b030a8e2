package linalg

import (
	"fmt"

	"github.com/gocmbo/cmbo/internal/f64"
)

// Dense is a general matrix, row-major: entry (i, j) of an r×c matrix is at i·stride + j of its data, stride ≥ c. The zero
// value is an empty matrix, ready to be the destination of any operation.
type Dense struct {
	rows, cols, stride int
	view               bool
	data               []float64
}

// NewDense returns a rows×cols matrix. If data is nil the matrix is zero and owns its memory; otherwise data, of length
// rows·cols and row-major, becomes its memory and is not copied. It panics on negative sizes and other lengths.
func NewDense(rows, cols int, data []float64) *Dense {
	if rows < 0 || cols < 0 {
		panic(fmt.Sprintf("linalg: NewDense: size %d×%d", rows, cols))
	}
	if data == nil {
		data = make([]float64, rows*cols)
	} else if len(data) != rows*cols {
		panic(fmt.Sprintf("linalg: NewDense: %d numbers for %d×%d", len(data), rows, cols))
	}
	return &Dense{rows: rows, cols: cols, stride: cols, data: data}
}

// Dims returns the numbers of rows and columns.
func (m *Dense) Dims() (rows, cols int) { return m.rows, m.cols }

// At returns entry (i, j).
func (m *Dense) At(i, j int) float64 {
	m.check("At", i, j)
	return m.data[i*m.stride+j]
}

// Set sets entry (i, j) to v.
func (m *Dense) Set(i, j int, v float64) {
	m.check("Set", i, j)
	m.data[i*m.stride+j] = v
}

func (m *Dense) check(op string, i, j int) {
	if uint(i) >= uint(m.rows) || uint(j) >= uint(m.cols) {
		panic(fmt.Sprintf("linalg: %s: index (%d, %d) of %d×%d", op, i, j, m.rows, m.cols))
	}
}

// Row returns row i. It aliases m.
func (m *Dense) Row(i int) []float64 {
	if uint(i) >= uint(m.rows) {
		panic(fmt.Sprintf("linalg: Row: %d of %d×%d", i, m.rows, m.cols))
	}
	return m.row(i)
}

func (m *Dense) row(i int) []float64 {
	o := i * m.stride
	return m.data[o : o+m.cols : o+m.cols]
}

// Raw returns the entries of m, which alias it: (i, j) is data[i*stride+j].
func (m *Dense) Raw() (data []float64, stride int) { return m.data, m.stride }

// View returns the rows×cols block of m whose first entry is (i, j). It aliases m and cannot be resized.
func (m *Dense) View(i, j, rows, cols int) Dense {
	if i < 0 || j < 0 || rows < 0 || cols < 0 || i+rows > m.rows || j+cols > m.cols {
		panic(fmt.Sprintf("linalg: View: %d×%d at (%d, %d) of %d×%d", rows, cols, i, j, m.rows, m.cols))
	}
	if rows == 0 || cols == 0 {
		return Dense{rows: rows, cols: cols, stride: cols, view: true}
	}
	return Dense{rows: rows, cols: cols, stride: m.stride, view: true, data: m.data[i*m.stride+j:]}
}

// Resize makes m a rows×cols matrix with unspecified contents. It reuses the
// memory of m where that suffices. A view only accepts the size it has.
func (m *Dense) Resize(rows, cols int) {
	if rows == m.rows && cols == m.cols {
		return
	}
	if rows < 0 || cols < 0 || m.view {
		panic(fmt.Sprintf("linalg: Resize: %d×%d to %d×%d (view: %t)", m.rows, m.cols, rows, cols, m.view))
	}
	m.data = f64.Grow(m.data, rows*cols)
	m.rows, m.cols, m.stride = rows, cols, cols
}

// Zero sets every entry to 0.
func (m *Dense) Zero() {
	for i := range m.rows {
		clear(m.row(i))
	}
}

// Copy makes m a copy of a, which may be m but must not overlap it otherwise.
func (m *Dense) Copy(a *Dense) {
	m.Resize(a.rows, a.cols)
	for i := range a.rows {
		copy(m.row(i), a.row(i))
	}
}

// CopyTrans makes m the transpose of a. m must not alias a.
func (m *Dense) CopyTrans(a *Dense) {
	m.destination("CopyTrans", a.cols, a.rows, a)
	f64.Ops.Transpose(a.rows, a.cols, m.data, m.stride, a.data, a.stride)
}

// Scale multiplies every entry by alpha.
func (m *Dense) Scale(alpha float64) {
	for i := range m.rows {
		f64.Ops.Scale(m.row(i), alpha)
	}
}

// AddScaled adds alpha·a to m. a may be m.
func (m *Dense) AddScaled(alpha float64, a *Dense) {
	if m.rows != a.rows || m.cols != a.cols {
		panicShape("AddScaled", m.rows, m.cols, a.rows, a.cols)
	}
	for i := range m.rows {
		f64.Ops.Axpy(m.row(i), alpha, a.row(i))
	}
}
