// Package disktest is a file system in memory that fails and loses power where
// a test wants it to.
//
// It is as unkind as real ones are: a write that fails may have written a part,
// a sync that fails forgets what it should have written and lets the next one
// succeed, and what was not synced may last, or in part, or not at all.
package disktest

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

// page is the size of what is written to the medium at once, small so that
// short files have many.
const page = 16

// An FS is a file system in memory. Make one with [New]. It is safe for
// concurrent use.
type FS struct {
	mu    sync.Mutex
	rng   *rand.Rand
	seen  map[string]*node // names as processes see them
	named map[string]*node // names that would last
	dirs  map[string]bool
	count int
	fault func(n int, op string) error
	era   int // goes up when the process ends: files of before are dead
}

// node is a file's content.
type node struct {
	seen  []byte       // as processes see it
	disk  []byte       // as it would last
	dirty map[int]bool // pages written since the last sync
}

// New returns an empty file system; rng decides how much of what was not synced
// survives.
func New(rng *rand.Rand) *FS {
	return &FS{rng: rng, seen: map[string]*node{}, named: map[string]*node{}, dirs: map[string]bool{}}
}

// Fault has fault called before each operation that changes something, with
// their number so far and a name: create, open, write, truncate, sync, rename,
// remove, mkdir, syncdir. The operation fails with its result. Nil ends it. The
// count starts again.
func (f *FS) Fault(fault func(n int, op string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.count = fault, 0
}

// Count returns the number of operations since the last call of Fault.
func (f *FS) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

func (f *FS) try(op string) error {
	f.count++
	if f.fault == nil {
		return nil
	}
	return f.fault(f.count, op)
}

// Kill ends the process that uses the files: those that are open are dead, and
// everything written is there, synced or not.
func (f *FS) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.era++
}

// PowerFailure leaves what lasts, and by chance some of the rest: the pages
// written first, and directories as they were or as they are.
func (f *FS) PowerFailure() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.era++
	for dir := range f.directories() {
		if f.rng.IntN(2) == 0 {
			f.syncDir(dir)
		}
	}
	f.seen = maps.Clone(f.named)
	for _, n := range f.seen {
		pages := slices.Sorted(maps.Keys(n.dirty))
		n.flush(pages[:f.rng.IntN(len(pages)+1)])
		if len(n.seen) < len(n.disk) && f.rng.IntN(2) == 0 {
			n.disk = n.disk[:len(n.seen)]
		}
		n.seen, n.dirty = slices.Clone(n.disk), map[int]bool{}
	}
}

func (f *FS) directories() map[string]bool {
	dirs := map[string]bool{}
	for name := range f.seen {
		dirs[filepath.Dir(name)] = true
	}
	for name := range f.named {
		dirs[filepath.Dir(name)] = true
	}
	return dirs
}

func (f *FS) syncDir(dir string) {
	maps.DeleteFunc(f.named, func(name string, _ *node) bool { return filepath.Dir(name) == dir })
	for name, n := range f.seen {
		if filepath.Dir(name) == dir {
			f.named[name] = n
		}
	}
}

// flush writes pages to the medium.
func (n *node) flush(pages []int) {
	for _, p := range pages {
		lo, hi := p*page, min((p+1)*page, len(n.seen))
		if lo >= hi {
			continue
		}
		if len(n.disk) < hi {
			n.disk = append(n.disk, make([]byte, hi-len(n.disk))...)
		}
		copy(n.disk[lo:hi], n.seen[lo:hi])
	}
}

// Mkdir implements [disk.FS].
func (f *FS) Mkdir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.try("mkdir"); err != nil {
		return err
	}
	f.dirs[dir] = true
	return nil
}

// Create implements [disk.FS].
func (f *FS) Create(name string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.try("create"); err != nil {
		return nil, err
	}
	f.seen[name] = &node{dirty: map[int]bool{}}
	return &file{fs: f, node: f.seen[name], era: f.era}, nil
}

// Open implements [disk.FS].
func (f *FS) Open(name string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.try("open"); err != nil {
		return nil, err
	}
	n, ok := f.seen[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{fs: f, node: n, era: f.era}, nil
}

// ReadFile implements [disk.FS].
func (f *FS) ReadFile(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.seen[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(n.seen), nil
}

// Size implements [disk.FS].
func (f *FS) Size(name string) (int64, error) {
	b, err := f.ReadFile(name)
	return int64(len(b)), err
}

// ReadDir implements [disk.FS].
func (f *FS) ReadDir(dir string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name := range f.seen {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Rename implements [disk.FS].
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.try("rename"); err != nil {
		return err
	}
	n, ok := f.seen[from]
	if !ok {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	delete(f.seen, from)
	f.seen[to] = n
	return nil
}

// Remove implements [disk.FS].
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.try("remove"); err != nil {
		return err
	}
	if _, ok := f.seen[name]; !ok {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(f.seen, name)
	return nil
}

// SyncDir implements [disk.FS].
func (f *FS) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.try("syncdir"); err != nil {
		return err
	}
	f.syncDir(dir)
	return nil
}

// file is an open file.
type file struct {
	fs   *FS
	node *node
	era  int
}

func (h *file) try(op string) error {
	if h.era != h.fs.era {
		return fs.ErrClosed
	}
	return h.fs.try(op)
}

func (h *file) WriteAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	err := h.try("write")
	if err != nil {
		p = p[:h.fs.rng.IntN(len(p)+1)]
	}
	n, end := h.node, int(off)+len(p)
	if len(p) == 0 {
		return 0, err
	}
	if len(n.seen) < end {
		n.seen = append(n.seen, make([]byte, end-len(n.seen))...)
	}
	copy(n.seen[off:end], p)
	for i := int(off) / page; i <= (end-1)/page; i++ {
		n.dirty[i] = true
	}
	return len(p), err
}

func (h *file) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.try("truncate"); err != nil {
		return err
	}
	n := h.node
	if int(size) < len(n.seen) {
		n.seen = n.seen[:size:size]
	}
	return nil
}

func (h *file) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	n := h.node
	if err := h.try("sync"); err != nil {
		pages := slices.Sorted(maps.Keys(n.dirty))
		n.flush(pages[:min(len(pages), h.fs.rng.IntN(2*len(pages)+1))]) // everything, half of the time
		n.dirty = map[int]bool{}                                        // the rest is forgotten, and the next sync will not know
		return err
	}
	n.flush(slices.Sorted(maps.Keys(n.dirty)))
	if len(n.disk) > len(n.seen) {
		n.disk = n.disk[:len(n.seen)]
	}
	n.dirty = map[int]bool{}
	return nil
}

func (h *file) Close() error { return nil }
