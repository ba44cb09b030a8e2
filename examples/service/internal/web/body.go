package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
)

// Kinds of bodies.
const (
	jsonKind   = "application/json"
	binaryKind = "application/octet-stream"
)

// bodyTime is how long a large body may take to arrive, the time that it waits for
// room not counted, and idleTime how long nothing of it may.
const (
	bodyTime = time.Minute
	idleTime = 10 * time.Second
)

// readBody reads a body; done must be called when the request is done with it.
// Its type, want, must be given: a browser sends JSON or binary data to another site only
// after asking, so that no page can use the service behind its reader's back.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, want string, limit int64) (b []byte, done func(), err error) {
	done = func() {}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != want {
		return nil, done, &webError{http.StatusUnsupportedMediaType,
			api.Detail{Code: "content_type", Message: "the Content-Type must be " + want}}
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	n := r.ContentLength // -1 if it is not known
	if n > limit {
		w.Header().Set("Connection", "close")
		return nil, done, tooLarge(limit)
	}
	if n < 0 {
		n = limit
	}
	if n <= smallBody {
		b, err = io.ReadAll(body)
	} else {
		g := s.large.enter(n)
		done = g.leave
		b, err = s.readLarge(r.Context(), http.NewResponseController(w), body, g)
		g.whole()
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, done, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded): // which ends the request's context, too
		w.Header().Set("Connection", "close")
		return nil, done, &webError{http.StatusRequestTimeout, api.Detail{Code: "slow",
			Message: "the body did not arrive in time; nothing was changed"}}
	case err != nil && r.Context().Err() != nil:
		return nil, done, r.Context().Err()
	case err != nil:
		return nil, done, badRequest("bad_request", "the body could not be read: %v", err)
	}
	return b, done, nil
}

func tooLarge(limit int64) error {
	return &webError{http.StatusRequestEntityTooLarge, api.Detail{
		Code: "too_large", Message: fmt.Sprintf("the body has more than %d bytes", limit),
		Where: &api.Where{Limit: int(limit)}}}
}

// readLarge reads a body into room that grows with it: the buffer is at most twice as
// large as what has arrived.
func (s *Server) readLarge(ctx context.Context, conn *http.ResponseController, body io.Reader,
	g *guest) ([]byte, error) {
	b := make([]byte, 0, smallBody)
	left := bodyTime
	for {
		if len(b) == cap(b) && int64(len(b)) < g.most {
			grown := min(2*int64(cap(b)), g.most)
			if err := g.take(ctx, grown-g.have); err != nil {
				return nil, err
			}
			b = append(make([]byte, 0, grown), b...)
		}
		space := b[len(b):cap(b)]
		if len(space) == 0 { // as long as it may be; there must be no more
			space = make([]byte, 1)
		}
		// Waiting for room was not the client's fault.
		begin := time.Now()
		_ = conn.SetReadDeadline(begin.Add(min(idleTime, left)))
		n, err := body.Read(space)
		left -= time.Since(begin)
		if len(b)+n > cap(b) {
			return nil, &http.MaxBytesError{Limit: g.most}
		}
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// decode decodes a body, strictly: one object, known fields, none of them twice,
// nothing behind it, which scan finds before anything is made.
func (q *request) decode(v any) error {
	b := q.body
	if !utf8.Valid(b) {
		return badRequest("json", "the body is not UTF-8")
	}
	if b = bytes.TrimSpace(b); len(b) == 0 || b[0] != '{' {
		return badRequest("json", "the body must be one JSON object")
	}
	if err := scan(b, q.server.nodes, q.server.values); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode(v)
}

// change returns what identifies a request that changes a study.
func (q *request) change() (study.Request, error) {
	keys := q.Header.Values(api.KeyHeader)
	if len(keys) > 1 || len(keys) == 1 && keys[0] == "" {
		return study.Request{}, study.ErrKey
	}
	r := study.Request{Fingerprint: q.fingerprint()}
	if len(keys) == 1 {
		r.Key = keys[0]
	}
	return r, nil
}

// fingerprint tells requests apart by their method, path and body.
func (q *request) fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", q.Method, q.URL.Path)
	h.Write(q.body)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// number reads a whole number from the query, or the default.
func (q *request) number(name string, value, least, most int) (int, error) {
	s := q.URL.Query().Get(name)
	if s == "" {
		return value, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, badField("bad_request", name, "%s must be a whole number from %d to %d", name, least, most)
	}
	return n, nil
}
