package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// observations is one task as the models take it: points in the unit cube and
// scaled values, larger being better.
type observations struct {
	id    string
	x     *linalg.Dense
	z     []float64
	noise []float64 // variances in squared units of z, 0 where not known
}

// prepare validates tasks, encodes their points and scales their values.
func prepare(space *cmbo.Space, tasks []cmbo.Task, c *config) ([]observations, error) {
	if space == nil || space.Dim() == 0 {
		return nil, fmt.Errorf("%w: a nil or zero Space", cmbo.ErrSpace)
	}
	seen := make(map[string]int, len(tasks))
	var out []observations
	for i := range tasks {
		t := &tasks[i]
		if t.ID == "" {
			return nil, &cmbo.DataError{Row: i, Column: -1, Reason: "empty ID", Err: cmbo.ErrTask}
		}
		if j, dup := seen[t.ID]; dup {
			return nil, taskError(cmbo.ErrTask, t.ID, "tasks %d and %d have the same ID", j, i)
		}
		seen[t.ID] = i
		if t.Params != nil {
			adopted, a, err := space.Adopt(tasks[i:i+1], nil)
			switch {
			case err != nil:
				return nil, err
			case a.Outside != nil:
				return nil, a.Outside[0]
			case a.Dropped != nil:
				return nil, taskError(cmbo.ErrSpace, t.ID, "the space lacks the parameters %q", a.Dropped)
			}
			t = &adopted[0]
		}
		if len(t.X) == 0 && len(t.Failed) > 0 {
			continue // failures alone give these methods nothing
		}
		o, err := prepareTask(space, t, c)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// requireTasks is prepare for methods that have nothing to say without tasks.
func requireTasks(space *cmbo.Space, tasks []cmbo.Task, c *config) ([]observations, error) {
	if space != nil && len(tasks) == 0 {
		return nil, fmt.Errorf("%w: %s learns from past tasks alone", cmbo.ErrNoTasks, c.method)
	}
	return prepare(space, tasks, c)
}

func prepareTask(space *cmbo.Space, t *cmbo.Task, c *config) (observations, error) {
	fail := func(sentinel error, format string, args ...any) (observations, error) {
		return observations{}, taskError(sentinel, t.ID, format, args...)
	}
	if len(t.X) == 0 {
		return fail(cmbo.ErrTask, "no observations")
	}
	if len(t.Y) != len(t.X) {
		return fail(cmbo.ErrDimension, "%d points but %d values", len(t.X), len(t.Y))
	}
	if t.NoiseVariance != nil && len(t.NoiseVariance) != len(t.X) {
		return fail(cmbo.ErrDimension, "%d noise variances for %d values", len(t.NoiseVariance), len(t.Y))
	}
	o := observations{id: t.ID, x: linalg.NewDense(len(t.X), space.Dim(), nil)}
	raw := make([]float64, len(t.Y))
	for i, row := range t.X {
		u, err := space.Encode(row)
		if err != nil {
			return observations{}, inTask(err, t.ID, i)
		}
		copy(o.x.Row(i), u)
		if raw[i] = t.Y[i]; !points.Admitted(raw[i]) {
			return observations{}, valueError(t.ID, i, "value", raw[i])
		}
		if c.minimize {
			raw[i] = -raw[i]
		}
	}
	for i, v := range t.NoiseVariance {
		if !(v >= 0) || !points.Admitted(v) {
			return observations{}, valueError(t.ID, i, "noise variance", v)
		}
	}
	o.z = c.y.Apply(raw)
	o.noise = make([]float64, len(raw))
	if t.NoiseVariance != nil {
		u := unit(raw, o.z)
		for i, v := range t.NoiseVariance {
			o.noise[i] = v / u / u
		}
	}
	return o, nil
}

// unit returns the size of one unit of the scaled values z in units of raw: the
// slope of the line through them, 1 where all are equal. For the policies that
// are linear the line is exact.
func unit(raw, z []float64) float64 {
	if len(z) == 0 {
		return 1
	}
	// Differences from the first value, which an offset does not spoil.
	n := float64(len(z))
	var mz, mr float64
	for i := range z {
		mz += (z[i] - z[0]) / n
		mr += (raw[i] - raw[0]) / n
	}
	var zz, zr float64
	for i := range z {
		d := z[i] - z[0] - mz
		zz += d * d
		zr += d * (raw[i] - raw[0] - mr)
	}
	if u := zr / zz; u > 0 && !math.IsInf(u, 0) {
		return u
	}
	return 1
}

func optionErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", cmbo.ErrOption, fmt.Sprintf(format, args...))
}

func taskError(sentinel error, id, format string, args ...any) error {
	return &cmbo.DataError{Task: id, Row: -1, Column: -1, Reason: fmt.Sprintf(format, args...), Err: sentinel}
}

func valueError(id string, row int, what string, v float64) error {
	return &cmbo.DataError{Task: id, Row: row, Column: -1, Value: v, Reason: fmt.Sprintf("%s %g", what, v), Err: cmbo.ErrNotFinite}
}

// inTask adds the place to an error about a point.
func inTask(err error, id string, row int) error {
	var de *cmbo.DataError
	if errors.As(err, &de) {
		c := *de
		c.Task, c.Row = id, row
		return &c
	}
	return fmt.Errorf("task %q: row %d: %w", id, row, err)
}

// numerical wraps an error of the layers below, unless ctx explains it.
func numerical(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %s: %w", cmbo.ErrNumerical, fmt.Sprintf(format, args...), err)
}

// wrapTask names the task an error of fitting belongs to.
func wrapTask(err error, id string) error { return fmt.Errorf("task %q: %w", id, err) }
