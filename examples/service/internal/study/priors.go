package study

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"weak"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

const (
	priorSuffix = ".prior"
	nameSuffix  = ".name"
)

// priors keeps priors by the digest of their content. It never changes one,
// so a digest, and a name once it was given, mean the same until the prior is
// removed. A prior is decoded when a study first needs it, and shared from then on.
type priors struct {
	fs     disk.FS
	dir    string // of the files <digest>.prior
	names  string // of the files <name>.name
	limits Limits

	mu     sync.Mutex
	size   map[string]int // by digest: bytes
	byName map[string]string
	cache  map[string]*cmbo.Prior              // by digest
	lists  map[string]weak.Pointer[cmbo.Prior] // by digest and list of candidates, while a study has it
	making map[string]chan struct{}            // by key of either: closed when that has ended
	held   map[string]string                   // by ID of a study that is being made or given another prior: digest
}

func openPriors(fsys disk.FS, dir, names string, limits Limits) (*priors, error) {
	p := &priors{
		fs: fsys, dir: dir, names: names, limits: limits,
		size: map[string]int{}, byName: map[string]string{}, cache: map[string]*cmbo.Prior{},
		lists: map[string]weak.Pointer[cmbo.Prior]{}, making: map[string]chan struct{}{}, held: map[string]string{},
	}
	digests, err := disk.List(fsys, dir, priorSuffix)
	if err != nil {
		return nil, err
	}
	for _, d := range digests {
		if p.size[d], err = disk.Size(fsys, p.file(d)); err != nil {
			return nil, err
		}
	}
	given, err := disk.List(fsys, names, nameSuffix)
	if err != nil {
		return nil, err
	}
	for _, n := range given {
		b, err := disk.ReadFile(fsys, filepath.Join(names, n+nameSuffix))
		if err != nil {
			return nil, err
		}
		// The prior may be gone; the name is not free for another then.
		p.byName[n] = string(bytes.TrimSpace(b))
	}
	return p, nil
}

func (p *priors) file(digest string) string { return filepath.Join(p.dir, digest+priorSuffix) }

func (p *priors) nameFile(name string) string { return filepath.Join(p.names, name+nameSuffix) }

// put keeps a prior, gives it a name, if that is not empty, and returns its digest. One
// that is refused its name is not kept.
func (p *priors) put(prior *cmbo.Prior, name string) (string, error) {
	if name != "" && !validName(name) {
		return "", ErrName
	}
	digest, err := prior.Digest()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := prior.Encode(&b); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	named, bound := p.byName[name]
	switch {
	case name == "":
		bound = true
	case bound && named != digest:
		return "", ErrNameTaken
	case !bound:
		if err := room("names of priors", len(p.byName)+1, p.limits.Priors); err != nil {
			return "", err
		}
	}
	if _, ok := p.size[digest]; !ok {
		if err := room("priors", len(p.size)+1, p.limits.Priors); err != nil {
			return "", err
		}
	}
	// A file that is damaged is written again.
	if kept, err := disk.ReadFile(p.fs, p.file(digest)); err != nil || !bytes.Equal(kept, b.Bytes()) {
		if err := disk.WriteFile(p.fs, p.file(digest), b.Bytes()); err != nil {
			return "", err
		}
		p.size[digest], p.cache[digest] = b.Len(), prior
	}
	if !bound {
		if err := disk.WriteFile(p.fs, p.nameFile(name), []byte(digest+"\n")); err != nil {
			return "", err
		}
		p.byName[name] = digest
	}
	return digest, nil
}

// resolve returns the digest that a name or a digest stands for, also where no prior of it is kept, as the error says
// then. The lock is held.
func (p *priors) resolve(ref string) (string, error) {
	digest, ok := p.byName[ref]
	if !ok {
		digest = ref
	}
	if _, ok := p.size[digest]; !ok {
		return digest, ErrUnknownPrior
	}
	return digest, nil
}

// hold keeps the prior of a name or a digest from being removed until release, for a study that is reserved. It fails if
// there is none; a digest is held for a prior that is kept later, too.
func (p *priors) hold(id, ref string) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[id], err = p.resolve(ref)
	return err
}

func (p *priors) release(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, id)
}

