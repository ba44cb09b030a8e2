package baseline

import (
	"cmp"
	"errors"
	"math"
	"runtime"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
)

// observations is one task as the models take it, with a noise variance for each value, 0 where it is
// not known. The values before scaling, larger being better, are Shift + Scale·Z.
type observations = hierarchy.Task

// prepare validates tasks, encodes their points and scales their values. Failures alone give these methods nothing.
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
	for _, t := range tasks {
		if len(t.X) == 0 {
			continue
		}
		raw, _ := scaling.Sense{Minimize: c.minimize}.Apply(t.Y, nil)
		o := observations{ID: t.ID, X: s.EncodeAll(t.X)}
		o.Z, o.Noise = scaled(c.y, raw, t.NoiseVariance)
		if o.Scale = unit(raw, o.Z); c.y != cmbo.RawValues && !varies(o) {
			o.Scale = 0 // not known
		}
		o.Shift = raw[0] - o.Scale*o.Z[0]
		out = append(out, o)
	}
	return out, nil
}

// settle applies options to the defaults, what base sets and for the rest the common ones, and prepares the tasks.
func settle(base config, s *cmbo.Space, tasks []cmbo.Task, opts []Option) (*config, []observations, error) {
	c := &base
	c.seed, c.workers, c.samples = 1, runtime.GOMAXPROCS(0), cmp.Or(c.samples, 256)
	c.bandwidth, c.grid, c.shrinkage, c.iterations = 0.1, 500, 0.5, 16
	if err := gp.Apply(c, "Option", opts); err != nil {
		return nil, nil, err
	}
	obs, err := prepare(s, tasks, c)
	return c, obs, err
}

// scaled returns values as a policy scales them, and their noise variances, 0 where they are not known.
func scaled(y cmbo.YPolicy, raw, variances []float64) (z, noise []float64) {
	z, noise = scaling.Policy(y).Scale(raw, variances)
	return z, append(noise, make([]float64, len(z)-len(noise))...)
}

// unit returns the size of one unit of the scaled values z in units of raw: the slope of the line
// through them, 1 where all are equal. For the policies that are linear the line is exact.
func unit(raw, z []float64) float64 {
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
