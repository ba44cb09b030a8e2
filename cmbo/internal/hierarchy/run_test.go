package hierarchy

import (
	"cmp"
	"context"
	"maps"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

var ctx = context.Background()

// bruteForce is what a run computes, with dense covariances, for one hypothesis: the
// log evidence and the moments at the last points, the first t having been told.
func bruteForce(t *testing.T, m *Model, a affinePrior, c *member, x *linalg.Dense, y []float64, noise float64, nodes []node) (evidence float64, mean, variance []float64) {
	t.Helper()
	n, told := rows(x), len(y)
	if told == 0 {
		settings := *a.s
		settings.Widest = settings.Wide // the widest is not predicted with
		a.s = &settings
	}
	prior, cov := denseMoments(t, m, c.hypothesis, x)
	ones := slices.Repeat([]float64{1}, n)
	type hypothesis struct {
		log       float64
		mean, vrc []float64
	}
	var hs []hypothesis
	for _, nd := range nodes {
		alternatives := a.alternatives(c.tail)
		if nd.s < 0 {
			alternatives = a.reversed()
			if told == 0 {
				alternatives[near].mean = a.shift
			}
		}
		for _, sh := range alternatives {
			full := linalg.NewSym(n, nil)
			for i := range n {
				for j := range i + 1 {
					v := sh.v*ones[i]*ones[j] + nd.s2*cov.At(i, j)
					if i == j && i < told {
						v += nd.s2 * noise
					}
					full.Set(i, j, v)
				}
			}
			seen := linalg.NewSym(told, nil)
			resid := make([]float64, told)
			for i := range told {
				for j := range i + 1 {
					seen.Set(i, j, full.At(i, j))
				}
				resid[i] = y[i] - sh.mean - nd.s*prior[i]
			}
			h := hypothesis{log: nd.log + sh.log}
			alpha := []float64{}
			if told > 0 {
				var logDet float64
				alpha, logDet = solve(t, seen, resid)
				h.log -= 0.5 * (linalg.Dot(alpha, resid) + logDet)
			}
			for i := told; i < n; i++ {
				mu := sh.mean + nd.s*prior[i]
				v := full.At(i, i)
				if told > 0 {
					k := full.Row(i)[:told]
					w, _ := solve(t, seen, k)
					mu += linalg.Dot(k, alpha)
					v -= linalg.Dot(k, w)
				}
				h.mean, h.vrc = append(h.mean, mu), append(h.vrc, v)
			}
			hs = append(hs, h)
		}
	}
	top := math.Inf(-1)
	for _, h := range hs {
		top = max(top, h.log)
	}
	var total float64
	mean, variance = make([]float64, n-told), make([]float64, n-told)
	for _, h := range hs {
		w := math.Exp(h.log - top)
		total += w
		linalg.Axpy(mean, w, h.mean)
	}
	for i := range mean {
		mean[i] /= total
	}
	for _, h := range hs {
		w := math.Exp(h.log-top) / total
		for i := range variance {
			d := h.mean[i] - mean[i]
			variance[i] += w * (h.vrc[i] + d*d)
		}
	}
	return top + math.Log(total), mean, variance
}

func rows(x *linalg.Dense) int {
	n, _ := x.Dims()
	return n
}

// join stacks points.
func join(a, b *linalg.Dense) *linalg.Dense {
	n, d := a.Dims()
	k, _ := b.Dims()
	out := linalg.NewDense(n+k, d, nil)
	for i := range n {
		copy(out.Row(i), a.Row(i))
	}
	for i := range k {
		copy(out.Row(n+i), b.Row(i))
	}
	return out
}

// TestScalesOfEqualValues: two equal values leave out the scales below the tasks' mean one
// and nothing else; one value, and any two others, leave out none.
func TestScalesOfEqualValues(t *testing.T) {
	settings := DefaultSettings(1)
	p := affinePrior{logScale: math.Log(3), logScaleVar: 0.5, s: &settings}
	limits := func(y ...float64) (lo, hi, mass float64) {
		lo = math.Inf(1)
		for _, n := range nodesOf(&p, y, 0.1) {
			lo, hi, mass = min(lo, math.Abs(n.s)), max(hi, math.Abs(n.s)), mass+math.Exp(n.log)
		}
		return lo, hi, mass
	}
	lo, hi, mass := limits()
	assert.Less(t, lo, 0.5)
	assert.InDelta(t, 1, mass, 1e-12)
	for _, y := range [][]float64{{7}, {7, 7.2}, {7, 7, 7.2}} {
		l, h, _ := limits(y...)
		assert.LessOrEqual(t, l, lo, "%v", y)
		assert.InEpsilon(t, hi, h, 1e-12, "%v", y)
	}
	l, h, mass := limits(7, 7)
	assert.InDelta(t, 3, l, 1e-12)
	assert.InEpsilon(t, hi, h, 1e-12)
	assert.InDelta(t, 1, mass, 1e-12)
}

// TestSpreadOfEqualValues: values that are equal but for rounding, or for a value whose given noise explains the
// difference, as the estimate of a stopped evaluation does, are as little a scale of next to nothing as equal ones.
func TestSpreadOfEqualValues(t *testing.T) {
	m := learn(t, makeTasks(4, 10, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	x, at := uniform(rng.Stream(2, t.Name()), 5, 2), uniform(rng.Stream(3, t.Name()), 1, 2)
	_, equal := predictions(t, m, 1, x, []float64{0.9, 0.9, 0.9, 0.9, 0.9}, nil, nil, at)
	for _, c := range []struct {
		last, noise float64
		alike       bool
	}{{0.9000000000000001, 0, true}, {0.9 + 6e-10, 9e-10, true}, {0.9 + 6e-10, 0, false}, {0.9 + 1e-4, 1e-10, false}} {
		_, sd := predictions(t, m, 1, x, []float64{0.9, 0.9, 0.9, 0.9, c.last}, []float64{0, 0, 0, 0, c.noise}, nil, at)
		require.Equal(t, c.alike, sd[0] > 0.5*equal[0], "%v: %g, %g of equal ones", c, sd[0], equal[0])
	}
}

// TestScalesOfManyValues: the evidence of many values, which settle the scale, does not
// depend on where the nodes happen to lie.
func TestScalesOfManyValues(t *testing.T) {
	r := rng.Stream(1, t.Name())
	settings := DefaultSettings(1)
	share := settings.OtherUnits
	p := affinePrior{logScale: math.Log(3), logScaleVar: 0.5, shiftVar: 1, s: &settings}
	for _, n := range []int{20, 100, 300, 1000} {
		y := make([]float64, n)
		var in inner
		for i := range y {
			y[i] = r.NormFloat64()
			in.add(y[i], 1, 0, 1)
		}
		for _, k := range []float64{1, 1.03, 1.05, 1.08, 1.1, 1.13, 3, 1e4, 1e-8, 1.1e20} {
			scaled, in := slices.Clone(y), in
			for i := range scaled {
				scaled[i] *= k
			}
			in.yy, in.yu = in.yy*k*k, in.yu*k
			nodes := nodesOf(&p, scaled, 0)
			first, last := nodes[0].logS2/2, nodes[len(nodes)-1].logS2/2
			wide := max(math.Log(settings.Wide), last-p.logScale-2, p.logScale-first-2)
			fine := make([]node, 20001)
			var total float64
			for i := range fine {
				l := first + (last-first)*float64(i)/float64(len(fine)-1)
				z := (l - p.logScale) / math.Sqrt(p.logScaleVar)
				w := (1-share)*special.NormPDF(z)/math.Sqrt(p.logScaleVar) + share*special.NormPDF((l-p.logScale)/wide)/wide
				fine[i] = node{s: math.Exp(l), s2: math.Exp(2 * l), logS2: 2 * l, log: math.Log(w)}
				total += w
			}
			for i := range fine {
				fine[i].log -= math.Log(total)
			}
			got := p.infer(&in, nodes, 0.01, 0)
			want := p.infer(&in, fine, 0.01, 0)
			assert.InDelta(t, want.evidence, got.evidence, 0.04, "%d values times %g", n, k)
			assert.InDelta(t, 0, math.Log(got.all.s2/want.all.s2)*math.Sqrt(float64(n)/2), 0.1, "their scale, in its deviations")
		}
	}
}

// Every hypothesis agrees with dense covariances, offset and scale integrated over
// the same alternatives, and so does the mixture of them.
func TestRunAgainstBruteForce(t *testing.T) {
	r := rng.Stream(1, t.Name())
	tasks := makeTasks(1, 7, 12, 2, 3, 2)
	z := uniform(r, 24, 2)
	for i := range 6 { // some of the tasks' points are of the grid
		copy(z.Row(i), tasks[i].X.Row(0))
	}
	noise := slices.Clone(tasks)
	for i := range noise {
		y := make([]float64, len(noise[i].Z))
		for j := range y {
			y[j] = r.NormFloat64()
		}
		noise[i] = scaled(noise[i].ID, noise[i].X, y)
	}
	crowded := join(z, z) // whose points nearly coincide, so that weights would be large
	for i := range 24 {
		crowded.Row(24 + i)[0] += 1e-3 * r.Float64()
	}
	for i, told := range []int{0, 1, 2, 7, 2, 7, 7} {
		past, z, o := tasks, z, testSettings(2)
		switch i {
		case 4, 5:
			past = noise
		case 6:
			z, o.Kernels = crowded, o.Kernels[1:]
		}
		m := learn(t, past, z, o)
		// Offsets of the default's widest variances leave a dense covariance no digits.
		settings := m.Settings()
		settings.Wide, settings.Widest = 5, 20
		x := uniform(r, told, 2)
		if told > 2 {
			copy(x.Row(1), z.Row(3)) // on the grid
			copy(x.Row(2), x.Row(0)) // repeated
		}
		y := make([]float64, told)
		for i := range y {
			y[i] = 3.5 + 1.5*family(r, x.Row(i), 1)
		}
		cand := join(uniform(r, 5, 2), linalg.NewDense(2, 2, append(slices.Clone(z.Row(3)), z.Row(9)...)))
		run := NewRun(m, settings, math.NaN(), 1, nil, nil)
		require.Equal(t, i == 4 || i == 5, slices.ContainsFunc(run.all, func(k *member) bool { return k.noise != run.noise }))
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))
		nodes := nodesOf(&run.affine, run.z, run.s.Reversed)
		all := join(x, cand)
		require.Equal(t, i == 3 || i == 6, len(run.all) > len(m.hypotheses(&settings)), "louder noise, of a quiet past, where a point is repeated")
		for _, p := range run.pts {
			w := linalg.Dot(p.w[0], p.w[0])
			require.LessOrEqual(t, w, maxWeights)
			require.True(t, p.jitter[0] == 0 || i == 6 && w > 1, "jitter %g, where squares of weights add up to %g", p.jitter[0], w)
		}
		require.Equal(t, i == 6, slices.ContainsFunc(run.pts, func(p *point) bool { return p.jitter[0] > 0 }))
		parts := posteriors(t, run, cand, run.all)
		n := rows(cand)
		var logs []float64
		var means, variances [][]float64
		for i, k := range run.all {
			want, wantMean, wantVar := bruteForce(t, m, run.affine, k, all, run.z, k.noise, nodes)
			assert.InDelta(t, want, k.fit.evidence, 1e-8*(1+math.Abs(want)), "evidence of %s with %d told", k, told)
			mean, variance := make([]float64, n), make([]float64, n)
			parts[i].momentsTo(mean, variance, &k.fit.all)
			for j := range mean {
				assert.InDelta(t, wantMean[j], mean[j]+run.centre(), 1e-7, "mean of %s at %d with %d told", k, j, told)
				assert.InEpsilon(t, wantVar[j], variance[j], 1e-7, "variance of %s at %d with %d told", k, j, told)
			}
			logs = append(logs, want+k.log)
			means, variances = append(means, wantMean), append(variances, wantVar)
		}
		// The mixture.
		mass := make([]float64, len(logs))
		var total float64
		for i, l := range logs {
			mass[i] = math.Exp(l - slices.Max(logs))
			total += mass[i]
		}
		mean, sd := make([]float64, n), make([]float64, n)
		require.NoError(t, run.Predict(ctx, mean, sd, cand))
		for j := range mean {
			var mu, v float64
			for i := range mass {
				mu += mass[i] / total * means[i][j]
			}
			for i := range mass {
				v += mass[i] / total * (variances[i][j] + (means[i][j]-mu)*(means[i][j]-mu))
			}
			// Members of less than run.s.MinMass are left out: there are at most 20.
			assert.InDelta(t, mu*run.u, mean[j], 20*run.s.MinMass*10)
			assert.InEpsilon(t, math.Sqrt(v)*run.u, sd[j], 0.05)
		}
	}
}

// A member predicted with alone gives the mixture's moments exactly.
func TestMixtureMoments(t *testing.T) {
	run, _, cand := conditioned(t, 5)
	n := rows(cand)
	ks := run.predicting()
	parts := posteriors(t, run, cand, members(ks))
	mean, sd := make([]float64, n), make([]float64, n)
	require.NoError(t, run.Predict(ctx, mean, sd, cand))
	for j := range n {
		var first, second float64
		for i, k := range ks {
			mu, v := make([]float64, n), make([]float64, n)
			parts[i].momentsTo(mu, v, &k.fit.all)
			first += k.w * (mu[j] + run.centre()) * run.u
			second += k.w * (v[j] + (mu[j]+run.centre())*(mu[j]+run.centre())) * run.u * run.u
		}
		assert.InDelta(t, first, mean[j], 1e-10)
		assert.InDelta(t, second-first*first, sd[j]*sd[j], 1e-9)
	}
	var total float64
	for _, k := range run.Masses() {
		total += k.Mass
	}
	assert.InDelta(t, 1, total, 1e-12)
}

// conditioned returns a run with values told, and candidates.
func conditioned(t *testing.T, told int) (*Run, []float64, *linalg.Dense) {
	t.Helper()
	r := rng.Stream(2, t.Name())
	m := learn(t, makeTasks(2, 6, 10, 2, 1, 1), uniform(r, 20, 2), testSettings(2))
	x := uniform(r, told, 2)
	y := make([]float64, told)
	for i := range y {
		y[i] = 1 + family(r, x.Row(i), 2)
	}
	run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	require.NoError(t, run.Fit(ctx, x, y, nil, nil))
	return run, y, uniform(r, 9, 2)
}

// posteriors returns members' posteriors at the first block of candidates.
func posteriors(t *testing.T, run *Run, cand *linalg.Dense, ks []*member) []*posterior {
	t.Helper()
	c, err := run.Model.candidates(ctx, cand, 1, nil, nil)
	require.NoError(t, err)
	all := make([]weighted, len(ks))
	for i, k := range ks {
		all[i].member = k
	}
	run.layOut(&run.panels, run.pts)
	return run.told(run.workspaces(c)[0], all, &run.panels, new(tile))
}

func members(of []weighted) (ks []*member) {
	for _, k := range of {
		ks = append(ks, k.member)
	}
	return ks
}

// predictions returns what a fresh run predicts at cand.
func predictions(t *testing.T, m *Model, workers int, x *linalg.Dense, y, noise []float64, pending, cand *linalg.Dense) (mean, sd []float64) {
	t.Helper()
	run := NewRun(m, m.Settings(), math.NaN(), workers, nil, nil)
	require.NoError(t, run.Fit(ctx, x, y, noise, pending))
	mean, sd = make([]float64, rows(cand)), make([]float64, rows(cand))
	require.NoError(t, run.Predict(ctx, mean, sd, cand))
	return mean, sd
}

// A run told its values one by one, predicting in between, has the bits of one told
// all at once, at any number of goroutines.
func TestRunGrows(t *testing.T) {
	r := rng.Stream(3, t.Name())
	m := learn(t, makeTasks(3, 9, 10, 2, 0, 1), uniform(r, 30, 2), testSettings(2))
	masses := m.Settings()
	const told, cands = panel + 3, block + 22 // more than go side by side
	x, cand := uniform(r, told, 2), uniform(r, cands, 2)
	y := make([]float64, told)
	for i := range y {
		y[i] = family(r, x.Row(i), 0)
	}
	grown := NewRun(m, masses, math.NaN(), 1, nil, nil)
	var first *point
	for i := range told + 1 {
		v := x.View(0, 0, i, 2)
		require.NoError(t, grown.Fit(ctx, &v, y[:i], nil, nil))
		got, gotSD := make([]float64, cands), make([]float64, cands)
		require.NoError(t, grown.Predict(ctx, got, gotSD, cand))
		fresh := NewRun(m, masses, math.NaN(), 4, nil, nil)
		require.NoError(t, fresh.Fit(ctx, &v, y[:i], nil, nil))
		want, wantSD := make([]float64, cands), make([]float64, cands)
		require.NoError(t, fresh.Predict(ctx, want, wantSD, cand))
		require.Equal(t, want, got)
		require.Equal(t, wantSD, gotSD)
		require.Equal(t, fresh.Masses(), grown.Masses())
		if i == 1 {
			first = grown.pts[0]
		} else if i > 1 {
			require.Same(t, first, grown.pts[0], "a point that was known is prepared again")
		}
	}
	// Other values begin anew.
	y[0]++
	require.NoError(t, grown.Fit(ctx, x, y, nil, nil))
	want, _ := func() ([]float64, []float64) {
		run := NewRun(m, masses, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))
		a, b := make([]float64, cands), make([]float64, cands)
		require.NoError(t, run.Predict(ctx, a, b, cand))
		return a, b
	}()
	got, sd := make([]float64, cands), make([]float64, cands)
	require.NoError(t, grown.Predict(ctx, got, sd, cand))
	require.Equal(t, want, got)
}

