package hierarchy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A Task is one past task: points of the unit cube, one a row, and their values in
// the task's own scaled units, larger being better.
type Task struct {
	ID string
	X  *linalg.Dense
	Z  []float64
	// Noise holds the noise variances of Z, 0 where one is not known; nil stands for none known.
	Noise []float64
	// Shift and Scale are what was taken off the raw values and what they were then
	// divided by: their prior is that of the target's offset and scale.
	Shift, Scale float64
	// Context holds descriptors by name, float64 for a number and string for a choice.
	Context map[string]any
}

// Base is the Gaussian process that all tasks share before anything is known of
// them: a constant mean, a kernel and a noise variance, in scaled units.
type Base struct {
	Kernel        kernel.Kernel
	Mean          float64
	NoiseVariance float64
}

// some returns the task with at most n of its values, a seeded sample.
func (t *Task) some(n int, seed uint64) *Task {
	if len(t.Z) <= n || n == 0 {
		return t
	}
	rows := rng.Stream(seed, "base rows:"+t.ID).Perm(len(t.Z))[:n]
	slices.Sort(rows)
	return t.pick(rows)
}

// pick returns the task with the values of rows.
func (t *Task) pick(rows []int) *Task {
	return &Task{ID: t.ID, X: points.Pick(t.X, rows), Z: points.Entries(t.Z, rows), Noise: points.Entries(t.Noise, rows)}
}

// parts returns the task in parts of at most n values at points near each other: halves of halves, along the coordinate in
// which points then lie farthest apart.
func (t *Task) parts(n int) []*Task {
	if len(t.Z) <= n {
		return []*Task{t}
	}
	var along int
	var most float64
	_, dim := t.X.Dims()
	for j := range dim {
		at := each.Below(len(t.Z), func(i int) float64 { return t.X.At(i, j) })
		if spread := slices.Max(at) - slices.Min(at); spread > most {
			along, most = j, spread
		}
	}
	rows := stat.Order(len(t.Z), func(i, j int) int { return cmp.Compare(t.X.At(i, along), t.X.At(j, along)) })
	half := len(rows) / 2
	return append(t.pick(rows[:half]).parts(n), t.pick(rows[half:]).parts(n)...)
}

// fitBase maximises the sum of the tasks' log marginal likelihoods over the templates and their parameters,
// the mean and the noise variance, lengths having a wide log-normal prior. Where all noise variances
// are given, but of tasks of equal values, the likelihood says nothing of others, which count as their median. It
// reports whether noise was free to be any of the variance, and the parameters are a variance and lengths.
func fitBase(ctx context.Context, tasks []Task, s *Settings) (best *Base, free bool, err error) {
	lo, hi, pull, free := s.box()
	theta, some := append(s.Kernels[0].AppendParams([]float64{0}), math.Log(0.01)), make([]*Task, len(tasks))
	var given []float64
	unknown, longest, all, dim := false, 0, 0, 0
	for i := range tasks {
		n := len(tasks[i].Z)
		longest, all = max(longest, n), all+n
		some[i] = tasks[i].some(s.BaseRows, s.Seed)
		_, dim = some[i].X.Dims()
		if deviation(tasks[i].Z) > 0 {
			given = append(given, some[i].Noise...)
			unknown = unknown || some[i].Noise == nil || slices.Contains(some[i].Noise, 0)
		}
	}
	unknown = unknown || given == nil
	last := len(theta) - 1
	if !unknown {
		free = false
		slices.Sort(given)
		median := min(max(math.Log(given[len(given)/2]), lo[last]), hi[last])
		lo[last], hi[last] = median, median
	}
	// Few values look like noise, as offset and scale of their task are their own, two being always one deviation above
	// and below, and each coordinate has a length. A run would take its values for noise, too.
	if few := s.FewValues; unknown && (longest < few || 4*longest < few*dim && all < few*dim) {
		hi[last], free = max(lo[last], math.Log(s.FewValuesNoise)), false
	}
	least := math.Inf(1)
	for _, template := range s.Kernels {
		o := gp.NewMultiTask(template, 1, s.Workers)
		for _, t := range some {
			o.Add(t.X, t.Z, t.Noise)
		}
		found := new(optim.Minimizer).Minimize(baseObjective(ctx, o, pull), theta, lo, hi, optim.Options{FuncTol: 1e-7, MaxIter: 60})
		if err := o.Err(); err != nil {
			if p := (*parallel.Panic)(nil); errors.As(err, &p) {
				err = fmt.Errorf("task %q: %w", tasks[p.Index].ID, err)
			}
			return nil, false, fmt.Errorf("base process of %d tasks: %w", len(tasks), err)
		}
		if theta = found.X; found.F < least || best == nil {
			k, err := template.WithParams(theta[1:last])
			if err != nil {
				return nil, false, err
			}
			best, least = &Base{Kernel: k, Mean: theta[0], NoiseVariance: math.Exp(theta[last])}, found.F
		}
	}
	return best, free, nil
}

// blind returns a base process under which no value of a task tells of another: next to nothing but noise, or a function
// of lengths too short for any two points.
func (s *Settings) blind(noise bool) Base {
	k, b := s.Kernels[0].AppendParams(nil), Base{NoiseVariance: 0.01}
	if noise {
		k[0], b.NoiseVariance = math.Log(s.VarianceRange[0]), 1-s.VarianceRange[0]
	} else {
		for i := range k[1:] {
			k[1+i] = math.Log(s.LengthRange[0])
		}
	}
	b.Kernel, _ = s.Kernels[0].WithParams(k) // finite, as they are within bounds
	return b
}

type normalPrior struct{ mean, sd float64 }

// baseObjective is what fitBase minimises, with its gradient.
func baseObjective(ctx context.Context, o *gp.MultiTask, pull []normalPrior) func(x, grad []float64) float64 {
	return func(x, grad []float64) float64 {
		v := o.Eval(ctx, x, grad)
		for i, p := range pull {
			if p.sd > 0 {
				u := (x[i] - p.mean) / p.sd
				v += 0.5 * u * u
				grad[i] += u / p.sd
			}
		}
		return v
	}
}

// box returns bounds and priors of the parameters as the search sees them: the mean, the kernel's log-parameters, the
// logarithm of the noise variance. The kernel is simple if its parameters are a variance and lengths.
func (s *Settings) box() (lo, hi []float64, pull []normalPrior, simple bool) {
	logs := func(r [2]float64) (lo, hi float64) { return math.Log(r[0]), math.Log(r[1]) }
	params := s.Kernels[0].AppendParams(nil)
	n := len(params) + 2
	lo, hi, pull = make([]float64, n), make([]float64, n), make([]normalPrior, n)
	lo[0], hi[0] = -s.MaxMean, s.MaxMean
	lo[n-1], hi[n-1] = logs(s.NoiseRange)
	spec, err := kernel.Describe(s.Kernels[0])
	simple = err == nil && spec.Name == "Scale" && len(spec.Kernels[0].Kernels) == 0
	for i, p := range params {
		j := i + 1
		switch {
		case !simple:
			lo[j], hi[j] = p-gp.ForeignRange, p+gp.ForeignRange
		case i == 0:
			lo[j], hi[j] = logs(s.VarianceRange)
		default:
			lo[j], hi[j] = logs(s.LengthRange)
			pull[j] = normalPrior{p, s.LengthSD}
		}
	}
	return lo, hi, pull, simple
}
