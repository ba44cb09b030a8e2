package cmbo_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// paused is a surrogate whose Predict waits: it says that it has begun and goes
// on when it is let. Its mean is a sum over the data, so that a proposal tells
// which data it saw.
type paused struct {
	begun, on chan struct{} // nil to go on at once
	d         cmbo.Data
}

func (p *paused) Fit(_ context.Context, d cmbo.Data) error {
	p.d = d
	return nil
}

func (p *paused) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if p.begun != nil {
		p.begun <- struct{}{}
		select {
		case <-p.on:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for i := range mean {
		mean[i], sd[i] = 0, 1
		for k, y := range p.d.Y {
			mean[i] += (y + 1) / (0.01 + linalg.SqDist(x.Row(i), p.d.X.Row(k)))
		}
	}
	return nil
}

// TestCallsDuringAsk: while an Ask computes, trials are told, failed and
// cancelled and everything is read; the proposal is that of the log before, the
// next one knows it all, and the journal leads to both.
func TestCallsDuringAsk(t *testing.T) {
	space, _ := grid(t, 9)
	model := &paused{}
	var journal bytes.Buffer
	opts := []cmbo.Option{cmbo.WithSurrogate(model), cmbo.WithYPolicy(cmbo.RawValues), cmbo.WithSeed(4)}
	opt := newOptimizer(t, space, append(opts, cmbo.WithJournal(func(lines []byte) error {
		journal.Write(lines)
		return nil
	}))...)
	ask := func(o *cmbo.Optimizer, n int) []cmbo.Trial {
		t.Helper()
		ts := askN(t, o, n)
		return ts
	}
	ask(opt, 4)
	require.NoError(t, opt.Tell(1, 2))

	// The proposal as it is made undisturbed.
	twin := restored(t, opt, cmbo.WithSurrogate(&paused{}))
	want := ask(twin, 2)

	model.begun, model.on = make(chan struct{}), make(chan struct{})
	type asked struct {
		ts  []cmbo.Trial
		err error
	}
	done := make(chan asked)
	go func() {
		ts, err := opt.AskN(ctx, 2)
		done <- asked{ts, err}
	}()
	<-model.begun
	require.NoError(t, opt.Tell(2, 50))
	require.NoError(t, opt.TellFailed(3))
	require.NoError(t, opt.Cancel(4))
	best, ok := opt.Best()
	require.True(t, ok)
	require.Equal(t, 50.0, best.Y)
	require.Len(t, opt.Observations(), 2)
	require.Empty(t, opt.Open())
	require.Nil(t, weightsOf(t, opt))
	_, ok = opt.LastStep()
	require.True(t, ok)
	taskOf(t, opt, "t")
	require.NoError(t, opt.Snapshot(new(bytes.Buffer)))
	require.Contains(t, journal.String(), `"event":"told","trial":2`)

	// Another Ask waits, and no longer than its context lasts.
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err := opt.Ask(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	model.on <- struct{}{}
	<-model.begun
	model.on <- struct{}{}
	got := <-done
	require.NoError(t, got.err)
	for i := range want {
		require.Equal(t, want[i].X, got.ts[i].X)
		require.Equal(t, want[i].ID, got.ts[i].ID)
	}
	require.Equal(t, 2, strings.Count(journal.String(), `"saw":5`))

	again, _, err := cmbo.RestoreJournal(bytes.NewReader(journal.Bytes()), cmbo.WithSurrogate(&paused{}))
	require.NoError(t, err)
	require.Equal(t, snapshot(t, opt), snapshot(t, again))
	model.begun = nil
	at := func(o *cmbo.Optimizer) (xs [][]float64) {
		for _, trial := range ask(o, 2) {
			xs = append(xs, trial.X)
		}
		return xs
	}
	next := at(opt)
	require.NotEqual(t, next, at(twin), "the next proposals do not know what was told meanwhile")
	require.Equal(t, next, at(again))
}

// TestAbandonedAsk: an Ask that fails while others are told leaves no trace but
// theirs.
func TestAbandonedAsk(t *testing.T) {
	space, _ := grid(t, 9)
	model := &paused{}
	opt := newOptimizer(t, space, cmbo.WithSurrogate(model))
	askN(t, opt, 2)
	model.begun, model.on = make(chan struct{}), make(chan struct{})
	short, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		_, err := opt.AskN(short, 2)
		done <- err
	}()
	<-model.begun
	require.NoError(t, opt.Tell(1, 3))
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Len(t, opt.Open(), 1)
	require.Len(t, opt.Observations(), 1)
	model.begun = nil
	trial := ask(t, opt)
	require.Equal(t, 3, trial.ID)
}

// TestJournalFailsFirst: an event that the journal does not take, by an error or
// a panic, has not happened.
func TestJournalFailsFirst(t *testing.T) {
	space, _ := grid(t, 9)
	var fail func() error
	var journal bytes.Buffer
	opt := newOptimizer(t, space, cmbo.WithJournal(func(lines []byte) error {
		if fail != nil {
			return fail()
		}
		journal.Write(lines)
		return nil
	}))
	askN(t, opt, 2)
	state := snapshot(t, opt)
	full := errors.New("full")
	for name, f := range map[string]func() error{
		"error": func() error { return full },
		"panic": func() error { panic(full) },
	} {
		fail = f
		for call, try := range map[string]func() error{
			"Ask":     func() error { _, err := opt.AskN(ctx, 3); return err },
			"Tell":    func() error { return opt.Tell(1, 1) },
			"Cancel":  func() error { return opt.Cancel(1) },
			"Observe": func() error { return opt.Observe([]float64{0.1, 0.1}, 1) },
		} {
			require.ErrorIs(t, try(), full)
			require.Equal(t, state, snapshot(t, opt), "%s, %s", name, call)
		}
	}
	fail = nil
	require.NoError(t, opt.Tell(1, 1))
	again, _, err := cmbo.RestoreJournal(&journal)
	require.NoError(t, err)
	require.Equal(t, snapshot(t, opt), snapshot(t, again))
}

// at is a context that does something when it is asked for the n-th time whether it is done.
type at struct {
	context.Context
	n  int
	do func()
}

func (c *at) Err() error {
	if c.n--; c.n == 0 {
		c.do()
	}
	return nil
}

// TestResumedMeanwhile: where a checkpoint is used up while an AskN computes, the trial that it returns goes on from
// none, as the one that Open, its curve and a restored run have.
func TestResumedMeanwhile(t *testing.T) {
	space, rows := grid(t, 3)
	opt := newOptimizer(t, space, cmbo.WithCheckpoints(), cmbo.WithInitial(9))
	ask := func(ctx context.Context, n int) cmbo.Trial {
		require.NoError(t, opt.Enqueue(rows[4]))
		ts, err := opt.AskN(ctx, n)
		require.NoError(t, err)
		require.Len(t, ts, n)
		return ts[0]
	}
	first := ask(ctx, 1)
	report(t, opt, first.ID, 1, 5)
	require.NoError(t, opt.TellStopped(ctx, first.ID))
	second := ask(ctx, 1)
	require.Equal(t, first.ID, second.Resumes)
	third := ask(&at{ctx, 2, func() { require.NoError(t, opt.Tell(second.ID, 7)) }}, 2)
	require.Equal(t, opt.Open()[0], third)
	require.Zero(t, third.Resumes)
}

// TestReportDuringStop: what a trial reports while its stop is worked out counts for what is expected of its end, as if
// it had been reported before.
func TestReportDuringStop(t *testing.T) {
	line := unitCube(t, 1)
	estimate := func(overlap bool) cmbo.Task {
		model := &paused{}
		o := newOptimizer(t, line, cmbo.WithSurrogate(model))
		report := func(id, step int, y float64) {
			report(t, o, id, step, y)
		}
		for i := range 8 {
			trial, end := ask(t, o), float64(i)
			for step := 1; step <= 3; step++ {
				report(trial.ID, step, end+0.001*float64(i*step%3))
			}
			require.NoError(t, o.Tell(trial.ID, end))
		}
		trial := ask(t, o)
		report(trial.ID, 1, 1)
		require.NoError(t, o.Observe([]float64{0.9}, 3)) // so that the model has to be asked again
		if !overlap {
			report(trial.ID, 2, 6.5)
			require.NoError(t, o.TellStopped(ctx, trial.ID))
		} else {
			model.begun, model.on = make(chan struct{}), make(chan struct{})
			stopped, reported := make(chan error), make(chan error)
			go func() { stopped <- o.TellStopped(ctx, trial.ID) }()
			<-model.begun
			go func() {
				_, err := o.Report(ctx, trial.ID, 2, 6.5)
				reported <- err
			}()
			require.Eventually(t, func() bool {
				return bytes.Contains(snapshot(t, o), []byte(`"step":2,"y":6.5`))
			}, 10*time.Second, time.Millisecond)
			model.begun = nil // the one that waits is let on
			close(model.on)
			require.NoError(t, <-stopped)
			require.NoError(t, <-reported)
		}
		task := taskOf(t, o, "rows")
		return task
	}
	want := estimate(false)
	require.InDelta(t, 6.5, want.Y[len(want.Y)-1], 0.01)
	require.Equal(t, want, estimate(true))
}