// The expected improvement is the sum over all parts, far down where only its logarithm
// is a number too.
func TestLogImprovement(t *testing.T) {
	run, y, cand := conditioned(t, 8)
	n := rows(cand)
	got := make([]float64, n)
	deep := 0
	for _, over := range []float64{-30, 0, 0.5, 3, 10, 30, 100, 1e4} {
		best := slices.Max(y) + over
		require.NoError(t, run.LogImprovement(ctx, got, cand, best))
		ks := run.predicting()
		parts := posteriors(t, run, cand, members(ks))
		for j := range n {
			var logs []float64
			for i, p := range parts {
				w := improving(ks[i])
				for k := range ks[i].fit.parts {
					a := &ks[i].fit.parts[k]
					mean, v := p.momentsAt(j, a)
					logs = append(logs, math.Log(w[k]*math.Sqrt(v))+special.NormLogEI((mean-(best/run.u-run.centre()))/math.Sqrt(v)))
				}
			}
			top := slices.Max(logs)
			var sum float64
			for _, l := range logs {
				sum += math.Exp(l - top)
			}
			want := top + math.Log(sum) + math.Log(run.u)
			assert.InDelta(t, want, got[j], 1e-12*(1+math.Abs(want)), "at %d, %v above", j, over)
			if want < -600 {
				deep++
			}
		}
	}
	require.NotZero(t, deep)
	require.Less(t, deep, 7*n)
	best, more := slices.Max(y), make([]float64, n)
	require.NoError(t, run.LogImprovement(ctx, got, cand, best))
	require.NoError(t, run.logImprovement(ctx, append(run.predicting(), weighted{member: run.all[0]}), more, cand, best))
	require.Equal(t, got, more, "a member whose mass is too small for a number")
}

