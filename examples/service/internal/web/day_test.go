package web_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
	"github.com/gocmbo/cmbo/examples/service/internal/web"
)

var hours = flag.Int("hours", 0, "hours of simulated time in TestDay, with studies of 60 trials; 0 for a few with small studies")

// TestDay has twenty workers try trials of some minutes each, by a clock that the
// test turns: they ask, tell, fail, leave trials to their deadlines, look at pages
// and make studies in the place of those that are through. Whatever has gone through
// it, the service holds memory for the trials of the studies there are, and as many
// goroutines as at the beginning.
func TestDay(t *testing.T) {
	const workers = 20
	hours, trials := *hours, 60
	if hours == 0 {
		hours, trials = 5, 10
	}
	rng := twin.RNG(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	m, err := study.Open(study.Config{Dir: "d", FS: disktest.New(rng), Limits: study.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := &service{m: m, log: &twin.Log{}}
	s.Server = web.New(web.Config{
		Studies: m, Body: 1 << 20, Timeout: web.DefaultTimeout, Log: complaints(s.log),
		Now: func() time.Time { return now },
	})
	type worker struct {
		study string
		made  int
		asked int
		trial int       // open, 0 for none
		ready time.Time // when it is done
	}
	var all [workers]worker
	requests, expired := 0, 0
	do := func(c call, v any) {
		requests++
		s.reads(t, c, v)
	}
	step := func(i int, w *worker) {
		if w.study == "" {
			w.study, w.asked = fmt.Sprintf("study-%d-%d", i, w.made), 0
			w.made++
			kind := twin.Kinds(t)[0].Study
			kind.ID = w.study
			do(post("/v1/studies", marshal(t, kind)), new(api.Study))
		}
		base := "/v1/studies/" + w.study
		if w.trial > 0 && !now.Before(w.ready) {
			path := fmt.Sprintf("%s/trials/%d", base, w.trial)
			var tr api.Trial
			do(call{method: "GET", path: path}, &tr)
			switch {
			case tr.Expired:
				expired++
			case rng.IntN(10) == 0:
				do(post(path+"/fail", `{}`), &tr)
			default:
				tell := post(path+"/tell", fmt.Sprintf(`{"y":%g}`, rng.NormFloat64()))
				tell.header.Set(api.KeyHeader, fmt.Sprint("key-", w.trial))
				do(tell, &tr)
			}
			w.trial = 0
			if rng.IntN(10) == 0 {
				s.get(t, "/studies/"+w.study)
			}
		}
		if w.trial == 0 && w.asked == trials {
			if s.answer(call{method: "DELETE", path: base}).Code != 200 {
				t.Fatal("a study is not deleted")
			}
			w.study = ""
			return
		}
		if w.trial == 0 {
			var out api.Trials
			do(post(base+"/ask", `{"deadline_seconds":600}`), &out)
			w.trial, w.asked = out.Trials[0].ID, w.asked+1
			w.ready = now.Add(time.Duration(1+rng.IntN(11)) * time.Minute) // some take too long
		}
	}
	usage := func() (heap uint64, goroutines int) {
		var mem runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&mem)
		return mem.HeapAlloc, runtime.NumGoroutine()
	}
	heap0, goroutines0 := usage()
	for range hours {
		for range 60 {
			now = now.Add(time.Minute)
			if err := m.Expire(t.Context(), now.UnixMilli()); err != nil {
				t.Fatal(err)
			}
			for i := range all {
				step(i, &all[i])
			}
		}
		heap, goroutines := usage()
		held, made := 0, 0
		for _, w := range all {
			held, made = held+w.asked, made+w.made
		}
		t.Logf("%s: %d requests, %d trials expired, %d studies made, %d trials held, %.1f MB, %d goroutines",
			now.Format("15:04"), requests, expired, made, held, float64(heap)/(1<<20), goroutines)
		// A trial is a line of the log on the disk in memory, what the study shows
		// of it, and a row of its model's factors, as long as the study.
		if heap > heap0+1<<20+uint64(held*(10500+150*trials)) || goroutines > goroutines0+1 {
			t.Errorf("%s: %d bytes and %d goroutines for %d trials, %d and %d for none", now.Format("15:04"), heap, goroutines, held, heap0, goroutines0)
		}
	}
	if s.log.String() != "" {
		t.Errorf("the service complained: %s", s.log)
	}
	if expired == 0 {
		t.Error("no trial met its deadline")
	}
}
