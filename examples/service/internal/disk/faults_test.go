package disk_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// faults are what operations fail with: a full disk and a broken one.
var faults = []error{syscall.ENOSPC, syscall.EIO}

// Whichever operations fail, and whenever the power fails or the process is
// killed, every transaction whose Append returned nil is there, in order, and no
// other but perhaps one whose Append failed after the last that did not. That one
// lasts once the log has settled.
func TestLogFaults(t *testing.T) {
	var tried faultCount
	rng := twin.RNG(t)
	for first := 1; first <= 60; first++ {
		for length := 1; length <= 6; length++ {
			for _, fault := range faults {
				for range 3 {
					tried.run(t, rng, first, length, fault)
				}
			}
		}
	}
	t.Logf("%d transactions failed, %d power failures, %d kills, %d failed transactions found after them", tried.failed, tried.powerFailures, tried.kills, tried.found)
	if tried.failed < 1000 || tried.powerFailures < 1000 || tried.kills < 1000 || tried.found == 0 {
		t.Error("the test does not try much")
	}
}

type faultCount struct{ failed, powerFailures, kills, found int }

// run appends to a log while operations first to first+length-1 fail and the
// power now and then.
func (c *faultCount) run(t *testing.T, rng *rand.Rand, first, length int, fault error) {
	fsys := disktest.New(rng)
	l, err := disk.CreateLog(fsys, "d/a.log", transaction(0))
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := [][]byte{transaction(0)}
	var failed [][]byte // since the last Append that did not
	fsys.Fault(func(n int, op string) error {
		if n >= first && n < first+length {
			return fault
		}
		return nil
	})
	for i := 1; i < 25; i++ {
		switch err := l.Append(transaction(i)); {
		case err == nil:
			acknowledged, failed = append(acknowledged, transaction(i)), nil
		case errors.Is(err, disk.ErrFull) == (fault == syscall.ENOSPC) && errors.Is(err, disk.ErrIO) == (fault == syscall.EIO):
			c.failed++
			failed = append(failed, transaction(i))
		default:
			t.Fatalf("Append: %v", err)
		}
		if rng.IntN(8) > 0 {
			continue
		}
		killed := rng.IntN(2) == 0
		if killed {
			c.kills++
			fsys.Kill()
		} else {
			c.powerFailures++
			fsys.PowerFailure()
		}
		var got [][]byte
		if l, got, err = disk.OpenLog(fsys, "d/a.log", nil); err != nil {
			t.Fatalf("operations %d to %d failed: %v", first, first+length-1, err)
		}
		if n := len(acknowledged); len(got) == n+1 && slices.ContainsFunc(failed, func(tx []byte) bool { return bytes.Equal(tx, got[n]) }) {
			c.found++
			acknowledged = append(acknowledged, got[n])
		}
		check(t, got, acknowledged...)
		failed = nil
		for killed && l.Settle() != nil {
		}
	}
}

// Renew does not take the content of a suspect file for what was acknowledged.
func TestLogRenewRefuses(t *testing.T) {
	for name, change := range map[string]func(b []byte) []byte{
		"shorter": func(b []byte) []byte { return b[:len(b)-1] },
		"empty":   func(b []byte) []byte { return nil },
		"another": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"older": func(b []byte) []byte {
			return append(b[:bytes.IndexByte(b, '\n')+1], bytes.Repeat([]byte(" "), len(b))...)
		},
	} {
		fsys := disktest.New(twin.RNG(t))
		l, err := disk.CreateLog(fsys, "d/a.log", transaction(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append(transaction(1)); err != nil {
			t.Fatal(err)
		}
		fsys.Fault(func(n int, op string) error {
			if op == "sync" {
				return syscall.EIO
			}
			return nil
		})
		if err := l.Append(transaction(2)); !errors.Is(err, disk.ErrIO) {
			t.Fatal(err)
		}
		fsys.Fault(nil)
		b, err := fsys.ReadFile("d/a.log")
		if err != nil {
			t.Fatal(err)
		}
		if err := disk.WriteFile(fsys, "d/a.log", change(b)); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(transaction(2)); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Creating a log can fail at any operation, and then there is none, or one that
// holds its first transaction.
func TestCreateLogFaults(t *testing.T) {
	rng := twin.RNG(t)
	for round := range 50 {
		for k := 1; k < 8; k++ {
			fsys := disktest.New(rng)
			fsys.Fault(func(n int, op string) error {
				if n >= k && n <= k+round%2 {
					return syscall.EIO
				}
				return nil
			})
			_, err := disk.CreateLog(fsys, "d/a.log", transaction(3))
			failed := err != nil
			if failed != (k <= fsys.Count() && k <= 6) {
				t.Fatalf("operation %d of %d failed: %v", k, fsys.Count(), err)
			}
			fsys.Fault(nil)
			fsys.PowerFailure()
			names, err := disk.List(fsys, "d", ".log")
			if err != nil {
				t.Fatal(err)
			}
			if len(names) == 0 {
				if !failed {
					t.Fatal("a log that was made is gone")
				}
				continue
			}
			_, got, err := disk.OpenLog(fsys, "d/a.log", nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, got, transaction(3))
		}
	}
}

// A file is replaced whole or not at all.
func TestWriteFileFaults(t *testing.T) {
	rng := twin.RNG(t)
	for k := range 8 {
		for range 40 {
			fsys := disktest.New(rng)
			if err := disk.WriteFile(fsys, "d/f", []byte("the old content")); err != nil {
				t.Fatal(err)
			}
			fsys.Fault(func(n int, op string) error {
				if n == k {
					return syscall.ENOSPC
				}
				return nil
			})
			content := []byte(strings.Repeat("new", 30))
			err := disk.WriteFile(fsys, "d/f", content)
			if err != nil && !errors.Is(err, disk.ErrFull) {
				t.Fatal(err)
			}
			fsys.Fault(nil)
			fsys.PowerFailure()
			b, e := fsys.ReadFile("d/f")
			if e != nil {
				t.Fatal(e)
			}
			if string(b) != "the old content" && !bytes.Equal(b, content) || err == nil && !bytes.Equal(b, content) {
				t.Fatalf("operation %d failed (%v): %q", k, err, b)
			}
		}
	}
}
