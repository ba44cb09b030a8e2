package hierarchy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/exactsum"
	"github.com/gocmbo/cmbo/linalg"
)

// A Pass is what EM knows of tasks that are too many to be held, between two passes over all of them: the base process
// and the grid, which a sample of the tasks has chosen, and the moments. It is immutable.
type Pass struct {
	grid *grid
	at   Moments
}

// FirstPass learns a population of a sample of the tasks, as [Learn] does of all.
func FirstPass(ctx context.Context, tasks []Task, z *linalg.Dense, o Settings) (*Pass, error) {
	m, err := Learn(ctx, tasks, z, o)
	if err != nil {
		return nil, err
	}
	return &Pass{m.grid, m.pop}, nil
}

// Model makes the model of total tasks, of which it knows a sample.
func (p *Pass) Model(sample []Task, total int64, o Settings) *Model {
	m := newModel(sample, total, &o)
	m.set(p.grid, p.at)
	return m
}

// Next returns what is known after a step of EM with the sums over all tasks, drawn to the base kernel by the share
// shrink, and the log likelihood before it. It takes O(G³) time on G grid points.
func (p *Pass) Next(t *Tally, shrink float64) (*Pass, float64) {
	g := p.grid.len()
	at := Moments{Mean: slices.Clone(p.at.Mean), Cov: linalg.NewSym(g, nil)}
	at.Cov.Copy(p.at.Cov)
	u, s := each.Below(g, func(i int) float64 { return t.sum.At(1 + i) }), linalg.NewSym(g, nil)
	for i := range g {
		for j := range i + 1 {
			s.Row(i)[j] = t.sum.At(1 + g + i*(i+1)/2 + j)
		}
	}
	s.Mirror()
	p.grid.maximizeDual(&at, s, u, float64(t.sum.Terms()), shrink)
	return &Pass{p.grid, at}, t.sum.At(0)
}

// Equal reports whether p and q are the same to the bit.
func (p *Pass) Equal(q *Pass) bool {
	if p == q {
		return true
	}
	var a, b codec.Encoder
	p.Encode(&a)
	q.Encode(&b)
	return cmp.Or(a.Err, b.Err) == nil && slices.Equal(a.Buf, b.Buf)
}

// MaxTasks is the number of tasks of a Tally, at most.
const MaxTasks = exactsum.MaxTerms

// A Tally sums what a step of EM needs of tasks: the log likelihood, Σ Bᵀ·α and the lower triangle
// of Σ Bᵀ·(A⁻¹ − α·αᵀ)·B. The contribution of each task is rounded once and sums are exact, so that
// the order of the tasks and of merges does not change a bit. It serves one goroutine at a time.
type Tally struct {
	of  *Pass
	sum *exactsum.Sum

	step estep
	row  []int // of each grid point among those that the task touches
	near Moments
	mean []float64 // near's, where they are not those of the whole grid
	cov  linalg.Sym
	s    linalg.Sym
	at   []int
	term []float64
}

// NewTally returns the tally of no tasks.
func (p *Pass) NewTally() *Tally { return &Tally{of: p, sum: exactsum.New(p.entries())} }

func (p *Pass) entries() int {
	g := p.grid.len()
	return 1 + g + g*(g+1)/2
}

// ErrSumRange: what a task contributes to the sums of EM is beyond their range.
var ErrSumRange = errors.New("beyond the range of exact sums")

// Add adds a task. It fails, changing nothing, if the task's covariance is singular under every
// jitter, or with ErrSumRange. With n points that touch r points of the grid, m each, it takes O(n³
// + n·m·r + r²) time, and where they are not of the grid O(n·m·G) on G of them. More than partRows are concentrated.
func (t *Tally) Add(task *Task) error {
	c, err := t.of.grid.carry(task, partRows)
	if err != nil {
		return err
	}
	touched := t.narrow(c)
	log, err := t.step.condition(c, t.near, t.of.grid.base.Mean)
	if err != nil {
		return err
	}
	r, g := len(touched), t.of.grid.len()
	t.s.Resize(r)
	t.s.Zero()
	n := 1 + r + r*(r+1)/2
	t.at, t.term = resize(t.at, n), resize(t.term, n)
	clear(t.term)
	t.at[0], t.term[0] = 0, log
	t.step.accumulate(c, dual, &t.s, t.term[1:1+r])
	next := 1 + r
	for i, p := range touched {
		t.at[1+i] = 1 + p
		copy(t.term[next:], t.s.Row(i)[:i+1])
		for _, q := range touched[:i+1] {
			t.at[next] = 1 + g + p*(p+1)/2 + q
			next++
		}
	}
	if err := t.sum.Add(t.at, t.term); err != nil {
		return fmt.Errorf("%w: %w", ErrSumRange, err)
	}
	return nil
}

// narrow returns the grid points that carry a task, ascending, makes near the moments of these
// alone, and c's indices those among them. Where most of the grid carries it, it returns the whole.
func (t *Tally) narrow(c *carried) (touched []int) {
	at := t.of.at
	t.row = resize(t.row, len(at.Mean))
	clear(t.row)
	for _, idx := range c.idx {
		for _, p := range idx {
			t.row[p] = 1
		}
	}
	for p, there := range t.row {
		if there > 0 {
			t.row[p] = len(touched)
			touched = append(touched, p)
		}
	}
	if 2*len(touched) > len(at.Mean) {
		t.near, touched = at, touched[:0]
		for p := range at.Mean {
			touched = append(touched, p)
		}
		return touched
	}
	t.mean = resize(t.mean, len(touched))
	t.cov.Subset(at.Cov, touched)
	for i, p := range touched {
		t.mean[i] = at.Mean[p]
	}
	t.near = Moments{t.mean, &t.cov}
	for k, idx := range c.idx {
		c.idx[k] = points.Entries(t.row, idx)
	}
	return touched
}

// Merge adds the tasks of o, a tally of the same pass. It fails, changing nothing, if they are too many.
func (t *Tally) Merge(o *Tally) error { return t.sum.Merge(o.sum) }

// Tasks returns the number of tasks added.
func (t *Tally) Tasks() int64 { return t.sum.Terms() }

// Encode writes the sums as DecodeTally reads them.
func (t *Tally) Encode(e *codec.Encoder) { e.Raw(t.sum.Append(nil)) }

// DecodeTally reads the sums of a tally of p. What is wrong with the bytes is in d.Err.
func (p *Pass) DecodeTally(d *codec.Decoder) *Tally {
	sum, rest, err := exactsum.Decode(d.Buf, p.entries())
	if d.Err != nil || err != nil {
		d.Fail("%v", err)
		return nil
	}
	d.Buf = rest
	return &Tally{of: p, sum: sum}
}
