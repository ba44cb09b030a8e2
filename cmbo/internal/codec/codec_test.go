package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestRoundTrip: what an Encoder writes of each kind a Decoder reads, to the last bit and the last byte.
func TestRoundTrip(t *testing.T) {
	ints := []int{0, 1, -1, 63, -64, 64, math.MaxInt, math.MinInt}
	floats := []float64{0, math.Copysign(0, -1), 1.5, -1e150, 5e-324}
	points := linalg.NewDense(2, 3, []float64{0, 0.5, 1, 0.25, 0.75, 1e-9})
	lower := linalg.NewSym(3, nil)
	for i := range 3 {
		for j := range i + 1 {
			lower.Set(i, j, float64(1+3*i+j))
		}
	}
	described := map[string]any{"size": -7.5, "kind": "7", "": ""}
	k := kernel.Scale(2, kernel.Matern32(0.4))
	var e Encoder
	e.Byte(255)
	e.Fixed(math.MaxUint64)
	e.Ints(ints)
	e.Float(math.Inf(-1))
	e.Text("ü\x00")
	e.Texts([]string{"", "b", "a"})
	e.Bool(true)
	e.Bool(false)
	e.Floats(nil)
	e.Floats([]float64{})
	e.Floats(floats)
	e.Matrix(points)
	e.Lower(lower)
	e.Context(described)
	e.Context(nil)
	e.Kernel(k)
	e.Kernel(nil)
	e.Raw([]byte{1, 2})
	d := Decoder{Buf: e.Buf}
	require.Equal(t, byte(255), d.Byte())
	require.Equal(t, uint64(math.MaxUint64), d.Fixed())
	require.Equal(t, ints, d.Ints())
	require.Equal(t, math.Inf(-1), d.Float())
	require.Equal(t, "ü\x00", d.Text())
	require.Equal(t, []string{"", "b", "a"}, d.Texts())
	require.True(t, d.Bool())
	require.False(t, d.Bool())
	require.True(t, d.Floats() == nil)
	empty := d.Floats()
	require.True(t, empty != nil && len(empty) == 0)
	for i, v := range d.Floats() {
		require.Equal(t, math.Float64bits(floats[i]), math.Float64bits(v))
	}
	at := d.Points(3)
	for i := range 2 {
		require.Equal(t, points.Row(i), at.Row(i))
	}
	a := d.Lower(3)
	for i := range 3 {
		for j := range 3 {
			require.Equal(t, lower.At(max(i, j), min(i, j)), a.At(i, j))
		}
	}
	require.Equal(t, described, d.Context())
	require.Nil(t, d.Context())
	back, err := describe(d.Kernel())
	require.NoError(t, err)
	want, err := describe(k)
	require.NoError(t, err)
	require.Equal(t, want, back)
	require.Nil(t, d.Kernel())
	require.Equal(t, []byte{1, 2}, d.Raw(2))
	require.NoError(t, d.Err)
	require.Empty(t, d.Buf)
}

