package web_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// A deadline is set by the clock, told with the trial and kept.
func TestDeadline(t *testing.T) {
	s := newService(t)
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s.Now = func() time.Time { return now }
	c := s.over(t)
	s.create(t, c, "s", twin.Kinds(t)[1])
	for _, body := range []string{`{"deadline_seconds":0}`, `{"deadline_seconds":-1}`, `{"deadline_seconds":1e9}`, `{"on_deadline":"fail"}`, `{"deadline_seconds":1,"on_deadline":"explode"}`} {
		q := post("/v1/studies/s/ask", body)
		if d := wrong(t, q, s.answer(q)); d.Code != "bad_value" || !strings.Contains(d.Where.Field, "deadline") {
			t.Errorf("%s: %+v", body, d)
		}
	}
	for body, want := range map[string]api.Trial{
		`{"deadline_seconds":60}`:                        {Status: api.Cancelled, Deadline: "2030-01-02T03:05:05Z", Expired: true},
		`{"deadline_seconds":0.5,"on_deadline":"fail"}`:  {Status: api.Failed, Deadline: "2030-01-02T03:04:05Z", Expired: true},
		`{"deadline_seconds":61,"on_deadline":"cancel"}`: {Status: api.Open, Deadline: "2030-01-02T03:05:06Z"},
	} {
		var out api.Trials
		s.reads(t, post("/v1/studies/s/ask", body), &out)
		id := out.Trials[0].ID
		if err := s.m.Expire(t.Context(), now.Add(time.Minute).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		got, err := c.Trial(t.Context(), "s", id)
		if err != nil || got.Status != want.Status || got.Deadline != want.Deadline || got.Expired != want.Expired || out.Trials[0].Deadline != want.Deadline {
			t.Errorf("%s: %+v (%v)", body, got, err)
		}
		if _, err := c.Ask(t.Context(), "s", 1); err != nil {
			t.Fatal(err)
		}
	}
}

// The time until a deadline begins when the trial is opened: a request that waits for another one's proposal looks at
// the clock after that.
func TestDeadlineBeginsWithTheTrial(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	s.create(t, c, "s", twin.Kinds(t)[1])
	begin := time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)
	var looks atomic.Int32
	opening, open := make(chan struct{}), make(chan struct{})
	s.Now = func() time.Time {
		if looks.Add(1) == 1 {
			close(opening)
			<-open
			return begin
		}
		return begin.Add(time.Hour)
	}
	ask := post("/v1/studies/s/ask", `{"deadline_seconds":60}`)
	codes := make(chan int, 2)
	go func() { codes <- s.answer(ask).Code }()
	<-opening // the first request has the model until its trial is there
	go func() { codes <- s.answer(ask).Code }()
	time.Sleep(50 * time.Millisecond)
	if n := looks.Load(); n != 1 {
		t.Errorf("the clock was looked at %d times while one trial was being opened", n)
	}
	close(open)
	for range 2 {
		if code := <-codes; code != 200 {
			t.Fatal(code)
		}
	}
	for id, want := range map[int]string{1: "2030-01-02T03:05:00Z", 2: "2030-01-02T04:05:00Z"} {
		if tr, err := c.Trial(t.Context(), "s", id); err != nil || tr.Deadline != want {
			t.Errorf("trial %d ends at %s, want %s (%v)", id, tr.Deadline, want, err)
		}
	}
}
