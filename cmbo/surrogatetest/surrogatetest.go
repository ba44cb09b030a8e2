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
	"github.com/gocmbo/cmbo/linalg"
)

// Numbers of points in the checks.
const (
	values     = 6
	candidates = 24
	draws      = 400
)

// TestSurrogate runs all checks of the surrogates of points of dim coordinates that start
// returns, each as a run begins with it, and reports failures through t.Errorf, at most
// one for each check:
//
//   - predictions: means are finite, deviations finite and not negative, from no value on;
//     matrices and data are left as they were; a row has the prediction that it has alone;
//   - repeatable: what a surrogate says follows from the data: one that was told values one
//     at a time, or others before, says bit for bit what a fresh one does;
//   - pending: a point that is pending is not less sure than it was;
//   - cancelled: with a context that is done a call fails with its error or does what it
//     should, and the next Fit mends the surrogate;
//   - candidates: a [cmbo.Binder] predicts at its candidates what it predicts elsewhere;
//   - scores: a [cmbo.Scorer] gives no NaN, changes no prediction, and the same again;
//   - restored: states and fitted parameters ([cmbo.StateKeeper], [cmbo.Refitter]) pass the
//     surrogate's own checks, which refuse others of another number, and a surrogate
//     that gets the parameters back predicts bit for bit what the one that fitted them does;
//   - shares: of a [cmbo.Mixture] add up to 1, the weights of a [cmbo.Weigher] too;
//   - draws: of a [cmbo.Sampler] follow from the source alone and have the predicted mean;
//   - noise: a [cmbo.NoiseEstimator] gives a variance that is not negative.
//
// Tolerances are for rounding: 1e-6 of the deviations and of the size of the mean. It
// costs some fifty Fits of up to 6 values.
func TestSurrogate(t testing.TB, dim int, start func() cmbo.Surrogate) {
	t.Helper()
	c := &checker{dim: dim, start: start, x: uniform(dim, candidates, "candidates")}
	c.runs = c.history()
	for _, check := range []struct {
		name string
		run  func() error
	}{
		{"predictions", c.predictions}, {"repeatable", c.repeatable}, {"pending", c.pending},
		{"cancelled", c.cancelled}, {"candidates", c.bound}, {"scores", c.scores},
		{"restored", c.restored}, {"shares", c.shares}, {"draws", c.draws}, {"noise", c.noise},
	} {
		if err := check.run(); err != nil {
			t.Errorf("%T: %s: %v", start(), check.name, err)
		}
	}
}

