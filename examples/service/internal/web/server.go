// Package web serves studies over HTTP: JSON under /v1, pages for people
// elsewhere.
package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"sync"
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
	// Log has a line for each request: those that only read, below the level Info;
	// nil for the standard logger.
	Log *slog.Logger
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
	meters        *meters
	ended         chan struct{} // closed by End
	ending        sync.Once
}

// New returns a server.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{Config: c, mux: http.NewServeMux()}
	s.large.free = max(c.Body, c.Bodies)
	s.nodes, s.values = shape(c.Studies.Limits())
	s.meters = newMeters(s)
	s.ended = make(chan struct{})
	for _, route := range s.routes() {
		s.handle(route)
	}
	s.mux.HandleFunc("GET /{$}", s.index)
	s.mux.HandleFunc("GET /studies/{id}", s.page)
	s.mux.HandleFunc("GET /requests", s.documentation)
	s.mux.Handle("GET /metrics", s.metrics())
	return s
}

// End ends the streams of events that are under way; their clients come back.
func (s *Server) End() { s.ending.Do(func() { close(s.ended) }) }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.watched(w, r, s.serve) }

func (s *Server) serve(w *response, r *http.Request) {
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
			s.logFor(r.Context()).Error("panic", "method", r.Method, "path", r.URL.Path, "panic", v, "stack",
				string(debug.Stack()))
			s.reply(w, http.StatusInternalServerError,
				&api.Error{Error: api.Detail{Code: "internal", Message: "the service failed; its log says more"}})
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
	_, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.refuse(w, r, s.methods(w, r))
		return
	}
	_, w.route, _ = strings.Cut(pattern, " ")
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

// handle serves a route.
func (s *Server) handle(route *route) {
	s.mux.HandleFunc(route.method+" "+route.path, func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, server: s, head: w.Header()}
		var err error
		if route.limit > 0 {
			var done func()
			q.body, done, err = s.readBody(w, r, cmp.Or(route.bodyKind, jsonKind), min(route.limit, s.Body))
			defer done()
		}
		if err == nil {
			var status int
			var reply any
			if status, reply, err = route.serve(q); err == nil {
				if f, ok := reply.(stream); ok {
					f(w)
					return
				}
				s.reply(w, status, reply)
				return
			}
		}
		s.refuse(w, r, err)
	})
}

// stream writes a reply by itself.
type stream func(http.ResponseWriter)

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
			s.Log.Error("encoding a reply", "error", err)
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

// healthPath is answered without a token, for those who watch the process.
const healthPath = "/v1/health"

func (s *Server) health(*request) (int, any, error) {
	return http.StatusOK, api.Health{Status: api.StateOK}, nil
}
