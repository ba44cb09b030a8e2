// Package codec writes what a prior holds as bytes, and reads it back without trust in where it came from: every length
// is held against the bytes that are left and against [Limits] before memory is taken for it.
package codec

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Errors of a Decoder, which package cmbo documents.
var (
	ErrCorrupt = errors.New("cmbo: corrupt data")
	ErrLimit   = error(beyondLimit{})
	ErrVersion = errors.New("cmbo: data of another version")
)

// A beyondLimit is an ErrCorrupt whose text does not say so: data that is whole may be too large for its reader.
type beyondLimit struct{}

func (beyondLimit) Error() string { return "cmbo: beyond a limit" }
func (beyondLimit) Unwrap() error { return ErrCorrupt }

// Corrupt says that stored data is corrupt, unless err says so or that it is of another version.
func Corrupt(err error) error {
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// CheckInt reports an integer that was stored where an int has more bits.
func CheckInt(v int64) error {
	if int64(int(v)) != v {
		return fmt.Errorf("%w: %d is beyond the integers of this build, which have %d bits", ErrVersion, v, strconv.IntSize)
	}
	return nil
}

// Limits bound what decoding may take: see PriorLimits of package cmbo, which has the same fields.
type Limits struct {
	Bytes                              int64
	Tasks, TaskRows, TotalRows, Points int
}

// Beyond is the error of what exceeds the limit of a field.
func Beyond(field string, limit int64, format string, args ...any) error {
	return fmt.Errorf("%w: %s; the limit is %d, which PriorLimits.%s sets", ErrLimit, fmt.Sprintf(format, args...), limit, field)
}

// Encoder appends values to a buffer: integers as varints, floats as their 64
// bits, little end first, strings and lists with their lengths in front. The first trouble sticks in Err.
type Encoder struct {
	Buf []byte
	Err error
}

// Seal writes to w what body encodes: a name of the format, a byte of version, the payload, and the SHA-256 of all that,
// which it returns. It holds all of it in memory. What cannot be encoded is an error of the kind refused.
func Seal(w io.Writer, refused error, magic string, version byte, body func(*Encoder)) (sum [sha256.Size]byte, err error) {
	e := &Encoder{Buf: append([]byte(magic), version)}
	if body(e); e.Err != nil {
		return sum, fmt.Errorf("%w: %v", refused, e.Err)
	}
	sum = sha256.Sum256(e.Buf)
	if _, err = w.Write(e.Buf); err == nil {
		_, err = w.Write(sum[:])
	}
	return sum, err
}

// Open returns the payload of what Seal wrote. what names it in errors, and again is what to do about one of another version.
func Open(b []byte, what, magic string, version byte, again string) (payload []byte, err error) {
	head := len(magic) + 1
	if len(b) < head+sha256.Size || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: not a %s", ErrCorrupt, what)
	}
	if v := b[head-1]; v != version {
		return nil, fmt.Errorf("%w: %s of version %d, this release reads %d: %s", ErrVersion, what, v, version, again)
	}
	body := b[:len(b)-sha256.Size]
	if sum := sha256.Sum256(body); string(sum[:]) != string(b[len(body):]) {
		return nil, fmt.Errorf("%w: the checksum of the %s does not match", ErrCorrupt, what)
	}
	return body[head:], nil
}

func (e *Encoder) Byte(v byte)      { e.Buf = append(e.Buf, v) }
func (e *Encoder) Uint(v uint64)    { e.Buf = binary.AppendUvarint(e.Buf, v) }
func (e *Encoder) Int(v int)        { e.Buf = binary.AppendVarint(e.Buf, int64(v)) }
func (e *Encoder) Fixed(v uint64)   { e.Buf = binary.LittleEndian.AppendUint64(e.Buf, v) }
func (e *Encoder) Float(v float64)  { e.Fixed(math.Float64bits(v)) }
func (e *Encoder) Text(v string)    { e.Uint(uint64(len(v))); e.Buf = append(e.Buf, v...) }
func (e *Encoder) Ints(v []int)     { e.Uint(uint64(len(v))); Each(v, e.Int) }
func (e *Encoder) Texts(v []string) { e.Uint(uint64(len(v))); Each(v, e.Text) }

// Raw writes bytes that say themselves where they end.
func (e *Encoder) Raw(b []byte) { e.Buf = append(e.Buf, b...) }

// Each calls f, a method of an Encoder, for each entry of v.
func Each[T any](v []T, f func(T)) {
	for _, x := range v {
		f(x)
	}
}

func (e *Encoder) Bool(v bool) {
	var b byte
	if v {
		b = 1
	}
	e.Byte(b)
}

// Floats writes a list; nil and empty are told apart.
func (e *Encoder) Floats(v []float64) {
	if v == nil {
		e.Uint(0)
		return
	}
	e.Uint(uint64(len(v)) + 1)
	Each(v, e.Float)
}

