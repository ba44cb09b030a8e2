package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// The stages of the method by themselves, each at several sizes: what the figures
// show. There is nobody to compare them with but the other build.

func init() {
	register("stage-fit", "ours", func(in *inputs) *task {
		var f gaussian.Fitter
		x, y := in.dense("x"), in.array("y")
		k := kernel.Scale(1, kernel.Matern32(1))
		return &task{answer: none, run: func() {
			_, err := f.Fit(context.Background(), k, 0.1, x, y, nil, nil)
			must(err)
		}}
	})
	register("stage-posterior", "ours", func(in *inputs) *task {
		posterior := newPosterior(kernel.Scale(1, kernel.Matern32(0.4)), 1e-2, in.dense("x"), in.array("y"))
		z := in.dense("z")
		var cov linalg.Sym
		mean := make([]float64, in.shape("z")[0])
		return &task{answer: none, run: func() { posterior(mean, &cov, z) }}
	})
	register("stage-w2", "ours", func(in *inputs) *task { return stageDistance(in, false) })
	register("stage-jeffreys", "ours", func(in *inputs) *task { return stageDistance(in, true) })
	register("stage-learn", "ours", func(in *inputs) *task {
		tasks, c := in.tasks(), int(in.Params["clusters"])
		space, err := cmbo.UnitCube(in.shape("x")[2])
		must(err)
		t := &task{answer: none, extra: map[string]float64{}}
		stages := map[string][]float64{}
		t.clock = func(int) float64 {
			ends := map[string]float64{}
			start := now()
			_, err := paper.Learn(context.Background(), space, tasks, paper.WithParallelism(1), paper.WithClusterRange(c, c),
				paper.WithProgress(func(stage string, _, _ int) { ends[stage] = now() - start }))
			must(err)
			total := now() - start
			for stage, s := range map[string]float64{"fits": ends["fit"], "clustering": ends["cluster"] - ends["fit"],
				"prototypes": total - ends["cluster"]} {
				stages[stage] = append(stages[stage], s)
				s := slices.Sorted(slices.Values(stages[stage]))
				t.extra[stage] = s[len(s)/2]
			}
			return total
		}
		t.run = func() { t.clock(1) }
		return t
	})
	register("stage-ask", "ours", stageAsk)
}

func none() []float64 { return nil }

func stageDistance(in *inputs, jeffreys bool) *task {
	z := in.dense("z")
	var ps [2]*multivariate.Normal
	for i := range ps {
		mean := make([]float64, in.shape("z")[0])
		var s linalg.Sym
		newPosterior(kernel.Scale(1, kernel.Matern32(0.4+0.1*float64(i))), 1e-2, in.dense("x"), in.array("y"))(mean, &s, z)
		s.AddDiag(1e-6)
		var err error
		ps[i], err = multivariate.NewNormal(mean, &s)
		must(err)
	}
	var w multivariate.Workspace
	return &task{answer: none, run: func() {
		var err error
		if jeffreys {
			_, err = w.Jeffreys(ps[0], ps[1], 1e-6)
		} else {
			_, err = w.W2Squared(ps[0], ps[1])
		}
		must(err)
	}}
}