// The probability of lying between two limits is the mean over all parts, noise and all,
// far out where only its logarithm is a number too; what lies on either side of a limit adds
// up to 1.
func TestLogWithin(t *testing.T) {
	run, y, cand := conditioned(t, 8)
	n := rows(cand)
	got, other := make([]float64, n), make([]float64, n)
	deep := 0
	for _, at := range []float64{-1e4, -100, -30, -1, 0, 0.5, 3, 30, 1e4} {
		lo, hi := math.Inf(-1), slices.Max(y)+at
		if at == 0.5 {
			lo = slices.Min(y)
		}
		require.NoError(t, run.LogWithin(ctx, got, cand, lo, hi))
		ks := run.predicting()
		parts := posteriors(t, run, cand, members(ks))
		for j := range n {
			var logs []float64
			var total float64
			for i, p := range parts {
				for k := range ks[i].fit.parts {
					a := &ks[i].fit.parts[k]
					w := ks[i].w * a.mass
					mean, v := p.momentsAt(j, a)
					sd := math.Sqrt(v + run.noise*a.s2)
					total += w
					logs = append(logs, math.Log(w)+special.NormLogInterval((lo/run.u-run.centre()-mean)/sd, (hi/run.u-run.centre()-mean)/sd))
				}
			}
			top := slices.Max(logs)
			var sum float64
			for _, l := range logs {
				sum += math.Exp(l - top)
			}
			want := top + math.Log(sum/total)
			assert.InDelta(t, want, got[j], 1e-12*(1+math.Abs(want)), "at %d, %v above", j, at)
			if want < -600 {
				deep++
			}
		}
		if at != 0.5 {
			require.NoError(t, run.LogWithin(ctx, other, cand, hi, math.Inf(1)))
			for j := range n {
				assert.InDelta(t, 1, math.Exp(got[j])+math.Exp(other[j]), 1e-12)
			}
		}
	}
	require.NotZero(t, deep)
	require.Less(t, deep, 8*n)
}

// An expectation is the mean over all parts: that of the improvement is LogImprovement's, but
// for the mass of the parts left out, and that of the probability below a value LogWithin's of
// what is without noise.
func TestExpect(t *testing.T) {
	run, y, cand := conditioned(t, 8)
	n := rows(cand)
	got, want := make([]float64, n), make([]float64, n)
	best := slices.Max(y)
	run.s.List = true // where an improvement counts the same under all scales
	require.NoError(t, run.LogImprovement(ctx, want, cand, best))
	run.s.List, run.s.Relative = false, false
	require.NoError(t, run.LogImprovement(ctx, got, cand, best))
	require.Equal(t, want, got)
	require.NoError(t, run.Expect(ctx, got, cand, func(mean, sd float64) float64 { return sd * special.NormEI((mean-best)/sd) }))
	total := math.Exp(want[0]) / got[0]
	require.InDelta(t, 1, total, 1e-2)
	for j := range n {
		assert.InEpsilon(t, math.Exp(want[j]), got[j]*total, 1e-12)
	}
	for _, k := range run.all {
		k.noise = 0
	}
	require.NoError(t, run.LogWithin(ctx, want, cand, math.Inf(-1), best))
	require.NoError(t, run.Expect(ctx, got, cand, func(mean, sd float64) float64 { return special.NormCDF((best - mean) / sd) }))
	for j := range n {
		assert.InEpsilon(t, math.Exp(want[j]), got[j], 1e-12)
	}
}

// Values far below the others are as they are in a run that takes them whole.
func TestWhole(t *testing.T) {
	r := rng.Stream(4, t.Name())
	m := learn(t, makeTasks(4, 6, 10, 2, 0, 1), uniform(r, 20, 2), testSettings(2))
	x := uniform(r, 9, 2)
	y := []float64{.3, -.2, .9, .1, .4, .2, .6, .5, -1e3}
	o := m.Settings()
	raised := NewRun(m, o, math.NaN(), 1, nil, nil)
	require.NoError(t, raised.Fit(ctx, x, y, nil, nil))
	assert.Greater(t, raised.y[8], -1e3)
	o.Whole = true
	whole := NewRun(m, o, math.NaN(), 1, nil, nil)
	require.NoError(t, whole.Fit(ctx, x, y, nil, nil))
	assert.Equal(t, y, whole.y)
	at := x.View(8, 0, 1, 2)
	p := []float64{0}
	require.NoError(t, whole.LogWithin(ctx, p, &at, math.Inf(-1), -500))
	assert.Greater(t, p[0], math.Log(0.5))
}

