package bench

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
)

// A Table is a family of recorded tuning tasks over one search space: for each task a list of
// configurations in the unit cube and the value measured for each, larger being better.
type Table struct {
	// Space is the name of the search space.
	Space string
	// Dim is the number of coordinates of a configuration.
	Dim int
	// Tasks are sorted by ID.
	Tasks []TableTask
	// Duplicates counts the rows dropped because the task had an equal one before.
	Duplicates int
}

// A TableTask is one task of a [Table].
type TableTask struct {
	ID string
	// X holds distinct configurations in [0, 1].
	X [][]float64
	// Y holds one value a configuration.
	Y []float64
	// Split is "train", "validation" or "test" in HPO-B's own division, empty elsewhere.
	Split string
	// Initial holds the fixed initial configurations of HPO-B's protocol by
	// seed name ("test0" ... "test4"), as indices into X; nil elsewhere.
	Initial map[string][]int

	kept []int // by row of the file: its index in X
}

// NewTable makes a table of tasks over a space, such as history's readers return, so that methods are compared on a
// user's own past. Configurations are encoded in the unit cube, values oriented so that larger ones are better, and of
// equal configurations of a task the first stays. Failed evaluations, noise variances and tasks without a value are
// left out. Parameters are matched as [cmbo.Space.Adopt] does, but none may be missing or dropped, and no row may lie
// outside. It fails as Adopt does, with [cmbo.ErrTask] or with [cmbo.ErrNoTasks].
func NewTable(name string, space *cmbo.Space, tasks []cmbo.Task, minimize bool) (*Table, error) {
	adopted, a, err := space.Adopt(tasks, cmbo.Changes{})
	switch {
	case err != nil:
		return nil, err
	case a.Outside != nil:
		return nil, a.Outside[0]
	case a.Dropped != nil:
		return nil, fmt.Errorf("%w: it lacks the parameters %q of the tasks", cmbo.ErrSpace, a.Dropped)
	}
	t := &Table{Space: name, Dim: space.Dim()}
	for _, task := range adopted {
		out := TableTask{ID: task.ID}
		seen := make(map[string]bool, len(task.X))
		for i, row := range task.X {
			u, _ := space.Encode(row) // cannot fail: Adopt has taken the row
			key := points.Key(u)
			if seen[key] {
				t.Duplicates++
				continue
			}
			seen[key] = true
			y := task.Y[i]
			if minimize {
				y = -y
			}
			out.X, out.Y = append(out.X, u), append(out.Y, y)
		}
		if len(out.X) > 0 {
			t.Tasks = append(t.Tasks, out)
		}
	}
	if len(t.Tasks) == 0 {
		return nil, cmbo.ErrNoTasks
	}
	slices.SortStableFunc(t.Tasks, func(a, b TableTask) int { return strings.Compare(a.ID, b.ID) })
	return t, t.check()
}

// Range returns the smallest and the largest value of the task; NaN if there is none.
func (t *TableTask) Range() (lo, hi float64) {
	if len(t.Y) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(t.Y), slices.Max(t.Y)
}

// Constant reports whether no two values differ: such a task ranks nothing and has no regret.
func (t *TableTask) Constant() bool {
	lo, hi := t.Range()
	return !(hi > lo)
}

// check says what is wrong with a table that did not come from a file, wrapping [cmbo.ErrTask].
func (t *Table) check() error {
	if t == nil {
		return fmt.Errorf("%w: a nil table", cmbo.ErrTask)
	}
	if len(t.Tasks) == 0 {
		return fmt.Errorf("%w: the table of space %q has no tasks", cmbo.ErrTask, t.Space)
	}
	for i, task := range t.Tasks {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%w: space %q: task %q %s", cmbo.ErrTask, t.Space, task.ID, fmt.Sprintf(format, args...))
		}
		switch {
		case i > 0 && task.ID <= t.Tasks[i-1].ID:
			return bad("follows %q; they must be sorted and distinct", t.Tasks[i-1].ID)
		case len(task.X) == 0:
			return bad("has no configurations")
		case len(task.X) != len(task.Y):
			return bad("has %d configurations but %d values", len(task.X), len(task.Y))
		}
		for k, y := range task.Y {
			if math.IsNaN(y) || math.IsInf(y, 0) {
				return bad("has the value %g in row %d", y, k)
			}
		}
	}
	return nil
}

// Task returns the task of that ID, or nil.
func (t *Table) Task(id string) *TableTask {
	i, ok := slices.BinarySearchFunc(t.Tasks, id, func(a TableTask, id string) int { return strings.Compare(a.ID, id) })
	if !ok {
		return nil
	}
	return &t.Tasks[i]
}

// info identifies a table by all that an experiment makes use of.
func (t *Table) info() TableInfo {
	h := sha256.New()
	info := TableInfo{Space: t.Space, Dim: t.Dim, Tasks: len(t.Tasks)}
	fmt.Fprintf(h, "%q %d\n", t.Space, t.Dim)
	for i := range t.Tasks {
		task := &t.Tasks[i]
		info.Rows += len(task.X)
		// Numbers print so that they read back, maps in the order of their keys.
		fmt.Fprintf(h, "%q %q %v %v %v\n", task.ID, task.Split, task.X, task.Y, task.Initial)
	}
	info.Digest = fmt.Sprintf("%x", h.Sum(nil))
	return info
}
