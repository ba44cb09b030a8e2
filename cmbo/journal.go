package cmbo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// A journal is a snapshot, one line, and a line of
//
//	{"sum":"<16 hexadecimal digits>","entry":{...}}
//
// for each event since. A line's sum covers the sum of the line before, so that
// no line can be lost, changed or exchanged unnoticed.

// WithJournal has every event of the run written down before it takes effect:
// write is called with whole lines, ends of line included, and the call that
// caused the event fails with its error, changing nothing, if it fails. Append
// the lines to a file and sync it, and nothing acknowledged is ever lost:
// [RestoreJournal] makes the optimiser again. write is called by one goroutine
// at a time, while other calls on the optimiser wait, and must not call it.
//
// Given to [New], the journal begins with a line for the state before the first
// event; given to [Restore] or [RestoreJournal] it goes on where the old one
// ended: that of a snapshot starts anew, with the whole state.
//
// A line "asked" with a number "saw" is of a trial that was chosen while others
// were answered: from the first so many events of the log, and those later ones
// that were asked (or fitted, which they bring with them) with the same number.
func WithJournal(write func(lines []byte) error) Option {
	return runOption(func(c *runConfig) error {
		if write == nil {
			return optionErrorf("a nil journal")
		}
		c.journal = write
		return nil
	})
}

// journalEntry is one line of a journal after the first.
type journalEntry struct {
	Sum   string          `json:"sum"`
	Entry json.RawMessage `json:"entry"`
}

// link returns the sum of an entry that follows the line of sum last.
func link(last string, entry []byte) string {
	h := sha256.New()
	h.Write([]byte(last))
	h.Write(entry)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func sealEntry(sum string, entry []byte) []byte {
	return fmt.Appendf(nil, `{"sum":"%s","entry":%s}`+"\n", sum, entry)
}

// beginJournal writes the first line: the state as it is.
func (o *Optimizer) beginJournal() error {
	if o.config.journal == nil {
		return nil
	}
	s, err := o.snapshot()
	if err != nil {
		return err
	}
	state, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("%w: journal: %w", ErrOption, err)
	}
	line := sealSnapshot(state)
	if err := o.config.journal(line); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	o.sum = link("", line)
	return nil
}

// commit writes events down and then applies them. If the journal fails, or
// panics, nothing has changed.
func (o *Optimizer) commit(events ...event) error {
	if o.config.journal != nil {
		sum := o.sum
		var lines []byte
		for _, e := range events {
			entry, err := json.Marshal(e.export())
			if err != nil {
				return fmt.Errorf("%w: journal: %w", ErrOption, err)
			}
			sum = link(sum, entry)
			lines = append(lines, sealEntry(sum, entry)...)
		}
		if err := o.config.journal(lines); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		o.sum = sum
	}
	for _, e := range events {
		o.h.apply(e)
	}
	return nil
}

// RestoreJournal makes the optimiser whose journal r holds, as [Restore] does of
// a snapshot and with the same options. A last line without its end, which a
// process left that was killed while it wrote, was never acknowledged and does
// not count; valid is the number of bytes before it, to which a caller who goes
// on writing cuts the file. Anything else that is not right fails with
// [ErrCorrupt], as does a journal without a whole first line.
func RestoreJournal(r io.Reader, opts ...Option) (o *Optimizer, valid int64, err error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, 0, err
	}
	end := bytes.LastIndexByte(b, '\n') + 1
	if end == 0 {
		return nil, 0, fmt.Errorf("%w: a journal without a first line", ErrCorrupt)
	}
	valid = int64(end)
	b = b[:end]
	first := bytes.IndexByte(b, '\n') + 1
	if o, err = restore(b[:first], opts); err != nil {
		return nil, 0, err
	}
	o.sum = link("", b[:first])
	line := 1
	for rest := b[first:]; len(rest) > 0; line++ {
		n := bytes.IndexByte(rest, '\n') + 1
		if err := o.restoreLine(rest[:n]); err != nil {
			return nil, 0, fmt.Errorf("%w: line %d of the journal: %w", ErrCorrupt, line+1, err)
		}
		rest = rest[n:]
	}
	return o, valid, nil
}

func (o *Optimizer) restoreLine(line []byte) error {
	var f journalEntry
	if err := json.Unmarshal(line, &f); err != nil {
		return err
	}
	sum := link(o.sum, f.Entry)
	if !bytes.Equal(line, sealEntry(sum, f.Entry)) {
		return fmt.Errorf("the sum does not match")
	}
	var e snapshotEvent
	d := json.NewDecoder(bytes.NewReader(f.Entry))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return err
	}
	if err := o.restoreEvent(e); err != nil {
		return err
	}
	o.sum = sum
	return nil
}
