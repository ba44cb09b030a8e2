//go:build unix

package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

var killsFlag = flag.Int("kills", 0, "how often each test kills the service; 0 for a few times")

// kills returns how often a test kills the service.
func kills(few int) int {
	switch {
	case *killsFlag > 0:
		return *killsFlag
	case testing.Short():
		return min(few, 6)
	}
	return few
}

// The service is killed at random moments while clients use it.
func TestKill(t *testing.T) {
	rng := twin.RNG(t)
	interrupt(t, rng, kills(20), func() int { return 0 }, func(p *process) {
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
		p.kill()
	})
}

// The service is killed by itself, after a random number of bytes that it wrote
// to its files: in the middle of a line, or behind one that is not synced yet, or
// while it starts.
func TestKillAtAnyByte(t *testing.T) {
	rng := twin.RNG(t)
	interrupt(t, rng, kills(30), func() int { return 1 + rng.IntN(10000) }, func(p *process) { _ = p.wait() })
}

// interrupt starts the service n times and has end end it while clients use it.
// The files get the traces of an interrupted write and the times of a clock that
// jumps. After each restart everything acknowledged is there, what was not is
// there whole or not at all, a repeated request is done once, and every proposal
// is that of an optimiser that was never interrupted. mortal returns after how
// many bytes the next process kills itself, 0 for never.
func interrupt(t *testing.T, rng *rand.Rand, n int, mortal func() int, end func(p *process)) {
	dir := t.TempDir()
	p := start(t, dir)
	putPriors(t, p.client(nil))
	p.kill()
	drivers := make([]*driver, len(twin.Kinds(t)))
	for i, k := range twin.Kinds(t) {
		drivers[i] = &driver{kind: k, rng: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))}
	}
	var total driver
	gone := map[string]bool{}
	early, halves := 0, 0
	for round := range n {
		p, err := launch(dir, mortal())
		if err != nil {
			early++
		} else {
			errs := make(chan error, len(drivers))
			for _, d := range drivers {
				go func() { errs <- d.drive(t, p) }()
			}
			end(p)
			p.sound(t)
			for range drivers {
				if err := <-errs; err != nil {
					t.Fatalf("kill %d: %v\n%s", round, err, p.stderr)
				}
			}
		}
		if n := disturb(t, dir, rng); err == nil { // a start has dealt with those of before
			halves += n
		}
	}
	p = start(t, dir)
	for _, d := range drivers {
		if err := d.finish(t, p); err != nil {
			t.Fatal(err)
		}
		total.done += d.done
		total.lost += d.lost
		total.found += d.found
		total.studies += d.studies
		total.priors += d.priors
		for _, id := range d.deleted {
			gone[id] = true
		}
	}
	list, err := p.client(nil).Studies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if gone[s.ID] || s.State != api.StateOK {
			t.Errorf("study %s is %s, deleted: %v", s.ID, s.State, gone[s.ID])
		}
	}
	t.Logf("%d kills, %d of them at a start, %d left half a line; %d studies, %d requests; %d had no answer, %d of them were done; %d priors deleted",
		n, early, halves, total.studies, total.done, total.lost, total.found, total.priors)
	if n >= 20 && (total.lost == 0 || total.priors == 0) {
		t.Error("no request was interrupted, or no prior deleted")
	}
}

// disturb leaves in a directory what could be there after a kill: the beginning
// of a line that was being written, the beginning of a new file, and times of
// files that make no sense. It returns how many logs it found with half a line.
func disturb(t *testing.T, dir string, rng *rand.Rand) (halves int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		when := time.Unix(rng.Int64N(1<<33), 0)
		if err := os.Chtimes(path, when, when); err != nil {
			return err
		}
		if filepath.Ext(path) != ".log" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.HasSuffix(b, []byte("\n")) {
			halves++ // which is disturbance enough
			return nil
		}
		if rng.IntN(3) > 0 {
			return nil
		}
		const next = `{"sum":"0123456789abcdef","tx":{"journal":[{"sum":"0123456789abcdef","entry":{"event":"told","trial":1,"y":0.5}}]}}`
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(next[:rng.IntN(len(next))+1])
		return err
	})
	if err == nil && rng.IntN(3) == 0 {
		err = os.WriteFile(filepath.Join(dir, "studies", "unfinished.log.tmp"), []byte(`{"sum":`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return halves
}

// Several workers share one study while the service is killed and started
// again. With keys, each request is done once: no trial is left without a
// worker, none is told twice.
func TestKillWithWorkers(t *testing.T) {
	n := min(kills(8), 60)
	dir := t.TempDir()
	rng := twin.RNG(t)
	p := start(t, dir, "-max-events", "100000")
	q := twin.Kinds(t)[0].Study
	q.ID = "s"
	initial := 100000 // proposals from the design, which take no time however many there are
	q.Options.Initial = &initial
	if _, err := p.client(nil).CreateStudy(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards addr and told
	addr, told := p.addr, map[int]float64{}
	stop := make(chan struct{})
	errs := make(chan error, 4)
	for i := range cap(errs) {
		go func() {
			// Each attempt goes to where the service listens by then.
			calls := 0
			retry := func(f func(c *client.Client) error) error {
				calls++
				key := fmt.Sprintf("%d-%d", i, calls)
				for {
					mu.Lock()
					c := &client.Client{Base: addr, Attempts: 1, NewKey: func() string { return key }}
					mu.Unlock()
					if err := f(c); err == nil || client.Code(err) != "" {
						return err
					}
					time.Sleep(5 * time.Millisecond)
				}
			}
			for j := 0; ; j++ {
				select {
				case <-stop:
					errs <- nil
					return
				default:
				}
				var trials []api.Trial
				err := retry(func(c *client.Client) (err error) {
					trials, err = c.Ask(t.Context(), "s", 1)
					return err
				})
				if err == nil {
					y := float64(i) + float64(j)/1000
					err = retry(func(c *client.Client) error { return c.Tell(t.Context(), "s", trials[0].ID, y) })
					mu.Lock()
					if _, twice := told[trials[0].ID]; twice && err == nil {
						err = fmt.Errorf("trial %d was handed out twice", trials[0].ID)
					}
					told[trials[0].ID] = y
					mu.Unlock()
				}
				if err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	for range n {
		time.Sleep(time.Duration(20+rng.IntN(120)) * time.Millisecond)
		p.kill()
		p = start(t, dir, "-max-events", "100000")
		mu.Lock()
		addr = p.addr
		mu.Unlock()
	}
	time.Sleep(50 * time.Millisecond)
	close(stop)
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	trials, err := p.client(nil).Trials(t.Context(), "s", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(trials) != len(told) {
		t.Errorf("%d trials, the workers told %d", len(trials), len(told))
	}
	for _, tr := range trials {
		if y, ok := told[tr.ID]; !ok || tr.Y == nil || *tr.Y != y {
			t.Errorf("trial %d was told %g, it is %v", tr.ID, y, tr)
		}
	}
	t.Logf("%d kills, %d trials, each told once", n, len(trials))
}