// remove removes the prior of a name or a digest, which no study of users may run with, and its names. The file goes
// first and the name asked for last, so that the same again finds all that was left: names without a file stand for no
// prior and are not free.
func (p *priors) remove(ref string, users func(digest string) ([]string, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	digest, named := p.byName[ref]
	if !named {
		digest = ref
	}
	names := p.namesOf(digest)
	if named {
		names = append(slices.DeleteFunc(names, func(name string) bool { return name == ref }), ref)
	}
	if _, kept := p.size[digest]; !kept && names == nil {
		return ErrUnknownPrior
	}
	ids, err := users(digest)
	if err != nil {
		return err
	}
	for id, held := range p.held {
		if held == digest && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if ids != nil {
		slices.Sort(ids)
		return &PriorInUseError{Studies: ids}
	}
	err = disk.Remove(p.fs, p.file(digest))
	if err != nil {
		if _, gone := disk.Size(p.fs, p.file(digest)); !errors.Is(gone, disk.ErrMissing) {
			return err
		}
	}
	delete(p.size, digest)
	delete(p.cache, digest)
	for _, name := range names {
		if err == nil {
			if err = disk.Remove(p.fs, p.nameFile(name)); err == nil {
				delete(p.byName, name)
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrRemoved, err)
	}
	return err
}

// read reads the file of a digest that was resolved, which may have been removed since.
func (p *priors) read(digest string) ([]byte, error) {
	b, err := disk.ReadFile(p.fs, p.file(digest))
	if errors.Is(err, disk.ErrMissing) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, kept := p.size[digest]; !kept {
			err = ErrUnknownPrior
		}
	}
	return b, err
}

// get returns the prior of a name or a digest, and what a study that was given it by that says of it.
func (p *priors) get(ctx context.Context, ref string) (*cmbo.Prior, priorOf, error) {
	p.mu.Lock()
	digest, err := p.resolve(ref)
	p.mu.Unlock()
	if err != nil {
		return nil, priorOf{}, err
	}
	of := priorOf{Prior: digest}
	if ref != digest {
		of.PriorName = ref
	}
	prior, err := p.once(ctx, digest, func() (*cmbo.Prior, error) { return p.load(ctx, digest) })
	return prior, of, err
}

// once returns the prior of a key, which the first that asks for it makes, outside of the lock.
func (p *priors) once(ctx context.Context, key string, f func() (*cmbo.Prior, error)) (prior *cmbo.Prior, err error) {
	for {
		p.mu.Lock()
		prior, busy := cmp.Or(p.cache[key], p.lists[key].Value()), p.making[key]
		if prior == nil && busy == nil {
			break
		}
		p.mu.Unlock()
		if prior != nil {
			return prior, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.making[key] = make(chan struct{})
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, kept := p.size[key]; err == nil && kept {
			p.cache[key] = prior
		} else if err == nil {
			maps.DeleteFunc(p.lists, func(_ string, w weak.Pointer[cmbo.Prior]) bool { return w.Value() == nil })
			p.lists[key] = weak.Make(prior)
		}
		close(p.making[key])
		delete(p.making, key)
	}()
	return f()
}

// load decodes a prior.
func (p *priors) load(ctx context.Context, digest string) (*cmbo.Prior, error) {
	b, err := p.read(digest)
	if err != nil {
		return nil, err
	}
	prior, err := decodeKept(ctx, b)
	if err == nil && !endsIn(b, digest) {
		err = errors.New("it has another digest")
	}
	if err != nil && ctx.Err() == nil {
		why := disk.ErrDamaged
		if errors.Is(err, cmbo.ErrVersion) && endsIn(b, digest) && sealed(b) {
			why = ErrOtherVersion
		}
		err = fmt.Errorf("%w: prior %s: %w", why, digest, err)
	}
	return prior, err
}

func decodePrior(ctx context.Context, b []byte, l *Limits) (*cmbo.Prior, error) {
	limits := cmbo.PriorLimits{
		Bytes: int64(l.PriorBytes), Tasks: l.Tasks, TaskRows: l.TaskRows, TotalRows: l.TotalRows, Points: l.Index,
	}
	return limits.Decode(ctx, bytes.NewReader(b))
}

// decodeKept decodes a prior that was kept, whatever the limits were then.
func decodeKept(ctx context.Context, b []byte) (*cmbo.Prior, error) {
	const any = math.MaxInt
	limits := cmbo.PriorLimits{Bytes: math.MaxInt64 - 1, Tasks: any, TaskRows: any, TotalRows: any, Points: any}
	return limits.Decode(ctx, bytes.NewReader(b))
}

// endsIn reports whether an encoded prior has a digest: its last bytes are it.
func endsIn(b []byte, digest string) bool {
	return len(b) >= sha256.Size && hex.EncodeToString(b[len(b)-sha256.Size:]) == digest
}

// sealed reports whether the last bytes of an encoded prior are the sum of the others.
func sealed(b []byte) bool {
	end := len(b) - sha256.Size
	sum := sha256.Sum256(b[:end])
	return bytes.Equal(b[end:], sum[:])
}

// encoded returns a prior's encoded form.
func (p *priors) encoded(ref string) ([]byte, error) {
	p.mu.Lock()
	digest, err := p.resolve(ref)
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return p.read(digest)
}

// suited returns the prior of a name or a digest for studies over a space, and what they say of it.
func (p *priors) suited(ctx context.Context, ref string, space *cmbo.Space) (*cmbo.Prior, priorOf, error) {
	prior, of, err := p.get(ctx, ref)
	if err == nil {
		prior, err = p.forSpace(ctx, prior, of.Prior, space)
	}
	return prior, of, err
}

// forSpace returns the prior of a digest with the candidates of a space carried to it, which takes megabytes for a
// thousand of them: all studies that run with it over one list share it, and its digest is the same.
func (p *priors) forSpace(ctx context.Context, prior *cmbo.Prior, digest string, space *cmbo.Space) (*cmbo.Prior, error) {
	if space == nil || space.NumCandidates() == 0 {
		return prior, nil
	}
	b, err := space.MarshalJSON()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return p.once(ctx, digest+hex.EncodeToString(sum[:]), func() (*cmbo.Prior, error) { return prior.Reindex(ctx, space) })
}

// PriorFile is a prior as it is kept.
type PriorFile struct {
	Digest string
	Names  []string
	Bytes  int
}

// list returns all priors, ordered by digest.
func (p *priors) list() []PriorFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []PriorFile
	for _, d := range slices.Sorted(maps.Keys(p.size)) {
		out = append(out, PriorFile{Digest: d, Names: p.namesOf(d), Bytes: p.size[d]})
	}
	return out
}

func (p *priors) namesOf(digest string) []string {
	var names []string
	for n, d := range p.byName {
		if d == digest {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}
