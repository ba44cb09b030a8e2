package study

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/internal/turns"
)

// A Forecast is what the model expects of the noise-free value, in the units of the
// values: mean and standard deviation, the median, and the ends of the interval that
// holds 90 %. Forecasts that an older service stored lack the last three, which are 0.
type Forecast struct {
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	Low    float64 `json:"low,omitempty"`
	Median float64 `json:"median,omitempty"`
	High   float64 `json:"high,omitempty"`
}

// foretell asks the model, which the caller has.
func (s *Study) foretell(ctx context.Context, x []float64) (Forecast, error) {
	mean, sd, err := s.opt().Predict(ctx, x)
	if err != nil {
		return Forecast{}, err
	}
	q, err := s.opt().Quantiles(ctx, x)
	return Forecast{mean, sd, q.Low, q.Median, q.High}, err
}

// finite reports whether JSON has a form of all of it.
func (f *Forecast) finite() bool {
	sum := f.Mean - f.SD + f.Low - f.Median + f.High
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

// forecast notes what the model expects of the trials that were just opened. The
// caller has the model. A model that cannot say is no failure: the trials are
// open.
func (s *Study) forecast(ctx context.Context, trials []cmbo.Trial) {
	step, ok := s.opt().LastStep()
	for _, t := range trials {
		if !ok || step.Trial < t.ID { // a point of the initial design
			continue
		}
		if f, err := s.foretell(ctx, t.X); err == nil && f.finite() {
			s.view.expect(t.ID, f)
		}
	}
}

// A Slice is what the model says of the values along one parameter, the others
// being those of the best point. A parameter with few values has one point for
// each.
type Slice struct {
	Param        int
	X            []float64
	Values       []cmbo.Quantiles
	Observations int // that the model knew
}

// slicePoints is how many points a slice has along a range.
const slicePoints = 25

// maxSlices bounds the parameters that slices are made for, the first ones.
const maxSlices = 12

// sliceCache holds the newest slices of a study, and the advice.
type sliceCache struct {
	mu      sync.Mutex
	newest  []Slice
	advice  *Advice
	version int // of the view that the slices are of
	advised int // of the view that the advice is of
	busy    bool
}

// known returns the advice if it is of a version of the view.
func (c *sliceCache) known(version int) *Advice {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.advised != version {
		return nil
	}
	return c.advice
}

// keep keeps the advice of a version of the view.
func (c *sliceCache) keep(a *Advice, version int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a != nil && version >= c.advised {
		c.advice, c.advised = a, version
	}
}

// Advice is what the model says of the run.
type Advice struct {
	Transfer     cmbo.Transfer
	Calibration  cmbo.Calibration
	Outlook      cmbo.Outlook
	Recommended  cmbo.Recommendation
	Importance   []cmbo.Importance
	Observations int // that the model knew
}

// Advice asks the model, nil if it is busy. All of it is of one state of the study, so it has the model until it is
// done. What takes longest is worked out before, a while at a time: see foretold.
func (s *Study) Advice(ctx context.Context) (a *Advice, err error) {
	if s.damaged != nil {
		return nil, s.damaged
	}
	version := s.view.version()
	if a := s.slices.known(version); a != nil { // nothing has happened since
		return a, nil
	}
	if !s.tryModel() {
		return nil, nil
	}
	s.model.release() // foretold waits for it a while at a time
	if err := s.foretold(ctx); err != nil {
		return nil, err
	}
	if !s.tryModel() {
		return nil, nil
	}
	defer s.model.release()
	version = s.view.version()
	err = s.compute(ctx, func() error {
		a, err = s.advise(func(part func(context.Context) error) error { return part(ctx) })
		return err
	})
	s.slices.keep(a, version)
	return a, err
}

// advise asks the model in parts, each of which run runs when the model is the caller's.
func (s *Study) advise(run func(part func(context.Context) error) error) (*Advice, error) {
	a := new(Advice)
	for _, part := range []func(context.Context) error{
		func(ctx context.Context) (err error) { a.Transfer, err = s.opt().Transfer(ctx); return err },
		func(ctx context.Context) (err error) { a.Calibration, err = s.opt().Calibration(ctx); return err },
		func(ctx context.Context) (err error) { a.Outlook, err = s.opt().Outlook(ctx); return err },
		func(ctx context.Context) (err error) { a.Recommended, err = s.opt().Recommend(ctx); return err },
		func(ctx context.Context) (err error) { a.Importance, err = s.opt().Importance(ctx); return err },
	} {
		if err := run(part); err != nil {
			return nil, err
		}
	}
	a.Observations = a.Transfer.Values
	return a, nil
}

// Slices returns the newest slices, nil before the first, and advice as old. If they are not of the
// study as it is, new ones are begun in the background and made when the model is
// free; done is closed when they have ended, whatever became of them.
func (s *Study) Slices() (newest []Slice, advice *Advice, done <-chan struct{}) {
	closed := make(chan struct{})
	version := s.view.version()
	c := &s.slices
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy || s.damaged != nil || c.newest != nil && c.version == version {
		close(closed)
		return c.newest, c.advice, closed
	}
	c.busy = true
	go func() {
		defer close(closed)
		made, advice, err := s.makeSlices(version)
		if err == nil {
			c.keep(advice, version)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.busy = false; err == nil {
			c.newest, c.version = made, version
		}
	}()
	return c.newest, c.advice, closed
}

// makeSlices asks the model, one part of the advice or one parameter at a time so
// that proposals wait for no more than that, and for a while of the part that takes longest.
func (s *Study) makeSlices(version int) (out []Slice, a *Advice, err error) {
	m := s.Summary()
	if m.Observations == 0 {
		return nil, nil, nil
	}
	around, _ := s.opt().Best() // where no value holds the limits the one that comes nearest
	ctx := context.Background()
	if a = s.slices.known(version); a == nil {
		if err := s.foretold(ctx); err != nil {
			return nil, nil, err
		}
		a, err = s.advise(func(part func(context.Context) error) error { return s.aside(ctx, part) })
		if err != nil {
			return nil, nil, err
		}
	}
	out = []Slice{}
	for i, p := range s.Space().Params() {
		if i == maxSlices || around.X == nil {
			break
		}
		sl := Slice{Param: i, X: along(p), Observations: m.Observations}
		var points [][]float64
		for _, x := range sl.X {
			row := append([]float64(nil), around.X...)
			row[i] = x
			points = append(points, row)
		}
		err := s.aside(ctx, func(ctx context.Context) error {
			sl.Values = nil
			return each(ctx, points, func(x []float64) error {
				q, err := s.opt().Quantiles(ctx, x)
				sl.Values = append(sl.Values, q)
				return err
			})
		})
		if err != nil {
			return nil, nil, err
		}
		out = append(out, sl)
	}
	return out, a, nil
}

// firstForetold is how long [Study.foretold] has the model at first.
var firstForetold = turns.FirstWhile

// foretold has the optimiser work out how well the values were foretold, which takes a fit for each of them, a while at
// a time: what it has come to stays with it.
func (s *Study) foretold(ctx context.Context) error {
	whiles := turns.Whiles{Next: firstForetold}
	for {
		err := s.aside(ctx, func(ctx context.Context) error {
			ctx, cancel := whiles.Context(ctx)
			defer cancel()
			_, err := s.opt().Calibration(ctx)
			return err
		})
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// along returns values that cover a parameter, as the space encodes it.
func along(p cmbo.Param) []float64 {
	one, err := cmbo.NewSpace(p)
	if err != nil {
		return nil
	}
	var xs []float64
	if choices := len(p.Choices()); choices > 0 || p.Kind() == cmbo.KindBool {
		for v := range min(max(choices, 2), slicePoints) {
			xs = append(xs, float64(v))
		}
		return xs
	}
	for k := range slicePoints {
		row, err := one.Decode([]float64{float64(k) / (slicePoints - 1)})
		if err != nil {
			return nil
		}
		if len(xs) == 0 || row[0] > xs[len(xs)-1] {
			xs = append(xs, row[0])
		}
	}
	return xs
}
