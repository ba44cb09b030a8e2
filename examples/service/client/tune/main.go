// Tune minimises a toy function through the service, with several workers.
//
//	go run -C examples/service . -dir DIR                  # in one terminal
//	go run -C examples/service ./client/tune -workers 4    # in another
//
// Kill either at any time and start it again: the study goes on where it was.
// It evaluates again the trials that the workers had in hand.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t := &tuner{client: &client.Client{}, out: os.Stdout}
	flag.StringVar(&t.client.Base, "addr", "http://127.0.0.1:8080", "`address` of the service")
	flag.StringVar(&t.client.Token, "token",
		os.Getenv("SERVICE_TOKEN"), "`token` of the service; the environment variable SERVICE_TOKEN is better")
	tokenFile := flag.String("token-file", "", "`file` with the token")
	flag.StringVar(&t.study, "study", "branin", "`ID` of the study, which is created if it is not there")
	flag.IntVar(&t.trials, "trials", 40, "`number` of trials of the study")
	flag.DurationVar(&t.pause, "pause", 200*time.Millisecond, "`time` that an evaluation pretends to take")
	workers := flag.Int("workers", 4, "`number` of workers")
	flag.Parse()
	if *tokenFile != "" {
		token, err := os.ReadFile(*tokenFile)
		if err != nil {
			fmt.Fprintln(os.Stderr, "tune:", err)
			os.Exit(1)
		}
		t.client.Token = strings.TrimSpace(string(token))
	}
	if err := t.run(ctx, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "tune:", err)
		os.Exit(1)
	}
}

// branin is the function to minimise. Its minimum is 0.397887.
func branin(x, y float64) float64 {
	const b, c, t = 5.1 / (4 * math.Pi * math.Pi), 5 / math.Pi, 1 / (8 * math.Pi)
	u := y - b*x*x + c*x - 6
	return u*u + 10*(1-t)*math.Cos(x) + 10
}

// errCrash is what an evaluation that crashes returns.
var errCrash = errors.New("the evaluation crashed")

// evaluate is what takes long in real life. In one corner it crashes.
func (t *tuner) evaluate(ctx context.Context, x, y float64) (float64, error) {
	select {
	case <-time.After(t.pause):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if x < -4 && y < 1 {
		return 0, errCrash
	}
	return branin(x, y), nil
}

// tuner shares one study among workers.
type tuner struct {
	client *client.Client
	study  string
	trials int
	pause  time.Duration
	out    io.Writer

	mu    sync.Mutex  // guards what follows and out
	left  int         // trials that may still be asked for
	begun []api.Trial // opened in an earlier life and not answered
	best  float64
}

func (t *tuner) run(ctx context.Context, workers int) error {
	if workers < 1 {
		return fmt.Errorf("-workers %d: at least 1 is needed", workers)
	}
	space, err := cmbo.NewSpace(cmbo.Float("x", -5, 10), cmbo.Float("y", 0, 15))
	if err != nil {
		return err
	}
	optimum := 0.397887
	if _, err := t.client.CreateStudy(ctx, &api.NewStudy{ID: t.study, Space: space, Options: api.Options{Minimize: true},
		Optimum: &optimum}); err != nil {
		return err
	}
	known, err := t.client.Trials(ctx, t.study, "")
	if err != nil {
		return err
	}
	t.left, t.best = t.trials-len(known), math.Inf(1)
	for _, trial := range known {
		switch {
		case trial.Status == api.Open:
			t.begun = append(t.begun, trial)
		case trial.Y != nil:
			t.best = min(t.best, *trial.Y)
		}
	}
	if len(known) > 0 {
		fmt.Fprintf(t.out, "going on after %d trials, %d of them unfinished\n", len(known), len(t.begun))
	}
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = t.work(ctx, i)
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	best, err := t.client.Best(ctx, t.study)
	if err != nil {
		return err
	}
	if best == nil {
		fmt.Fprintln(t.out, "nothing was measured")
		return nil
	}
	fmt.Fprintf(t.out, "best: %.6f at x=%.4f y=%.4f, trial %d; the minimum is %g\n",
		best.Y, best.X[0], best.X[1], best.Trial, optimum)
	fmt.Fprintf(t.out, "see %s/studies/%s\n", t.client.Base, t.study)
	return nil
}

// next returns a trial to evaluate: one that was begun before, or a new one. ok
// is false if there are enough.
func (t *tuner) next(ctx context.Context) (trial api.Trial, ok bool, err error) {
	t.mu.Lock()
	if n := len(t.begun); n > 0 {
		trial, t.begun = t.begun[n-1], t.begun[:n-1]
		t.mu.Unlock()
		return trial, true, nil
	}
	if t.left <= 0 {
		t.mu.Unlock()
		return trial, false, nil
	}
	t.left--
	t.mu.Unlock()
	trials, err := t.client.Ask(ctx, t.study, 1)
	if err != nil {
		return trial, false, err
	}
	return trials[0], true, nil
}

// work asks, evaluates and tells until there are enough trials.
func (t *tuner) work(ctx context.Context, worker int) error {
	for {
		trial, ok, err := t.next(ctx)
		if err != nil || !ok {
			return err
		}
		y, err := t.evaluate(ctx, trial.X[0], trial.X[1])
		switch {
		case errors.Is(err, errCrash):
			err = t.client.Fail(ctx, t.study, trial.ID)
			t.report(worker, trial, math.NaN())
		case err == nil:
			err = t.client.Tell(ctx, t.study, trial.ID, y)
			t.report(worker, trial, y)
		}
		if err != nil {
			return err
		}
	}
}

// report prints what came of a trial, NaN for a crash.
func (t *tuner) report(worker int, trial api.Trial, y float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if math.IsNaN(y) {
		fmt.Fprintf(t.out, "worker %d  trial %3d  x=%8.4f y=%8.4f  failed\n", worker, trial.ID, trial.X[0], trial.X[1])
		return
	}
	t.best = min(t.best, y)
	fmt.Fprintf(t.out, "worker %d  trial %3d  x=%8.4f y=%8.4f  value %10.4f  best %10.4f\n",
		worker, trial.ID, trial.X[0], trial.X[1], y, t.best)
}
