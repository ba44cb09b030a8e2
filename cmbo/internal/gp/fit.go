package gp

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Hyper holds the hyperparameters of a Gaussian process.
type Hyper struct {
	Kernel        kernel.Kernel
	NoiseVariance float64 // of values that come without one of their own
	Fitted        bool    // false if there was nothing to fit to, or every search failed
	Evidence      float64 // see [gaussian.FitResult]; 0 if it was not asked for
	Share         float64 // of the view of the values that it was fitted in: see [Look]
	Smooth        bool    // the kernel has a form of [Fits].Smooth

	exact bool // by exactPriors
	form  int  // its number
}

// SameKernel reports whether the kernels of h and g, of forms that their numbers of
// parameters tell apart, have the same parameters. The zero Hyper has no kernel, as no other has.
func (h Hyper) SameKernel(g Hyper) bool {
	if h.Kernel == nil || g.Kernel == nil {
		return false
	}
	return slices.Equal(h.Kernel.AppendParams(nil), g.Kernel.AppendParams(nil))
}

// Noise returns the noise variances of observations: those given where they are above 0, else that of h.
func (h Hyper) Noise(given []float64) []float64 { return Noise(given, len(given), h.NoiseVariance) }

// Noise returns the noise variances of n observations: those given, which may be nil, where they are above 0, else unknown.
func Noise(variances []float64, n int, unknown float64) []float64 {
	out := slices.Repeat([]float64{unknown}, n)
	for i, v := range variances {
		if v > 0 {
			out[i] = v
		}
	}
	return out
}

// AtCentre returns a kernel of a shape with n lengths, its parameters at the centres of their priors.
func AtCentre(p gaussian.Priors, shape func(lengths ...float64) kernel.Stationary, n int) kernel.Kernel {
	lengths := slices.Repeat([]float64{math.Exp(p.LengthScale.Mean)}, n)
	return kernel.Scale(math.Exp(p.Variance.Mean), shape(lengths...))
}

// The parameters of a kernel from outside are of unknown kind: they are searched around the template's, at most ForeignRange
// from them, in units of their logarithms.
const (
	foreignSD    = 1.5
	ForeignRange = 7
)

// Fitter finds hyperparameters, keeping its memory from one data set to the next. The
// zero value is ready; a Fitter serves one goroutine at a time.
type Fitter struct {
	// Priors returns the priors of the hyperparameters for points of dim
	// coordinates; nil stands for [gaussian.DefaultPriors].
	Priors func(dim int) gaussian.Priors
	// Evidence asks for [Hyper].Evidence.
	Evidence bool
	// Tied are parameters of the template that share a value: see [gaussian.FitOptions].
	Tied []int

	search gaussian.Fitter
}

// Fit returns the hyperparameters of highest posterior density, of the template's form, for values y of mean zero at
// the rows of x. variances holds those of the noise that are known, 0 where they are not, nil for none. given is the
// noise variance of the others, NaN to search it. Without values the template stands.
//
// It fails only if the data cannot be used at all or ctx is done.
func (f *Fitter) Fit(
	ctx context.Context, template kernel.Kernel, x *linalg.Dense, y, variances []float64, given float64, seed uint64,
) (Hyper, error) {
	_, dim := x.Dims()
	o := gaussian.FitOptions{Seed: seed, Priors: gaussian.DefaultPriors(dim), Evidence: f.Evidence, Tied: f.Tied}
	if f.Priors != nil {
		o.Priors = f.Priors(dim)
	}
	start := math.Exp(o.Priors.Noise.Mean)
	known, sum := 0, 0.0
	for _, v := range variances {
		if v > 0 {
			known++
			sum += v
		}
	}
	switch {
	case !math.IsNaN(given):
		o.FixNoise, start = true, given
	case known > 0 && known == len(y):
		// Every variance is known: there is none to search.
		o.FixNoise, start = true, 0
	}
	if _, err := kernel.Describe(template); err != nil {
		for _, v := range template.AppendParams(nil) {
			o.Params = append(o.Params, gaussian.LogNormal{
				Mean: v, SD: foreignSD, Min: math.Exp(v - ForeignRange), Max: math.Exp(v + ForeignRange),
			})
		}
	}
	h := Hyper{Kernel: template, NoiseVariance: start}
	if len(y) > 0 {
		r, err := f.search.Fit(ctx, template, start, x, y, variances, &o)
		if err != nil {
			return h, Numerical(ctx, err, "fitting hyperparameters to %d observations", len(y))
		}
		h = Hyper{Kernel: r.Kernel, NoiseVariance: r.Noise, Fitted: !math.IsInf(r.LogPosterior, -1), Evidence: r.Evidence}
	}
	if !(h.NoiseVariance > 0) {
		// For values to come without a variance.
		h.NoiseVariance = o.Priors.Noise.Min
		if known > 0 {
			h.NoiseVariance = max(sum/float64(known), h.NoiseVariance)
		}
	}
	return h, nil
}

