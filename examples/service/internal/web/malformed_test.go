package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// state is everything that a request could change: the files, and what is
// answered.
func (s *service) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %d %x\n", path, len(content), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/studies", "/v1/priors"} {
		b.WriteString(s.get(t, path))
	}
	for _, study := range s.m.Studies() {
		for _, what := range []string{"", "/trials", "/best", "/diagnostics", "/snapshot"} {
			b.WriteString(s.get(t, "/v1/studies/"+study.ID()+what))
		}
	}
	return b.String()
}

// prepare makes studies with open, told and cancelled trials, and returns the
// twin of study "plain".
func (s *service) prepare(t *testing.T) *twin.Twin {
	t.Helper()
	c := s.over(t)
	for _, k := range twin.Kinds(t) {
		s.create(t, c, k.Name, k)
	}
	w, err := twin.New(twin.Kinds(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range twin.Kinds(t) {
		for i, q := range []call{
			post("/v1/studies/"+k.Name+"/ask", `{"n":4}`),
			post("/v1/studies/"+k.Name+"/trials/1/tell", `{"y":0.25}`),
			post("/v1/studies/"+k.Name+"/trials/2/fail", `{}`),
			post("/v1/studies/"+k.Name+"/trials/3/cancel", `{}`),
			post("/v1/studies/"+k.Name+"/ask", `{"n":2}`),
		} {
			q.header.Set(api.KeyHeader, fmt.Sprintf("used-%d", i))
			if r := s.answer(q); r.Code != http.StatusOK {
				t.Fatalf("%v: %d %s", q, r.Code, r.Body)
			}
		}
	}
	for _, op := range []twin.Op{{Kind: "ask", N: 4}, {Kind: "tell", Trial: 1, Y: 0.25}, {Kind: "fail", Trial: 2}, {Kind: "cancel", Trial: 3}, {Kind: "ask", N: 2}} {
		if _, err := w.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// A number that its type does not hold is said to be too large, and not to stand where a number belongs.
func TestNumbersTooLarge(t *testing.T) {
	s := newService(t)
	s.prepare(t)
	for _, tt := range []struct{ path, body, says string }{
		{"/v1/studies/plain/trials/4/tell", `{"y":1e999}`, "number 1e999, which is too large, in y"},
		{"/v1/studies/plain/trials/4/tell", `{"y":-1e999}`, "number -1e999, which is too large, in y"},
		{"/v1/studies/plain/trials/4/tell", `{"y":"1"}`, "string where a number belongs, in y"},
		{"/v1/studies/plain/ask", `{"n":99999999999999999999}`, "number 99999999999999999999, which is too large, in n"},
		{"/v1/studies/plain/ask", `{"n":1.5}`, "number 1.5 where a whole number belongs, in n"},
		{"/v1/studies", `{"id":"new","space":{"params":[{"name":"x","kind":"bool"}]},"options":{"context":{"h":1e999}}}`,
			`descriptor \"h\" is +Inf`},
		{"/v1/studies", `{"id":"new","options":{"seed":-1}}`,
			"number -1 where a whole number from 0 on belongs, in options.seed"},
	} {
		w := s.answer(post(tt.path, tt.body))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, w.Code, w.Body)
		}
	}
}

// Ten thousand requests that are wrong in random ways are refused, each with a
// reason in JSON, and change nothing.
func TestMalformedRequests(t *testing.T) {
	n := 10000
	if testing.Short() {
		n = 2000
	}
	s := newService(t)
	w := s.prepare(t)
	rng := twin.RNG(t)
	before := s.state(t)
	codes := map[string]int{}
	for i := range n {
		c := malformed(rng)
		d := wrong(t, c, s.answer(c))
		codes[d.Code]++
		if i%1000 == 999 {
			if s.state(t) != before {
				t.Fatalf("one of the requests up to %v changed something", c)
			}
		}
	}
	if s.state(t) != before {
		t.Fatal("the state has changed")
	}
	if complaints := s.log.String(); complaints != "" {
		t.Errorf("the service complained: %s", complaints)
	}
	t.Logf("codes: %v", codes)
	if len(codes) < 15 {
		t.Error("the requests are not wrong in many ways")
	}
	// And the next proposal is what it would have been.
	r := s.answer(post("/v1/studies/plain/ask", `{}`))
	var got api.Trials
	if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want, err := w.Apply(twin.Op{Kind: "ask", N: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := twin.DiffTrials(got.Trials, want); d != "" {
		t.Error(d)
	}
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// valid returns a request that would be done.
func valid(rng *rand.Rand) call {
	return pick(rng,
		post("/v1/studies/plain/ask", `{"n":1}`),
		post("/v1/studies/plain/trials/4/tell", `{"y":1.5,"noise_variance":0.1}`),
		post("/v1/studies/plain/trials/5/fail", `{}`),
		post("/v1/studies/plain/trials/5/cancel", `{}`),
		post("/v1/studies/plain/observe", `{"x":[0.5,0.01,1,0],"y":-2}`),
		post("/v1/studies/plain/observe", `{"config":{"x":0.5,"rate":0.01,"kind":"a","flag":true},"y":-2}`),
		post("/v1/studies/plain/predict", `{"points":[{"x":[0.5,0.01,1,0]}]}`),
		post("/v1/studies", `{"id":"new","space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]},"options":{"seed":3}}`),
		post("/v1/priors", `{"name":"new","space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]},"tasks":[{"id":"a","x":[[0.5]],"y":[1]}]}`),
	)
}

// malformed returns a request that must be refused.
func malformed(rng *rand.Rand) call {
	c := valid(rng)
	switch rng.IntN(16) {
	case 0: // a part of the body
		c.body = c.body[:rng.IntN(len(c.body))]
	case 1: // something behind it, or around it
		c.body = pick(rng, append(c.body, pick(rng, "x", "{}", ",", "null", "\x00", "]")...), []byte("["+string(c.body)+"]"), []byte(`"`+string(c.body)))
	case 2: // anything
		b := make([]byte, rng.IntN(200))
		for i := range b {
			b[i] = byte(rng.UintN(256))
		}
		c.body = append([]byte("~"), b...)
	case 3: // not text
		i := bytes.IndexByte(c.body, '{') + 1
		c.body = append(append(bytes.Clone(c.body[:i]), "\"\xff\xfe\":1,"...), c.body[i:]...)
	case 4: // a field nobody knows
		i := bytes.IndexByte(c.body, '{') + 1
		field := pick(rng, `"extra":1`, `"n ":2`, `"__proto__":{}`, `"":null`, `"yy":[[[]]]`)
		if len(c.body) > 2 {
			field += ","
		}
		c.body = append(append(bytes.Clone(c.body[:i]), field...), c.body[i:]...)
	case 5: // deep nesting
		c.body = []byte(strings.Repeat(pick(rng, "[", `{"a":`), 1+rng.IntN(20000)))
	case 6: // a type of body that browsers send without asking, or none
		c.header.Del("Content-Type")
		if kind := pick(rng, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json2", ";", "application/octet-stream"); kind != "" {
			c.header.Set("Content-Type", kind)
		}
	case 7: // more than is read
		c.body = append(bytes.Repeat([]byte(" "), 1<<20), c.body...)
	case 8: // bad keys
		if c.path == "/v1/studies" || c.path == "/v1/priors" || strings.HasSuffix(c.path, "/predict") {
			c = post("/v1/studies/plain/ask", "{}")
		}
		c.header[api.KeyHeader] = pick(rng, []string{"a b"}, []string{""}, []string{"a", "b"}, []string{strings.Repeat("k", 65+rng.IntN(1000))}, []string{"ä"}, []string{"a/b"}, []string{"used-1"}, []string{"used-4"})
	case 9:
		return badPath(rng)
	case 10, 11:
		return badField(rng)
	case 12:
		return badStudy(rng)
	case 13:
		return badPrior(rng)
	case 14:
		return badTrial(rng)
	case 15:
		return badQuery(rng)
	}
	return c
}

// text is a random string of a few characters that matter somewhere.
func text(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(12) {
		b.WriteString(pick(rng, "a", "Z", "0", ".", "..", "/", "\\", " ", "%", "%2f", "<", ">", "'", "\"", "&", "\n", "\x00", "é", "世", "-", "_", "*", "{", "}", "?", "#"))
	}
	return b.String()
}

// badPath returns a request to something that is not served.
func badPath(rng *rand.Rand) call {
	path := pick(rng, "/v1/studies/../studies", "//v1/studies", "/v1/studies/", "/v1/studies/plain/", "/v1/studies/plain//best", "/v2/studies", "/v1", "/",
		"/favicon.ico", "/v1/studies/plain/unknown", "/v1/studies/plain/trials/1/tell/again", "/v1/studies/..%2f..%2flock/best",
		"/v1/studies/nobody/best", "/v1/studies/PLAIN/best", "/v1/priors/nobody", "/v1/priors/nobody/encoded",
		"/v1/studies/"+strings.Repeat("a", rng.IntN(5000)+64)+"/best", "/v1/studies/X"+text(rng)+"/best", "/v1/priors/X"+text(rng))
	method := pick(rng, "GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW")
	switch {
	case method == "GET" && path == "/":
		method = "DELETE"
	case method == "GET" || method == "POST" || method == "PUT" || method == "DELETE":
	default:
		path = pick(rng, path, "/v1/studies", "/v1/studies/plain", "/v1/priors", "/v1/studies/plain/ask")
	}
	if method == "PUT" && strings.HasPrefix(path, "/v1/priors/") {
		path = "/v1/studies/plain"
	}
	return call{method: method, path: path, body: []byte("{}"), header: http.Header{"Content-Type": {"application/json"}}}
}

// badField returns a request with a value that does not do.
func badField(rng *rand.Rand) call {
	number := func() string {
		return pick(rng, "null", `"1"`, "[]", "{}", "true", "1e999", "-1e400", "1e151", "-1e308", "NaN", "Infinity", "0x10", "1.", ".5", "+1", "--1", `"NaN"`, "[1]")
	}
	count := func() string {
		return pick(rng, "0", "-1", "-99999999999999999999", "1.5", `"1"`, "[]", "true", "1e10", "33", "2147483648", "9223372036854775807", "99999999999999999999")
	}
	switch rng.IntN(8) {
	case 0:
		return post("/v1/studies/plain/ask", `{"n":`+count()+`}`)
	case 1:
		return post("/v1/studies/plain/trials/4/tell", pick(rng, `{"y":`+number()+`}`, `{}`, `{"noise_variance":1}`))
	case 2:
		return post("/v1/studies/plain/trials/4/tell", `{"y":1,"noise_variance":`+pick(rng, "0", "-1", "1e200", "1e999", `"1"`, "[]", "{}", "-0.0", "true")+`}`)
	case 3:
		return post(pick(rng, "/v1/studies/plain/trials/4/fail", "/v1/studies/plain/trials/4/cancel"), pick(rng, `{"y":1}`, "", "null", "[]", "1", `"fail"`))
	case 4, 5: // a point that is none
		return post("/v1/studies/plain/observe", `{`+badPoint(rng)+`,"y":1}`)
	case 6:
		return post("/v1/studies/plain/predict", pick(rng, `{"points":[{`+badPoint(rng)+`}]}`, `{"points":[{"x":[0.5,0.01,1,0]},{`+badPoint(rng)+`}]}`, `{"points":[{}]}`, `{"points":{}}`, `{"points":[1]}`, `{"points":"x"}`,
			`{"points":[`+strings.Repeat(`{"x":[0.5,0.01,1,0]},`, 200)+`{"x":[0.5,0.01,1,0]}]}`))
	}
	return post("/v1/studies/plain/observe", `{"x":[0.5,0.01,1,0],"y":`+number()+`}`)
}

// badPoint returns the field of a point that does not lie in the space.
func badPoint(rng *rand.Rand) string {
	value := func(bad ...string) string { return pick(rng, bad...) }
	switch rng.IntN(4) {
	case 0:
		return `"x":[` + pick(rng, "", "1", "0.5,0.01,1", "0.5,0.01,1,0,0", "null,0.01,1,0", `"0.5",0.01,1,0`, "[0.5],0.01,1,0", "0.5,0.01,1,null", "true,0.01,1,0") + `]`
	case 1:
		return `"x":[` + pick(rng,
			value("3", "-2", "1e300", "2.0000000001", "1e999")+",0.01,1,0", "0.5,"+value("0", "2", "-1", "1e-5")+",1,0",
			"0.5,0.01,"+value("2", "-1", "0.5", "1e9")+",0", "0.5,0.01,1,"+value("2", "-1", "0.5")) + `]`
	case 2:
		return pick(rng, `"config":{}`, `"config":{"x":0.5}`, `"config":[]`, `"config":"x"`, `"config":null`, `"x":null`, `"x":{}`, `"x":[0.5,0.01,1,0],"config":{"x":1}`)
	}
	return `"config":{` + pick(rng,
		`"x":`+value(`"a"`, "null", "[]", "1e999", "9", "{}", "true")+`,"rate":0.01,"kind":"a","flag":true`,
		`"x":0.5,"rate":0.01,"kind":`+value(`"c"`, "0", "null", `""`, `"A"`)+`,"flag":true`,
		`"x":0.5,"rate":0.01,"kind":"a","flag":`+value("1", `"true"`, "null"),
		`"x":0.5,"rate":0.01,"kind":"a","flag":true,"more":1`) + `}`
}

// badStudy returns a request for a study that cannot be.
func badStudy(rng *rand.Rand) call {
	space := `{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]}`
	with := func(id, space, rest string) call {
		return post("/v1/studies", `{"id":`+id+`,"space":`+space+rest+`}`)
	}
	switch rng.IntN(5) {
	case 0:
		name, err := json.Marshal(pick(rng, "", "A", "-a", "_a", "a.b", "../a", "a/b", "con\x00", strings.Repeat("a", 64+rng.IntN(300)), "é", " a", "X"+text(rng)))
		if err != nil {
			panic(err) // a string
		}
		return with(pick(rng, string(name), "null", "1", "[]", "{}"), space, "")
	case 1: // taken by another request
		return with(pick(rng, `"plain"`, `"few"`, `"list"`), space, fmt.Sprintf(`,"optimum":%d`, rng.IntN(1000)))
	case 2:
		param := func(p string) string { return `{"params":[` + p + `]}` }
		return with(`"new"`, pick(rng, "null", "{}", "[]", "1", `"x"`, `{"params":[]}`, `{"params":null}`, `{"params":{}}`,
			param(`{}`), param(`{"name":"x"}`), param(`{"name":"x","kind":"complex"}`), param(`{"name":"","kind":"bool"}`),
			param(`{"name":"x","kind":"float","lo":1,"hi":1}`), param(`{"name":"x","kind":"float","lo":2,"hi":1}`), param(`{"name":"x","kind":"float","lo":-1e308,"hi":1e308}`),
			param(`{"name":"x","kind":"logfloat","lo":0,"hi":1}`), param(`{"name":"x","kind":"logfloat","lo":-1,"hi":1}`), param(`{"name":"x","kind":"int","lo":0.5,"hi":3}`),
			param(`{"name":"x","kind":"logint","lo":0,"hi":3}`), param(`{"name":"x","kind":"int","lo":0,"hi":1e300}`), param(`{"name":"x","kind":"float","lo":0,"hi":1e999}`),
			param(`{"name":"x","kind":"categorical"}`), param(`{"name":"x","kind":"categorical","choices":["a","a"]}`), param(`{"name":"x","kind":"categorical","choices":[1]}`),
			param(`{"name":"x","kind":"bool","choices":["a"]}`), param(`{"name":"x","kind":"bool"},{"name":"x","kind":"bool"}`),
			`{"params":[{"name":"x","kind":"float","lo":0,"hi":1}],"candidates":[]}`, `{"params":[{"name":"x","kind":"float","lo":0,"hi":1}],"candidates":[[2]]}`,
			`{"params":[{"name":"x","kind":"float","lo":0,"hi":1}],"candidates":[[0.5,1]]}`, `{"params":[{"name":"x","kind":"float","lo":0,"hi":1}],"candidates":[[]]}`,
			`{"params":[{"name":"x","kind":"categorical","choices":["`+strings.Join(strings.Split(strings.Repeat("abcdefghij", 11), ""), `1","`)+`"]}]}`), "")
	case 3:
		return with(`"new"`, space, `,"options":`+pick(rng, "1", "[]", `"x"`, `{"seed":-1}`, `{"seed":1.5}`, `{"seed":"1"}`, `{"minimize":1}`, `{"acquisition":"best"}`, `{"acquisition":"UCB(-1)"}`, `{"acquisition":"UCB(NaN)"}`, `{"acquisition":"UCB(1e999)"}`,
			`{"acquisition":1}`, `{"variant":"WssClus_WssCMP"}`, `{"y_policy":"x"}`, `{"initial":-1}`, `{"initial":1000000}`, `{"noise_variance":0}`, `{"noise_variance":-1}`, `{"noise_variance":1e999}`,
			`{"sobol_candidates":0}`, `{"sobol_candidates":1000000}`, `{"local_candidates":-1}`, `{"local_candidates":1000000}`, `{"unknown":1}`))
	}
	return with(`"new"`, space, pick(rng, `,"prior":"nobody"`, `,"prior":1`, `,"prior":"past"`, `,"prior":"../past"`, `,"prior":"past","learn":{}`, `,"learn":{}`, `,"learn":{"tasks":[]}`, `,"learn":{"studies":["nobody"]}`, `,"learn":{"studies":["plain"]}`,
		`,"optimum":"x"`, `,"optimum":1e999`, `,"optimum":[]`, `,"learn":{"tasks":[`+badTask(rng)+`]}`))
}

// badTask returns a task that cannot be learned from over x in [0, 1].
func badTask(rng *rand.Rand) string {
	return pick(rng, `1`, `null`, `{}`, `{"id":"a"}`, `{"id":"a","x":[],"y":[]}`, `{"id":"","x":[[0.5]],"y":[1]}`, `{"id":"a","x":[[0.5]],"y":[]}`, `{"id":"a","x":[[0.5]],"y":[1,2]}`,
		`{"id":"a","x":[[2]],"y":[1]}`, `{"id":"a","x":[[0.5,0.5]],"y":[1]}`, `{"id":"a","x":[[]],"y":[1]}`, `{"id":"a","x":[null],"y":[1]}`, `{"id":"a","x":[[null]],"y":[1]}`, `{"id":"a","x":[[0.5]],"y":[null]}`,
		`{"id":"a","x":[[0.5]],"y":[1e200]}`, `{"id":"a","x":[[0.5]],"y":[1],"noise_variance":[-1]}`, `{"id":"a","x":[[0.5]],"y":[1],"noise_variance":[1,2]}`, `{"id":"a","x":0.5,"y":1}`,
		`{"id":"a","x":[[0.5]],"y":[1]},{"id":"a","x":[[0.5]],"y":[1]}`)
}

// badPrior returns a request for a prior that cannot be.
func badPrior(rng *rand.Rand) call {
	if rng.IntN(3) == 0 {
		c := call{"PUT", "/v1/priors/new", []byte("cmboprior" + text(rng)), http.Header{"Content-Type": {"application/octet-stream"}}}
		switch rng.IntN(4) {
		case 0:
			c.header.Set("Content-Type", "application/json")
		case 1:
			c.path = "/v1/priors/" + pick(rng, "A", "a.b", "_x", strings.Repeat("a", 64), "é")
		case 2:
			c.body = make([]byte, 1<<20+1)
		}
		return c
	}
	space := `"space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]}`
	good := `"tasks":[{"id":"a","x":[[0.5]],"y":[1]}]`
	return post("/v1/priors", `{`+pick(rng, `"name":"new"`, `"name":"A",`+space+`,`+good, `"name":"../x",`+space+`,`+good, `"name":1,`+space+`,`+good, good, space, space+`,"tasks":[`+badTask(rng)+`]`,
		space+`,"studies":["plain"]`, space+`,"studies":["nobody"]`, `"studies":["nobody"]`, `"studies":["../plain"]`, space+`,`+good+`,"variant":"x"`,
		space+`,`+good+`,"index_points":0`, space+`,`+good+`,"index_points":100000`, space+`,`+good+`,"y_policy":"x"`, space+`,`+good+`,"seed":-1`)+`}`)
}

// badTrial returns a request about a trial that is not open.
func badTrial(rng *rand.Rand) call {
	id := pick(rng, "0", "-1", "1", "2", "3", "7", "999", "1.0", "01", "+4", "4a", "a", "٤", "0x4", "99999999999999999999", "4294967300", " 4", "1e0", "null")
	what := pick(rng, "tell", "fail", "cancel")
	body := "{}"
	if what == "tell" {
		body = `{"y":1}`
	}
	if rng.IntN(5) == 0 && id != "1" && id != "2" && id != "3" {
		return call{method: "GET", path: "/v1/studies/plain/trials/" + id}
	}
	return post("/v1/studies/plain/trials/"+id+"/"+what, body)
}

// badQuery returns a request with a bad query.
func badQuery(rng *rand.Rand) call {
	return call{method: "GET", path: "/v1/studies/plain/trials?" + pick(rng, "limit=0", "limit=-1", "limit=1001", "limit=x", "limit=1e3", "after=-1", "after=x", "after=99999999999999999999", "status=closed", "status=OPEN", "limit=%31x", "after=1&limit=0")}
}

// Requests that are changed at random, a byte here and there, may be good or
// bad; the service never fails over them.
func TestMutatedRequests(t *testing.T) {
	n := 5000
	if testing.Short() {
		n = 1000
	}
	s := newService(t)
	s.prepare(t)
	rng := twin.RNG(t)
	good := 0
	for range n {
		c := valid(rng)
		for range 1 + rng.IntN(2) {
			if len(c.body) == 0 {
				break
			}
			i := rng.IntN(len(c.body))
			switch rng.IntN(4) {
			case 0:
				c.body[i] = byte(rng.UintN(256))
			case 1:
				c.body = append(c.body[:i], c.body[i+1:]...)
			case 2:
				c.body[i] = pick(rng, byte('0'), '9', '-', 'e', '.', '"', ',', '[', ']', '{', '}', ':')
			case 3:
				j := rng.IntN(len(c.body))
				c.body = append(c.body[:i:i], append(bytes.Clone(c.body[min(i, j):max(i, j)]), c.body[i:]...)...)
			}
		}
		w := s.answer(c)
		if w.Code < 300 {
			good++
			continue
		}
		wrong(t, c, w)
	}
	t.Logf("%d of %d were done", good, n)
	if complaints := s.log.String(); complaints != "" {
		t.Errorf("the service complained: %s", complaints)
	}
}
