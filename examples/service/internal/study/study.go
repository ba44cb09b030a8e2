package study

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/turns"
)

// A Study is one run of an optimiser and its log. Its methods may be called from
// any goroutine. Those that take a [Request] change it: once they return without
// an error, what they did is on disk; if they fail, nothing has changed.
//
// Requests that read, tell, fail and cancel do not wait for proposals that are being
// computed.
type Study struct {
	header    header
	limits    Limits
	minimize  bool
	positive  bool
	modelName string
	turns     *turns.Turns // shared
	pace      turns.Pace

	// model is held by whoever computes with the optimiser's model, gate by
	// whoever changes the study otherwise; who needs both takes model first.
	// Each guards a record, of the request under way.
	model, gate     lock
	asking, telling *record

	current atomic.Pointer[run] // changed by a holder of both
	gone    error               // why the study takes no requests any more; set by a holder of both
	deleted chan struct{}       // closed once it was

	logging sync.Mutex // held while log is used
	log     *disk.Log
	mark    *disk.Mark
	marked  journalMark // what mark says

	slices  sliceCache
	view    view
	damaged error // why it could not be opened; nothing else is set then
}

// A run is what changes of a study when it goes on with another prior.
type run struct {
	opt    *cmbo.Optimizer
	prior  *cmbo.Prior // nil for none
	of     priorOf
	before int // how many journals the log has before the optimiser's
}

// opt returns the optimiser, which stays the study's while one of its locks is held.
func (s *Study) opt() *cmbo.Optimizer { return s.current.Load().opt }

// A Request identifies a request that changes a study. If Key is not empty, a
// second request with the same key does nothing and gets the first one's reply,
// provided that the fingerprint is the same.
type Request struct {
	Key         string
	Fingerprint string
}

func newStudy(h header, limits Limits, t *turns.Turns) *Study {
	s := &Study{header: h, limits: limits, turns: t}
	s.view.best = -1
	s.view.replies = make(map[string]Reply)
	s.view.running = make(map[string]bool)
	s.view.news, s.deleted = make(chan struct{}), make(chan struct{})
	return s
}

// create makes the optimiser and the log of a new study. Its prior is kept once the optimiser refuses nothing.
func (s *Study) create(fsys disk.FS, path, mark string, space *cmbo.Space, prior *cmbo.Prior, keep func() error,
	opts []cmbo.Option) error {
	// The mark of a study that had the ID before says nothing of this one.
	if err := disk.Remove(fsys, mark); err != nil {
		return err
	}
	var kept error
	begin := s.beginning(&record{Study: &s.header}, func(tx []byte) (err error) {
		if kept = keep(); kept != nil {
			return kept
		}
		s.log, err = disk.CreateLog(fsys, path, tx)
		return err
	})
	opt, err := cmbo.New(space, append(slices.Clone(opts), cmbo.WithJournal(begin))...)
	if err != nil {
		return cmp.Or(kept, err)
	}
	s.current.Store(&run{opt: opt, prior: prior, of: s.header.priorOf})
	if s.mark, _, err = openMark(fsys, mark); err == nil {
		err = s.remember()
	}
	if err != nil {
		_ = s.log.Remove()
	}
	return err
}

// openMark opens the mark of a study's journal, of no line if there is none.
func openMark(fsys disk.FS, path string) (*disk.Mark, journalMark, error) {
	var newest journalMark
	m, value, err := disk.OpenMark(fsys, path)
	if err == nil && value != nil {
		if err = json.Unmarshal(value, &newest); err != nil {
			err = fmt.Errorf("%w: the mark: %w", disk.ErrDamaged, err)
		}
	}
	return m, newest, err
}

// remember keeps how far the journal has come, apart from it, once that is on disk and
// before anybody is told.
func (s *Study) remember() error {
	r := s.current.Load()
	line, _ := r.opt.JournalMark()
	m := journalMark{line, r.before}
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.logging.Lock()
	defer s.logging.Unlock()
	if m.Before == s.marked.Before && m.Lines <= s.marked.Lines { // another request did it
		return nil
	}
	if err = s.mark.Store(value); err == nil {
		s.marked = m
	}
	return err
}

