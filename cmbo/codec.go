package cmbo

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/linalg"
)

// encoder appends values to a buffer: integers as varints, floats as their 64
// bits, little end first, strings and lists with their lengths in front.
type encoder struct {
	b      []byte
	failed bool // tasks say how many of their points failed
}

func (e *encoder) byte(v byte)        { e.b = append(e.b, v) }
func (e *encoder) uint(v uint64)      { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int)          { e.b = binary.AppendVarint(e.b, int64(v)) }
func (e *encoder) fixed(v uint64)     { e.b = binary.LittleEndian.AppendUint64(e.b, v) }
func (e *encoder) float(v float64)    { e.fixed(math.Float64bits(v)) }
func (e *encoder) string(v string)    { e.uint(uint64(len(v))); e.b = append(e.b, v...) }
func (e *encoder) ints(v []int)       { e.uint(uint64(len(v))); each(v, e.int) }
func (e *encoder) strings(v []string) { e.uint(uint64(len(v))); each(v, e.string) }

func each[T any](v []T, f func(T)) {
	for _, x := range v {
		f(x)
	}
}

func (e *encoder) bool(v bool) {
	if v {
		e.byte(1)
		return
	}
	e.byte(0)
}

// floats writes a list; nil and empty are told apart.
func (e *encoder) floats(v []float64) {
	if v == nil {
		e.uint(0)
		return
	}
	e.uint(uint64(len(v)) + 1)
	each(v, e.float)
}

// matrix writes a matrix, nil as 0×0.
func (e *encoder) matrix(m *linalg.Dense) {
	rows, cols := 0, 0
	if m != nil {
		rows, cols = m.Dims()
	}
	e.uint(uint64(rows))
	e.uint(uint64(cols))
	for i := range rows {
		each(m.Row(i), e.float)
	}
}

// decoder reads what encoder wrote. The first trouble sticks in err; reads
// after it return zero values.
type decoder struct {
	b      []byte
	err    error
	ctx    context.Context
	limits PriorLimits
	failed bool // as in encoder
	// tasks, rows and entries are what addRows has counted.
	tasks, rows, entries int64
}

// within fails if n is above the limit of a field of PriorLimits.
func (d *decoder) within(field string, n, most int64, format string, args ...any) {
	if d.err == nil && n > most {
		d.err = beyond(field, most, format, args...)
	}
}

// addRows counts a task of n observations and holds the sums against the limits.
func (d *decoder) addRows(id string, observations int) {
	n := int64(observations)
	d.tasks, d.rows, d.entries = d.tasks+1, d.rows+n, d.entries+n*n
	d.within("TaskRows", n, int64(d.limits.TaskRows), "task %q has %d observations", id, n)
	d.within("TotalRows", d.rows, int64(d.limits.TotalRows), "the first %d tasks have %d observations", d.tasks, d.rows)
	d.within("Entries", d.entries, d.limits.Entries, "the covariance matrices of the first %d tasks have %d entries", d.tasks, d.entries)
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
	}
}

func (d *decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.b) {
		d.fail("it ends early")
		return make([]byte, max(min(n, 8), 0))
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte() byte     { return d.take(1)[0] }
func (d *decoder) fixed() uint64  { return binary.LittleEndian.Uint64(d.take(8)) }
func (d *decoder) float() float64 { return math.Float64frombits(d.fixed()) }

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || d.err != nil {
		d.fail("a bad integer")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int {
	v, n := binary.Varint(d.b)
	if n <= 0 || d.err != nil || int64(int(v)) != v {
		d.fail("a bad integer")
		return 0
	}
	d.b = d.b[n:]
	return int(v)
}

// count reads a length of items that take at least size bytes each, so that a
// wrong one cannot make a large allocation.
func (d *decoder) count(size int) int {
	v := d.uint()
	if v > uint64(len(d.b)/size) {
		d.fail("a list of %d in %d bytes", v, len(d.b))
		return 0
	}
	return int(v)
}

func (d *decoder) string() string { return string(d.take(d.count(1))) }

func (d *decoder) bool() bool {
	switch d.byte() {
	case 0:
		return false
	case 1:
		return true
	}
	d.fail("a bad truth value")
	return false
}

func (d *decoder) ints() []int {
	v := make([]int, d.count(1))
	for i := range v {
		v[i] = d.int()
	}
	return v
}

func (d *decoder) strings() []string {
	n := d.count(1)
	if n == 0 {
		return nil
	}
	v := make([]string, n)
	for i := range v {
		v[i] = d.string()
	}
	return v
}

// finite reads a float that must be finite.
func (d *decoder) finite() float64 {
	v := d.float()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		d.fail("a number that is not finite")
		return 0
	}
	return v
}

func (d *decoder) floats() []float64 {
	n := d.uint()
	if n == 0 {
		return nil
	}
	if n--; n > uint64(len(d.b)/8) {
		d.fail("a list of %d in %d bytes", n, len(d.b))
		return nil
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = d.finite()
	}
	return v
}

func (d *decoder) matrix() *linalg.Dense {
	rows, cols := d.uint(), d.uint()
	have := uint64(len(d.b) / 8)
	if rows > have || cols > have || rows*cols > have {
		d.fail("a %d×%d matrix in %d bytes", rows, cols, len(d.b))
		return linalg.NewDense(0, 0, nil)
	}
	m := linalg.NewDense(int(rows), int(cols), nil)
	for i := range int(rows) {
		r := m.Row(i)
		for j := range r {
			r[j] = d.finite()
		}
	}
	return m
}

// lower writes the lower triangle of a symmetric matrix.
func (e *encoder) lower(a *linalg.Sym) {
	n := a.Dim()
	e.uint(uint64(n*(n+1)/2) + 1)
	for i := range n {
		each(a.Row(i)[:i+1], e.float)
	}
}

// lower reads a symmetric matrix of n rows, nil if it has not so many.
func (d *decoder) lower(n int) *linalg.Sym {
	packed := d.floats()
	if len(packed) != n*(n+1)/2 {
		d.fail("a symmetric matrix of %d entries on %d points", len(packed), n)
	}
	if d.err != nil {
		return nil
	}
	a := linalg.NewSym(n, nil)
	for i := range n {
		packed = packed[copy(a.Row(i)[:i+1], packed):]
	}
	a.Mirror()
	return a
}

// partitions writes the partitions that were scored.
func (e *encoder) partitions(ps []Partition) {
	e.uint(uint64(len(ps)))
	for _, p := range ps {
		e.ints(p.Labels)
		e.float(p.IntraCE)
		e.float(p.InterCS)
	}
}

func (d *decoder) partitions() []Partition {
	var ps []Partition
	for range d.count(1) {
		p := Partition{Labels: d.ints(), IntraCE: d.finite(), InterCS: d.finite()}
		for _, l := range p.Labels {
			p.Clusters = max(p.Clusters, l+1)
		}
		ps = append(ps, p)
	}
	return ps
}
