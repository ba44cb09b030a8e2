package study

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/turns"
)

const (
	logSuffix  = ".log"
	markSuffix = ".mark"
)

// maxText bounds the name and the unit of an objective.
const maxText = 80

// Config says where and how a [Manager] works.
type Config struct {
	Dir    string
	FS     disk.FS // nil for the operating system's
	Limits Limits
	// Parallelism bounds the goroutines of one computation; 0 stands for 1, as
	// other requests use the other processors.
	Parallelism int
	// Report is told, when the directory is opened, of studies that could not be
	// opened; nil for nobody.
	Report func(id string, err error)
}

// A Manager has the studies and priors of a directory. Its methods may be called
// from any goroutine.
type Manager struct {
	fs       disk.FS
	dir      string
	limits   Limits
	parallel cmbo.Option // which a journal does not hold
	priors   *priors
	turns    *turns.Turns

	mu       sync.Mutex
	studies  map[string]*Study
	creating map[string]chan struct{} // closed when the creation has ended
	stopped  bool
}

// Open opens a directory, which is made if it is not there, and restores every
// study in it. A study that cannot be restored is kept as a damaged one; the
// others are not affected. The caller has a lock on the directory.
func Open(c Config) (*Manager, error) {
	m := &Manager{
		fs: c.FS, dir: c.Dir, limits: c.Limits, parallel: cmbo.WithParallelism(max(c.Parallelism, 1)),
		turns:   turns.New(runtime.GOMAXPROCS(0)),
		studies: map[string]*Study{}, creating: map[string]chan struct{}{},
	}
	if m.fs == nil {
		m.fs = disk.OS
	}
	dir := func(name string) string { return filepath.Join(c.Dir, name) }
	for _, d := range []string{c.Dir, dir("marks"), dir("studies"), dir("priors"), dir("names")} {
		if err := disk.MakeDir(m.fs, d); err != nil {
			return nil, err
		}
	}
	var err error
	if m.priors, err = openPriors(m.fs, dir("priors"), dir("names"), c.Limits); err != nil {
		return nil, err
	}
	ids, err := disk.List(m.fs, dir("studies"), logSuffix)
	if err != nil {
		return nil, err
	}
	m.restore(ids, c.Report)
	return m, nil
}

// restore restores studies, several at a time.
func (m *Manager) restore(ids []string, report func(string, error)) {
	slices.Sort(ids)
	restored := make([]*Study, len(ids))
	var wg sync.WaitGroup
	// More than there are processors, as some of them wait for the disk.
	places := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	for i, id := range ids {
		wg.Add(1)
		places <- struct{}{}
		go func() {
			defer func() { <-places; wg.Done() }()
			restored[i] = m.restoreStudy(id)
		}()
	}
	wg.Wait()
	for i, id := range ids {
		m.studies[id] = restored[i]
		if err := restored[i].damaged; err != nil && report != nil {
			report(id, err)
		}
	}
}

// restoreStudy restores one study, or makes a damaged one.
func (m *Manager) restoreStudy(id string) *Study {
	s, err := m.openStudy(context.Background(), id, nil)
	if err != nil {
		return &Study{header: header{ID: id}, damaged: &DamagedError{Err: err}}
	}
	return s
}

// A DamagedError says why a study could not be opened: it is damaged, or another version of the
// service stored it, which is [ErrOtherVersion].
type DamagedError struct{ Err error }

