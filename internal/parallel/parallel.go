// Package parallel runs independent pieces of work on a bounded number of goroutines such that
// results do not depend on that number: work is named by index, each index is done exactly once,
// and whoever needs a reduction does it in the order of the indices, afterwards.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Workers returns the number of goroutines to use for n pieces of work under a
// limit; a limit below 1 stands for GOMAXPROCS. The result is at least 1.
func Workers(limit, n int) int {
	if limit < 1 {
		limit = runtime.GOMAXPROCS(0)
	}
	return max(1, min(limit, n))
}

// For calls do(worker, i) once for every i in [0, n), on Workers(limit, n) goroutines, and returns when all of them have
// returned: none outlives the call. worker is in [0, Workers(limit, n)) and never in use twice at a time, so it may index
// scratch memory. Indices are taken in ascending order.
//
// The first error in the order of the indices is returned, and indices above it may be skipped; so
// is ctx.Err() once ctx is done, checked before each index. A panic of do counts as its error, a
// [*Panic]. A single worker runs on the calling goroutine.
func For(ctx context.Context, limit, n int, do func(worker, i int) error) error {
	workers := Workers(limit, n)
	if workers == 1 { // apart: what goroutines share is on the heap
		var next atomic.Int64
		var f failure
		work(ctx, 0, n, do, &next, &f)
		return f.err
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	failures := make([]failure, workers)
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			work(ctx, w, n, do, &next, &failures[w])
		}()
	}
	wg.Wait()
	return slices.MinFunc(failures, func(a, b failure) int { return a.i - b.i }).err
}

// A failure is what ended a worker: the error of piece i, or none, i then being n or more.
type failure struct {
	i   int
	err error
}

// work does the pieces that next hands out, up to one that fails: those before it are taken,
// and of those after it no more are.
func work(ctx context.Context, w, n int, do func(worker, i int) error, next *atomic.Int64, f *failure) {
	i, ended := 0, false
	var err error
	defer func() {
		if !ended {
			p := Caught(recover(), "internal/parallel.work")
			p.Index = i
			err = p
		}
		if err != nil {
			next.Store(int64(n))
		}
		*f = failure{i, err}
	}()
	for err == nil {
		if i = int(next.Add(1) - 1); i >= n {
			break
		}
		if err = ctx.Err(); err == nil {
			err = do(w, i)
		}
	}
	ended = true
}

// A Panic is the error of a piece of work that panicked, or that ended its goroutine, as testing.T.FailNow does.
type Panic struct {
	Index int
	Value any    // what it panicked with, nil if it ended its goroutine
	Stack []byte // where it panicked
	// Foreign says that code of the library's caller took part: the library had called it, whatever that called in turn.
	Foreign bool
}

// Error says what the work panicked with, without the stack.
func (p *Panic) Error() string {
	if p.Value == nil {
		return fmt.Sprintf("piece %d ended its goroutine", p.Index)
	}
	return fmt.Sprintf("piece %d panicked: %v", p.Index, p.Value)
}

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Caught makes a [*Panic] of what a function deferred by boundary, a function of the module named from the module's path on,
// recovered. A panic that a For within the work has caught already, and its caller panicked with again, keeps its stack.
func Caught(value any, boundary string) *Panic {
	if p, ok := value.(*Panic); ok {
		return &Panic{Value: p.Value, Stack: p.Stack, Foreign: p.Foreign}
	}
	return &Panic{Value: value, Stack: debug.Stack(), Foreign: value == nil || foreign(boundary)}
}

const modulePath = "github.com/gocmbo/cmbo/"

// root is the module's folder as the compiler writes it in the names of files.
var root = func() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(file, "internal/parallel/parallel.go")
}()

// library are the folders of the module that are the library; others use it.
var library = []string{"linalg", "gaussian", "kernel", "cmbo", "internal"}

// standard are the folders of the standard library.
var standard = strings.Fields("archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak")

// foreign reports whether a function that is neither the library's nor the standard
// library's lies between the panic that is being recovered and boundary.
func foreign(boundary string) bool {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicked := false
	for {
		f, more := frames.Next()
		name, inModule := strings.CutPrefix(f.Function, modulePath)
		first := name[:max(0, strings.IndexAny(name, "./"))]
		// A closure of what was inlined into its caller is named after the caller, so that only its file tells whose it is.
		file, below := strings.CutPrefix(f.File, root)
		folder, _, _ := strings.Cut(file, "/")
		ours := inModule && slices.Contains(library, first) ||
			below && slices.Contains(library, folder) && !strings.HasSuffix(file, "_test.go")
		switch {
		case !panicked:
			panicked = f.Function == "runtime.gopanic"
		case inModule && strings.HasPrefix(name, boundary):
			return false
		case !ours && (inModule || !slices.Contains(standard, first)):
			return true
		}
		if !more {
			return false
		}
	}
}