// stageAsk is a proposal and its answer, the median of ten, from t observations on
// N candidates with C prototypes known on I points.
func stageAsk(in *inputs) *task {
	p := func(name string) int { return int(in.Params[name]) }
	tasks, labels := in.tasks(), []int{}
	for j := range tasks {
		labels = append(labels, j%p("clusters"))
	}
	space, first := in.list(), in.array("candidates")
	d := in.shape("candidates")[1]
	if p("box") == 1 {
		var err error
		space, err = cmbo.UnitCube(d)
		must(err)
	}
	v := paper.WssClusWssCMP
	if p("jeffreys") == 1 {
		v = paper.WssClusJefCMP
	}
	prior, err := paper.Learn(context.Background(), space, tasks, paper.WithVariant(v), paper.WithLabels(labels),
		paper.WithParallelism(1),
		paper.WithIndexPoints(p("index")), paper.WithHyperparameters(kernel.Matern32(0.5), 1e-2))
	must(err)
	// New would do this for each optimiser again.
	prior, err = prior.Reindex(context.Background(), space)
	must(err)
	r := rand.New(rand.NewPCG(5, 6))
	t := &task{answer: none}
	t.clock = func(int) float64 {
		s, err := prior.Surrogate(context.Background(), space)
		must(err)
		o, err := cmbo.New(space, cmbo.WithSurrogate(s))
		must(err)
		for i := range p("observed") {
			must(o.Observe(first[i*d:(i+1)*d], r.NormFloat64()))
		}
		step(o, r)
		var took []float64
		for range 10 {
			start := now()
			step(o, r)
			took = append(took, now()-start)
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	t.run = func() { t.clock(1) }
	return t
}

// A sweep is one curve: a kind of work over one size.
type sweep struct {
	figure, panel, axis, name string
	at                        []float64
	row                       func(x float64) row
}

func sweeps() []sweep {
	var out []sweep
	learn := func(k, c, n, d int) func() *inputs {
		return func() *inputs {
			in := histories(k, n, d)
			in.Params["clusters"] = float64(c)
			return in
		}
	}
	data := func(obs, points, d int) func() *inputs {
		return func() *inputs { return regression(obs, points, d, false) }
	}
	add := func(figure, panel, axis, name, kind string, at []float64, inputs func(x int) func() *inputs) {
		out = append(out, sweep{figure, panel, axis, name, at, func(x float64) row {
			return row{name: panel + ": " + name, size: fmt.Sprintf("%s=%g", axis, x), kind: kind, inputs: inputs(int(x))}
		}})
	}
	const l, o = "learn-scaling", "online-scaling"
	add(l, "Learn: tasks (C=4, n=50, d=6, V=100, I=300)", "K", "", "stage-learn", []float64{25, 50, 100, 200, 400},
		func(x int) func() *inputs { return learn(x, 4, 50, 6) })
	add(l, "Learn: clusters (K=100)", "C", "", "stage-learn", []float64{2, 4, 8, 16, 32},
		func(x int) func() *inputs { return learn(100, x, 50, 6) })
	add(l, "fit of a task: observations (d=6)", "n", "fit", "stage-fit", []float64{12, 25, 50, 100, 200},
		func(x int) func() *inputs { return data(x, 1, 6) })
	add(l, "fit of a task: dimensions (n=50)", "d", "fit", "stage-fit", []float64{1, 2, 4, 8, 16, 32},
		func(x int) func() *inputs { return data(50, 1, x) })
	add(l, "posterior of a task: points (n=50, d=6)", "V", "posterior", "stage-posterior",
		[]float64{25, 50, 100, 200, 400, 800},
		func(x int) func() *inputs { return data(50, x, 6) })
	add(l, "distance of a pair: points", "V", "W2", "stage-w2", []float64{25, 50, 100, 200, 400, 800},
		func(x int) func() *inputs { return data(50, x, 6) })
	add(l, "distance of a pair: points", "V", "Jeffreys", "stage-jeffreys", []float64{25, 50, 100, 200, 400, 800},
		func(x int) func() *inputs { return data(50, x, 6) })
	ask := func(k, c, index, observed, candidates int, jeffreys, box float64) func() *inputs {
		return func() *inputs {
			in := histories(k, 50, 6)
			in.add("candidates", uniform(rand.New(rand.NewPCG(17, 1<<33)), candidates*6), candidates, 6)
			in.Params = map[string]float64{"clusters": float64(c), "index": float64(index), "observed": float64(observed),
				"jeffreys": jeffreys, "box": box}
			return in
		}
	}
	for i, name := range []string{"W2", "Jeffreys"} {
		j := float64(i)
		add(o, "prototypes (I=300, t=50, N=300)", "C", name, "stage-ask", []float64{2, 4, 8, 16},
			func(x int) func() *inputs { return ask(16, x, 300, 50, 300, j, 0) })
		add(o, "index points (C=4, t=50, N=400)", "I", name, "stage-ask", []float64{50, 100, 200, 400},
			func(x int) func() *inputs { return ask(16, 4, x, 50, 400, j, 0) })
		add(o, "observations (C=4, I=300, N=300)", "t", name, "stage-ask", []float64{12, 25, 50, 100, 200},
			func(x int) func() *inputs { return ask(16, 4, 300, x, 300, j, 0) })
		add(o, "candidates (C=4, I=100, t=50)", "N", name, "stage-ask", []float64{100, 300, 1000},
			func(x int) func() *inputs { return ask(16, 4, 100, 50, x, j, 0) })
		add(o, "tasks, 300 candidates (C=4, I=300, t=50)", "K", name, "stage-ask", []float64{16, 64, 256},
			func(x int) func() *inputs { return ask(x, 4, 300, 50, 300, j, 0) })
		add(o, "tasks, parameter space (C=4, I=300, t=50)", "K", name, "stage-ask", []float64{16, 64, 256},
			func(x int) func() *inputs { return ask(x, 4, 300, 50, 300, j, 1) })
	}
	return out
}