// restore makes a run again from the records of the study's log, of which newest are those of its journal.
func (s *Study) restore(rs, newest []*record, now *run, opts []cmbo.Option) (err error) {
	if now.opt, _, err = cmbo.RestoreJournal(journal(newest), opts...); err != nil {
		return err
	}
	s.current.Store(now)
	for _, r := range rs {
		if r.Prior != nil {
			s.view.turn(r.Prior)
		}
		if r.Study != nil || r.Prior != nil { // a journal's first line is of no event of the optimiser's
			continue
		}
		events, err := r.events()
		if err != nil {
			return err
		}
		s.view.apply(r, events, s)
	}
	if len(rs) > 1 {
		s.pace.Suspect()
	}
	return nil
}

// write is the optimiser's journal: it adds the lines, as part of the request
// under way, to the log, and to the view once they last. The optimiser calls it
// for one request at a time.
func (s *Study) write(lines []byte) error {
	r := &record{}
	if _, err := r.encode(lines); err != nil {
		return err
	}
	events, err := r.events()
	if err != nil {
		return err
	}
	// A request that holds the model and one that holds the gate may be under way at once.
	// Lines of the first end with a trial that was asked for, reported or was stopped.
	// Each of the two looks at its own record alone.
	var of *record
	switch events[len(events)-1].Kind {
	case "asked", "reported", "stopped":
		of = s.asking
	default:
		of = s.telling
	}
	if of.deadline != nil {
		d := of.deadline()
		of.Deadline, of.Fail = d.At, d.Fail
	}
	tx, err := of.encode(lines)
	if err != nil {
		return err
	}
	if err := s.append(tx); err != nil {
		return err
	}
	of.reply = s.view.apply(of, events, s)
	return nil
}

// append has a transaction on disk.
func (s *Study) append(tx []byte) error {
	s.logging.Lock()
	defer s.logging.Unlock()
	return s.log.Append(tx)
}

// beginning returns what writes a journal down: store its first line, in the record first, and write all others.
func (s *Study) beginning(first *record, store func(tx []byte) error) func(lines []byte) error {
	stored := false
	return func(lines []byte) error {
		if stored {
			return s.write(lines)
		}
		tx, err := first.encode(lines)
		if err == nil {
			err = store(tx)
		}
		stored = err == nil
		return err
	}
}

// enter waits for one of the study's locks.
func (s *Study) enter(ctx context.Context, l *lock) error {
	if s.damaged != nil {
		return s.damaged
	}
	return s.entered(l, l.take(ctx))
}

// entered lets go of a lock that was taken, with err nil, if the study takes no requests any more.
func (s *Study) entered(l *lock, err error) error {
	if err == nil && s.gone != nil {
		err = s.gone
		l.release()
	}
	return err
}

// tryModel takes the model if it is free.
func (s *Study) tryModel() bool { return s.model.try() && s.entered(&s.model, nil) == nil }

// compute runs f, which uses the model, when it is the study's turn.
func (s *Study) compute(ctx context.Context, f func() error) error {
	return s.turns.Run(ctx, &s.pace, f)
}

// change does what a request wants, unless it was done before. The caller has
// the lock that guards the record.
func (s *Study) change(q Request, guarded **record, f func(tx *record) error) (r Reply, again bool, err error) {
	r, again, err = s.view.begin(q)
	if err != nil {
		return Reply{}, false, err
	}
	if again {
		return r, true, s.settled()
	}
	defer s.view.end(q)
	tx := &record{}
	if q.Key != "" {
		tx.Key, tx.Request = q.Key, q.Fingerprint
	}
	*guarded = tx
	defer func() { *guarded = nil }()
	if err := f(tx); err != nil {
		return Reply{}, false, err
	}
	// Where the disk does not let it, the next change tries again: what happened is on
	// disk, only a loss of it would not be noticed.
	_ = s.remember()
	return tx.reply, false, nil
}

