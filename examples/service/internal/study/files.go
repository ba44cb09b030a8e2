package study

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/examples/service/api"
)

// A FileError is an error about one of the files that were sent.
type FileError struct {
	File int // its number, from 0
	Err  error
}

// Error tells which and why.
func (e *FileError) Error() string { return fmt.Sprintf("file %d: %v", e.File, e.Err) }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// readFiles reads the tasks of files for a space. Without one, which a single
// journal of Optuna may do, that tells it.
func (m *Manager) readFiles(ctx context.Context, space *cmbo.Space,
	q *api.Learn) (*cmbo.Space, []cmbo.Task, []api.FileReport, error) {
	if err := within("files", len(q.Files), m.limits.Files); err != nil {
		return nil, nil, nil, err
	}
	var tasks []cmbo.Task
	var reports []api.FileReport
	for i := range q.Files {
		var read *history.Result
		err := m.turns.Job(ctx, func() (err error) {
			read, err = readFile(space, &q.Files[i], q.Minimize, &m.limits)
			return err
		})
		if err != nil {
			return nil, nil, nil, &FileError{i, err}
		}
		space = read.Space
		tasks = append(tasks, read.Tasks...)
		reports = append(reports, fileReport(q.Files[i].Format, read))
	}
	return space, tasks, reports, nil
}

func fileReport(format string, read *history.Result) api.FileReport {
	r := &read.Report
	out := api.FileReport{Format: format, Tasks: len(read.Tasks), Rows: r.Rows, Accepted: r.Accepted, Failed: r.Failed,
		Snapped: r.Snapped, Skipped: r.Skipped, PassedOver: r.PassedOver}
	for _, e := range r.Errors {
		out.Errors = append(out.Errors, e.Error())
	}
	return out
}

// readFile reads one file.
func readFile(space *cmbo.Space, f *api.File, minimize bool, l *Limits) (*history.Result, error) {
	if err := within("lines of a file", 1+strings.Count(f.Text, "\n"), l.FileLines); err != nil {
		return nil, err
	}
	comma, n := utf8.DecodeRuneInString(f.Separator)
	if n != len(f.Separator) {
		return nil, fmt.Errorf("%w: a separator of more than one character", ErrRequest)
	}
	policy := history.Fail
	if f.Skip {
		policy = history.Skip
	}
	direction := history.Maximize
	if minimize {
		direction = history.Minimize
	}
	if f.Format == api.FormatOptuna {
		o := history.Optuna{Space: space, Studies: f.Studies, Direction: direction, Pruned: f.Pruned,
			Intermediate: f.Intermediate, Seconds: f.Seconds, Policy: policy}
		read, err := o.Read(strings.NewReader(f.Text))
		if err != nil {
			return nil, err
		}
		return &read.Result, nil
	}
	if space == nil {
		return nil, fmt.Errorf("%w: a space is missing", ErrRequest)
	}
	var c history.CSV
	switch f.Format {
	case api.FormatCSV:
		c = history.CSV{Space: space, TaskID: f.Task, Value: f.Value}
	case api.FormatJSONLines:
		j := history.JSONLines{Space: space, TaskID: f.Task, Value: f.Value, Task: f.TaskColumn, Noise: f.NoiseColumn,
			Curve: f.Curve, Policy: policy}
		j.Mapping.Columns, j.Mapping.Defaults, j.Mapping.DecimalComma = f.Columns, f.Defaults, f.DecimalComma
		j.Mapping.Outputs, j.Mapping.Context = f.Outputs, f.Context
		return j.Read(strings.NewReader(f.Text))
	case api.FormatKatib:
		read, err := history.Katib{Space: space, Metric: f.Value, Outputs: slices.Sorted(maps.Keys(f.Outputs)),
			Seconds: f.Seconds, Direction: direction, Policy: policy}.Read(strings.NewReader(f.Text))
		if err != nil {
			return nil, err
		}
		return &read.Result, nil
	case api.FormatMLflow, api.FormatWandB:
		if f.Value == "" {
			return nil, fmt.Errorf("%w: value is missing, the metric", ErrRequest)
		}
		if c = history.MLflow(space, f.Value); f.Format == api.FormatWandB {
			c = history.WandB(space, f.Value, f.Task)
		}
	case api.FormatOptunaFrame:
		c = history.OptunaFrame(space, f.Task)
		if f.Pruned {
			c.Mapping.Done = append(c.Mapping.Done, "PRUNED")
		}
	default:
		return nil, fmt.Errorf("%w: a file of format %q; csv, jsonlines, mlflow, optuna, optuna_frame, katib and wandb are known", ErrRequest, f.Format)
	}
	c.Policy, c.Task, c.Noise = policy, cmp.Or(f.TaskColumn, c.Task), cmp.Or(f.NoiseColumn, c.Noise)
	if n > 0 {
		c.Comma = comma
	}
	c.Mapping.Columns, c.Mapping.Defaults, c.Mapping.DecimalComma = f.Columns, f.Defaults, f.DecimalComma
	c.Mapping.Outputs, c.Mapping.Context = f.Outputs, f.Context
	return c.Read(strings.NewReader(f.Text))
}
