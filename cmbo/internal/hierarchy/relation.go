package hierarchy

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// A Likeness is what descriptors of tasks say of how alike the tasks are in shape, or in level. The deviations of
// tasks t and u from the population's mean have the covariance
//
//	C·((1 − ρ)·δ_tu + ρ·k(d_t, d_u)),   k(d, d') = Π_j exp(−|d_j − d'_j|/ℓ_j)
//
// on the grid, C being the population's and d_j a number's rank among the tasks', from 0 to 1, or a choice, which is 1
// from any other. A value that is missing is a draw of the tasks', of which k has the mean. The level is the offset and
// the logarithm of the scale of a task's values, which have the same covariance with that of all tasks in the place of C.
type Likeness struct {
	Rho     float64
	Names   []string  // of the descriptors that are of use
	Lengths []float64 // theirs
	Gain    float64   // share of the squared deviations of tasks left out without descriptors that others foretell by them

	of   map[string]*descriptor // all
	task []map[string]any
	dev  *linalg.Dense   // deviations of the tasks' means, or of their levels, a row a task
	chol linalg.Cholesky // of (1 − ρ)·I + ρ·K
}

// A descriptor is one of the tasks, by name.
type descriptor struct {
	number bool
	values []float64 // numbers, ascending
	known  []any     // of the tasks that have it
}

// place returns the rank of a number among the tasks', from 0 to 1.
func (d *descriptor) place(v float64) float64 {
	lo, _ := slices.BinarySearch(d.values, v)
	hi, _ := slices.BinarySearch(d.values, math.Nextafter(v, math.Inf(1)))
	return float64(lo+hi) / float64(2*len(d.values))
}

func (d *descriptor) distance(a, b any) float64 {
	if d.number {
		return math.Abs(d.place(a.(float64)) - d.place(b.(float64)))
	}
	if a == b {
		return 0
	}
	return 1
}

// kernel returns the function of two values, nil for a missing one, of different tasks.
func (d *descriptor) kernel(length float64) func(a, b any) float64 {
	mean := func(f func(v any) float64) (sum float64) {
		for _, v := range d.known {
			sum += f(v) / float64(len(d.known))
		}
		return sum
	}
	both := func(a, b any) float64 { return math.Exp(-d.distance(a, b) / length) }
	ones := make(map[any]float64)
	one := func(a any) float64 {
		v, known := ones[a]
		if !known {
			v = mean(func(b any) float64 { return both(b, a) })
			ones[a] = v
		}
		return v
	}
	none := sync.OnceValue(func() float64 { return mean(one) })
	return func(a, b any) float64 {
		switch {
		case a == nil && b == nil:
			return none()
		case a == nil:
			return one(b)
		case b == nil:
			return one(a)
		}
		return both(a, b)
	}
}

// What is searched, and what a gain has to be.
var (
	relationLengths = []float64{0.1, 0.3, 1}
	relationRhos    = []float64{0.2, 0.4, 0.6, 0.8, 0.95}
)

const (
	relationTasks  = 200  // at most: the search is cubic
	relationStep   = 0.01 // by which a descriptor more has to lower the mean score of the tasks
	relationErrors = 1.6  // standard errors that a gain of the tasks has to have
)

// related are the relations of tasks some of which have descriptors, nil where they say nothing, found when first
// asked for by a call that does not fail.
type related struct {
	lock         chan struct{} // full while one call looks for them
	known        bool
	shape, level *Likeness
}

// Likeness returns what the tasks' descriptors say, nil where they say nothing. It is found by leaving tasks out: with
// A = (1 − ρ)·I + ρ·K and deviations D, a row a task, the others leave of task t the deviation (A⁻¹·D)_t/(A⁻¹)_tt.
// Descriptors are added one by one as long as each is of use: see search. Of an output what they say of the tasks'
// levels comes before what they say of shapes.
func (m *Model) Likeness(ctx context.Context, workers int) (*Likeness, error) {
	shape, level, err := m.relations(ctx, workers)
	if level != nil {
		return level, err
	}
	return shape, err
}

