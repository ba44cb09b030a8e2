package baseline

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// affineOracle integrates over offset and scale by brute force: a dense covariance for
// each of many scales and each variance of the offset, solved by elimination. It
// returns log EI over best, mean and deviation at z in the units told.
// With one value, which says next to nothing of the scale, scales are those within three
// deviations of the prior.
func affineOracle(t *testing.T, m *affineGP, d cmbo.Data, z *linalg.Dense, best float64) (logEI, mean, sd []float64) {
	n, p, q := points.Len(d.X), points.Len(d.Pending), points.Len(z)
	all := points.Join(d.X, d.Pending, z)
	e := m.empiricalGP.Surrogate(1).(*empiricalRun)
	pm, pv := make([]float64, n+p+q), make([]float64, n+p+q)
	require.NoError(t, e.Moments(ctx, pm, pv, all))
	var c linalg.Sym
	require.NoError(t, e.Gram(ctx, &c, all))
	u := m.units
	s0 := math.Exp(u.logScale)
	const steps = 1500
	type part struct{ log, mean, sd []float64 }
	var parts []part
	var logs []float64
	wide := max(3, 2*math.Sqrt(u.logScaleVar))
	for i := range steps {
		reach := 7.0
		if n <= 1 {
			reach = 3 * math.Sqrt(u.logScaleVar)
		}
		l := u.logScale - reach + 2*reach*float64(i)/(steps-1)
		s := math.Exp(l)
		q2 := (l - u.logScale) * (l - u.logScale)
		prior := 0.98*math.Exp(-q2/2/u.logScaleVar)/math.Sqrt(u.logScaleVar) + 0.02*math.Exp(-q2/2/wide/wide)/wide
		for k, share := range []float64{0.99, 0.009} { // the far part has next to no mass here
			if n == 0 && k > 0 {
				continue // before the first value only the deviation would show it
			}
			v := u.offsetVar * s0 * s0 * []float64{1, 100}[k]
			cov := func(a, b int) float64 {
				out := s*s*c.At(a, b) + v
				if a == b && a < n+p {
					out += s * s * m.base.NoiseVariance
				}
				return out
			}
			// Weights from the values, moments at z from them and from pending points whose
			// values are the means: those change no mean.
			dense := func(n int) [][]float64 {
				a := make([][]float64, n)
				for i := range a {
					a[i] = make([]float64, n)
					for j := range n {
						a[i][j] = cov(i, j)
					}
				}
				return a
			}
			resid := make([]float64, n)
			for i := range n {
				resid[i] = d.Raw[i] - u.offset - s*pm[i]
			}
			alpha, logDet := solve(dense(n), resid)
			logs = append(logs, math.Log(prior*share)-0.5*(linalg.Dot(alpha, resid)+logDet))
			var one part
			for j := range q {
				at := n + p + j
				cross := make([]float64, n+p)
				for i := range cross {
					cross[i] = cov(i, at)
				}
				w, _ := solve(dense(n+p), cross)
				one.mean = append(one.mean, u.offset+s*pm[at]+linalg.Dot(alpha, cross[:n]))
				one.sd = append(one.sd, math.Sqrt(max(cov(at, at)-linalg.Dot(w, cross), 0)))
				one.log = append(one.log, math.Log(acq.ExpectedImprovement(one.mean[j], one.sd[j], best)))
			}
			parts = append(parts, one)
		}
	}
	total := logSumExp(logs)
	logEI, mean, sd = make([]float64, q), make([]float64, q), make([]float64, q)
	for j := range q {
		var ei, square float64
		for i, part := range parts {
			w := math.Exp(logs[i] - total)
			ei += w * math.Exp(part.log[j])
			mean[j] += w * part.mean[j]
			square += w * (part.sd[j]*part.sd[j] + part.mean[j]*part.mean[j])
		}
		logEI[j], sd[j] = math.Log(ei), math.Sqrt(square-mean[j]*mean[j])
	}
	return logEI, mean, sd
}