// A point awaited leaves no doubt about itself and the means where they are.
func TestPending(t *testing.T) {
	r := rng.Stream(4, t.Name())
	m := learn(t, makeTasks(4, 6, 10, 2, 0, 1), uniform(r, 20, 2), testSettings(2))
	x := uniform(r, 4, 2)
	y := []float64{.3, -.2, .9, .1}
	cand := uniform(r, 6, 2)
	free, sd := predictions(t, m, 1, x, y, nil, nil, cand)
	pending := cand.View(2, 0, 1, 2)
	got, less := predictions(t, m, 1, x, y, nil, &pending, cand)
	assert.InDelta(t, free[2], got[2], 0.1*sd[2])
	assert.Less(t, less[2], 0.7*sd[2])
	for j := range less {
		assert.LessOrEqual(t, less[j], sd[j]*1.1)
	}
	// Two at once: each in turn as evaluated with the mean that the others leave.
	two := cand.View(2, 0, 2, 2)
	_, least := predictions(t, m, 1, x, y, nil, &two, cand)
	assert.Less(t, least[3], less[3])
}

// A member that is conditioned on awaited points as well has the factor L of all
// covariances and noises, and L times what it keeps is the values, ones and the prior
// means.
func TestAwaitedPoints(t *testing.T) {
	r := rng.Stream(22, t.Name())
	m := learn(t, makeTasks(22, 6, 10, 2, 0, 1), uniform(r, 12, 2), testSettings(2))
	x, pending := uniform(r, 4, 2), uniform(r, 3, 2)
	y := []float64{0.3, -0.8, 1.1, 0.2}
	run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	require.NoError(t, run.Fit(ctx, x, y, nil, pending))
	require.NoError(t, run.Predict(ctx, make([]float64, 2), make([]float64, 2), uniform(r, 2, 2)))

	pts := slices.Concat(run.pts, run.pending)
	var values []float64
	for _, z := range run.z {
		values = append(values, z-run.centre())
	}
	values = append(values, run.values...)
	checked := 0
	for _, k := range run.all {
		if k.awaited == nil {
			continue
		}
		checked++
		l := k.awaited.chol.Lower()
		for i, p := range pts {
			row := make([]float64, i+1)
			k.covariance(row, &p.with)
			row[i] += cmp.Or(p.given, k.noise)
			for j, v := range row {
				assert.InDelta(t, v, linalg.Dot(l.Row(i)[:j+1], l.Row(j)[:j+1]), 1e-12)
			}
			at := l.Row(i)[:i+1]
			assert.InDelta(t, values[i], linalg.Dot(at, k.awaited.yt[:i+1]), 1e-12)
			assert.InDelta(t, 1, linalg.Dot(at, k.awaited.u[:i+1]), 1e-12)
			mean := []float64{0}
			k.mean(mean, p.located)
			assert.InDelta(t, mean[0], linalg.Dot(at, k.awaited.v[:i+1]), 1e-12)
		}
	}
	require.NotZero(t, checked)
}

// Values mapped by a positive affine map, those of the past too, give predictions
// mapped by it. A past that is negated has the tasks' offsets times −1, so that with reversal only
// values in another unit do.
func TestEquivariance(t *testing.T) {
	r := rng.Stream(5, t.Name())
	z, x, cand := uniform(r, 20, 2), uniform(r, 5, 2), uniform(r, 8, 2)
	y := []float64{1.3, 1.1, 2.9, 1.8, 2.2}
	past := makeTasks(5, 6, 10, 2, 1, 1)
	for _, f := range []struct{ a, b, reversed float64 }{{100, 1, 0}, {-3, 1e-3, 0}, {0, 1e4, 0}, {0, 1e4, 0.3}, {0, 1e-3, 0.3}} {
		s := testSettings(2)
		s.Reversed = f.reversed
		mean, sd := predictions(t, learn(t, past, z, s), 1, x, y, nil, nil, cand)
		mapped := slices.Clone(past)
		for i := range mapped {
			mapped[i].Shift = f.a + f.b*mapped[i].Shift
			mapped[i].Scale *= f.b
		}
		v := slices.Clone(y)
		for i := range v {
			v[i] = f.a + f.b*v[i]
		}
		m2, s2 := predictions(t, learn(t, mapped, z, s), 1, x, v, nil, nil, cand)
		for j := range mean {
			assert.InDelta(t, mean[j], (m2[j]-f.a)/f.b, 1e-6*sd[j], "%v", f)
			assert.InEpsilon(t, sd[j], s2[j]/f.b, 1e-6, "%v", f)
		}
	}
}

func times(factor float64, y []float64) []float64 {
	out := make([]float64, len(y))
	linalg.Axpy(out, factor, y)
	return out
}

// negatedTasks are tasks of the values times −1.
func negatedTasks(tasks []Task) []Task {
	out := slices.Clone(tasks)
	for i := range out {
		out[i].Shift = -out[i].Shift
		out[i].Z = times(-1, out[i].Z)
	}
	return out
}

// Where large is as likely to be small as not, and offsets are those of the tasks or of the tasks
// negated, a past says what the past that is negated says.
func TestNegatedPastIsTheSame(t *testing.T) {
	r := rng.Stream(8, t.Name())
	z, x, cand := uniform(r, 20, 2), uniform(r, 5, 2), uniform(r, 8, 2)
	past := makeTasks(5, 6, 10, 2, 40, 1) // no offset times −1 is another's
	s := testSettings(2)
	s.Reversed, s.ReversedTail, s.TransferTail, s.NoTransferTail, s.OtherUnits = 0.5, 0, 0, 0, 0
	for _, sign := range []float64{1, -1} {
		y := times(sign, []float64{40.3, 40.1, 41.9, 40.8, 41.2})
		mean, sd := predictions(t, learn(t, past, z, s), 1, x, y, nil, nil, cand)
		m2, s2 := predictions(t, learn(t, negatedTasks(past), z, s), 1, x, y, nil, nil, cand)
		for j := range mean {
			assert.InDelta(t, mean[j], m2[j], 1e-6*sd[j])
			assert.InEpsilon(t, sd[j], s2[j], 1e-6)
		}
	}
}

// A first value that is what the past would have, times −1, says that large is small, and one that
// the past would have says that it is not. Where offsets are about 0, what is on the offsets times −1
// elsewhere is on wide ones.
func TestOffsetsOfANegatedPast(t *testing.T) {
	r := rng.Stream(9, t.Name())
	z, at, s := uniform(r, 20, 2), uniform(r, 1, 2), testSettings(2)
	reversed := func(y float64) float64 {
		run := NewRun(learn(t, makeTasks(5, 6, 10, 2, 40, 1), z, s), s, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, at, []float64{y}, nil, nil))
		i := slices.IndexFunc(run.Masses(), func(m Mass) bool { return m.Transfers })
		return run.Masses()[i].Reversed / run.Masses()[i].Mass
	}
	require.Greater(t, reversed(-40), 0.9)
	require.Less(t, reversed(40), 0.05)
	for _, c := range []struct{ shift, shiftVar, overlap float64 }{
		{0, 1.21, 1}, {0.5, 1.21, math.Exp(-0.5 * 0.25 / 1.21)}, {40, 1.21, 0}, {-1e200, 1.21, 0}, {0, 0, 1}, {-1, 0, 0},
	} {
		p := affinePrior{shift: c.shift, shiftVar: c.shiftVar, s: &s}
		as, both := p.reversed(), 1-s.ReversedTail-s.OtherUnits
		require.InDelta(t, both*(1-c.overlap), math.Exp(as[near].log), 1e-15)
		require.InDelta(t, s.ReversedTail+both*c.overlap, math.Exp(as[wide].log), 1e-15)
		for k, want := range p.alternatives(s.ReversedTail) {
			if k == near {
				want.mean = -want.mean
			}
			want.log = as[k].log
			require.Equal(t, want, as[k])
		}
		require.Equal(t, math.Log(s.OtherUnits), as[widest].log)
	}
}

// The order of the tasks changes nothing but rounding.
func TestPermutation(t *testing.T) {
	r := rng.Stream(6, t.Name())
	z, x, cand := uniform(r, 20, 2), uniform(r, 5, 2), uniform(r, 8, 2)
	y := []float64{1.3, 1.1, 2.9, 1.8, 2.2}
	past := makeTasks(6, 8, 10, 2, 1, 1)
	o := testSettings(2)
	o.BaseTasks = 6
	mean, sd := predictions(t, learn(t, past, z, o), 1, x, y, nil, nil, cand)
	turned := append(slices.Clone(past[3:]), past[:3]...)
	m2, s2 := predictions(t, learn(t, turned, z, o), 1, x, y, nil, nil, cand)
	for j := range mean {
		assert.InDelta(t, mean[j], m2[j], 1e-5*sd[j])
		assert.InEpsilon(t, sd[j], s2[j], 1e-5)
	}
}