// Hyperparameters of a run are fitted to its first observations, so that which fit serves n of them follows from n
// alone: to all of them up to refitAlways, then to the largest multiple of refitEvery, of twice as much from
// refitDouble observations, and so on whenever their number has doubled. A search takes at most refitRows of them,
// drawn from those it is made to, which bounds its time.
const (
	refitAlways = 20
	refitEvery  = 5
	refitDouble = 100
	refitRows   = 200
)

// RefitExact is refitAlways where values may be next to exact: a run comes nearer to its best point at each question, and
// what is left is told by its latest values. Chosen on families of problems: see EVIDENCE.md.
const RefitExact = 40

// RefitCount returns the number of the first observations whose fit serves n.
func RefitCount(n int) int {
	if n <= refitAlways {
		return n
	}
	every := refitEvery
	for top := refitDouble; n >= top; top *= 2 {
		every *= 2
	}
	return n - n%every
}

// A Form is what a kernel looks like, but for the values of its parameters.
type Form struct {
	Kernel kernel.Kernel
	Tied   []int // see [Fitter]
}

// Fits finds and keeps the hyperparameters of a run. The seed of a search follows from Seed and the number of observations
// it is made to.
type Fits struct {
	// Forms are those of the kernel, of which the one of larger evidence serves, the first of equal ones.
	Forms []Form
	// Shares are those of views that are tried with the form that serves, where all variances are to be searched; the
	// view of larger evidence serves, the values as they are if they are equal. Nil for none.
	Shares []float64
	Noise  float64 // given noise variance, NaN to search it
	// Exact has the forms fitted by priors of values that are next to exact, too, where all variances are to be searched and
	// little noise is found, and so the one of Smooth, unless it is nil, that stands where the one that serves stands in
	// Forms; what has most evidence serves.
	Exact  bool
	Smooth []Form
	Seed   uint64
	Fitter Fitter

	known map[int]Hyper // by number of observations
	of    *Fits         // whose fits serve, too: see Plain.Share
	// What the searches of a fit to doneOf observations found before ctx ended it, in their order, which the next call
	// takes from there by turns.
	done         []Hyper
	doneOf, turn int

	x          linalg.Dense // a copy of the latest observations
	raw, given []float64    // their values, and noise variances
}

// Keep forgets what was fitted to other observations than the first of those given, by their values and noise
// variances as told, of which it keeps a copy. It returns how many are those of the last call.
func (f *Fits) Keep(x *linalg.Dense, raw, given []float64) (same int) {
	same = f.same(x, raw, given)
	f.x.Copy(x)
	f.raw, f.given = append(f.raw[:0], raw...), append(f.given[:0], given...)
	maps.DeleteFunc(f.known, func(count int, _ Hyper) bool { return count > same })
	if f.doneOf > same {
		f.done = nil
	}
	return same
}

// same returns how many of the first observations given are those of the last Keep.
func (f *Fits) same(x *linalg.Dense, raw, given []float64) int {
	same := points.Same(&f.x, x)
	for i := range same {
		if f.raw[i] != raw[i] || f.given[i] != given[i] {
			return i
		}
	}
	return same
}

