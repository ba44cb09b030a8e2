// Package web serves studies over HTTP: JSON under /v1, pages for people
// elsewhere.
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
)

// Config says what a [Server] serves, and how.
type Config struct {
	Studies *study.Manager
	Access
	// Body bounds the bytes of a body that creates a study or a prior; other
	// bodies are bounded by 64 KiB, or by it if it is less.
	Body int64
	// Bodies bounds the bytes of all large bodies that are read or worked on at
	// once; requests wait for room. At least Body.
	Bodies int64
	// Timeout bounds the time one request may wait and compute.
	Timeout time.Duration
	// Refresh is after how many seconds pages load themselves again; 0 stands
	// for never.
	Refresh int
	// Now is the clock that deadlines of trials are set by; nil for the system's.
	Now func() time.Time
	// Log is told of failures of the service, not of bad requests; nil for the
	// standard logger.
	Log *log.Logger
}

// DefaultBody is the usual bound of a large body, DefaultTimeout of a request.
const (
	DefaultBody    = 16 << 20
	DefaultBodies  = 2 * DefaultBody
	DefaultTimeout = time.Minute

	smallBody = 64 << 10
)

// A Server is the HTTP handler.
type Server struct {
	Config
	mux           *http.ServeMux
	large         room // for bodies of more than smallBody
	nodes, values int  // that a body may have
}

// New returns a server.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = log.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{Config: c, mux: http.NewServeMux()}
	s.large.free = max(c.Body, c.Bodies)
	s.nodes, s.values = shape(c.Studies.Limits())
	small := min(smallBody, c.Body)

	s.handle("GET /v1/studies", 0, s.listStudies)
	s.handle("POST /v1/studies", c.Body, s.createStudy)
	s.handle("GET /v1/studies/{id}", 0, s.showStudy)
	s.handle("DELETE /v1/studies/{id}", 0, s.deleteStudy)
	s.handle("POST /v1/studies/{id}/ask", small, s.ask)
	s.handle("POST /v1/studies/{id}/trials/{trial}/tell", small, s.tell)
	s.handle("POST /v1/studies/{id}/trials/{trial}/fail", small, s.fail)
	s.handle("POST /v1/studies/{id}/trials/{trial}/cancel", small, s.cancel)
	s.handle("POST /v1/studies/{id}/observe", small, s.observe)
	s.handle("POST /v1/studies/{id}/enqueue", small, s.enqueue)
	s.handle("POST /v1/studies/{id}/predict", small, s.predict)
	s.handle("GET /v1/studies/{id}/best", 0, s.best)
	s.handle("GET /v1/studies/{id}/trials", 0, s.listTrials)
	s.handle("GET /v1/studies/{id}/trials/{trial}", 0, s.showTrial)
	s.handle("GET /v1/studies/{id}/diagnostics", 0, s.diagnostics)
	s.handle("GET /v1/studies/{id}/snapshot", 0, s.snapshot)
	s.handle("GET /v1/priors", 0, s.listPriors)
	s.handle("POST /v1/priors", c.Body, s.learnPrior)
	s.handle("PUT /v1/priors/{name}", c.Body, s.putPrior)
	s.handle("POST /v1/priors/{name}/adopt", c.Body, s.adopt)
	s.handle("GET /v1/priors/{name}", 0, s.showPrior)
	s.handle("GET /v1/priors/{name}/encoded", 0, s.encodedPrior)
	s.handle("GET /v1/health", 0, s.health)
	s.mux.HandleFunc("GET /{$}", s.index)
	s.mux.HandleFunc("GET /studies/{id}", s.page)
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Pages have inline styles and nothing else.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'")
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler {
				panic(v)
			}
			s.Log.Printf("panic: %s %s: %v\n%s", r.Method, r.URL.Path, v, debug.Stack())
			s.reply(w, http.StatusInternalServerError, &api.Error{Error: api.Detail{Code: "internal", Message: "the service failed; its log says more"}})
		}
	}()
	if err := s.admit(w, r); err != nil {
		s.refuse(w, r, err)
		return
	}
	// The mux would redirect paths that are not clean, and say in plain text
	// what it does not serve.
	if r.URL.Path != path.Clean(r.URL.Path) || r.Method == http.MethodConnect {
		s.refuse(w, r, errNotServed)
		return
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.refuse(w, r, s.methods(w, r))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	s.mux.ServeHTTP(w, r.WithContext(ctx))
}

// methods finds out why no pattern matches: the path or the method.
func (s *Server) methods(w http.ResponseWriter, r *http.Request) error {
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		probe := &http.Request{Method: m, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(probe); pattern != "" {
			allowed = append(allowed, m)
		}
	}
	if allowed == nil {
		return errNotServed
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return errMethod
}

// request is a request to the JSON interface.
type request struct {
	*http.Request
	server *Server
	body   []byte // nil for methods without one
	head   http.Header
}

// handle serves a pattern by a function that returns what to reply. Bodies of
// more than limit bytes are refused.
func (s *Server) handle(pattern string, limit int64, f func(*request) (status int, reply any, err error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, server: s, head: w.Header()}
		var err error
		if limit > 0 {
			var done func()
			q.body, done, err = s.readBody(w, r, limit)
			defer done()
		}
		if err == nil {
			var status int
			var reply any
			if status, reply, err = f(q); err == nil {
				s.reply(w, status, reply)
				return
			}
		}
		s.refuse(w, r, err)
	})
}

// raw is a reply that is not JSON made here.
type raw struct {
	kind    string
	content []byte
}

// reply writes a reply.
func (s *Server) reply(w http.ResponseWriter, status int, v any) {
	out, ok := v.(raw)
	if !ok {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			s.Log.Printf("encoding a reply: %v", err)
			status = http.StatusInternalServerError
			b.Reset()
			b.WriteString(`{"error":{"code":"internal","message":"the service failed; its log says more"}}` + "\n")
		}
		out = raw{jsonKind, b.Bytes()}
	}
	w.Header().Set("Content-Type", out.kind)
	w.WriteHeader(status)
	_, _ = w.Write(out.content) // a client that left does not get it
}

func (s *Server) health(*request) (int, any, error) {
	return http.StatusOK, map[string]string{"status": "ok"}, nil
}