// Predictions and scores are those of brute force over a grid far wider and finer, with
// pending points and without, on and off the grid, near the tasks' units and far.
func TestAffineAgainstBruteForce(t *testing.T) {
	testutil.SkipRace(t, "TestMethodsAreDeterministic has its goroutines")
	r := testRNG(t)
	tasks := family(r, 6, 12)
	m, err := learnAffineGP(ctx, square(t), tasks, set(func(c *config) { c.grid, c.iterations = 20, 4 }))
	require.NoError(t, err)
	require.InDelta(t, 100, m.units.offset, 5)
	for _, c := range []struct {
		n             int
		offset, scale float64
	}{{0, 0, 1}, {1, 101, 2}, {4, 101, 2}, {9, 103, 3}, {9, 112, 9}} {
		x := randomPoints(r, c.n, 2)
		f := bump([]float64{0.6, 0.4})
		d := dataAt(func(x []float64) float64 { return c.offset + c.scale*f(x) }, x, 1)
		z := points.Join(randomPoints(r, 3, 2), points.First(m.grid, 2))
		for _, pending := range []int{0, 2} {
			d.Pending = randomPoints(r, pending, 2)
			s := m.Surrogate(1).(*affineRun)
			require.NoError(t, s.Bind(ctx, z))
			require.NoError(t, s.Fit(ctx, d))
			mean, sd := predict(t, s, z)
			got := make([]float64, 5)
			top, scale, shift, topRaw := math.NaN(), 1.0, 0.0, 102.0
			if c.n > 0 {
				top, topRaw, scale = slices.Max(d.Y), slices.Max(d.Raw), unit(d.Raw, d.Y)
				shift = d.Raw[0] - scale*d.Y[0]
			}
			require.NoError(t, s.Score(ctx, got, z, acq.EI{Best: top}, top))
			logEI, wantMean, wantSD := affineOracle(t, m, d, z, topRaw)
			for j := range mean {
				require.InDelta(t, wantMean[j], shift+scale*mean[j], 2e-3*wantSD[j], "%v: mean %d", c, j)
				require.InEpsilon(t, wantSD[j], scale*sd[j], 5e-3, "%v: deviation %d", c, j)
				if c.n == 0 {
					if pending == 0 {
						require.Equal(t, mean[j], got[j])
					}
					continue
				}
				ei := math.Exp(logEI[j]) // nodes of a mass below 1e-9 are left out
				require.InDelta(t, ei, scale*math.Exp(got[j]), 1e-2*ei+1e-8*wantSD[j], "%v: score %d", c, j)
			}
		}
	}
}

// A noise variance that is given counts in the tasks' units: that which was learned of them, in the
// units of the run, changes nothing.
func TestAffineNoiseGiven(t *testing.T) {
	r := testRNG(t)
	m, err := learnAffineGP(ctx, square(t), family(r, 5, 10))
	require.NoError(t, err)
	f := bump([]float64{0.6, 0.4})
	for _, scale := range []float64{3, 1e60} { // beyond 1e50 of the tasks' units, in those of the values
		d := dataAt(func(x []float64) float64 { return 100 + scale*f(x) }, randomPoints(r, 6, 2), 7)
		z := randomPoints(r, 4, 2)
		var got [2][]float64
		for i := range got {
			s := m.Surrogate(1).(*affineRun)
			require.NoError(t, s.Fit(ctx, d))
			mean, sd := predict(t, s, z)
			got[i] = append(mean, sd...)
			for j := range d.Y {
				setNoise(&d, j, m.base.NoiseVariance*math.Pow(s.unit/unit(d.Raw, d.Y), 2))
			}
		}
		near(t, got[0], got[1], 1e-8, "predictions")
	}
}

// Offsets outside all experience are learned from the values: two of them apart, runs far
// off are the same run.
func TestAffineFarFromThePast(t *testing.T) {
	r := testRNG(t)
	m, err := learnAffineGP(ctx, square(t), family(r, 5, 10))
	require.NoError(t, err)
	x, z := randomPoints(r, 6, 2), randomPoints(r, 4, 2)
	f := bump([]float64{0.6, 0.4})
	for _, scale := range []float64{3, 3e7} { // another unit too, in which the offset is no farther off
		var want []float64
		for _, offset := range []float64{1e3, -7e3} {
			s := m.Surrogate(1)
			require.NoError(t, s.Fit(ctx, dataAt(func(x []float64) float64 { return scale * (offset + f(x)) }, x, 1)))
			mean, sd := predict(t, s, z)
			if want == nil {
				want = append(mean, sd...)
			}
			near(t, want, append(mean, sd...), 1e-3, "predictions in scaled units")
		}
	}
}