// At returns the hyperparameters that serve the first n observations. data returns the first count of them, scaled by
// themselves, with the noise variances that are known; it is called only if a search is due.
func (f *Fits) At(
	ctx context.Context, n int, data func(count int) (x *linalg.Dense, y, variances []float64, err error),
) (Hyper, error) {
	count := f.count(n)
	if h, ok := f.known[count]; ok {
		return h, nil
	}
	if f.of != nil {
		if h, ok := f.of.known[count]; ok && f.of.same(&f.x, f.raw, f.given) >= count {
			return h, nil
		}
	}
	x, y, variances, err := data(count)
	if err != nil {
		return Hyper{}, err
	}
	if count > refitRows {
		x, y, variances = subset(x, y, variances, rng.Stream(f.Seed, "refit rows", uint64(count)).Perm(count)[:refitRows])
	}
	seed := rng.Stream(f.Seed, "refit", uint64(count)).Uint64()
	f.Fitter.Evidence = len(f.Forms) > 1 || f.Shares != nil || f.Exact
	if f.doneOf != count {
		f.done = nil
	}
	f.doneOf, f.turn = count, 0
	var h Hyper
	take := func(o Hyper) {
		z, view := Look(y, nil, o.Share)
		if err != nil || o.Share > 0 && view == (View{}) {
			return
		}
		o, err = f.search(ctx, o, view, x, z, variances, seed)
		if o.Evidence += view.logSlopes(y); h.Kernel == nil || o.Evidence > h.Evidence {
			h = o
		}
	}
	for i := range f.Forms {
		take(Hyper{form: i})
	}
	known := slices.ContainsFunc(variances, func(v float64) bool { return v > 0 })
	if err == nil && math.IsNaN(f.Noise) && !known {
		if f.Exact && h.NoiseVariance < nearlyExact {
			for i := range f.Forms {
				take(Hyper{form: i, exact: true})
			}
			if f.Smooth != nil {
				take(Hyper{form: h.form, Smooth: true, exact: true})
			}
		}
		best := h
		for _, share := range f.Shares {
			take(Hyper{form: best.form, Share: share, Smooth: best.Smooth, exact: best.exact})
		}
	}
	if err != nil {
		return h, err
	}
	if f.known == nil {
		f.known = make(map[int]Hyper)
	}
	f.known[count] = h
	f.done = nil
	return h, nil
}

// count returns the number of the first observations whose fit serves n.
func (f *Fits) count(n int) int {
	if f.Exact && n <= RefitExact {
		return n
	}
	return RefitCount(n)
}

// search returns what the next search of a fit finds, of the form and by priors as o has them, in a view.
func (f *Fits) search(
	ctx context.Context, o Hyper, view View, x *linalg.Dense, y, variances []float64, seed uint64,
) (Hyper, error) {
	if f.turn == len(f.done) {
		priors := f.Fitter.Priors
		if o.exact {
			f.Fitter.Priors = exactPriors(view)
		}
		form := f.Forms[o.form]
		if o.Smooth {
			form = f.Smooth[o.form]
		}
		f.Fitter.Tied = form.Tied
		h, err := f.Fitter.Fit(ctx, form.Kernel, x, y, variances, f.Noise, seed)
		f.Fitter.Priors = priors
		if err != nil {
			return h, err
		}
		h.Share, h.Smooth, h.exact, h.form = o.Share, o.Smooth, o.exact, o.form
		f.done = append(f.done, h)
	}
	f.turn++
	return f.done[f.turn-1], nil
}

// A run without a list comes ever nearer to its best point, where a noise variance down to LeastNoise, some digits of what a
// factor can tell, makes a difference. It is looked for only where gaussian.DefaultPriors find less than nearlyExact: priors
// for so little take noise for short lengths.
const nearlyExact, LeastNoise = 1e-3, 1e-10

// exactPriors are those of values that are next to exact, and of a variance far above theirs: most lie near the best point,
// where a function differs less than elsewhere. A view, which shows differences there larger, has no less noise for that.
func exactPriors(v View) func(dim int) gaussian.Priors {
	return func(dim int) gaussian.Priors {
		p := gaussian.DefaultPriors(dim)
		p.Variance.SD, p.Variance.Max = 3, 1e6
		_, sd := v.Line(0, 1)
		least := min(LeastNoise/(sd*sd), p.Noise.Max/10)
		p.Noise = gaussian.LogNormal{Mean: math.Log(max(1e-6, least)), SD: 3, Min: least, Max: p.Noise.Max}
		return p
	}
}

func subset(x *linalg.Dense, y, variances []float64, rows []int) (*linalg.Dense, []float64, []float64) {
	slices.Sort(rows)
	return points.Pick(x, rows), points.Entries(y, rows), points.Entries(variances, rows)
}
