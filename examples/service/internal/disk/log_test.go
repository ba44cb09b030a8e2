package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

// transaction makes transactions of different lengths.
func transaction(i int) []byte {
	return fmt.Appendf(nil, `{"n":%d,"pad":"%s"}`, i, strings.Repeat("x", i*7%40))
}

func check(t *testing.T, got [][]byte, want ...[]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d transactions, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("transaction %d is %s, want %s", i, got[i], want[i])
		}
	}
}

// writeLog makes a log of n transactions in a directory of the real file
// system, and returns it and where each line ends.
func writeLog(t *testing.T, path string, n int) (txs [][]byte, ends []int) {
	t.Helper()
	var l *disk.Log
	for i := range n {
		tx := transaction(i)
		var err error
		if i == 0 {
			l, err = disk.CreateLog(disk.OS, path, tx)
		} else {
			err = l.Append(tx)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		txs, ends = append(txs, tx), append(ends, len(b))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(transaction(n)); !errors.Is(err, disk.ErrClosed) {
		t.Fatalf("Append after Close: %v", err)
	}
	return txs, ends
}

func TestLogRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	txs, _ := writeLog(t, path, 5)
	l, got, err := disk.OpenLog(disk.OS, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, got, txs...)
	if err := l.Append(transaction(5)); err != nil {
		t.Fatal(err)
	}
	_, got, err = disk.OpenLog(disk.OS, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, got, append(txs, transaction(5))...)
	if _, _, err := disk.OpenLog(disk.OS, path+"x", nil); !errors.Is(err, disk.ErrMissing) {
		t.Errorf("OpenLog of no file: %v", err)
	}
}

// A log cut at any byte has the transactions whose lines are whole, and goes on
// from there.
func TestLogCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	txs, ends := writeLog(t, filepath.Join(dir, "a.log"), 4)
	whole, err := os.ReadFile(filepath.Join(dir, "a.log"))
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(whole) + 1 {
		path := filepath.Join(dir, "b.log")
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		for n < len(ends) && ends[n] <= size {
			n++
		}
		l, got, err := disk.OpenLog(disk.OS, path, nil)
		if n == 0 {
			if !errors.Is(err, disk.ErrDamaged) {
				t.Fatalf("%d bytes: %v", size, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		check(t, got, txs[:n]...)
		if b, _ := os.ReadFile(path); len(b) != ends[n-1] {
			t.Fatalf("%d bytes were not cut to %d but to %d", size, ends[n-1], len(b))
		}
		if err := l.Append(transaction(99)); err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if _, got, err = disk.OpenLog(disk.OS, path, nil); err != nil {
			t.Fatal(err)
		}
		check(t, got, append(txs[:n:n], transaction(99))...)
	}
}

// No change of a single bit goes unnoticed.
func TestLogFlippedBits(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, filepath.Join(dir, "a.log"), 3)
	whole, err := os.ReadFile(filepath.Join(dir, "a.log"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "b.log")
	for i := range whole {
		for bit := range 8 {
			if testing.Short() && bit != i%8 {
				continue
			}
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := disk.OpenLog(disk.OS, path, nil); !errors.Is(err, disk.ErrDamaged) {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
}

// Lines that are dropped, doubled or exchanged are noticed.
func TestLogLinesMoved(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, filepath.Join(dir, "a.log"), 5)
	whole, err := os.ReadFile(filepath.Join(dir, "a.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))[:5]
	for name, order := range map[string][]int{
		"dropped": {0, 1, 3, 4}, "doubled": {0, 1, 1, 2, 3, 4}, "exchanged": {0, 2, 1, 3, 4}, "first dropped": {1, 2, 3, 4},
	} {
		var b []byte
		for _, i := range order {
			b = append(b, lines[i]...)
		}
		path := filepath.Join(dir, "b.log")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := disk.OpenLog(disk.OS, path, nil); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestListRemovesUnfinished(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.log", "b.log.tmp", "c.log", "other", ".log"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, err := disk.List(disk.OS, dir, ".log")
	if err != nil || strings.Join(names, " ") != "a c" {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.log.tmp")); !os.IsNotExist(err) {
		t.Errorf("the unfinished file is still there: %v", err)
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	a, err := disk.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := disk.Lock(dir); err == nil {
		_ = b.Close()
		t.Skip("this system has no locks")
	} else if !errors.Is(err, disk.ErrLocked) {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := disk.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = b.Close()
}
