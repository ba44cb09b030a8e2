package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/files"
)

// ErrTaken: another writer has gone on with the run.
var ErrTaken = errors.New("objectstore: another writer has gone on with the run")

// A Store is a bucket whose objects are created at most once, whoever else creates them.
// The stores of S3, Google Cloud and Azure see to that themselves, and so does the one in
// memory. The driver of files looks whether there is one and then writes, and of two
// writers at the same moment both may: there a lock on a file of the folder is held
// meanwhile, by all processes of a machine that use a Store.
type Store struct {
	*blob.Bucket
	lock string // name of the file, "" for none
}

// OpenStore opens the bucket of a URL: file:///folder, file://./folder, mem://, or those of other drivers
// that the program imports.
func OpenStore(ctx context.Context, bucket string) (*Store, error) {
	u, err := url.Parse(bucket)
	if err != nil {
		return nil, err
	}
	s := new(Store)
	if u.Scheme == fileblob.Scheme {
		folder := filepath.FromSlash(u.Path)
		if u.Host == "." || os.PathSeparator != '/' {
			folder = strings.TrimPrefix(folder, string(os.PathSeparator)) // file://./folder, file:///c:/folder
		}
		s.lock = filepath.Join(folder, ".create.lock")
	}
	s.Bucket, err = blob.OpenBucket(ctx, bucket)
	return s, err
}

// hold waits for the lock, if there is one, and returns how to release it.
func (s *Store) hold(ctx context.Context) (release func(), err error) {
	if s.lock == "" {
		return func() {}, nil
	}
	for {
		f, err := files.OpenLocked(s.lock, 0o666)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, files.ErrLocked) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// PutPrior stores a prior under its digest, which it returns, as "priors/" and the
// digest. It is encoded piece by piece. A prior that is there already is left alone: of
// equal names the content is equal.
func PutPrior(ctx context.Context, b *Store, p *cmbo.Prior) (digest string, err error) {
	if digest, err = p.Digest(); err != nil {
		return "", err
	}
	err = create(ctx, b, "priors/"+digest, p.Encode)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		err = nil
	}
	return digest, err
}

// own are the limits of what programs like this one have stored: none.
var own = cmbo.PriorLimits{
	Bytes: math.MaxInt64, Tasks: math.MaxInt, TaskRows: math.MaxInt, TotalRows: math.MaxInt, Points: math.MaxInt,
}

// Prior reads the prior of a digest, and fails with [cmbo.ErrCorrupt] if it has another.
func Prior(ctx context.Context, b *Store, digest string) (*cmbo.Prior, error) {
	r, err := b.NewReader(ctx, "priors/"+digest, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p, err := own.Decode(ctx, r)
	if err != nil {
		return nil, err
	}
	got, err := p.Digest()
	if err == nil && got != digest {
		err = fmt.Errorf("%w: the prior of digest %s is stored as %s", cmbo.ErrCorrupt, got, digest)
	}
	return p, err
}

// create writes an object, unless there is one of that name.
func create(ctx context.Context, b *Store, key string, write func(io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.NewWriter(ctx, key, &blob.WriterOptions{IfNotExist: true, ContentType: "application/octet-stream"})
	if err != nil {
		return err
	}
	release, err := b.hold(ctx)
	if err == nil {
		defer release()
		err = write(w)
	}
	if err != nil {
		cancel() // before Close, so that nothing is stored
		_ = w.Close()
		return err
	}
	return w.Close()
}

// Open begins a run whose journal lies in the bucket, or goes on with it, as
// [cmbo.ResumeJournal] does of a file. Each event is an object of its own,
// "runs/NAME/00000001" and so on, which is created only if there is none: of two writers
// that go on with one run, one creates the next segment, and all later calls of the other
// fail with [ErrTaken], having acknowledged nothing that the run does not hold. Who lost
// opens the run again. ctx is used by all later calls.
func Open(ctx context.Context, b *Store, name string, space *cmbo.Space, opts ...cmbo.Option) (*cmbo.Optimizer, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("objectstore: a run named %q", name)
	}
	j := &journal{ctx: ctx, bucket: b, run: "runs/" + name + "/", writer: rand.Text()}
	lines, err := j.read()
	if err != nil {
		return nil, err
	}
	o, valid, err := cmbo.ResumeJournal(bytes.NewReader(lines), space,
		append(opts[:len(opts):len(opts)], cmbo.WithJournal(j.write))...)
	if err == nil && valid < int64(len(lines)) {
		err = fmt.Errorf("%w: a segment of run %q ends within a line", cmbo.ErrCorrupt, name)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// journal writes segments. Each begins with a line that names its writer, so that one whose
// creation was not answered can be told from that of another writer, even if the lines are
// the same, as they are where both ask for the next trial.
type journal struct {
	ctx    context.Context
	bucket *Store
	run    string
	writer string
	next   int   // number of the next segment, less one
	err    error // why nothing can be written any more
}

func (j *journal) key(i int) string { return fmt.Sprintf("%s%08d", j.run, i+1) }

// read returns the lines of all segments.
func (j *journal) read() ([]byte, error) {
	var lines []byte
	for it := j.bucket.List(&blob.ListOptions{Prefix: j.run}); ; j.next++ {
		o, err := it.Next(j.ctx)
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		if o.Key != j.key(j.next) {
			return nil, fmt.Errorf("%w: %s in the place of %s", cmbo.ErrCorrupt, o.Key, j.key(j.next))
		}
		b, err := j.bucket.ReadAll(j.ctx, o.Key)
		if err != nil {
			return nil, err
		}
		i := bytes.IndexByte(b, '\n')
		if i < 0 || len(b) == i+1 {
			return nil, fmt.Errorf("%w: %s is no segment", cmbo.ErrCorrupt, o.Key)
		}
		lines = append(lines, b[i+1:]...)
	}
}

// write creates the next segment.
func (j *journal) write(lines []byte) error {
	if j.err != nil {
		return j.err
	}
	segment := append([]byte(j.writer+"\n"), lines...)
	err := create(j.ctx, j.bucket, j.key(j.next), func(w io.Writer) error {
		_, err := w.Write(segment)
		return err
	})
	if err != nil {
		// Whoever created the segment, it says so, unless nobody did.
		there, e := j.bucket.ReadAll(j.ctx, j.key(j.next))
		switch {
		case e == nil && bytes.Equal(there, segment):
			err = nil // by this writer, which was not told
		case e == nil:
			j.err = fmt.Errorf("%w: %s", ErrTaken, j.key(j.next))
			return j.err
		case gcerrors.Code(e) == gcerrors.NotFound:
			// The store may still create it: this writer cannot tell a later event from it.
			j.err = fmt.Errorf("objectstore: %s may come to be: open the run again: %w", j.key(j.next), err)
			return j.err
		default:
			j.err = fmt.Errorf("objectstore: nobody knows whether %s was created: open the run again: %w",
				j.key(j.next), errors.Join(err, e))
			return j.err
		}
	}
	j.next++
	return err
}