// Matrix writes a matrix.
func (e *Encoder) Matrix(m *linalg.Dense) {
	rows, cols := m.Dims()
	e.Uint(uint64(rows))
	e.Uint(uint64(cols))
	for i := range rows {
		Each(m.Row(i), e.Float)
	}
}

// Decoder reads what Encoder wrote. The first trouble sticks in Err; reads after it return zero values.
type Decoder struct {
	Buf    []byte // what is left
	Err    error
	Limits Limits
	// tasks and rows are what AddRows has counted.
	tasks, rows int64
}

// Within fails if n is above the limit of a field of Limits.
func (d *Decoder) Within(field string, n, limit int64, format string, args ...any) {
	if d.Err == nil && n > limit {
		d.Err = Beyond(field, limit, format, args...)
	}
}

// AddRows counts a task of n observations and holds the sums against the limits.
func (d *Decoder) AddRows(id string, observations int) {
	n := int64(observations)
	d.tasks, d.rows = d.tasks+1, d.rows+n
	d.Within("TaskRows", n, int64(d.Limits.TaskRows), "task %q has %d observations", id, n)
	d.Within("TotalRows", d.rows, int64(d.Limits.TotalRows), "%d tasks, each output's counted again, have %d observations", d.tasks, d.rows)
}

// Fail records trouble, unless there was some before.
func (d *Decoder) Fail(format string, args ...any) {
	if d.Err == nil {
		d.Err = fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
	}
}

// Raw reads n bytes, or up to eight zeros after a failure.
func (d *Decoder) Raw(n int) []byte {
	if d.Err != nil || n < 0 || n > len(d.Buf) {
		d.Fail("it ends early")
		return make([]byte, max(min(n, 8), 0))
	}
	v := d.Buf[:n]
	d.Buf = d.Buf[n:]
	return v
}

func (d *Decoder) Byte() byte     { return d.Raw(1)[0] }
func (d *Decoder) Fixed() uint64  { return binary.LittleEndian.Uint64(d.Raw(8)) }
func (d *Decoder) Float() float64 { return math.Float64frombits(d.Fixed()) }

// padded reports whether an integer of n bytes has more than it needs, as none has that an Encoder writes.
func padded(b []byte, n int) bool { return n > 1 && b[n-1] == 0 }

func (d *Decoder) uint() uint64 {
	v, n := binary.Uvarint(d.Buf)
	if n <= 0 || padded(d.Buf, n) || d.Err != nil {
		d.Fail("a bad integer")
		return 0
	}
	d.Buf = d.Buf[n:]
	return v
}

func (d *Decoder) Int() int {
	u := d.uint()
	v := int64(u>>1) ^ -int64(u&1) // as binary.Varint has it
	d.Err = cmp.Or(d.Err, CheckInt(v))
	return int(v)
}

// Count reads a length of items that take at least size bytes each, so that a wrong one cannot make a large allocation.
func (d *Decoder) Count(size int) int {
	v := d.uint()
	if v > uint64(len(d.Buf)/size) {
		d.Fail("a list of %d in %d bytes", v, len(d.Buf))
		return 0
	}
	return int(v)
}

func (d *Decoder) Text() string { return string(d.Raw(d.Count(1))) }

func (d *Decoder) Bool() bool {
	v := d.Byte()
	if v > 1 {
		d.Fail("a bad truth value")
	}
	return v == 1
}

func (d *Decoder) Ints() []int     { return list(d, d.Int) }
func (d *Decoder) Texts() []string { return list(d, d.Text) }

func list[T any](d *Decoder, read func() T) (v []T) {
	for range d.Count(1) {
		v = append(v, read())
	}
	return v
}

// Names reads the names of a map, which rise.
func (d *Decoder) Names() (v []string) {
	for range d.Count(1) {
		v = append(v, d.Text())
		if n := len(v); n > 1 && v[n-2] >= v[n-1] {
			d.Fail("names %q, which do not rise", v[n-2:])
			break
		}
	}
	return v
}

// Finite reads a float that must be finite.
func (d *Decoder) Finite() float64 {
	v := d.Float()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		d.Fail("a number that is not finite")
		return 0
	}
	return v
}

// Value reads a measured value, or what was computed of some in their own units, which
// [points.MaxValue] bounds, so that sums of squares stay finite.
func (d *Decoder) Value() float64 { return d.bounded(points.MaxValue) }

// bounded reads a float that is no larger than limit, whatever its sign.
func (d *Decoder) bounded(limit float64) float64 {
	v := d.Finite()
	if math.Abs(v) > limit {
		d.Fail("a number of %g; the largest is %g", v, limit)
	}
	return v
}