// settled returns nil if everything known of the study is on disk.
func (s *Study) settled() error {
	s.logging.Lock()
	defer s.logging.Unlock()
	return s.log.Settle()
}

// A Deadline is when a trial that is still open ends by itself, and how.
type Deadline struct {
	At   int64 // milliseconds since 1970, 0 for never
	Fail bool  // as one whose evaluation failed; otherwise as one cancelled
}

// Ask opens n trials, or as many as there are candidates left. Their deadline is asked for, if it is not nil,
// when they are opened: the wait for the model and for the proposal is not the evaluation's.
func (s *Study) Ask(ctx context.Context, q Request, n int, deadline func() Deadline) (Reply, bool, error) {
	if err := s.enter(ctx, &s.model); err != nil {
		return Reply{}, false, err
	}
	defer s.model.release()
	return s.change(q, &s.asking, func(tx *record) error {
		if err := within("trials at once", n, s.limits.Ask); err != nil {
			return err
		}
		if err := room("open trials of a study", s.Summary().Counts.Open+n, s.limits.OpenTrials); err != nil {
			return err
		}
		if err := s.room(n); err != nil {
			return err
		}
		tx.deadline = deadline
		return s.compute(ctx, func() (err error) {
			if tx.Weights, err = s.opt().Weights(ctx); err != nil {
				return err
			}
			trials, err := s.opt().AskN(ctx, n)
			if err == nil {
				s.forecast(context.WithoutCancel(ctx), trials) // who gave up asking has them open
			}
			return err
		})
	})
}

// room fails if there is none for n trials or observations.
func (s *Study) room(n int) error {
	return room("trials and observations of a study", s.view.size()+n, s.limits.Events)
}

// tell makes a change for which the model is not needed.
func (s *Study) tell(ctx context.Context, q Request, f func(tx *record) error) (Reply, bool, error) {
	if err := s.enter(ctx, &s.gate); err != nil {
		return Reply{}, false, err
	}
	defer s.gate.release()
	return s.change(q, &s.telling, f)
}

// Tell answers a trial with what was measured.
func (s *Study) Tell(ctx context.Context, q Request, trial int, m Measured) (Reply, bool, error) {
	return s.tell(ctx, q, func(tx *record) error {
		if t, ok := s.Trial(trial); ok {
			tx.Expected = t.Expected
		}
		return s.opt().Tell(trial, m.Y, m.options()...)
	})
}

// Measured is what an evaluation brought: the value, the variance of its error, 0 if that is
// not known, and the outputs.
type Measured struct {
	Y, Noise float64
	Outputs  api.Values
}

func (m *Measured) options() []cmbo.ObservationOption {
	opts := []cmbo.ObservationOption{cmbo.Outputs(m.Outputs)}
	if m.Noise != 0 {
		opts = append(opts, cmbo.WithNoise(m.Noise))
	}
	return opts
}

// Fail says that a trial's evaluation failed, and what it brought all the same.
func (s *Study) Fail(ctx context.Context, q Request, trial int, outputs api.Values) (Reply, bool, error) {
	return s.tell(ctx, q, func(*record) error { return s.opt().TellFailed(trial, cmbo.Outputs(outputs)) })
}

// Cancel takes a trial back.
func (s *Study) Cancel(ctx context.Context, q Request, trial int) (Reply, bool, error) {
	return s.tell(ctx, q, func(*record) error { return s.opt().Cancel(trial) })
}