// The hypothesis that made the data gets the mass.
func TestMassFollowsData(t *testing.T) {
	r := rng.Stream(7, t.Name())
	var past []Task
	kinds := []func(x []float64) float64{
		func(x []float64) float64 { return math.Sin(6 * x[0]) },
		func(x []float64) float64 { return -math.Sin(6*x[0]) + x[1] },
	}
	for i := range 12 {
		x := uniform(r, 20, 2)
		y := make([]float64, 20)
		for j := range y {
			y[j] = kinds[i%2](x.Row(j)) + 0.05*r.NormFloat64()
		}
		past = append(past, scaled(string(rune('a'+i)), x, y))
	}
	m := learn(t, past, uniform(r, 40, 2), testSettings(2))
	x := uniform(r, 12, 2)
	mass := func(f func(x []float64) float64) []Mass {
		y := make([]float64, 12)
		for i := range y {
			y[i] = f(x.Row(i))
		}
		run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))
		return run.Masses()
	}
	sum := func(ms []Mass, ok func(Mass) bool) (s float64) {
		for _, k := range ms {
			if ok(k) {
				s += k.Mass
			}
		}
		return s
	}
	for kind, f := range kinds {
		ms := mass(f)
		like := sum(ms, func(k Mass) bool {
			return k.Transfers
		})
		assert.Greater(t, like, 0.8, "%d: %v", kind, ms)
	}
	// Something else than the past: no transfer gains on what it had at first.
	x = uniform(r, 30, 2)
	other := mass(func(x []float64) float64 { return math.Cos(25*x[0]) * math.Cos(25*x[1]) })
	assert.Greater(t, sum(other, func(k Mass) bool { return !k.Transfers }), 0.5, "%v", other)
}

// A value in other units than the past's says nothing for a hypothesis or against it: their
// masses stay what they were before it.
func TestOtherUnitsSayNothing(t *testing.T) {
	r := rng.Stream(7, t.Name())
	m := learn(t, makeTasks(13, 10, 20, 2, 0, 1), uniform(r, 40, 2), testSettings(2))
	s := m.Settings()
	for _, offset := range []float64{-1e3, 1e3, 1e5} { // the deviation of the tasks' offsets is about 1
		run := NewRun(m, s, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, uniform(r, 1, 2), []float64{offset}, nil, nil))
		var all float64
		for _, h := range m.hypotheses(&s) {
			all += h.prior
		}
		for _, k := range run.Masses() {
			var prior float64
			for _, h := range m.hypotheses(&s) {
				if h.transfers() == k.Transfers {
					prior += h.prior / all
				}
			}
			assert.InEpsilon(t, prior, k.Mass, 0.02, "%v at %g", k, offset)
			assert.InEpsilon(t, prior*s.Reversed, k.Reversed, 0.02, "%v at %g", k, offset)
		}
	}
}

// TestFarOffsets: two values are in another unit beyond ten of the tasks' scales from their mean offset
// and beyond three deviations of these, whichever is farther, above or below; of one that is not said.
func TestFarOffsets(t *testing.T) {
	r := rng.Stream(7, t.Name())
	m := learn(t, makeTasks(13, 10, 20, 2, 0, 1), uniform(r, 40, 2), testSettings(2))
	for _, sd := range []float64{1, 10} { // of offsets, in scales
		m.affine.shiftVar = sd * sd
		for _, far := range []float64{-1.5, -0.6, 0, 0.6, 1.5} {
			run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
			unit := math.Exp(m.affine.logScale)
			x, y := uniform(r, 2, 2), m.affine.shift+far*max(10, 3*sd)*unit
			require.NoError(t, run.Fit(ctx, points.First(x, 1), []float64{y}, nil, nil))
			assert.Less(t, run.OtherUnits(), 0.35, "%g at %g", sd, far)
			require.NoError(t, run.Fit(ctx, x, []float64{y, y + unit}, nil, nil))
			if far == 1.5 || far == -1.5 {
				assert.Greater(t, run.OtherUnits(), 0.95, "%g at %g", sd, far)
			} else {
				assert.Less(t, run.OtherUnits(), 0.35, "%g at %g", sd, far)
			}
		}
	}
}

// TestFarScales: values are in another unit beyond ten times the tasks' scale and beyond three deviations of its logarithm,
// whichever is farther.
func TestFarScales(t *testing.T) {
	r := rng.Stream(8, t.Name())
	m := learn(t, makeTasks(13, 10, 20, 2, 0, 1), uniform(r, 40, 2), testSettings(2))
	x, z := uniform(r, 30, 2), make([]float64, 30)
	for i := range z {
		z[i] = math.Sqrt(m.specificVariance()) * r.NormFloat64()
	}
	for _, sd := range []float64{0.3, 1} {
		m.affine.logScaleVar = sd * sd
		for _, log := range []float64{-3.4, -2.65, -1.9, 1.9, 2.65, 3.4} {
			run, y := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil), make([]float64, len(z))
			for i, v := range z {
				y[i] = m.affine.shift + math.Exp(m.affine.logScale+log)*v
			}
			require.NoError(t, run.Fit(ctx, x, y, nil, nil))
			far := math.Abs(log) > max(math.Log(10), 3*sd)
			assert.Equal(t, far, run.OtherUnits() > 0.5, "%g at %g: %g", sd, log, run.OtherUnits())
		}
	}
}

// TestFirstForeignValue: what improves on one value in another unit than the tasks' is told by what
// transfers, the right way up; on one in theirs, or on two, by all hypotheses.
func TestFirstForeignValue(t *testing.T) {
	r := rng.Stream(7, t.Name())
	m := learn(t, makeTasks(13, 10, 20, 2, 0, 1), uniform(r, 40, 2), testSettings(2))
	off := m.Settings()
	off.FirstTransfers = false
	x, at := uniform(r, 2, 2), uniform(r, 12, 2)
	for _, tt := range []struct {
		s    Settings
		y    []float64
		some bool
	}{
		{m.Settings(), []float64{1e3}, true},
		{m.Settings(), []float64{-1e3}, true},
		{m.Settings(), []float64{-10}, false}, // the deviation of the tasks' offsets is about 1
		{m.Settings(), []float64{0.5}, false},
		{m.Settings(), []float64{1e3, 1e3 + 1}, false},
		{off, []float64{1e3}, false},
	} {
		run := NewRun(m, tt.s, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, points.First(x, len(tt.y)), tt.y, nil, nil))
		best := slices.Max(tt.y)
		got := make([]float64, 12)
		require.NoError(t, run.LogImprovement(ctx, got, at, best))
		some, all := make([]float64, 12), make([]float64, 12)
		ks := run.predicting()
		over := run.low.At(best)/run.u - run.centre()
		require.NoError(t, run.each(ctx, at, ks, func(lo, hi int, ps []*posterior) {
			for i, k := range ks {
				whole := improving(k)
				k.upright = true
				upright := improving(k)
				for n, a := range k.fit.parts {
					for j := range hi - lo {
						mean, variance := ps[i].momentsAt(j, &a)
						v := run.u * math.Sqrt(variance) * special.NormEI((mean-over)/math.Sqrt(variance))
						all[lo+j] += whole[n] * v
						if k.transfers() {
							some[lo+j] += upright[n] * v
						}
					}
				}
			}
		}))
		for j, v := range got {
			want := all[j]
			if tt.some {
				want = some[j]
				require.Less(t, some[j], 0.9*all[j])
			}
			assert.InEpsilon(t, want, math.Exp(v), 1e-9, "%v, point %d", tt.y, j)
		}
	}
}

// A past that ranks the other way round is recognised as that.
func TestReversedPast(t *testing.T) {
	r := rng.Stream(7, t.Name())
	past := makeTasks(13, 10, 20, 2, 0, 1)
	m := learn(t, past, uniform(r, 40, 2), testSettings(2))
	x := uniform(r, 14, 2) // fewer than lengths of the run's own begin with, which follow exact values without a past
	for _, sign := range []float64{1, -1} {
		y := make([]float64, 14)
		for i := range y {
			y[i] = sign * family(r, x.Row(i), 0)
		}
		run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))
		var reversed float64
		for _, k := range run.Masses() {
			reversed += k.Reversed
		}
		if sign < 0 {
			assert.Greater(t, reversed, 0.9)
		} else {
			assert.Less(t, reversed, 1e-3)
		}
	}
}

