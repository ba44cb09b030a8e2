//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// asService is the first argument of a process of this binary that is to be the
// service; the second is after how many bytes it kills itself, 0 for never.
const asService = "as-service"

func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != asService {
		os.Exit(m.Run())
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	fsys := disk.OS
	if n > 0 {
		fsys = &mortal{FS: disk.OS, left: n}
	}
	os.Exit(run(os.Args[3:], fsys))
}

// mortal is a file system whose process is killed once so many bytes were
// written.
type mortal struct {
	disk.FS
	mu   sync.Mutex
	left int
}

func (m *mortal) file(f disk.File, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	return &mortalFile{f, m}, nil
}

func (m *mortal) Create(name string) (disk.File, error) { return m.file(m.FS.Create(name)) }
func (m *mortal) Open(name string) (disk.File, error)   { return m.file(m.FS.Open(name)) }

type mortalFile struct {
	disk.File
	fs *mortal
}

func (f *mortalFile) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	n, err := f.File.WriteAt(p[:min(len(p), f.fs.left)], off)
	if f.fs.left -= n; f.fs.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return n, err
}

// process is a running service.
type process struct {
	cmd    *exec.Cmd
	addr   string // with http://
	stderr *twin.Log
	done   chan error
}

// start runs the service on a directory and waits until it listens.
func start(t *testing.T, dir string, flags ...string) *process {
	t.Helper()
	p, err := launch(dir, 0, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		p.sound(t)
	})
	return p
}

// launch does so for a service that kills itself after so many bytes, and fails
// if it does before it listens.
func launch(dir string, mortal int, flags ...string) (*process, error) {
	p := &process{stderr: &twin.Log{}, done: make(chan error, 1)}
	p.cmd = exec.Command(os.Args[0], append([]string{asService, strconv.Itoa(mortal), "-dir", dir, "-addr", "127.0.0.1:0"}, flags...)...)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, out)
		p.done <- p.cmd.Wait()
	}()
	fields := strings.Fields(line)
	if err != nil || len(fields) < 3 {
		p.kill()
		return nil, fmt.Errorf("the service said %q (%w)\n%s", line, err, p.stderr)
	}
	p.addr = fields[2]
	return p, nil
}

// sound checks that the service did not complain of what must not be.
func (p *process) sound(t *testing.T) {
	t.Helper()
	for _, what := range []string{"DATA RACE", "panic"} {
		if log := p.stderr.String(); strings.Contains(log, what) {
			t.Errorf("the service says:\n%s", log)
		}
	}
}

// kill ends the process as a power failure would, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.wait()
}

func (p *process) wait() error {
	err := <-p.done
	p.done <- err
	return err
}

// client returns a client that sends each request once.
func (p *process) client(key func() string) *client.Client {
	return &client.Client{Base: p.addr, HTTP: &http.Client{Transport: &http.Transport{}}, Attempts: 1, NewKey: key}
}

