package cmbo

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// consulted is a [Surrogate] with all that a run asks of one. What the surrogate does not
// offer follows from its mean and deviation, or is not known. This file is the only one that
// finds out what a surrogate is beyond the interface: others ask it by as.
type consulted struct{ Surrogate }

// bind prepares for a list of candidates.
func (m consulted) bind(ctx context.Context, x *linalg.Dense) error {
	if b, ok := m.Surrogate.(Binder); ok {
		return b.Bind(ctx, x)
	}
	return nil
}

// as returns the surrogate as one of the interfaces that it may have besides, or as a type of this
// package, nil if it is none.
func as[T any](m consulted) T {
	t, _ := m.Surrogate.(T)
	return t
}

// noiseVariance returns that of measurements in scaled units, NaN if it is not known.
func (m consulted) noiseVariance() float64 {
	if e, ok := m.Surrogate.(NoiseEstimator); ok {
		return e.NoiseVariance()
	}
	return math.NaN()
}

// noise returns that variance, 0 if it is not known.
func (m consulted) noise() float64 {
	if v := m.noiseVariance(); v > 0 {
		return v
	}
	return 0
}

func (m consulted) predict(ctx context.Context, x *linalg.Dense) (mean, sd []float64, err error) {
	n, _ := x.Dims()
	mean, sd = make([]float64, n), make([]float64, n)
	return mean, sd, m.Predict(ctx, mean, sd, x)
}

// believed is predict with the deviations that are told, not those that score: see widening.
func (m consulted) believed(ctx context.Context, x *linalg.Dense) (mean, sd []float64, err error) {
	mean, sd, err = m.predict(ctx, x)
	by := m.widening()
	for i := range sd {
		sd[i] *= by
	}
	return mean, sd, err
}

// widening is how many times as wide as those that score deviations are told: of a run without a past as its few values
// leave the variance unknown.
func (m consulted) widening() float64 {
	if r, ok := m.Surrogate.(plainRun); ok {
		return r.Widening()
	}
	return 1
}

// measured returns what a measurement at the rows of x is expected to be, with a deviation that
// has the noise in it and is never 0.
func (m consulted) measured(ctx context.Context, x *linalg.Dense) (mean, sd []float64, err error) {
	mean, sd, err = m.predict(ctx, x)
	noise := m.noise()
	for i, s := range sd {
		sd[i] = math.Sqrt(max(s*s+noise, math.SmallestNonzeroFloat64))
	}
	return mean, sd, err
}

// checks are those of the surrogate for what a log holds of it.
func (m consulted) checks() runlog.Checks {
	var c runlog.Checks
	if k, ok := m.Surrogate.(StateKeeper); ok {
		c.State = k.CheckState
	}
	if r, ok := m.Surrogate.(Refitter); ok {
		c.Fitted = r.CheckFitted
	}
	return c
}

