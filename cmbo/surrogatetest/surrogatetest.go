package surrogatetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// Numbers of points in the checks.
const (
	values     = 6
	candidates = 24
	draws      = 400
)

// TestSurrogate runs all checks of the surrogates of points of dim coordinates that start returns,
// each as a run begins with it, and reports failures through t.Errorf, at most one for each check:
//
//   - predictions: means are finite, deviations finite and not negative, from no value on;
//     matrices and data are left as they were; a row has the prediction that it has alone;
//   - repeatable: told values one at a time, or others before, it says to the bit what a fresh one does;
//   - pending: a point that is pending is not less sure than it was;
//   - cancelled: with a context that is done a call fails with its error or does what it
//     should, and the next Fit mends the surrogate;
//   - candidates: a [cmbo.Binder] predicts at its candidates what it predicts elsewhere;
//   - scores: a [cmbo.Scorer] gives no NaN, changes no prediction, and the same again, and a
//     [cmbo.MaxValueEstimator]'s maximum is a number;
//   - restored: states and fitted parameters ([cmbo.StateKeeper], [cmbo.Refitter]) pass its own
//     checks, which refuse others of another number, and bring back its predictions to the bit;
//   - masses: of a [cmbo.Mixture] add up to 1, the weights of a [cmbo.Weigher] too;
//   - draws: of a [cmbo.Sampler] follow from the source alone and have the predicted mean;
//   - noise: a [cmbo.NoiseEstimator] gives a variance that is not negative.
//
// Tolerances are for rounding: 1e-6 of the deviations and of the size of the mean. It
// costs some fifty Fits of up to 6 values.
func TestSurrogate(t testing.TB, dim int, start func() cmbo.Surrogate) {
	t.Helper()
	c := &checker{dim: dim, start: start, x: uniform(dim, candidates, "candidates")}
	all := c.history()
	c.last = all[len(all)-1]
	for _, check := range []struct {
		name string
		on   []cmbo.Data
		run  func(told) error
	}{
		{"predictions", all, c.predictions}, {"repeatable", all, c.repeatable()}, {"pending", all, c.pending},
		{"cancelled", all[len(all)-1:], c.cancelled}, {"candidates", all, c.bound}, {"scores", all, c.scores},
		{"restored", all, c.restored}, {"masses", all, c.masses}, {"draws", all[len(all)-1:], c.draws},
		{"noise", all, c.noise},
	} {
		if err := c.each(check.on, check.run); err != nil {
			t.Errorf("%T: %s: %v", start(), check.name, err)
		}
	}
}

// told is a fresh surrogate that was told n values, and what it says of the candidates then.
type told struct {
	n    int
	d    cmbo.Data
	s    cmbo.Surrogate
	says moments
}

func (c *checker) each(histories []cmbo.Data, check func(told) error) error {
	for _, d := range histories {
		s := c.start()
		says, err := predict(ctx, s, d, c.x)
		if err == nil {
			err = check(told{len(d.Y), d, s, says})
		}
		if err != nil {
			return fmt.Errorf("after %d values: %w", len(d.Y), err)
		}
	}
	return nil
}

type checker struct {
	dim   int
	start func() cmbo.Surrogate
	x     *linalg.Dense
	last  cmbo.Data // of a run: all that is told
	y     []float64 // the values told
	err   error     // why there are fewer
}

var ctx = context.Background()

func uniform(dim, n int, label string) *linalg.Dense {
	r := rng.Stream(1, "surrogatetest "+label)
	x := linalg.NewDense(n, dim, nil)
	for i := range n {
		for d := range dim {
			x.Row(i)[d] = r.Float64()
		}
	}
	return x
}

