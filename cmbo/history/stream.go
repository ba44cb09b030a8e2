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
	space  *cmbo.Space
	policy Policy
	limits Limits
	rows   string // what messages call rows
	read   func(take taker) error
	lack   func() *RowError // what the rows lack, known once all are read; nil if that is known before
	report *Report
}

// all reads the whole input.
func (s stream) all() (*Result, error) {
	c, err := newCollector(s.space, s.policy)
	if err == nil {
		err = s.read(c.take)
	}
	if err != nil {
		return nil, err
	}
	return s.finish(c)
}

// finish returns the result of an input that is read.
func (s stream) finish(c *collector) (*Result, error) {
	r, err := c.finish(s.rows)
	if err == nil && s.lack != nil {
		if e := s.lack(); e != nil {
			return nil, e
		}
	}
	return r, err
}

// errStopped: the consumer has ended the sequence.
var errStopped = errors.New("history: stopped")

// tasks returns the sequence of the tasks, that of an error if there is one.
func (s stream) tasks(report *Report, err error) iter.Seq2[cmbo.Task, error] {
	s.report = report
	return func(yield func(cmbo.Task, error) bool) {
		var c *collector
		failed := err
		if failed == nil {
			c, failed = newCollector(s.space, s.policy)
		}
		if failed == nil {
			failed = s.grouped(c, func(t cmbo.Task) error {
				s.tell(c)
				if !yield(t, nil) {
					return errStopped
				}
				return nil
			})
			s.tell(c)
		}
		if failed != nil && failed != errStopped {
			yield(cmbo.Task{}, failed)
		}
	}
}

func (s stream) tell(c *collector) {
	if s.report != nil {
		*s.report = c.result.Report
	}
}

// grouped reads tasks whose rows follow each other.
func (s stream) grouped(c *collector, yield func(cmbo.Task) error) error {
	seen := make(map[[16]byte]struct{})
	flush := func() error {
		if len(c.result.Tasks) == 0 {
			return nil
		}
		t := c.result.Tasks[0]
		c.result.Tasks = nil
		clear(c.index)
		return yield(t)
	}
	err := s.read(func(r row, line int) error {
		if r.bad != nil || r.outcome == passedOver {
			return c.take(r, line)
		}
		if _, same := c.index[r.id]; !same {
			if err := flush(); err != nil {
				return err
			}
			sum := sha256.Sum256([]byte(r.id))
			d := [16]byte(sum[:])
			if _, again := seen[d]; again {
				e := rowErrorf(cmbo.ErrTask, "rows of other tasks lie between those of the task; sort the input by task").at(line)
				e.Task = strings.Clone(r.id)
				return e
			}
			seen[d] = struct{}{}
		} else if t := c.result.Tasks[0]; len(t.X)+len(t.Failed) >= s.limits.Rows {
			e := beyond("Rows", int64(s.limits.Rows), "the task has more %s", s.rows).at(line)
			e.Task = strings.Clone(r.id)
			return e
		}
		return c.take(r, line)
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		_, err = s.finish(c)
	}
	return err
}