// Noise variances that come with the values count in the values' units.
func TestKnownNoise(t *testing.T) {
	r := rng.Stream(8, t.Name())
	m := learn(t, makeTasks(8, 6, 10, 2, 0, 10), uniform(r, 20, 2), testSettings(2))
	x := uniform(r, 6, 2)
	y := make([]float64, 6)
	for i := range y {
		y[i] = 10 * family(r, x.Row(i), 1)
	}
	at := x.View(0, 0, 1, 2)
	_, plain := predictions(t, m, 1, x, y, nil, nil, &at)
	_, exact := predictions(t, m, 1, x, y, []float64{1e-6, 0, 0, 0, 0, 0}, nil, &at)
	_, vague := predictions(t, m, 1, x, y, []float64{100, 0, 0, 0, 0, 0}, nil, &at)
	assert.Less(t, exact[0], 0.1*plain[0]+1e-2)
	assert.Greater(t, vague[0], 2*plain[0])

	// So they do where the values spread far wider than those of the past: no
	// posterior is less certain of a value than its observation is.
	for _, times := range []float64{10, 100, 1e3, 1e5} {
		wide := make([]float64, 6)
		for i, v := range y {
			wide[i] = times * v
		}
		given := times / 2 // the values spread over some 20 times as much
		_, seen := predictions(t, m, 1, x, wide, slices.Repeat([]float64{given * given}, 6), nil, x)
		for _, v := range seen {
			assert.Less(t, v, 2*given, "%g times", times)
		}
	}
}