// history returns what one surrogate is told in a run, with the states and parameters that it returned itself.
func (c *checker) history() (out []cmbo.Data) {
	x := uniform(c.dim, values+1, "told")
	s, fitted := c.start(), map[int][]float64{}
	d := cmbo.Data{Pending: linalg.NewDense(0, c.dim, nil), Fitted: map[int][]float64{}}
	for i := range values + 1 {
		d.X, d.Seen, d.Step = points.First(x, i), points.First(x, i), i+1
		out = append(out, d)
		if i == values {
			break
		}
		var state []float64
		_, err := predict(ctx, s, d, c.x)
		if k, ok := s.(cmbo.StateKeeper); err == nil && ok {
			state, err = k.State(ctx)
		}
		if err != nil {
			c.err = err
			return out
		}
		if r, ok := s.(cmbo.Refitter); ok {
			if n, params := r.Fitted(); params != nil {
				fitted[n] = slices.Clone(params)
			}
		}
		// A bowl with its top in the cube, z-scored by nobody.
		var y float64
		for _, v := range x.Row(i) {
			y -= 4 * (v - 0.4) * (v - 0.4)
		}
		c.y = append(c.y, 1+y)
		d.Y, d.Raw = append(slices.Clip(d.Y), 1+y), append(slices.Clip(d.Raw), 1+y)
		d.NoiseVariance, d.RawNoiseVariance = append(slices.Clip(d.NoiseVariance), 0),
			append(slices.Clip(d.RawNoiseVariance), 0)
		d.Trials, d.States = append(slices.Clip(d.Trials), i+1), append(slices.Clip(d.States), slices.Clone(state))
		d.Fitted = maps.Clone(fitted)
	}
	return out
}

// moments are what a surrogate says of points.
type moments struct{ mean, sd []float64 }

func newMoments(n int) moments { return moments{make([]float64, n), make([]float64, n)} }

// predict tells s the data and returns what it says of x.
func predict(ctx context.Context, s cmbo.Surrogate, d cmbo.Data, x *linalg.Dense) (moments, error) {
	n, _ := x.Dims()
	m := newMoments(n)
	err := s.Fit(ctx, d)
	if err == nil {
		err = s.Predict(ctx, m.mean, m.sd, x)
	}
	return m, err
}

// rounding is what predictions may differ by, relative to the deviation and the size of the mean.
const rounding = 1e-6

// agree compares predictions, bit for bit with a tolerance of 0.
func (m moments) agree(want moments, tolerance float64) error {
	for i := range m.mean {
		tol := tolerance * (want.sd[i] + math.Abs(want.mean[i]))
		if !(math.Abs(m.mean[i]-want.mean[i]) <= tol) || !(math.Abs(m.sd[i]-want.sd[i]) <= tol) {
			return fmt.Errorf("%v ± %v at candidate %d, not %v ± %v", m.mean[i], m.sd[i], i, want.mean[i], want.sd[i])
		}
	}
	return nil
}

