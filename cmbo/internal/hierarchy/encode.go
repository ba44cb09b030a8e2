package hierarchy

import (
	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/exactsum"
)

// Encode writes the model as Decode reads it, first what a pass holds. It is trouble of e if the kernel has no description.
func (m *Model) Encode(e *codec.Encoder) {
	(&Pass{m.grid, m.pop}).Encode(e)
	e.Float(m.common)
	e.Int(int(m.total))
	e.Float(m.inflation)
	e.Float(m.depth)
	e.Uint(uint64(len(m.Tasks())))
	for _, t := range m.Tasks() {
		e.Text(t.ID)
		e.Matrix(t.X)
		e.Floats(t.Z)
		e.Floats(t.Noise)
		e.Float(t.Shift)
		e.Float(t.Scale)
		e.Context(t.Context)
	}
}

// Decode reads a model over points of dim coordinates, with the settings s. What is wrong with the bytes is in d.Err.
func Decode(d *codec.Decoder, dim int, s Settings) (*Model, error) {
	p, err := DecodePass(d, dim)
	if err != nil {
		return nil, err
	}
	common := d.Value()
	if common < 0 || common > 1 {
		d.Fail("%g of the variance common to all tasks", common)
	}
	total, inflation, depth, n := d.Int(), d.Value(), d.Value(), d.Count(1)
	if min(inflation, depth) < 1 || max(inflation, depth) > maxInflation {
		d.Fail("intervals %g times as wide, of values %g times as low", inflation, depth)
	}
	if n < 1 || total < n || total > exactsum.MaxTerms {
		d.Fail("%d tasks of %d", n, total)
	}
	d.Within("Tasks", int64(n), int64(d.Limits.Tasks), "a prior of %d tasks", n)
	var tasks []Task // grown one by one, as their number may be false
	seen := make(map[string]bool)
	for i := range n {
		t := Task{ID: d.Text(), X: d.Points(dim), Z: d.Floats(), Noise: d.Variances(), Shift: d.Value(),
			Scale: d.Value(), Context: d.Context()}
		rows := points.Len(t.X)
		if d.Err == nil && (len(t.Z) != rows || t.Noise != nil && len(t.Noise) != rows || !(t.Scale > 0)) {
			d.Fail("task %q: %d points, %d values, scale %g", t.ID, rows, len(t.Z), t.Scale)
		}
		if d.Err == nil && (rows == 0 || t.ID == "" || seen[t.ID]) {
			d.Fail("task %d has %d points and the ID %q, which is empty or that of another", i, rows, t.ID)
		}
		seen[t.ID] = true
		d.AddRows(t.ID, rows)
		if d.Err != nil {
			return nil, d.Err
		}
		tasks = append(tasks, t)
	}
	if d.Err != nil {
		return nil, d.Err
	}
	m := p.Model(tasks, int64(total), s)
	m.common, m.inflation, m.depth = common, inflation, depth
	return m, d.Err
}

// Encode writes p as DecodePass reads it. It is trouble of e if the kernel has no description.
func (p *Pass) Encode(e *codec.Encoder) {
	e.Kernel(p.grid.base.Kernel)
	e.Float(p.grid.base.Mean)
	e.Float(p.grid.base.NoiseVariance)
	e.Matrix(p.grid.z)
	e.Int(p.grid.neighbours)
	e.Floats(p.at.Mean)
	e.Lower(p.at.Cov)
}

// DecodePass reads a pass over points of dim coordinates. What is wrong with the bytes is in d.Err.
func DecodePass(d *codec.Decoder, dim int) (*Pass, error) {
	base := Base{Kernel: d.Kernel(), Mean: d.Value(), NoiseVariance: d.Value()}
	z, neighbours := d.Points(dim), d.Int()
	if d.Err == nil && (base.Kernel == nil || !(base.NoiseVariance > 0) || neighbours < 1) {
		d.Fail("a prior without a base process")
	}
	n := points.Len(z)
	d.Within("Points", int64(n), int64(d.Limits.Points), "an index set of %d points", n)
	if neighbours > n {
		d.Fail("%d neighbours among %d points", neighbours, n)
	}
	if d.Err != nil {
		return nil, d.Err
	}
	if err := gp.CheckKernel(base.Kernel, dim, codec.ErrCorrupt); err != nil {
		return nil, err
	}
	g, at := newGrid(base, z, neighbours), Moments{Mean: d.Floats(), Cov: d.Lower(n)}
	if d.Err == nil && len(at.Mean) != n {
		d.Fail("moments of dimension %d on %d points", len(at.Mean), n)
	}
	return &Pass{g, at}, d.Err
}
