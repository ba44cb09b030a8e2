package study

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/turns"
)

// What a page asks of the model holds up nobody: proposals of the study wait for one part of it at most, and for none
// of the jobs that it waits for, and jobs do not wait for the study's proposals.
func TestPagesHoldUpNobody(t *testing.T) {
	m, err := Open(Config{Dir: t.TempDir(), Limits: DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	m.turns = turns.New(1)
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1), cmbo.Float("y", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, _, err := m.Create(ctx, "f", &api.NewStudy{ID: "s", Space: space})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]float64{{0.1, 0.5}, {0.7, 0.2}} {
		if _, _, err := s.Observe(ctx, Request{}, x, Measured{Y: x[0]}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(when string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if _, _, err := s.Ask(ctx, Request{}, 1, nil); err != nil {
			t.Errorf("a proposal while %s: %v", when, err)
		}
	}
	// job starts a job that has the only place until it is ended.
	job := func() (has, end chan struct{}) {
		has, end = make(chan struct{}), make(chan struct{})
		go func() { _ = m.turns.Job(ctx, func() error { close(has); <-end; return nil }) }()
		return has, end
	}
	running := func(done <-chan struct{}) bool {
		time.Sleep(50 * time.Millisecond)
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
	has, end := job()
	<-has
	_, _, done := s.Slices()
	if !running(done) {
		t.Fatal("the page's part did not wait for its place")
	}
	ask("a page waits for a job")
	// Each job that comes gets the place after one more of the page's parts: five of the advice, two parameters.
	parts := 0
	for ; running(done); parts++ {
		next, endNext := job()
		time.Sleep(50 * time.Millisecond) // until it is in the queue, behind the page
		close(end)
		<-next
		end = endNext
		ask("a page waits between its parts")
	}
	close(end)
	if parts < 5 { // 3 if the advice were one; a machine that is busy may leave one out
		t.Errorf("%d jobs came between what the page asks", parts)
	}
	newest, advice, done := s.Slices() // which asks again, as there are new trials
	if len(newest) != 2 || len(newest[1].Values) == 0 || advice == nil || advice.Observations != 2 {
		t.Errorf("%v, %+v", newest, advice)
	}
	<-done
	ask("nothing happens")
	if err := s.model.take(ctx); err != nil { // as a proposal that is being computed
		t.Fatal(err)
	}
	if _, _, done = s.Slices(); !running(done) {
		t.Fatal("the page did not wait for the model")
	}
	has, end = job()
	select {
	case <-has:
	case <-time.After(10 * time.Second):
		t.Error("a job waits for a proposal of a study whose page is looked at")
	}
	close(end)
	s.model.release()
	<-done
}

// A part of what a page asks of the model lets a request by that wants the model, and is begun again, a few times.
func TestPagesLetBy(t *testing.T) {
	m, err := Open(Config{Dir: t.TempDir(), Limits: DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, _, err := m.Create(ctx, "f", &api.NewStudy{ID: "s", Space: space})
	if err != nil {
		t.Fatal(err)
	}
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.aside(ctx, func(ctx context.Context) error {
			began <- struct{}{}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-end:
				return nil
			}
		})
	}()
	ask := func() error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, _, err := s.Ask(ctx, Request{}, 1, nil)
		return err
	}
	for range interruptions {
		<-began
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	<-began
	asked := make(chan error)
	go func() { asked <- ask() }()
	select {
	case err := <-asked:
		t.Errorf("a request was let by once more: %v", err)
	case err := <-done:
		t.Errorf("the part ended: %v", err)
	case <-time.After(50 * time.Millisecond):
		close(end)
		if err := errors.Join(<-done, <-asked); err != nil {
			t.Error(err)
		}
	}
	// It is not begun while a request waits that came after it, before which it gets the model.
	if !s.tryModel() {
		t.Fatal("something has the model")
	}
	opened := s.Summary().Counts.Open
	go func() {
		done <- s.aside(ctx, func(context.Context) error {
			if n := s.Summary().Counts.Open - opened; n != 1 {
				t.Errorf("begun after %d of the proposals asked for", n)
			}
			return nil
		})
	}()
	waiting(t, &s.model, 1)
	go func() { asked <- ask() }()
	waiting(t, &s.model, 2)
	s.model.release()
	if err := errors.Join(<-asked, <-done); err != nil {
		t.Error(err)
	}
	// The service ends in the midst of one.
	began, end = make(chan struct{}), nil
	go func() {
		done <- s.aside(ctx, func(ctx context.Context) error { close(began); <-ctx.Done(); return ctx.Err() })
	}()
	<-began
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}

// How well the values were foretold takes a fit for each of them: a page has the model for a while at a time, with what
// an optimiser says that is not interrupted.
func TestPagesForetell(t *testing.T) {
	defer func(was time.Duration) { firstForetold = was }(firstForetold)
	firstForetold = time.Millisecond
	m, err := Open(Config{Dir: t.TempDir(), Limits: DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1), cmbo.Float("y", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := m.Create(t.Context(), "f", &api.NewStudy{ID: "s", Space: space})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 80 {
		x := float64(i) / 80
		if _, _, err := s.Observe(t.Context(), Request{}, []float64{x, x * x}, Measured{Y: x*x - x}); err != nil {
			t.Fatal(err)
		}
	}
	var state bytes.Buffer
	if err := s.Snapshot(&state); err != nil {
		t.Fatal(err)
	}
	twin, err := cmbo.Restore(&state)
	if err != nil {
		t.Fatal(err)
	}
	want, err := twin.Calibration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Advice(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request of 10 ms: %v", err)
	}
	_, _, done := s.Slices()
	got := 0 // how often somebody else had the model
	for waits := true; waits; got++ {
		if err := s.model.takeAside(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // until the page is in the queue
		s.model.release()
		select {
		case <-done:
			waits = false
		default:
		}
	}
	if got < 20 { // without whiles it is a dozen: five parts of the advice, two parameters
		t.Errorf("the page let go of the model %d times", got)
	}
	_, advice, _ := s.Slices()
	if advice == nil || !reflect.DeepEqual(advice.Calibration, want) {
		t.Errorf("%+v, want %+v", advice, want)
	}
	// It is worked out once, for pages and requests, until something happens.
	if !s.tryModel() { // without which nothing is
		t.Fatal("something has the model")
	}
	if again, err := s.Advice(t.Context()); again != advice {
		t.Errorf("a request has other advice: %v, %v", again, err)
	}
	s.model.release()
	if _, _, err := s.Observe(t.Context(), Request{}, []float64{0.5, 0.5}, Measured{Y: 1}); err != nil {
		t.Fatal(err)
	}
	asked, err := s.Advice(t.Context())
	if err != nil || asked == nil || asked.Observations != 81 {
		t.Errorf("advice after another value: %+v, %v", asked, err)
	}
	_, _, done = s.Slices()
	<-done
	if _, shown, _ := s.Slices(); shown != asked {
		t.Error("a page has other advice than the request before")
	}
}