// TestDecoderRefuses: what no Encoder writes is an error by name, which stays, and nothing is read after it.
func TestDecoderRefuses(t *testing.T) {
	bits := func(values ...float64) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	kernelOf := func(text string) (b []byte) {
		var e Encoder
		e.Text(text)
		return e.Buf
	}
	one, err := describe(kernel.Matern32(0.5))
	require.NoError(t, err)
	aKernel := func(d *Decoder) any { return d.Kernel() }
	rows := func(m *linalg.Dense) int {
		n, _ := m.Dims()
		return n
	}
	list := func(values ...float64) []byte { return append([]byte{byte(len(values) + 1)}, bits(values...)...) }
	for _, c := range []struct {
		buf  []byte
		read func(d *Decoder) any
		gets any
		says string
	}{
		{nil, func(d *Decoder) any { return d.Byte() }, byte(0), "it ends early"},
		{make([]byte, 7), func(d *Decoder) any { return d.Fixed() }, uint64(0), "it ends early"},
		{[]byte{1}, func(d *Decoder) any { return d.Raw(-1) }, []byte{}, "it ends early"},
		{nil, func(d *Decoder) any { return d.Int() }, 0, "a bad integer"},
		{[]byte{0x80}, func(d *Decoder) any { return d.Int() }, 0, "a bad integer"},
		{[]byte{0x82, 0}, func(d *Decoder) any { return d.Int() }, 0, "a bad integer"}, // 1 in two bytes
		{bytes.Repeat([]byte{0xff}, 11), func(d *Decoder) any { return d.Int() }, 0, "a bad integer"},
		{nil, func(d *Decoder) any { return d.Count(1) }, 0, "a bad integer"},
		{[]byte{0x81, 0}, func(d *Decoder) any { return d.Count(1) }, 0, "a bad integer"},
		{bytes.Repeat([]byte{0xff}, 11), func(d *Decoder) any { return d.Count(1) }, 0, "a bad integer"},
		{[]byte{3, 0, 0}, func(d *Decoder) any { return d.Count(1) }, 0, "a list of 3 in 2 bytes"},
		{[]byte{2, 0, 0, 0}, func(d *Decoder) any { return d.Count(2) }, 0, "a list of 2 in 3 bytes"},
		{[]byte{3, 'a', 'b'}, func(d *Decoder) any { return d.Text() }, "", "a list of 3 in 2 bytes"},
		{[]byte{2}, func(d *Decoder) any { return d.Bool() }, false, "a bad truth value"},
		{[]byte{2, 1, 'b', 1, 'a'}, func(d *Decoder) any { return d.Names() }, []string{"b", "a"}, `names ["b" "a"], which do not rise`},
		{bits(math.NaN()), func(d *Decoder) any { return d.Finite() }, 0.0, "a number that is not finite"},
		{bits(math.Inf(-1)), func(d *Decoder) any { return d.Finite() }, 0.0, "a number that is not finite"},
		{bits(-2e150), func(d *Decoder) any { return d.Value() }, -2e150, "a number of -2e+150; the largest is 1e+150"},
		{bits(2e150), func(d *Decoder) any { return d.Value() }, 2e150, "a number of 2e+150; the largest is 1e+150"},
		{list(1, -2)[:16], func(d *Decoder) any { return d.Floats() }, []float64(nil), "a list of 2 in 15 bytes"},
		{list(1, -2), func(d *Decoder) any { return d.Variances() }, []float64{1, -2}, "a variance of -2"},
		{kernelOf("x"), aKernel, nil, "a kernel: invalid character"},
		{kernelOf("{}"), aKernel, nil, "a kernel: "},
		{kernelOf(" " + one), aKernel, nil, "a kernel that is described as  {"},
		{kernelOf(strings.Repeat(" ", 64<<10+1-len(one)) + one), aKernel, nil, "a kernel of 65537 bytes; none has more than 65536"},
		{list(1, 2), func(d *Decoder) any { return d.Lower(2) }, (*linalg.Sym)(nil), "a symmetric matrix of 2 entries on 2 points"},
		{append([]byte{0, 2}, bits(0, 0)...), func(d *Decoder) any { return rows(d.Points(2)) }, 0, "0 points of 2 coordinates"},
		{append([]byte{1, 1}, bits(0, 0)...), func(d *Decoder) any { return rows(d.Points(2)) }, 0, "1 points of 1 coordinates"},
		{append([]byte{2, 2}, bits(0, 0, 1)...), func(d *Decoder) any { return rows(d.Points(2)) }, 0, "2 points of 2 coordinates in a space of 2, in 24 bytes"},
	} {
		d := Decoder{Buf: bytes.Clone(c.buf)}
		require.Equal(t, c.gets, c.read(&d), c.says)
		require.ErrorIs(t, d.Err, ErrCorrupt)
		require.ErrorContains(t, d.Err, c.says)
		err := d.Err
		d.Buf = bytes.Repeat([]byte{1}, 99)
		require.Zero(t, d.Byte())
		require.Zero(t, d.Fixed())
		require.Zero(t, d.Int())
		require.Zero(t, d.Count(1))
		require.Empty(t, d.Text())
		require.Empty(t, d.Ints())
		require.Nil(t, d.Floats())
		require.Nil(t, d.Context())
		require.Len(t, d.Buf, 99, "nothing is read")
		d.Fail("another")
		require.Equal(t, err, d.Err)
	}
}

// Int reads what Encoder.Int and binary.AppendVarint write, and says so where an int of this build is too small.
func TestInts(t *testing.T) {
	for _, v := range []int64{0, -1, 1, -64, 64, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MaxInt64, math.MinInt64} {
		d := Decoder{Buf: binary.AppendVarint(nil, v)}
		got := d.Int()
		if int64(int(v)) == v {
			require.NoError(t, d.Err)
			require.Equal(t, int(v), got)
			continue
		}
		require.ErrorIs(t, d.Err, ErrVersion)
		require.NotErrorIs(t, d.Err, ErrCorrupt)
		require.ErrorContains(t, d.Err, fmt.Sprint(v, " is beyond the integers of this build, which have 32 bits"))
		err := d.Err
		d.Fail("another")
		require.Equal(t, err, d.Err)
	}
}