// TestKnownNoiseAgainstEachScale: scales and masses are those of the evidence of one scale after another, each with the
// noise that was given divided by its square, whether that is what values have or not, and whatever the unit. What is
// predicted has the noise at the mean of these scales.
func TestKnownNoiseAgainstEachScale(t *testing.T) {
	testutil.SkipRace(t, "one goroutine tells")
	ctx := context.Background()
	m := learn(t, makeTasks(3, 10, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	for _, c := range []struct {
		n                 int
		noise, over, unit float64
	}{
		{40, 0.5, 0.5, 1}, {40, 0.5, 1, 1}, {40, 0.5, 2, 1}, {40, 2, 0.5, 1}, {40, 2, 1, 1}, {40, 2, 2, 1}, {40, 0.01, 1, 1}, {40, 0.01, 3, 300},
		{8, 0.3, 1, 1}, {4, 0.3, 1, 1e-3}, {2, 1, 1, 1}, {1, 1, 1, 1}, {100, 0.1, 1, 1}, {100, 0.3, 0.7, 20}, {28, 6.6, 0.1, 5000},
		{28, 0.3, 1, 1e-6},
	} {
		r := rng.Stream(4, t.Name())
		x, y := uniform(r, c.n, 2), make([]float64, c.n)
		for i := range y {
			y[i] = c.unit * (family(r, x.Row(i), 1) + c.noise*r.NormFloat64())
		}
		s := m.Settings()
		s.Whole, s.Reversed = true, 0.2
		run := NewRun(m, s, math.NaN(), 1, nil, nil)
		given := c.unit * c.noise * c.over
		require.NoError(t, run.Fit(ctx, x, y, slices.Repeat([]float64{given * given}, c.n), nil))
		got := make(map[bool][3]float64) // by whether it transfers: mass, that of large being small, and of ln s
		moments := func(k *member, mass, reversed, s2 float64) {
			g := got[k.transfers()]
			got[k.transfers()] = [3]float64{g[0] + mass, g[1] + mass*reversed, g[2] + mass*s2}
		}
		for _, k := range run.all {
			moments(k, k.mass, k.fit.reversed, k.fit.all.s2)
		}
		have := maps.Clone(got)
		clear(got)
		if c.n >= 40 && c.noise <= 0.5 { // else no one scale stands for all that are likely
			s2 := given * given / run.u / run.u / run.pts[0].given
			require.InDelta(t, 0, math.Log(s2/(have[true][2]+have[false][2])), 1.5, "%v: the members are conditioned on the noise at the likely scale", c)
		}

		nodes := nodesOf(&run.affine, run.z, s.Reversed)
		top := math.Inf(-1)
		logs := make([][]float64, len(nodes))
		for i, at := range nodes {
			run.rescale(math.Abs(at.s))
			for _, k := range run.all {
				require.NoError(t, k.grow(run.pts, run.z, run.centre()))
				e := run.affine.infer(&k.in, []node{at}, k.tail, run.centre()).evidence + k.log
				logs[i], top = append(logs[i], e), max(top, e)
			}
		}
		var total float64
		for i := range nodes {
			for _, e := range logs[i] {
				total += math.Exp(e - top)
			}
		}
		for i, at := range nodes {
			reversed := 0.0
			if at.s < 0 {
				reversed = 1
			}
			for j, k := range run.all {
				moments(k, math.Exp(logs[i][j]-top)/total, reversed, at.s2)
			}
		}
		within := 0.02
		if c.unit > 1000 {
			within = 0.05 // so far away scales are told apart less well
		}
		for transfers, want := range got {
			h := have[transfers]
			require.InDelta(t, want[0], h[0], within, "%v mass", c)
			require.InDelta(t, want[1], h[1], within, "%v reversed", c)
			if want[0] > 0.1 {
				require.InEpsilon(t, want[2]/want[0], h[2]/h[0], 0.2, "%v s², whose tail is cut off", c)
			}
		}
	}
}

// TestEvidenceOfSigns: values that follow the past have the evidence of large being large times the mass of that.
func TestEvidenceOfSigns(t *testing.T) {
	m := learn(t, makeTasks(3, 10, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	total := func(reversed float64) float64 {
		r := rng.Stream(4, t.Name())
		x, y := uniform(r, 40, 2), make([]float64, 40)
		for i := range y {
			y[i] = family(r, x.Row(i), 1)
		}
		s := m.Settings()
		s.Reversed = reversed
		run := NewRun(m, s, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, slices.Repeat([]float64{0.01}, 40), nil))
		_, total, err := run.evidenceAt(ctx, 0)
		require.NoError(t, err)
		return total
	}
	require.InDelta(t, math.Log(0.4), total(0.6)-total(0), 0.01)
}

// TestCount: values far below others that do not count are seen apart where the best of them does.
func TestCount(t *testing.T) {
	m := learn(t, makeTasks(3, 10, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	y := []float64{1000, 1001, 1002, 1003, 1, 2, 3}
	seen := func(counts []bool) []float64 {
		run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		run.Count(counts)
		require.NoError(t, run.Fit(ctx, uniform(rng.Stream(2, t.Name()), len(y), 2), y, nil, nil))
		return run.y[4:]
	}
	require.Equal(t, y[4:], seen([]bool{false, false, false, false, true, true, true}))
	all := seen(nil)
	require.Equal(t, all[0], all[2])
}

// TestPredictingMasses: what is predicted with has all of the mass, however much the others have.
func TestPredictingMasses(t *testing.T) {
	m := learn(t, makeTasks(3, 10, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	s := m.Settings()
	s.MinMass = 0.3
	run := NewRun(m, s, math.NaN(), 1, nil, nil)
	require.NoError(t, run.Fit(ctx, linalg.NewDense(0, 2, nil), nil, nil, nil))
	total := 0.0
	for _, k := range run.predicting() {
		require.Greater(t, k.mass, s.MinMass)
		total += k.w
	}
	require.InDelta(t, 1, total, 1e-12)
	require.Less(t, len(run.predicting()), len(run.all))
}

// What no one would like to meet gives finite, sensible numbers.
func TestDegenerate(t *testing.T) {
	r := rng.Stream(9, t.Name())
	z, cand := uniform(r, 15, 2), uniform(r, 6, 2)
	constant := scaled("constant", uniform(r, 5, 2), []float64{2, 2, 2, 2, 2})
	pair := scaled("pair", uniform(r, 2, 2), []float64{0, 1})
	same := scaled("same", linalg.NewDense(3, 2, []float64{.1, .2, .1, .2, .1, .2}), []float64{1, 2, 3})
	decades := makeTasks(9, 3, 8, 2, 0, 1)
	decades = append(decades, func() []Task {
		b := makeTasks(10, 3, 8, 2, 1e6, 1e5)
		for i := range b {
			b[i].ID += " large"
		}
		return b
	}()...)
	x := uniform(r, 4, 2)
	ties := linalg.NewDense(4, 2, []float64{.5, .5, .5, .5, .5, .5, .2, .2})
	for name, past := range map[string][]Task{
		"one task": makeTasks(9, 1, 8, 2, 0, 1), "constant": {constant}, "two rows": {pair}, "repeated points": {same, pair},
		"all": append([]Task{constant, pair, same}, decades...), "decades": decades,
	} {
		m := learn(t, past, z, testSettings(2))
		for _, y := range [][]float64{{1, 1, 1, 1}, {1e9, 1e9 + 1, 1e9 - 1, 1e9}, {-1e-9, 0, 1e-9, 0}, {0, 1e6, -1e6, 3}, {1e150, -1e150, 0, 1}} {
			for _, at := range []*linalg.Dense{x, ties} {
				mean, sd := predictions(t, m, 1, at, y, nil, nil, cand)
				lo, hi := slices.Min(y), slices.Max(y)
				for j := range mean {
					require.False(t, math.IsNaN(mean[j]) || math.IsInf(mean[j], 0), "%s %v: mean %g", name, y, mean[j])
					require.False(t, math.IsNaN(sd[j]) || math.IsInf(sd[j], 0), "%s %v: sd %g", name, y, sd[j])
					if hi < 1e100 {
						require.InDelta(t, (lo+hi)/2, mean[j], 100*(1+hi-lo)+1e-6*math.Abs(hi)+1e7, "%s %v", name, y)
					}
				}
			}
		}
	}
}

func TestGOMAXPROCS(t *testing.T) {
	r := rng.Stream(10, t.Name())
	z, x, cand := uniform(r, 20, 2), uniform(r, 5, 2), uniform(r, 80, 2)
	y := []float64{1.3, 1.1, 2.9, 1.8, 2.2}
	past := makeTasks(11, 9, 10, 2, 1, 1)
	at := func(n int) ([]float64, []float64) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
		return predictions(t, learn(t, past, z, testSettings(2)), 0, x, y, nil, nil, cand)
	}
	m1, s1 := at(1)
	m4, s4 := at(4)
	require.Equal(t, m1, m4)
	require.Equal(t, s1, s4)
}

// A point takes what jitter it needs, up to gaussian.MaxJitter itself, and is refused
// where that is not enough.
func TestAppendRowJitter(t *testing.T) {
	for _, tt := range []struct {
		cross float64 // with a first point, both of variance 1
		pivot float64 // of the second, after the jitter of 0 or a power of ten
	}{{0.6, 1 - 0.36}, {1, 1e-10}, {1 + 2e-5, 1e-4 - 4e-5}, {1 + 1e-4, math.NaN()}} {
		var c linalg.Cholesky
		require.NoError(t, appendRow(&c, []float64{1}, 0))
		err := appendRow(&c, []float64{tt.cross, 1}, 0)
		if math.IsNaN(tt.pivot) {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		d := c.Lower().Row(1)[1]
		require.InDelta(t, tt.pivot, d*d, 1e-9)
	}
	var c linalg.Cholesky
	require.NoError(t, appendRow(&c, []float64{4}, 0))
	require.NoError(t, appendRow(&c, []float64{4, 4}, 0))
	d := c.Lower().Row(1)[1]
	require.InEpsilon(t, 4e-10, d*d, 1e-5, "the least jitter that helps")
}

// Parts are parts of the whole, of one sign each and in the order of the scales; all
// but the last of a sign weigh enough for their number to be bounded.
func TestParts(t *testing.T) {
	r := rng.Stream(14, t.Name())
	m := learn(t, makeTasks(14, 8, 12, 2, 1, 2), uniform(r, 20, 2), testSettings(2))
	x := uniform(r, 4, 2)
	for _, told := range []int{0, 1, 4} {
		y := make([]float64, told)
		for i := range y {
			y[i] = 1 + 2*family(r, x.Row(i), 1)
		}
		at := x.View(0, 0, told, 2)
		run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, &at, y, nil, nil))
		for _, c := range run.all {
			var all part
			signs := map[bool]int{}
			for i, a := range c.fit.parts {
				all.add(a)
				signs[a.s < 0]++
				if i+1 < len(c.fit.parts) {
					next := c.fit.parts[i+1]
					if next.s*a.s > 0 {
						require.GreaterOrEqual(t, a.mass, 1/float64(run.s.MaxParts))
						require.Less(t, math.Abs(a.s), math.Abs(next.s))
					}
				}
			}
			require.LessOrEqual(t, max(signs[true], signs[false]), run.s.MaxParts+1)
			for i, want := range []float64{c.fit.all.mass, c.fit.all.a, c.fit.all.s, c.fit.all.s2, c.fit.all.varA, c.fit.all.varS, c.fit.all.covAS} {
				got := []float64{all.mass, all.a, all.s, all.s2, all.varA, all.varS, all.covAS}[i]
				require.InDelta(t, want, got, 1e-10*(1+math.Abs(want)))
			}
			require.InDelta(t, 1, all.mass, 1e-12)
		}
	}
}

// TestPredictRefusesWhatIsNotFinite: no NaN and no infinity is passed on as a prediction.
func TestPredictRefusesWhatIsNotFinite(t *testing.T) {
	run, _, cand := conditioned(t, 5)
	mean, sd := make([]float64, rows(cand)), make([]float64, rows(cand))
	require.NoError(t, run.Predict(ctx, mean, sd, cand))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, k := range run.all {
			k.fit.all.a = bad
		}
		require.ErrorContains(t, run.Predict(ctx, mean, sd, cand), "is not finite")
	}
}

// A run sees and predicts differences between low values as small as those of its tasks were
// made, and brings predictions back; whether they come one at a time, so that a better one moves
// what counts as low, or all at once.
func TestLowValuesOfARun(t *testing.T) {
	r := rng.Stream(1, t.Name())
	tasks := makeTasks(7, 6, 12, 2, 5, 3)
	for i := range tasks {
		z, _ := scaling.CompressLow(tasks[i].Z, nil)
		tasks[i] = scaled(tasks[i].ID, tasks[i].X, z)
	}
	o := testSettings(2)
	o.Compress = true
	m := learn(t, tasks, uniform(r, 20, 2), o)
	var near float64
	for _, task := range tasks {
		near += scaling.NearOf(task.Z) / 6
	}
	require.InDelta(t, near, m.near, 1e-12)
	x, y := uniform(r, 9, 2), []float64{1, -7, 2, 2.5, -20, 1.5, 4, 3, -2}
	near = m.near * math.Exp(m.affine.logScale)
	require.InDelta(t, 0, m.lowOf([]float64{0, near}, near, 1).Knee, 0.26*near)
	require.InDelta(t, -near/2, m.lowOf([]float64{0, near}, near/2, 1).Knee, 0.01*near, "a value that may be better by its noise")
	whole := o
	whole.Whole = true
	inferred := func(run *Run) float64 {
		var logs, mass float64
		for _, k := range run.all {
			for _, a := range k.fit.parts {
				if k.transfers() && a.s > 0 {
					logs, mass = logs+k.mass*a.mass*math.Log(a.s*run.u), mass+k.mass*a.mass
				}
			}
		}
		return math.Exp2(math.Round((logs/mass - m.affine.logScale) / math.Ln2))
	}
	for range 40 {
		y := make([]float64, 9)
		for i := range y {
			y[i] = 9 * r.NormFloat64()
		}
		run := NewRun(m, whole, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, x, y, nil, nil))
		require.Equal(t, inferred(run), run.scale())
	}
	for _, c := range []struct {
		unit  float64
		scale bool
	}{{1, false}, {0.01, false}, {1000, false}, {1, true}, {0.01, true}, {1000, true}} {
		o.Rescale = c.scale
		unit, y := c.unit, slices.Clone(y)
		for i := range y {
			y[i] *= unit
		}
		raised := scaling.RaiseLow(y, m.affine.wide())
		seen := func(by float64) (*Run, scaling.Low) {
			near := m.near * math.Exp(m.affine.logScale) * by
			for near < m.near*deviation(raised)/m.settings.OwnUnit {
				near *= 2
			}
			low := scaling.Low{Knee: y[0] - near, Near: near}
			for low.Knee+near/4 <= 4*unit-near { // the best is 4
				low.Knee += near / 4
			}
			lowered, _ := low.Compress(raised, nil)
			run := NewRun(m, whole, math.NaN(), 1, nil, nil)
			require.NoError(t, run.Fit(ctx, x, lowered, nil, nil))
			return run, low
		}
		want, low := seen(1)
		if c.scale {
			by := inferred(want)
			require.Equal(t, by, want.scale())
			require.NotEqual(t, 1.0, by)
			want, low = seen(by)
		}
		require.Equal(t, unit > 0.01, low.At(-7*unit) > -7*unit)
		got := NewRun(m, o, math.NaN(), 1, nil, nil)
		require.NoError(t, got.Fit(ctx, x, y, nil, nil))
		grown := NewRun(m, o, math.NaN(), 1, nil, nil)
		c := uniform(r, 5, 2)
		predict := func(run *Run) (mean, sd, log []float64) {
			mean, sd, log = make([]float64, 5), make([]float64, 5), make([]float64, 5)
			require.NoError(t, run.Predict(ctx, mean, sd, c))
			require.NoError(t, run.LogImprovement(ctx, log, c, run.low.At(2*unit)))
			return mean, sd, log
		}
		kept := 0
		for i := range len(y) {
			at, seen, u := x.View(0, 0, i+1, 2), slices.Clone(grown.y), grown.u
			require.NoError(t, grown.Fit(ctx, &at, y[:i+1], nil, nil))
			if grown.u == u && slices.Equal(grown.y[:i], seen) {
				for _, f := range grown.bound {
					require.NotEmpty(t, f.posteriors, "values are seen as they were, and candidates predicted anew")
					kept++
				}
			}
			predict(grown)
			require.Len(t, grown.pts, i+1)
		}
		require.Positive(t, kept)
		mean, sd, log := predict(got)
		grownMean, grownSD, grownLog := predict(grown)
		require.Equal(t, mean, grownMean)
		require.Equal(t, sd, grownSD)
		require.Equal(t, log, grownLog)
		wantMean, wantSD := make([]float64, 5), make([]float64, 5)
		require.NoError(t, want.Predict(ctx, wantMean, wantSD, c))
		wantLog := make([]float64, 5)
		require.NoError(t, want.LogImprovement(ctx, wantLog, c, low.At(2*unit)))
		require.Equal(t, low, got.low)
		require.Equal(t, low.Back(mean[0]), got.low.Back(mean[0]))
		require.Equal(t, wantMean, mean)
		require.Equal(t, wantSD, sd)
		require.Equal(t, wantLog, log)
	}
}

// In whatever unit a target comes, what is believed of it is the same, and so are its predictions, also where the
// noise of values is given: seconds of the past may be nanoseconds.
func TestAnyUnit(t *testing.T) {
	m := learn(t, makeTasks(3, 10, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	for _, noise := range []float64{0, 0.1} {
		for _, c := range [][2]float64{{5e9, 1e9}, {1e9, 1e5}, {1e12, 1e6}, {5e30, 1e30}, {0, 1e-12}, {1e9, 1}} {
			r := rng.Stream(4, t.Name())
			x, y, given := uniform(r, 15, 2), make([]float64, 15), make([]float64, 15)
			for i := range y {
				y[i], given[i] = c[0]+c[1]*family(r, x.Row(i), 1), noise*noise*c[1]*c[1]
			}
			run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
			require.NoError(t, run.Fit(ctx, x, y, given, nil))
			for _, k := range run.Masses() {
				require.Equal(t, k.Transfers, k.Mass > 0.5, "%v: %v", c, k)
			}
			at, mean, sd := uniform(r, 50, 2), make([]float64, 50), make([]float64, 50)
			require.NoError(t, run.Predict(ctx, mean, sd, at))
			var square float64
			for i := range mean {
				z := (mean[i] - c[0] - c[1]*family(r, at.Row(i), 1)) / sd[i]
				square += z * z / 50
			}
			require.Less(t, square, 3.0, "%v", c)
		}
	}
}

// However little values say of a scale, its evidence is computed for a bounded number of them.
func TestScalesAreBounded(t *testing.T) {
	m := learn(t, makeTasks(3, 10, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	m.affine.logScaleVar = 900
	r := rng.Stream(4, t.Name())
	run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	y, given := []float64{1000 * r.NormFloat64(), 1000 * r.NormFloat64(), 0}, []float64{1e6, 1e6, 1e6}
	require.NoError(t, run.Fit(ctx, uniform(r, 3, 2), y, given, nil))
	require.LessOrEqual(t, len(run.exact.at), 33)
}

// Values of so much smaller a size than the run's unit that squares of their scales are no numbers count as equal.
func TestSpreadBelowNumbers(t *testing.T) {
	tasks := makeTasks(3, 4, 9, 2, 0, 1e-150)
	tasks = append(tasks, Task{ID: "far", X: uniform(rng.Stream(2, t.Name()), 2, 2), Z: make([]float64, 2), Shift: 1e100, Scale: 1})
	m := learn(t, tasks, uniform(rng.Stream(1, t.Name()), 20, 2), testSettings(2))
	run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	require.NoError(t, run.Fit(ctx, uniform(rng.Stream(3, t.Name()), 3, 2), []float64{1e-150, 2e-150, 1.5e-150}, nil, nil))
	mean, sd := make([]float64, 5), make([]float64, 5)
	require.NoError(t, run.Predict(ctx, mean, sd, uniform(rng.Stream(4, t.Name()), 5, 2)))
	require.Positive(t, slices.Min(sd))
}

// TestSpread: values do not spread where two or more without a noise of their own are equal, but for rounding, and all others
// lie within three deviations of their noise, in units of the run.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		z, given []float64
		spreads  bool
	}{
		{nil, nil, false}, {[]float64{1}, []float64{0}, false}, {[]float64{1, 1}, []float64{0, 0}, false},
		{[]float64{1, 1 + 1e-15, 1}, []float64{0, 0, 0}, false}, {[]float64{1, 1 + 1e-13}, []float64{0, 0}, true},
		{[]float64{1, 1, 1.29, 0.71}, []float64{0, 0, 0.04, 0.04}, false}, {[]float64{1, 1.29, 1, 1}, []float64{0, 0.04, 0, 0}, false},
		{[]float64{1, 1, 1.35}, []float64{0, 0, 0.04}, true}, {[]float64{0.65, 1, 1}, []float64{0.04, 0, 0}, true},
		{[]float64{1, 1.01}, []float64{0, 0.04}, true}, {[]float64{1, 1.01}, []float64{0.04, 0.04}, true},
	} {
		r := Run{z: c.z, given: c.given, u: 2}
		want := 0.0
		if c.spreads {
			want = deviation(c.z)
		}
		require.Equal(t, want, r.spread(), "%v", c)
	}
}

// TestOffsetsAsFarAsValues: offsets are thought of as far away as the values are, above the past's or below.
func TestOffsetsAsFarAsValues(t *testing.T) {
	m := learn(t, makeTasks(3, 4, 10, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 10, 2), testSettings(2))
	for _, y := range []float64{1e9, -1e9} {
		s := m.Settings()
		s.Whole = true
		run := NewRun(m, s, math.NaN(), 1, nil, nil)
		require.NoError(t, run.Fit(ctx, uniform(rng.Stream(2, t.Name()), 3, 2), []float64{0.9 * y, y, 0.8 * y}, nil, nil))
		far := math.Abs(y/run.u - run.affine.shift)
		require.InEpsilon(t, far, run.affine.far, 1e-12)
		require.InEpsilon(t, far*far, run.affine.alternatives(s.TransferTail)[widest].v, 1e-12)
	}
}
