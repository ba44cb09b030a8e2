package history

import (
	"errors"
	"fmt"
	"io"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
)

// ReadHPOB reads one search space of a file in HPO-B's format, plain or
// gzip'd, with [bench.ReadTable]:
//
//	{space: {task: {"X": [[...], ...], "y": [[v], ...]}}}
//
// An empty name stands for the only space of a file. The configurations are
// encoded already: the Space is cmbo.UnitCube. The tasks are sorted by ID, and
// of equal configurations of a task only the first stays, as HPO-B's users do;
// larger values are better. There is no policy for bad rows: the first one, and
// null is one, is an error, a [*RowError] with the task, its row in the file
// being in the Reason, or that of the JSON decoder, and wraps cmbo's ErrCorrupt.
func ReadHPOB(r io.Reader, space string) (*Result, error) {
	t, err := bench.ReadTable(r, space)
	if err != nil {
		var fe *bench.FormatError
		if errors.As(err, &fe) {
			e := &RowError{Task: fe.Task, Reason: fe.Reason, Err: fmt.Errorf("%w: %w", cmbo.ErrCorrupt, err)}
			if fe.Row >= 0 {
				e.Reason = fmt.Sprintf("row %d: %s", fe.Row, fe.Reason)
			}
			return nil, e
		}
		return nil, fmt.Errorf("%w: %w", cmbo.ErrCorrupt, err)
	}
	cube, err := cmbo.UnitCube(t.Dim)
	if err != nil {
		return nil, err
	}
	out, err := newCollector(cube, Fail)
	if err != nil {
		return nil, err
	}
	for _, task := range t.Tasks {
		if e := checkID(task.ID); e != nil {
			return nil, e
		}
		for i, x := range task.X {
			if e := checkValue(task.Y[i]); e != nil {
				e.Task = task.ID
				return nil, e.in("y", formatFloat(task.Y[i]))
			}
			out.add(task.ID, x, task.Y[i], 0)
		}
	}
	return out.finish("configurations")
}
