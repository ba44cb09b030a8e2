package main

import (
	"context"
	"runtime"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// This library's forms: what its documentation tells a user to write, with
// workspaces kept between calls.

func (in *inputs) dense(name string) *linalg.Dense {
	s := in.shape(name)
	return linalg.NewDense(s[0], s[1], in.array(name))
}

func (in *inputs) sym(name string) *linalg.Sym {
	return linalg.NewSym(in.shape(name)[0], in.array(name))
}

// normals returns the distributions of a stack of means and covariances, factors
// known.
func (in *inputs) normals() []*multivariate.Normal {
	s := in.shape("covs")
	k, n := s[0], s[1]
	means, covs := in.array("means"), in.array("covs")
	out := make([]*multivariate.Normal, k)
	for i := range out {
		var err error
		out[i], err = multivariate.NewNormal(means[i*n:(i+1)*n], linalg.NewSym(n, covs[i*n*n:(i+1)*n*n]))
		must(err)
	}
	return out
}

func denseData(m *linalg.Dense) (out []float64) {
	r, _ := m.Dims()
	for i := range r {
		out = append(out, m.Row(i)...)
	}
	return out
}

func symData(s *linalg.Sym) []float64 {
	d := s.Dense()
	return denseData(&d)
}

func factor(s *linalg.Sym) *linalg.Cholesky {
	c := new(linalg.Cholesky)
	must(c.Factorize(s))
	return c
}

func init() {
	register("gemm", "ours", func(in *inputs) *task {
		a, b, c := in.dense("a"), in.dense("b"), new(linalg.Dense)
		return &task{run: func() { c.Mul(a, b) }, answer: func() []float64 { return sample(denseData(c)) }}
	})
	register("cholesky", "ours", func(in *inputs) *task {
		s, c := in.sym("s"), new(linalg.Cholesky)
		return &task{run: func() { must(c.Factorize(s)) }, answer: func() []float64 { return sample(denseData(c.Lower())) }}
	})
	register("inverse", "ours", func(in *inputs) *task {
		s, c, inv := in.sym("s"), new(linalg.Cholesky), new(linalg.Sym)
		return &task{
			run:    func() { must(c.Factorize(s)); c.InverseTo(inv) },
			answer: func() []float64 { return sample(symData(inv)) },
		}
	})
	register("solve", "ours", func(in *inputs) *task {
		c, b, x := factor(in.sym("s")), in.dense("b"), new(linalg.Dense)
		return &task{run: func() { c.SolveTo(x, b) }, answer: func() []float64 { return sample(denseData(x)) }}
	})
	register("solvevec", "ours", func(in *inputs) *task {
		c, b, x := factor(in.sym("s")), in.array("v"), make([]float64, in.n())
		return &task{run: func() { c.SolveVecTo(x, b) }, answer: func() []float64 { return sample(x) }}
	})
	register("eigvals", "ours", func(in *inputs) *task {
		s, e := in.sym("s"), new(spectral.EigenSym)
		return &task{run: func() { must(e.FactorizeValues(s)) }, answer: func() []float64 { return sample(e.Values()) }}
	})
	register("eigh", "ours", func(in *inputs) *task {
		s, e, v := in.sym("s"), new(spectral.EigenSym), new(linalg.Dense)
		return &task{
			run:    func() { must(e.Factorize(s)); e.VectorsTo(v) },
			answer: func() []float64 { return sample(rebuild(denseData(v), e.Values())) },
		}
	})
	register("sqrt", "ours", func(in *inputs) *task {
		s, r, root := in.sym("s"), new(spectral.RootPSD), new(linalg.Sym)
		return &task{run: func() { must(r.SqrtTo(root, s)) }, answer: func() []float64 { return sample(symData(root)) }}
	})
	register("w2", "ours", func(in *inputs) *task {
		ps := in.normals()
		var w multivariate.Workspace
		var d float64
		return &task{
			run:    func() { var err error; d, err = w.W2Squared(ps[0], ps[1]); must(err) },
			answer: func() []float64 { return []float64{d} },
		}
	})
	register("cluster", "ours", func(in *inputs) *task {
		ps, c := in.normals(), int(in.Params["clusters"])
		groups := make([][]*multivariate.Normal, c)
		for j, p := range ps {
			groups[j%c] = append(groups[j%c], p)
		}
		var w multivariate.Workspace
		d := make([]float64, c*len(ps))
		return &task{
			run: func() {
				for i, g := range groups {
					centre, err := multivariate.Centroid(g, nil)
					must(err)
					distances(&w, d[i*len(ps):(i+1)*len(ps)], centre, ps)
				}
			},
			answer: func() []float64 { return sample(d) },
		}
	})
	register("barycentre", "ours", func(in *inputs) *task {
		ps := in.normals()
		var r multivariate.BarycenterResult
		return &task{
			run:    func() { var err error; r, err = multivariate.Barycenter(context.Background(), ps, nil); must(err) },
			answer: func() []float64 { return sample(symData(r.Center.Cov())) },
		}
	})
	register("online-w2", "ours", func(in *inputs) *task {
		ps, last, d, w := online(in)
		return &task{
			run:    func() { distances(w, d, last(), ps) },
			answer: func() []float64 { return d }, per: float64(len(d)),
		}
	})
	register("online-jeffreys", "ours", func(in *inputs) *task {
		ps, last, d, w := online(in)
		return &task{
			run:    func() { must(w.JeffreysTo(d, last(), ps, in.Params["jitter"])) },
			answer: func() []float64 { return d }, per: float64(len(d)),
		}
	})
	register("posterior", "ours", func(in *inputs) *task {
		posterior := newPosterior(kernel.Scale(1, kernel.Matern32(in.Params["length"])), in.Params["noise"], in.dense("x"),
			in.array("y"))
		z := in.dense("z")
		rows, _ := z.Dims()
		var cov linalg.Sym
		mean := make([]float64, rows)
		return &task{
			run:    func() { posterior(mean, &cov, z) },
			answer: func() []float64 { return sample(mean, symData(&cov)) },
		}
	})
	register("likelihood", "ours", func(in *inputs) *task {
		x := in.dense("x")
		lengths := in.array("lengths")
		k := kernel.Scale(1, kernel.Matern32(lengths...))
		var l gaussian.Likelihood
		must(l.Reset(k, x, in.array("y"), nil))
		grad := make([]float64, k.NumParams()+1)
		var v float64
		return &task{
			run: func() { var err error; v, err = l.Eval(k, in.Params["noise"], grad); must(err) },
			// The last derivative is by the noise, which scikit-learn keeps fixed here.
			answer: func() []float64 { return append([]float64{v}, grad[:len(grad)-1]...) },
		}
	})
}

// newPosterior conditions a Gaussian process of mean zero on values y at the rows of x.
// The function it returns sets mean and covariance at the rows of z and keeps its memory.
func newPosterior(k kernel.Kernel, noise float64, x *linalg.Dense,
	y []float64) func(mean []float64, cov *linalg.Sym, z *linalg.Dense) {
	var gram linalg.Sym
	kernel.Gram(&gram, k, x)
	var c gaussian.Conditioner
	must(c.Factorize(&gram, []float64{noise}, y))
	var cross, white linalg.Dense
	return func(mean []float64, cov *linalg.Sym, z *linalg.Dense) {
		clear(mean)
		kernel.Gram(cov, k, z)
		kernel.Cross(&cross, k, x, z)
		must(c.Condition(mean, cov, &white, &cross))
	}
}

// online prepares the distances of a new posterior, the last distribution, to
// prototypes whose factors and inverses are kept. The new one comes with nothing
// but its moments each time.
func online(in *inputs) (ps []*multivariate.Normal, last func() *multivariate.Normal, d []float64, w *multivariate.Workspace) {
	ps = in.normals()
	q := ps[len(ps)-1]
	ps = ps[:len(ps)-1]
	return ps, func() *multivariate.Normal {
		fresh, err := multivariate.AdoptNormal(q.Mean(), q.Cov(), nil)
		must(err)
		return fresh
	}, make([]float64, len(ps)), new(multivariate.Workspace)
}

// distances sets d to the squared W2 distances of p to others.
func distances(w *multivariate.Workspace, d []float64, p *multivariate.Normal, others []*multivariate.Normal) {
	var err error
	for i, q := range others {
		d[i], err = w.W2Squared(p, q)
		must(err)
	}
}

// rebuild returns V·diag(l)·Vᵀ: eigenvectors are compared by what they make.
func rebuild(v, l []float64) []float64 {
	n := len(l)
	out := make([]float64, n*n)
	for i := range n {
		for j := range n {
			var s float64
			for k, e := range l {
				s += v[i*n+k] * e * v[j*n+k]
			}
			out[i*n+j] = s
		}
	}
	return append(out, l...)
}

// withProcs runs f at n processors.
func withProcs(n int, f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	f()
}
