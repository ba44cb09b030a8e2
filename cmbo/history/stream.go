package history

import (
	"crypto/sha256"
	"errors"
	"iter"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
)

// A stream reads an input of rows, as a whole or a task at a time.
type stream struct {
	err    error // of the description
	space  *cmbo.Space
	policy Policy
	limits Limits
	rows   string // what messages call rows
	read   func(take taker) error
	lack   func() *RowError // what the rows lack, known once all are read; nil if that is known before
}

func (s stream) all() (*Result, error) {
	c, err := s.collector()
	if err == nil {
		err = s.read(c.take)
	}
	if err != nil {
		return nil, err
	}
	return c.finish(s.rows, s.lack)
}

func (s stream) collector() (*collector, error) {
	if s.err != nil {
		return nil, s.err
	}
	return newCollector(s.space, s.policy)
}

// errStopped: the consumer has ended the sequence.
var errStopped = errors.New("history: stopped")

// tasks returns the sequence of the tasks, that of an error if there is one.
func (s stream) tasks(report *Report) iter.Seq2[cmbo.Task, error] {
	return func(yield func(cmbo.Task, error) bool) {
		err := s.grouped(report, func(t cmbo.Task) bool { return yield(t, nil) })
		if err != nil && err != errStopped {
			yield(cmbo.Task{}, err)
		}
	}
}

// grouped reads tasks whose rows follow each other.
func (s stream) grouped(report *Report, yield func(cmbo.Task) bool) error {
	c, err := s.collector()
	if err != nil {
		return err
	}
	if report != nil {
		*report = Report{}
		c.report = report
	}
	seen := make(map[[16]byte]bool)
	flush := func() error {
		tasks := c.result.Tasks
		c.result.Tasks = nil
		clear(c.index)
		if len(tasks) > 0 && !yield(tasks[0]) {
			return errStopped
		}
		return nil
	}
	err = s.read(func(r row, line int) error {
		if r.bad != nil || r.outcome == passedOver {
			return c.take(r, line)
		}
		var e *RowError
		if _, same := c.index[r.id]; same {
			if t := c.result.Tasks[0]; len(t.X)+len(t.Failed) >= s.limits.Rows {
				e = beyond("Rows", int64(s.limits.Rows), "the task has more %s", s.rows)
			}
		} else {
			if err := flush(); err != nil {
				return err
			}
			sum := sha256.Sum256([]byte(r.id))
			d := [16]byte(sum[:])
			if seen[d] {
				e = rowErrorf(cmbo.ErrTask, "rows of other tasks lie between those of the task; sort the input by task")
			}
			seen[d] = true
		}
		if e != nil {
			e.Task = strings.Clone(r.id)
			return e.at(line)
		}
		return c.take(r, line)
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		_, err = c.finish(s.rows, s.lack)
	}
	return err
}
