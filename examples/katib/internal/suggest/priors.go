package suggest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

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

// maxSource bounds the bytes of a source.
const maxSource = 64 << 20

// priors reads priors and keeps them, so that an experiment has one prior as
// long as the process runs.
type priors struct {
	dir  string   // of files; none if it is empty
	urls []string // beginnings of the URLs that may be asked for

	mu    sync.Mutex
	known map[string]*cmbo.Prior
}

// get returns the prior that an experiment names, for the experiment's space.
func (p *priors) get(ctx context.Context, x *experiment, logf func(string, ...any)) (*cmbo.Prior, error) {
	b, err := json.Marshal(x.space.Space)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s %v %s", x.prior, x.minimize, b)
	p.mu.Lock()
	defer p.mu.Unlock()
	if prior := p.known[key]; prior != nil {
		return prior, nil
	}
	r, err := p.open(ctx, x.prior.place)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	limited := &io.LimitedReader{R: r, N: maxSource}
	prior, err := x.learn(ctx, limited, logf)
	if limited.N == 0 {
		return nil, fmt.Errorf("more than %d bytes", maxSource)
	}
	if err != nil {
		return nil, err
	}
	if p.known == nil {
		p.known = map[string]*cmbo.Prior{}
	}
	p.known[key] = prior
	return prior, nil
}

// learn makes the prior from the bytes of its source.
func (x *experiment) learn(ctx context.Context, r io.Reader, logf func(string, ...any)) (*cmbo.Prior, error) {
	if x.prior.kind == "prior" {
		prior, err := cmbo.DecodePrior(r)
		if err != nil {
			return nil, err
		}
		if same, err := sameSpace(prior.Space(), x.space.Space); same || err != nil {
			return prior, err
		}
		adopted, how, err := prior.Adopt(ctx, x.space.Space, cmbo.Changes{})
		if err == nil {
			logf("the prior was learned for other parameters: %d evaluations are taken over, %d lie outside; dropped %q", how.Rows, len(how.Outside), how.Dropped)
		}
		return adopted, err
	}
	var past *history.Result
	var err error
	switch ext := path.Ext(x.prior.place); ext {
	case ".csv":
		past, err = history.CSV{Space: x.space.Space}.Read(r)
	case ".jsonl":
		past, err = history.JSONLines{Space: x.space.Space}.Read(r)
	default:
		return nil, fmt.Errorf("the name ends in %q, not in .csv or .jsonl", ext)
	}
	if err != nil {
		return nil, err
	}
	var opts []cmbo.LearnOption
	if x.minimize {
		opts = append(opts, cmbo.WithMinimize())
	}
	return cmbo.Learn(ctx, x.space.Space, past.Tasks, opts...)
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