// Report adds a value to the curve of a trial and says what it tells of the end. Once the
// value is on disk the request has succeeded: the prospect is nil if the model failed or
// took too long, and for a request that is repeated after a restart, unless its value failed the trial.
func (s *Study) Report(ctx context.Context, q Request, trial, step int,
	y float64) (p *cmbo.Prospect, again bool, err error) {
	outside := space.CheckValue(y) != nil
	if outside { // JSON has no infinite values, for which those beyond 1e150 stand
		y = math.Copysign(math.Inf(1), y)
	}
	report := func(tx *record) error {
		got, err := s.opt().Report(ctx, trial, step, y)
		if err == nil {
			p = &got
			s.view.foresee(got)
		} else if tx.reply.Trials == nil { // the value is not on disk
			return err
		}
		return nil
	}
	if outside { // the trial fails, for which the model is not needed
		_, again, err = s.tell(ctx, q, report)
	} else {
		_, again, err = s.withModel(ctx, q, func(tx *record) error {
			if err := room("values reported to a study", s.view.reported()+1, s.limits.Steps); err != nil {
				return err
			}
			return report(tx)
		})
	}
	if t, ok := s.Trial(trial); again && ok && t.Prospect != nil && t.Prospect.Step == step {
		p = t.Prospect
	} else if nan := math.NaN(); again && outside { // this verdict follows from the value alone
		p = &cmbo.Prospect{Trial: trial, Step: step, Diverged: true, Stop: true,
			Mean: nan, SD: nan, Best: nan, Chance: nan, Before: nan}
	}
	return p, again, err
}

// TellStopped ends a trial whose evaluation was stopped before its end, and may say what it
// cost up to then.
func (s *Study) TellStopped(ctx context.Context, q Request, trial int, outputs api.Values) (Reply, bool, error) {
	return s.withModel(ctx, q, func(*record) error { return s.opt().TellStopped(ctx, trial, cmbo.Outputs(outputs)) })
}

// withModel makes a change of one trial for which the model is needed.
func (s *Study) withModel(ctx context.Context, q Request, f func(tx *record) error) (Reply, bool, error) {
	if err := s.enter(ctx, &s.model); err != nil {
		return Reply{}, false, err
	}
	defer s.model.release()
	return s.change(q, &s.asking, func(tx *record) error {
		return s.compute(ctx, func() error { return f(tx) })
	})
}

// expire ends the open trials whose deadline has passed.
func (s *Study) expire(ctx context.Context, now int64) error {
	for _, t := range s.view.due(now) {
		_, _, err := s.tell(ctx, Request{}, func(tx *record) error {
			tx.Expired = true
			if t.Deadline.Fail {
				// Nobody says what it cost: where that has to be told, the trial is taken back.
				if err := s.opt().TellFailed(t.ID); !errors.Is(err, cmbo.ErrOutput) {
					return err
				}
			}
			return s.opt().Cancel(t.ID)
		})
		if err != nil && !errors.Is(err, cmbo.ErrTrialClosed) { // it was answered just before
			return err
		}
	}
	return nil
}

// Observe adds a value at a point that was not proposed.
func (s *Study) Observe(ctx context.Context, q Request, x []float64, m Measured) (Reply, bool, error) {
	// The optimiser has it wait for proposals, which others must not do with it.
	if err := s.enter(ctx, &s.model); err != nil {
		return Reply{}, false, err
	}
	defer s.model.release()
	return s.tell(ctx, q, func(*record) error {
		if err := s.room(1); err != nil {
			return err
		}
		return s.opt().Observe(x, m.Y, m.options()...)
	})
}

// Enqueue has a point proposed before the model's own. It returns the number of
// points that wait.
func (s *Study) Enqueue(ctx context.Context, q Request, x []float64) (Reply, bool, error) {
	if err := s.enter(ctx, &s.model); err != nil { // as for Observe
		return Reply{}, false, err
	}
	defer s.model.release()
	return s.tell(ctx, q, func(*record) error {
		waiting := len(s.opt().Enqueued())
		if err := room("enqueued points of a study", waiting+1, s.limits.OpenTrials); err != nil {
			return err
		}
		if err := s.room(waiting + 1); err != nil {
			return err
		}
		return s.opt().Enqueue(x)
	})
}