// SIGTERM lets the request under way finish, takes no others, and leaves files
// that are whole.
func TestShutdown(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	c := p.client(nil)
	createKinds(t, c)
	stop := make(chan struct{})
	type answered struct {
		id  int
		err error
	}
	results := make(chan answered, 1000)
	go func() {
		defer close(results)
		for {
			select {
			case <-stop:
				return
			default:
			}
			trials, err := c.Ask(t.Context(), "plain", 1)
			if err != nil {
				results <- answered{err: err}
				return
			}
			results <- answered{id: trials[0].ID}
		}
	}()
	for range 5 {
		if r := <-results; r.err != nil {
			t.Fatal(r.err)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Fatalf("the service ended with %v\n%s", err, p.stderr)
	}
	close(stop)
	last := 5
	for r := range results {
		if r.err == nil {
			last = r.id
		}
	}
	if !strings.Contains(p.stderr.String(), "stopping") {
		t.Errorf("it said %s", p.stderr)
	}
	c = start(t, dir).client(nil)
	trials, err := c.Trials(t.Context(), "plain", "")
	if err != nil || len(trials) != last {
		t.Errorf("%d trials after the restart, %d were acknowledged (%v)", len(trials), last, err)
	}
}

// Two services on one directory would overwrite each other's files.
func TestOneServicePerDirectory(t *testing.T) {
	dir := t.TempDir()
	start(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, os.Args[0], asService, "0", "-dir", dir, "-addr", "127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another process") {
		t.Errorf("the second service: %v, %s", err, out)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{}, {"-dir", "x", "more"}, {"-dir", "x", "-refresh", "-1"}, {"-dir", "x", "-timeout", "0s"}, {"-nothing"},
		{"-dir", "x", "-token", "short"}, {"-dir", "x", "-token", "sixteen letters, but"}, {"-dir", "x", "-token-file", "nowhere"}, {"-dir", "x", "-host", "a:80"}, {"-dir", "x", "-host", "http://a"}, {"-dir", "x", "-max-bodies", "1"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	o, err := parse([]string{"-dir", "x", "-max-studies", "3"}, io.Discard)
	if err != nil || o.limits.Studies != 3 || !strings.HasPrefix(o.addr, "127.0.0.1:") {
		t.Errorf("%+v, %v", o, err)
	}
	for says, args := range map[string][]string{
		"-max-ask -1: at least 1":      {"-max-ask", "-1"},
		"-max-dims 0: at least 1":      {"-max-dims", "0"},
		"-max-open 0: at least 1":      {"-max-open", "0"},
		"-max-studies -1: at least 0":  {"-max-studies", "-1"},
		"-parallelism 0: at least 1":   {"-parallelism", "0"},
		"-max-bodies 99: at least 100": {"-max-body", "100", "-max-bodies", "99"},
		"-timeout 0s: at least 1ms":    {"-timeout", "0s"},
		"-shutdown -1s: at least 0s":   {"-shutdown", "-1s"},
	} {
		if _, err := parse(append([]string{"-dir", "x"}, args...), io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := importPriors(t.Context(), nil, filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("priors of no directory: %v", err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err = parse([]string{"-dir", "x", "-token-file", file, "-host", "a.example", "-host", "::2"}, io.Discard)
	if _, wrong := parse([]string{"-dir", "x", "-read-token-file", file}, io.Discard); wrong == nil {
		t.Error("a token for reading, and none for writing, was accepted")
	}
	if _, wrong := parse([]string{"-dir", "x", "-token-file", file, "-read-token-file", file}, io.Discard); wrong == nil {
		t.Error("one token for both was accepted")
	}
	if err != nil || o.token != "0123456789abcdef" || len(o.hosts) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

// Priors of a folder are taken over at each start, and the name of another prior stops one: it says what to do then.
func TestPriorsFolder(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	k := twin.Kinds(t)[2]
	put := func(prior *cmbo.Prior) {
		t.Helper()
		var b bytes.Buffer
		err := prior.Encode(&b)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "past.prior"), b.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(k.Prior)
	for range 2 { // deleted, it is there again
		p := start(t, dir, "-priors", folder)
		if err := p.client(nil).DeletePrior(t.Context(), "past"); err != nil {
			t.Fatal(err)
		}
		p.kill()
	}
	start(t, dir, "-priors", folder).kill()
	put(k.Other)
	p, err := launch(dir, 0, "-priors", folder)
	if err == nil {
		p.kill()
	}
	if want := "another prior, kept in -dir: rename the file, or start without it and DELETE /v1/priors/past\n"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Fatalf("the name stands for two priors: %v", err)
	}
	p = start(t, dir)
	if err := p.client(nil).DeletePrior(t.Context(), "past"); err != nil {
		t.Fatal(err)
	}
	p.kill()
	start(t, dir, "-priors", folder)
}

// A probe finds the service at the address that it listens on.
func TestProbe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip(err)
	}
	l.Close()
	at := strings.TrimPrefix(start(t, t.TempDir(), "-addr", "127.0.0.2:0").addr, "http://")
	all := strings.TrimPrefix(start(t, t.TempDir(), "-addr", "0.0.0.0:0").addr, "http://")
	_, port, err := net.SplitHostPort(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{at, ":" + port, "0.0.0.0:" + port, "127.0.0.1:" + port, "[::]:" + port} {
		if err := probe(t.Context(), addr); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if err := probe(t.Context(), l.Addr().String()); err == nil {
		t.Error("a service was found where none is")
	}
}

// What is not even HTTP, or stops in the middle, does not disturb the service.
func TestNoise(t *testing.T) {
	p := start(t, t.TempDir())
	c := p.client(nil)
	createKinds(t, c)
	rng := twin.RNG(t)
	const good = "POST /v1/studies/plain/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{} "
	for range 300 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.addr, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		b := []byte(good[:rng.IntN(len(good)-1)])
		for range rng.IntN(4) {
			if len(b) > 0 {
				b[rng.IntN(len(b))] = byte(rng.UintN(256))
			}
		}
		_, _ = conn.Write(b)
		_ = conn.Close()
	}
	trials, err := c.Trials(t.Context(), "plain", "")
	if err != nil || len(trials) > 0 {
		t.Errorf("%d trials (%v)", len(trials), err)
	}
	if _, err := c.Ask(t.Context(), "plain", 1); err != nil {
		t.Error(err)
	}
}
