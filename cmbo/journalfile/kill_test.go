//go:build unix

package journalfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/files"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

var kills = flag.Int("kills", 0, "how often the test kills a process with signal 9; 0 for a few times")

const (
	childFile  = "JOURNALFILE_TEST_FILE"
	childBytes = "JOURNALFILE_TEST_BYTES"
	enough     = 25 // observations of a run
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childFile); name != "" {
		if err := child(name, os.Getenv(childBytes)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func childOptions() []cmbo.Option {
	return []cmbo.Option{cmbo.WithSeed(7), cmbo.WithInitial(3), cmbo.WithCandidateCounts(30, 10)}
}

// mortal kills the process after so many bytes, in the middle of a write.
type mortal struct {
	*os.File
	left int
}

func (m *mortal) WriteAt(p []byte, off int64) (int, error) {
	if len(p) >= m.left {
		_, _ = m.File.WriteAt(p[:m.left], off)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	m.left -= len(p)
	return m.File.WriteAt(p, off)
}

// child works on a run until it is done or killed, and prints the mark of the
// journal after each call that was acknowledged.
func child(name, after string) error {
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1), cmbo.Float("y", 0, 1))
	if err != nil {
		return err
	}
	f, err := files.OpenLocked(name, 0o666)
	if err != nil {
		return err
	}
	j := &journal{file: f}
	if n, err := strconv.Atoi(after); err == nil {
		j.file = &mortal{f, n}
	}
	o, err := j.resume(name, space, childOptions())
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	acknowledge := func() error {
		m, _ := o.JournalMark()
		return out.Encode(m)
	}
	if err := acknowledge(); err != nil {
		return err
	}
	for len(o.Observations()) < enough {
		if len(o.Open()) == 0 {
			if _, err := o.Ask(ctx); err != nil {
				return err
			}
			if err := acknowledge(); err != nil {
				return err
			}
		}
		if err := advance(o); err != nil {
			return err
		}
		if err := acknowledge(); err != nil {
			return err
		}
	}
	return j.Close()
}

// TestKill: processes that work on a run are killed with signal 9, at random
// moments or in the middle of a write. What was acknowledged is there, and the run
// is, bit for bit, that of a process that was never killed.
func TestKill(t *testing.T) {
	n := *kills
	if n == 0 {
		n = 6
	}
	space := square(t)
	twin, err := cmbo.New(space, childOptions()...)
	require.NoError(t, err)
	for range enough {
		require.NoError(t, advance(twin))
	}
	want := events(t, twin)
	rng := testutil.RNG(t)
	dir := t.TempDir()
	done, torn, runs := 0, 0, 0
	name := ""
	for done < n {
		if name == "" {
			runs++
			name = filepath.Join(dir, fmt.Sprintf("run-%d.jsonl", runs))
		}
		mark, killed := runChild(t, rng, name)
		if killed {
			done++
		}
		b, err := os.ReadFile(name)
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		if len(b) > 0 && b[len(b)-1] != '\n' {
			torn++
		}
		if mark.Lines == 0 {
			continue // nothing was acknowledged
		}
		o, file, err := Open(name, space, append(childOptions(), cmbo.WithJournalMark(mark))...)
		require.NoError(t, err)
		got, _ := o.JournalMark()
		require.LessOrEqual(t, got.Lines-mark.Lines, 2, "what was not acknowledged is the last call")
		if !strings.HasPrefix(want, events(t, o)) {
			t.Fatalf("after %d kills the events are\n%s\nand not the beginning of\n%s", done, events(t, o), want)
		}
		require.NoError(t, file.Close())
		if !killed {
			require.Equal(t, want, events(t, o))
			name = ""
		}
	}
	t.Logf("%d kills, %d of them in the middle of a line, in %d runs of %d observations", done, torn, runs, enough)
}

// events returns the log of a run, without its end.
func events(t *testing.T, o *cmbo.Optimizer) string {
	_, log, ok := strings.Cut(state(t, o), `"events":[`)
	require.True(t, ok)
	return strings.TrimSuffix(log, "]}}\n")
}

// runChild starts a process, kills it or lets it kill itself, and returns the last
// mark that it printed.
func runChild(t *testing.T, rng *rand.Rand, name string) (mark cmbo.JournalMark, killed bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+name)
	if rng.IntN(2) == 0 {
		cmd.Env = append(cmd.Env, childBytes+"="+strconv.Itoa(1+rng.IntN(4000)))
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	if len(cmd.Env) == len(os.Environ())+1 {
		timer := time.AfterFunc(time.Duration(rng.IntN(80))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break // a mark that was not printed whole was not acknowledged
		}
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(line, &mark))
	}
	err = cmd.Wait()
	if err == nil {
		return mark, false
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "the process failed: %v", err)
	return mark, true
}