// still compares what s says of x with what it is to say; its errors begin with when.
func still(when string, s cmbo.Surrogate, x *linalg.Dense, want moments, tolerance float64) error {
	m := newMoments(len(want.mean))
	err := s.Predict(ctx, m.mean, m.sd, x)
	if err == nil {
		err = m.agree(want, tolerance)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	return nil
}

// expect tells s the data and compares what it says of x.
func expect(when string, s cmbo.Surrogate, d cmbo.Data, x *linalg.Dense, want moments, tolerance float64) error {
	if err := s.Fit(ctx, d); err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	return still(when, s, x, want, tolerance)
}

func (c *checker) predictions(t told) error {
	if t.n == len(c.last.Y) && c.err != nil {
		return c.err
	}
	for i, v := range t.says.mean {
		if sd := t.says.sd[i]; math.IsNaN(v) || math.IsInf(v, 0) || !(sd >= 0) || math.IsInf(sd, 0) {
			return fmt.Errorf("%v ± %v at candidate %d", v, sd, i)
		}
	}
	asGiven := points.Equal(c.x, uniform(c.dim, candidates, "candidates")) &&
		points.Same(t.d.X, uniform(c.dim, values+1, "told")) == t.n
	if !asGiven || !slices.Equal(t.d.Y, c.y[:t.n]) {
		return errors.New("what Fit or Predict was given has changed")
	}
	for i := range candidates {
		row := c.x.View(i, 0, 1, c.dim)
		alone := moments{t.says.mean[i : i+1], t.says.sd[i : i+1]}
		if err := still(fmt.Sprintf("row %d alone", i), t.s, &row, alone, rounding); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) repeatable() func(told) error {
	grown, other := c.start(), c.start()
	return func(t told) error {
		if err := expect("told one by one", grown, t.d, c.x, t.says, 0); err != nil {
			return err
		}
		if err := other.Fit(ctx, c.last); err != nil {
			return err
		}
		return expect(fmt.Sprintf("told %d others before", len(c.last.Y)), other, t.d, c.x, t.says, 0)
	}
}

func (c *checker) pending(t told) error {
	two := c.x.View(0, 0, 2, c.dim)
	t.d.Pending = &two
	after, err := predict(ctx, c.start(), t.d, c.x)
	if err != nil {
		return fmt.Errorf("2 pending: %w", err)
	}
	for i := range 2 {
		if before := t.says.sd[i]; !(after.sd[i] <= before*(1+rounding)) {
			return fmt.Errorf("the deviation at a point is %v, and %v while it is pending", before, after.sd[i])
		}
	}
	return nil
}

func (c *checker) cancelled(t told) error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	s := c.start()
	if _, err := predict(done, s, t.d, c.x); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cancelled, it fails with %w", err)
	}
	return expect("after a call that was cancelled", s, t.d, c.x, t.says, 0)
}

func (c *checker) bound(t told) error {
	s := c.start()
	b, ok := s.(cmbo.Binder)
	if !ok {
		return nil
	}
	if err := b.Bind(ctx, c.x); err != nil {
		return err
	}
	if err := expect("bound", s, t.d, c.x, t.says, rounding); err != nil {
		return err
	}
	var other linalg.Dense
	other.Copy(c.x)
	return expect("bound, at other points", s, t.d, &other, t.says, rounding)
}

func (c *checker) scores(t told) error {
	r, ok := t.s.(cmbo.Scorer)
	if !ok {
		return nil
	}
	best, fs := math.NaN(), []acq.Func{acq.EI{}, acq.UCB{Beta: 2}}
	if t.n > 0 {
		best = slices.Max(t.d.Y)
		fs = []acq.Func{acq.EI{Best: best}, acq.PI{Target: best}, acq.UCB{Beta: 2}}
	}
	for _, f := range fs {
		if _, err := twice(func(dst []float64) error { return r.Score(ctx, dst, c.x, f, best) }); err != nil {
			return fmt.Errorf("%v: %w", f, err)
		}
	}
	if d, ok := t.s.(cmbo.Describer); ok {
		d.Describe(new(cmbo.Step))
	}
	if m, ok := t.s.(cmbo.MaxValueEstimator); ok && math.IsNaN(m.MaxValue()) {
		return errors.New("the maximum of the objective is NaN")
	}
	return still("after Score", t.s, c.x, t.says, 0)
}

// twice returns what fill makes of the candidates; a second call must make the same, and no NaN.
func twice(fill func(dst []float64) error) ([]float64, error) {
	first, again := make([]float64, candidates), make([]float64, candidates)
	if err := errors.Join(fill(first), fill(again)); err != nil {
		return nil, err
	}
	if !slices.Equal(first, again) {
		return nil, fmt.Errorf("%v, and then %v", first, again)
	}
	return first, nil
}

