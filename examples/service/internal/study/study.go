package study

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

// A Study is one run of an optimiser and its log. Its methods may be called from
// any goroutine. Those that take a [Request] change it: once they return without
// an error, what they did is on disk; if they fail, nothing has changed.
type Study struct {
	header   header
	limits   Limits
	minimize bool
	clusters []api.Cluster
	cpu      chan struct{} // shared: how many may compute at once

	gate chan struct{} // held by whoever uses what follows
	opt  *cmbo.Optimizer
	log  *disk.Log
	tx   *record // of the request under way
	gone error   // why the study takes no requests any more

	view    view
	damaged error // why it could not be opened; nothing else is set then
}

// A Request identifies a request that changes a study. If Key is not empty, a
// second request with the same key does nothing and gets the first one's reply,
// provided that the fingerprint is the same.
type Request struct {
	Key         string
	Fingerprint string
}

func newStudy(h header, limits Limits, cpu chan struct{}) *Study {
	s := &Study{header: h, limits: limits, cpu: cpu, gate: make(chan struct{}, 1)}
	s.view.best = -1
	s.view.replies = make(map[string]Reply)
	return s
}

// create makes the optimiser and the log of a new study.
func (s *Study) create(fsys disk.FS, path string, space *cmbo.Space, opts []cmbo.Option) error {
	s.tx = &record{Study: &s.header}
	defer func() { s.tx = nil }()
	begin := func(lines []byte) error {
		if s.log != nil {
			return s.write(lines)
		}
		tx, err := s.tx.encode(lines)
		if err != nil {
			return err
		}
		s.log, err = disk.CreateLog(fsys, path, tx)
		return err
	}
	var err error
	s.opt, err = cmbo.New(space, append(slices.Clone(opts), cmbo.WithJournal(begin))...)
	return err
}

// restore makes the optimiser again from the records of its log.
func (s *Study) restore(rs []*record, opts []cmbo.Option) error {
	var err error
	s.opt, _, err = cmbo.RestoreJournal(journal(rs), append(slices.Clone(opts), cmbo.WithJournal(s.write))...)
	if err != nil {
		return err
	}
	for _, r := range rs[1:] {
		if _, err := s.view.apply(r, s.minimize); err != nil {
			return err
		}
	}
	return nil
}

// write is the optimiser's journal: it adds the lines, as part of the request
// under way, to the log.
func (s *Study) write(lines []byte) error {
	tx, err := s.tx.encode(lines)
	if err != nil {
		return err
	}
	return s.log.Append(tx)
}

// enter waits until nobody else uses the optimiser.
func (s *Study) enter(ctx context.Context) error {
	if s.damaged != nil {
		return s.damaged
	}
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.gone != nil {
		err := s.gone
		s.leave()
		return err
	}
	return nil
}

func (s *Study) leave() { <-s.gate }

// compute runs f when a processor is free.
func (s *Study) compute(ctx context.Context, f func() error) error {
	select {
	case s.cpu <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.cpu }()
	return f()
}

// change does what a request wants, unless it was done before.
func (s *Study) change(ctx context.Context, q Request, f func() error) (r Reply, again bool, err error) {
	if !validKey(q.Key) {
		return Reply{}, false, ErrKey
	}
	if err := s.enter(ctx); err != nil {
		return Reply{}, false, err
	}
	defer s.leave()
	if r, ok := s.view.replies[q.Key]; ok {
		if r.request != q.Fingerprint {
			return Reply{}, false, ErrKeyReused
		}
		return r, true, s.log.Settle()
	}
	s.tx = &record{}
	defer func() { s.tx = nil }()
	if q.Key != "" {
		s.tx.Key, s.tx.Request = q.Key, q.Fingerprint
	}
	if err := f(); err != nil {
		return Reply{}, false, err
	}
	r, err = s.view.apply(s.tx, s.minimize)
	return r, false, err
}

// Ask opens n trials, or as many as there are candidates left.
func (s *Study) Ask(ctx context.Context, q Request, n int) (Reply, bool, error) {
	return s.change(ctx, q, func() error {
		if err := within("trials at once", n, s.limits.Ask); err != nil {
			return err
		}
		if err := room("open trials of a study", s.view.counts.Open+n, s.limits.OpenTrials); err != nil {
			return err
		}
		if err := s.room(n); err != nil {
			return err
		}
		return s.compute(ctx, func() (err error) {
			if s.tx.Weights, err = s.opt.Weights(); err != nil {
				return err
			}
			_, err = s.opt.AskN(ctx, n)
			return err
		})
	})
}

// room fails if there is none for n trials or observations.
func (s *Study) room(n int) error {
	total := len(s.view.trials) + n
	for _, o := range s.view.observations {
		if o.Trial == 0 {
			total++
		}
	}
	return room("trials and observations of a study", total, s.limits.Events)
}

