package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/disk"
)

// record is a transaction of a study's log: what one request did.
type record struct {
	// Study describes the study, in the first record alone.
	Study *header `json:"study,omitempty"`
	// Prior is the one that takes the place of the study's from here on. Its record begins another journal, whose first
	// line holds all that happened before.
	Prior *priorOf `json:"prior,omitempty"`
	// Key is the request's, if it had one, and Request its fingerprint.
	Key     string `json:"key,omitempty"`
	Request string `json:"request,omitempty"`
	// Weights are those that the trials asked for were chosen with.
	Weights []float64 `json:"weights,omitempty"`
	// Deadline is that of the trials asked for, in milliseconds since 1970, and
	// Fail how they end then. Expired says that it has passed for the trial
	// that failed or was cancelled.
	Deadline int64 `json:"deadline,omitempty"`
	Fail     bool  `json:"fail,omitempty"`
	Expired  bool  `json:"expired,omitempty"`
	// Expected is what the model expected of the value told.
	Expected *Forecast `json:"expected,omitempty"`
	// Journal holds lines of the optimiser's journal without their ends.
	Journal []json.RawMessage `json:"journal"`

	deadline func() Deadline // what Deadline and Fail are taken from when it is written, nil for none
	reply    Reply
}

// header is what is known of a study besides its journal.
type header struct {
	ID      string `json:"id"`
	Request string `json:"request"` // fingerprint of the request that created it
	priorOf
	Optimum   *float64    `json:"optimum,omitempty"`
	Objective string      `json:"objective,omitempty"` // its name
	Unit      string      `json:"unit,omitempty"`      // of its values
	Options   api.Options `json:"options"`
}

// priorOf says which prior a study runs with.
type priorOf struct {
	Prior     string `json:"prior,omitempty"`      // digest of it
	PriorName string `json:"prior_name,omitempty"` // that the request gave
}

// encode returns the record with lines of a journal.
func (r *record) encode(lines []byte) ([]byte, error) {
	r.Journal = nil
	for line := range bytes.Lines(lines) {
		r.Journal = append(r.Journal, bytes.TrimSuffix(line, []byte("\n")))
	}
	return json.Marshal(r)
}

// decodeRecords decodes transactions.
func decodeRecords(txs [][]byte) ([]*record, error) {
	rs := make([]*record, len(txs))
	for i, tx := range txs {
		rs[i] = new(record)
		d := json.NewDecoder(bytes.NewReader(tx))
		d.DisallowUnknownFields()
		if err := d.Decode(rs[i]); err != nil {
			// Its sum is right: who wrote it wrote other fields.
			return nil, fmt.Errorf("%w: transaction %d: %w", ErrOtherVersion, i, err)
		}
		if (rs[i].Study != nil) != (i == 0) {
			return nil, fmt.Errorf("%w: transaction %d: a description of the study is not where it belongs", disk.ErrDamaged, i)
		}
	}
	return rs, nil
}

// journal reads the lines of all records as cmbo wrote them.
func journal(rs []*record) io.Reader {
	var b bytes.Buffer
	for _, r := range rs {
		for _, line := range r.Journal {
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	return &b
}

// spaceOf returns the space of the journal in records, nil if its first line tells none.
func spaceOf(rs []*record) *cmbo.Space {
	var first struct {
		State struct {
			Space *cmbo.Space `json:"space"`
		} `json:"state"`
	}
	if len(rs[0].Journal) == 0 || json.Unmarshal(rs[0].Journal[0], &first) != nil {
		return nil
	}
	return first.State.Space
}

// newestJournal returns the records of the newest journal in a log, how many journals there are before it, and the prior
// that it is of.
func newestJournal(rs []*record) (of []*record, before int, prior priorOf) {
	of, prior = rs, rs[0].Study.priorOf
	for i, r := range rs {
		if r.Prior != nil {
			of, before, prior = rs[i:], before+1, *r.Prior
		}
	}
	return of, before, prior
}

// journalMark is what a study's mark holds: the line of a journal that was reached, and how many journals the log has
// before that one.
type journalMark struct {
	cmbo.JournalMark
	Before int `json:"before,omitempty"`
}

// lines counts the lines of the journal in all records.
func lines(rs []*record) int {
	n := 0
	for _, r := range rs {
		n += len(r.Journal)
	}
	return n
}

// event is what the view needs of a line of a journal after the first. The optimiser is not asked for it: it may not be
// while it writes a line, and it tells neither the order of events nor each trial's own outputs and curve.
type event struct {
	Kind   string    `json:"event"`
	Trial  int       `json:"trial"`
	Step   *int      `json:"step"`
	Index  *int      `json:"index"`
	X      []float64 `json:"x"`
	Y      *float64  `json:"y"`
	Noise  float64   `json:"noise_variance"`
	Paused bool      `json:"paused"` // stopped, and can go on

	Outputs map[string]float64 `json:"outputs"`
}

// events returns the events of a record after the first.
func (r *record) events() ([]event, error) {
	events := make([]event, len(r.Journal))
	for i, line := range r.Journal {
		var l struct {
			Entry event `json:"entry"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%w: %w", disk.ErrDamaged, err)
		}
		events[i] = l.Entry
	}
	return events, nil
}