// Predict returns what the model expects at points.
func (s *Study) Predict(ctx context.Context, points [][]float64) (out []Forecast, err error) {
	if err := within("points at once", len(points), s.limits.Points); err != nil {
		return nil, err
	}
	if err := s.enter(ctx, &s.model); err != nil {
		return nil, err
	}
	defer s.model.release()
	err = s.compute(ctx, func() error {
		return each(ctx, points, func(x []float64) error {
			f, err := s.foretell(ctx, x)
			out = append(out, f)
			return err
		})
	})
	return out, err
}

// each asks for something at each point until ctx ends.
func each(ctx context.Context, points [][]float64, ask func(x []float64) error) error {
	for _, x := range points {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := ask(x); err != nil {
			return err
		}
	}
	return nil
}

// interruptions are how often a part of what a page asks of the model lets requests by, for which it ends and is begun
// again: after that it is worked through, lest it never be.
const interruptions = 3

// aside runs f, which uses the model, for nobody who waits for it: in a place among the jobs and with the model, of
// which it holds neither while it waits for the other. So proposals wait for no job of somebody else, jobs wait for no
// proposal, and it has no order to keep in which the two are taken. Where both always have a queue it may wait for long.
// Its context ends, and f is run again, when a request wants the model, a few times; f is not begun if one does already.
func (s *Study) aside(ctx context.Context, f func(ctx context.Context) error) error {
	for runs := 0; ; {
		if err := s.entered(&s.model, s.model.takeAside(ctx)); err != nil {
			return err
		}
		var ended error
		part := func() error {
			ctx, end := context.WithCancel(ctx)
			defer end()
			if runs++; runs <= interruptions {
				s.model.yieldBy(end)
			}
			err := ctx.Err()
			if err == nil {
				err = f(ctx)
			}
			ended = ctx.Err()
			return err
		}
		ran, err := s.turns.TryJob(part)
		s.model.release()
		if !ran {
			err = s.turns.Job(ctx, func() error {
				if !s.tryModel() {
					return nil
				}
				defer s.model.release()
				ran = true
				return part()
			})
		}
		if err != nil && ended != nil && ctx.Err() == nil {
			continue
		}
		if ran || err != nil {
			return err
		}
	}
}

// setPrior has the study go on with the prior of next, unless it does already: the log gets the beginning of another
// journal, in one record, so that a kill leaves the one prior or the other. Requests that wait go on with the new one.
func (s *Study) setPrior(ctx context.Context, next *run, parallel cmbo.Option) error {
	if err := s.enter(ctx, &s.model); err != nil {
		return err
	}
	defer s.model.release()
	err := s.compute(ctx, func() error {
		if err := s.enter(ctx, &s.gate); err != nil {
			return err
		}
		defer s.gate.release()
		old := s.current.Load()
		if old.of.Prior == next.of.Prior {
			return s.settled()
		}
		var state bytes.Buffer
		if err := old.opt.Snapshot(&state); err != nil {
			return err
		}
		begin := s.beginning(&record{Prior: &next.of}, s.append)
		opt, err := cmbo.Restore(&state, parallel, cmbo.WithNewPrior(next.prior), cmbo.WithJournal(begin))
		if err != nil {
			return err
		}
		s.current.Store(&run{opt: opt, prior: next.prior, of: next.of, before: old.before + 1})
		s.view.turn(&next.of)
		_ = s.remember() // as in change
		return nil
	})
	if err == nil {
		s.pace.Suspect() // what the first proposal takes is not known
	}
	return err
}

// LastStep tells how the newest proposal was chosen, and the weights of the next
// one; while that is being computed, those of the newest.
func (s *Study) LastStep(ctx context.Context) (step cmbo.Step, ok bool, weights []float64, err error) {
	if s.damaged != nil {
		return cmbo.Step{}, false, nil, s.damaged
	}
	step, ok = s.opt().LastStep()
	if !s.tryModel() {
		return step, ok, step.Weights, nil
	}
	defer s.model.release()
	err = s.compute(ctx, func() (err error) {
		weights, err = s.opt().Weights(ctx)
		return err
	})
	return step, ok, weights, err
}