// Scales outside all experience are found by the deviation of the values.
func TestAffineScaleFarFromThePast(t *testing.T) {
	r := testRNG(t)
	m, err := learnAffineGP(ctx, square(t), family(r, 5, 10))
	require.NoError(t, err)
	x := randomPoints(r, 8, 2)
	f := bump([]float64{0.6, 0.4})
	var noise []float64
	for _, scale := range []float64{3, 3e7, 3e-7} {
		s := m.Surrogate(1).(*affineRun)
		require.NoError(t, s.Fit(ctx, dataAt(func(x []float64) float64 { return 100 + scale*f(x) }, x, 1)))
		noise = append(noise, s.NoiseVariance())
	}
	require.InEpsilon(t, noise[0], noise[1], 0.5)
	require.InEpsilon(t, noise[0], noise[2], 0.5)
}

// The unit of all values changes no proposal and an offset of past and run none either;
// before the first value the largest mean is asked for.
func TestAffineUnits(t *testing.T) {
	r := testRNG(t)
	f := bump([]float64{0.62, 0.41})
	list, _ := grid(t, 5)
	base := family(r, 5, 10)
	var want [][]float64
	for _, c := range []struct{ offset, scale float64 }{{0, 1}, {-3e4, 1}, {0, 1 << 20}, {7, 1.0 / 1024}} {
		tasks := make([]cmbo.Task, len(base))
		for i, task := range base {
			tasks[i] = task
			tasks[i].Y = nil
			for _, y := range task.Y {
				tasks[i].Y = append(tasks[i].Y, c.offset+c.scale*y)
			}
		}
		m, err := learnAffineGP(ctx, list, tasks)
		require.NoError(t, err)
		o := newOptimizer(t, list, cmbo.WithSurrogate(m.Surrogate(1)), cmbo.WithAcquisition(cmbo.EI()))
		var asked [][]float64
		for range 6 {
			trial := ask(t, o)
			asked = append(asked, trial.X)
			require.NoError(t, o.Tell(trial.ID, c.offset+c.scale*(98+4*f(trial.X))))
		}
		if want == nil {
			want = asked
			s := m.Surrogate(1)
			require.NoError(t, s.Fit(ctx, cmbo.Data{}))
			x := list.Encoded()
			mean, _ := predict(t, s, x)
			for i := range mean {
				if mean[i] == slices.Max(mean) {
					require.Equal(t, x.Row(i), asked[0])
				}
			}
		}
		require.Equal(t, want, asked, "%v", c)
	}
}

// The prior of offset and scale is that of the tasks, one more imagined; tasks without a
// scale have no say in it.
func TestUnitsPrior(t *testing.T) {
	p := newUnitsPrior([]observations{
		{Z: []float64{-1, 1}, Shift: 10, Scale: math.E},
		{Z: []float64{-1, 1}, Shift: 16, Scale: math.Exp(3)},
		{Z: []float64{0, 0}, Shift: 13, Scale: 1},
	})
	s2 := math.Exp(4)
	require.InDelta(t, 13, p.offset, 1e-12)
	require.InDelta(t, 2, p.logScale, 1e-12)
	require.InDelta(t, (1.0+1+1)/3, p.logScaleVar, 1e-12)
	require.InDelta(t, (18/s2+1)/4, p.offsetVar, 1e-12)
	require.Equal(t, unitsPrior{offset: 5, offsetVar: 0.5, logScaleVar: 1}, newUnitsPrior([]observations{{Z: []float64{0}, Shift: 5, Scale: 1}}))
	far := newUnitsPrior([]observations{{Z: []float64{-1, 1}, Shift: -1e200, Scale: 1}, {Z: []float64{-1, 1}, Shift: 1e200, Scale: 1}})
	require.InEpsilon(t, 2*maxUnits*maxUnits/3, far.offsetVar, 1e-12) // as far as any
}

// Values, and tasks', may be of any size that tasks and runs admit, and so out of all proportion to each other.
func TestAffineOfAnySize(t *testing.T) {
	t.Parallel()
	s := square(t)
	for _, of := range []struct{ past, now float64 }{{1e150, 1e-300}, {1e-300, 1}, {1e-300, 1e150}} {
		tasks := family(testRNG(t), 3, 2)
		for _, task := range tasks {
			for i := range task.Y {
				task.Y[i] *= of.past / 104 // at most
			}
		}
		m, err := learnAffineGP(ctx, s, tasks)
		require.NoError(t, err)
		opt := newOptimizer(t, s, cmbo.WithSurrogate(m.Surrogate(1)), cmbo.WithInitial(0), cmbo.WithCandidateCounts(16, 4))
		for range 4 {
			trial, err := opt.Ask(ctx)
			require.NoError(t, err, "%g beside %g", of.now, of.past)
			require.NoError(t, opt.Tell(trial.ID, of.now*trial.X[0]))
		}
	}
}
