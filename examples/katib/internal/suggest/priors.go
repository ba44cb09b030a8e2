package suggest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// A source says where past experience is: an encoded prior, or a history to
// learn one from, in a file or behind a URL.
type source struct {
	kind  string // "prior" or "history", as the setting's name
	place string
}

// errUnreachable: a source could not be read for now.
var errUnreachable = errors.New("the source cannot be read")

// errFailed: what is wrong is the service.
var errFailed = errors.New("the service failed; its log says more")

// maxSource bounds the bytes of a source.
const maxSource = 64 << 20

// priors reads priors and keeps them, so that an experiment has one prior as
// long as the process runs.
type priors struct {
	dir  string   // of files; none if it is empty
	urls []string // beginnings of the URLs that may be asked for

	mu    sync.Mutex
	known map[string]*learning
}

// A learning is a prior in the making, or made once done is closed.
type learning struct {
	done  chan struct{}
	prior *cmbo.Prior
	err   error
}

// get returns the prior that an experiment names, for the experiment's space. It is
// read and learned once, on its own: experiments with other priors do not wait, and a
// request that is given up, as Katib's are after a minute, leaves it to the next. What
// fails is tried again by the next request.
func (p *priors) get(ctx context.Context, x *experiment, logf func(string, ...any)) (*cmbo.Prior, error) {
	b, err := json.Marshal(x.space.Space)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%q %q %q %q %v %v %s",
		x.prior, x.metric, x.limited, slices.Sorted(maps.Keys(x.context)), x.minimize, x.positive, b)
	p.mu.Lock()
	l := p.known[key]
	if l == nil {
		l = &learning{done: make(chan struct{})}
		if p.known == nil {
			p.known = map[string]*learning{}
		}
		p.known[key] = l
		go func() {
			defer close(l.done)
			if l.prior, l.err = p.make(context.WithoutCancel(ctx), x, logf); l.err != nil {
				p.mu.Lock()
				delete(p.known, key)
				p.mu.Unlock()
			}
		}()
	}
	p.mu.Unlock()
	select {
	case <-l.done:
		return l.prior, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("it is still being learned: %w", ctx.Err())
	}
}

// downloadTime bounds the reading of a source.
const downloadTime = 5 * time.Minute

// make reads a source and makes the prior of it.
func (p *priors) make(ctx context.Context, x *experiment, logf func(string, ...any)) (prior *cmbo.Prior, err error) {
	defer func() {
		if v := recover(); v != nil {
			logf("panic: %v\n%s", v, debug.Stack())
			err = errFailed
		}
	}()
	reading, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	r, err := p.open(reading, x.prior.place)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// All of it first: what breaks off is the source's fault, and not the experiment's.
	b, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if len(b) > maxSource {
		return nil, fmt.Errorf("more than %d bytes", maxSource)
	}
	return x.learn(ctx, b, logf)
}

// learn makes the prior from the bytes of its source.
func (x *experiment) learn(ctx context.Context, b []byte, logf func(string, ...any)) (*cmbo.Prior, error) {
	if x.prior.kind == "prior" {
		prior, err := cmbo.DecodePrior(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if same, err := sameSpace(prior.Space(), x.space.Space); same || err != nil {
			return prior, err
		}
		adopted, how, err := prior.Adopt(ctx, x.space.Space, cmbo.Changes{})
		if err == nil {
			logf("the prior was learned for other parameters: %s", how)
		}
		return adopted, err
	}
	var past *history.Result
	var err error
	outputs := history.Mapping{Outputs: map[string]string{}, Context: map[string]string{}}
	for name := range x.context {
		outputs.Context[name] = ""
	}
	for _, name := range x.limited {
		outputs.Outputs[name] = ""
	}
	for {
		past, err = x.read(bytes.NewReader(b), outputs)
		if err == nil {
			break
		}
		// The past may know nothing of a limit, and teaches the objective all the same.
		var lacking *history.RowError
		if !errors.Is(err, history.ErrColumn) || !errors.As(err, &lacking) || !slices.Contains(x.limited, lacking.Field) {
			return nil, err
		}
		logf("%s teaches nothing of %q: %v", x.prior.place, lacking.Field, err)
		delete(outputs.Outputs, lacking.Field)
	}
	logf("%s: %d tasks, %d evaluations, %d of them failed; %d were moved to the nearest step, %d passed over",
		x.prior.place, len(past.Tasks), past.Report.Accepted, past.Report.Failed, past.Report.Snapped, past.Report.PassedOver)
	if n := past.Report.Skipped; n > 0 {
		logf("%s: %d evaluations were left out, the first: %v", x.prior.place, n, past.Report.Errors[0])
	}
	var opts []cmbo.LearnOption
	if x.minimize {
		opts = append(opts, cmbo.WithMinimize())
	}
	if x.positive {
		opts = append(opts, cmbo.WithPositiveValues())
	}
	return cmbo.Learn(ctx, x.space.Space, past.Tasks, opts...)
}

// read reads a history with its outputs and descriptors.
func (x *experiment) read(r io.Reader, outputs history.Mapping) (*history.Result, error) {
	switch ext := path.Ext(x.prior.place); ext {
	case ".csv":
		return history.CSV{Space: x.space.Space, Mapping: outputs}.Read(r)
	case ".jsonl":
		return history.JSONLines{Space: x.space.Space, Mapping: outputs}.Read(r)
	case ".json":
		// Other experiments may have had other ranges.
		trials := history.Katib{Space: x.space.Space, Metric: x.metric, Outputs: slices.Sorted(maps.Keys(outputs.Outputs)),
			Direction: history.Maximize, Policy: history.Skip}
		if x.minimize {
			trials.Direction = history.Minimize
		}
		read, err := trials.Read(r)
		if err != nil {
			return nil, err
		}
		return &read.Result, nil
	default:
		return nil, fmt.Errorf("the name ends in %q, not in .csv, .jsonl or .json", ext)
	}
}

// open opens a source that the service's flags allow.
func (p *priors) open(ctx context.Context, place string) (io.ReadCloser, error) {
	if strings.Contains(place, "://") {
		return p.fetch(ctx, place)
	}
	if p.dir == "" {
		return nil, errors.New("the service has no folder of files (flag -dir)")
	}
	root, err := os.OpenRoot(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the service has no folder of files (flag -dir): %w; a volume is there for experiments with resumePolicy FromVolume", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer root.Close()
	return root.Open(place)
}

// allowed refuses a path with "..", which servers resolve in its escaped form, too.
func (p *priors) allowed(place string) error {
	begins := func(prefix string) bool { return strings.HasPrefix(place, prefix) }
	if u, err := url.Parse(place); err == nil && slices.ContainsFunc(p.urls, begins) && !strings.Contains(u.Path, "..") {
		return nil
	}
	return fmt.Errorf("%s is no URL that the service may ask for (flag -url)", place)
}

func (p *priors) fetch(ctx context.Context, url string) (io.ReadCloser, error) {
	if err := p.allowed(url); err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{CheckRedirect: func(q *http.Request, via []*http.Request) error {
		if len(via) > 5 {
			return errors.New("too many redirections")
		}
		return p.allowed(q.URL.String())
	}}
	a, err := client.Do(q)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if a.StatusCode != http.StatusOK {
		a.Body.Close()
		return nil, fmt.Errorf("%w: it answers %s", errUnreachable, a.Status)
	}
	return a.Body, nil
}