// Snapshot writes the state in the form that cmbo.Restore reads.
func (s *Study) Snapshot(w io.Writer) error {
	if s.damaged != nil {
		return s.damaged
	}
	return s.opt().Snapshot(w)
}

// task returns what the study has observed.
func (s *Study) task() (cmbo.Task, error) {
	if s.damaged != nil {
		return cmbo.Task{}, s.damaged
	}
	t, err := s.opt().Task(s.ID())
	if t.Context == nil {
		t.Context = s.header.Options.Context.Context() // of a study without a prior, whose model has no use for it
	}
	return t, err
}

// stop lets no request in any more and closes the log.
func (s *Study) stop(why error) error {
	if s.damaged != nil {
		return nil
	}
	for _, l := range []*lock{&s.model, &s.gate} {
		_ = l.take(context.Background()) // which does not end
		defer l.release()
	}
	if s.gone != nil {
		return nil
	}
	s.gone = why
	s.logging.Lock()
	defer s.logging.Unlock()
	_ = s.mark.Close() // what was stored is synced
	if err := s.log.Close(); err != nil {
		return fmt.Errorf("study %s: %w", s.ID(), err)
	}
	return nil
}

// settle returns nil if everything known of the study is on disk.
func (s *Study) settle(ctx context.Context) error {
	if err := s.enter(ctx, &s.gate); err != nil {
		return err
	}
	defer s.gate.release()
	return s.settled()
}

// remove removes the study's log for good. The study may be gone although the
// removal could not be made to last.
func (s *Study) remove(ctx context.Context) (gone bool, err error) {
	if err := s.enter(ctx, &s.model); err != nil {
		return false, err
	}
	defer s.model.release()
	if err := s.enter(ctx, &s.gate); err != nil {
		return false, err
	}
	defer s.gate.release()
	s.logging.Lock()
	defer s.logging.Unlock()
	_ = s.mark.Close()
	err = s.log.Remove()
	if s.log.Closed() {
		s.gone = ErrUnknownStudy
		close(s.deleted)
	}
	return s.log.Closed(), err
}

// Deleted returns a channel that is closed when the study is deleted.
func (s *Study) Deleted() <-chan struct{} { return s.deleted }

// ID returns the study's name.
func (s *Study) ID() string { return s.header.ID }

// Damaged tells why the study could not be opened, nil if it could.
func (s *Study) Damaged() error { return s.damaged }

// Space returns the study's space, nil if it is damaged.
func (s *Study) Space() *cmbo.Space {
	if s.damaged != nil {
		return nil
	}
	return s.opt().Space()
}

// Minimizes reports whether smaller values are better.
func (s *Study) Minimizes() bool { return s.minimize }

// Positive reports whether values are positive and seen in logarithms.
func (s *Study) Positive() bool { return s.positive }

// Prior returns the digest of the prior that the study runs with and the name that it was asked for by; empty where
// there is none.
func (s *Study) Prior() (digest, name string) {
	of := s.current.Load().of
	return of.Prior, of.PriorName
}

// PastTasks returns the number of tasks that the prior was learned from, 0 without one.
func (s *Study) PastTasks() int {
	if p := s.current.Load().prior; p != nil {
		return p.NumTasks()
	}
	return 0
}

// Model names what the study's proposals come from: a Gaussian process or the hierarchical
// prior.
func (s *Study) Model() string { return s.modelName }

// Options returns the options that the study was created with.
func (s *Study) Options() api.Options { return s.header.Options }

// Optimum returns the best value possible, nil if it is not known.
func (s *Study) Optimum() *float64 { return s.header.Optimum }

// Objective returns the name of what is optimised and the unit of its values,
// empty where they were not given.
func (s *Study) Objective() (name, unit string) { return s.header.Objective, s.header.Unit }
