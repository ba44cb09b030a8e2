package surrogatetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
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
		_, _, err := predict(ctx, s, d, c.x)
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
		d.Fitted = make(map[int][]float64, len(fitted))
		for n, p := range fitted {
			d.Fitted[n] = p
		}
	}
	return out
}

// predict tells s the data and returns what it says of x.
func predict(ctx context.Context, s cmbo.Surrogate, d cmbo.Data, x *linalg.Dense) (mean, sd []float64, err error) {
	n, _ := x.Dims()
	mean, sd = make([]float64, n), make([]float64, n)
	if err = s.Fit(ctx, d); err == nil {
		err = s.Predict(ctx, mean, sd, x)
	}
	return mean, sd, err
}

// near compares predictions up to rounding.
func near(mean, sd, wantMean, wantSD []float64) error {
	for i := range mean {
		tol := 1e-6 * (wantSD[i] + math.Abs(wantMean[i]))
		if !(math.Abs(mean[i]-wantMean[i]) <= tol) || !(math.Abs(sd[i]-wantSD[i]) <= tol) {
			return fmt.Errorf("%v ± %v at candidate %d, not %v ± %v", mean[i], sd[i], i, wantMean[i], wantSD[i])
		}
	}
	return nil
}

// same compares predictions bit for bit.
func same(mean, sd, wantMean, wantSD []float64) error {
	for i := range mean {
		if mean[i] != wantMean[i] || sd[i] != wantSD[i] {
			return fmt.Errorf("%v ± %v at candidate %d, not %v ± %v", mean[i], sd[i], i, wantMean[i], wantSD[i])
		}
	}
	return nil
}

func (c *checker) predictions() error {
	if c.err != nil {
		return c.err
	}
	for n, d := range c.runs {
		s := c.start()
		mean, sd, err := predict(ctx, s, d, c.x)
		if err != nil {
			return fmt.Errorf("after %d values: %w", n, err)
		}
		for i, m := range mean {
			if math.IsNaN(m) || math.IsInf(m, 0) || !(sd[i] >= 0) || math.IsInf(sd[i], 0) {
				return fmt.Errorf("%v ± %v at candidate %d after %d values", m, sd[i], i, n)
			}
		}
		if !equal(c.x, uniform(c.dim, candidates, "candidates")) || !equal(d.X, uniform(c.dim, values+1, "told")) || !slices.Equal(d.Y, c.y[:n]) {
			return fmt.Errorf("what Fit or Predict was given has changed after %d values", n)
		}
		for i := range mean {
			row := c.x.View(i, 0, 1, c.dim)
			m, v := []float64{0}, []float64{0}
			if err := s.Predict(ctx, m, v, &row); err != nil {
				return err
			}
			if err := near(m, v, mean[i:i+1], sd[i:i+1]); err != nil {
				return fmt.Errorf("row %d alone, after %d values: %w", i, n, err)
			}
		}
	}
	return nil
}

func (c *checker) repeatable() error {
	grown, other := c.start(), c.start()
	last := c.runs[len(c.runs)-1]
	for n, d := range c.runs {
		mean, sd, err := predict(ctx, c.start(), d, c.x)
		if err != nil {
			return err
		}
		m, v, err := predict(ctx, grown, d, c.x)
		if err == nil {
			err = same(m, v, mean, sd)
		}
		if err != nil {
			return fmt.Errorf("told one by one, after %d values: %w", n, err)
		}
		if err := other.Fit(ctx, last); err != nil {
			return err
		}
		m, v, err = predict(ctx, other, d, c.x)
		if err == nil {
			err = same(m, v, mean, sd)
		}
		if err != nil {
			return fmt.Errorf("told %d values after %d others: %w", n, len(last.Y), err)
		}
	}
	return nil
}

func (c *checker) pending() error {
	for n, d := range c.runs {
		_, before, err := predict(ctx, c.start(), d, c.x)
		if err != nil {
			return err
		}
		two := c.x.View(0, 0, 2, c.dim)
		d.Pending = &two
		_, after, err := predict(ctx, c.start(), d, c.x)
		if err != nil {
			return fmt.Errorf("2 pending after %d values: %w", n, err)
		}
		for i := range 2 {
			if !(after[i] <= before[i]*(1+1e-6)) {
				return fmt.Errorf("the deviation at a point is %v, and %v while it is pending, after %d values", before[i], after[i], n)
			}
		}
	}
	return nil
}

func (c *checker) cancelled() error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	d := c.runs[len(c.runs)-1]
	s := c.start()
	if _, _, err := predict(done, s, d, c.x); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cancelled, it fails with %w", err)
	}
	mean, sd, err := predict(ctx, s, d, c.x)
	if err != nil {
		return fmt.Errorf("after a call that was cancelled: %w", err)
	}
	m, v, err := predict(ctx, c.start(), d, c.x)
	if err == nil {
		err = same(mean, sd, m, v)
	}
	return err
}

func (c *checker) bound() error {
	for n, d := range c.runs {
		s := c.start()
		b, ok := s.(cmbo.Binder)
		if !ok {
			return nil
		}
		mean, sd, err := predict(ctx, c.start(), d, c.x)
		if err == nil {
			err = b.Bind(ctx, c.x)
		}
		if err != nil {
			return err
		}
		m, v, err := predict(ctx, s, d, c.x)
		if err == nil {
			err = near(m, v, mean, sd)
		}
		if err != nil {
			return fmt.Errorf("bound, after %d values: %w", n, err)
		}
		if m, v, err = predict(ctx, s, d, clone(c.x)); err == nil {
			err = near(m, v, mean, sd)
		}
		if err != nil {
			return fmt.Errorf("bound, at other points, after %d values: %w", n, err)
		}
	}
	return nil
}

