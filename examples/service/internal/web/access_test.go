package web_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/web"
)

// A page that has let its name stand for this machine, or that sends requests to
// it as what it is, gets nothing and changes nothing.
func TestRebinding(t *testing.T) {
	s := newService(t)
	s.Hosts = []string{"tuner.example.com", "10.0.0.7"}
	h := httptest.NewServer(s)
	defer h.Close()
	addr := strings.TrimPrefix(h.URL, "http://")
	port := addr[strings.LastIndex(addr, ":"):]
	for _, tt := range []struct {
		host, origin string
		want         int
	}{
		{addr, "", 200}, {"127.0.0.1", "", 200}, {"127.9.9.9" + port, "", 200}, {"localhost" + port, "", 200}, {"LOCALHOST", "", 200}, {"[::1]" + port, "", 200}, {"[::1]", "", 200},
		{"tuner.example.com", "", 200}, {"Tuner.Example.com:8443", "", 200}, {"10.0.0.7" + port, "", 200},
		{"evil.example" + port, "", 421}, {"127.0.0.1.evil.example" + port, "", 421}, {"localhost.evil.example", "", 421}, {"evil.localhost", "", 421},
		{"10.0.0.8" + port, "", 421}, {"[fe80::1]" + port, "", 421}, {"0.0.0.0" + port, "", 421}, {"evil.example:80:80", "", 421}, {"tuner.example.com.", "", 421},
		{addr, "http://" + addr, 200}, {"tuner.example.com", "https://tuner.example.com", 200},
		{addr, "http://evil.example", 403}, {addr, "null", 403}, {addr, "http://127.0.0.1:1", 403}, {addr, "http://localhost" + port, 403}, {addr, "file://" + addr, 403}, {addr, "", 200},
	} {
		for _, path := range []string{"/", "/v1/studies", "/studies/x", "/nothing", "//"} {
			r, err := http.NewRequest("GET", h.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = tt.host
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			resp, err := h.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			got := resp.StatusCode
			if got == 404 { // it was let in
				got = 200
			}
			if got != tt.want {
				t.Errorf("host %q, origin %q, path %q: %d, want %d", tt.host, tt.origin, path, resp.StatusCode, tt.want)
			}
		}
	}
	// The address that a request arrives at is enough, whatever it is.
	r := httptest.NewRequest("GET", "http://192.0.2.1/v1/studies", nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != 421 {
		t.Errorf("%d", w.Code)
	}
}

// With a token, nothing but the health is answered without it.
func TestToken(t *testing.T) {
	const token = "an-example-of-a-token"
	s := newService(t)
	s.Token = token
	basic := func(password string) http.Header {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth("anyone", password)
		return r.Header
	}
	bearer := func(v string) http.Header { return http.Header{"Authorization": {"Bearer " + v}} }
	for _, tt := range []struct {
		path   string
		header http.Header
		want   int
	}{
		{"/v1/studies", nil, 401}, {"/", nil, 401}, {"/v1/health", nil, 200}, {"/metrics", nil, 401}, {"/v1/openapi.json", nil, 401}, {"/v1/nothing", nil, 401},
		{"/v1/studies", bearer(token), 200}, {"/", bearer(token), 200}, {"/v1/health", bearer(token), 200},
		{"/v1/studies", http.Header{"Authorization": {"bearer " + token}}, 200}, {"/v1/studies", http.Header{"Authorization": {"BEARER  " + token}}, 200},
		{"/v1/studies", bearer(""), 401}, {"/v1/studies", bearer(token[1:]), 401}, {"/v1/studies", bearer(token + "x"), 401},
		{"/v1/studies", http.Header{"Authorization": {token}}, 401}, {"/v1/studies", http.Header{"Authorization": {"Basic " + token}}, 401},
		{"/", basic(token), 200}, {"/", basic("wrong"), 401}, {"/", basic(""), 401},
		// Browsers send a password by themselves, also for other pages' requests.
		{"/v1/studies", basic(token), 401},
	} {
		w := s.answer(call{method: "GET", path: tt.path, header: tt.header})
		if w.Code != tt.want || (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%s %v: %d %v, want %d", tt.path, tt.header, w.Code, w.Header(), tt.want)
		}
	}
	h := httptest.NewServer(s)
	defer h.Close()
	c := &client.Client{Base: h.URL, HTTP: h.Client(), Attempts: 1}
	if _, err := c.Studies(t.Context()); client.Code(err) != "token" {
		t.Error(err)
	}
	c.Token = token
	if _, err := c.Studies(t.Context()); err != nil {
		t.Error(err)
	}
}

// Keys that encoding/json takes for others, or of which it drops one, are
// refused.
func TestKeysAreExact(t *testing.T) {
	s := newService(t)
	s.prepare(t)
	many := `{"config":{"x":0.5` + strings.Repeat(`,"x1":1,"x2":1,"x3":1,"x4":1,"x5":1,"x6":1,"x7":1,"x8":1,"x9":1`, 2) + `},"y":1}`
	for _, body := range []string{
		`{"y":1,"y":2}`, `{"y":1,"\u0079":2}`, `{"Y":1}`, `{"y":1,"NOISE_VARIANCE":0.1}`, `{"y":1,"noi\u017fe_variance":1}`,
	} {
		c := post("/v1/studies/plain/trials/4/tell", body)
		if d := wrong(t, c, s.answer(c)); d.Code != "json" {
			t.Errorf("%s: %+v", body, d)
		}
	}
	for _, body := range []string{
		`{"config":{"x":0.5,"rate":0.01,"kind":"a","flag":true,"x":0.7},"y":1}`, many,
		`{"config":{"x":0.5,"rate":0.01,"kind":"a","flag":true},"config":{"x":0.7,"rate":0.01,"kind":"a","flag":true},"y":1}`,
	} {
		c := post("/v1/studies/plain/observe", body)
		if d := wrong(t, c, s.answer(c)); d.Code != "json" || !strings.Contains(d.Message, "twice") {
			t.Errorf("%s: %+v", body, d)
		}
	}
	space := `"space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]}`
	for _, body := range []string{
		`{"ID":"a",` + space + `}`, `{"id":"a","space":{"Params":[{"name":"x","kind":"float","lo":0,"hi":1}]}}`,
		`{"id":"a","space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1,"hi":2}]}}`, `{"id":"a",` + space + `,"options":{"Seed":1}}`,
	} {
		c := post("/v1/studies", body)
		if d := wrong(t, c, s.answer(c)); d.Code != "json" {
			t.Errorf("%s: %+v", body, d)
		}
	}
	// The names of parameters are anybody's, and commas and quotes in them too.
	if w := s.answer(post("/v1/studies", `{"id":"odd","space":{"params":[{"name":"X","kind":"float","lo":0,"hi":1},{"name":"x,\"{","kind":"float","lo":0,"hi":1},{"name":"ſ","kind":"float","lo":0,"hi":1}]}}`)); w.Code != 201 {
		t.Fatal(w.Body)
	}
	if w := s.answer(post("/v1/studies/odd/observe", `{"config":{"X":0.1,"x,\"{":0.2,"ſ":0.3},"y":1}`)); w.Code != 200 {
		t.Error(w.Body)
	}
}

// A body may not become much more than it is.
func TestBodyShape(t *testing.T) {
	s := newService(t)
	for _, list := range []string{`"space":{"params":[` + strings.Repeat(`{},`, 200e3) + `{}]}`, `"learn":{"tasks":[{"x":[` + strings.Repeat(`[],`, 200e3) + `[]]}]}`} {
		c := post("/v1/studies", `{"id":"a",`+list+`}`)
		if d := wrong(t, c, s.answer(c)); d.Code != "limit" {
			t.Errorf("%+v", d)
		}
	}
}

// Large bodies wait for each other.
func TestRoomForBodies(t *testing.T) {
	s := newService(t)
	s.Server = web.New(web.Config{Studies: s.m, Body: 1 << 20, Bodies: 1 << 20, Timeout: web.DefaultTimeout, Log: complaints(s.log)})
	h := httptest.NewServer(s)
	defer h.Close()
	// A client that sends half of what it announced has the room for it; small bodies do
	// not need it, and a large one waits until it leaves.
	in, out := dial(t, h.URL)
	in("POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{" + strings.Repeat(" ", 500000))
	for s.meter(t, "cmbo_http_bodies_bytes", nil) < 500000 { // until it is in
		time.Sleep(time.Millisecond)
	}
	c := &client.Client{Base: h.URL, HTTP: h.Client(), Attempts: 1}
	large := make(chan error)
	go func() {
		_, err := c.PutPrior(t.Context(), "a", bytes.Repeat([]byte("x"), 900000))
		large <- err
	}()
	for range 3 {
		if w := s.answer(post("/v1/studies", `{"id":"a","space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]}}`)); w.Code != 201 && w.Code != 200 {
			t.Fatal(w.Body)
		}
	}
	select {
	case <-time.After(100 * time.Millisecond):
	case err := <-large:
		t.Fatalf("the large body did not wait: %v", err)
	}
	out()
	if err := <-large; client.Code(err) != "bad_data" && client.Code(err) != "bad_request" {
		t.Error(err)
	}
}

// Eight bodies of the largest size at once, of the kinds that become the most,
// take a bounded amount of memory.
func TestMemoryOfBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a few seconds")
	}
	s := newService(t)
	s.Server = web.New(web.Config{Studies: s.m, Body: web.DefaultBody, Bodies: web.DefaultBodies, Timeout: web.DefaultTimeout, Log: complaints(s.log)})
	fill := func(begin, again, end string) string {
		return begin + strings.Repeat(again, (web.DefaultBody-len(begin)-len(end))/len(again)) + end
	}
	param := `{"id":"a","space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]},`
	bodies := []string{
		fill(`{"id":"a","space":{"params":[`, `{},`, `{}]}}`),
		fill(`{"id":"a","space":{"params":[{"choices":[`, `"",`, `""]}]}}`),
		fill(param+`"learn":{"tasks":[{"x":[`, `[],`, `[]]}]}}`),
		fill(param+`"learn":{"tasks":[{"y":[`, `0,`, `0]}]}}`),
		fill(param+`"learn":{"tasks":[{"id":"`, `a`, `"}]}}`),
		fill(param+`"options":{"seed":`, ` `, `1}}`),
		fill(`{"id":"`, `\n`, `"}`),
		fill(`[`, `[],`, `[]]`),
		fill(`{"id":"a","learn":{"tasks":[`, `{},`, `{}]}} x`), // what stands behind the object lets nothing pass
	}
	var top atomic.Uint64
	stop := make(chan struct{})
	var sampler, wg sync.WaitGroup
	sampler.Add(1)
	go func() {
		defer sampler.Done()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			top.Store(max(top.Load(), sample[0].Value.Uint64()))
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	runtime.GC()
	for _, b := range bodies {
		wg.Add(1)
		go func() {
			defer wg.Done()
			path, kind := "/v1/studies", "application/json"
			r := httptest.NewRequest("POST", path, strings.NewReader(b))
			r.Host = "localhost"
			r.Header.Set("Content-Type", kind)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code/100 != 4 && w.Code != 201 {
				t.Errorf("%.60s: %d %s", b, w.Code, w.Body)
			}
		}()
	}
	wg.Wait()
	close(stop)
	sampler.Wait()
	mine := uint64(len(bodies) * web.DefaultBody) // the test's own
	t.Logf("%d MB at the most, besides the test's own %d", (top.Load()-mine)>>20, mine>>20)
	if top.Load()-mine > 400<<20 {
		t.Errorf("%d MB in use", (top.Load()-mine)>>20)
	}
}
