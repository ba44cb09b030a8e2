package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
)

// A stream reads an input a task at a time.
type stream struct {
	space  *cmbo.Space
	policy Policy
	limits Limits
	mixed  bool
	report *Report
	rows   string // what messages call rows
}

// A pass reads the input once, from where it stands, without the rows of tasks that
// want does not want.
type pass func(want func(id string) bool, take taker) error

// errStopped: the consumer has ended the sequence.
var errStopped = errors.New("history: stopped")

// failing is the sequence of an error.
func failing(err error) iter.Seq2[cmbo.Task, error] {
	return func(yield func(cmbo.Task, error) bool) { yield(cmbo.Task{}, err) }
}

// tasks returns the sequence of the tasks of r, which read reads.
func (s stream) tasks(r io.Reader, read pass) iter.Seq2[cmbo.Task, error] {
	return func(yield func(cmbo.Task, error) bool) {
		c, err := newCollector(s.space, s.policy)
		if err == nil {
			next := func(t cmbo.Task) error {
				s.tell(c)
				if !yield(t, nil) {
					return errStopped
				}
				return nil
			}
			if s.mixed {
				err = s.partitions(r, read, c, next)
			} else {
				err = s.grouped(read, c, next)
			}
			s.tell(c)
		}
		if err != nil && err != errStopped {
			yield(cmbo.Task{}, err)
		}
	}
}

func (s stream) tell(c *collector) {
	if s.report != nil {
		*s.report = c.result.Report
	}
}

// digest identifies a task.
func digest(id string) (d [16]byte) {
	sum := sha256.Sum256([]byte(id))
	copy(d[:], sum[:])
	return d
}

// grouped reads tasks whose rows follow each other.
func (s stream) grouped(read pass, c *collector, yield func(cmbo.Task) error) error {
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
	err := read(nil, func(r row, line int) error {
		if r.bad != nil || r.outcome == passedOver {
			return c.take(r, line)
		}
		if _, same := c.index[r.id]; !same {
			if err := flush(); err != nil {
				return err
			}
			d := digest(r.id)
			if _, again := seen[d]; again {
				e := rowErrorf(cmbo.ErrTask, "rows of other tasks lie between those of the task; Mixed says that they may").at(line)
				e.Task = strings.Clone(r.id)
				return e
			}
			seen[d] = struct{}{}
		} else if t := c.result.Tasks[0]; len(t.X)+len(t.Failed) >= s.limits.Rows {
			return s.tooMany(r.id, line)
		}
		return c.take(r, line)
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		_, err = c.finish(s.rows)
	}
	return err
}

// tooMany is the error of a task that does not fit.
func (s stream) tooMany(id string, line int) error {
	e := beyond("Rows", int64(s.limits.Rows), "the task has more %s", s.rows).at(line)
	e.Task = strings.Clone(id)
	return e
}

// partitions reads tasks whose rows are mixed. Tasks are ordered by a hash of their
// IDs. Each pass takes those from lo on; when there is no more room, it lets those go
// that come last in the order, with all further rows of theirs, for a later pass.
func (s stream) partitions(r io.Reader, read pass, c *collector, yield func(cmbo.Task) error) error {
	seeker, _ := r.(io.Seeker)
	var start int64
	if seeker != nil {
		var err error
		if start, err = seeker.Seek(0, io.SeekCurrent); err != nil {
			seeker = nil // a pipe, say
		}
	}
	first := c
	for lo := uint64(0); ; {
		p := partition{stream: s, collector: c, lo: lo, hi: math.MaxUint64, again: seeker != nil}
		c.keep = p.holds
		var want func(string) bool
		if c != first {
			want = p.holds
		}
		if err := read(want, p.take); err != nil {
			return err
		}
		if c == first {
			if _, err := c.finish(s.rows); err != nil {
				return err
			}
		}
		for i, t := range c.result.Tasks {
			c.result.Tasks[i] = cmbo.Task{}
			if err := yield(t); err != nil {
				return err
			}
		}
		if p.hi == math.MaxUint64 {
			return nil
		}
		lo = p.hi + 1
		if _, err := seeker.Seek(start, io.SeekStart); err != nil {
			return fmt.Errorf("history: the input cannot be read again: %w", err)
		}
		// What is wrong with rows was reported by the first pass.
		c, _ = newCollector(s.space, Skip)
	}
}

// partition is a pass over tasks of the hashes lo to hi.
type partition struct {
	stream
	*collector
	lo, hi uint64
	held   int  // rows
	again  bool // the input can be read again
}

// hash orders tasks.
func hash(id string) uint64 {
	d := digest(id)
	return binary.LittleEndian.Uint64(d[:])
}

// holds reports whether the pass is about the task.
func (p *partition) holds(id string) bool {
	if _, ok := p.index[id]; ok {
		return true
	}
	h := hash(id)
	return p.lo <= h && h <= p.hi
}

// take takes a row, and makes room where there is none.
func (p *partition) take(r row, line int) error {
	good := r.bad == nil && r.outcome != passedOver
	if err := p.collector.take(r, line); err != nil || !good {
		return err
	}
	if _, ok := p.index[r.id]; !ok {
		return nil
	}
	if p.held++; p.held <= p.limits.Rows {
		return nil
	}
	if !p.again {
		return beyond("Rows", int64(p.limits.Rows), "the tasks have more %s, which are mixed, and the input cannot be read again: it is no io.Seeker", p.rows).at(line)
	}
	return p.cut(line)
}

// cut lets the last tasks of the order go.
func (p *partition) cut(line int) error {
	tasks := p.result.Tasks
	order := make([]uint64, len(tasks))
	rows := make(map[uint64]int, len(tasks)) // by hash
	for i, t := range tasks {
		order[i] = hash(t.ID)
		rows[order[i]] += len(t.X) + len(t.Failed)
	}
	sorted := slices.Clone(order)
	slices.SortFunc(sorted, cmp.Compare)
	sorted = slices.Compact(sorted)
	p.held = rows[sorted[0]]
	if p.held > p.limits.Rows {
		return p.tooMany(tasks[slices.Index(order, sorted[0])].ID, line)
	}
	p.hi = sorted[0]
	for _, h := range sorted[1:] {
		if p.held+rows[h] > p.limits.Rows-p.limits.Rows/8 {
			break
		}
		p.held, p.hi = p.held+rows[h], h
	}
	kept := tasks[:0]
	clear(p.index)
	for i, t := range tasks {
		if order[i] <= p.hi {
			p.index[t.ID] = len(kept)
			kept = append(kept, t)
		}
	}
	clear(tasks[len(kept):])
	p.result.Tasks = kept
	return nil
}