func (c *checker) restored(t told) error {
	if k, ok := t.s.(cmbo.StateKeeper); ok {
		state, err := k.State(ctx)
		if err == nil && state != nil {
			err = k.CheckState(state)
		}
		if err != nil {
			return fmt.Errorf("state: %w", err)
		}
		if state != nil && k.CheckState(longer(state)) == nil {
			return fmt.Errorf("CheckState takes a state of %d numbers, and one of %d", len(state), len(longer(state)))
		}
	}
	r, ok := t.s.(cmbo.Refitter)
	if !ok {
		return nil
	}
	count, params := r.Fitted()
	if params == nil {
		return nil
	}
	if err := r.CheckFitted(params); err != nil || count < 0 || count > t.n {
		return fmt.Errorf("parameters fitted to %d of %d values: %w", count, t.n, err)
	}
	if r.CheckFitted(longer(params)) == nil {
		return fmt.Errorf("CheckFitted takes %d parameters, and %d", len(params), len(longer(params)))
	}
	t.d.Fitted = maps.Clone(t.d.Fitted)
	t.d.Fitted[count] = slices.Clone(params)
	return expect("with its own parameters", c.start(), t.d, c.x, t.says, 0)
}

func (c *checker) masses(t told) error {
	whole := func(sum float64) bool { return math.Abs(sum-1) <= 1e-9 }
	if w, ok := t.s.(cmbo.Weigher); ok {
		if sum := stat.Sum(w.Weights()); len(w.Weights()) > 0 && !whole(sum) {
			return fmt.Errorf("weights add up to %v", sum)
		}
	}
	m, ok := t.s.(cmbo.Mixture)
	if !ok {
		return nil
	}
	sum := 0.0
	for _, h := range m.Hypotheses() {
		sum += h.Mass
		if !(h.Mass >= 0 && h.Reversed >= 0 && h.Reversed <= h.Mass*(1+1e-9)) ||
			(h.Level == cmbo.LevelCluster) != (h.Cluster >= 0) {
			return fmt.Errorf("hypothesis %+v", h)
		}
	}
	if len(m.Hypotheses()) > 0 && !whole(sum) {
		return fmt.Errorf("masses add up to %v", sum)
	}
	if mean := m.PriorMean(); mean != nil && len(mean) != t.n {
		return fmt.Errorf("the prior mean has %d of %d points told", len(mean), t.n)
	}
	ids, means, err := m.TaskMeans(ctx, c.x)
	if err != nil || len(ids) != len(means) {
		return fmt.Errorf("%d means of %d tasks: %w", len(means), len(ids), err)
	}
	for i, mean := range means {
		if len(mean) != candidates {
			return fmt.Errorf("%d means of task %q at %d points", len(mean), ids[i], candidates)
		}
	}
	return nil
}

// draws allows a mean of 400 draws five standard errors: one candidate of 1.7 million is beyond.
func (c *checker) draws(t told) error {
	r, ok := t.s.(cmbo.Sampler)
	if !ok {
		return nil
	}
	sum := make([]float64, candidates)
	for i := range uint64(draws) {
		drawn, err := twice(func(dst []float64) error { return r.Sample(ctx, dst, c.x, rand.New(rand.NewPCG(7, i))) })
		if err != nil {
			return fmt.Errorf("draws from the same source: %w", err)
		}
		for j, v := range drawn {
			sum[j] += v / draws
		}
	}
	for j, v := range sum {
		mean, sd := t.says.mean[j], t.says.sd[j]
		if bound := 5*sd/math.Sqrt(draws) + rounding*(sd+math.Abs(mean)); !(math.Abs(v-mean) <= bound) {
			return fmt.Errorf("%d draws have the mean %v at candidate %d, predicted is %v ± %v", draws, v, j, mean, sd)
		}
	}
	return nil
}

func (c *checker) noise(t told) error {
	if e, ok := t.s.(cmbo.NoiseEstimator); ok {
		if v := e.NoiseVariance(); v < 0 || math.IsInf(v, 0) {
			return fmt.Errorf("a noise variance of %v", v)
		}
	}
	return nil
}

// longer returns v with so many numbers more that no setting accounts for them.
func longer(v []float64) []float64 { return append(slices.Clone(v), make([]float64, 1000)...) }
