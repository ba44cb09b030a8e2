package journalfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

func square(t testing.TB) *cmbo.Space {
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1), cmbo.Float("y", 0, 1))
	require.NoError(t, err)
	return space
}

func value(x []float64) float64 { return x[0] - x[1]*x[1] }

// advance asks and tells once, or answers what is open.
func advance(o *cmbo.Optimizer) error {
	open := o.Open()
	if len(open) == 0 {
		trial, err := o.Ask(ctx)
		if err != nil {
			return err
		}
		open = append(open, trial)
	}
	return o.Tell(open[0].ID, value(open[0].X))
}

func state(t testing.TB, o *cmbo.Optimizer) string {
	var b bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	return b.String()
}

func TestOpenBeginsAndResumes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.jsonl")
	space := square(t)
	opts := []cmbo.Option{cmbo.WithSeed(3), cmbo.WithInitial(2), cmbo.WithCandidateCounts(20, 5)}
	twin, err := cmbo.New(space, opts...)
	require.NoError(t, err)
	for round := range 6 {
		o, file, err := Open(name, space, opts...)
		require.NoError(t, err)
		for range round {
			require.NoError(t, advance(o))
			require.NoError(t, advance(twin))
		}
		require.Equal(t, state(t, twin), state(t, o))
		require.NoError(t, file.Close())
		require.ErrorIs(t, file.Close(), os.ErrClosed)
		require.ErrorContains(t, o.Observe([]float64{0, 0}, 1), "journalfile: "+name+": file already closed")
		require.ErrorIs(t, o.Observe([]float64{0, 0}, 1), os.ErrClosed)
		require.Equal(t, state(t, twin), state(t, o))
		// What a write that was interrupted leaves is cut off.
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"sum":"0123456789abcdef","entry":{"event":"observed","x":[` + strings.Repeat("0.25,", 1000))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	_, _, err = Open(name, space)
	require.ErrorIs(t, err, cmbo.ErrOption)
	require.ErrorContains(t, err, name)
	_, _, err = Open(filepath.Join(name, "no", "such"), space)
	require.Error(t, err)

	notes := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(notes, []byte("nothing to lose"), 0o600))
	_, _, err = Open(notes, space)
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	b, err := os.ReadFile(notes)
	require.NoError(t, err)
	require.Equal(t, "nothing to lose", string(b))
}

// A run that was begun in another space or with other options is refused by the one difference.
func TestOpenSaysTheDifference(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run")
	open := func(depth int, opts ...cmbo.Option) error {
		s, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, depth), cmbo.Categorical("kernel", "rbf", "poly"))
		require.NoError(t, err)
		_, c, err := Open(name, s, opts...)
		if err == nil {
			require.NoError(t, c.Close())
		}
		return err
	}
	require.NoError(t, open(12))
	require.EqualError(t, open(13), name+`: cmbo: invalid space: the stored run was begun with params "depth".hi 12, not 13`)
	require.EqualError(t, open(12, cmbo.WithSeed(4)), name+": cmbo: invalid option: the stored run was begun with seed 1, not 4")
	require.NoError(t, open(12))
}

// TestOpenLink: the folder that is synced is the one that has the file's name, not that of a link to it: the
// kernel's own links lie in one that cannot be.
func TestOpenLink(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "run"))
	require.NoError(t, err)
	defer f.Close()
	link := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if _, err := os.Stat(link); err != nil {
		t.Skip(err)
	}
	_, journal, err := Open(link, square(t))
	require.NoError(t, err)
	require.NoError(t, journal.Close())
	info, err := f.Stat()
	require.NoError(t, err)
	require.Positive(t, info.Size())
}

// TestMode: the file may be read and written by those to whom the process leaves it,
// as other files that it makes.
func TestMode(t *testing.T) {
	dir := t.TempDir()
	_, journal, err := Open(filepath.Join(dir, "run.jsonl"), square(t))
	require.NoError(t, err)
	require.NoError(t, journal.Close())
	other, err := os.Create(filepath.Join(dir, "other"))
	require.NoError(t, err)
	require.NoError(t, other.Close())
	mode := func(name string) os.FileMode {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		return info.Mode()
	}
	require.Equal(t, mode("other"), mode("run.jsonl"))
}

// TestOpenWithMark: a file that has lost acknowledged lines at its end is refused.
func TestOpenWithMark(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.jsonl")
	o, file, err := Open(name, square(t))
	require.NoError(t, err)
	require.NoError(t, advance(o))
	mark, ok := o.JournalMark()
	require.True(t, ok)
	require.NoError(t, file.Close())
	_, file, err = Open(name, square(t), cmbo.WithJournalMark(mark))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, end := range []int{len(b) - 1, bytes.LastIndexByte(b[:len(b)-1], '\n') + 1, 10, 0} {
		require.NoError(t, os.WriteFile(name, b[:end], 0o600))
		_, _, err = Open(name, square(t), cmbo.WithJournalMark(mark))
		require.ErrorIs(t, err, cmbo.ErrCorrupt, "%d of %d bytes", end, len(b))
	}
}

func TestOpenLocks(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("nothing locks files here")
	}
	name := filepath.Join(t.TempDir(), "run.jsonl")
	_, file, err := Open(name, square(t))
	require.NoError(t, err)
	_, _, err = Open(name, square(t))
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, file.Close())
	_, file, err = Open(name, square(t))
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// faulty is a file in memory whose operations fail when told to.
type faulty struct {
	data                   []byte
	write, truncate, flush error
}

func (f *faulty) Read(p []byte) (int, error) { return bytes.NewReader(f.data).Read(p) }

func (f *faulty) WriteAt(p []byte, off int64) (int, error) {
	n := len(p)
	if f.write != nil {
		n /= 2
	}
	f.data = append(f.data[:off:off], p[:n]...)
	return n, f.write
}

func (f *faulty) Truncate(size int64) error {
	if f.truncate == nil {
		f.data = f.data[:size]
	}
	return f.truncate
}

func (f *faulty) Sync() error  { return f.flush }
func (f *faulty) Close() error { return nil }

// TestFaults: whatever fails, what was acknowledged is in the file, and a call that
// failed has changed nothing.
func TestFaults(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		write, truncate, flush error
		usable                 bool // after the fault is gone
	}{
		{write: broken, usable: true},
		{write: broken, truncate: broken},
		{flush: broken},
	} {
		f := &faulty{}
		j := &journal{file: f}
		o, _, err := cmbo.ResumeJournal(bytes.NewReader(nil), square(t), cmbo.WithJournal(j.write))
		require.NoError(t, err)
		require.NoError(t, advance(o))
		trial, err := o.Ask(ctx)
		require.NoError(t, err)
		before := state(t, o)
		f.write, f.truncate, f.flush = tt.write, tt.truncate, tt.flush
		require.ErrorIs(t, o.Tell(trial.ID, 1), broken)
		_, err = o.Ask(ctx)
		require.ErrorIs(t, err, broken)
		require.Equal(t, before, state(t, o))
		f.write, f.truncate, f.flush = nil, nil, nil
		if err := o.Tell(trial.ID, 1); tt.usable {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, broken)
			require.Equal(t, before, state(t, o))
		}
		back, _, err := cmbo.ResumeJournal(bytes.NewReader(f.data), square(t))
		require.NoError(t, err)
		if tt.flush == nil {
			require.Equal(t, state(t, o), state(t, back))
		}
		require.Len(t, back.Observations(), bytes.Count(f.data, []byte(`"told"`)))
	}
}

// TestZerosInside: a last line that lost a block before its end was not acknowledged and is cut off. With
// a whole line behind it that may have been, the error says where the whole lines end.
func TestZerosInside(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.jsonl")
	o, file, err := Open(name, square(t))
	require.NoError(t, err)
	trial, err := o.Ask(ctx)
	require.NoError(t, err)
	before, err := os.ReadFile(name)
	require.NoError(t, err)
	asked := state(t, o)
	require.NoError(t, o.Tell(trial.ID, 1))
	told, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, advance(o))
	require.NoError(t, file.Close())
	longer, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, at := range [][2]int{{0, 1}, {0, 20}, {5, 20}, {30, 40}} {
		zeros := bytes.Clone(longer)
		clear(zeros[len(before):][at[0]:at[1]])
		for _, torn := range [][]byte{zeros[:len(told)], zeros[:len(told)-3], append(bytes.Clone(zeros[:len(told)]), 0, 0)} {
			require.NoError(t, os.WriteFile(name, torn, 0o600))
			o, file, err := Open(name, square(t))
			require.NoError(t, err, "%v, %d bytes", at, len(torn))
			require.Equal(t, asked, state(t, o))
			require.NoError(t, file.Close())
			left, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, before, left)
		}
		require.NoError(t, os.WriteFile(name, zeros, 0o600))
		_, _, err := Open(name, square(t))
		require.ErrorIs(t, err, cmbo.ErrCorrupt)
		require.ErrorContains(t, err, fmt.Sprintf("line 3 of the journal, at byte %d, up to which it is whole: ", len(before)))
	}
}

// stuck is a file that a crash keeps from being cut.
type stuck struct{ *os.File }

func (stuck) Truncate(int64) error { return errors.New("crash") }

// TestTornFirstLine: a crash while a run is begun anew over a longer first line that was torn leaves a
// file that opens.
func TestTornFirstLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.jsonl")
	long, err := cmbo.NewSpace(cmbo.Float("x", 0, 1), cmbo.Float(strings.Repeat("long", 50), 0, 1), cmbo.Float("y", 0, 1))
	require.NoError(t, err)
	_, file, err := Open(name, long)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, b[:len(b)-20], 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = (&journal{file: stuck{f}}).resume(name, square(t), nil)
	require.ErrorContains(t, err, "crash")
	require.NoError(t, f.Close())
	_, file, err = Open(name, square(t))
	require.NoError(t, err)
	require.NoError(t, file.Close())
}
