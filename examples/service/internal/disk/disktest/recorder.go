package disktest

import (
	"bytes"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

// A Recorder is a file system in memory that writes down every operation which
// changes something, so that a test can look at all that a power failure between
// any two of them may leave: see [Recorder.States]. It fails nothing. The zero
// value is empty.
type Recorder struct {
	mu    sync.Mutex
	ops   []op
	names map[string]int // of the nodes
	nodes [][]byte       // as processes see them
}

// op is an operation. Its kind is create, write, truncate, sync, rename, remove or
// syncdir.
type op struct {
	kind     string
	name, to string // of a file; of a directory for syncdir
	node     int
	off      int64 // of a write; the size for truncate
	data     []byte
}

// Len returns the number of operations so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// States calls yield with each state that may remain if the power fails after the
// first n operations, until it returns false.
//
// A disk keeps all that was synced. Of the operations on a file since it was synced it
// keeps any beginning, of a write that is its last any beginning in steps of grain
// bytes. Of the changes to the names in a directory since that was synced it keeps any
// beginning, whatever remains of the files.
func (r *Recorder) States(n, grain int, yield func(*FS) bool) {
	r.mu.Lock()
	ops := slices.Clone(r.ops[:n])
	r.mu.Unlock()
	names := map[string]int{}
	pendingNames := map[string][]op{} // by directory
	synced := map[int][]byte{}
	pending := map[int][]op{} // by node
	for _, o := range ops {
		dir := filepath.Dir(o.name)
		switch o.kind {
		case "create", "rename", "remove":
			pendingNames[dir] = append(pendingNames[dir], o)
		case "syncdir":
			for _, p := range pendingNames[o.name] {
				p.rename(names)
			}
			delete(pendingNames, o.name)
		case "write", "truncate":
			pending[o.node] = append(pending[o.node], o)
		case "sync":
			for _, p := range pending[o.node] {
				synced[o.node] = p.change(synced[o.node], len(p.data))
			}
			delete(pending, o.node)
		}
	}
	dirs := slices.Sorted(maps.Keys(pendingNames))
	var eachDir func(i int, names map[string]int) bool
	eachDir = func(i int, names map[string]int) bool {
		if i == len(dirs) {
			return eachContent(names, synced, pending, grain, yield)
		}
		names = maps.Clone(names)
		if !eachDir(i+1, names) {
			return false
		}
		for _, o := range pendingNames[dirs[i]] {
			o.rename(names)
			if !eachDir(i+1, names) {
				return false
			}
		}
		return true
	}
	eachDir(0, names)
}

// rename does what an operation does to names.
func (o *op) rename(names map[string]int) {
	switch o.kind {
	case "create":
		names[o.name] = o.node
	case "rename":
		names[o.to] = o.node
		delete(names, o.name)
	case "remove":
		delete(names, o.name)
	}
}

// change does what an operation does to a file's content, a write with its first
// n bytes alone.
func (o *op) change(content []byte, n int) []byte {
	content = slices.Clone(content)
	if o.kind == "truncate" {
		return content[:min(int(o.off), len(content))]
	}
	if end := int(o.off) + n; n > 0 && end > len(content) {
		content = append(content, make([]byte, end-len(content))...)
	}
	copy(content[min(int(o.off), len(content)):], o.data[:n])
	return content
}

// eachContent yields a file system for each content that the named nodes may have.
func eachContent(names map[string]int, synced map[int][]byte, pending map[int][]op, grain int,
	yield func(*FS) bool) bool {
	nodes := slices.Compact(slices.Sorted(maps.Values(names)))
	content := map[int][]byte{}
	var each func(i int) bool
	each = func(i int) bool {
		if i == len(nodes) {
			f := New(nil)
			for name, n := range names {
				f.seen[name] = &node{seen: slices.Clone(content[n]), disk: slices.Clone(content[n]), dirty: map[int]bool{}}
			}
			f.named = maps.Clone(f.seen)
			return yield(f)
		}
		n := nodes[i]
		base := synced[n]
		content[n] = base
		if !each(i + 1) {
			return false
		}
		for _, o := range pending[n] {
			for k := grain; k < len(o.data); k += grain {
				content[n] = o.change(base, k)
				if !each(i + 1) {
					return false
				}
			}
			base = o.change(base, len(o.data))
			content[n] = base
			if !each(i + 1) {
				return false
			}
		}
		return true
	}
	return each(0)
}

func (r *Recorder) record(o op) { r.ops = append(r.ops, o) }

// Create implements [disk.FS].
func (r *Recorder) Create(name string) (disk.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok := r.names[name]; ok { // which is emptied
		r.nodes[n] = nil
		r.record(op{kind: "truncate", name: name, node: n})
		return &recorded{r, name, n}, nil
	}
	if r.names == nil {
		r.names = map[string]int{}
	}
	n := len(r.nodes)
	r.nodes = append(r.nodes, nil)
	r.names[name] = n
	r.record(op{kind: "create", name: name, node: n})
	return &recorded{r, name, n}, nil
}

func missing(what, name string) error {
	return &fs.PathError{Op: what, Path: name, Err: fs.ErrNotExist}
}

// Open implements [disk.FS].
func (r *Recorder) Open(name string) (disk.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.names[name]
	if !ok {
		return nil, missing("open", name)
	}
	return &recorded{r, name, n}, nil
}

// ReadFile implements [disk.FS].
func (r *Recorder) ReadFile(name string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.names[name]
	if !ok {
		return nil, missing("read", name)
	}
	return bytes.Clone(r.nodes[n]), nil
}

// Size implements [disk.FS].
func (r *Recorder) Size(name string) (int64, error) {
	b, err := r.ReadFile(name)
	return int64(len(b)), err
}

// ReadDir implements [disk.FS].
func (r *Recorder) ReadDir(dir string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name := range r.names {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Rename implements [disk.FS].
func (r *Recorder) Rename(from, to string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.names[from]
	if !ok {
		return missing("rename", from)
	}
	delete(r.names, from)
	r.names[to] = n
	r.record(op{kind: "rename", name: from, to: to, node: n})
	return nil
}

// Remove implements [disk.FS].
func (r *Recorder) Remove(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.names[name]
	if !ok {
		return missing("remove", name)
	}
	delete(r.names, name)
	r.record(op{kind: "remove", name: name, node: n})
	return nil
}

// Mkdir implements [disk.FS]. Directories are there.
func (r *Recorder) Mkdir(string) error { return nil }

// SyncDir implements [disk.FS].
func (r *Recorder) SyncDir(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record(op{kind: "syncdir", name: dir})
	return nil
}

// recorded is an open file.
type recorded struct {
	r    *Recorder
	name string
	node int
}

func (f *recorded) do(o op) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	o.name, o.node = f.name, f.node
	f.r.nodes[f.node] = o.change(f.r.nodes[f.node], len(o.data))
	f.r.record(o)
}

func (f *recorded) WriteAt(p []byte, off int64) (int, error) {
	f.do(op{kind: "write", off: off, data: bytes.Clone(p)})
	return len(p), nil
}

func (f *recorded) Truncate(size int64) error {
	f.do(op{kind: "truncate", off: size})
	return nil
}

func (f *recorded) Sync() error {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.record(op{kind: "sync", name: f.name, node: f.node})
	return nil
}

func (f *recorded) Close() error { return nil }
