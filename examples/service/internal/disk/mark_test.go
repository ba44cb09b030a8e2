package disk_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

// A mark is the newest value that was stored, whatever is left of one that was being
// written.
func TestMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.mark")
	m, value, err := disk.OpenMark(disk.OS, path)
	if err != nil || value != nil {
		t.Fatal(value, err)
	}
	before := []byte(nil)
	for i := 1; i <= 5; i++ {
		want := fmt.Sprintf(`{"lines":%d}`, i)
		if err := m.Store([]byte(want)); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, value, err := disk.OpenMark(disk.OS, path); err != nil || string(value) != want {
			t.Fatalf("%s, want %s (%v)", value, want, err)
		}
		if before != nil { // the write of this value stopped at any byte
			for n := range len(after) {
				torn := append(bytes.Clone(after[:n]), before[min(n, len(before)):]...)
				if err := os.WriteFile(path, torn, 0o600); err != nil {
					t.Fatal(err)
				}
				_, value, err := disk.OpenMark(disk.OS, path)
				if old := fmt.Sprintf(`{"lines":%d}`, i-1); err != nil || string(value) != old && string(value) != want {
					t.Fatalf("value %d, cut at %d: %s (%v)", i, n, value, err)
				}
			}
			if err := os.WriteFile(path, after, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before = after
		if i == 3 { // a restart goes on
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if m, _, err = disk.OpenMark(disk.OS, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.Store(bytes.Repeat([]byte("1"), 600)); err == nil {
		t.Error("a value of 600 bytes was stored")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := disk.Remove(disk.OS, path); err != nil {
			t.Error(err)
		}
	}
}