// Error tells the reason.
func (e *DamagedError) Error() string { return "the study could not be opened: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *DamagedError) Unwrap() error { return e.Err }

// openStudy opens a study. If next is not nil and its prior is another one than the study's, which is not looked at, the
// optimiser has that and writes nothing down until [Study.setPrior].
func (m *Manager) openStudy(ctx context.Context, id string, next *run) (*Study, error) {
	if !validName(id) {
		return nil, ErrName
	}
	mark, newest, err := openMark(m.fs, m.markPath(id))
	if err != nil {
		return nil, err
	}
	var rs, of []*record
	r := new(run)
	log, _, err := disk.OpenLog(m.fs, m.path(id), func(txs [][]byte) (err error) {
		if rs, err = decodeRecords(txs); err != nil {
			return err
		}
		if rs[0].Study.ID != id {
			return fmt.Errorf("%w: it is the log of study %q", disk.ErrDamaged, rs[0].Study.ID)
		}
		of, r.before, r.of = newestJournal(rs)
		if r.before < newest.Before {
			return fmt.Errorf("%w: the log ends before another prior was given, which was acknowledged", disk.ErrDamaged)
		}
		if n := lines(of); r.before == newest.Before && n < newest.Lines {
			return fmt.Errorf("%w: the log ends after line %d of the journal, and line %d was acknowledged",
				disk.ErrDamaged, n, newest.Lines)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := newStudy(*rs[0].Study, m.limits, m.turns)
	s.log, s.mark, s.marked = log, mark, newest
	opts := []cmbo.Option{m.parallel}
	if next != nil && next.of.Prior != r.of.Prior {
		if r.prior, err = m.priors.forSpace(ctx, next.prior, next.of.Prior, spaceOf(of)); err == nil {
			opts = append(opts, cmbo.WithNewPrior(r.prior))
		}
	} else {
		opts = append(opts, cmbo.WithJournal(s.write))
		if r.of.Prior != "" {
			if r.prior, _, err = m.priors.suited(ctx, r.of.Prior, spaceOf(of)); err == nil {
				opts = append(opts, cmbo.WithPrior(r.prior))
			}
		}
	}
	if err == nil {
		s.describe(r.prior)
		if newest.Lines > 0 && newest.Before == r.before {
			opts = append(opts, cmbo.WithJournalMark(newest.JournalMark))
		}
		switch err = s.restore(rs, of, r, opts); {
		case errors.Is(err, cmbo.ErrVersion):
			err = fmt.Errorf("%w: %w", ErrOtherVersion, err)
		case errors.Is(err, cmbo.ErrCorrupt):
			err = fmt.Errorf("%w: %w", disk.ErrDamaged, err)
		}
	}
	if err != nil {
		_ = log.Close()
		return nil, err
	}
	return s, nil
}

// describe sets what a study knows of its prior.
func (s *Study) describe(prior *cmbo.Prior) {
	s.minimize, s.modelName = s.header.Options.Minimize, "Gaussian process without a prior"
	s.positive = s.header.Options.Positive || prior != nil && prior.PositiveValues()
	if prior != nil {
		s.minimize, s.modelName = prior.Minimizes(), "hierarchical prior"
	}
}

// Limits returns the limits. They must not be changed.
func (m *Manager) Limits() *Limits { return &m.limits }

func (m *Manager) path(id string) string {
	return filepath.Join(m.dir, "studies", id+logSuffix)
}

func (m *Manager) markPath(id string) string {
	return filepath.Join(m.dir, "marks", id+markSuffix)
}

// Create makes a study; fingerprint is that of the request. If the same request
// made a study before, that is returned, and again is true.
func (m *Manager) Create(ctx context.Context, fingerprint string, q *api.NewStudy) (s *Study, again bool, err error) {
	if !validName(q.ID) {
		return nil, false, ErrName
	}
	if err := m.reserve(ctx, q.ID); err != nil {
		return nil, false, err
	}
	defer m.release(q.ID)
	m.mu.Lock()
	old, count := m.studies[q.ID], len(m.studies)+len(m.creating)
	m.mu.Unlock()
	if old != nil {
		if old.damaged != nil { // whose request made it is not known
			return nil, false, old.damaged
		}
		if old.header.Request == fingerprint {
			return old, true, old.settle(ctx)
		}
		return nil, false, ErrStudyExists
	}
	if err := room("studies", count, m.limits.Studies); err != nil {
		return nil, false, err
	}
	if s, err = m.make(ctx, fingerprint, q); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.studies[q.ID] = s
	return s, false, nil
}

// make makes a study whose ID is reserved.
func (m *Manager) make(ctx context.Context, fingerprint string, q *api.NewStudy) (*Study, error) {
	if err := checkSpace(q.Space, &m.limits); err != nil {
		return nil, err
	}
	opts, err := runOptions(&q.Options, &m.limits)
	if err != nil {
		return nil, err
	}
	about, err := q.Options.Context.Context().Normal()
	if err != nil {
		return nil, err
	}
	for _, text := range []string{q.Objective, q.Unit} {
		if err := within("bytes of an objective's name or unit", len(text), maxText); err != nil {
			return nil, err
		}
	}
	prior, h, keep, err := m.priorFor(ctx, q) // last, as it may take long
	if err != nil {
		return nil, err
	}
	if prior != nil && about != nil {
		opts = append(opts, cmbo.WithContext(about))
	}
	h.ID, h.Request, h.Optimum, h.Options, h.Objective, h.Unit = q.ID, fingerprint, q.Optimum, q.Options,
		q.Objective, q.Unit
	s := newStudy(h, m.limits, m.turns)
	s.describe(prior)
	opts = append(opts, m.parallel)
	if prior != nil {
		opts = append(opts, cmbo.WithPrior(prior))
	}
	err = m.turns.Job(ctx, func() error {
		return s.create(m.fs, m.path(q.ID), m.markPath(q.ID), q.Space, prior, keep, opts)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// priorFor finds or learns the prior that a new study asks for, nil if it asks for none, and returns a function that
// keeps it, for when nothing but the disk can refuse the study any more.
func (m *Manager) priorFor(ctx context.Context, q *api.NewStudy) (prior *cmbo.Prior, h header, keep func() error,
	err error) {
	keep = func() error { return nil }
	switch {
	case q.Prior != "" && q.Learn != nil:
		return nil, h, nil, fmt.Errorf("%w: both prior and learn", ErrRequest)
	case q.Learn != nil:
		params, err := cmbo.NewSpace(q.Space.Params()...)
		if err != nil {
			return nil, h, nil, err
		}
		learned, _, err := m.learn(ctx, params, q.Learn)
		if err != nil {
			return nil, h, nil, err
		}
		if h.Prior, err = learned.Digest(); err != nil {
			return nil, h, nil, err
		}
		_ = m.priors.hold(q.ID, h.Prior) // there may be none yet
		err = m.turns.Job(ctx, func() (err error) {
			// Studies whose priors are the same share one.
			learned, err = m.priors.once(ctx, h.Prior, func() (*cmbo.Prior, error) { return learned, nil })
			if err == nil {
				prior, err = m.priors.forSpace(ctx, learned, h.Prior, q.Space)
			}
			return err
		})
		keep = func() error {
			_, err := m.priors.put(learned, "")
			return err
		}
		return prior, h, keep, err
	case q.Prior == "":
		return nil, h, keep, nil
	}
	err = m.priors.hold(q.ID, q.Prior)
	if err == nil {
		err = m.turns.Job(ctx, func() (err error) {
			prior, h.priorOf, err = m.priors.suited(ctx, q.Prior, q.Space)
			return err
		})
	}
	if errors.Is(err, ErrUnknownPrior) {
		err = fmt.Errorf("%w: prior %q: %v", ErrRequest, q.Prior, err)
	}
	return prior, h, keep, err
}

// SetPrior has a study go on with the prior of a name or a digest, also one that could not be opened because that which it
// had is of another version, damaged or gone. It fails with [cmbo.ErrPriorMismatch] for a study without a prior, and for a
// prior of other parameters or another direction of values. If it fails nothing has changed.
func (m *Manager) SetPrior(ctx context.Context, id, ref string) (*Study, error) {
	if err := m.reserve(ctx, id); err != nil {
		return nil, err
	}
	defer m.release(id)
	old, err := m.Study(id)
	if err != nil {
		return nil, err
	}
	if err := m.priors.hold(id, ref); err != nil {
		return nil, err
	}
	s, next := old, &run{}
	err = m.turns.Job(ctx, func() (err error) {
		if next.prior, next.of, err = m.priors.get(ctx, ref); err != nil {
			return err
		}
		if old.damaged != nil {
			if s, err = m.openStudy(ctx, id, next); err != nil {
				return err
			}
		}
		next.prior, err = m.priors.forSpace(ctx, next.prior, next.of.Prior, s.Space())
		return err
	})
	if err == nil {
		err = s.setPrior(ctx, next, m.parallel)
	}
	if err != nil {
		if s != nil && s != old {
			_ = s.stop(err)
		}
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.studies[id] = s
	return s, nil
}

// reserve waits until nobody else creates, deletes or gives another prior to a study of an ID.
func (m *Manager) reserve(ctx context.Context, id string) error {
	for {
		m.mu.Lock()
		busy, taken := m.creating[id]
		if m.stopped {
			m.mu.Unlock()
			return ErrStopped
		}
		if !taken {
			m.creating[id] = make(chan struct{})
			m.mu.Unlock()
			return nil
		}
		m.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Manager) release(id string) {
	m.priors.release(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.creating[id])
	delete(m.creating, id)
}

// Study returns the study of an ID.
func (m *Manager) Study(id string) (*Study, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.studies[id]; s != nil {
		return s, nil
	}
	return nil, ErrUnknownStudy
}

// Studies returns all studies, ordered by ID.
func (m *Manager) Studies() []*Study {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Study
	for _, id := range slices.Sorted(maps.Keys(m.studies)) {
		out = append(out, m.studies[id])
	}
	return out
}

// Delete removes a study and its log for good. If it fails the study is still
// there, unless the error is [ErrRemoved].
func (m *Manager) Delete(ctx context.Context, id string) error {
	if err := m.reserve(ctx, id); err != nil {
		return err
	}
	defer m.release(id)
	s, err := m.Study(id)
	if err != nil {
		return err
	}
	gone := false
	if s.damaged != nil {
		err = disk.Remove(m.fs, m.path(id))
		_, missing := disk.Size(m.fs, m.path(id))
		gone = errors.Is(missing, disk.ErrMissing)
	} else {
		gone, err = s.remove(ctx)
	}
	if !gone {
		return err
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrRemoved, err)
	}
	_ = disk.Remove(m.fs, m.markPath(id)) // one that is left goes when the ID is given again
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.studies, id)
	return err
}

// DeletePrior removes the prior of a name or a digest for good, with all its names, which are free for others then. It
// fails with a [PriorInUseError] while studies run with it. If it fails the prior is still there, unless the error is
// [ErrRemoved]; what is left then of its names goes with another DeletePrior.
func (m *Manager) DeletePrior(ref string) error {
	return m.priors.remove(ref, func(digest string) (ids []string, err error) {
		m.mu.Lock()
		stopped := m.stopped
		m.mu.Unlock()
		if stopped {
			return nil, ErrStopped
		}
		for _, s := range m.Studies() {
			uses, err := m.runsWith(s, digest)
			if err != nil {
				return nil, err
			}
			if uses {
				ids = append(ids, s.ID())
			}
		}
		return ids, nil
	})
}

// runsWith reports whether a study runs with the prior of a digest. Of one that could not be opened, or whose log may hold
// a change that was not acknowledged, it does if the log names it anywhere.
func (m *Manager) runsWith(s *Study, digest string) (bool, error) {
	if s.damaged == nil && s.settled() == nil {
		of, _ := s.Prior()
		return of == digest, nil
	}
	b, err := disk.ReadFile(m.fs, m.path(s.ID()))
	if errors.Is(err, disk.ErrMissing) { // it was deleted meanwhile
		return false, nil
	}
	return bytes.Contains(b, []byte(digest)), err
}

// Expire ends the open trials of all studies whose deadline, in milliseconds since
// 1970, is not after now. It returns what failed; what a full disk does not let it
// write is left for the next call.
func (m *Manager) Expire(ctx context.Context, now int64) error {
	var errs []error
	for _, s := range m.Studies() {
		if s.damaged != nil {
			continue
		}
		if err := s.expire(ctx, now); err != nil && !errors.Is(err, ErrUnknownStudy) && !errors.Is(err, ErrStopped) {
			errs = append(errs, fmt.Errorf("study %s: %w", s.ID(), err))
		}
	}
	return errors.Join(errs...)
}

// Close waits for requests under way, lets no more in and closes all files.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	var errs []error
	for _, s := range m.Studies() {
		errs = append(errs, s.stop(ErrStopped))
	}
	return errors.Join(errs...)
}
