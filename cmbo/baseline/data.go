package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/linalg"
)

// observations is one task as the models take it: points in the unit cube and
// scaled values, larger being better.
type observations struct {
	id    string
	x     *linalg.Dense
	z     []float64
	noise []float64 // variances in squared units of z, 0 where not known

	offset, scale float64 // the values before scaling, larger being better: offset + scale·z
}

// prepare validates tasks, encodes their points and scales their values. Failures alone
// give these methods nothing.
func prepare(s *cmbo.Space, tasks []cmbo.Task, c *config) ([]observations, error) {
	if err := s.Defined(); err != nil {
		return nil, err
	}
	tasks, err := space.CheckTasks(s, tasks)
	if errors.Is(err, cmbo.ErrNoTasks) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []observations
	for i := range tasks {
		t := &tasks[i]
		if len(t.X) == 0 {
			continue
		}
		raw, _ := scaling.Sense{Minimize: c.minimize}.Apply(t.Y, nil)
		o := observations{id: t.ID, x: s.EncodeAll(t.X), z: c.y.Apply(raw), noise: make([]float64, len(raw))}
		o.scale = unit(raw, o.z)
		o.offset = raw[0] - o.scale*o.z[0]
		for k, v := range t.NoiseVariance {
			o.noise[k] = v / o.scale / o.scale
		}
		out = append(out, o)
	}
	return out, nil
}

// settle applies options and prepares the tasks.
func settle(base config, s *cmbo.Space, tasks []cmbo.Task, opts []Option) (*config, []observations, error) {
	c, err := newConfig(base, opts)
	if err != nil {
		return nil, nil, err
	}
	obs, err := prepare(s, tasks, c)
	return c, obs, err
}

// unit returns the size of one unit of the scaled values z in units of raw: the slope of the line
// through them, 1 where all are equal. For the policies that are linear the line is exact.
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
