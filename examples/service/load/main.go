// Load measures how many requests the service answers, and how fast.
//
//	go run -C examples/service ./load [-studies 8] [-workers 2] [-trials 40] [-space plain] [-addr URL]
//
// Each of so many workers of each of so many studies asks for a trial, tells a
// value at once, and so on, until the study has its trials. Without -addr it
// starts the service itself, on a port of this machine with a directory of its
// own, so that HTTP and the disk are part of what is measured.
//
// The spaces: "plain" has 4 parameters and no prior, so that each proposal fits a
// Gaussian process; "design" the same, with proposals from a Sobol sequence, which
// leaves HTTP and the disk; "prior" has a prior of 12 tasks; "list"
// has that and 1,000 candidates.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/web"
)

func main() {
	l := &load{client: &client.Client{HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}}}
	flag.StringVar(&l.client.Base, "addr", "", "`address` of a service; empty to start one")
	flag.StringVar(&l.dir, "dir", "", "`directory` for the service's own files; empty for a temporary one")
	flag.IntVar(&l.studies, "studies", 8, "`number` of studies")
	flag.IntVar(&l.workers, "workers", 2, "`number` of workers of each study")
	flag.IntVar(&l.trials, "trials", 40, "`number` of trials of each study")
	flag.StringVar(&l.space, "space", "plain", "`kind` of studies: plain, design, prior or list")
	flag.Parse()
	if err := l.run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// load is what the flags say and what was measured.
type load struct {
	client  *client.Client
	dir     string
	space   string
	studies int
	workers int
	trials  int

	mu    sync.Mutex
	times map[string][]time.Duration // by kind of request
}

func (l *load) run(ctx context.Context, w io.Writer) error {
	if l.studies < 1 || l.workers < 1 || l.trials < 1 {
		return errors.New("a number is below 1")
	}
	if l.client.Base == "" {
		stop, err := l.serve()
		if err != nil {
			return err
		}
		defer stop()
	}
	ids, err := l.create(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s/%s, %d processors, %s\n", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
	fmt.Fprintf(w, "%d studies (%s), %d workers each, %d trials each\n\n", l.studies, l.space, l.workers, l.trials)
	l.times = map[string][]time.Duration{}
	begin := time.Now()
	var wg sync.WaitGroup
	errs := make(chan error, l.studies*l.workers)
	for _, id := range ids {
		for i := range l.workers {
			// The remainder goes to the first workers.
			n := (l.trials + l.workers - 1 - i) / l.workers
			wg.Add(1)
			go func() {
				defer wg.Done()
				errs <- l.work(ctx, id, n)
			}()
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	l.report(w, time.Since(begin))
	for _, id := range ids {
		if err := l.client.DeleteStudy(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// serve starts the service in this process.
func (l *load) serve() (stop func(), err error) {
	dir := l.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "load"); err != nil {
			return nil, err
		}
	}
	limits := study.DefaultLimits()
	limits.Studies, limits.Events = math.MaxInt32, math.MaxInt32
	m, err := study.Open(study.Config{Dir: dir, Limits: limits})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server := &http.Server{
		Handler:           web.New(web.Config{Studies: m, Body: web.DefaultBody, Timeout: web.DefaultTimeout, Log: quiet}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = server.Serve(listener) }()
	l.client.Base = "http://" + listener.Addr().String()
	return func() {
		_ = server.Close()
		_ = m.Close()
		if l.dir == "" {
			_ = os.RemoveAll(dir)
		}
	}, nil
}

// create creates the studies.
func (l *load) create(ctx context.Context) ([]string, error) {
	space, err := cmbo.NewSpace(cmbo.LogFloat("rate", 1e-5, 1), cmbo.Float("momentum", 0, 1), cmbo.Int("depth", 1, 12),
		cmbo.Categorical("kernel", "rbf", "poly"))
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	points := func(n int) []api.Row {
		rows := make([]api.Row, n)
		for i := range rows {
			rows[i] = api.Row{math.Pow(10, -5*rng.Float64()), rng.Float64(), float64(1 + rng.IntN(12)), float64(rng.IntN(2))}
		}
		return rows
	}
	q := api.NewStudy{Space: space}
	switch l.space {
	case "plain":
	case "design":
		n := l.trials + 1
		q.Options.Initial = &n
	case "prior", "list":
		learn := api.NewPrior{Space: space}
		for i := range 12 {
			t := api.Task{ID: fmt.Sprint(i), X: points(30)}
			for _, x := range t.X {
				t.Y = append(t.Y, value(x)+float64(i%4)*x[1])
			}
			learn.Tasks = append(learn.Tasks, t)
		}
		p, err := l.client.LearnPrior(ctx, &learn)
		if err != nil {
			return nil, err
		}
		q.Prior = p.Digest
		if l.space == "list" {
			var rows [][]float64
			for _, r := range points(1000) {
				rows = append(rows, r)
			}
			if q.Space, err = space.WithCandidates(rows); err != nil {
				return nil, err
			}
		}
	default:
		return nil, fmt.Errorf("there is no space %q", l.space)
	}
	ids := make([]string, l.studies)
	for i := range ids {
		seed := uint64(i)
		ids[i] = fmt.Sprintf("load-%s-%d-%d", l.space, os.Getpid(), i)
		q.ID, q.Options.Seed = ids[i], &seed
		if _, err := l.client.CreateStudy(ctx, &q); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// value is what is optimised.
func value(x []float64) float64 {
	u := math.Log10(x[0]) + 2.5
	return 1 - 0.05*u*u - x[1]*x[1] - 0.003*(x[2]-6)*(x[2]-6) - 0.1*x[3]
}

// work asks and tells n times.
func (l *load) work(ctx context.Context, id string, n int) error {
	for range n {
		var trials []api.Trial
		err := l.time("ask", func() (err error) {
			trials, err = l.client.Ask(ctx, id, 1)
			return err
		})
		if err != nil {
			return err
		}
		tr := trials[0]
		if err := l.time("tell", func() error { return l.client.Tell(ctx, id, tr.ID, value(tr.X)) }); err != nil {
			return err
		}
	}
	return nil
}

// time measures a request.
func (l *load) time(kind string, f func() error) error {
	begin := time.Now()
	err := f()
	d := time.Since(begin)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[kind] = append(l.times[kind], d)
	return err
}

// report prints what was measured.
func (l *load) report(w io.Writer, total time.Duration) {
	fmt.Fprintf(w, "%-6s %9s %11s %9s %9s %9s\n", "", "requests", "per second", "p50 ms", "p99 ms", "max ms")
	for _, kind := range []string{"ask", "tell"} {
		t := l.times[kind]
		slices.Sort(t)
		at := func(p float64) float64 {
			return float64(t[min(len(t)-1, int(math.Ceil(p*float64(len(t))))-1)]) / 1e6
		}
		fmt.Fprintf(w, "%-6s %9d %11.0f %9.2f %9.2f %9.2f\n",
			kind, len(t), float64(len(t))/total.Seconds(), at(0.5), at(0.99), at(1))
	}
	fmt.Fprintf(w, "in %.1f s\n", total.Seconds())
}