// Floats reads a list of values, each as [Decoder.Value] does.
func (d *Decoder) Floats() []float64 { return d.floats(points.MaxValue) }

// Variances reads a list of values none of which is negative.
func (d *Decoder) Variances() []float64 {
	v := d.Floats()
	if slices.ContainsFunc(v, func(s float64) bool { return s < 0 }) {
		d.Fail("a variance of %g", slices.Min(v))
	}
	return v
}

// Numbers reads a list of any finite numbers.
func (d *Decoder) Numbers() []float64 { return d.floats(math.MaxFloat64) }

func (d *Decoder) floats(limit float64) []float64 {
	n := d.uint()
	if n == 0 {
		return nil
	}
	if n--; n > uint64(len(d.Buf)/8) {
		d.Fail("a list of %d in %d bytes", n, len(d.Buf))
		return nil
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = d.bounded(limit)
	}
	return v
}

// Lower writes the lower triangle of a symmetric matrix.
func (e *Encoder) Lower(a *linalg.Sym) {
	n := a.Dim()
	e.Uint(uint64(n*(n+1)/2) + 1)
	for i := range n {
		Each(a.Row(i)[:i+1], e.Float)
	}
}

// Lower reads a symmetric matrix of n rows, nil if it has not so many. Its entries may be squares of values.
func (d *Decoder) Lower(n int) *linalg.Sym {
	packed := d.floats(points.MaxValue * points.MaxValue)
	if len(packed) != n*(n+1)/2 {
		d.Fail("a symmetric matrix of %d entries on %d points", len(packed), n)
	}
	if d.Err != nil {
		return nil
	}
	a := linalg.NewSym(n, nil)
	for i := range n {
		packed = packed[copy(a.Row(i)[:i+1], packed):]
	}
	a.Mirror()
	return a
}

// Kernel writes a kernel's description, nil as an empty one. It is trouble if the kernel is
// not one of package kernel, which alone have a description.
func (e *Encoder) Kernel(k kernel.Kernel) {
	text := ""
	if k != nil {
		var err error
		text, err = describe(k)
		e.Err = cmp.Or(e.Err, err)
	}
	e.Text(text)
}

// describe returns the one text that stands for a kernel.
func describe(k kernel.Kernel) (string, error) {
	spec, err := kernel.Describe(k)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(spec)
	return string(b), err
}

// maxKernel bounds the description of a kernel, whose terms each covariance of two points evaluates.
const maxKernel = 64 << 10

// Kernel reads a kernel, nil if the description is empty.
func (d *Decoder) Kernel() kernel.Kernel {
	s := d.Text()
	if s == "" {
		return nil
	}
	if len(s) > maxKernel {
		d.Fail("a kernel of %d bytes; none has more than %d", len(s), maxKernel)
		return nil
	}
	var spec kernel.Spec
	if err := json.Unmarshal([]byte(s), &spec); err != nil {
		d.Fail("a kernel: %v", err)
		return nil
	}
	k, err := spec.Kernel()
	if err != nil {
		d.Fail("a kernel: %v", err)
		return nil
	}
	if again, err := describe(k); err != nil || again != s {
		d.Fail("a kernel that is described as %s", s)
		return nil
	}
	return k
}

// Points reads points of the unit cube, at least one, that Matrix wrote.
func (d *Decoder) Points(dim int) *linalg.Dense {
	rows, cols := d.uint(), d.uint()
	if rows < 1 || cols != uint64(dim) || rows > uint64(len(d.Buf)/(8*dim)) {
		d.Fail("%d points of %d coordinates in a space of %d, in %d bytes", rows, cols, dim, len(d.Buf))
	}
	if d.Err != nil {
		return linalg.NewDense(0, dim, nil)
	}
	m := linalg.NewDense(int(rows), dim, nil)
	for i := range int(rows) {
		r := m.Row(i)
		for j := range r {
			if r[j] = d.Float(); !(r[j] >= 0 && r[j] <= 1) {
				d.Fail("a point at %g of the unit cube", r[j])
			}
		}
	}
	return m
}

// Context writes descriptors by name, each a float64 or a string, as Decoder.Context reads them.
func (e *Encoder) Context(c map[string]any) {
	e.Texts(slices.Sorted(maps.Keys(c)))
	for _, name := range slices.Sorted(maps.Keys(c)) {
		number, ok := c[name].(float64)
		if e.Bool(ok); ok {
			e.Float(number)
		} else {
			e.Text(c[name].(string))
		}
	}
}

// Context reads descriptors, nil for none.
func (d *Decoder) Context() map[string]any {
	var c map[string]any
	for _, name := range d.Names() {
		if c == nil {
			c = make(map[string]any)
		}
		if d.Bool() {
			c[name] = d.Finite()
		} else {
			c[name] = d.Text()
		}
	}
	return c
}
