package cmbo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
)

// WithJournal has every event of the run written down before it takes effect: write is called with whole lines, by one
// goroutine at a time, and must not call the optimiser. If it fails, the call that caused the event fails with its error and
// changes nothing; it must leave none of the lines behind but the beginning of the first. Append the lines to a file and
// sync it, and nothing acknowledged is lost: see [RestoreJournal] and [Optimizer.JournalMark].
//
// Given to [New] or [Restore], the journal begins with a line for the state; given to [RestoreJournal] it goes on where the
// old one ended. A line "asked" with a number "saw" is of a trial chosen while others were answered: from the first so many
// events of the log, and those later ones that were asked or fitted with the same number.
func WithJournal(write func(lines []byte) error) Option {
	return option{id: optJournal, restore: true, run: gp.Setting(
		func(c *runConfig) { c.journal = write }, write != nil, "a nil journal")}
}

// beginJournal writes the first line, the state as it is, and returns its length.
func (o *Optimizer) beginJournal() (written int64, err error) {
	if o.config.mark.Lines > 0 {
		return 0, optionErrorf("a JournalMark without a journal that it could be found in")
	}
	if o.config.journal == nil {
		return 0, nil
	}
	if o.first, err = o.sealedState(); err != nil {
		return 0, err
	}
	written = int64(len(o.first))
	return written, o.commit()
}

// commit writes events down and then applies them. If the journal fails, or panics, nothing has changed.
func (o *Optimizer) commit(events ...runlog.Event) error {
	if o.config.journal != nil {
		mark, lines := o.mark, o.first
		if lines != nil {
			mark = JournalMark{1, runlog.Link("", lines)}
		}
		for _, e := range events {
			entry, err := json.Marshal(e.Export())
			if err != nil {
				return fmt.Errorf("%w: journal: %w", ErrOption, err)
			}
			mark = JournalMark{mark.Lines + 1, runlog.Link(mark.Sum, entry)}
			lines = append(lines, runlog.SealEntry(mark.Sum, entry)...)
		}
		if err := o.config.journal(lines); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		o.mark, o.first = mark, nil
	}
	for _, e := range events {
		o.h.Apply(e)
	}
	return nil
}

// A JournalMark names a line of a journal. A program that keeps the mark of the newest line apart from the journal,
// and gives it to [RestoreJournal] or [ResumeJournal] with [WithJournalMark], learns whether lines were lost from its end.
type JournalMark struct {
	// Lines is the number of lines up to this one, itself included.
	Lines int `json:"lines"`
	// Sum covers their content.
	Sum string `json:"sum"`
}

// JournalMark returns the mark of the newest line that the journal callback took;
// ok is false while there is none, as without [WithJournal].
func (o *Optimizer) JournalMark() (m JournalMark, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mark, o.config.journal != nil && o.mark.Lines > 0
}

// WithJournalMark has [RestoreJournal] and [ResumeJournal], which alone take it, fail with [ErrCorrupt] unless the journal
// contains the line that m names. Lines after it are legal.
func WithJournalMark(m JournalMark) Option {
	return option{id: optJournalMark, restore: true, run: gp.Setting(
		func(c *runConfig) { c.mark = m }, m.Lines >= 1, "the mark of line %d of a journal", m.Lines)}
}

// RestoreJournal makes the optimiser whose journal r holds. It reads to the end of r, takes the options of [Restore]
// and [WithJournalMark], without which it cannot notice that lines are missing at the end, and fails as Restore does.
//
// A last line that is not whole, perhaps with bytes of zero behind it, was never acknowledged and does not count:
// valid is the number of bytes before it, to which a caller who goes on writing cuts the file. Anything else that is
// not right fails with [ErrCorrupt].
func RestoreJournal(r io.Reader, opts ...Option) (o *Optimizer, valid int64, err error) {
	return readJournal(r, func(b []byte) (*Optimizer, int64, error) {
		first := bytes.IndexByte(b, '\n') + 1
		if first == 0 {
			return nil, 0, errFirstLine
		}
		o, err := restore(b[:first], opts)
		if err != nil {
			return nil, 0, err
		}
		if o.config.journal != nil && o.config.newPrior {
			return nil, 0, optionErrorf("%s: the journal names the old one: begin another with a Snapshot", optNewPrior)
		}
		valid, err := o.restoreLines(b, first)
		return o, valid, err
	})
}

// readJournal reads r to its end and returns what the bytes are made to; with an error nothing else.
func readJournal(r io.Reader, of func(b []byte) (*Optimizer, int64, error)) (o *Optimizer, valid int64, err error) {
	o, err = guarded(func() (o *Optimizer, err error) {
		b, err := readAll(r, math.MaxInt64)
		if err == nil {
			o, valid, err = of(b)
		}
		return o, err
	})
	if err != nil {
		valid = 0
	}
	return o, valid, err
}

var errFirstLine = fmt.Errorf("%w: a journal without a whole first line", ErrCorrupt)

// ResumeJournal begins a run or goes on with it. With an empty r it is [New]: valid counts the first line, which it writes.
// With a journal that New began it is [RestoreJournal], and fails with [ErrSpace], [ErrOption] or [ErrPriorMismatch] if the
// space, the options or the prior are not those that the run was begun with. Without [WithInitial] and [WithCandidateCounts]
// it takes those of the run: their defaults follow from a prior that may have taken another's place, and from the release.
// Where the first line was interrupted valid is 0, and the line is written with the first event: the caller has to cut the
// file before. It fails as New and RestoreJournal do.
func ResumeJournal(r io.Reader, space *Space, opts ...Option) (o *Optimizer, valid int64, err error) {
	return readJournal(r, func(b []byte) (*Optimizer, int64, error) {
		first := bytes.IndexByte(b, '\n') + 1
		if first == 0 {
			o, err := newRun(space, opts)
			if err != nil {
				return nil, 0, err
			}
			valid, err := o.begin(b)
			return o, valid, err
		}
		stored, err := openSnapshot(b[:first])
		if err != nil {
			return nil, 0, err
		}
		of := stored.Options
		o, err := newRun(space, append([]Option{WithInitial(of.Initial), WithCandidateCounts(of.Sobol, of.Local)}, opts...))
		if err != nil {
			return nil, 0, err
		}
		s, err := o.snapshot()
		if err == nil {
			err = s.sameRun(stored)
		}
		if err == nil {
			err = o.restoreEvents(stored)
		}
		if err != nil {
			return nil, 0, err
		}
		valid, err := o.restoreLines(b, first)
		return o, valid, err
	})
}

// begin begins the journal b, of which there is no whole line.
func (o *Optimizer) begin(b []byte) (valid int64, err error) {
	if !runlog.Torn(b, runlog.SnapshotHead) || o.config.mark.Lines > 0 {
		return 0, errFirstLine
	}
	if len(b) == 0 {
		return o.beginJournal()
	}
	o.first, err = o.sealedState()
	return 0, err
}

// restoreLines applies the lines of the journal b after the first, which ends at first.
func (o *Optimizer) restoreLines(b []byte, first int) (valid int64, err error) {
	valid, last, err := o.h.RestoreLines(b, first, runlog.Mark(o.config.mark), o.checks())
	o.mark = JournalMark(last)
	return valid, err
}