// state returns what the surrogate wants back of the proposal. Whatever is logged must pass the checks of a log that is read.
func (m consulted) state(ctx context.Context) ([]float64, error) {
	k, ok := m.Surrogate.(StateKeeper)
	if !ok {
		return nil, nil
	}
	state, err := k.State(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.checks().CheckState(state); err != nil {
		return nil, fmt.Errorf("%w: %T.State: %w", ErrNumerical, m.Surrogate, err)
	}
	return state, nil
}

// estimated reports whether value i was not told: a stopped trial lets expect it.
func estimated(d Data, i int) bool { return d.Estimated != nil && d.Estimated[i] }

// observed says which values of d were told, and lists them.
func observed(d Data) (told []bool, rows []int) {
	told = each.Below(len(d.Y), func(i int) bool { return !estimated(d, i) })
	return told, each.Where(len(told), func(i int) bool { return told[i] })
}

// noiseGiven reports whether value i was told with its noise variance.
func noiseGiven(d Data, i int) bool {
	return d.NoiseVariance != nil && d.NoiseVariance[i] > 0 && !estimated(d, i)
}

// told returns the values that proposals improve on, as the surrogate sees them: those told, or, where noise
// variances were given, what the model makes of them, since the largest of noisy values says little.
func (m consulted) told(ctx context.Context, d Data) ([]float64, error) {
	noisy := false
	for i := range d.Y {
		noisy = noisy || noiseGiven(d, i)
	}
	if noisy {
		mean, _, err := m.predict(ctx, d.X)
		return mean, err
	}
	return each.Of(d.Y, m.seen), nil
}

// seeing is a surrogate that brings low values closer together.
type seeing interface {
	Seeing() (low scaling.Low, steepest float64)
}

// view returns how the surrogate sees values, and the logarithm of the steepest slope back.
func (m consulted) view() (low scaling.Low, steepest float64) {
	if s := as[seeing](m); s != nil {
		return s.Seeing()
	}
	return low, 0
}

// seen returns a value told as the surrogate sees it.
func (m consulted) seen(v float64) float64 {
	low, _ := m.view()
	return low.At(v)
}

// back brings a prediction back to where low values are as far apart as they are told.
func (m consulted) back(v float64) float64 {
	low, steepest := m.view()
	return low.BackFrom(v, steepest)
}

// belief brings what the surrogate predicts of a value to the user's units and direction, with low values as far
// apart as they are told: the surrogate may see their differences as smaller. Values are not normal then; mean and
// deviation are those of the normal distribution with the same 90 % interval.
func (m consulted) belief(c *runConfig, scale *scaling.Values, mean, sd float64) belief {
	low, high := mean-special.Z90*sd, mean+special.Z90*sd
	seen, median := low, m.back(mean)
	if r, ok := m.Surrogate.(*hierarchicalRun); ok {
		low, high = r.Ends(mean, sd)
	} else {
		low, high = m.back(low), m.back(high)
	}
	if low < seen {
		mean, sd = low+(high-low)/2, (high-low)/(2*special.Z90)
	}
	mean, sd = scale.Back(mean, sd)
	median, _ = scale.Back(median, 0)
	return belief{scaling.Orient(mean, c.minimize), sd, scaling.Orient(median, c.minimize), c.sense()}
}

func (m consulted) predictOne(ctx context.Context, c *runConfig, scale *scaling.Values, u []float64) (belief, error) {
	mean, sd, err := m.believed(ctx, linalg.NewDense(1, len(u), u))
	if err != nil {
		return belief{}, err
	}
	return m.belief(c, scale, mean[0], sd[0]), nil
}

// among returns the values that are chosen, all for nil.
func among(values []float64, chosen []bool) []float64 {
	if chosen == nil {
		return values
	}
	return points.Entries(values, each.Where(len(values), func(i int) bool { return chosen[i] }))
}

// A question is what a proposal asks of a surrogate that was told data.
type question struct {
	data        Data
	acquisition acq.Func
	draw        *rand.Rand // for Thompson sampling, and by distance
	feasible    []bool     // the values that proposals improve on, nil for all
	judge       judge
	drawn       bool // by distance, not the farthest

	// Once they were found out for a first list of candidates: those values, and what acquisitions are multiplied by.
	told    []float64
	factors []factorAt
}

// scored is how the scores of candidates came about.
type scored struct {
	by        acq.Func // nil for a criterion of the surrogate's own
	criterion string   // its name, if it has one
	alone     bool     // nothing was taken from the past
	state     []float64
	climbs    bool    // scores compare with those of other points,
	top       float64 // once the difference of this is added

	within []float64 // as of the factor of the cost
}

// name says what the scores are, in a run of acquisition f.
func (s scored) name(f acq.Func) string {
	switch {
	case s.by != nil && s.alone:
		return f.String() + " without the past"
	case s.by != nil:
		return f.String()
	case s.criterion != "":
		return s.criterion
	}
	return "score of its own"
}

// propose has the surrogate predict and score candidates, the rows of x, for s, a Step with room for them.
func (m consulted) propose(ctx context.Context, s *Step, q *question, x *linalg.Dense) (how scored, err error) {
	if err := m.Predict(ctx, s.Mean, s.SD, x); err != nil {
		return how, err
	}
	if err := ctx.Err(); err != nil {
		return how, err
	}
	if how.state, err = m.state(ctx); err != nil {
		return how, err
	}
	if e, ok := m.Surrogate.(Describer); ok {
		e.Describe(s)
	}
	s.NoiseVariance = m.noiseVariance()
	maxValue := math.NaN()
	if e := as[MaxValueEstimator](m); e != nil {
		maxValue = e.MaxValue()
	}
	if q.told == nil {
		told, err := m.told(ctx, q.data)
		if err != nil {
			return how, err
		}
		q.told = among(told, q.feasible)
	}
	f := q.acquisition
	if a, ok := f.(acq.Adaptive); ok {
		f = a.Adapt(acq.Proposal{Told: q.told, MaxValue: maxValue, Mean: s.Mean, SD: s.SD})
	}
	best := math.NaN()
	if len(q.told) > 0 {
		best = slices.Max(q.told)
	}
	if f == Thompson() {
		how.by = f
		return how, m.Surrogate.(Sampler).Sample(ctx, s.Scores, x, q.draw)
	}
	switch q.judge {
	case byDistance:
		distances(s.Scores, x, q.data.Seen)
		how.criterion = "distance from all points asked for"
		if q.drawn {
			drawByDistance(s.Scores, q.draw)
			how.criterion = "draw by the " + how.criterion
		}
		return how, nil
	case withoutPast:
		how.by, how.alone = f, true
		return how, gp.Marked(ctx, as[*hierarchicalRun](m).LogImprovementWithoutTransfer(ctx, s.Scores, x, best))
	}
	how.by, how.criterion, err = m.score(ctx, s.Scores, s.Mean, s.SD, x, f, best)
	return how, err
}

// score scores the rows of x, where the surrogate predicts mean and sd, and returns what
// the scores are: those of f, or of the surrogate's own criterion, then by is nil.
func (m consulted) score(
	ctx context.Context, dst, mean, sd []float64, x *linalg.Dense, f acq.Func, best float64,
) (by acq.Func, criterion string, err error) {
	r, ok := m.Surrogate.(Scorer)
	if !ok {
		scoreMoments(dst, mean, sd, f)
		return f, "", nil
	}
	if err := r.Score(ctx, dst, x, f, best); err != nil {
		return nil, "", err
	}
	if c, ok := r.(Criterion); ok {
		if criterion = c.Criterion(); criterion == "" {
			return f, "", nil
		}
	}
	return nil, criterion, nil
}

// A requirement is an output besides the objective of which something is required, with
// its model. The probability that a point meets it is a factor of the acquisition.
type requirement interface {
	// factor has the model learn the log of a draft, in which points that are pending count as
	// evaluated, or not, and returns what says what follows until the model learns another.
	factor(ctx context.Context, o *draft, pending bool) factorAt
}

// A factorAt returns a factor at the rows of x.
type factorAt func(x *linalg.Dense) (factor, error)

// A factor is what a requirement multiplies the acquisition by: p to a power.
type factor struct {
	p      []float64 // nil as long as neither the log nor the prior says anything
	power  int
	output string    // that has to hold its limits, "" for success
	log    []float64 // of such an output, or of the cost, the logarithm of p, from the largest of all
	top    float64   // that one

	cost      []float64 // of the cost what is expected of it, in the user's units
	costPower float64   // by which it counts
	within    []float64 // the probability that what is left of the budget pays for it, nil without one
}

// logAt returns the logarithm of what the acquisition of candidate i is multiplied by.
func (g *factor) logAt(i int) float64 {
	if g.log != nil {
		return g.log[i]
	}
	return float64(g.power) * math.Log(g.p[i])
}

// at returns what the acquisition of candidate i is multiplied by.
func (g *factor) at(score float64, i int) float64 {
	if g.log != nil {
		return score * math.Exp(g.log[i])
	}
	for range g.power {
		score *= g.p[i]
	}
	return score
}

// factors returns what says what the acquisition is multiplied by: one for each requirement.
func (o *draft) factors(ctx context.Context, pending bool) []factorAt {
	return each.Of(o.requirements, func(r requirement) factorAt { return r.factor(ctx, o, pending) })
}

// factorsAt returns factors at the rows of x, with nil probabilities where nothing is known.
func factorsAt(at []factorAt, x *linalg.Dense) ([]factor, error) {
	fs := make([]factor, len(at))
	for i, f := range at {
		var err error
		if fs[i], err = f(x); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

// multiply multiplies scores of f by factors. Scores of EI are logarithms of what is expected and those of PI are
// quantiles of a probability: they become the logarithm of the product. All others, whose sign and unit are unknown,
// as nil is, count from the least finite one, or as 1 where all are equal; infinite scores stay as they are.
func multiply(scores []float64, factors []factor, f acq.Func) {
	known := slices.DeleteFunc(slices.Clone(factors), func(g factor) bool { return g.p == nil })
	if len(known) == 0 {
		return
	}
	logs := acq.Logarithm(f)
	least, differ := math.Inf(1), false
	for _, v := range scores {
		if v < least && !math.IsInf(v, -1) {
			least = v
		}
		differ = differ || v != scores[0]
	}
	for i, v := range scores {
		switch {
		case logs != nil:
			scores[i] = logs(v)
			for _, g := range known {
				scores[i] += g.logAt(i)
			}
			continue
		case math.IsInf(v, 0):
			continue
		case differ:
			scores[i] = v - least
		default:
			scores[i] = 1
		}
		for _, g := range known {
			scores[i] = g.at(scores[i], i)
		}
	}
}
