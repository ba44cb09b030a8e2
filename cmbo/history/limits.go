package history

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
)

// Limits bound what a reader takes from an input, so that a small hostile file cannot fill the
// memory; 0 stands for a default. What goes beyond is an [ErrLimit] that names the field.
type Limits struct {
	// Bytes is the length of the whole input, unpacked: 64 MiB for [HPOB],
	// whose input may be packed; of other formats there is no limit by default.
	Bytes int64
	// Line is the length in bytes of a row of a CSV file with its end of line,
	// or of a line of JSON: 16 MiB. HPOB and Katib have no lines.
	Line int
	// Columns is the number of fields of a CSV row, of keys of an object of
	// JSON lines, of coordinates of HPOB's configurations: 16,384.
	Columns int
	// Depth is how deep lists and objects of JSON may nest: 64.
	Depth int
	// Rows is the number of rows of a task that [CSV.Tasks] and [JSONLines.Tasks] hold:
	// 1,048,576. Of HPOB it is that of the space's configurations, and of its values: 2,097,152.
	Rows int
	// String is the length in bytes of a string: 64 KiB of HPOB, 2 MiB of Katib, whose
	// metadata, spec and status of a trial it bounds too.
	String int
}

// ErrLimit says that an input goes beyond one of the [Limits]. It is cmbo's ErrLimit, which wraps ErrCorrupt.
var ErrLimit = cmbo.ErrLimit

// filled returns the limits with their defaults.
func (l Limits) filled() (Limits, error) {
	if l.Bytes < 0 || l.Line < 0 || l.Columns < 0 || l.Depth < 0 || l.Rows < 0 || l.String < 0 {
		return l, fmt.Errorf("%w: negative Limits %+v", cmbo.ErrOption, l)
	}
	l.Line, l.Columns, l.Depth = cmp.Or(l.Line, 16<<20), cmp.Or(l.Columns, 1<<14), cmp.Or(l.Depth, 64)
	l.Rows, l.String = cmp.Or(l.Rows, 1<<20), cmp.Or(l.String, 64<<10)
	// Readers take one byte more, by which they tell what is longer.
	l.Bytes, l.Line = min(l.Bytes, math.MaxInt64-1), min(l.Line, math.MaxInt-1)
	return l, nil
}

// beyond is the error of an input with more than most of something.
func beyond(field string, most int64, format string, args ...any) *RowError {
	return rowErrorf(ErrLimit, "%s; the limit is %d, which Limits.%s sets", fmt.Sprintf(format, args...), most, field)
}

// bounded ends the reading beyond so many bytes; 0 is no limit. A nil reader fails. An error stays,
// so that whoever looks ahead, as by Peek, need not keep one that the reader gives once.
func bounded(r io.Reader, most int64) *byteLimit {
	return &byteLimit{r: r, most: most, left: cmp.Or(most, math.MaxInt64-1)}
}

type byteLimit struct {
	r          io.Reader
	most, left int64
	err        error
}

func (b *byteLimit) Read(p []byte) (n int, err error) {
	if b.r == nil {
		b.err = fmt.Errorf("%w: a nil io.Reader", cmbo.ErrOption)
	}
	if b.err != nil {
		return 0, b.err
	}
	// One byte more than allowed tells a longer input from one that ends.
	n, b.err = b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		n, b.err = max(n-1, 0), beyond("Bytes", b.most, "the input, unpacked, has more bytes")
	}
	return n, b.err
}