// Tell answers a trial with a value and the variance of its error, 0 if that is
// not known.
func (s *Study) Tell(ctx context.Context, q Request, trial int, y, noise float64) (Reply, bool, error) {
	return s.change(ctx, q, func() error { return s.opt.Tell(trial, y, measured(noise)...) })
}

func measured(noise float64) []cmbo.ObservationOption {
	if noise == 0 {
		return nil
	}
	return []cmbo.ObservationOption{cmbo.WithNoise(noise)}
}

// Fail says that a trial's evaluation failed.
func (s *Study) Fail(ctx context.Context, q Request, trial int) (Reply, bool, error) {
	return s.change(ctx, q, func() error { return s.opt.TellFailed(trial) })
}

// Cancel takes a trial back.
func (s *Study) Cancel(ctx context.Context, q Request, trial int) (Reply, bool, error) {
	return s.change(ctx, q, func() error { return s.opt.Cancel(trial) })
}

// Observe adds a value at a point that was not proposed.
func (s *Study) Observe(ctx context.Context, q Request, x []float64, y, noise float64) (Reply, bool, error) {
	return s.change(ctx, q, func() error {
		if err := s.room(1); err != nil {
			return err
		}
		return s.opt.Observe(x, y, measured(noise)...)
	})
}

// Predict returns the means and standard deviations at points.
func (s *Study) Predict(ctx context.Context, points [][]float64) (mean, sd []float64, err error) {
	if err := within("points at once", len(points), s.limits.Points); err != nil {
		return nil, nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer s.leave()
	err = s.compute(ctx, func() error {
		for _, x := range points {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, d, err := s.opt.Predict(x)
			if err != nil {
				return err
			}
			mean, sd = append(mean, m), append(sd, d)
		}
		return nil
	})
	return mean, sd, err
}

// LastStep tells how the newest proposal was chosen, and the weights of the next.
func (s *Study) LastStep(ctx context.Context) (step cmbo.Step, ok bool, weights []float64, err error) {
	if err := s.enter(ctx); err != nil {
		return cmbo.Step{}, false, nil, err
	}
	defer s.leave()
	step, ok = s.opt.LastStep()
	weights, err = s.opt.Weights()
	return step, ok, weights, err
}

// Snapshot writes the state in the form that cmbo.Restore reads.
func (s *Study) Snapshot(ctx context.Context, w io.Writer) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.opt.Snapshot(w)
}

// task returns what the study has observed.
func (s *Study) task(ctx context.Context) (cmbo.Task, error) {
	if err := s.enter(ctx); err != nil {
		return cmbo.Task{}, err
	}
	defer s.leave()
	return s.opt.Task(s.ID())
}

// stop lets no request in any more and closes the log.
func (s *Study) stop(why error) error {
	if s.damaged != nil {
		return nil
	}
	s.gate <- struct{}{}
	defer s.leave()
	if s.gone != nil {
		return nil
	}
	s.gone = why
	if err := s.log.Close(); err != nil {
		return fmt.Errorf("study %s: %w", s.ID(), err)
	}
	return nil
}

// settle returns nil if everything known of the study is on disk.
func (s *Study) settle(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.log.Settle()
}

// remove removes the study's log for good. The study may be gone although the
// removal could not be made to last.
func (s *Study) remove(ctx context.Context) (gone bool, err error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.leave()
	err = s.log.Remove()
	if s.log.Closed() {
		s.gone = ErrUnknownStudy
	}
	return s.log.Closed(), err
}

// ID returns the study's name.
func (s *Study) ID() string { return s.header.ID }

// Damaged tells why the study could not be opened, nil if it could.
func (s *Study) Damaged() error { return s.damaged }

// Space returns the study's space, nil if it is damaged.
func (s *Study) Space() *cmbo.Space {
	if s.opt == nil {
		return nil
	}
	return s.opt.Space()
}

// Minimizes reports whether smaller values are better.
func (s *Study) Minimizes() bool { return s.minimize }

// Prior returns the digest of the prior that the study runs with, the digest of
// the one that was made from if the space is a list of candidates, and the name
// that it was asked for by; empty where there is none.
func (s *Study) Prior() (digest, base, name string) {
	return s.header.Prior, s.header.Base, s.header.PriorName
}

// Clusters returns the prior's clusters, nil without one. They are shared.
func (s *Study) Clusters() []api.Cluster { return s.clusters }

// Options returns the options that the study was created with.
func (s *Study) Options() api.Options { return s.header.Options }

// Optimum returns the best value possible, nil if it is not known.
func (s *Study) Optimum() *float64 { return s.header.Optimum }
