package hierarchy

import (
	"cmp"
	"context"
	"math"
	"reflect"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Lengths are fitted to leastOwn values at least, those of the design of a run without a past, and those beside what a past
// says, whose evidence takes the cube of the number, to mostOwn at most. What a run without a past takes the target for is
// fitted to each number of values up to gp.RefitExact, as such a run does, which costs most of an Ask, and as often as those
// then.
const leastOwn, mostOwn = 5, 128

// fitOwn gives the process specific to the target lengths and, without a list, smoothness, and values a noise, of the run's
// own: with what is likely of any function and the past's noise a run ends short of the best point. From OwnFrom values on
// they are what makes these likeliest beside the past. Without a list there is a hypothesis then, too, of the process that a
// run without a past fits to raised values: a past that says nothing, or is noise, hides what the run has seen no more. With
// a list all hypotheses have that process as soon as the run has more values than its past, times Outgrow, or leastOwn where
// that looks like noise. Values are those told, raised so that penalties say no more here than elsewhere, and seen with low
// ones closer together.
//
// Values of points that were measured again tell noise from what no hypothesis follows, so that it may be louder than that,
// unless a run is fitted alone. Less is not thought of: intervals would hold fewer of the values that a run asks for.
func (r *Run) fitOwn(ctx context.Context, x *linalg.Dense, told, given, raised, seen []float64) (err error) {
	of, outgrown := r.s.OwnFrom[0], math.Inf(1)
	if r.s.List {
		of = r.s.OwnFrom[1]
		if r.s.Outgrow > 0 {
			values := float64(r.Model.values)
			if r.Model.LooksLikeNoise() { // none of which says anything
				values = 0
			}
			outgrown = max(leastOwn, 1+math.Floor(r.s.Outgrow*values))
		}
	}
	from := float64(cmp.Or(of, math.MaxInt))
	n, ps := ownCount(from, len(told)), [2]process{{r.Model.specificKernel(&r.s), r.noise}}
	r.outgrown = float64(len(told)) >= outgrown
	alone := r.outgrown && outgrown <= from
	if alone {
		ps[0], err = r.fitAlone(ctx, x, given, raised, seen)
	} else if outgrown > from && n > 0 {
		ps[0], err = r.fitBeside(ctx, points.First(x, n), told[:n], given[:n])
		if err == nil && !r.s.List && r.s.AloneMass > 0 {
			r.outgrown, n = true, max(n, min(len(told), gp.RefitExact))
			ps[1], err = r.fitAlone(ctx, points.First(x, n), given[:n], raised[:n], seen[:n])
		}
	}
	if err != nil {
		return err
	}
	if repeats := r.learned && !alone && repeated(x, given); repeats != r.repeats || !reflect.DeepEqual(ps[0], r.specific[0]) {
		r.repeats, r.weighed = repeats, false
		r.use(ps)
	} else if !reflect.DeepEqual(ps[1], r.specific[1]) {
		r.weighed = false
		r.useAlone(ps[1])
	}
	return nil
}

// A process is specific to the target.
type process struct {
	kernel kernel.Kernel // nil for none
	noise  float64       // variance of values, unless a hypothesis has its own
}

// set makes p one of the processes of the run.
func (r *Run) set(i int, p process) {
	r.specific[i] = p
	for n, at := range r.pts {
		at.crossSpecific(r.pts[:n+1], i, p)
	}
	for _, f := range r.bound {
		f.told.specific[i] = nil
	}
}

// useAlone makes a member, the first, of what a run without a past takes the target for, and leaves the others.
func (r *Run) useAlone(p process) {
	if r.specific[1].kernel != nil {
		for _, f := range r.bound {
			delete(f.posteriors, r.all[0])
		}
		r.all = r.all[1:]
	}
	if r.set(1, p); p.kernel != nil {
		h := &hypothesis{m: r.Model, factor: 1, process: 1, prior: r.s.AloneMass, tail: r.s.NoTransferTail}
		r.all = slices.Insert(r.all, 0, &member{hypothesis: h, log: math.Log(h.prior), noise: p.noise})
	}
}

// use makes members of those processes.
func (r *Run) use(ps [2]process) {
	r.restart()
	r.set(0, ps[0])
	noise := ps[0].noise
	times := []float64{1}
	for _, by := range r.s.Louder {
		if r.repeats && by*noise <= r.s.NoiseRange[1] {
			times = append(times, by)
		}
	}
	r.all, r.specific[1] = nil, process{}
	for _, h := range r.Model.hypotheses(&r.s) {
		for _, by := range times {
			log := math.Log(h.prior / float64(len(times)))
			r.all = append(r.all, &member{hypothesis: h, log: log, noise: by * cmp.Or(h.ownNoise, noise)})
		}
	}
	r.useAlone(ps[1])
}

// fitAlone fits as a run without a past does to raised values. Of values as they are seen noise is a larger share.
func (r *Run) fitAlone(ctx context.Context, x *linalg.Dense, given, raised, seen []float64) (process, error) {
	if r.alone == nil {
		r.alone = gp.NewPlain(r.s.Coordinates, nil, math.NaN(), scaling.ZScore.Scale, nil, !r.s.List, r.s.Seed)
	}
	if err := r.alone.Tune(ctx, &space.Data{X: x, Y: raised, Raw: raised, RawNoiseVariance: given}); err != nil {
		return process{}, err
	}
	n, _ := r.alone.Fitted()
	k, noise, variance := r.alone.Kernel(), r.noise, r.Model.specificVariance()
	of := k.Eval(x.Row(0), x.Row(0))
	if r.learned {
		closer := scaling.Fit(scaling.ZScore, seen[:n]).Scale / scaling.Fit(scaling.ZScore, raised[:n]).Scale
		noise = r.alone.NoiseVariance() / of * variance / closer / closer
	}
	return process{kernel.Scale(variance, kernel.Scale(1/of, k)), noise}, nil
}

// ownCount returns how many of the first of n values lengths beside a past are fitted to, from being the first number: again
// whenever they are half as many more, so that they follow from the first ones alone. It returns 0 for none.
func ownCount(from float64, n int) (count int) {
	for ; from <= float64(min(n, mostOwn)); from += math.Ceil(from / 2) {
		count = int(from)
	}
	return count
}

// An own is a search for what lengths, and then noise, are multiplied by, as logarithms to base 2, and last 1 for a smooth
// kernel, 0 for a rough one.
type own struct {
	told  []float64          // the values that it is of, with their points
	best  []float64          // nil until it is found
	run   *Run               // told these values alone
	found map[string]float64 // what it looked at, so that one that a context ended goes on
}

// fitBeside returns the kernel and noise at which the evidence of all hypotheses, times a prior of which natural logarithms
// have deviations of OwnSD around what they were, is larger than at a factor of 2 from them along each axis, all lengths at
// once being one more, and than with the other smoothness.
func (r *Run) fitBeside(ctx context.Context, x *linalg.Dense, y, given []float64) (process, error) {
	if r.s.Ranks {
		y = scaling.Fit(scaling.Copula, y).Z // of these alone
	}
	told := slices.Concat(y, given)
	for i := range y {
		if told = append(told, x.Row(i)...); r.counts != nil && !r.counts[i] {
			told = append(told, float64(i))
		}
	}
	if r.own == nil || !slices.Equal(told, r.own.told) {
		s := r.s
		s.OwnFrom, s.Outgrow = [2]int{}, 0
		if r.s.List {
			s.OwnSmooth = 0
		}
		r.own = &own{told: told, run: r.another(s), found: make(map[string]float64)}
	}
	o := r.own
	if o.best == nil {
		if err := o.search(ctx, x, y, given, r.counts); err != nil {
			return process{}, err
		}
	}
	return r.multiplied(o.best), nil
}

// search sets best, and leaves what it needed no more.
func (o *own) search(ctx context.Context, x *linalg.Dense, y, given []float64, counts []bool) error {
	if !o.run.weighed {
		o.run.counts = counts
		if err := o.run.Fit(ctx, x, y, given, nil); err != nil {
			return err
		}
		o.run.exact = nil // noise that was given stays in the unit that it leaves
	}
	_, d := x.Dims()
	best, top := make([]float64, d+2), math.Inf(-1)
	var err error
	better := func(by []float64) bool {
		at := points.Key(by)
		v, known := o.found[at]
		if !known && err == nil {
			if v, err = o.run.posterior(ctx, by); err == nil {
				o.found[at] = v
			}
		}
		if err != nil || !(v > top) {
			return false
		}
		best, top = by, v
		return true
	}
	better(best)
	for before := math.Inf(-1); top > before; {
		before = top
		for j := range d + 2 {
			for _, step := range []float64{-1, 1} {
				for moved := true; moved; {
					by := slices.Clone(best)
					for i := range by {
						if i == j-1 || j == 0 && i < d {
							by[i] += step
						}
					}
					moved = better(by)
				}
			}
		}
		if o.run.s.OwnSmooth > 0 {
			by := slices.Clone(best)
			by[d+1] = 1 - by[d+1]
			better(by)
		}
	}
	if err == nil {
		o.best, o.run, o.found = best, nil, nil
	}
	return err
}

// multiplied returns the process beside a past as an own has it.
func (r *Run) multiplied(by []float64) process {
	k, d := r.s.SpecificKernel, len(by)-2
	if by[d+1] > 0 {
		k = reshaped(k, kernel.Matern52)
	}
	params := k.AppendParams(nil)
	at := len(params) - d
	for i := range params[at:] {
		params[at+i] += by[i] * math.Ln2
	}
	k, _ = k.WithParams(params) // finite, as its own are
	return process{kernel.Scale(r.Model.specificVariance(), k), r.noise * math.Exp2(by[d])}
}

// posterior returns the logarithm of the evidence of a run with lengths and noise multiplied, and of their prior.
func (r *Run) posterior(ctx context.Context, by []float64) (float64, error) {
	p := r.multiplied(by)
	if p.noise != r.noise && (!r.learned || p.noise < gp.LeastNoise || p.noise > r.s.NoiseRange[1]) {
		return math.Inf(-1), nil
	}
	r.use([2]process{p})
	if err := r.weigh(ctx); err != nil {
		return 0, err
	}
	top := slices.MaxFunc(r.all, func(a, b *member) int { return cmp.Compare(a.mass, b.mass) })
	v := top.fit.evidence + top.log - math.Log(top.mass) // the evidence by Bayes' theorem
	for i, power := range by[:len(by)-1] {
		z := power * math.Ln2 / r.s.OwnSD[i/(len(by)-2)]
		v -= z * z / 2
	}
	if by[len(by)-1] > 0 {
		v += math.Log(r.s.OwnSmooth)
	}
	return v, nil
}

// repeated reports whether a point has several values without a noise of their own.
func repeated(x *linalg.Dense, given []float64) bool {
	values, at := 0, make(map[string]bool)
	for i, v := range given {
		if v == 0 {
			values++
			at[points.Key(x.Row(i))] = true
		}
	}
	return values > len(at)
}

// Outgrown reports whether a hypothesis is what a run without a past takes the target for, or all have its process: see
// fitOwn.
func (r *Run) Outgrown() bool { return r.outgrown }