func (m *Model) relations(ctx context.Context, workers int) (shape, level *Likeness, err error) {
	r := m.related
	if r == nil {
		return nil, nil, nil
	}
	select {
	case r.lock <- struct{}{}:
		defer func() { <-r.lock }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !r.known {
		r.shape, r.level, err = m.relate(ctx, workers)
		r.known = err == nil
	}
	return r.shape, r.level, err
}

func (m *Model) relate(ctx context.Context, workers int) (shape, level *Likeness, err error) {
	r, tasks, err := m.gather(ctx, workers)
	if err != nil || len(tasks) < 3 {
		return nil, nil, err
	}
	if m.settings.Output {
		l := &Likeness{of: r.of, task: r.task, dev: linalg.NewDense(len(tasks), 2, nil)}
		for i := range tasks {
			m.affine.deviation(l.dev.Row(i), &tasks[i])
		}
		level = l.search(ctx)
	}
	return r.search(ctx), level, ctx.Err()
}

// gather returns the deviations and descriptors of the tasks that have any, or of a sample of them.
func (m *Model) gather(ctx context.Context, workers int) (r *Likeness, tasks []Task, err error) {
	r = &Likeness{of: make(map[string]*descriptor)}
	tasks = slices.DeleteFunc(slices.Clone(m.tasks), func(t Task) bool { return len(t.Context) == 0 })
	tasks = sample(tasks, relationTasks, m.settings.Seed, "relation")
	means, err := m.posteriorMeans(ctx, tasks, workers)
	if err != nil {
		return nil, nil, err
	}
	r.dev = linalg.NewDense(len(tasks), m.grid.len(), nil)
	for i, mean := range means {
		copy(r.dev.Row(i), mean)
		linalg.Axpy(r.dev.Row(i), -1, m.pop.Mean)
	}
	for _, t := range tasks {
		r.task = append(r.task, t.Context)
		for name, v := range t.Context {
			d := r.of[name]
			if d == nil {
				d = new(descriptor)
				r.of[name] = d
			}
			d.known = append(d.known, v)
			if x, ok := v.(float64); ok {
				d.number, d.values = true, append(d.values, x)
			}
		}
	}
	for _, d := range r.of {
		slices.Sort(d.values)
	}
	return r, tasks, nil
}

// search finds the descriptors that are of use, with their lengths and ρ: those with the least sum of ln(1 + e²/s²)
// over the tasks left out, e² being a task's squared error and s² the mean of the squared deviations, so that no task
// that is unlike all others decides alone. They have to gain something in that. Nothing is found once ctx is done.
func (r *Likeness) search(ctx context.Context) *Likeness {
	var squares linalg.Sym
	squares.Gram(r.dev)
	n := len(r.task)
	scale := squares.Trace() / float64(n)
	if !(scale > 0) {
		return nil
	}
	base := linalg.NewSym(n, slices.Repeat([]float64{1}, n*n))
	// By the population's mean or, where all deviate from that alike, by the others: else any descriptor would seem of use.
	left := each.Below(n, func(i int) float64 { return squares.At(i, i) })
	for _, rho := range relationRhos {
		if by := leftOut(base, rho, &squares); stat.Sum(scores(by, scale)) < stat.Sum(scores(left, scale)) {
			left = by
		}
	}
	scale = stat.Sum(left) / float64(n)
	without := scores(left, scale)
	best, names := without, slices.Sorted(maps.Keys(r.of))
	for range names {
		var next *linalg.Sym
		var name string
		var at [2]float64
		least := stat.Sum(best) - relationStep*float64(n)
		for _, candidate := range names {
			if slices.Contains(r.Names, candidate) {
				continue
			}
			for _, length := range relationLengths {
				if ctx.Err() != nil {
					return nil
				}
				k := r.gram(base, candidate, length)
				for _, rho := range relationRhos {
					if by := scores(leftOut(k, rho, &squares), scale); stat.Sum(by) < least {
						best, least, next, name, at = by, stat.Sum(by), k, candidate, [2]float64{length, rho}
					}
				}
			}
		}
		if next == nil {
			break
		}
		base, r.Names, r.Lengths, r.Rho = next, append(r.Names, name), append(r.Lengths, at[0]), at[1]
	}
	if r.Names == nil {
		return nil
	}
	gain, unexplained := make([]float64, n), 0.0
	for i, v := range without {
		gain[i] = v - best[i]
		unexplained += math.Expm1(best[i]) / float64(n)
	}
	r.Gain = 1 - unexplained
	if _, err := r.chol.FactorizeJitter(mixed(base, r.Rho), gaussian.MaxJitter); err != nil || !surely(gain) {
		return nil
	}
	return r
}

// surely reports whether gains of tasks are more than chance on average.
func surely(gain []float64) bool {
	mean, variance := stat.MeanVariance(gain)
	return mean > relationErrors*math.Sqrt(variance/float64(len(gain)-1))
}

// gram returns a matrix of similarities times that of a descriptor.
func (r *Likeness) gram(base *linalg.Sym, name string, length float64) *linalg.Sym {
	k, f := linalg.NewSym(base.Dim(), nil), r.of[name].kernel(length)
	for i := range r.task {
		k.Set(i, i, 1)
		for j := range i {
			k.Set(i, j, base.At(i, j)*f(r.task[i][name], r.task[j][name]))
		}
	}
	return k
}

// mixed returns (1 − ρ)·I + ρ·K.
func mixed(k *linalg.Sym, rho float64) *linalg.Sym {
	a := linalg.NewSym(k.Dim(), nil)
	a.Copy(k)
	a.Scale(rho)
	a.AddDiag(1 - rho)
	return a
}

// scores returns ln(1 + e²/s²) of tasks' squared errors e².
func scores(squares []float64, scale float64) []float64 {
	return each.Of(squares, func(square float64) float64 { return math.Log1p(square / scale) })
}

// leftOut returns the squared errors of the tasks when each is left out, of the deviations' inner products: +Inf where they
// cannot be computed.
func leftOut(k *linalg.Sym, rho float64, squares *linalg.Sym) []float64 {
	var chol linalg.Cholesky
	if _, err := chol.FactorizeJitter(mixed(k, rho), gaussian.MaxJitter); err != nil {
		return []float64{math.Inf(1)}
	}
	var inverse, both linalg.Sym
	chol.InverseTo(&inverse)
	dense := inverse.Dense()
	both.Congruence(&dense, squares)
	return each.Below(k.Dim(), func(i int) float64 { return both.At(i, i) / (inverse.At(i, i) * inverse.At(i, i)) })
}

// moved is the population as the descriptors of a new task have it: its mean on the grid, and
// what is left of its covariance, as a factor.
type moved struct {
	mean    []float64
	surface *surface // of the mean
	factor  float64
}

// at returns what a new task's descriptors make of the population's mean: with k its similarities to the tasks and a =
// ρ·((1 − ρ)·I + ρ·K)⁻¹·k, the mean m + Dᵀ·a, and the covariance C·(1 − ρ·a·k).
func (r *Likeness) at(mean []float64, task map[string]any) *moved {
	k := slices.Repeat([]float64{1}, len(r.task))
	for i, name := range r.Names {
		f := r.of[name].kernel(r.Lengths[i])
		for t := range k {
			k[t] *= f(task[name], r.task[t][name])
		}
	}
	a := make([]float64, len(k))
	r.chol.SolveVecTo(a, k)
	out := &moved{mean: slices.Clone(mean), factor: max(1-r.Rho*r.Rho*linalg.Dot(a, k), 0)}
	for t, w := range a {
		linalg.Axpy(out.mean, r.Rho*w, r.dev.Row(t))
	}
	return out
}

// Foreign says in words which of the descriptors of use a new task has not, or not among the values that were compared.
func (r *Likeness) Foreign(task map[string]any) (words []string) {
	for _, name := range r.Names {
		d, v := r.of[name], task[name]
		x, number := v.(float64)
		switch {
		case v == nil:
			words = append(words, name+" is not known of this task")
		case number && (x < d.values[0] || x > d.values[len(d.values)-1]):
			words = append(words, fmt.Sprintf("%s %g lies beyond %g to %g of the past tasks compared, and how far does not count",
				name, x, d.values[0], d.values[len(d.values)-1]))
		case !number && !slices.Contains(d.known, v):
			words = append(words, fmt.Sprintf("none of the past tasks compared has %s %q", name, v))
		}
	}
	return words
}

// affineOf returns what the descriptors make of what is believed of offset and scale. ρ is chosen by what it foretells,
// not by how far off that is: what is left of the variances is as much as the errors of the tasks left out are of their
// deviations, with one imagined task more that the others say nothing of, and in proportion to what is left for this
// task by the model.
func (r *Likeness) affineOf(p affinePrior, task map[string]any) affinePrior {
	at := r.at([]float64{0, 0}, task)
	var inverse linalg.Sym
	r.chol.InverseTo(&inverse)
	var usual float64 // what is left of the variance of a task left out, on average
	var errors, all, remaining [2]float64
	n := float64(len(r.task))
	for t := range r.task {
		usual += 1 / inverse.At(t, t) / n
		off := make([]float64, 2)
		for u := range r.task {
			linalg.Axpy(off, inverse.At(t, u)/inverse.At(t, t), r.dev.Row(u))
		}
		for c, d := range r.dev.Row(t) {
			errors[c] += off[c] * off[c]
			all[c] += d * d
		}
	}
	for c := range remaining {
		if remaining[c] = 1; all[c] > 0 { // else all are alike as it is
			remaining[c] = min((errors[c]/all[c]*n+1)/(n+1)*at.factor/usual, 1)
		}
	}
	return p.moved([2]float64(at.mean), remaining)
}

// At returns the model for a new task of descriptors that CheckContext admits for tasks among
// which the model's are: m itself where they say nothing.
func (m *Model) At(ctx context.Context, task map[string]any, workers int) (*Model, error) {
	if len(task) == 0 {
		return m, nil
	}
	shape, level, err := m.relations(ctx, workers)
	speaks := func(r *Likeness) bool {
		return r != nil && slices.ContainsFunc(r.Names, func(name string) bool { return task[name] != nil })
	}
	if err != nil || !speaks(shape) && !speaks(level) {
		return m, err
	}
	out := *m
	if speaks(shape) {
		out.moved = shape.at(m.pop.Mean, task)
		if out.moved.surface, err = m.grid.surface(out.moved.mean); err != nil {
			return nil, err
		}
	}
	if speaks(level) {
		out.affine = level.affineOf(m.affine, task)
	}
	return &out, nil
}

// CheckContext reports descriptors of a new task that the tasks do not have, or have of another kind.
func (m *Model) CheckContext(task map[string]any) error {
	known := make(map[string]any) // the first value of each descriptor
	for _, t := range slices.Backward(m.tasks) {
		maps.Copy(known, t.Context)
	}
	for _, name := range slices.Sorted(maps.Keys(task)) {
		first, there := known[name]
		switch {
		case len(known) == 0:
			return fmt.Errorf("descriptor %q: the past tasks have no descriptors", name)
		case !there:
			return fmt.Errorf("descriptor %q: the past tasks have %q", name, slices.Sorted(maps.Keys(known)))
		case isNumber(first) != isNumber(task[name]):
			return fmt.Errorf("descriptor %q is %#v, and the past tasks have such as %#v", name, task[name], first)
		}
	}
	return nil
}

func isNumber(v any) bool { _, ok := v.(float64); return ok }
