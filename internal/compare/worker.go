package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A worker is a process that answers requests.
type worker struct {
	name  string
	about string
	// forced says that this is another worker's program with other kernels.
	forced bool
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	err    bytes.Buffer
}

// oneThread is the environment of all workers.
func oneThread() []string {
	return append(os.Environ(), "GOMAXPROCS=1", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
		"BLIS_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
}

func startWorker(name string, env []string, program string, args ...string) (*worker, error) {
	w := &worker{name: name, cmd: exec.Command(program, args...)}
	w.cmd.Env = append(oneThread(), env...)
	w.cmd.Stderr = &w.err
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewScanner(out)
	w.out.Buffer(nil, 1<<24)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	// The kind that does not exist has no forms, but a note of what answers.
	p, err := w.ask(request{Verb: "forms"})
	if err != nil {
		w.stop()
		return nil, err
	}
	w.about = p.Note
	return w, nil
}

func (w *worker) ask(q request) (p response, err error) {
	line, err := json.Marshal(q)
	if err != nil {
		return p, err
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return p, fmt.Errorf("%s: %w: %s", w.name, err, w.err.String())
	}
	if !w.out.Scan() {
		return p, fmt.Errorf("%s ended: %v %s", w.name, w.out.Err(), w.err.String())
	}
	if err := json.Unmarshal(w.out.Bytes(), &p); err != nil {
		return p, fmt.Errorf("%s: %w: %s", w.name, err, w.out.Bytes())
	}
	if p.Error != "" {
		return p, errors.New(p.Error)
	}
	return p, nil
}

func (w *worker) stop() {
	_ = w.in.Close()
	_ = w.cmd.Wait()
}

// startGo builds this program in dir with the given tags and starts it.
func startGo(name, dir, tags, clock string) (*worker, error) {
	program := filepath.Join(dir, "compare-"+name)
	build := exec.Command("go", "build", "-o", program, "-tags", tags, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build -tags '%s': %s", tags, strings.TrimSpace(string(out)))
	}
	return startWorker(name, nil, program, "-worker", "-clock", clock)
}

// keepMemory makes glibc keep what is freed. Otherwise it depends on what a process
// did before whether numpy's larger results come from new pages each time, which
// doubles the time of a posterior on 300 points.
var keepMemory = []string{"MALLOC_MMAP_THRESHOLD_=1073741824", "MALLOC_TRIM_THRESHOLD_=1073741824"}

// startPythons starts a worker for each BLAS to be had: every interpreter as it
// is, and the same with OpenBLAS's AVX-512 kernels forced where the processor
// has them and the interpreter's OpenBLAS did not take them by itself.
func startPythons(interpreters []string, clock string, note func(string, ...any)) (out []*worker) {
	script := filepath.Join("peers", "worker.py")
	for i, path := range interpreters {
		name := fmt.Sprintf("py%d", i+1)
		w, err := startWorker(name, keepMemory, path, script, "-clock", clock)
		if err != nil {
			note("%s does not run: its columns are '-' (%s)", path, firstLine(err))
			continue
		}
		out = append(out, w)
		if core := strings.ToLower(w.about); !avx512() || strings.Contains(core, "core skylakex") ||
			!strings.Contains(core, "openblas") {
			continue
		}
		forced, err := startWorker(name+"-avx512",
			append([]string{"OPENBLAS_CORETYPE=SkylakeX"}, keepMemory...), path, script, "-clock", clock)
		if err != nil {
			note("%s with forced AVX-512 kernels does not run (%s)", path, firstLine(err))
			continue
		}
		forced.forced = true
		out = append(out, forced)
	}
	return out
}

func avx512() bool {
	info, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && bytes.Contains(info, []byte(" avx512f"))
}

// processor names the processor and how many there are of it.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	name, n := "unknown processor", 0
	family, model := "", ""
	for line := range strings.Lines(string(info)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "model name":
			name = value
			n++
		case "cpu family":
			family = value
		case "model":
			model = value
		}
	}
	return fmt.Sprintf("%d x %s (family %s, model %s)", n, name, family, model)
}
