package web_test

import (
	"flag"
	"fmt"
	"log"
	"runtime"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
	"github.com/gocmbo/cmbo/examples/service/internal/web"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var hours = flag.Int("hours", 0, "hours of simulated time in TestDay; 24 take minutes")

// TestDay has twenty workers try trials of some minutes each, by a clock that the
// test turns: they ask, tell, fail, leave trials to their deadlines, look at pages
// and make studies in the place of those that are through. After a warm-up the
// service has no more memory or goroutines than before, as it has no more data.
func TestDay(t *testing.T) {
	if *hours == 0 {
		t.Skip("go test ./examples/service/internal/web -run Day -hours 24 -v")
	}
	const workers, trials = 20, 60
	rng := testutil.RNG(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	m, err := study.Open(study.Config{Dir: "d", FS: disktest.New(rng), Limits: study.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := &service{m: m, log: &twin.Log{}}
	s.Server = web.New(web.Config{
		Studies: m, Body: 1 << 20, Timeout: web.DefaultTimeout, Log: log.New(s.log, "", 0),
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
	type usage struct {
		heap       uint64
		goroutines int
	}
	var hourly []usage
	for range *hours {
		for range 60 {
			now = now.Add(time.Minute)
			if err := m.Expire(t.Context(), now.UnixMilli()); err != nil {
				t.Fatal(err)
			}
			for i := range all {
				step(i, &all[i])
			}
		}
		var mem runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&mem)
		hourly = append(hourly, usage{mem.HeapAlloc, runtime.NumGoroutine()})
		t.Logf("%s: %d requests, %d trials expired, %.1f MB, %d goroutines", now.Format("15:04"), requests, expired, float64(mem.HeapAlloc)/(1<<20), runtime.NumGoroutine())
	}
	if s.log.String() != "" {
		t.Errorf("the service complained: %s", s.log)
	}
	if expired == 0 {
		t.Error("no trial met its deadline")
	}
	// Twenty studies of sixty trials hold a few megabytes; how far each is on
	// its way differs from hour to hour.
	if len(hourly) < 12 {
		return
	}
	var early, late usage
	for i := range 6 {
		early.heap = max(early.heap, hourly[i].heap)
		late.heap = max(late.heap, hourly[len(hourly)-1-i].heap)
		early.goroutines = max(early.goroutines, hourly[i].goroutines)
		late.goroutines = max(late.goroutines, hourly[len(hourly)-1-i].goroutines)
	}
	if late.heap > early.heap*5/4+1<<20 || late.goroutines > early.goroutines+2 {
		t.Errorf("%d bytes and %d goroutines in the last six hours, %d and %d in the first", late.heap, late.goroutines, early.heap, early.goroutines)
	}
}
