//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// A file system of 64 KiB runs full. What cannot be stored is refused with 507
// and changes nothing, everything else goes on, and so do all requests once
// there is room; a kill or an end in between changes nothing either.
func TestDiskFull(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 44<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(mount, "d")
	d := &driver{kind: twin.Kinds(t)[1], rng: twin.RNG(t), study: "s", created: true}
	var err error
	if d.twin, err = twin.New(d.kind); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	connect := func() *client.Client { return p.client(func() string { return fmt.Sprintf("key-%d", d.key) }) }
	c := connect()
	q := d.kind.Study
	q.ID = "s"
	if _, err := c.CreateStudy(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
	same := func(when string) {
		t.Helper()
		diff, err := d.diff(t, c)
		if err != nil || diff != "" {
			t.Fatalf("%s: %s %v\n%s", when, diff, err, p.stderr)
		}
	}
	// work sends requests until one does not fit, or limit were done.
	work := func(limit int) (full bool) {
		t.Helper()
		for range limit {
			if d.pending == nil {
				op := d.twin.Next(d.rng)
				op.Noise = 0
				d.key++
				d.pending = &op
			}
			_, err := call(t, c, d.study, *d.pending)
			var e *client.Error
			if errors.As(err, &e) && e.Status == http.StatusInsufficientStorage && e.Code == "disk_full" {
				return true
			}
			// It is done; the same key gives the same answer.
			if err := d.send(t, c, *d.pending); err != nil {
				t.Fatal(err)
			}
			d.pending = nil
		}
		return false
	}
	if !work(5000) {
		t.Fatal("the disk did not run full")
	}
	same("full")
	for range 2 {
		if !work(1) {
			t.Error("there is room on the full disk")
		}
	}
	q.ID = "another"
	if _, err := c.CreateStudy(t.Context(), &q); client.Code(err) != "disk_full" {
		t.Errorf("creating a study on the full disk: %v", err)
	}
	if _, err := c.Study(t.Context(), "another"); client.Code(err) != "unknown_study" {
		t.Errorf("the study that could not be created: %v", err)
	}
	page, err := http.Get(p.addr + "/studies/s")
	if err != nil || page.StatusCode != http.StatusOK {
		t.Errorf("the page of a full disk: %v, %v", page, err)
	}
	if err == nil {
		_ = page.Body.Close()
	}

	p.kill()
	p = start(t, dir)
	c = connect()
	same("killed while full")
	if !work(1) {
		t.Error("there is room after a restart")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if work(1) {
		t.Fatal("there is no room after all")
	}
	same("with room again")
	if _, err := c.CreateStudy(t.Context(), &q); err != nil {
		t.Errorf("creating the study with room: %v", err)
	}

	if !work(5000) {
		t.Fatal("the disk did not run full again")
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Fatalf("%v\n%s", err, p.stderr)
	}
	b, err := os.ReadFile(filepath.Join(dir, "studies", "s.log"))
	if err != nil || !strings.HasSuffix(string(b), "}\n") {
		t.Errorf("the log ends in %q (%v)", b[max(0, len(b)-20):], err)
	}
	p = start(t, dir)
	c = connect()
	same("ended while full")
	t.Logf("%d trials and %d bytes of log on the full disk", len(d.twin.Trials()), len(b))
}