func (c *checker) scores() error {
	for n, d := range c.runs {
		s := c.start()
		r, ok := s.(cmbo.Scorer)
		if !ok {
			return nil
		}
		mean, sd, err := predict(ctx, s, d, c.x)
		if err != nil {
			return err
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
					return fmt.Errorf("%v after %d values: %w", f, n, err)
				}
			}
			if slices.ContainsFunc(first, math.IsNaN) || !slices.Equal(first, again) {
				return fmt.Errorf("%v after %d values: %v, and then %v", f, n, first, again)
			}
		}
		m, v := make([]float64, candidates), make([]float64, candidates)
		if err := s.Predict(ctx, m, v, c.x); err != nil {
			return err
		}
		if err := same(m, v, mean, sd); err != nil {
			return fmt.Errorf("after Score: %w", err)
		}
	}
	return nil
}

func (c *checker) restored() error {
	for n, d := range c.runs {
		s := c.start()
		mean, sd, err := predict(ctx, s, d, c.x)
		if err != nil {
			return err
		}
		if k, ok := s.(cmbo.StateKeeper); ok {
			state, err := k.State(ctx)
			if err == nil && state != nil {
				err = k.CheckState(state)
			}
			if err != nil {
				return fmt.Errorf("state after %d values: %w", n, err)
			}
			if state != nil && k.CheckState(longer(state)) == nil {
				return fmt.Errorf("CheckState takes a state of %d numbers, and one of %d", len(state), len(longer(state)))
			}
		}
		r, ok := s.(cmbo.Refitter)
		if !ok {
			continue
		}
		count, params := r.Fitted()
		if params == nil {
			continue
		}
		if err := r.CheckFitted(params); err != nil || count < 0 || count > n {
			return fmt.Errorf("parameters fitted to %d of %d values: %w", count, n, err)
		}
		if r.CheckFitted(longer(params)) == nil {
			return fmt.Errorf("CheckFitted takes %d parameters, and %d", len(params), len(longer(params)))
		}
		known := make(map[int][]float64, len(d.Fitted)+1)
		for k, p := range d.Fitted {
			known[k] = p
		}
		known[count] = slices.Clone(params)
		d.Fitted = known
		m, v, err := predict(ctx, c.start(), d, c.x)
		if err == nil {
			err = same(m, v, mean, sd)
		}
		if err != nil {
			return fmt.Errorf("with its own parameters after %d values: %w", n, err)
		}
	}
	return nil
}

func (c *checker) shares() error {
	for n, d := range c.runs {
		s := c.start()
		if _, _, err := predict(ctx, s, d, c.x); err != nil {
			return err
		}
		sum, any := 0.0, false
		if w, ok := s.(cmbo.Weigher); ok {
			for _, v := range w.Weights() {
				sum, any = sum+v, true
			}
		}
		if any && !(math.Abs(sum-1) <= 1e-9) {
			return fmt.Errorf("weights add up to %v after %d values", sum, n)
		}
		m, ok := s.(cmbo.Mixture)
		if !ok {
			continue
		}
		sum, any = 0, false
		for _, h := range m.Shares() {
			sum, any = sum+h.Mass, true
			if !(h.Mass >= 0 && h.Reversed >= 0 && h.Reversed <= h.Mass*(1+1e-9)) || (h.Level == cmbo.LevelCluster) != (h.Cluster >= 0) {
				return fmt.Errorf("share %+v after %d values", h, n)
			}
		}
		if any && !(math.Abs(sum-1) <= 1e-9) {
			return fmt.Errorf("shares add up to %v after %d values", sum, n)
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
	}
	return nil
}

// draws allows a mean of 400 draws five standard errors: one candidate of 1.7 million
// is beyond.
func (c *checker) draws() error {
	s := c.start()
	r, ok := s.(cmbo.Sampler)
	if !ok {
		return nil
	}
	mean, sd, err := predict(ctx, s, c.runs[len(c.runs)-1], c.x)
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
	for j, m := range sum {
		if bound := 5*sd[j]/math.Sqrt(draws) + 1e-6*(sd[j]+math.Abs(mean[j])); !(math.Abs(m-mean[j]) <= bound) {
			return fmt.Errorf("%d draws have the mean %v at candidate %d, predicted is %v ± %v", draws, m, j, mean[j], sd[j])
		}
	}
	return nil
}

func (c *checker) noise() error {
	for n, d := range c.runs {
		s := c.start()
		e, ok := s.(cmbo.NoiseEstimator)
		if !ok {
			return nil
		}
		if _, _, err := predict(ctx, s, d, c.x); err != nil {
			return err
		}
		if v := e.NoiseVariance(); v < 0 || math.IsInf(v, 0) {
			return fmt.Errorf("a noise variance of %v after %d values", v, n)
		}
	}
	return nil
}

// longer returns v with so many numbers more that no setting accounts for them.
func longer(v []float64) []float64 { return append(slices.Clone(v), make([]float64, 1000)...) }

func clone(x *linalg.Dense) *linalg.Dense {
	var c linalg.Dense
	c.Copy(x)
	return &c
}

func equal(x, y *linalg.Dense) bool {
	n, _ := x.Dims()
	for i := range n {
		if !slices.Equal(x.Row(i), y.Row(i)) {
			return false
		}
	}
	return true
}
