package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// An Experiment compares methods on tables.
type Experiment struct {
	// Protocol says which runs there are.
	Protocol Protocol
	// Catalogue holds the methods that the protocol may name; nil for [Methods].
	Catalogue []Method
	// Workers is the number of runs under way at a time, each on one goroutine;
	// 0 for GOMAXPROCS. It changes the speed, never a result.
	Workers int
	// Progress is called now and then, by one goroutine at a time.
	Progress func(Progress)
}

// Progress tells how far an experiment has come.
type Progress struct {
	// Done of Total runs are there, Known of them since before this call. Failed more could not be made.
	Done, Known, Failed, Total int
	// Last names what was finished last.
	Last string
}

// An Outcome says what an experiment has come to.
type Outcome struct {
	Progress
	// Records holds all runs.
	Records []Record
	// Failures lists what could not be done. The runs that are missing for it
	// are tried again by the next call on the same folder.
	Failures []Failure
}

// A Failure is a run that could not be made, or, without a Task, what could not be learned for the
// runs of a split, all of which are missing then. It is a line of an experiment's failures.jsonl.
type Failure struct {
	Space       string `json:"space"`
	Method      string `json:"method"`
	Acquisition string `json:"acquisition,omitempty"`
	Split       int    `json:"split"`
	Task        string `json:"task,omitempty"`
	Repeat      int    `json:"repeat,omitempty"`
	Error       string `json:"error"`
}

func (f *Failure) key() runKey {
	return runKey{f.Space, f.Method, f.Acquisition, f.Split, f.Task, f.Repeat}
}

// String names the place and the error.
func (f Failure) String() string { return f.key().String() + ": " + f.Error }

// Run makes the runs of the experiment that the folder dir does not hold yet, and makes the folder if need be: the
// package comment says what is in it. An empty dir stands for none. Only one process may use a folder at a time.
//
// An experiment may be continued with more splits, repeats, targets, methods, acquisitions or
// tables than before, but with nothing else changed, and no other table under the name of a space.
//
// A method that fails loses the run it fails in, or, if it cannot learn, those of the split, and Run goes on without an
// error. It fails with [cmbo.ErrOption] or [cmbo.ErrTask] if the protocol or a table makes no sense or the folder is of
// another experiment, with [cmbo.ErrCorrupt] or [cmbo.ErrVersion] if its files cannot be read, with the error of the
// file system, or with ctx.Err() soon after ctx is done; the Outcome then tells how far it came.
func (e *Experiment) Run(ctx context.Context, tables []*Table, dir string) (*Outcome, error) {
	catalogue := e.Catalogue
	if catalogue == nil {
		catalogue = Methods()
	}
	p, err := e.Protocol.settle(catalogue)
	if err != nil {
		return nil, err
	}
	want := &Settings{Version: storeVersion, Protocol: p.Protocol}
	tried := map[string]bool{} // spaces
	for _, t := range tables {
		if err := t.check(); err != nil {
			return nil, err
		}
		if tried[t.Space] {
			return nil, fmt.Errorf("%w: two tables of space %q", cmbo.ErrOption, t.Space)
		}
		want.Tables, tried[t.Space] = append(want.Tables, t.info()), true
	}
	models, err := p.models(tables)
	if err != nil {
		return nil, err
	}
	s, err := openStore(dir, want)
	if err != nil {
		return nil, err
	}
	open, total := p.batches(models, s.keys)
	known := total
	for _, b := range open {
		known -= len(b.runs)
	}
	x := &execution{Experiment: e, plan: p, store: s, progress: Progress{Done: known, Known: known, Total: total}}
	err = parallel.For(ctx, e.Workers, len(open), func(_, i int) error { return x.make(ctx, open[i]) })
	if s.f != nil {
		err = errors.Join(err, s.f.Close())
	}
	if err == nil {
		slices.SortFunc(x.failures, func(a, b Failure) int { return p.compare(a.key(), b.key()) })
		err = s.finish(p.compare, x.failures, tried)
	}
	return &Outcome{x.progress, s.records, x.failures}, err
}