type checker struct {
	dim   int
	start func() cmbo.Surrogate
	x     *linalg.Dense
	runs  []cmbo.Data // of a run, by the number of values
	y     []float64   // the values told
	err   error       // why there are fewer
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

// history returns what one surrogate is told in a run, with the states and parameters that
// it returned itself.
func (c *checker) history() (out []cmbo.Data) {
	x := uniform(c.dim, values+1, "told")
	s, fitted := c.start(), map[int][]float64{}
	d := cmbo.Data{Pending: linalg.NewDense(0, c.dim, nil), Fitted: map[int][]float64{}}
	for i := range values + 1 {
		told, seen := x.View(0, 0, i, c.dim), x.View(0, 0, i, c.dim)
		d.X, d.Seen, d.Step = &told, &seen, i+1
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
		clip := func(v []float64) []float64 { return v[:len(v):len(v)] }
		d.Y, d.Raw = append(clip(d.Y), 1+y), append(clip(d.Raw), 1+y)
		d.NoiseVariance, d.RawNoiseVariance = append(clip(d.NoiseVariance), 0), append(clip(d.RawNoiseVariance), 0)
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

// expect tells s the data and compares what it says of x.
func expect(s cmbo.Surrogate, d cmbo.Data, x *linalg.Dense, want moments, tolerance float64) error {
	m, err := predict(ctx, s, d, x)
	if err != nil {
		return err
	}
	return m.agree(want, tolerance)
}

// fresh calls check with a surrogate that was told each history, and what it says then.
func (c *checker) fresh(check func(n int, d cmbo.Data, s cmbo.Surrogate, m moments) error) error {
	for n, d := range c.runs {
		s := c.start()
		m, err := predict(ctx, s, d, c.x)
		if err == nil {
			err = check(n, d, s, m)
		}
		if err != nil {
			return fmt.Errorf("after %d values: %w", n, err)
		}
	}
	return nil
}

func (c *checker) predictions() error {
	if c.err != nil {
		return c.err
	}
	return c.fresh(func(n int, d cmbo.Data, s cmbo.Surrogate, m moments) error {
		for i, v := range m.mean {
			if math.IsNaN(v) || math.IsInf(v, 0) || !(m.sd[i] >= 0) || math.IsInf(m.sd[i], 0) {
				return fmt.Errorf("%v ± %v at candidate %d", v, m.sd[i], i)
			}
		}
		asGiven := points.Equal(c.x, uniform(c.dim, candidates, "candidates")) && points.Same(d.X, uniform(c.dim, values+1, "told")) == n
		if !asGiven || !slices.Equal(d.Y, c.y[:n]) {
			return errors.New("what Fit or Predict was given has changed")
		}
		for i := range candidates {
			row, alone := c.x.View(i, 0, 1, c.dim), newMoments(1)
			err := s.Predict(ctx, alone.mean, alone.sd, &row)
			if err == nil {
				err = alone.agree(moments{m.mean[i : i+1], m.sd[i : i+1]}, rounding)
			}
			if err != nil {
				return fmt.Errorf("row %d alone: %w", i, err)
			}
		}
		return nil
	})
}

func (c *checker) repeatable() error {
	grown, other := c.start(), c.start()
	last := c.runs[len(c.runs)-1]
	return c.fresh(func(n int, d cmbo.Data, _ cmbo.Surrogate, m moments) error {
		if err := expect(grown, d, c.x, m, 0); err != nil {
			return fmt.Errorf("told one by one: %w", err)
		}
		if err := other.Fit(ctx, last); err != nil {
			return err
		}
		if err := expect(other, d, c.x, m, 0); err != nil {
			return fmt.Errorf("told %d others before: %w", len(last.Y), err)
		}
		return nil
	})
}

func (c *checker) pending() error {
	return c.fresh(func(_ int, d cmbo.Data, _ cmbo.Surrogate, before moments) error {
		two := c.x.View(0, 0, 2, c.dim)
		d.Pending = &two
		after, err := predict(ctx, c.start(), d, c.x)
		if err != nil {
			return fmt.Errorf("2 pending: %w", err)
		}
		for i := range 2 {
			if !(after.sd[i] <= before.sd[i]*(1+rounding)) {
				return fmt.Errorf("the deviation at a point is %v, and %v while it is pending", before.sd[i], after.sd[i])
			}
		}
		return nil
	})
}

func (c *checker) cancelled() error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	d := c.runs[len(c.runs)-1]
	s := c.start()
	if _, err := predict(done, s, d, c.x); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cancelled, it fails with %w", err)
	}
	m, err := predict(ctx, s, d, c.x)
	if err != nil {
		return fmt.Errorf("after a call that was cancelled: %w", err)
	}
	return expect(c.start(), d, c.x, m, 0)
}

func (c *checker) bound() error {
	return c.fresh(func(_ int, d cmbo.Data, _ cmbo.Surrogate, m moments) error {
		s := c.start()
		b, ok := s.(cmbo.Binder)
		if !ok {
			return nil
		}
		if err := b.Bind(ctx, c.x); err != nil {
			return err
		}
		if err := expect(s, d, c.x, m, rounding); err != nil {
			return fmt.Errorf("bound: %w", err)
		}
		var other linalg.Dense
		other.Copy(c.x)
		if err := expect(s, d, &other, m, rounding); err != nil {
			return fmt.Errorf("bound, at other points: %w", err)
		}
		return nil
	})
}

func (c *checker) scores() error {
	return c.fresh(func(n int, d cmbo.Data, s cmbo.Surrogate, m moments) error {
		r, ok := s.(cmbo.Scorer)
		if !ok {
			return nil
		}
		best := math.NaN()
		if n > 0 {
			best = slices.Max(d.Y)
		}
		for _, f := range []acq.Func{acq.EI{Best: best}, acq.PI{Target: best}, acq.UCB{Beta: 2}} {
			if n == 0 && f != (acq.UCB{Beta: 2}) {
				f = acq.EI{}
			}
			first, again := make([]float64, candidates), make([]float64, candidates)
			for _, dst := range [][]float64{first, again} {
				if err := r.Score(ctx, dst, c.x, f, best); err != nil {
					return fmt.Errorf("%v: %w", f, err)
				}
			}
			if slices.ContainsFunc(first, math.IsNaN) || !slices.Equal(first, again) {
				return fmt.Errorf("%v: %v, and then %v", f, first, again)
			}
		}
		after := newMoments(candidates)
		err := s.Predict(ctx, after.mean, after.sd, c.x)
		if err == nil {
			err = after.agree(m, 0)
		}
		if err != nil {
			return fmt.Errorf("after Score: %w", err)
		}
		return nil
	})
}

func (c *checker) restored() error {
	return c.fresh(func(n int, d cmbo.Data, s cmbo.Surrogate, m moments) error {
		if k, ok := s.(cmbo.StateKeeper); ok {
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
		r, ok := s.(cmbo.Refitter)
		if !ok {
			return nil
		}
		count, params := r.Fitted()
		if params == nil {
			return nil
		}
		if err := r.CheckFitted(params); err != nil || count < 0 || count > n {
			return fmt.Errorf("parameters fitted to %d of %d values: %w", count, n, err)
		}
		if r.CheckFitted(longer(params)) == nil {
			return fmt.Errorf("CheckFitted takes %d parameters, and %d", len(params), len(longer(params)))
		}
		d.Fitted = maps.Clone(d.Fitted)
		d.Fitted[count] = slices.Clone(params)
		if err := expect(c.start(), d, c.x, m, 0); err != nil {
			return fmt.Errorf("with its own parameters: %w", err)
		}
		return nil
	})
}

func (c *checker) shares() error {
	return c.fresh(func(n int, d cmbo.Data, s cmbo.Surrogate, _ moments) error {
		sum, any := 0.0, false
		if w, ok := s.(cmbo.Weigher); ok {
			for _, v := range w.Weights() {
				sum, any = sum+v, true
			}
		}
		if any && !(math.Abs(sum-1) <= 1e-9) {
			return fmt.Errorf("weights add up to %v", sum)
		}
		m, ok := s.(cmbo.Mixture)
		if !ok {
			return nil
		}
		sum, any = 0, false
		for _, h := range m.Hypotheses() {
			sum, any = sum+h.Mass, true
			if !(h.Mass >= 0 && h.Reversed >= 0 && h.Reversed <= h.Mass*(1+1e-9)) || (h.Level == cmbo.LevelCluster) != (h.Cluster >= 0) {
				return fmt.Errorf("share %+v", h)
			}
		}
		if any && !(math.Abs(sum-1) <= 1e-9) {
			return fmt.Errorf("shares add up to %v", sum)
		}
		for i, mean := range m.PriorMeans() {
			if len(mean) != n {
				return fmt.Errorf("prior mean %d has %d of %d points told", i, len(mean), n)
			}
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
	})
}

// draws allows a mean of 400 draws five standard errors: one candidate of 1.7 million
// is beyond.
func (c *checker) draws() error {
	s := c.start()
	r, ok := s.(cmbo.Sampler)
	if !ok {
		return nil
	}
	m, err := predict(ctx, s, c.runs[len(c.runs)-1], c.x)
	if err != nil {
		return err
	}
	sum := make([]float64, candidates)
	for i := range uint64(draws) {
		first, again := make([]float64, candidates), make([]float64, candidates)
		for _, dst := range [][]float64{first, again} {
			if err := r.Sample(ctx, dst, c.x, rand.New(rand.NewPCG(7, i))); err != nil {
				return err
			}
		}
		if !slices.Equal(first, again) {
			return errors.New("two draws from the same source differ")
		}
		for j, v := range first {
			sum[j] += v / draws
		}
	}
	for j, v := range sum {
		if bound := 5*m.sd[j]/math.Sqrt(draws) + rounding*(m.sd[j]+math.Abs(m.mean[j])); !(math.Abs(v-m.mean[j]) <= bound) {
			return fmt.Errorf("%d draws have the mean %v at candidate %d, predicted is %v ± %v", draws, v, j, m.mean[j], m.sd[j])
		}
	}
	return nil
}

func (c *checker) noise() error {
	return c.fresh(func(_ int, _ cmbo.Data, s cmbo.Surrogate, _ moments) error {
		if e, ok := s.(cmbo.NoiseEstimator); ok {
			if v := e.NoiseVariance(); v < 0 || math.IsInf(v, 0) {
				return fmt.Errorf("a noise variance of %v", v)
			}
		}
		return nil
	})
}

// longer returns v with so many numbers more that no setting accounts for them.
func longer(v []float64) []float64 { return append(slices.Clone(v), make([]float64, 1000)...) }
