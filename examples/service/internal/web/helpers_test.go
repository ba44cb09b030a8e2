package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
	"github.com/gocmbo/cmbo/examples/service/internal/web"
)

// service is a server without a network, and its directory.
type service struct {
	*web.Server
	m   *study.Manager
	dir string
	log *twin.Log // what it complained about
}

// complaints is a log of what goes wrong.
func complaints(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func newService(t *testing.T) *service {
	t.Helper()
	return openService(t, t.TempDir())
}

// openService starts a service in a directory.
func openService(t *testing.T, dir string) *service {
	t.Helper()
	s := &service{dir: dir, log: &twin.Log{}}
	var err error
	if s.m, err = study.Open(study.Config{Dir: s.dir, Limits: study.DefaultLimits()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.m.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Server = web.New(web.Config{Studies: s.m, Body: 1 << 20, Timeout: web.DefaultTimeout, Refresh: 5, Log: complaints(s.log)})
	return s
}

// over starts the service on a port of this machine and returns a client that
// does not repeat requests.
func (s *service) over(t *testing.T) *client.Client {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return &client.Client{Base: h.URL, HTTP: h.Client(), Attempts: 1}
}

// create makes a study of a kind.
func (s *service) create(t *testing.T, c *client.Client, id string, k twin.Kind) {
	t.Helper()
	if k.Prior != nil {
		var b bytes.Buffer
		if err := k.Prior.Encode(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := c.PutPrior(t.Context(), k.Past, b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	q := k.Study
	q.ID = id
	if _, err := c.CreateStudy(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
}

// call is a request without a network.
type call struct {
	method, path string
	body         []byte
	header       http.Header
}

func (c call) String() string {
	return fmt.Sprintf("%s %.200s %v\n%.500q", c.method, c.path, c.header, c.body)
}

// post is a request with a JSON body.
func post(path string, body string) call {
	return call{"POST", path, []byte(body), http.Header{"Content-Type": {"application/json"}}}
}

// answer sends a call.
func (s *service) answer(c call) *httptest.ResponseRecorder {
	var body io.Reader
	if c.body != nil {
		body = bytes.NewReader(c.body)
	}
	r := httptest.NewRequest(c.method, "http://127.0.0.1/", body)
	path, query, _ := strings.Cut(c.path, "?")
	r.URL.Path, r.URL.RawQuery, r.RequestURI = path, query, c.path
	for name, values := range c.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// get returns what is answered under a path.
func (s *service) get(t *testing.T, path string) string {
	t.Helper()
	w := s.answer(call{method: "GET", path: path})
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// wrong checks that an answer is a refusal with a JSON body, and returns it.
func wrong(t *testing.T, c call, w *httptest.ResponseRecorder) api.Detail {
	t.Helper()
	var e api.Error
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&e); w.Code < 400 || w.Code > 499 || w.Header().Get("Content-Type") != "application/json" || err != nil || e.Error.Code == "" || e.Error.Message == "" {
		t.Fatalf("%v\nis answered %d %v %s (%v)", c, w.Code, w.Header(), w.Body, err)
	}
	if word := goWords.FindString(e.Error.Message); word != "" {
		t.Errorf("%v\nis answered with a word of Go's, %s: %s", c, word, e.Error.Message)
	}
	return e.Error
}

// goWords are names and types of Go that say nothing to who sends JSON.
var goWords = regexp.MustCompile(`\bGo \w+|\bWith[A-Z]\w+|\b(Space|Prior|CSV|Katib|Changes|json|space)\.[A-Z]\w+|\[\]\w|interface \{|type float64|\bJSON:`)

// dial opens a connection: in sends on it, out closes it.
func dial(t *testing.T, base string) (in func(string), out func()) {
	t.Helper()
	in, conn := connect(t, base)
	return in, func() { conn.Close() }
}

// talk opens a connection: in sends on it, read returns what comes until it is closed.
func talk(t *testing.T, base string) (in func(string), read func() string) {
	t.Helper()
	in, conn := connect(t, base)
	return in, func() string {
		b, err := io.ReadAll(conn)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
}

func connect(t *testing.T, base string) (in func(string), conn net.Conn) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return func(text string) {
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}, conn
}

// reads sends a call that succeeds and decodes the answer.
func (s *service) reads(t *testing.T, c call, v any) {
	t.Helper()
	w := s.answer(c)
	if w.Code/100 != 2 {
		t.Fatalf("%v: %d %s", c, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
