package hierarchy

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/special"
)

// affineTasks are tasks of given offsets and scales; those of scale 0 show none.
func affineTasks(shifts, scales []float64) []Task {
	tasks := make([]Task, len(shifts))
	for i := range tasks {
		tasks[i] = Task{Shift: shifts[i], Scale: scales[i], Z: []float64{-0.5, 0.5}}
		if scales[i] == 0 {
			tasks[i].Scale, tasks[i].Z = 1, []float64{0.5, 0.5}
		}
	}
	return tasks
}

// TestAffinePrior: offset and scale have the moments of the tasks' ones and of one imagined
// task a deviation away, tasks of equal values counting for the offset alone.
func TestAffinePrior(t *testing.T) {
	s := DefaultSettings(1)
	p := newAffinePrior(affineTasks([]float64{1, 4, 10}, []float64{2, 0, 8}), &s)
	require.InDelta(t, 5, p.shift, 1e-14)
	require.InDelta(t, math.Log(4), p.logScale, 1e-14)
	require.InEpsilon(t, (2*math.Ln2*math.Ln2+1)/3, p.logScaleVar, 1e-13)
	require.InEpsilon(t, (1+1.0/16+25.0/16+1)/4, p.shiftVar, 1e-13)

	// Scales that agree leave a part free.
	many := affineTasks(make([]float64, 50), slices.Repeat([]float64{8}, 50))
	p = newAffinePrior(many, &s)
	require.InDelta(t, math.Log(8), p.logScale, 1e-14)
	require.Equal(t, minScaleVariance, p.logScaleVar)
	require.InEpsilon(t, 1.0/21, newAffinePrior(many[:20], &s).logScaleVar, 1e-12)

	// Offsets out of all proportion, on either side, have a finite square.
	p = newAffinePrior(affineTasks([]float64{1e60, -1e60}, []float64{1, 1}), &s)
	require.InEpsilon(t, (2*maxRatio*maxRatio+1)/3, p.shiftVar, 1e-13)

	// Tasks that show no scale: half the range of their offsets, or their size.
	for _, c := range []struct {
		shifts []float64
		want   float64
	}{
		{[]float64{3, 1, 7}, 3},
		{[]float64{7, -1, 3}, 4},
		{[]float64{0.3, 0.1}, 0.1},
		{[]float64{2, 2}, 2},
		{[]float64{-0.25}, 0.25},
		{[]float64{0, 0}, 1},
		{[]float64{-1e-9, 1e-9}, 1e-9},
		{[]float64{-math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		p := newAffinePrior(affineTasks(c.shifts, make([]float64, len(c.shifts))), &s)
		require.InDelta(t, math.Log(c.want), p.logScale, 1e-14, c.shifts)
		require.Equal(t, 1.0, p.logScaleVar, c.shifts)
	}
}

// TestAffineDeviations: a task deviates by its offset, in the tasks' scale and within bounds,
// and by the logarithm of its scale if it shows one; a target that is expected to deviate so
// has that moved prior, and values in another unit one in that unit.
func TestAffineDeviations(t *testing.T) {
	s := DefaultSettings(1)
	p := affinePrior{shift: 3, shiftVar: 0.5, logScale: math.Log(2), logScaleVar: 0.6, s: &s}
	tasks := affineTasks([]float64{4, 4, 1e300, -1e300}, []float64{6, 0, 1, 1})
	for i, want := range [][]float64{{0.5, math.Log(3)}, {0.5, 0}, {maxRatio, -math.Ln2}, {-maxRatio, -math.Ln2}} {
		got := []float64{9, 9}
		p.deviation(got, &tasks[i])
		require.InDeltaSlice(t, want, got, 1e-14)
	}
	q := p.moved([2]float64{0.5, math.Log(3)}, [2]float64{0.4, 0.3})
	require.InDelta(t, 4, q.shift, 1e-14)
	require.InDelta(t, math.Log(6), q.logScale, 1e-14)
	require.InEpsilon(t, 0.18, q.logScaleVar, 1e-13)
	require.InEpsilon(t, 0.4*0.5*2*2, q.shiftVar*6*6, 1e-13, "the variance of the offset itself")
	require.Equal(t, minScaleVariance, p.moved([2]float64{}, [2]float64{1, 0.01}).logScaleVar)

	in := p.in(16)
	require.Equal(t, affinePrior{shift: 3.0 / 16, shiftVar: in.shiftVar, logScale: in.logScale, logScaleVar: 0.6, s: &s}, in)
	require.InDelta(t, math.Log(2.0/16), in.logScale, 1e-14)
	require.InEpsilon(t, 0.5*4/(16*16), in.shiftVar, 1e-13)

	require.InEpsilon(t, 2*math.Exp(math.Sqrt(0.6)), p.wide(), 1e-14)

	p = affinePrior{shift: -1e60, logScale: math.Log(5)}
	require.Equal(t, 4.0, p.unitFor(nil))
	require.Equal(t, 4.0, p.unitFor([]float64{-1e60, -1e60 * (1 + 1e-15)}))
	p.shift = 0
	require.Equal(t, 4.0, p.unitFor([]float64{4.99 * maxRatio, -1}))
	require.Equal(t, math.Ldexp(1, math.Ilogb(5.01*maxRatio)), p.unitFor([]float64{1, -5.01 * maxRatio}))
}

// TestAffineNodes: the nodes are the scales, evenly in their logarithm, that the prior and the
// values make possible, with the masses of the prior's mixture; those of negative scales are the
// same again.
func TestAffineNodes(t *testing.T) {
	s := DefaultSettings(1)
	p := affinePrior{logScale: math.Log(3), logScaleVar: 0.04, s: &s}
	require.Equal(t, []node{{s: 1, s2: 1}}, nodesOf(&affinePrior{exact: true}, []float64{1, 2}, 0.1))
	many := func(n int, y ...float64) []float64 { return slices.Repeat(y, n/len(y)) }
	for name, c := range map[string]struct {
		sd     float64
		y      []float64
		lo, hi float64 // beside ln 3
		n      int
	}{
		"no value":      {0.2, nil, -1.9, 1.8, 25},
		"wide":          {3, nil, -9, 9, 118},
		"of a width":    {1.5, nil, -4.5, 4.5, 60},
		"unbounded":     {1e3, nil, -math.Log(maxRatio), math.Log(maxRatio), 1487},
		"equal":         {0.2, []float64{4, 4}, 0, 1.8, 25},
		"one":           {0.2, []float64{4}, -1.9, 1.8, 25},
		"near":          {0.2, []float64{-3, 3}, -1.9, 2, 27},
		"small":         {0.2, []float64{-3e-2, 3e-2}, math.Log(1e-2) - 1.5, 1.8, 53},
		"large":         {0.2, []float64{-300, 300}, -1.9, math.Log(100) + 2, 56},
		"many":          {0.2, many(256, -3, 3), -1.9, 2, 52},
		"many and wide": {3, many(256, -3, 3), -9, 9, 234},
	} {
		p.logScaleVar = c.sd * c.sd
		out := nodesOf(&p, c.y, 0)
		require.Equal(t, c.n, len(out), name)
		log := func(i int) float64 { return out[i].logS2 / 2 }
		require.InDelta(t, p.logScale+c.lo, log(0), 1e-12, name)
		require.InDelta(t, p.logScale+c.hi, log(c.n-1), 1e-12, name)
		wide := max(math.Log(s.Wide), 2*c.sd, c.hi-2, -c.lo-2)
		density := func(l float64) float64 {
			d := l - p.logScale
			return (1-s.OtherUnits)*special.NormPDF(d/c.sd)/c.sd + s.OtherUnits*special.NormPDF(d/wide)/wide
		}
		var mass, total float64
		for i := range out {
			total += density(log(i))
		}
		for i, n := range out {
			require.InDelta(t, log(0)+float64(i)*(c.hi-c.lo)/float64(c.n-1), log(i), 1e-9, name)
			require.InEpsilon(t, math.Exp(log(i)), n.s, 1e-12, name)
			require.InEpsilon(t, n.s*n.s, n.s2, 1e-12, name)
			require.InDelta(t, math.Log(density(log(i))/total), n.log, 1e-9, name)
			mass += math.Exp(n.log)
		}
		require.InDelta(t, 1, mass, 1e-12, name)

		both := nodesOf(&p, c.y, 0.3)
		require.Equal(t, 2*c.n, len(both), name)
		for i, n := range out {
			n.log += math.Log(0.7)
			require.InDelta(t, n.log, both[i].log, 1e-12, name)
			require.Equal(t, n.s, both[i].s, name)
			require.Equal(t, node{-n.s, n.s2, n.logS2, both[c.n+i].log}, both[c.n+i], name)
			require.InDelta(t, both[i].log+math.Log(0.3/0.7), both[c.n+i].log, 1e-12, name)
		}
	}
}
